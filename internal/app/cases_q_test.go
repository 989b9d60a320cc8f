package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

const v4Host = "mybusiness.googleapis.com"

// F019, F074: faults of our own project. They are told apart from a store's, never retried, and end the batch with far
// fewer calls than it has items.
func TestF074ProjectFaultsStopTheBatch(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, c := range map[string]struct {
		knobs gbpsim.Knobs
		code  errs.Code
	}{
		"F074 quota 0":          {gbpsim.Knobs{NoQuotas: true, QuotaZeroAPIs: []string{v4Host}}, errs.GBPNotApproved},
		"F019 SERVICE_DISABLED": {gbpsim.Knobs{NoQuotas: true, DisabledAPIs: []string{v4Host}}, errs.GBPAPIDisabled},
	} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 100, NoWorkers: true, Config: func(c *config.Config) { c.Worker.Bulk = 5 }})
			if err := s.Sim.SetKnobs(c.knobs); err != nil {
				t.Fatal(err)
			}
			accepted := s.Confirmed("post.create", stack.Post(s.IDs(100), "承認前のプロジェクトからの投稿です。"))
			s.Work()
			v := s.Finish(string(accepted.BatchID))
			if v.Status != batch.Failed || v.FailureCount != 100 {
				t.Errorf("batch: %s, %d failures", v.Status, v.FailureCount)
			}
			for _, i := range v.Items {
				if i.ErrorCode != c.code || i.Executed != errs.ExecutedNo || i.RetryPossible || i.Message == "" {
					t.Fatalf("item: %+v", i)
				}
			}
			if n := len(creates(s)); n == 0 || n > 20 {
				t.Errorf("%d calls for 100 items", n)
			}
			if n := queryRow[int](t, s, `SELECT max(attempts) FROM mappy.item`); n != 1 {
				t.Errorf("%d attempts", n)
			}
		})
	}
	g.run("F019 one store's 403 stops nothing", func(t *testing.T) {
		s := engine(t, stack.Options{})
		fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 2), Answer: gbpsim.AnswerError, Status: 403})
		v := s.Finish(string(s.Confirmed("post.create", stack.Post(s.IDs(12), "権限のない店舗を含む投稿です。")).BatchID))
		if v.SuccessCount != 11 || v.Failures[0].ErrorCode != errs.GBPPermissionDenied || len(creates(s)) != 12 {
			t.Errorf("batch: %+v", v)
		}
	})
}

// F020: everything that Google found wrong reaches the caller, under our names.
func TestF020AllFieldsOfARefusal(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	v4 := `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Request contains an invalid argument.","details":[{"@type":"type.googleapis.com/google.mybusiness.v4.ValidationError","errorDetails":[
		{"code":3,"field":"summary","message":"too long","value":"x"},{"code":3,"field":"call_to_action.url","message":"bad url"},{"code":2,"field":"event.title","message":"missing"}]}]}}`
	v1 := `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Request contains an invalid argument.","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[
		{"field":"summary","description":"too long"},{"field":"topic_type","description":"unknown"}]}]}}`
	for i, body := range []string{v4, v1} {
		fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, i), Answer: gbpsim.AnswerError, Status: 400, Body: body})
	}
	v := s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(2), "誤りのある投稿です。")).BatchID))
	for i, want := range []int{3, 2} {
		got := v.Items[i]
		if got.ErrorCode != errs.GBPInvalidArgument || got.Google == nil || len(got.Google.Fields) != want || got.Google.Fields[0].Argument != "post.summary" || got.RetryPossible {
			t.Errorf("item %d: %+v %+v", i, got, got.Google)
		}
	}
	if n := len(creates(s)); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// F021: posts go to Google under the v4 name, with the account that the mirror knows.
func TestF021TheV4NameIsSent(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(3), "名前の形の投稿です。")).BatchID))
	sent := map[string]bool{}
	for _, e := range creates(s) {
		sent[e.Path] = true
	}
	for i := range 3 {
		if want := "/v4/" + string(s.Locations[i].Account) + "/" + string(s.Locations[i].Name) + "/localPosts"; !sent[want] {
			t.Errorf("nothing was sent to %s: %v", want, sent)
		}
	}
}

