package admission

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
)

// refuse is where every refused call ends: what it held is given back, the refusal is recorded before it is answered, and
// a caller that only collects refusals is slowed down. A refusal that cannot be recorded becomes UNAVAILABLE.
func (a *Admission) refuse(ctx context.Context, c *Call, at string, err error) error {
	e := errs.From(err)
	if e.Code == errs.Internal {
		a.Log.ErrorContext(ctx, "call failed", "request_id", c.RequestID, "tenant", c.Principal.TenantID, "tool", c.Operation.Name, "step", at, "error", err)
	}
	ctx = context.WithoutCancel(ctx)
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	a.giveBack(settling, c)
	return Refused(ctx, a.Store, a.Limiter, a.Log.Warn, c.Principal, c.nonce, e, a.refusalEvents(c, at, e)...)
}

// settleTime is for what Redis holds of a refused call, and for its count of refusals; recordTime is for writing the
// refusal down, apart from it: a Redis that hangs must not cost the audit its event.
const (
	settleTime = 600 * time.Millisecond // longer than one command may take
	recordTime = time.Second
)

// Recorder appends audit events; see Store.
type Recorder interface {
	Record(ctx context.Context, tenant authn.TenantID, events ...audit.Event) error
}

// Refused records a refusal and answers with it, for reads and writes alike. Beyond the tenant's refusals per minute the
// answer is RATE_LIMITED, and one event a minute stands for all that follow; a refusal that cannot be recorded is UNAVAILABLE.
// Only one that says that the call may have been accepted stays what it is. It has a time of its own: ctx may be over.
func Refused(ctx context.Context, r Recorder, l Limiter, warn func(string, ...any), p *authn.Principal, nonce string, e *errs.Error, events ...audit.Event) error {
	ctx = context.WithoutCancel(ctx)
	counting, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	doubtful := e.Executed == errs.ExecutedUnknown
	if _, err := l.Take(counting, ratelimit.RefusalBuckets(p), nonce); errs.CodeOf(err) == errs.RateLimited && !doubtful {
		e = errs.From(err)
		if _, err := l.Take(counting, ratelimit.SummaryBuckets(p), nonce); err != nil {
			return e // this minute already has its event
		}
		s := audit.Event{Kind: audit.RateLimited, Actor: audit.ActorOf(p), RequestID: events[0].RequestID, Tool: events[0].Tool, Result: "refused", ErrorCode: e.Code}
		s.Details = &audit.Details{Scope: e.Details.Scope, Limit: e.Details.Limit, RetryAfterSeconds: e.Details.RetryAfterSeconds, Note: "further refusals are not recorded one by one within the minute"}
		events = []audit.Event{s}
	}
	recording, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	if err := r.Record(recording, p.TenantID, events...); err != nil {
		warn("refusal not recorded", "error", err, "code", e.Code)
		if doubtful {
			return e
		}
		return errs.Wrap(errs.Unavailable, err, errs.T("一時的に受け付けられません。何も受け付けていません。", "Temporarily unavailable; nothing was accepted."))
	}
	return e
}

func (a *Admission) refusalEvents(c *Call, at string, e *errs.Error) []audit.Event {
	kind := audit.AdmissionRefused
	switch e.Code {
	case errs.RateLimited:
		kind = audit.RateLimited
	case errs.ConfirmTokenExpired, errs.ConfirmTokenUsed, errs.ConfirmTokenMismatch, errs.ConfirmTokenInvalid:
		kind = audit.ConfirmTokenRefused
	default:
	}
	ev := a.event(c, kind)
	ev.Result, ev.ErrorCode, ev.Reason, ev.BatchID = "refused", e.Code, at, e.Details.BatchID
	ev.Details.Scope, ev.Details.Limit, ev.Details.RetryAfterSeconds = e.Details.Scope, e.Details.Limit, e.Details.RetryAfterSeconds
	events := []audit.Event{ev}
	if c.issuedToken {
		events = append(events, a.tokenIssued(c))
	}
	return events
}

func (a *Admission) tokenIssued(c *Call) audit.Event {
	e := a.event(c, audit.ConfirmTokenIssued)
	e.Result, e.Reason = "issued", c.reason
	e.Details.ExpiresIn = c.Principal.Policy.ConfirmTokenSeconds
	return e
}

// event is an event about the call with everything known of it so far. Keys and texts stand as digests and heads.
func (a *Admission) event(c *Call, kind audit.Kind) audit.Event {
	e := audit.Event{
		Kind: kind, RequestID: c.RequestID, Actor: audit.ActorOf(c.Principal), Tool: c.Operation.Name, Operation: c.Operation.Name,
		Assurance: string(c.assurance), PolicyVersion: c.Principal.Policy.Version, InputHash: hex.EncodeToString(c.inputHash),
		PreviewDigest: hex.EncodeToString(c.digest), Details: &audit.Details{},
	}
	if c.key.Value != "" && !c.safety.DryRun {
		e.KeyHash, e.KeySource = hex.EncodeToString(c.key.Hash()), string(c.key.Source)
	}
	if c.change != nil {
		e.Details.TargetCount, e.Details.PostSummary = c.count(), audit.Head(c.change.Headline())
		for _, id := range c.locationIDs() {
			e.Details.TargetLocations = append(e.Details.TargetLocations, int64(id))
		}
		if len(e.Details.TargetLocations) == 1 {
			e.LocationID = e.Details.TargetLocations[0]
		}
	}
	seen := map[string]bool{}
	for _, w := range c.warnings {
		if !seen[w.Code] {
			seen[w.Code] = true
			e.Details.Warnings = append(e.Details.Warnings, w.Code)
		}
	}
	return e
}

// count is how many targets the call has, as far as it got.
func (c *Call) count() int {
	switch {
	case len(c.plan) > 0:
		return len(c.plan)
	case len(c.targets) > 0:
		return len(c.targets)
	}
	return c.change.References().size()
}

// locationIDs are the stores that the call is about, as far as it got.
func (c *Call) locationIDs() []gbp.LocationID {
	if c.locations == nil {
		return c.change.References().Locations
	}
	out := make([]gbp.LocationID, len(c.locations))
	for i, l := range c.locations {
		out[i] = l.ID
	}
	return out
}
