package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// with lays further settings over the roomy policy.
func with(settings string) string { return strings.TrimSuffix(stack.Roomy, "}") + "," + settings + "}" }

// creates are the requests to create a post, with or without effect.
func creates(s *stack.Stack) []gbpsim.Entry {
	return s.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate})
}

// 500 cancellations race the start of their batches; what each was answered is what happened.
func TestCancelRacesStart(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Policy: with(`"max_targets":100`), Config: func(c *config.Config) { c.Google.UserItems = 1000 }})
	c := callerOf(t, s)
	const races, senders = 500, 10
	type race struct {
		text      string
		id        batch.ID
		cancelled bool
	}
	all := make([][]race, senders)
	var wg sync.WaitGroup
	for w := range senders {
		wg.Go(func() {
			for n := 0; n < races/senders; n++ {
				r := race{text: fmt.Sprintf("競争 %d-%d", w, n)}
				raw, _ := json.Marshal(stack.Post(s.IDs(12)[w:w+1], r.text))
				a := s.CallPrincipal(c.p, "post.create", raw)
				if a.ErrorCode == errs.Unavailable { // the machine is too busy for the deadline of a call
					n--
					continue
				}
				if a.IsError {
					t.Errorf("post.create: %s", a.Text)
					return
				}
				var written tools.Write
				if err := json.Unmarshal(a.Data, &written); err != nil {
					t.Error(err)
					return
				}
				r.id = written.Accepted.BatchID
				hesitate(time.Duration(rand.IntN(40)) * time.Millisecond)
				raw, _ = json.Marshal(stack.Args{"batch_id": r.id})
				for a = s.CallPrincipal(c.p, "batch.cancel", raw); a.ErrorCode == errs.Unavailable; {
					a = s.CallPrincipal(c.p, "batch.cancel", raw)
				}
				switch a.ErrorCode {
				case "":
					r.cancelled = true
				case errs.BatchNotCancellable:
				default:
					t.Errorf("batch.cancel: %s", a.Text)
				}
				all[w] = append(all[w], r)
			}
		})
	}
	wg.Wait()
	posts := map[string]int{}
	eventually(t, "all batches are final", func() bool {
		return queryRow[int](t, s, `SELECT count(*) FROM mappy.batch WHERE finished_at IS NULL`) == 0
	})
	for _, e := range s.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate, Effects: true}) {
		var body struct{ Summary string }
		if err := json.Unmarshal([]byte(e.Body), &body); err != nil {
			t.Fatal(err)
		}
		posts[body.Summary]++
	}
	cancelled := 0
	for _, rs := range all {
		for _, r := range rs {
			want, status := 1, batch.Done
			if r.cancelled {
				cancelled++
				want, status = 0, batch.Cancelled
			}
			if got := queryRow[batch.Status](t, s, `SELECT status FROM mappy.batch WHERE batch_id = $1`, r.id); posts[r.text] != want || got != status {
				t.Errorf("%s: answered cancelled=%v, batch %s, %d posts", r.text, r.cancelled, got, posts[r.text])
			}
		}
	}
	t.Logf("%d of %d were cancelled in time", cancelled, races)
	if cancelled == 0 || cancelled == races {
		t.Error("no race: one side always won")
	}
}

