package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// rig is an item worker on scripted surroundings, which note what was asked of them in order.
type rig struct {
	mu    sync.Mutex
	trace []string

	peek      worker.Peek
	begun     worker.Begun
	beginErr  error
	finishErr error
	finished  []worker.Outcome
	postponed []time.Duration
	looks     []int
	unclaimed func([]string) []string
	undecided bool

	turns   []worker.Turn
	due     []worker.Due
	settled []worker.Outcome

	answers  []slots.Answer
	slotErr  error
	tokenErr error
	sendErr  error
	effects  []worker.Effect
	findErr  error
	now      time.Time
	// stall is how long it takes from asking for the attempt to having it.
	stall time.Duration
}

func newRig() *rig {
	return &rig{
		peek:  worker.Peek{Item: batch.Item{Operation: "post.create", Connection: "google", LocationName: "locations/1"}, User: "hanako", WantsSlot: true},
		begun: worker.Begun{Decision: batch.Decision{Step: batch.StepSend}, Attempt: batch.Attempt{ID: 1, No: 1, State: batch.AttemptOpen}},
		now:   time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
	}
}

func (r *rig) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, s)
}

func (r *rig) Peek(context.Context, authn.TenantID, batch.ItemID) (worker.Peek, error) {
	r.note("peek")
	return r.peek, nil
}

func (r *rig) Begin(_ context.Context, _ authn.TenantID, _ batch.ItemID, _ worker.Windows, t worker.Turn, _ func(pgx.Tx) error) (worker.Begun, error) {
	r.note("begin")
	r.turns = append(r.turns, t)
	if r.begun.Decision.Step == batch.StepSend && !t.Slot {
		return worker.Begun{Decision: batch.Decision{Step: batch.StepWait}}, nil
	}
	r.now = r.now.Add(r.stall)
	return r.begun, r.beginErr
}

func (r *rig) Retreat(_ context.Context, _ authn.TenantID, _ batch.ItemID, _ time.Duration, counts bool) error {
	r.note(fmt.Sprintf("retreat %v", counts))
	return nil
}

func (r *rig) DueFollows(context.Context, authn.TenantID, int, time.Duration) ([]worker.Due, error) {
	return r.due, nil
}

func (r *rig) Followed(_ context.Context, _ authn.TenantID, _ worker.Due, o worker.Outcome) error {
	r.settled = append(r.settled, o)
	return nil
}

func (r *rig) Finish(ctx context.Context, _ authn.TenantID, _ worker.Begun, o worker.Outcome, _ func(pgx.Tx) error) error {
	r.note("finish")
	r.finished = append(r.finished, o)
	return errors.Join(ctx.Err(), r.finishErr)
}

func (r *rig) Postpone(ctx context.Context, _ authn.TenantID, _ batch.AttemptID, by time.Duration, looks int, _ string) error {
	r.note("postpone")
	r.postponed, r.looks = append(r.postponed, by), append(r.looks, looks)
	return ctx.Err()
}

func (r *rig) EndWaiting(_ context.Context, _ authn.TenantID, connection string) ([]worker.Ended, error) {
	r.note("end " + connection)
	return []worker.Ended{{Batch: "01", Operation: "post.create", Items: 2}}, nil
}

func (r *rig) Undecided(context.Context, authn.TenantID, gbp.LocationName, batch.ItemID) (bool, error) {
	r.note("undecided")
	return r.undecided, nil
}

func (r *rig) Unclaimed(_ context.Context, _ authn.TenantID, names []string, _ time.Time) ([]string, error) {
	if r.unclaimed == nil {
		return names, nil
	}
	return r.unclaimed(names), nil
}

func (r *rig) Reserve(context.Context, slots.Request) (slots.Answer, error) {
	r.note("reserve")
	if len(r.answers) == 0 {
		return slots.Answer{Verdict: slots.Granted}, r.slotErr
	}
	a := r.answers[0]
	r.answers = r.answers[1:]
	return a, r.slotErr
}

func (r *rig) Release(ctx context.Context, _ slots.Request) error {
	r.note("release")
	return ctx.Err()
}

func (r *rig) Pause(_ context.Context, _ slots.Request, location bool, d time.Duration) error {
	where := "api"
	if location {
		where = "location"
	}
	r.note("pause " + where + " " + d.String())
	return nil
}

func (r *rig) PauseEdits(_ context.Context, _ slots.Request, d time.Duration) error {
	r.note("pause edits " + d.String())
	return nil
}

func (r *rig) Token(context.Context, authn.TenantID, string) (string, error) {
	r.note("token")
	return "x", r.tokenErr
}

