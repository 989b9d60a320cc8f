package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// onlyItem is the item of a batch of one.
func onlyItem(t *testing.T, s *stack.Stack, id batch.ID) batch.ItemID {
	t.Helper()
	return batch.ItemID(queryRow[string](t, s, `SELECT item_id FROM mappy.item WHERE batch_id = $1`, id))
}

func keepJob(pgx.Tx) error { return nil }

func windowsOf(s *stack.Stack) worker.Windows {
	w := s.Config.Worker
	return worker.Windows{Send: w.SendWindow, Call: w.CallTimeout, Settle: w.Settle, GiveUp: w.GiveUp, Skew: w.ClockSkew, Follow: w.Follow}
}

// A runner that waited for an item's row decides by what is true when it has it, not by what was true when it began to wait.
func TestRunnerSeesWhatHappenedWhileItWaited(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 2, NoWorkers: true})
	cancelled, taken := s.Accept("post.create", stack.Post(s.IDs(1), "取り消されます。")), s.Accept("post.create", stack.Post(s.IDs(2)[1:], "先に始まります。"))
	asOwner(t, s, `UPDATE mappy.batch SET status = 'processing', started_at = now()`) // as when other items of it have started
	type ending struct {
		begun worker.Begun
		err   error
	}
	for _, c := range []struct {
		id        batch.ID
		meanwhile string
		want      batch.Decision
	}{
		{cancelled.BatchID, `UPDATE mappy.batch SET cancel_requested = true WHERE batch_id = $1`, batch.Decision{Step: batch.StepEnd, State: batch.ItemCancelled, Code: "CANCELLED"}},
		{
			taken.BatchID, `WITH attempt AS (INSERT INTO mappy.attempt (tenant_id, item_id, google_location, fingerprint, no, examine_at)
				SELECT tenant_id, item_id, google_location, fingerprint, 1, 'epoch' FROM mappy.item WHERE batch_id = $1)
			UPDATE mappy.item SET state = 'processing', attempts = 1, started_at = now() WHERE batch_id = $1`, batch.Decision{Step: batch.StepExamine},
		},
	} {
		item := onlyItem(t, s, c.id)
		holder, err := s.DB.Owner().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = holder.Rollback(context.Background()) })
		if _, err := holder.Exec(t.Context(), `SELECT 1 FROM mappy.item WHERE item_id = $1 FOR UPDATE`, item); err != nil {
			t.Fatal(err)
		}
		done := make(chan ending, 1)
		go func() {
			b, err := s.App.DB.Begin(context.WithoutCancel(t.Context()), stack.Tenant, item, windowsOf(s), worker.Turn{Slot: true}, keepJob)
			done <- ending{b, err}
		}()
		eventually(t, "the runner waits for the row", func() bool {
			select {
			case got := <-done:
				t.Fatalf("the runner did not wait: %+v, %v", got.begun.Decision, got.err)
			default:
			}
			return queryRow[int](t, s, `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database()`) > 0
		})
		if tag, err := holder.Exec(t.Context(), c.meanwhile, c.id); err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%s, %v", tag, err)
		}
		if err := holder.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := <-done
		if d := got.begun.Decision; got.err != nil || d != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.meanwhile, d, got.err, c.want)
		}
	}
	// The first was never sent; the second is looked for, and sent when it is not found.
	stop := s.Work()
	s.Finish(string(taken.BatchID))
	stop()
}

// A runner that stalled and did not send spends none of the item's attempts, nor does waiting for a quota that is spent.
func TestStalledRunnerSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 1, NoWorkers: true})
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "止まっていました。"))
	item := onlyItem(t, s, accepted.BatchID)
	for _, c := range []struct {
		state batch.AttemptState
		free  bool
		spent int
	}{{batch.AttemptNotSent, false, 0}, {batch.AttemptNotSent, false, 0}, {batch.AttemptRefused, false, 1}, {batch.AttemptRefused, true, 1}, {batch.AttemptNotSent, false, 1}, {batch.AttemptAbsent, false, 2}} {
		b, err := s.App.DB.Begin(t.Context(), stack.Tenant, item, windowsOf(s), worker.Turn{Slot: true}, keepJob)
		if err != nil || b.Decision.Step != batch.StepSend {
			t.Fatalf("%+v, %v", b.Decision, err)
		}
		if err := s.App.DB.Finish(t.Context(), stack.Tenant, b, worker.Outcome{Attempt: c.state, Free: c.free}, keepJob); err != nil {
			t.Fatal(err)
		}
		if got := itemAt(t, s, accepted.BatchID, s.IDs(1)[0]); got.Attempts != c.spent {
			t.Errorf("after %s: %d attempts spent, want %d (%s)", c.state, got.Attempts, c.spent, got.Closed)
		}
	}
	for _, counts := range []bool{false, true} {
		if err := s.App.DB.Retreat(t.Context(), stack.Tenant, item, 0, counts); err != nil {
			t.Fatal(err)
		}
		if n := queryRow[int](t, s, `SELECT looks FROM mappy.item WHERE item_id = $1`, item); n != map[bool]int{true: 1}[counts] {
			t.Errorf("%d looks spent", n)
		}
	}
	stop := s.Work()
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done || s.CreatedTotal() != 1 {
		t.Errorf("%+v", v)
	}
	stop()
}

