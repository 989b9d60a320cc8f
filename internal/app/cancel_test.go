package app_test

import (
	"context"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Each denied cancellation is one event, and too many of them are slowed down like other refusals.
func TestDeniedCancelIsOneEvent(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, Policy: `{"refusals_per_minute":3}`})
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "取り消せない投稿です。"))
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	args := stack.Args{"batch_id": string(accepted.BatchID)}
	for n := 1; n <= 3; n++ {
		if a := s.Call("batch.cancel", args); a.ErrorCode != errs.BatchNotCancellable {
			t.Fatalf("got %s", a.Text)
		}
		denied := recorded(t, s, audit.CancelRequested)
		if len(denied) != n || denied[0].Result != "denied" || denied[0].ErrorCode != errs.BatchNotCancellable || denied[0].BatchID != string(accepted.BatchID) {
			t.Errorf("after %d: %+v", n, denied)
		}
	}
	if refused := recorded(t, s, audit.AdmissionRefused); len(refused) != 0 {
		t.Errorf("recorded twice: %+v", refused)
	}
	if a := s.Call("batch.cancel", args); a.ErrorCode != errs.RateLimited {
		t.Errorf("the fourth: %s", a.Text)
	}
	if limited := recorded(t, s, audit.RateLimited); len(limited) != 1 {
		t.Errorf("summaries: %+v", limited)
	}
	// A batch that nobody knows is a refusal like any other.
	other := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	if a := other.Call("batch.cancel", args); a.ErrorCode != errs.BatchNotFound {
		t.Errorf("got %s", a.Text)
	}
	if refused, cancels := recorded(t, other, audit.AdmissionRefused), recorded(t, other, audit.CancelRequested); len(refused) != 1 || len(cancels) != 0 {
		t.Errorf("unknown batch: %+v, %+v", refused, cancels)
	}
}

// A cancellation that meets a runner between its decision and its commit counts that item as in flight: it may be sent.
func TestCancelWhileARunnerHoldsAnItem(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 3, Policy: with(`"cancel_scope":"remaining"`), NoWorkers: true})
	accepted := s.Accept("post.create", stack.Post(s.IDs(3), "取り消しと競います。"))
	asOwner(t, s, `UPDATE mappy.batch SET status = 'processing', started_at = now()`) // as when an item of it has started
	holder, err := s.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Rollback(context.Background()) })
	if _, err := holder.Exec(t.Context(), `SELECT 1 FROM mappy.item WHERE ordinal = 1 FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	r := stack.Into[tools.CancelResult](t, s.Call("batch.cancel", stack.Args{"batch_id": accepted.BatchID}))
	if r.InFlightCount != 1 || r.Batch.CancelledCount != 2 {
		t.Errorf("%+v", r)
	}
}