func (r *rig) Operation() string { return "post.create" }
func (r *rig) API() string       { return gbp.APIMyBusiness }

func (r *rig) Send(context.Context, authn.TenantID, batch.Item) (worker.Effect, error) {
	r.note("send")
	return worker.Effect{Name: "accounts/1/locations/1/localPosts/1", Publication: batch.Live}, r.sendErr
}

func (r *rig) Find(context.Context, authn.TenantID, batch.Item, time.Time) ([]worker.Effect, error) {
	r.note("find")
	return r.effects, r.findErr
}

var windows = worker.Windows{Send: 5 * time.Second, Call: 20 * time.Second, Settle: time.Minute, GiveUp: 15 * time.Minute, Skew: 10 * time.Second}

func (r *rig) worker() *worker.ItemWorker {
	return worker.NewItemWorker(worker.Deps{
		Store: r, Slots: r, Tokens: r, Executors: []worker.Executor{r}, Windows: windows, Attempts: 4, Backoff: time.Second,
		Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler),
	})
}

// work runs the item once; it gives how long the job is to sleep (-1: not at all) and the error.
func (r *rig) work(ctx context.Context) (time.Duration, error) {
	err := r.worker().Work(ctx, &river.Job[queue.ItemArgs]{JobRow: &rivertype.JobRow{Metadata: []byte("{}")}, Args: queue.ItemArgs{TenantID: "komorebi", ItemID: "01"}})
	if s, ok := errors.AsType[*rivertype.JobSnoozeError](err); ok {
		return s.Duration, nil
	}
	return -1, err
}

func (r *rig) did(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(r.trace, ", "); got != want {
		t.Errorf("did %s\nwant %s", got, want)
	}
}

func failure(c gbpapi.Class, code errs.Code) *gbpapi.Error {
	return &gbpapi.Error{Call: "localPosts.create", Class: c, Code: code, Sent: true}
}

func TestOneCallPerCreate(t *testing.T) {
	t.Parallel()
	r := newRig()
	if wait, err := r.work(t.Context()); wait != -1 || err != nil {
		t.Errorf("%s, %v", wait, err)
	}
	r.did(t, "peek, token, reserve, begin, send, finish, release")
	if o := r.finished[0]; o.State != batch.ItemSucceeded || o.Attempt != batch.AttemptSucceeded || o.GoogleCalls != 1 || o.Executed != errs.ExecutedYes {
		t.Errorf("%+v", o)
	}
}

// What needs no slot asks for none, and no token.
func TestNothingIsSpentWithoutNeed(t *testing.T) {
	t.Parallel()
	for step, want := range map[batch.Step]string{batch.StepEnd: "peek, begin", batch.StepDone: "peek, begin", batch.StepWait: "peek, begin", batch.StepSend: "peek, begin"} {
		r := newRig()
		r.peek.WantsSlot, r.begun.Decision = false, batch.Decision{Step: step, Wait: 3 * time.Second, State: batch.ItemFailed, Code: errs.WritesDisabled}
		wait, err := r.work(t.Context())
		if err != nil {
			t.Error(err)
		}
		r.did(t, want)
		switch step {
		case batch.StepWait:
			if wait != 3*time.Second {
				t.Errorf("waits %s", wait)
			}
		case batch.StepSend: // it wants a slot by now: it comes back for one
			if wait <= 0 || wait > time.Second {
				t.Errorf("waits %s", wait)
			}
		default:
			if wait != -1 {
				t.Errorf("step %d waits %s", step, wait)
			}
		}
	}
}

func TestAwayMeansWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*rig)
		trace  string
	}{
		"Redis":                       {func(r *rig) { r.slotErr = errs.New(errs.Unavailable, errs.T("x", "x")) }, "peek, token, reserve"},
		"the token endpoint":          {func(r *rig) { r.tokenErr = &gtoken.Error{Class: gtoken.Transient, Reason: "timeout"} }, "peek, token"},
		"our own OAuth configuration": {func(r *rig) { r.tokenErr = &gtoken.Error{Class: gtoken.Operator, Reason: "invalid_client"} }, "peek, token"},
	} {
		r := newRig()
		c.change(r)
		wait, err := r.work(t.Context())
		if wait != 5*time.Second || err != nil {
			t.Errorf("%s: %s, %v", name, wait, err)
		}
		r.did(t, c.trace)
	}
	r := newRig() // a dead grant is decided, not waited for
	r.tokenErr = &gtoken.Error{Class: gtoken.NeedsReconnect, Reason: "invalid_grant"}
	r.begun.Decision = batch.Decision{Step: batch.StepEnd, State: batch.ItemFailed, Code: errs.GoogleReconnectRequired}
	r.begun.Item.Connection = "google"
	if wait, err := r.work(t.Context()); wait != -1 || err != nil {
		t.Errorf("%s, %v", wait, err)
	}
	r.did(t, "peek, token, begin, end google")
}