// hesitate is the time that a person takes, so that a cancellation meets every stage of a batch.
func hesitate(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// F161: a running batch. By default it cannot be cancelled and says how far it is; where the tenant allows it, what has not
// started is cancelled and the rest is told by its true outcome.
func TestF161CancelWhileRunning(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, scope := range map[string]string{"queued batches only": "queued", "what has not started too": "remaining"} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 20, Policy: with(`"cancel_scope":"` + scope + `"`), NoWorkers: true, Config: func(c *config.Config) { c.Worker.Bulk = 3 }})
			held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, From: 6, Count: 3, Hold: gbpsim.HoldBefore})
			accepted := s.Confirmed("post.create", stack.Post(s.IDs(20), "20 店舗へのお知らせです。"))
			s.Work()
			if err := s.Sim.AwaitHeld(t.Context(), held, 3); err != nil {
				t.Fatal(err)
			}
			a := s.Call("batch.cancel", stack.Args{"batch_id": accepted.BatchID})
			if scope == "queued" {
				if a.ErrorCode != errs.BatchNotCancellable || a.Details.BatchStatus != string(batch.Processing) || a.Details.Counts.Success != 5 || a.Details.Counts.Pending != 15 {
					t.Errorf("got %s", a.Text)
				}
			} else {
				r := stack.Into[tools.CancelResult](t, a)
				if r.InFlightCount != 3 || r.Batch.SuccessCount != 5 || r.Batch.CancelledCount != 12 || r.Already {
					t.Errorf("got %+v", r)
				}
				if again := stack.Into[tools.CancelResult](t, s.Call("batch.cancel", stack.Args{"batch_id": accepted.BatchID})); again.Batch.CancelledCount != 12 {
					t.Errorf("a second cancel: %+v", again)
				}
			}
			if err := s.Sim.RemoveFault(held); err != nil {
				t.Fatal(err)
			}
			v := s.Finish(string(accepted.BatchID))
			want := map[string][2]int{"queued": {20, 0}, "remaining": {8, 12}}[scope]
			if v.SuccessCount != want[0] || v.CancelledCount != want[1] || s.CreatedTotal() != want[0] {
				t.Errorf("%d succeeded, %d cancelled, %d posts", v.SuccessCount, v.CancelledCount, s.CreatedTotal())
			}
			if a := s.Call("batch.cancel", stack.Args{"batch_id": accepted.BatchID}); a.ErrorCode != errs.BatchNotCancellable || a.Details.Counts.Pending != 0 {
				t.Errorf("cancelling after the end: %s", a.Text)
			}
		})
	}
	g.run("before the start, twice", func(t *testing.T) {
		s := engine(t, stack.Options{NoWorkers: true})
		accepted := s.Confirmed("post.create", stack.Post(s.IDs(5), "取り消される投稿です。"))
		for already := range 2 {
			r := stack.Into[tools.CancelResult](t, s.Call("batch.cancel", stack.Args{"batch_id": accepted.BatchID}))
			if r.Already != (already == 1) || r.Batch.Status != batch.Cancelled || r.Batch.CancelledCount != 5 || r.InFlightCount != 0 {
				t.Errorf("%d: %+v", already, r)
			}
		}
		s.Work()
		eventually(t, "the jobs are done", func() bool {
			return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND state <> 'completed'`) == 0
		})
		if n := len(creates(s)); n != 0 {
			t.Errorf("%d calls for a cancelled batch", n)
		}
	})
}

// F159: the process is told to stop while calls are in flight.
func TestF159StopWithCallsInFlight(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, hold := range map[string]gbpsim.HoldPoint{"before their effect": gbpsim.HoldBefore, "after their effect": gbpsim.HoldAfter} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 20, NoWorkers: true, Config: func(c *config.Config) { c.Worker.Bulk = 5 }})
			held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Count: 5, Hold: hold})
			accepted := s.Confirmed("post.create", stack.Post(s.IDs(20), "停止をまたぐ投稿です。"))
			stop := s.Work()
			if err := s.Sim.AwaitHeld(t.Context(), held, 5); err != nil {
				t.Fatal(err)
			}
			stopped := make(chan struct{})
			go func() { stop(); close(stopped) }()
			select {
			case <-stopped:
				t.Fatal("the workers went away with calls in flight")
			case <-time.After(200 * time.Millisecond): // it waits; there is no event of not ending
			}
			if _, err := s.Sim.Release(held); err != nil {
				t.Fatal(err)
			}
			<-stopped
			if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.item WHERE state = 'succeeded'`); n != 5 {
				t.Errorf("%d of 5 calls in flight are recorded", n)
			}
			if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.item WHERE state = 'queued'`); n != 15 {
				t.Errorf("%d items are left for the next process, want 15", n)
			}
			if n := queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE state = 'running'`); n != 0 {
				t.Errorf("%d jobs left running", n)
			}
			s.Work()
			if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
				t.Errorf("batch: %+v", v)
			}
			if n := len(creates(s)); n != 20 {
				t.Errorf("%d calls for 20 posts", n)
			}
		})
	}
}

