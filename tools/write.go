package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// decode reads a tool's arguments into a typed struct.
func decode(input schema.Object, raw json.RawMessage, into any, l errs.Locale) []errs.Violation {
	values, violations := input.Decode(raw, l)
	if len(violations) > 0 {
		return violations
	}
	if err := values.Into(into); err != nil {
		return []errs.Violation{{Path: "$", Rule: "type", Message: err.Error()}}
	}
	return nil
}

func pageTokenViolations(s admission.Safety, l errs.Locale) []errs.Violation {
	if s.PageToken == "" || s.DryRun {
		return nil
	}
	return []errs.Violation{{Path: "page_token", Rule: "not_allowed", Message: errs.T("page_token は dry_run: true のときだけ使えます。", "page_token goes with dry_run true only.").In(l)}}
}

// distinct keeps the first of each.
func distinct[T comparable](list []T) []T {
	var out []T
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// canonical is a change as it is hashed, bound and stored.
func canonical(v any) []byte { return []byte(gbp.ViewOf(v)) }

// write runs a write tool: the admission chain, then, for an accepted write, the wait that was asked for.
func (s *Set) write(op admission.Operation) func(context.Context, *Call) (Result, error) {
	return func(ctx context.Context, call *Call) (Result, error) {
		c := &admission.Call{Principal: call.Principal, RequestID: call.RequestID, Operation: op, Arguments: call.Arguments, Progress: call.Progress}
		answer, err := s.Admission.Admit(ctx, c)
		if err != nil {
			return Result{}, err
		}
		if answer.Preview != nil {
			w := Write{Preview: answer.Preview}
			return success(w.Sentence(call.Principal.Locale), w)
		}
		w := Write{Accepted: answer.Accepted}
		if seconds := c.Safety().WaitSeconds; seconds > 0 {
			w.Batch, err = s.wait(ctx, call, answer.Accepted.BatchID, seconds)
			if err != nil { // accepted is accepted: the wait is only a convenience
				s.Log.WarnContext(ctx, "wait ended early", "request_id", call.RequestID, "error", err)
			}
			if w.Batch != nil { // it says itself how it stands
				w.Accepted.Current = nil
				if w.Batch.Status.Final() {
					w.Accepted.Next = ""
				}
			}
		}
		return success(w.Sentence(call.Principal.Locale), w, linksOf(answer.Accepted.BatchID, answer.Accepted.EstimatedUnits > 0)...)
	}
}

// Sentence is the answer in words, without the data.
func (w Write) Sentence(l errs.Locale) string {
	if w.Preview != nil {
		return previewSentence(w.Preview, l)
	}
	return acceptedSentence(w, l)
}

func previewSentence(p *admission.Preview, l errs.Locale) string {
	lines := []string{errs.Tf("プレビューです。何も公開していません。対象 %d 店舗。", "Preview; nothing was published. %d store(s).", len(p.TargetLocations)).In(l)}
	for _, v := range p.ValidationErrors {
		lines = append(lines, fmt.Sprintf("- %s: %s", v.Path, v.Message))
	}
	if r := p.WouldRefuse; r != nil {
		lines = append(lines, "would_execute: false, "+string(r.ErrorCode)+": "+r.Message, r.How)
		for _, t := range r.Changed {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("- location_id %d %s", t.LocationID, t.TargetID))+", version "+t.CurrentVersion)
		}
	}
	if c := p.Confirmation; c.Required {
		lines = append(lines, c.Question)
		if c.ConfirmToken != "" {
			lines = append(lines, "confirm_token: "+c.ConfirmToken)
		}
		if c.Note != "" {
			lines = append(lines, c.Note)
		}
	}
	for i, w := range p.ValidationWarnings {
		if i == shownWarnings {
			lines = append(lines, fmt.Sprintf("! … (%d)", len(p.ValidationWarnings)))
			break
		}
		lines = append(lines, warningLine(w))
	}
	return strings.Join(lines, "\n")
}

const shownWarnings = 10

func warningLine(w gbp.Warning) string {
	at := ""
	if w.LocationID != 0 {
		at = fmt.Sprintf(" (%d)", w.LocationID)
	}
	return strings.TrimRight(fmt.Sprintf("! %s%s: %s %s", w.Code, at, w.Message, w.Span), " ")
}

func acceptedSentence(w Write, l errs.Locale) string {
	a := w.Accepted
	t := errs.Tf("受け付けました。batch_id: %[1]s、対象 %[2]d 件、idempotency_key: %[3]s (%[4]s)。", "Accepted. batch_id: %[1]s, %[2]d target(s), idempotency_key: %[3]s (%[4]s).",
		a.BatchID, a.TargetCount, a.Idempotency.Key, a.Idempotency.Outcome).In(l)
	switch {
	case w.Batch != nil:
		t += "\n" + batchSentence(w.Batch, l)
	case a.Current != nil:
		t += "\n" + errs.Tf("再送と判断し、新たには実行していません。現在の状態: %s。", "This was a repeat; nothing new was executed. Status now: %s.", a.Current.Status).In(l)
	default:
		t += "\n" + a.Next
	}
	return t
}