// A runner that stalled on the way to its call does not make it any more.
func TestStalledRunnerDoesNotSend(t *testing.T) {
	t.Parallel()
	for _, stall := range []time.Duration{windows.Send, windows.Send + time.Millisecond, time.Hour} {
		r := newRig()
		r.stall = stall
		_, err := r.work(t.Context())
		if err != nil {
			t.Error(err)
		}
		if sent := slices.Contains(r.trace, "send"); sent != (stall <= windows.Send) {
			t.Errorf("stalled for %s: sent %v", stall, sent)
		}
		if o := r.finished[0]; stall > windows.Send && (o.Attempt != batch.AttemptNotSent || o.State != "" || o.GoogleCalls != 0) {
			t.Errorf("%+v", o)
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	throttled := failure(gbpapi.Throttled, errs.GBPRateLimited)
	throttled.RetryAfter = 7 * time.Second
	perLocation := failure(gbpapi.Throttled, errs.GBPRateLimited)
	perLocation.Quota.PerLocation = true
	long := failure(gbpapi.Throttled, errs.GBPRateLimited)
	long.RetryAfter = time.Hour
	wasted := failure(gbpapi.Throttled, errs.GBPRateLimited)
	wasted.Fault.Reason = "THROTTLED"
	daily := failure(gbpapi.Throttled, errs.GBPRateLimited)
	daily.Quota.Daily = true
	for name, c := range map[string]struct {
		err   *gbpapi.Error
		no    int
		state batch.ItemState // "" for another attempt
		atMin time.Duration
		atMax time.Duration
		stops bool
		pause string
	}{
		"never left, first":       {failure(gbpapi.NotSent, errs.GBPUnavailable), 1, "", 0, time.Second, false, ""},
		"never left, third":       {failure(gbpapi.NotSent, errs.GBPUnavailable), 3, "", 0, 4 * time.Second, false, ""},
		"never left, fourth":      {failure(gbpapi.NotSent, errs.GBPUnavailable), 4, batch.ItemFailed, 0, 0, false, ""},
		"429 with a wish":         {throttled, 1, "", 7 * time.Second, 7 * time.Second, false, "pause api 7s"},
		"429 without one":         {perLocation, 2, "", 0, 2 * time.Second, false, "pause location 2s"},
		"429 for an hour":         {long, 1, "", time.Hour, time.Hour, false, "pause api 1m0s"},
		"429 for the fourth time": {throttled, 4, batch.ItemFailed, 0, 0, false, "pause api 7s"},
		"the request came late":   {failure(gbpapi.Throttled, errs.GBPUnavailable), 1, "", 0, time.Second, false, ""}, // 408, STALE_DATA
		"the store is throttled":  {wasted, 1, "", 0, time.Second, false, ""},
		"429 for the day":         {daily, 1, "", 30 * time.Minute, 30 * time.Minute, false, "pause edits 30m0s"},
		"429 for the day, again":  {daily, 9, "", 30 * time.Minute, 30 * time.Minute, false, "pause edits 30m0s"},
		"refused":                 {failure(gbpapi.Refused, errs.GBPInvalidArgument), 1, batch.ItemFailed, 0, 0, false, ""},
		"grant dead":              {failure(gbpapi.Dead, errs.GoogleReconnectRequired), 1, batch.ItemFailed, 0, 0, false, ""},
		"our project's fault":     {failure(gbpapi.Operator, errs.GBPNotApproved), 1, batch.ItemFailed, 0, 0, true, ""},
	} {
		for range 20 { // the back-off has jitter
			r := newRig()
			r.sendErr, r.begun.Attempt.No, r.begun.Item.Connection = c.err, c.no, "google"
			wait, err := r.work(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			o := r.finished[0]
			if o.State != c.state || o.Attempt != batch.AttemptRefused || o.Executed != errs.ExecutedNo || o.StopsBatch != c.stops || o.GoogleCalls != 1 || o.Free != c.err.Quota.Daily {
				t.Errorf("%s: %+v", name, o)
			}
			if c.state == "" && (o.RetryIn < c.atMin || o.RetryIn > c.atMax || wait < o.RetryIn) {
				t.Errorf("%s: again in %s, sleeps %s", name, o.RetryIn, wait)
			}
			if c.state != "" && (o.Code != c.err.Code || o.Error == nil || o.Error.JA == "" || o.Error.EN == "" || wait != -1) {
				t.Errorf("%s: %+v, sleeps %s", name, o, wait)
			}
			if i := slices.IndexFunc(r.trace, func(s string) bool { return strings.HasPrefix(s, "pause") }); c.pause != "" && (i < 0 || r.trace[i] != c.pause) || c.pause == "" && i >= 0 {
				t.Errorf("%s: did %v", name, r.trace)
			}
			if ended := slices.Contains(r.trace, "end google"); ended != (c.err.Class == gbpapi.Dead) {
				t.Errorf("%s: did %v", name, r.trace)
			}
			if r.trace[len(r.trace)-1] != "release" {
				t.Errorf("%s: the slot is kept: %v", name, r.trace)
			}
		}
	}
}

// An ambiguous answer decides nothing: the attempt stays open and is looked at after the settle time.
func TestAmbiguousStaysOpen(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.sendErr = failure(gbpapi.Ambiguous, errs.GBPOutcomeUnknown)
	if wait, err := r.work(t.Context()); wait != windows.Settle || err != nil {
		t.Errorf("%s, %v", wait, err)
	}
	r.did(t, "peek, token, reserve, begin, send, postpone, release")
	r = newRig()
	r.sendErr = errors.New("something else")
	if _, err := r.work(t.Context()); err == nil || len(r.finished) != 0 {
		t.Errorf("an unknown error was taken for an outcome: %v, %+v", err, r.finished)
	}
}

func examined(no, looks int, started time.Duration) *rig {
	r := newRig()
	r.peek.WantsSlot = false
	r.begun = worker.Begun{Decision: batch.Decision{Step: batch.StepExamine}, Attempt: batch.Attempt{ID: 1, No: no, Looks: looks, StartedAt: r.now.Add(-started)}}
	return r
}

func TestExamine(t *testing.T) {
	t.Parallel()
	effect := func(name string) worker.Effect {
		return worker.Effect{Name: name, Publication: batch.Live}
	}
	t.Run("absent once is not absent", func(t *testing.T) {
		t.Parallel()
		r := examined(1, 0, time.Minute)
		if wait, err := r.work(t.Context()); wait != windows.Settle || err != nil || len(r.finished) != 0 || !slices.Equal(r.looks, []int{1}) {
			t.Errorf("%s, %v, %+v, looks %v", wait, err, r.finished, r.looks)
		}
	})
	t.Run("absent twice: another attempt", func(t *testing.T) {
		t.Parallel()
		r := examined(1, 1, time.Minute)
		_, err := r.work(t.Context())
		if err != nil || r.finished[0].Attempt != batch.AttemptAbsent || r.finished[0].State != "" {
			t.Errorf("%v, %+v", err, r.finished)
		}
	})
	t.Run("absent twice after the last attempt", func(t *testing.T) {
		t.Parallel()
		r := examined(4, 1, time.Minute)
		if _, err := r.work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o := r.finished[0]; o.State != batch.ItemFailed || o.Code != errs.GBPUnavailable || o.Executed != errs.ExecutedNo || !o.RetryPossible {
			t.Errorf("%+v", o)
		}
	})
	t.Run("the oldest that is nobody's is adopted", func(t *testing.T) {
		t.Parallel()
		r := examined(2, 1, time.Minute)
		r.effects = []worker.Effect{effect("claimed"), effect("mine"), effect("newer")}
		r.unclaimed = func([]string) []string { return []string{"mine", "newer"} }
		if _, err := r.work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o := r.finished[0]; o.Attempt != batch.AttemptFound || o.ResourceName != "mine" || o.State != batch.ItemSucceeded || !strings.Contains(o.Note, "1 more") {
			t.Errorf("%+v", o)
		}
	})
	t.Run("all are claimed: absent", func(t *testing.T) {
		t.Parallel()
		r := examined(1, 1, time.Minute)
		r.effects = []worker.Effect{effect("claimed")}
		r.unclaimed = func([]string) []string { return nil }
		if _, err := r.work(t.Context()); err != nil || r.finished[0].Attempt != batch.AttemptAbsent {
			t.Errorf("%v, %+v", err, r.finished)
		}
	})
	t.Run("a rejected post is found as rejected", func(t *testing.T) {
		t.Parallel()
		r := examined(1, 0, time.Minute)
		r.effects = []worker.Effect{{Name: "x", Publication: batch.Rejected}}
		if _, err := r.work(t.Context()); err != nil || r.finished[0].State != batch.ItemFailed || r.finished[0].Code != errs.GBPContentRejected || r.finished[0].Executed != errs.ExecutedYes {
			t.Errorf("%v, %+v", err, r.finished)
		}
	})
	t.Run("cannot be read: later, keeping the looks", func(t *testing.T) {
		t.Parallel()
		r := examined(1, 1, time.Minute)
		busy := failure(gbpapi.Throttled, errs.GBPRateLimited)
		busy.RetryAfter = 5 * time.Minute
		r.findErr = busy
		if wait, err := r.work(t.Context()); wait != 5*time.Minute || err != nil || !slices.Equal(r.looks, []int{1}) {
			t.Errorf("%s, %v, %v", wait, err, r.looks)
		}
	})
	t.Run("cannot be read for too long: unknown", func(t *testing.T) {
		t.Parallel()
		r := examined(1, 1, windows.GiveUp)
		r.findErr = errors.New("the list of posts could not be read completely")
		if _, err := r.work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o := r.finished[0]; o.State != batch.ItemUnknown || o.Attempt != batch.AttemptUnknown || o.Executed != errs.ExecutedUnknown || o.RetryPossible || o.Code != errs.GBPOutcomeUnknown {
			t.Errorf("%+v", o)
		}
	})
	t.Run("without Redis nothing is read", func(t *testing.T) {
		t.Parallel()
		r := examined(1, 1, time.Minute)
		r.slotErr = errs.New(errs.Unavailable, errs.T("x", "x"))
		if wait, err := r.work(t.Context()); wait <= 0 || err != nil {
			t.Errorf("%s, %v", wait, err)
		}
		r.did(t, "peek, begin, reserve")
	})
}

// The slower of two runners records nothing, frees its slot and looks again.
func TestFencedRunner(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.finishErr = worker.ErrFenced
	if wait, err := r.work(t.Context()); wait != windows.Send || err != nil {
		t.Errorf("%s, %v", wait, err)
	}
	r.did(t, "peek, token, reserve, begin, send, finish, release")
}

// The process is told to stop: a call that was made is recorded all the same; an interrupted wait gives its slot back.
func TestStopping(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRig()
	if wait, err := r.work(ctx); wait != -1 || err != nil || r.finished[0].State != batch.ItemSucceeded {
		t.Errorf("%s, %v, %+v", wait, err, r.finished)
	}
	r = newRig()
	r.sendErr = failure(gbpapi.Ambiguous, errs.GBPOutcomeUnknown)
	if _, err := r.work(ctx); err != nil || len(r.postponed) != 1 {
		t.Errorf("%v, %v", err, r.postponed)
	}
	r = newRig()
	r.answers = []slots.Answer{{Verdict: slots.Granted, Wait: time.Hour}}
	if _, err := r.work(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.did(t, "peek, token, reserve, release")
}

// Short waits are slept here, all in all at most a second; then the place is given to somebody else.
func TestShortWaitsAddUp(t *testing.T) {
	t.Parallel()
	r := newRig()
	for range 20 {
		r.answers = append(r.answers, slots.Answer{Verdict: slots.Retry, Wait: 200 * time.Millisecond})
	}
	began := time.Now()
	// Without River's context the turn cannot be remembered, which is what ends the wait here.
	_, err := r.work(t.Context())
	if err == nil || len(r.trace) != 2+6 || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, r.trace)
	}
}

// F150: what a job returns is harmless for River's tables, whatever it was made of.
func TestErrorsAreMadeSafe(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.beginErr = errors.New("a\x00b \xff\xfe Authorization: Bearer ya29.SECRET " + strings.Repeat("長", 10_000))
	_, err := r.work(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	s := err.Error()
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) || strings.Contains(s, "SECRET") || len(s) > 600 {
		t.Errorf("%q", s)
	}
	if !errors.Is(err, r.beginErr) {
		t.Error("the cause is lost")
	}
}

func TestUnknownOperation(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.peek.Item.Operation = "post.burn"
	if _, err := r.work(t.Context()); err == nil || !strings.Contains(err.Error(), "post.burn") {
		t.Errorf("got %v", err)
	}
	r.did(t, "peek")
}

func TestNextRetry(t *testing.T) {
	t.Parallel()
	r := newRig()
	w := r.worker()
	last := time.Duration(0)
	for attempt := 1; attempt <= queue.MaxAttempts; attempt++ {
		d := w.NextRetry(&river.Job[queue.ItemArgs]{JobRow: &rivertype.JobRow{Attempt: attempt}}).Sub(r.now)
		if d < time.Second || d > time.Minute || d < last {
			t.Errorf("attempt %d: again in %s", attempt, d)
		}
		last = d
	}
	if got := w.Timeout(nil); got < windows.Call {
		t.Errorf("a job may take %s, its call %s", got, windows.Call)
	}
}