// Jobs that were lost, whatever way, are made again; items are not.
func TestF156LostJobs(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, loss := range map[string]string{
		"deleted":   `DELETE FROM river.river_job WHERE kind = 'item'`,
		"discarded": `UPDATE river.river_job SET state = 'discarded', finalized_at = now() WHERE kind = 'item'`,
		"cancelled": `UPDATE river.river_job SET state = 'cancelled', finalized_at = now() WHERE kind = 'item'`,
		"completed": `UPDATE river.river_job SET state = 'completed', finalized_at = now() WHERE kind = 'item'`,
	} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 3, NoWorkers: true, Config: func(c *config.Config) { c.Worker.SweepEvery = 200 * time.Millisecond }})
			accepted := s.Accept("post.create", stack.Post(s.IDs(3), "仕事が失われても届く投稿です。"))
			if n := asOwner(t, s, loss); n != 3 {
				t.Fatalf("%d jobs lost", n)
			}
			s.Work()
			if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
				t.Errorf("batch: %+v", v)
			}
			if n := len(creates(s)); n != 3 {
				t.Errorf("%d calls for 3 posts", n)
			}
		})
	}
	g.run("while its call is in flight", func(t *testing.T) {
		s := engine(t, stack.Options{Stores: 1})
		held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Hold: gbpsim.HoldAfter, Count: 1})
		accepted := s.Accept("post.create", stack.Post(s.IDs(1), "送信中に仕事が消えた投稿です。"))
		if err := s.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
			t.Fatal(err)
		}
		asOwner(t, s, `DELETE FROM river.river_job WHERE kind = 'item'`)
		if _, err := s.Sim.Release(held); err != nil {
			t.Fatal(err)
		}
		s.Finish(string(accepted.BatchID))
		if got := itemAt(t, s, accepted.BatchID, s.IDs(1)[0]); got.Closed != "succeeded" {
			t.Errorf("the answer was not recorded: %+v", got)
		}
	})
}

