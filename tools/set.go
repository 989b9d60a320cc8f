package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
)

// Deps are what tools work with, each as narrow as its use.
type Deps struct {
	Admission interface {
		Admit(ctx context.Context, c *admission.Call) (*admission.Answer, error)
	}
	Store Store
	Live  interface {
		// Read gives a location's posts, reviews or media at Google, or what was read within the last minute.
		Read(ctx context.Context, tenant authn.TenantID, loc gbp.Location, kind gbp.Kind) (things []gbp.Resource, asOf time.Time, err error)
	}
	// Attributes gives a store's attributes as the list of Google's resource, and when they were read.
	Attributes interface {
		Read(ctx context.Context, tenant authn.TenantID, loc gbp.Location) (json.RawMessage, time.Time, error)
	}
	Limiter admission.Limiter
	// Hints wake a wait when its batch has changed; PollEvery is how often it looks by itself, 0 is one second.
	Hints     Hints
	PollEvery time.Duration
	// Environment names the deployment in every write description.
	Environment string
	ReadOnly    bool
	Now         func() time.Time
	NewID       func() string
	Log         *slog.Logger
	// Observe is told about each call; may be nil.
	Observe func(tool string, code errs.Code, took time.Duration)
}

// Hints tell of changed batches between processes. Losing one costs a poll.
type Hints interface {
	Watch(tenant authn.TenantID, id batch.ID) (changed <-chan struct{}, stop func())
	Announce(ctx context.Context, tenant authn.TenantID, id batch.ID)
}

// Store is what read tools and batch.cancel need of PostgreSQL.
type Store interface {
	admission.Recorder
	ListLocations(ctx context.Context, tenant authn.TenantID, g authn.Grants, f gbp.LocationFilter) ([]gbp.Location, error)
	Locations(ctx context.Context, tenant authn.TenantID, ids []gbp.LocationID) ([]gbp.Location, error)
	Resource(ctx context.Context, tenant authn.TenantID, kind gbp.Kind, id string) (gbp.Resource, bool, error)
	Batch(ctx context.Context, tenant authn.TenantID, g authn.Grants, id batch.ID) (batch.Batch, bool, error)
	Batches(ctx context.Context, tenant authn.TenantID, f batch.Filter) ([]batch.Batch, error)
	BatchItems(ctx context.Context, tenant authn.TenantID, g authn.Grants, id batch.ID, f batch.ItemFilter) (batch.Batch, []batch.Item, bool, error)
	Cancel(ctx context.Context, p *authn.Principal, id batch.ID, requestID string) (batch.Cancellation, error)
	Events(ctx context.Context, tenant authn.TenantID, f audit.Filter, reader audit.Actor) ([]json.RawMessage, error)
	UnitsOfMonth(ctx context.Context, tenant authn.TenantID, zone *time.Location) (int, error)
	BatchVersion(ctx context.Context, tenant authn.TenantID, id batch.ID) (batch.Status, int, error)
}

// Set is the tools of the product.
type Set struct {
	Deps
	tools  []Tool
	byName map[string]*Tool
}

// NewSet makes the tools, in the order in which people think of them, and checks their declarations.
func NewSet(d Deps) (*Set, error) {
	if d.Observe == nil {
		d.Observe = func(string, errs.Code, time.Duration) {}
	}
	if d.PollEvery == 0 {
		d.PollEvery = time.Second
	}
	s := &Set{Deps: d, byName: map[string]*Tool{}}
	var faults []error
	for _, build := range []func(*Set) (Tool, error){
		locationList, locationGet, locationUpdate, postList, postGet, postCreate, postUpdate, postDelete,
		reviewList, reviewGet, reviewReply, reviewDeleteReply, mediaList, mediaUpload, mediaDelete,
		batchStatus, batchList, batchCancel, batchRetry, batchUndo, reportCreate, limitsGet, auditSearch,
	} {
		t, err := build(s)
		if err != nil {
			faults = append(faults, fmt.Errorf("tool %s: %w", t.Name, err))
		}
		s.tools = append(s.tools, t)
	}
	for i := range s.tools {
		s.byName[s.tools[i].Name] = &s.tools[i]
	}
	return s, errors.Join(faults...)
}

