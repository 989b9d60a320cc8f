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
