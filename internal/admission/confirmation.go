package admission

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/confirm"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// confirmation checks the confirm token, or asks for one. It only reads: a refused call leaves the token unspent, and the
// enqueue transaction spends it.
func (a *Admission) confirmation(ctx context.Context, c *Call) error {
	c.assurance = batch.AssuranceNone
	if c.safety.ConfirmToken != "" {
		if err := a.checkToken(ctx, c); err != nil || c.answer != nil {
			return err
		}
		c.assurance, c.tokenHash = batch.AssuranceToken, confirm.Hash(c.safety.ConfirmToken)
		return nil
	}
	if c.reason == "" {
		return nil
	}
	return a.demand(ctx, c)
}

// demand refuses with CONFIRMATION_REQUIRED and a fresh token. It spends the preview budget, as it shows a preview.
func (a *Admission) demand(ctx context.Context, c *Call) error {
	if err := a.spendPreview(ctx, c); err != nil {
		return err
	}
	token, err := a.issue(ctx, c)
	if err != nil {
		return err
	}
	life := c.Principal.Policy.ConfirmTokenSeconds
	question := a.question(c)
	return errs.New(errs.ConfirmationRequired, errs.T("人の確認が必要です。まだ何も実行されていません。", "A person has to confirm first; nothing was executed yet.")).
		With(errs.Details{
			ConfirmToken: token, ExpiresIn: life, Reason: c.reason,
			TargetSummary: &errs.TargetSummary{
				Operation: c.Operation.Name, TargetCount: len(c.plan), Locations: locationRefs(c), PostSummary: Short(c.change.Headline()),
			},
			HumanReadableMessage: question,
		})
}

func (a *Admission) issue(ctx context.Context, c *Call) (string, error) {
	p := c.Principal
	token, err := a.Tokens.Issue(ctx, confirm.Binding{
		Tenant: p.TenantID, Client: p.ClientID, User: p.UserID, Tool: c.Operation.Name, InputHash: c.inputHash, Targets: bound(c),
	}, p.Policy.ConfirmTokenLife())
	c.issuedToken = err == nil
	return token, err
}

// bound digests what the person is shown of each target, so that a change of one of these between preview and write is
// noticed, and a change of anything else is not.
func bound(c *Call) map[int64]map[string]string {
	out := make(map[int64]map[string]string, len(c.plan))
	for _, r := range c.plan {
		id := int64(r.Location.ID)
		if out[id] == nil {
			out[id] = map[string]string{"title": digest([]byte(r.Location.Profile.Title))}
		}
		of := ""
		maps.Copy(out[id], r.Bound)
		if r.TargetID != "" {
			of = " of " + r.TargetID
			out[id]["version"+of] = r.Expected
		}
		out[id]["content"+of] += digest(r.Payload)
		for _, s := range r.Sources { // a file that was swapped since is not what the person saw
			out[id]["media"] += c.found[s].SHA256
		}
	}
	return out
}

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:12])
}

func (a *Admission) checkToken(ctx context.Context, c *Call) error {
	p := c.Principal
	hash := confirm.Hash(c.safety.ConfirmToken)
	b, known, err := a.Tokens.Find(ctx, p.TenantID, c.safety.ConfirmToken)
	if err != nil {
		return err
	}
	// Somebody else's token is told apart from an unknown one nowhere.
	if known && (b.Tenant != p.TenantID || b.Client != p.ClientID || b.User != p.UserID) {
		known = false
	} else if spent, err := a.Store.TokenSpentBy(ctx, p.TenantID, p.ClientID, p.UserID, hash); err != nil {
		return err
	} else if spent != "" {
		return a.used(ctx, c, spent)
	}
	switch {
	case !known:
		return errs.New(errs.ConfirmTokenInvalid, errs.T("この confirm_token は存在しません。", "There is no such confirm_token."))
	case !a.Now().Before(b.ExpiresAt):
		return errs.New(errs.ConfirmTokenExpired, errs.T("この confirm_token は期限切れです。", "This confirm_token has expired."))
	case b.Tool != c.Operation.Name || !bytes.Equal(b.InputHash, c.inputHash):
		return errs.New(errs.ConfirmTokenMismatch, errs.T("引数がプレビューと違います。人が確認したものと異なるため実行していません。", "The arguments differ from the preview; this is not what the person agreed to, so nothing was executed."))
	}
	if changed := changedTargets(b.Targets, bound(c)); changed != nil {
		return errs.New(errs.VersionConflict, errs.T("プレビューの後に対象が変わりました。", "A target has changed since the preview.")).
			With(errs.Details{Changed: changed})
	}
	return nil
}