// List is every tool. What a read-only server hides is the front door's matter.
func (s *Set) List() []Tool { return append([]Tool(nil), s.tools...) }

// Call runs one tool. Every refusal is part of the result; the error catalogue is the only vocabulary.
func (s *Set) Call(ctx context.Context, name string, call *Call) Result {
	started := s.Now()
	t, ok := s.byName[name]
	if !ok {
		return s.refusal(ctx, call, name, errNoTool)
	}
	r, err := t.run(ctx, call)
	code := errs.CodeOf(err)
	if err != nil {
		r = s.refusal(ctx, call, name, err)
	}
	s.Observe(name, code, s.Now().Sub(started))
	return r
}

var errNoTool = errors.New("there is no such tool")

// refusal is an error as an answer. Admission and read have logged what they refuse and answer with an error of the
// catalogue; what is none yet comes from behind them.
func (s *Set) refusal(ctx context.Context, call *Call, tool string, err error) Result {
	if _, refused := errors.AsType[*errs.Error](err); !refused {
		s.failed(ctx, call, tool, "answer", err)
	}
	return ErrorResult(errs.From(err).Public(call.Principal.Locale, call.RequestID))
}

// failed logs what a caller knows as INTERNAL and finds by its request_id, as admission does of a write that it refuses.
func (s *Set) failed(ctx context.Context, call *Call, tool, step string, err error) {
	s.Log.ErrorContext(ctx, "call failed", "request_id", call.RequestID, "tenant", call.Principal.TenantID, "tool", tool, "step", step, "error", err)
}

// read runs a read tool: arguments, scope, its limit, then the query.
func read[Q any](s *Set, t *Tool, query func(ctx context.Context, call *Call, q Q) (Result, error)) func(context.Context, *Call) (Result, error) {
	return func(ctx context.Context, call *Call) (r Result, err error) {
		err = s.recorded(ctx, call, t.Name, func() (err error) {
			r, err = readOnce(ctx, s, t, call, query)
			return err
		})
		return r, err
	}
}

// recorded runs a read and records its refusal like those of writes.
func (s *Set) recorded(ctx context.Context, call *Call, tool string, run func() error) error {
	err := run()
	if err == nil || errs.CodeOf(err) == errs.Unavailable {
		return err
	}
	if ctx.Err() != nil { // the client went away: nobody reads the answer, and nothing was refused
		return errs.Wrap(errs.Unavailable, err, errs.T("呼び出しは中断されました。", "The call was given up."))
	}
	e := errs.From(err)
	ev := audit.Event{
		Kind: audit.AdmissionRefused, RequestID: call.RequestID, Actor: audit.ActorOf(call.Principal), Tool: tool, Operation: tool,
		Result: "refused", ErrorCode: e.Code, Details: &audit.Details{Scope: e.Details.Scope, Limit: e.Details.Limit},
	}
	if e.Code == errs.RateLimited {
		ev.Kind = audit.RateLimited
	}
	if e.Code == errs.Internal {
		s.failed(ctx, call, tool, "read", err)
	}
	return admission.Refused(ctx, recorder(s.Store, e.Code), s.Limiter, s.Log.Warn, call.Principal, s.NewID(), e, ev)
}

// mayRead checks the scope of a read and spends its limit. Without Redis reads go on, uncounted.
func (s *Set) mayRead(ctx context.Context, call *Call, scope string) error {
	if !call.Principal.HasScope(scope) {
		return admission.MissingScope(scope)
	}
	_, err := s.Limiter.Take(ctx, ratelimit.ReadBuckets(call.Principal), s.NewID())
	if errs.CodeOf(err) == errs.Unavailable {
		return nil
	}
	return err
}

func readOnce[Q any](ctx context.Context, s *Set, t *Tool, call *Call, query func(ctx context.Context, call *Call, q Q) (Result, error)) (Result, error) {
	var q Q
	values, violations := t.Input.Decode(call.Arguments, call.Principal.Locale)
	if len(violations) > 0 {
		return Result{}, admission.Invalid(violations)
	}
	if err := values.WithDefaults().Into(&q); err != nil {
		return Result{}, fmt.Errorf("arguments of %s: %w", t.Name, err)
	}
	if err := s.mayRead(ctx, call, t.Scope); err != nil {
		return Result{}, err
	}
	return query(ctx, call, q)
}
