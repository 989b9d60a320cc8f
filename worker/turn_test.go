package worker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// editing is an edit whose target is seen as scripted.
type editing struct {
	*rig
	sees    worker.Sight
	lookErr *gbpapi.Error
	deletes bool
}

func (e editing) Deletes() bool { return e.deletes }

func (e editing) Look(context.Context, authn.TenantID, batch.Item) (worker.Sight, error) {
	e.note("look")
	if e.lookErr != nil {
		return worker.Sight{}, e.lookErr
	}
	return e.sees, nil
}

// onlyEdits hides that a rig could find, as creates do.
type onlyEdits struct{ worker.Editor }

func (e editing) work(ctx context.Context) error {
	w := worker.NewItemWorker(worker.Deps{
		Store: e.rig, Slots: e.rig, Tokens: e.rig, Executors: []worker.Executor{onlyEdits{e}}, Windows: windows, Attempts: 4, Backoff: time.Second,
		Now: func() time.Time { return e.now }, Log: slog.New(slog.DiscardHandler),
	})
	return w.Work(ctx, &river.Job[queue.ItemArgs]{JobRow: &rivertype.JobRow{Metadata: []byte("{}")}, Args: queue.ItemArgs{TenantID: "komorebi", ItemID: "01"}})
}

// Every exchange with Google is counted: the look with the attempt that it is for, whatever becomes of that, and the write with its
// outcome.
func TestEditCountsItsLook(t *testing.T) {
	t.Parallel()
	e := editing{rig: newRig()}
	if err := e.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.did(t, "peek, token, reserve, look, begin, send, finish, release")
	if e.turns[0].GoogleCalls != 1 || e.finished[0].GoogleCalls != 1 {
		t.Errorf("%+v, %+v", e.turns, e.finished)
	}
	done := editing{rig: newRig(), sees: worker.Sight{Done: true}}
	if err := done.work(t.Context()); err != nil || done.turns[0].End == nil || done.turns[0].End.GoogleCalls != 1 || done.turns[0].GoogleCalls != 0 {
		t.Errorf("%v, %+v", err, done.turns)
	}
}

// A target that cannot be read: what is passing is tried again, and counted but for a limit per day; what is absent was wanted
// only by a deletion that may have happened.
func TestEditThatCannotLook(t *testing.T) {
	t.Parallel()
	daily := failure(gbpapi.Throttled, errs.GBPRateLimited)
	daily.Quota.Daily = true
	notFound := failure(gbpapi.Refused, errs.GBPNotFound)
	const begins, retreats = "peek, token, reserve, look, begin, send, finish, release", "peek, token, reserve, look, retreat true, release"
	for name, c := range map[string]struct {
		err     *gbpapi.Error
		deletes bool
		tried   bool
		looks   int
		did     string
		code    errs.Code
	}{
		"out of reach":                   {err: failure(gbpapi.NotSent, errs.GBPUnavailable), did: retreats},
		"out of reach for the last time": {err: failure(gbpapi.NotSent, errs.GBPUnavailable), looks: 3, did: begins, code: errs.GBPUnavailable},
		"the day's limit":                {err: daily, did: "peek, token, reserve, look, pause edits 30m0s, retreat false, release"},
		"the day's limit, again":         {err: daily, looks: 9, did: "peek, token, reserve, look, pause edits 30m0s, retreat false, release"},
		"not found":                      {err: notFound, did: retreats},
		"not found, tried":               {err: notFound, tried: true, did: retreats},
		"deletion: not found":            {err: notFound, deletes: true, did: retreats},
		"deletion: not found, tried":     {err: notFound, deletes: true, tried: true, did: begins},
	} {
		e := editing{rig: newRig(), lookErr: c.err, deletes: c.deletes}
		e.peek.Item.Tried, e.peek.Item.Looks, e.peek.Item.Attempts = c.tried, c.looks, 2
		_ = e.work(t.Context()) // it comes back later, or has ended
		if c.did == begins {    // the rig sends whatever it is told, so the turn says how it ends
			if len(e.turns) != 1 || e.turns[0].End == nil || e.turns[0].End.Code != c.code {
				t.Errorf("%s: %+v", name, e.turns)
			}
			continue
		}
		e.did(t, c.did)
	}
}
