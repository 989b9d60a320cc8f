package admission

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
)

// previewBytes is about how much of changes fits one answer; the rest is paged.
const previewBytes = 12_000

// preview ends a dry run. It has no effect on Google, on batches, on limits of writes or on the key, and needs PostgreSQL
// only: without Redis it gives no token and says so.
func (a *Admission) preview(ctx context.Context, c *Call) error {
	if !c.safety.DryRun {
		return nil
	}
	if err := a.spendPreview(ctx, c); err != nil && errs.CodeOf(err) != errs.Unavailable {
		return err
	}
	a.askGoogle(ctx, c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Deadline) // asking Google had a time of its own
	defer cancel()
	refusal := a.foresee(ctx, c)
	groups, next, err := group(c)
	if err != nil {
		return err
	}
	p := &Preview{
		WouldExecute: refusal == nil, Operation: c.Operation.Name, Environment: a.Environment, AsOf: gbp.OldestSync(c.locations, c.now).UTC().Format(time.RFC3339),
		TargetCount: c.count(), TargetLocations: locationRefs(c), Changes: groups, NextPageToken: next,
		ValidationErrors: append([]errs.Violation{}, c.violations...), ValidationWarnings: warningsOf(c), WouldRefuse: refusal,
		EstimatedGBPAPICalls: calls(c), EstimatedCompletionSeconds: a.estimate(ctx, c), Reversible: reversible(c),
		Confirmation: Confirmation{Required: c.reason != "", Reason: c.reason},
	}
	if c.digest != nil {
		p.PreviewDigest = "sha256:" + hex.EncodeToString(c.digest)
	}
	if c.reason != "" && c.refusal == nil {
		a.offerToken(ctx, c, &p.Confirmation)
	}
	events := []audit.Event{a.event(c, audit.Preview)}
	events[0].Result = "previewed"
	if p.Confirmation.ConfirmToken != "" {
		events = append(events, a.tokenIssued(c))
	}
	if err := a.Store.Record(ctx, c.Principal.TenantID, events...); err != nil {
		return err
	}
	c.answer = &Answer{Preview: p}
	return nil
}

// reversible is what the operation says, and what of this very plan no undo brings back.
func reversible(c *Call) Reversible {
	r := c.Operation.Reversible
	if slices.ContainsFunc(c.plan, func(p Planned) bool { return p.Kind == gbp.KindReport }) { // it changes no profile
		return Reversible{}
	}
	lost := 0
	for _, p := range c.plan {
		if irreversible(p) {
			lost++
		}
	}
	switch {
	case lost > 0 && lost == len(c.plan):
		return Reversible{}
	case lost > 0:
		r.Loses = append(slices.Clone(r.Loses), fmt.Sprintf("%d of the %d targets for good; see the warnings", lost, len(c.plan)))
	}
	return r
}

func (a *Admission) offerToken(ctx context.Context, c *Call, out *Confirmation) {
	out.Question = a.question(c)
	token, err := a.issue(ctx, c)
	if err != nil {
		out.Note = errs.T("確認トークンを発行できません。少し待ってからプレビューし直してください。", "No token can be issued at the moment; preview again shortly.").In(c.Principal.Locale)
		return
	}
	out.ConfirmToken, out.ExpiresIn = token, c.Principal.Policy.ConfirmTokenSeconds
}

// foresee says what would refuse the real call: its key, its token, the limits. It spends nothing.
func (a *Admission) foresee(ctx context.Context, c *Call) *WouldRefuse {
	e := c.refusal
	for _, step := range []func(context.Context, *Call) error{
		a.foreseeKey, a.foreseeToken,
		func(ctx context.Context, c *Call) error {
			_, err := a.Limiter.Peek(ctx, ratelimit.WriteBuckets(c.Principal, c.now))
			return err
		},
	} {
		if e == nil {
			e = errs.From(step(ctx, c))
		}
	}
	if e == nil {
		return nil
	}
	p := e.Public(c.Principal.Locale, "")
	return &WouldRefuse{ErrorCode: p.ErrorCode, Message: p.Message, How: p.Retry.How, AfterSeconds: p.Retry.AfterSeconds, Changed: e.Details.Changed}
}

