package app_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// until asks for a batch until it is as wanted; follow-ups are periodic, so the event is the next reading.
func (d *desk) until(id batch.ID, what string, ok func(tools.BatchView) bool) tools.BatchView {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		v := stack.Into[tools.BatchView](d.t, d.call("batch.status", stack.Args{"batch_id": id, "items": "all"}))
		if ok(v) {
			return v
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.t.Fatalf("%s did not happen: %+v", what, v)
		}
	}
}

// What Google makes of an accepted post later is followed: live, or rejected, which makes the item a failure.
func TestFollowUntilLiveOrRejected(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(d.Locations[0].Name), State: "PROCESSING", SettleState: "LIVE", SettleSeconds: 3600})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(d.Locations[1].Name), State: "PROCESSING", SettleState: "REJECTED", SettleSeconds: 3600})
	v := d.made(3, "News")
	if v.Items[0].Publication != batch.PendingReview || v.Items[1].Publication != batch.PendingReview || v.Items[2].Publication != batch.Live {
		t.Fatalf("%+v", v.Items)
	}
	d.Sim.Advance(2 * time.Hour)
	got := d.until(v.BatchID, "a verdict of Google's", func(v tools.BatchView) bool {
		return v.Items[0].Publication == batch.Live && v.Items[1].Publication == batch.Rejected
	})
	if got.Status != batch.Partial || got.SuccessCount != 2 || got.FailureCount != 1 || got.Items[1].ErrorCode != errs.GBPContentRejected || got.Items[1].Executed != errs.ExecutedYes || got.FinishedAt != v.FinishedAt {
		t.Fatalf("%+v", got)
	}
	if e := d.events(stack.Tenant, audit.PublicationChanged); len(e) != 1 || e[0].ItemID != got.Items[0].ItemID {
		t.Errorf("%+v", e)
	}
	if n := len(d.events(stack.Tenant, audit.BatchFinished)); n != 2 { // done, and partial
		t.Errorf("%d batch_finished", n)
	}
	d.countersMatch()
	if n := d.CreatedTotal(); n != 3 {
		t.Errorf("%d posts", n)
	}
}

// countersMatch recomputes every batch's counters from its items.
func (d *desk) countersMatch() {
	d.t.Helper()
	if n := d.count(`SELECT count(*) FROM mappy.batch b WHERE (success_count, failure_count, cancelled_count, unknown_count) <>
		(SELECT count(*) FILTER (WHERE state = 'succeeded'), count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'cancelled'), count(*) FILTER (WHERE state = 'unknown')
		 FROM mappy.item i WHERE i.tenant_id = b.tenant_id AND i.batch_id = b.batch_id)`); n != 0 {
		d.t.Errorf("%d batches whose counters are not their items'", n)
	}
}

// An unknown item is looked for again: it was there after all, or certainly was not; nothing is sent again.
func TestUnknownIsExaminedAgain(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3, Config: func(c *config.Config) { c.Worker.GiveUp = time.Second }})
	blind := d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsList, Answer: gbpsim.AnswerError, Status: 503})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(d.Locations[0].Name), Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(d.Locations[1].Name), Effect: gbpsim.EffectNone, Answer: gbpsim.AnswerReset, Count: 1})
	v := d.Finish(string(d.accepted("post.create", stack.Post(d.IDs(3), "News")).BatchID))
	if v.Status != batch.Partial || v.UnknownCount != 2 {
		t.Fatalf("%+v", v)
	}
	if err := d.Sim.RemoveFault(blind); err != nil {
		t.Fatal(err)
	}
	got := d.until(v.BatchID, "a second examination", func(v tools.BatchView) bool { return v.UnknownCount == 0 })
	if got.SuccessCount != 2 || got.FailureCount != 1 || got.Items[0].Target.ID == "" || got.Items[1].ErrorCode != errs.GBPUnavailable || !got.Items[1].RetryPossible {
		t.Fatalf("%+v", got)
	}
	if e := d.events(stack.Tenant, audit.ItemResolved); len(e) != 2 {
		t.Errorf("%+v", e)
	}
	if n := d.CreatedTotal(); n != 2 {
		t.Errorf("%d posts", n)
	}
	d.countersMatch()
	// What certainly was not there may be retried, once and on purpose.
	if r := d.done("batch.retry", stack.Args{"batch_id": v.BatchID}); r.Status != batch.Done || r.TargetCount != 1 || d.CreatedTotal() != 3 {
		t.Errorf("%+v", r)
	}
}

