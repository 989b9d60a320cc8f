package tools

import (
	"context"
	"encoding/json"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type auditQuery struct {
	page
	Since      string         `json:"since"`
	Until      string         `json:"until"`
	Event      audit.Kind     `json:"event"`
	Actor      authn.UserID   `json:"actor"`
	Tool       string         `json:"tool"`
	Result     string         `json:"result"`
	LocationID gbp.LocationID `json:"location_id"`
	BatchID    string         `json:"batch_id"`
}

// AuditPage is the answer of audit.search.
type AuditPage struct {
	Events        []gbp.View `json:"events" jsonschema:"events, newest first, each as it was recorded: event_id, occurred_at, event, actor, tool, operation, batch_id, item_id, location_id, before, after, result, error_code, reason, assurance, details"`
	NextPageToken string     `json:"next_page_token,omitempty" jsonschema:"send as page_token for older ones; absent on the last page"`
	AsOf          string     `json:"as_of" jsonschema:"RFC 3339 time of this reading"`
}

func auditSearch(s *Set) (Tool, error) {
	t := Tool{
		Name: "audit.search", Title: "Search the audit log", Scope: "audit:read", ReadOnly: true, Idempotent: true,
		Description: "Lists what was previewed, refused, accepted, sent and read, newest first: who (agent, person, token), when, on which store, from what to what, on whose word, with which result. " +
			"Shows events of your stores, and of those without a store your own only, unless all stores are granted. Changes nothing; the reading itself is recorded.",
		Input: schema.Object{Fields: append([]schema.Field{
			schema.DateTime("since", "Only events at or after this time.", schema.Example("2026-11-30T00:00:00+09:00")),
			schema.DateTime("until", "Only events before this time.", schema.Example("2026-12-01T00:00:00+09:00")),
			schema.Enum("event", "Only this kind of event.", audit.Kinds()),
			schema.String("actor", "Only of this user_id or client_id.", schema.MaxLength(63), schema.Example("hanako")),
			schema.String("tool", "Only of this tool.", schema.MaxLength(40), schema.Pattern(`^[a-z._]+$`), schema.Example("post.create")),
			schema.String("result", "Only with this result, such as accepted, refused, succeeded or failed.", schema.MaxLength(40), schema.Pattern(`^[a-z_]+$`), schema.Example("failed")),
			schema.LocationID("location_id", "Only about this store.", schema.Example("8802")),
			schema.ID("batch_id", "Only about this batch.", schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
		}, paging()...)},
	}
	var err error
	t.Output, err = output[AuditPage]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q auditQuery) (Result, error) {
		before, err := idToken(q.Token, call.Principal.Locale)
		if err != nil {
			return Result{}, err
		}
		f := audit.Filter{
			Kind: q.Event, Batch: q.BatchID, Location: int64(q.LocationID), User: q.Actor, Tool: q.Tool, Result: q.Result, Before: before,
			Reader: call.Principal, Limit: q.Size + 1, Since: timeOf(q.Since), Until: timeOf(q.Until),
		}
		if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
			return Result{}, admission.Invalid([]errs.Violation{{Path: "until", Rule: "before_since", Value: q.Until, Message: errs.T("until は since より後の時刻にしてください。", "until has to be later than since.").In(call.Principal.Locale)}})
		}
		found, err := s.Store.Events(ctx, call.Principal.TenantID, f, audit.ActorOf(call.Principal))
		if err != nil {
			return Result{}, err
		}
		out := AuditPage{Events: []gbp.View{}, AsOf: stamp(s.Now())}
		for _, e := range found[:min(len(found), q.Size)] {
			out.Events = append(out.Events, gbp.View(e))
		}
		n, err := fits(out.Events, pageBytes)
		if err != nil {
			return Result{}, err
		}
		if out.Events = out.Events[:n]; n < len(found) {
			if out.NextPageToken, err = after(found[n-1]); err != nil {
				return Result{}, err
			}
		}
		return success(errs.Tf("%d 件の監査イベント。", "%d audit event(s).", n).In(call.Principal.Locale), out)
	})
	return t, err
}

// after is the page token that continues behind an event.
func after(body json.RawMessage) (string, error) {
	var e struct {
		ID string `json:"event_id"`
	}
	err := json.Unmarshal(body, &e)
	return encodeToken(e.ID), err
}
