package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// Slots shares Google's quotas; see package slots.
type Slots interface {
	Reserve(ctx context.Context, r slots.Request) (slots.Answer, error)
	Release(ctx context.Context, r slots.Request) error
	Pause(ctx context.Context, r slots.Request, location bool, d time.Duration) error
	PauseEdits(ctx context.Context, r slots.Request, d time.Duration) error
}

// Tokens makes sure that a connection has a usable access token before an attempt is spent on it.
type Tokens interface {
	Token(ctx context.Context, tenant authn.TenantID, connection string) (string, error)
}

// Deps are what the item worker works with.
type Deps struct {
	Store     Store
	Slots     Slots
	Tokens    Tokens
	Executors []Executor
	Windows   Windows
	// Attempts is how often an item is sent at most: the first time and up to three retries.
	Attempts int
	// Backoff is the base of the exponential back-off between attempts.
	Backoff time.Duration
	Now     func() time.Time
	Log     *slog.Logger
	// Observe is told about each decided item; may be nil.
	Observe func(operation string, state batch.ItemState, code string)
	// Fault is called at named points; it is nil but in crash tests.
	Fault func(point string)
}

// ItemWorker works the jobs of accepted items.
type ItemWorker struct {
	river.WorkerDefaults[queue.ItemArgs]
	Deps
	executors map[string]Executor
	timeout   time.Duration
}

// timeoutFactor is how much longer a job may take than one call to Google: an edit reads its target before it writes, and there is
// waiting for a slot, and recording. River knows only the job's arguments, so it is the same for every operation.
const timeoutFactor = 3

// NewItemWorker makes the worker of items.
func NewItemWorker(d Deps) *ItemWorker {
	w := &ItemWorker{Deps: d, executors: map[string]Executor{}, timeout: timeoutFactor * d.Windows.Call}
	for _, e := range d.Executors {
		w.executors[e.Operation()] = e
	}
	if w.Fault == nil {
		w.Fault = func(string) {}
	}
	if w.Observe == nil {
		w.Observe = func(string, batch.ItemState, string) {}
	}
	return w
}

// Timeout is River's bound on one run.
func (w *ItemWorker) Timeout(*river.Job[queue.ItemArgs]) time.Duration { return w.timeout }

// NextRetry is when River runs a job again that failed for a reason of ours, such as PostgreSQL being away.
func (w *ItemWorker) NextRetry(job *river.Job[queue.ItemArgs]) time.Time {
	return w.Now().Add(min(time.Minute, time.Duration(1<<min(job.Attempt, 6))*time.Second))
}

// Work runs an item once. What it returns is made safe for River's own tables, which choke on NUL bytes.
func (w *ItemWorker) Work(ctx context.Context, job *river.Job[queue.ItemArgs]) error {
	r := run{
		ItemWorker: w, tenant: authn.TenantID(job.Args.TenantID), item: batch.ItemID(job.Args.ItemID),
		complete: func(ctx context.Context, tx pgx.Tx) error {
			_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
			if errors.Is(err, rivertype.ErrNotFound) {
				return nil // the job was lost meanwhile; the outcome counts
			}
			return err
		},
		meta: job.Metadata,
	}
	wait, err := r.guarded(ctx)
	switch {
	case errors.Is(err, ErrFenced):
		w.Log.WarnContext(ctx, "another runner decided this item first", "tenant", r.tenant, "item", r.item)
		return river.JobSnooze(w.Windows.Send) // look again: the item's row says what is left to do
	case err != nil:
		w.Log.ErrorContext(ctx, "item not worked", "tenant", r.tenant, "item", r.item, "error", redact.Error(err))
		return redact.Error(err)
	case wait > 0:
		return river.JobSnooze(wait)
	}
	return nil
}

// run is one run of one item.
type run struct {
	*ItemWorker
	tenant   authn.TenantID
	item     batch.ItemID
	complete func(context.Context, pgx.Tx) error
	meta     []byte
	slot     slots.Request
	holds    bool
	sight    Sight
	// gone is true when we know an edit's target as deleted.
	gone bool
	// due is when the slot's time had come.
	due time.Time
	// unbooked counts exchanges with Google beyond the booked ones that nothing has recorded yet.
	unbooked int
}

// completing completes the job in a transaction under ctx, which may outlive the run's own: the outcome of a call that was made
// is recorded when the process is being stopped, too.
func (r *run) completing(ctx context.Context) func(pgx.Tx) error {
	return func(tx pgx.Tx) error { return r.complete(ctx, tx) }
}

// guarded is once with a panic as an error. River would store the panic's text as it is, and a NUL in it keeps the jobs that
// are completed together with this one running until they are rescued.
func (r *run) guarded(ctx context.Context) (wait time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			r.Log.ErrorContext(ctx, "panic", "tenant", r.tenant, "item", r.item, "stack", redact.TextIn(4000, string(debug.Stack())))
		}
	}()
	return r.once(ctx)
}