// An operator's word settles an unknown item: one event, which names him and not the agent that asked for the write.
func TestOperatorSettlesAnUnknownItem(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, Config: func(c *config.Config) { c.Worker.GiveUp, c.Worker.Follow = 500*time.Millisecond, time.Hour }})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsList, Answer: gbpsim.AnswerError, Status: 503})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	v := d.Finish(string(d.accepted("post.create", stack.Post(d.IDs(1), "News")).BatchID))
	if v.UnknownCount != 1 {
		t.Fatalf("%+v", v)
	}
	if _, err := d.App.DB.Resolve(t.Context(), stack.Tenant, onlyItem(t, d.Stack, v.BatchID), batch.ItemSucceeded, "", "seen on Maps", "op-7"); err != nil {
		t.Fatal(err)
	}
	got := d.events(stack.Tenant, audit.ItemResolved)
	if len(got) != 1 || got[0].Actor != (audit.Actor{OperatorID: "op-7"}) || got[0].Reason != "seen on Maps" || got[0].Result != string(batch.ItemSucceeded) || got[0].Details.Note == "" {
		t.Errorf("%+v", got)
	}
	if v := d.Finish(string(v.BatchID)); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	d.countersMatch()
}

// What an operator settles with its name at Google is known from then on: it is read, and can be taken back. Without one it
// says so. A name that cannot be the item's is refused.
func TestOperatorNamesWhatWasMade(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3, Config: func(c *config.Config) { c.Worker.GiveUp, c.Worker.Follow = 500*time.Millisecond, 2*time.Second }})
	mine := d.made(1, "Other news").Items[0].ItemID
	blind := d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsList, Answer: gbpsim.AnswerError, Status: 503})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 2})
	v := d.Finish(string(d.accepted("post.create", stack.Post(d.IDs(2), "News")).BatchID))
	if v.UnknownCount != 2 {
		t.Fatalf("%+v", v)
	}
	posts := d.Sim.Posts(d.name(0)) // newest first
	name, other := string(posts[0].Name), string(posts[1].Name)
	resolve := func(n int, state batch.ItemState, name string) error {
		_, err := d.App.DB.Resolve(t.Context(), stack.Tenant, batch.ItemID(v.Items[n].ItemID), state, name, "seen on Maps", "op-7")
		return err
	}
	for bad, says := range map[string]string{
		other: "made by another item, " + mine, string(d.Sim.Posts(d.name(1))[0].Name): "begins with", "localPosts/1": "malformed",
		name + "/x": "malformed", strings.Replace(name, "localPosts", "media", 1): "malformed",
	} {
		if err := resolve(0, batch.ItemSucceeded, bad); errs.CodeOf(err) != errs.InvalidArgument || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", bad, err, says)
		}
	}
	if err := resolve(0, batch.ItemFailed, name); errs.CodeOf(err) != errs.InvalidArgument {
		t.Errorf("a name of what failed: %v", err)
	}
	if err := errors.Join(resolve(0, batch.ItemSucceeded, name), resolve(1, batch.ItemSucceeded, "")); err != nil {
		t.Fatal(err)
	}
	d.until(v.BatchID, "the named post is read", func(v tools.BatchView) bool { return v.Items[0].Publication == batch.Live })
	undo := stack.Args{"batch_id": v.BatchID}
	p := d.dry("batch.undo", undo)
	if p.TargetCount != 1 || len(p.ValidationWarnings) != 1 || !strings.Contains(p.ValidationWarnings[0].Message, "its name at Google is not known") {
		t.Fatalf("%+v", p)
	}
	if r := d.done("batch.undo", undo); r.Status != batch.Done || r.TargetCount != 1 {
		t.Errorf("%+v", r)
	}
	if left := d.Sim.Posts(d.name(0)); len(left) != 1 || string(left[0].Name) != other {
		t.Errorf("left: %+v", left)
	}
	if err := d.Sim.RemoveFault(blind); err != nil {
		t.Fatal(err)
	}
	d.countersMatch()
}

// A deletion is confirmed by one look and then left alone; a post that somebody took down is seen as gone.
func TestFollowDeletions(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	made := d.made(1, "Short-lived")
	v := d.done("post.delete", stack.Args{"post_ids": []string{made.Items[0].Target.ID}})
	d.await(func() bool { return d.count(`SELECT count(*) FROM mappy.item WHERE follow_at IS NOT NULL`) == 0 }, "the deletion is confirmed")
	if got := d.until(v.BatchID, "the deletion", func(v tools.BatchView) bool { return v.Items[0].Publication == batch.Deleted }); got.Status != batch.Done {
		t.Errorf("%+v", got)
	}
}

// Await waits for a condition of the database, which has no event.
func (d *desk) await(ok func() bool, what string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.t.Fatalf("did not happen: %s", what)
		}
	}
}