// foreseeKey tells of a key that has its answer already: for other content it would refuse, for this one only repeat it.
func (a *Admission) foreseeKey(ctx context.Context, c *Call) error {
	found, err := a.Store.FindAnswer(ctx, c.key)
	switch {
	case err != nil || found == nil:
		return err
	case !bytes.Equal(found.InputHash, c.inputHash):
		return conflict(c, found)
	}
	c.warnings = append(c.warnings, gbp.Warning{Code: "ALREADY_ACCEPTED", Span: string(found.BatchID), Message: errs.Tf("同じ内容はすでに受け付けています (バッチ %s)。送っても新たには実行されません。別の効果にするには新しい idempotency_key を使ってください。",
		"The same was accepted already (batch %s): sending it would execute nothing new. A new effect needs a new idempotency_key.", found.BatchID).In(c.Principal.Locale)})
	return nil
}

func (a *Admission) foreseeToken(ctx context.Context, c *Call) error {
	if c.safety.ConfirmToken == "" {
		return nil
	}
	return a.checkToken(ctx, c)
}

func (a *Admission) spendPreview(ctx context.Context, c *Call) error {
	_, err := a.Limiter.Take(ctx, ratelimit.PreviewBuckets(c.Principal), c.nonce)
	return err
}

func calls(c *Call) (n int) {
	for _, r := range c.plan {
		if !r.Already {
			n += EffectOf(r.Operation).Calls
		}
	}
	return n
}

// group lists the change of each target. Where that is more than a page, targets with identical changes stand together, and
// the list is cut to a page. The page token is the index of the first group of the page.
func group(c *Call) (out []ChangeGroup, next string, err error) {
	var groups []ChangeGroup
	size := 0
	for _, r := range c.plan {
		g := ChangeGroup{
			LocationIDs: []int64{int64(r.Location.ID)}, Before: r.Before, After: r.After, Sent: r.Sent, UpdateMask: r.Mask,
			SummaryLength: r.SummaryLength, CommentBytes: r.CommentBytes, Already: r.Already,
		}
		if r.Operation != c.Operation.Name {
			g.Operation = r.Operation
		}
		if r.TargetID != "" {
			g.TargetIDs = []string{r.TargetID}
		}
		groups = append(groups, g)
		size += g.size()
	}
	if size > previewBytes {
		groups = together(groups)
	}
	for i, g := range groups {
		if len(g.LocationIDs) == 1 {
			groups[i].LocationID = g.LocationIDs[0]
		}
	}
	if groups == nil { // every target breaks a rule
		return []ChangeGroup{}, "", nil
	}
	from := 0
	if t := c.safety.PageToken; t != "" {
		if from, err = strconv.Atoi(t); err != nil || from < 0 || from >= len(groups) {
			return nil, "", Invalid([]errs.Violation{{Path: "page_token", Rule: "unknown", Message: errs.T("この page_token はこのプレビューのものではありません。", "This page_token does not belong to this preview.").In(c.Principal.Locale)}})
		}
	}
	size = 0
	for i := from; i < len(groups); i++ {
		size += groups[i].size()
		if size > previewBytes && i > from {
			return groups[from:i], strconv.Itoa(i), nil
		}
	}
	return groups[from:], "", nil
}

// together puts targets with identical changes into one group, in the order of the first of each.
func together(list []ChangeGroup) (out []ChangeGroup) {
	for _, g := range list {
		at := slices.IndexFunc(out, g.same)
		if at < 0 {
			out = append(out, g)
			continue
		}
		out[at].LocationIDs, out[at].TargetIDs = append(out[at].LocationIDs, g.LocationIDs...), append(out[at].TargetIDs, g.TargetIDs...)
	}
	return out
}

// estimate is when the last item would be done. Without Redis it falls back to one item after another at Google's pace.
func (a *Admission) estimate(ctx context.Context, c *Call) int {
	n := calls(c)
	if n == 0 {
		return 0
	}
	busiest, edits := busiest(c)
	d, err := a.Slots.Estimate(ctx, EffectOf(c.plan[0].Operation).API, c.Principal.TenantID, n, busiest, edits)
	if err != nil {
		d = time.Duration(n) * 250 * time.Millisecond
	}
	return int(math.Ceil(d.Seconds()))
}

// busiest is the store with the most edits: Google lets a few through per minute and profile.
func busiest(c *Call) (name gbp.LocationName, edits int) {
	per := map[gbp.LocationName]int{}
	for _, r := range c.plan {
		if r.Already || r.Kind == gbp.KindReport {
			continue
		}
		if per[r.Location.Name]++; per[r.Location.Name] > edits {
			name, edits = r.Location.Name, per[r.Location.Name]
		}
	}
	return name, edits
}