// A runner that comes back after another one has closed its attempt and opened the next records nothing, whatever it brings:
// the item is still the next attempt's to decide.
func TestLateRunnerRecordsNothing(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 1, NoWorkers: true})
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "遅れて戻ります。"))
	item := onlyItem(t, s, accepted.BatchID)
	begin := func() worker.Begun {
		b, err := s.App.DB.Begin(t.Context(), stack.Tenant, item, windowsOf(s), worker.Turn{Slot: true}, keepJob)
		if err != nil || b.Decision.Step != batch.StepSend {
			t.Fatalf("%+v, %v", b.Decision, err)
		}
		return b
	}
	finish := func(b worker.Begun, o worker.Outcome) error {
		return s.App.DB.Finish(t.Context(), stack.Tenant, b, o, keepJob)
	}
	late := begin()
	if err := finish(late, worker.Outcome{Attempt: batch.AttemptAbsent}); err != nil { // the other runner, which looked
		t.Fatal(err)
	}
	next := begin()
	for _, o := range []worker.Outcome{
		{Attempt: batch.AttemptRefused},
		{Attempt: batch.AttemptRefused, State: batch.ItemFailed, Code: errs.GBPInvalidArgument, Executed: errs.ExecutedNo},
		{Attempt: batch.AttemptSucceeded, State: batch.ItemSucceeded, Executed: errs.ExecutedYes, ResourceName: "accounts/1/locations/2/localPosts/3"},
	} {
		if err := finish(late, o); !errors.Is(err, worker.ErrFenced) {
			t.Errorf("%+v: %v, want ErrFenced", o, err)
		}
		if got := itemAt(t, s, accepted.BatchID, s.IDs(1)[0]); got.State != batch.ItemProcessing || got.Attempts != 2 || got.Closed != "absent open" {
			t.Fatalf("after %+v: %+v", o, got)
		}
	}
	if err := finish(next, worker.Outcome{Attempt: batch.AttemptRefused, State: batch.ItemFailed, Code: errs.GBPInvalidArgument, Executed: errs.ExecutedNo}); err != nil {
		t.Error(err)
	}
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Failed {
		t.Errorf("%+v", v)
	}
}

// Two deletions of one post, accepted before either was carried out: the second finds it deleted, which is what it wanted.
func TestSecondDeletionOfAPost(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, NoWorkers: true})
	stop := d.Work()
	made := d.made(1, "二度消されます。").Items[0]
	stop()
	args := stack.Args{"post_ids": []string{made.Target.ID}}
	first, second := d.accepted("post.delete", args.With("idempotency_key", "delete-one")), d.accepted("post.delete", args.With("idempotency_key", "delete-two"))
	d.Work()
	for id, already := range map[batch.ID]bool{first.BatchID: false, second.BatchID: true} {
		if v := d.Finish(string(id)); v.Status != batch.Done || v.Items[0].Already != already || v.Items[0].Publication != batch.Deleted {
			t.Errorf("%+v", v)
		}
	}
	if n := len(d.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsDelete})); n != 1 {
		t.Errorf("%d calls", n)
	}
	d.countersMatch()
}

// While Google's quota rests nothing is followed; once it is back, what was due is followed soon.
func TestFollowAfterAPause(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, Config: func(c *config.Config) { c.Worker.CallTimeout = 500 * time.Millisecond }})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, State: "PROCESSING", SettleState: "LIVE", SettleSeconds: 3600})
	v := d.made(1, "確認中です。")
	if err := d.App.Slots.Pause(t.Context(), slots.Request{API: gbp.APIMyBusiness, Tenant: stack.Tenant}, false, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	d.Sim.Advance(2 * time.Hour)
	d.await(func() bool { // taken by a run that had no room
		return d.count(`SELECT count(*) FROM mappy.item WHERE follow_at > clock_timestamp() + interval '500 milliseconds'`) == 1
	}, "a run takes the item")
	if err := d.App.Redis.Del(t.Context(), "slot:{g:"+d.Config.Google.Project+"}:"+gbp.APIMyBusiness+":pause").Err(); err != nil {
		t.Fatal(err)
	}
	d.until(v.BatchID, "the follow-up after the pause", func(v tools.BatchView) bool { return v.Items[0].Publication == batch.Live })
}
