package tools

import (
	"context"
	"encoding/json"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Instructions are shown to clients when they connect: the mechanics of these tools, nothing else.
func Instructions(environment string) string { return Guide(environment).EN }

// Guide is the recommended flow of a write in both languages, also served as the prompt safe_write_guide.
func Guide(environment string) errs.Text {
	return errs.Tf(
		`Mappy は実際の Google ビジネス プロフィールに書き込みます (環境: %s)。公開は即時で、元に戻せないことがあります。
1. location.list で対象の location_id を確かめる。
2. dry_run: true でプレビューし、表示される内容・件数・警告をそのまま人に見せて同意を得る。
3. 同じ引数に confirm_token と idempotency_key を付けて書き込む。キーは「意図した 1 つの効果」につき 1 つの UUIDv4 で、再送時も同じものを使う。
4. 返ってきた batch_id を batch.status で、poll_after_seconds 秒から始めて倍々 (最大 60 秒) の間隔で確認する。
5. 店舗ごとの結果を報告する。unknown は公開済みかもしれないため、送り直さない。
CONFIRMATION_REQUIRED は「まだ実行していない、人に聞いてほしい」という意味です。location_id 以外の ID は文字列です。`,
		`Mappy writes to live Google Business Profiles (environment: %s). Writes are public at once and cannot always be taken back.
1. Find the location_ids with location.list.
2. Preview with dry_run: true; show the person the content, the number of stores and the warnings, and get their agreement.
3. Write with the same arguments plus confirm_token and idempotency_key: one UUIDv4 per intended effect, reused on every re-send, never one per attempt.
4. Follow the batch_id with batch.status, first after poll_after_seconds, then doubling up to 60 s.
5. Report the outcome per store. unknown may have been published: do not send it again.
CONFIRMATION_REQUIRED means: nothing happened yet, ask the person. All ids except location_id are strings.`, environment)
}

// ReportGuide is how to tell a person what became of a batch, in both languages, served as the prompt report_batch. It quotes
// nothing of a batch: titles and reviews are other people's words, and reach the model only as results of tools.
func ReportGuide(environment string) errs.Text {
	return errs.Tf(
		`Mappy のバッチ (環境: %s) の結果を人に報告してください。書き込みはしないこと。
1. どのバッチか分からなければ batch.list (mine: true) で探し、候補を示して選んでもらう。
2. batch.status を items: "all" で読む。status が queued / processing / awaiting_approval なら、まだ終わっていないことを伝え、poll_after_seconds 秒から倍々 (最大 60 秒) で確認する。
3. 最初に件数を伝える: 対象、成功、失敗、取消、不明、未処理。合計が対象と一致することを確かめる。
4. 失敗した店舗を 1 行ずつ: 店舗名、error_code の意味、retry_possible。同じ原因はまとめる。
5. unknown は「公開済みかもしれない」と伝える。再送を勧めない。プロフィールを見てもらうか、運用担当に確認を頼む。
6. publication が accepted や pending_review の店舗は、Google の審査待ちでまだ公開とは限らない。rejected は失敗として伝える。
7. 次にできることを伝え、決めてもらう: retry_possible の店舗だけなら batch.retry、取り消すなら batch.undo (undo.until まで)。どちらも dry_run: true のプレビューと同意が先。`,
		`Report the outcome of a Mappy batch (environment: %s) to the person. Write nothing.
1. If it is not clear which batch is meant, find it with batch.list (mine: true), show the candidates and let the person choose.
2. Read batch.status with items: "all". While status is queued, processing or awaiting_approval, say that it is not finished, and poll after poll_after_seconds, doubling up to 60 s.
3. Begin with the counts: targets, succeeded, failed, cancelled, unknown, pending. Check that they add up to the targets.
4. One line per failed store: its title, what error_code means, retry_possible. Put equal causes together.
5. unknown means: it may be public. Never suggest sending it again; ask the person to look at the profile, or the operator to settle it.
6. A store whose publication is accepted or pending_review waits for Google and may not be visible yet; rejected is a failure.
7. Say what can be done next and let the person decide: batch.retry sends only the stores with retry_possible, batch.undo takes the batch back (until undo.until). Both begin with a dry_run: true preview and the person's agreement.`, environment)
}

// Resource runs a read tool for a client that reads a resource, and gives the data as JSON.
func (s *Set) Resource(ctx context.Context, tool string, call *Call) (string, error) {
	t, ok := s.byName[tool]
	if !ok {
		return "", errs.New(errs.Internal, errs.T("このリソースはありません。", "There is no such resource."))
	}
	r, err := t.run(ctx, call)
	if err != nil {
		return "", err
	}
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(r.Structured, &envelope); err != nil {
		return "", err
	}
	return string(envelope.Data), nil
}