// F154: a job that still runs is given to a second runner, as River's rescuer does with a stalled process.
func TestF154TwoRunnersOfOneItem(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	again := `UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE kind = 'item' AND state = 'running'`
	g.run("while the first sends", func(t *testing.T) {
		s := engine(t, stack.Options{Stores: 1})
		held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Hold: gbpsim.HoldBefore, Count: 1})
		accepted := s.Accept("post.create", stack.Post(s.IDs(1), "二人目が待つ投稿です。"))
		if err := s.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
			t.Fatal(err)
		}
		asOwner(t, s, again)
		eventually(t, "the second runner has looked and waits", func() bool {
			return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND (metadata->>'snoozes')::int > 0`) == 1
		})
		if _, err := s.Sim.Release(held); err != nil {
			t.Fatal(err)
		}
		if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
			t.Errorf("batch: %+v", v)
		}
		if n := len(creates(s)); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
	g.run("after the first has had its effect and hangs", func(t *testing.T) {
		s := engine(t, stack.Options{Stores: 1})
		held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Hold: gbpsim.HoldAfter, Count: 1})
		accepted := s.Accept("post.create", stack.Post(s.IDs(1), "二人目が見つける投稿です。"))
		if err := s.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
			t.Fatal(err)
		}
		asOwner(t, s, `UPDATE mappy.attempt SET examine_at = now()`)
		asOwner(t, s, again)
		if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
			t.Errorf("batch: %+v", v)
		}
		if _, err := s.Sim.Release(held); err != nil {
			t.Fatal(err)
		}
		if got := itemAt(t, s, accepted.BatchID, s.IDs(1)[0]); got.Closed != "found" {
			t.Errorf("item: %+v", got)
		}
		eventually(t, "the first runner has come back", func() bool {
			return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND state <> 'completed'`) == 0
		})
		if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE event = 'item_succeeded'`); n != 1 {
			t.Errorf("success is recorded %d times", n)
		}
		if n := len(creates(s)); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// F150: what Google answers poisons neither River's tables nor ours; the items beside it do not notice.
func TestF150PoisonedAnswers(t *testing.T) {
	t.Parallel()
	create := gbpsim.RouteLocalPostsCreate
	refusal := func(message string) string {
		return `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"` + message + `"}}`
	}
	bodies := []struct {
		name  string
		fault gbpsim.Fault
		state batch.ItemState
	}{
		{"400 with a raw NUL", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerError, Status: 400, Body: refusal("a\x00b")}, batch.ItemFailed},
		{"400 with an escaped NUL", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerError, Status: 400, Body: refusal(`a\u0000b`)}, batch.ItemFailed},
		{"400 with invalid UTF-8", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerError, Status: 400, Body: refusal("\xff\xfe\xc3")}, batch.ItemFailed},
		{"400 of 300 kB", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerError, Status: 400, Body: refusal(strings.Repeat("長", 100_000))}, batch.ItemFailed},
		{"400 with a lone surrogate", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerError, Status: 400, Body: refusal(`\ud800`)}, batch.ItemFailed},
		{"F018 HTML 404", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerHTML, Status: 404}, batch.ItemFailed},
		{"503 with a NUL, every time", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerError, Status: 503, Body: "\x00\x00"}, batch.ItemFailed},
		{"NUL in a reset's neighbour", gbpsim.Fault{Route: create, Answer: gbpsim.AnswerReset, Count: 1}, batch.ItemSucceeded},
	}
	s := engine(t, stack.Options{Stores: len(bodies) + 5})
	for i, b := range bodies {
		b.fault.Location = place(s, i)
		fault(t, s, b.fault)
	}
	ids := s.IDs(len(bodies) + 5)
	accepted := s.Confirmed("post.create", stack.Post(ids, "毒のある応答の隣の投稿です。"))
	v := s.Finish(string(accepted.BatchID))
	for i, item := range v.Items {
		want := batch.ItemSucceeded
		name := "sibling"
		if i < len(bodies) {
			name, want = bodies[i].name, bodies[i].state
		}
		if item.State != want {
			t.Errorf("%s: %s, want %s: %s", name, item.State, want, item.Message)
		}
		if !utf8.ValidString(item.Message) || strings.ContainsRune(item.Message, 0) || len(item.Message) > 2000 || strings.Contains(item.Message, "<html") {
			t.Errorf("%s: message %q", name, item.Message)
		}
	}
	eventually(t, "every job is completed", func() bool {
		return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND state <> 'completed'`) == 0
	})
	if bad := queryRow[int](t, s, `SELECT count(*) FROM river.river_job, unnest(errors) e WHERE octet_length(e::text) > 4000`); bad != 0 {
		t.Errorf("%d oversized job errors", bad)
	}
}

// A success whose body PostgreSQL cannot keep as it is: the item succeeds, and what is kept of the body is harmless.
func TestF150UnstorableSuccess(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, c := range map[string]struct{ field, closed string }{
		"an escaped NUL":   {`"summary":"a\u0000b"`, "succeeded"},
		"a raw NUL":        {"\"summary\":\"a\x00b\"", "found"}, // no JSON: Google is read back
		"invalid UTF-8":    {"\"summary\":\"\xff\xc3\"", "succeeded"},
		"a lone surrogate": {`"summary":"\ud800"`, "succeeded"},
		"a huge number":    {`"viewCount":1e999999`, "succeeded"},
		"a tiny number":    {`"viewCount":1e-999999`, "succeeded"},
		"deep nesting":     {`"deep":` + strings.Repeat("[", 500) + strings.Repeat("]", 500), "succeeded"},
	} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 2})
			// The answer names a post that the simulator knows nothing of, so that the books stay right.
			body := `{"name":"accounts/118063792240987654323/` + string(place(s, 0)) + `/localPosts/1","state":"LIVE","createTime":"2026-11-30T00:00:00Z",` + c.field + `}`
			fault(t, s, gbpsim.Fault{Location: place(s, 0), Route: gbpsim.RouteLocalPostsCreate, Effect: commit, Answer: gbpsim.AnswerEmpty, Body: body, Count: 1})
			accepted := s.Accept("post.create", stack.Post(s.IDs(2), "保存できない応答です。"))
			if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
				t.Errorf("batch: %+v", v)
			}
			if got := itemAt(t, s, accepted.BatchID, s.IDs(1)[0]); got.Closed != c.closed {
				t.Errorf("item: %+v, want %s", got, c.closed)
			}
			for _, kept := range queryRows[string](t, s, `SELECT state_after::text FROM mappy.item UNION ALL SELECT snapshot::text FROM mappy.resource`) {
				if !json.Valid([]byte(kept)) || !strings.Contains(kept, "/localPosts/") {
					t.Errorf("kept: %q", kept)
				}
			}
			real := s.Sim.Entries(gbpsim.EntryFilter{Location: place(s, 0), Effects: true})[0].Post
			asOwner(t, s, `UPDATE mappy.item SET resource_name = $1 WHERE location_id = $2`, string(real), s.IDs(1)[0])
		})
	}
}