// once takes the item as far as it goes now. A positive wait asks to be called again after it.
func (r *run) once(ctx context.Context) (wait time.Duration, err error) {
	p, err := r.Store.Peek(ctx, r.tenant, r.item)
	if err != nil {
		return 0, err
	}
	r.gone = p.TargetGone
	x, ok := r.executors[p.Item.Operation]
	if !ok {
		return 0, fmt.Errorf("no executor for %q", p.Item.Operation)
	}
	_, reads := x.(Reader)
	r.slot = slots.Request{API: x.API(), Tenant: r.tenant, User: p.User, Location: p.Item.LocationName, Member: string(r.item), Edit: !reads}
	if _, ok := x.(Editor); ok {
		r.slot.Calls = 2 // it looks before it writes
	}
	var t Turn
	if p.WantsSlot {
		if wait, err = r.awaitTurn(ctx, p); err != nil || wait > 0 {
			return wait, err
		}
		defer r.release(ctx)
		ctx = r.booked(ctx, max(1, r.slot.Calls))
		if e, ok := x.(Editor); ok {
			if t, wait, err = r.look(ctx, e, p.Item); err != nil || wait > 0 {
				return wait, err
			}
		}
	}
	t.Slot = r.holds
	asked := r.Now()
	b, err := r.Store.Begin(ctx, r.tenant, r.item, r.Windows, t, r.completing(ctx))
	if err != nil {
		return 0, err
	}
	r.Fault("worker.begun")
	switch b.Decision.Step {
	case batch.StepWait:
		return max(b.Decision.Wait, 50*time.Millisecond), nil
	case batch.StepExamine:
		return r.examine(ctx, x, b)
	case batch.StepSend:
		return r.send(ctx, x, b, asked)
	case batch.StepEnd:
		r.Observe(b.Item.Operation, b.Decision.State, string(b.Decision.Code))
		if b.Decision.Code == errs.GoogleReconnectRequired {
			r.endWaiting(ctx, b.Item.Connection)
		}
	case batch.StepDone:
	}
	return 0, nil
}

// send makes the one call of an attempt, unless this runner stalled on the way to it. The clock is this process's own
// monotonic one, from before the attempt was written.
func (r *run) send(ctx context.Context, x Executor, b Begun, asked time.Time) (time.Duration, error) {
	if late := r.Now().Sub(asked); late > r.Windows.Send {
		return r.finish(ctx, b, r.again(b, Outcome{Attempt: batch.AttemptNotSent, Note: fmt.Sprintf("not sent: stalled for %s", late.Round(time.Millisecond))}, 0))
	}
	r.Fault("worker.before_send")
	r.slot.Late = r.Now().Sub(r.due)
	item := b.Item
	if r.sight.Before != nil { // as it was read in this turn; the first one's is what an undo goes back to
		item.Before = r.sight.Before
	}
	effect, err := x.Send(ctx, r.tenant, item)
	r.Fault("worker.sent")
	if err == nil {
		o := effect.outcome(batch.AttemptSucceeded)
		o.AuditBefore = r.sight.AuditBefore
		return r.finish(ctx, b, o)
	}
	failure, ok := errors.AsType[*gbpapi.Error](err)
	if !ok {
		return 0, fmt.Errorf("send: %w", err) // the attempt stays open and is examined
	}
	if failure.Class == gbpapi.Ambiguous {
		ctx, cancel := recording(ctx)
		defer cancel()
		return r.Windows.Settle, r.Store.Postpone(ctx, r.tenant, b.Attempt.ID, r.Windows.Settle, 0, failure.Error())
	}
	r.slowDown(ctx, failure)
	wait, err := r.finish(ctx, b, r.verdict(x, b, failure))
	if err == nil && failure.Class == gbpapi.Dead {
		r.endWaiting(ctx, b.Item.Connection)
	}
	return wait, err
}

// finish records an outcome, also while the process is being stopped: a call that was made must be recorded.
func (r *run) finish(ctx context.Context, b Begun, o Outcome) (time.Duration, error) {
	ctx, cancel := recording(ctx)
	defer cancel()
	o.Follow = r.Windows.followUp(o)
	o.GoogleCalls += r.takeUnbooked()
	r.Fault("worker.before_finish")
	if err := r.Store.Finish(ctx, r.tenant, b, o, r.completing(ctx)); err != nil {
		return 0, err
	}
	r.Fault("worker.finished")
	if o.State == "" {
		return max(o.RetryIn, 50*time.Millisecond), nil
	}
	r.Observe(b.Item.Operation, o.State, string(o.Code))
	return 0, nil
}

const recordTimeout = 10 * time.Second

// recording is a context for writing down what was done, also while the process is being stopped.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
}

// takeUnbooked gives the exchanges that nothing has recorded yet, once.
func (r *run) takeUnbooked() (n int) {
	n, r.unbooked = r.unbooked, 0
	return n
}

// again plans another attempt, with full jitter, or at what Google asked for.
func (r *run) again(b Begun, o Outcome, asked time.Duration) Outcome {
	o.State = ""
	o.RetryIn = asked
	if asked <= 0 {
		o.RetryIn = r.backoff(b.Attempt.No)
	}
	return o
}

// backoff is exponential with full jitter; no counts from 1.
func (r *run) backoff(no int) time.Duration {
	limit := r.Backoff << min(no-1, 6)
	return time.Duration(rand.Int64N(int64(limit) + 1)) //nolint:gosec // jitter needs no secrecy
}