// F075: what Google asks for is waited for in the queue, by everybody; what makes no sense is not.
func TestF075RetryAfter(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, c := range map[string]struct {
		header   func() string
		at, most time.Duration
	}{
		"seconds":      {func() string { return "3" }, 3 * time.Second, 20 * time.Second},
		"an HTTP date": {func() string { return time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat) }, 2 * time.Second, 20 * time.Second},
		"negative":     {func() string { return "-1" }, time.Second, 20 * time.Second},
		"absurd":       {func() string { return "99999999999" }, time.Second, 20 * time.Second},
		"a word":       {func() string { return "soon" }, time.Second, 20 * time.Second},
		"absent":       {func() string { return "" }, time.Second, 20 * time.Second},
	} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 2})
			fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 0), Answer: gbpsim.AnswerError, Status: 429, RetryAfter: c.header(), Count: 1})
			accepted := s.Accept("post.create", stack.Post(s.IDs(1), "待つ投稿です。"))
			if _, err := s.Sim.Await(t.Context(), gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate}, func(e []gbpsim.Entry) bool { return len(e) > 0 && e[0].Status == 429 }); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the refusal is recorded", func() bool {
				return queryRow[int](t, s, `SELECT count(*) FROM mappy.attempt WHERE state = 'refused'`) == 1
			})
			other := s.Accept("post.create", stack.Post(s.IDs(2)[1:], "同じプロジェクトの別の店舗です。"))
			for _, id := range []batch.ID{accepted.BatchID, other.BatchID} {
				if v := s.Finish(string(id)); v.Status != batch.Done {
					t.Errorf("batch: %+v", v)
				}
			}
			calls := creates(s)
			for _, e := range calls[1:] {
				if d := e.Time.Sub(calls[0].Time); d < c.at || d > c.most {
					t.Errorf("the call at %s came %s after the 429", e.Location, d)
				}
			}
			if got := itemAt(t, s, accepted.BatchID, s.IDs(1)[0]); got.Closed != "refused succeeded" {
				t.Errorf("item: %+v", got)
			}
			if n := queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND (cardinality(errors) > 0 OR attempt > 1)`); n != 0 {
				t.Errorf("waiting used up attempts of %d jobs", n)
			}
		})
	}
}

// Five items of one user are at Google at a time; another user's single item is not behind them.
func TestUserShareOfGoogle(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 12, NoWorkers: true, Config: func(c *config.Config) { c.Google.UserItems, c.Worker.CallTimeout = 5, 30*time.Second }})
	other := s.AddUser(stack.Tenant, "taro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Count: 5, Hold: gbpsim.HoldBefore})
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(12)[:11], "五件までの投稿です。"))
	s.Work()
	if err := s.Sim.AwaitHeld(t.Context(), held, 5); err != nil {
		t.Fatal(err)
	}
	a := s.CallAs(other, "post.create", stack.Post(s.IDs(12)[11:], "別の担当者の投稿です。"))
	if v := s.Finish(string(into(t, a).Accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("the other user's batch: %+v", v)
	}
	if n := len(creates(s)); n != 6 || s.Sim.Faults()[0].Held != 5 {
		t.Errorf("%d calls, %d of them held", n, s.Sim.Faults()[0].Held)
	}
	if _, err := s.Sim.Release(held); err != nil {
		t.Fatal(err)
	}
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
}

// F018: a path that meets no route of Google's is our fault and permanent; nothing of the page reaches anybody.
func TestF018HTMLNotFound(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 0), Answer: gbpsim.AnswerHTML, Status: 404})
	v := s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(1), "道に迷う投稿です。")).BatchID))
	f := v.Failures[0]
	if f.ErrorCode != errs.Internal || f.RetryPossible || f.Executed != errs.ExecutedNo || strings.Contains(f.Message, "<") || len(creates(s)) != 1 {
		t.Errorf("item: %+v", f)
	}
}
