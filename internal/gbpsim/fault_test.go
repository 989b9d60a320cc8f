package gbpsim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

const createRoute = gbpsim.RouteLocalPostsCreate

// TestFaultAnswers orders one fault of each kind and looks at what the client got, what exists, and what the journal says.
func TestFaultAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  gbpsim.Fault
		status int // 0: the connection was dropped
		body   string
		exact  bool
		posts  int
	}{
		"error before commit":     {gbpsim.Fault{Answer: gbpsim.AnswerError}, 503, `"UNAVAILABLE"`, false, 0},
		"error after commit":      {gbpsim.Fault{Answer: gbpsim.AnswerError, Effect: gbpsim.EffectCommit}, 503, `"UNAVAILABLE"`, false, 1},
		"own status and reason":   {gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 403, Reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", Metadata: map[string]string{"service": v4Host}, Message: "no scope"}, 403, `"ACCESS_TOKEN_SCOPE_INSUFFICIENT"`, false, 0},
		"own word":                {gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 400, Word: "FAILED_PRECONDITION"}, 400, `"FAILED_PRECONDITION"`, false, 0},
		"unauthenticated":         {gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 401}, 401, `"UNAUTHENTICATED"`, false, 0},
		"html":                    {gbpsim.Fault{Answer: gbpsim.AnswerHTML}, 502, "<!DOCTYPE html>", false, 0},
		"html after commit":       {gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: 504, Effect: gbpsim.EffectCommit}, 504, "<!DOCTYPE html>", false, 1},
		"empty":                   {gbpsim.Fault{Answer: gbpsim.AnswerEmpty}, 200, "", true, 0},
		"empty after commit":      {gbpsim.Fault{Answer: gbpsim.AnswerEmpty, Effect: gbpsim.EffectCommit}, 200, "", true, 1},
		"broken JSON":             {gbpsim.Fault{Answer: gbpsim.AnswerBrokenJSON, Effect: gbpsim.EffectCommit}, 200, `{"name":"accounts/1/locat`, true, 1},
		"own body":                {gbpsim.Fault{Answer: gbpsim.AnswerBrokenJSON, Body: "[", Status: 500}, 500, "[", true, 0},
		"reset before commit":     {gbpsim.Fault{Answer: gbpsim.AnswerReset}, 0, "", false, 0},
		"commit then reset":       {gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit}, 0, "", false, 1},
		"rejected":                {gbpsim.Fault{State: "REJECTED"}, 200, `"REJECTED"`, false, 1},
		"processing":              {gbpsim.Fault{State: "PROCESSING"}, 200, `"PROCESSING"`, false, 1},
		"revoked on the way":      {gbpsim.Fault{Revoke: true}, 401, `"UNAUTHENTICATED"`, false, 0},
		"another route":           {gbpsim.Fault{Route: gbpsim.RouteLocalPostsDelete, Answer: gbpsim.AnswerReset}, 200, "", false, 1},
		"another location":        {gbpsim.Fault{Location: strangerStore, Answer: gbpsim.AnswerReset}, 200, "", false, 1},
		"another account":         {gbpsim.Fault{Account: strangerAccount, Answer: gbpsim.AnswerReset}, 200, "", false, 1},
		"another person":          {gbpsim.Fault{Email: strangerEmail, Answer: gbpsim.AnswerReset}, 200, "", false, 1},
		"this route and person":   {gbpsim.Fault{Route: createRoute, Email: gbpsim.DemoEmail, Account: gbpsim.DemoGroup, Answer: gbpsim.AnswerReset}, 0, "", false, 0},
		"true answer with header": {gbpsim.Fault{RetryAfter: "7"}, 200, "", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{})
			id := b.fault(c.fault)
			a, err := b.try("POST", b.posts(0), plain)
			if (err != nil) != (c.status == 0) || a.status != c.status || c.exact && a.raw != c.body || !strings.Contains(a.raw, c.body) {
				t.Errorf("status %d, error %v, body %q", a.status, err, a.raw)
			}
			if n := len(b.sim.Posts("")); n != c.posts {
				t.Errorf("%d posts exist, want %d", n, c.posts)
			}
			e, fired := b.last(), b.sim.Faults()[0].Fired
			wantID, wantOutcome := id, gbpsim.Answered
			if strings.HasPrefix(name, "another") {
				wantID = ""
			}
			if c.status == 0 {
				wantOutcome = gbpsim.Dropped
			}
			if e.Fault != wantID || (fired == 1) != (wantID != "") || e.Effect != (c.posts == 1) || e.Outcome != wantOutcome || e.Status != c.status {
				t.Errorf("fired %d times, journal %+v", fired, e)
			}
			if c.fault.RetryAfter != a.header.Get("Retry-After") {
				t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
			}
		})
	}
}