// What was allowed on acceptance is asked again before each write.
func TestAccessTakenAwayBeforeTheWrite(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	kill := func(tenant authn.TenantID, kind, target string) func(context.Context, *stack.Stack) error {
		return func(ctx context.Context, s *stack.Stack) error {
			return s.App.DB.SetKill(ctx, tenant, authn.KillSwitch{Kind: kind, Target: target, Reason: "test"}, true, "operator")
		}
	}
	grants := func(g authn.Grants) func(context.Context, *stack.Stack) error {
		return func(ctx context.Context, s *stack.Stack) error {
			return s.App.DB.Save(ctx, postgres.Setup{
				ID: stack.Tenant, Name: "Komorebi", Locale: errs.English, Timezone: "Asia/Tokyo", Policy: json.RawMessage(stack.Roomy), Users: []postgres.SetupUser{{ID: stack.User, Grants: g}},
			}, "operator")
		}
	}
	for name, c := range map[string]struct {
		take func(context.Context, *stack.Stack) error
		code errs.Code
	}{
		"grant removed":           {grants(authn.Grants{}), errs.LocationAccessRevoked},
		"grant for another label": {grants(authn.Grants{Labels: []string{"elsewhere"}}), errs.LocationAccessRevoked},
		"token revoked": {func(ctx context.Context, s *stack.Stack) error {
			return s.App.DB.RevokeToken(ctx, stack.Tenant, "token-hanako", "operator")
		}, errs.LocationAccessRevoked},
		"kill switch for all":      {kill(authn.SystemTenant, "all", ""), errs.WritesDisabled},
		"kill switch for tenant":   {kill(stack.Tenant, "tenant", ""), errs.WritesDisabled},
		"kill switch for client":   {kill(stack.Tenant, "client", string(stack.Client)), errs.WritesDisabled},
		"kill switch for the tool": {kill(stack.Tenant, "tool", "post.create"), errs.WritesDisabled},
		"grant of Google revoked": {func(_ context.Context, s *stack.Stack) error {
			s.Sim.ExpireAccessTokens()
			return s.Sim.Revoke(gbpsim.DemoEmail)
		}, errs.GoogleReconnectRequired},
	} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{NoWorkers: true})
			accepted := s.Confirmed("post.create", stack.Post(s.IDs(6), "権限が消える前の投稿です。"))
			if err := c.take(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			s.Work()
			eventually(t, "the batch is final", func() bool { return queryRow[bool](t, s, `SELECT finished_at IS NOT NULL FROM mappy.batch`) })
			if n := s.CreatedTotal(); n != 0 {
				t.Errorf("%d posts", n)
			}
			for _, id := range s.IDs(6) {
				if got := itemAt(t, s, accepted.BatchID, id); got.State != batch.ItemFailed || got.Code != c.code || got.Executed != errs.ExecutedNo || got.Retry != batch.RetryPossible(c.code) {
					t.Errorf("item: %+v", got)
				}
			}
			if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE event = 'item_failed' AND error_code = $1`, c.code); n != 6 {
				t.Errorf("%d of 6 failures are recorded", n)
			}
		})
	}
	g.run("a bystander's switch stops nothing", func(t *testing.T) {
		s := engine(t, stack.Options{NoWorkers: true})
		accepted := s.Accept("post.create", stack.Post(s.IDs(1), "止まらない投稿です。"))
		for _, k := range [][2]string{{"client", "somebody-else"}, {"tool", "post.delete"}} {
			if err := kill(stack.Tenant, k[0], k[1])(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		s.Work()
		if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
			t.Errorf("batch: %+v", v)
		}
	})
}

// A switch thrown in the middle: the call in flight is recorded, nothing is sent after it.
func TestKillSwitchInTheMiddle(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 10, Config: func(c *config.Config) { c.Worker.Bulk = 1 }})
	held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, From: 3, Count: 1, Hold: gbpsim.HoldBefore})
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(10), "途中で止まる投稿です。"))
	if err := s.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
		t.Fatal(err)
	}
	k := authn.KillSwitch{Kind: "tenant", Reason: "wrong text"}
	if err := s.App.DB.SetKill(t.Context(), stack.Tenant, k, true, "operator"); err != nil {
		t.Fatal(err)
	}
	if a := s.Call("post.create", stack.Post(s.IDs(1), "別の投稿です。")); a.ErrorCode != errs.WritesDisabled {
		t.Errorf("got %s", a.Text)
	}
	if _, err := s.Sim.Release(held); err != nil {
		t.Fatal(err)
	}
	v := s.Finish(string(accepted.BatchID))
	if v.SuccessCount != 3 || v.FailureCount != 7 || v.Failures[0].ErrorCode != errs.WritesDisabled || s.CreatedTotal() != 3 {
		t.Errorf("batch: %+v", v)
	}
	if err := s.App.DB.SetKill(t.Context(), stack.Tenant, k, false, "operator"); err != nil {
		t.Fatal(err)
	}
	if v := s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(1), "再開後の投稿です。")).BatchID)); v.Status != batch.Done {
		t.Errorf("after the switch was lifted: %+v", v)
	}
}

func TestOnFailureStop(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 10, Config: func(c *config.Config) { c.Worker.Bulk = 1 }})
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 1), Answer: gbpsim.AnswerReset, Count: 1}) // passing: stops nothing
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 4), Answer: gbpsim.AnswerError, Status: 403})
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(10), "失敗したら止める投稿です。").With("on_failure", "stop"))
	v := s.Finish(string(accepted.BatchID))
	if v.Status != batch.Partial || v.FailureCount != 1 || v.CancelledCount < 5 || v.SuccessCount+v.CancelledCount != 9 {
		t.Errorf("batch: %+v", v)
	}
	for _, i := range v.Items[5:] {
		if i.State != batch.ItemCancelled || i.ErrorCode != errs.StoppedAfterFailure || i.Executed != errs.ExecutedNo || !i.RetryPossible {
			t.Errorf("item: %+v", i)
		}
	}
}

func TestSendDeadline(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{NoWorkers: true, Policy: with(`"send_deadline_seconds":1`)})
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(5), "期限までに送られない投稿です。"))
	at := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	scheduled := s.Accept("post.create", stack.Args{"location_ids": s.IDs(1), "post": map[string]any{"summary": "予約", "scheduled_time": at.Format(time.RFC3339)}})
	eventually(t, "the deadline has passed", func() bool {
		return queryRow[bool](t, s, `SELECT max(send_deadline) < clock_timestamp() FROM mappy.batch`)
	})
	s.Work()
	for id, n := range map[batch.ID]int{accepted.BatchID: 5, scheduled.BatchID: 1} {
		v := s.Finish(string(id))
		if v.Status != batch.Failed || v.FailureCount != n || v.Failures[0].ErrorCode != errs.ExpiredNotSent || !v.Failures[0].RetryPossible || v.Failures[0].Executed != errs.ExecutedNo {
			t.Errorf("batch: %+v", v)
		}
	}
	if n := len(creates(s)); n != 0 {
		t.Errorf("%d calls after the deadline", n)
	}
}

// A post for a time: it must be sent before that time, and is then Google's to publish.
func TestScheduledPost(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	at := time.Now().Add(time.Hour).Truncate(time.Second).In(time.FixedZone("JST", 9*3600))
	accepted := s.Accept("post.create", stack.Args{"location_ids": s.IDs(1), "post": map[string]any{"summary": "予約投稿です。", "scheduled_time": at.Format(time.RFC3339)}})
	v := s.Finish(string(accepted.BatchID))
	if v.Status != batch.Done || v.Items[0].Publication != batch.Scheduled {
		t.Errorf("batch: %+v", v)
	}
	if deadline := queryRow[time.Time](t, s, `SELECT send_deadline FROM mappy.batch`); deadline.Sub(at).Abs() > 3*time.Second {
		t.Errorf("send deadline %s, scheduled for %s", deadline, at)
	}
	if body := creates(s)[0].Body; !strings.Contains(body, `"scheduledTime":"`+at.UTC().Format(time.RFC3339)) {
		t.Errorf("sent: %s", body)
	}
}