// used answers a spent token: with the first answer when this is the same intent again, else with a refusal that names
// the batch.
func (a *Admission) used(ctx context.Context, c *Call, spent batch.ID) error {
	if err := a.replay(ctx, c); err != nil || c.answer != nil {
		return err
	}
	return TokenUsed(spent)
}

// TokenUsed is the refusal of a spent token.
func TokenUsed(by batch.ID) *errs.Error {
	return errs.New(errs.ConfirmTokenUsed, errs.T("この confirm_token は使用済みです。", "This confirm_token has been used.")).
		With(errs.Details{BatchID: string(by)})
}

func changedTargets(then, now map[int64]map[string]string) []errs.ChangedTarget {
	var out []errs.ChangedTarget
	for _, id := range slices.Sorted(maps.Keys(now)) {
		var fields []string
		for _, f := range slices.Sorted(maps.Keys(now[id])) {
			if then[id][f] != now[id][f] {
				fields = append(fields, f)
			}
		}
		if fields != nil {
			out = append(out, errs.ChangedTarget{LocationID: id, Fields: fields})
		}
	}
	return out
}

// question is what the person is asked, in the tenant's language, written from current data.
func (a *Admission) question(c *Call) string {
	ask := c.Operation.Ask(len(c.plan), names(c), strings.ReplaceAll(c.change.Headline(), "\n", "\n> ")) // no line of it passes for one of ours
	text := ask.In(c.Principal.Locale)
	if w := weight(c); w != "" {
		text += "\n" + w
	}
	return text + "\n" + planLines(c) + errs.Tf("環境: %s", "Environment: %s", a.Environment).In(c.Principal.Locale)
}

// weight says how much an upload sends: the bytes of its files, and those times the stores.
func weight(c *Call) string {
	u := c.upload()
	stores := len(u.stores)
	var t errs.Text
	switch {
	case stores == 0:
		return ""
	case !u.known:
		t = errs.T("ファイルの大きさは確認できていません。", "The size of the files is not known.")
	case u.sent == u.bytes*int64(stores):
		t = errs.Tf("ファイル %[1]d バイト × %[2]d 店舗 = %[3]d バイト。", "Files: %[1]d bytes × %[2]d store(s) = %[3]d bytes.", u.bytes, stores, u.sent)
	default:
		t = errs.Tf("ファイルは合わせて %[1]d バイト、%[2]d 店舗への送信は %[3]d バイト。", "Files: %[1]d bytes in all; %[3]d bytes go to %[2]d store(s).", u.bytes, stores, u.sent)
	}
	return t.In(c.Principal.Locale)
}

// shownNames is how many stores a question names before it only counts.
const shownNames = 5

func names(c *Call) string {
	var b bytes.Buffer
	for i, l := range c.locations {
		if i == shownNames {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteString("、")
		}
		b.WriteString(gbp.VisibleLine(l.Profile.Title))
	}
	return b.String()
}

func locationRefs(c *Call) []errs.LocationRef {
	out := make([]errs.LocationRef, len(c.locations))
	for i, l := range c.locations {
		out[i] = errs.LocationRef{ID: int64(l.ID), Title: l.Profile.Title, StoreCode: l.Profile.StoreCode}
	}
	return out
}