func TestFaultOnErrorCarriesRetryAfter(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 429, RetryAfter: "Wed, 21 Oct 2026 07:28:00 GMT"})
	if a := b.create(0, plain); a.status != 429 || a.header.Get("Retry-After") != "Wed, 21 Oct 2026 07:28:00 GMT" {
		t.Errorf("%d, Retry-After %q", a.status, a.header.Get("Retry-After"))
	}
}

func TestRefusalBeatsFaultAfterCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit})
	if a := b.create(0, `{"summary":"s"}`); a.status != 400 {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestFaultCountsCalls(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Route: createRoute, Location: gbpsim.LocationName(string(gbpsim.DemoGroup) + "/" + string(b.store[0])), From: 2, Count: 2, Answer: gbpsim.AnswerError})
	var got []int
	for range 5 {
		got = append(got, b.create(0, plain).status, b.create(1, plain).status)
	}
	if want := []int{200, 200, 503, 200, 503, 200, 200, 200, 200, 200}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	if f := b.sim.Faults()[0]; f.Matched != 5 || f.Fired != 2 {
		t.Errorf("matched %d, fired %d", f.Matched, f.Fired)
	}
}

func TestFirstFiringFaultWins(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{From: 2, Answer: gbpsim.AnswerError, Status: 500})
	b.fault(gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 503})
	if one, two := b.create(0, plain).status, b.create(0, plain).status; one != 503 || two != 500 {
		t.Errorf("%d then %d", one, two)
	}
}

func TestUnauthorizedOnceThenWell(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Route: createRoute, Count: 1, Answer: gbpsim.AnswerError, Status: 401})
	if one, two := b.create(0, plain).status, b.create(0, plain).status; one != 401 || two != 200 {
		t.Errorf("%d then %d", one, two)
	}
}

func TestTokenFaults(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Route: gbpsim.RouteToken, Count: 1, Answer: gbpsim.AnswerHTML, Status: 500})
	if a := b.refresh(refreshForm(gbpsim.DemoRefreshToken)); a.status != 500 {
		t.Errorf("%d", a.status)
	}
	b.fault(gbpsim.Fault{Route: gbpsim.RouteToken, Email: gbpsim.DemoEmail, Revoke: true})
	if a := b.refresh(refreshForm(gbpsim.DemoRefreshToken)); a.text("error") != "invalid_grant" {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := b.create(0, plain); a.status != 401 {
		t.Errorf("the access token of a revoked grant: %d", a.status)
	}
}

func TestDelayedEffect(t *testing.T) {
	t.Parallel()
	for _, kind := range []gbpsim.AnswerKind{gbpsim.AnswerTrue, gbpsim.AnswerError, gbpsim.AnswerReset} {
		t.Run(fmt.Sprintf("answer %q", kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{})
			b.fault(gbpsim.Fault{Route: createRoute, Count: 1, Effect: gbpsim.EffectLater, DelaySeconds: 20, Answer: kind})
			a, err := b.try("POST", b.posts(0), plain)
			if want := map[gbpsim.AnswerKind]int{gbpsim.AnswerTrue: 200, gbpsim.AnswerError: 503}[kind]; a.status != want || (err != nil) != (want == 0) {
				t.Fatalf("%d, %v", a.status, err)
			}
			earlier := b.created(0)
			count := func() (exist, listed int) {
				names, _ := b.listed(0, "")
				return len(b.sim.Posts(b.store[0])), len(names)
			}
			if e, l := count(); e != 1 || l != 1 {
				t.Errorf("at once: %d exist, %d listed", e, l)
			}
			b.sim.Advance(20 * time.Second)
			if e, l := count(); e != 2 || l != 2 {
				t.Errorf("after 20 s: %d exist, %d listed", e, l)
			}
			if names, _ := b.listed(0, ""); names[1] != earlier {
				t.Errorf("the late post is not the newest: %v", names)
			}
			first := b.sim.Entries(gbpsim.EntryFilter{Effects: true})[0]
			if !first.EffectTime.Equal(start.Add(20*time.Second)) || !first.Time.Equal(start) {
				t.Errorf("journal: asked %s, effect %s", first.Time, first.EffectTime)
			}
		})
	}
}