// F016: Google takes a post and rejects it at once, or has not looked at it yet.
func TestF016RejectedAndProcessing(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 0), State: "REJECTED"})
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 1), State: "PROCESSING"})
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 3), State: "REJECTED", Answer: gbpsim.AnswerReset, Effect: commit})
	v := s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(4), "審査される投稿です。")).BatchID))
	if v.Status != batch.Partial || v.SuccessCount != 2 || v.FailureCount != 2 {
		t.Fatalf("batch: %+v", v)
	}
	for _, i := range []int{0, 3} { // the second rejection was found by reading back
		if got := v.Items[i]; got.State != batch.ItemFailed || got.ErrorCode != errs.GBPContentRejected || got.Executed != errs.ExecutedYes || got.Publication != batch.Rejected || got.RetryPossible || got.Target.ID == "" {
			t.Errorf("rejected: %+v", got)
		}
	}
	if got := v.Items[1]; got.State != batch.ItemSucceeded || got.Publication != batch.PendingReview {
		t.Errorf("processing: %+v", got)
	}
	if got := v.Items[2]; got.Publication != batch.Live {
		t.Errorf("live: %+v", got)
	}
	if n := len(creates(s)); n != 4 {
		t.Errorf("%d calls for 4 posts", n)
	}
}

// F158: an item that waits for its store's turn occupies no worker.
func TestF158WaitingHoldsNoWorker(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 3, NoWorkers: true, Config: func(c *config.Config) {
		c.Worker.Interactive, c.Worker.CallTimeout = 2, 30*time.Second
	}})
	held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 0), Count: 1, Hold: gbpsim.HoldBefore})
	first := s.Accept("post.create", stack.Post(s.IDs(1), "最初の投稿です。"))
	s.Work()
	if err := s.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
		t.Fatal(err)
	}
	second := s.Accept("post.create", stack.Post(s.IDs(1), "同じ店舗の次の投稿です。"))
	third := s.Accept("post.create", stack.Post(s.IDs(2)[1:], "別の店舗の投稿です。"))
	if v := s.Finish(string(third.BatchID)); v.Status != batch.Done {
		t.Errorf("the other store: %+v", v)
	}
	if f := s.Sim.Faults()[0]; f.Held != 1 || len(creates(s)) != 2 {
		t.Errorf("the other store was served only when the held call (%d) had ended; %d calls", f.Held, len(creates(s)))
	}
	if _, err := s.Sim.Release(held); err != nil {
		t.Fatal(err)
	}
	for _, id := range []batch.ID{first.BatchID, second.BatchID} {
		if v := s.Finish(string(id)); v.Status != batch.Done {
			t.Errorf("batch: %+v", v)
		}
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE cardinality(errors) > 0`); n != 0 {
		t.Errorf("waiting cost %d jobs an attempt", n)
	}
	if peak := s.Sim.Stats().MaxWritesInFlight[place(s, 0)]; peak != 1 {
		t.Errorf("%d writes in flight at one store", peak)
	}
}

// F163: behind a pooler that carries no notifications.
func TestF163PollOnly(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Config: func(c *config.Config) { c.Worker.PollOnly = true }})
	if v := s.Finish(string(s.Confirmed("post.create", stack.Post(s.IDs(12), "通知のない投稿です。")).BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
}