func TestDelayedDeletion(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	name := b.created(0)
	b.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsDelete, Effect: gbpsim.EffectLater, DelaySeconds: 5, Answer: gbpsim.AnswerError})
	if a := b.do("DELETE", v4Host+"/v4/"+name, ""); a.status != 503 {
		t.Fatal(a.status)
	}
	if a := b.do("GET", v4Host+"/v4/"+name, ""); a.status != 200 {
		t.Errorf("before: %d", a.status)
	}
	b.sim.Advance(5 * time.Second)
	if a := b.do("GET", v4Host+"/v4/"+name, ""); a.status != 404 {
		t.Errorf("after: %d", a.status)
	}
}

func TestHidden(t *testing.T) {
	t.Parallel()
	for where, want := range map[string][2]bool{"": {false, false}, "list": {false, true}, "get": {true, false}} {
		t.Run("in "+where, func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{})
			f := gbpsim.Fault{Route: createRoute, Count: 1, HiddenSeconds: 15, HiddenIn: where}
			b.fault(f)
			name := b.created(0)
			look := func() [2]bool {
				names, _ := b.listed(0, "")
				return [2]bool{slices.Contains(names, name), b.do("GET", v4Host+"/v4/"+name, "").status == 200}
			}
			if got := look(); got != want {
				t.Errorf("new post: in list and get %v, want %v", got, want)
			}
			b.sim.Advance(15 * time.Second)
			if got := look(); got != [2]bool{true, true} {
				t.Errorf("later: %v", got)
			}
			f.Route = gbpsim.RouteLocalPostsDelete
			b.fault(f)
			b.do("DELETE", v4Host+"/v4/"+name, "")
			if got := look(); got != [2]bool{!want[0], !want[1]} {
				t.Errorf("deleted post: in list and get %v, want the opposite of %v", got, want)
			}
			b.sim.Advance(15 * time.Second)
			if got := look(); got != [2]bool{false, false} {
				t.Errorf("deleted, later: %v", got)
			}
		})
	}
}

func TestForcedStateSettles(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{State: "PROCESSING", SettleSeconds: 30, SettleState: "REJECTED"})
	name := b.created(0)
	state := func() string { return b.do("GET", v4Host+"/v4/"+name, "").text("state") }
	if s := state(); s != "PROCESSING" {
		t.Errorf("at once: %s", s)
	}
	b.sim.Advance(30 * time.Second)
	if s := state(); s != "REJECTED" {
		t.Errorf("later: %s", s)
	}
}

// TestHold stops a request on either side of its effect, lets the client give up, and sees that Google goes on.
func TestHold(t *testing.T) {
	t.Parallel()
	for point, held := range map[gbpsim.HoldPoint]int{gbpsim.HoldBefore: 0, gbpsim.HoldAfter: 1} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{})
			id := b.fault(gbpsim.Fault{Route: createRoute, Count: 1, Hold: point})
			type result struct {
				a   answer
				err error
			}
			done := make(chan result, 1)
			go func() {
				a, err := b.try("POST", b.posts(0), plain)
				done <- result{a, err}
			}()
			if err := b.sim.AwaitHeld(t.Context(), id, 1); err != nil {
				t.Fatal(err)
			}
			if n := len(b.sim.Posts(b.store[0])); n != held {
				t.Errorf("%d posts exist while held, want %d", n, held)
			}
			if e := b.last(); e.Outcome != gbpsim.Open || e.Effect != (held == 1) {
				t.Errorf("journal while held: %+v", e)
			}
			select {
			case r := <-done:
				t.Fatalf("answered while held: %+v", r)
			default:
			}
			if n, err := b.sim.Release(id); n != 1 || err != nil {
				t.Errorf("released %d, %v", n, err)
			}
			if r := <-done; r.err != nil || r.a.status != 200 {
				t.Errorf("%d, %v", r.a.status, r.err)
			}
			if n := len(b.sim.Posts(b.store[0])); n != 1 {
				t.Errorf("%d posts exist", n)
			}
		})
	}
}

func TestHeldRequestGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	id := b.fault(gbpsim.Fault{Route: createRoute, Hold: gbpsim.HoldBefore})
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := b.tryIn(ctx, "POST", b.posts(0), plain)
		gone <- err
	}()
	if err := b.sim.AwaitHeld(t.Context(), id, 1); err != nil {
		t.Fatal(err)
	}
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("the client got an answer")
	}
	if err := b.sim.RemoveFault(id); err != nil { // lets go, too
		t.Fatal(err)
	}
	got, err := b.sim.Await(t.Context(), gbpsim.EntryFilter{Effects: true}, func(e []gbpsim.Entry) bool { return len(e) == 1 })
	if err != nil || len(b.sim.Posts(b.store[0])) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestHeldRequestIsJudgedWhenItGoesOn: a token that ends while a request waits is no good any more, and a post is born when it is made.
func TestHeldRequestIsJudgedWhenItGoesOn(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int{time.Minute: 200, 2 * time.Hour: 401} {
		b := setup(t, gbpsim.Options{})
		id := b.fault(gbpsim.Fault{Hold: gbpsim.HoldBefore})
		got := make(chan answer, 1)
		go func() {
			a, _ := b.try("POST", b.posts(0), plain) // a lost answer has status 0
			got <- a
		}()
		if err := b.sim.AwaitHeld(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		b.sim.Advance(wait)
		if _, err := b.sim.Release(id); err != nil {
			t.Fatal(err)
		}
		if a := <-got; a.status != want || want == 200 && a.text("createTime") != "2026-11-30T03:01:00.000000Z" {
			t.Errorf("after %s: %d %s", wait, a.status, a.raw)
		}
	}
}

func TestCloseDropsHeldRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	id := b.fault(gbpsim.Fault{Hold: gbpsim.HoldBefore})
	gone := make(chan error, 1)
	go func() {
		_, err := b.try("POST", b.posts(0), plain)
		gone <- err
	}()
	if err := b.sim.AwaitHeld(t.Context(), id, 1); err != nil {
		t.Fatal(err)
	}
	b.sim.Close()
	if err := <-gone; err == nil || len(b.sim.Posts("")) != 0 {
		t.Errorf("error %v, %d posts", err, len(b.sim.Posts("")))
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{LatencyMS: 20}})
	b.fault(gbpsim.Fault{Route: createRoute, LatencyBeforeMS: 20, LatencyAfterMS: 20})
	began := time.Now()
	b.created(0)
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

// TestTimeoutAfterCommit is the ambiguous case: the client gives up, and the post is there.
func TestTimeoutAfterCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Route: createRoute, LatencyAfterMS: 60_000})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := b.tryIn(ctx, "POST", b.posts(0), plain); err == nil {
		t.Fatal("the client got an answer")
	}
	// The request left before the client gave up; on a busy machine the simulator reads it a moment later.
	wait, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	_, err := b.sim.Await(wait, gbpsim.EntryFilter{Route: createRoute}, func(es []gbpsim.Entry) bool {
		return len(es) == 1 && es[0].Effect
	})
	if n := len(b.sim.Posts(b.store[0])); err != nil || n != 1 {
		t.Errorf("%d posts exist, %v", n, err)
	}
}

func TestFaultsThatContradictThemselves(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	for _, f := range []gbpsim.Fault{
		{Route: "posts.create"},
		{Effect: "half"},
		{Answer: "smoke"},
		{Hold: "middle"},
		{Effect: gbpsim.EffectNone},
		{Effect: gbpsim.EffectLater},
		{HiddenIn: "both"},
		{State: "GONE"},
		{Status: 42},
		{Count: -1},
	} {
		if id, err := b.sim.AddFault(f); err == nil {
			t.Errorf("%+v was taken as %s", f, id)
		}
	}
	b.fault(gbpsim.Fault{ID: "mine"})
	if _, err := b.sim.AddFault(gbpsim.Fault{ID: "mine"}); err == nil {
		t.Error("an id was taken twice")
	}
	if err := b.sim.RemoveFault("other"); err == nil {
		t.Error("a fault that does not exist was deleted")
	}
}
