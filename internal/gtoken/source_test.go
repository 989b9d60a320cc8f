package gtoken

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

func TestExchange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "1//r")
	b.respond(good("ya29.a", ""))
	b.token(b.source(nil), "t", "c", "ya29.a")
	want := map[string]string{"path": "/oauth2.googleapis.com/token", "grant_type": "refresh_token", "refresh_token": "1//r", "client_id": "client", "client_secret": "GOCSPX-secret"}
	if fmt.Sprint(b.forms) != fmt.Sprint([]map[string]string{want}) {
		t.Errorf("sent %v", b.forms)
	}
}

// F077: many workers in several processes, a token endpoint that invalidates a refresh token when it is used.
func TestF077OneRefreshForAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r0")
	var mu sync.Mutex
	live, n := "r0", 0
	b.respond(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.PostForm.Get("refresh_token") != live {
			reply(400, "application/json", `{"error":"invalid_grant"}`)(w, r)
			return
		}
		n++
		live = fmt.Sprintf("r%d", n)
		good(fmt.Sprintf("a%d", n), live)(w, r)
	})
	processes := make([]*Source, 5)
	for i := range processes {
		processes[i] = b.source(nil)
	}
	round := func(want string) {
		t.Helper()
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 50 {
			wg.Go(func() {
				<-start
				got, err := processes[i%len(processes)].Token(t.Context(), "t", "c")
				if err != nil || got != want {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
			})
		}
		close(start)
		wg.Wait()
	}
	round("a1")
	b.wantCalls(1)
	if refresh, access, c := b.stored("t", "c"); refresh != "r1" || access != "a1" || c.State != Alive {
		t.Errorf("stored %q %q %v", refresh, access, c.State)
	}
	b.clock.advance(time.Hour)
	round("a2")
	b.wantCalls(2)
}

// F079: what the token endpoint says decides between "reconnect", "wait" and "tell the operator".
func TestF079ClassesOfFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		class  Class
		code   errs.Code
		reason string
	}{
		"invalid_grant":          {reply(400, "application/json", `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`), NeedsReconnect, errs.GoogleReconnectRequired, "invalid_grant"},
		"admin policy":           {reply(400, "application/json", `{"error":"admin_policy_enforced"}`), NeedsReconnect, errs.GoogleReconnectRequired, "admin_policy_enforced"},
		"503":                    {reply(503, "application/json", `{"error":"temporarily_unavailable"}`), Transient, errs.Unavailable, "temporarily_unavailable"},
		"400 temporarily":        {reply(400, "application/json", `{"error":"temporarily_unavailable"}`), Transient, errs.Unavailable, "temporarily_unavailable"},
		"invalid_grant in a 500": {reply(500, "application/json", `{"error":"invalid_grant"}`), Transient, errs.Unavailable, "invalid_grant"},
		"invalid_grant in a 200": {reply(200, "application/json", `{"error":"invalid_grant"}`), Transient, errs.Unavailable, "invalid_grant"},
		"200 HTML":               {reply(200, "text/html", `<html>login to the wifi</html>`), Transient, errs.Unavailable, "unreadable_answer"},
		"200 without a token":    {reply(200, "application/json", `{}`), Transient, errs.Unavailable, "unreadable_answer"},
		"403 HTML":               {reply(403, "text/html", `<html>proxy</html>`), Transient, errs.Unavailable, "no_error_code"},
		"429":                    {reply(429, "application/json", `{"error":"rate_limit_exceeded"}`), Transient, errs.Unavailable, "rate_limit_exceeded"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, Transient, errs.Unavailable, "no_error_code"},
		"connection closed":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Transient, errs.Unavailable, "network"},
		"timeout":                 {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Transient, errs.Unavailable, "timeout"},
		"invalid_client":          {reply(401, "application/json", `{"error":"invalid_client"}`), Operator, errs.Internal, "invalid_client"},
		"unauthorized_client":     {reply(400, "application/json", `{"error":"unauthorized_client"}`), Operator, errs.Internal, "unauthorized_client"},
		"an error code with data": {reply(400, "application/json", `{"error":"1//SECRET"}`), Transient, errs.Unavailable, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.connect("t", "c", "1//r")
			b.respond(c.answer)
			timeout := 10 * time.Second
			if name == "timeout" {
				timeout = 50 * time.Millisecond
			}
			s := b.source(func(o *Options) { o.RefreshTimeout = timeout })
			_, err := s.Token(t.Context(), "t", "c")
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Class != c.class || e.Reason != c.reason || errs.CodeOf(err) != c.code {
				t.Fatalf("got %v (%s)", err, errs.CodeOf(err))
			}
			refresh, _, row := b.stored("t", "c")
			dead := c.class == NeedsReconnect
			if (row.State == Dead) != dead || refresh != "1//r" {
				t.Errorf("the row is %s with %q", row.State, refresh)
			}
			b.wantCalls(1)
			if dead {
				if _, err := s.Token(t.Context(), "t", "c"); errs.CodeOf(err) != errs.GoogleReconnectRequired {
					t.Errorf("the second call: %v", err)
				}
				b.wantCalls(1) // the row knows
				if fmt.Sprint(b.store.events) != "[dead]" {
					t.Errorf("events %v", b.store.events)
				}
				return
			}
			// The same failure answers for a moment without another exchange; then the connection works again.
			if _, err := s.Token(t.Context(), "t", "c"); err == nil {
				t.Error("a token from nowhere")
			}
			b.wantCalls(1)
			b.clock.advance(4 * time.Second)
			b.respond(good("ya29.ok", ""))
			b.token(s, "t", "c", "ya29.ok")
			b.wantCalls(2)
		})
	}
}

// F080: Google's usual answer has no refresh token.
func TestF080TheRefreshTokenStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "1//first")
	b.respond(good("a1", ""))
	b.token(b.source(nil), "t", "c", "a1")
	refresh, access, c := b.stored("t", "c")
	if refresh != "1//first" || access != "a1" || !c.AccessExpiresAt.Equal(b.clock.now().Add(3599*time.Second)) || c.Generation != 1 {
		t.Fatalf("stored %q %q %v", refresh, access, c)
	}
	b.clock.advance(2 * time.Hour)
	b.respond(good("a2", "1//second"))
	b.token(b.source(nil), "t", "c", "a2") // after a restart
	if refresh, _, _ := b.stored("t", "c"); refresh != "1//second" {
		t.Errorf("the rotated token is not stored: %q", refresh)
	}
	b.clock.advance(2 * time.Hour)
	b.respond(good("a3", ""))
	b.token(b.source(nil), "t", "c", "a3")
	if last := b.forms[len(b.forms)-1]; last["refresh_token"] != "1//second" {
		t.Errorf("refreshed with %q", last["refresh_token"])
	}
}

// F082: a token is replaced while Google would still take it, so a host clock that lags does not matter.
func TestF082Margin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	s := b.source(nil)
	b.token(s, "t", "c", "a1")
	b.clock.advance(3539 * time.Second) // exactly 60 s left
	b.token(s, "t", "c", "a1")
	b.wantCalls(1)
	b.respond(good("a2", ""))
	b.clock.advance(time.Second)
	b.token(s, "t", "c", "a2")
	b.wantCalls(2)
}

func TestAnswersWithoutExpiry(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]time.Duration{
		`{"access_token":"a"}`:                       unknownLifetime,
		`{"access_token":"a","expires_in":-5}`:       unknownLifetime,
		`{"access_token":"a","expires_in":"1800"}`:   30 * time.Minute,
		`{"access_token":"a","expires_in":99999999}`: maxLifetime,
	} {
		b := newBench(t)
		b.connect("t", "c", "r")
		b.respond(reply(200, "application/json", body))
		b.token(b.source(nil), "t", "c", "a")
		if _, _, c := b.stored("t", "c"); c.AccessExpiresAt.Sub(b.clock.now()) != want {
			t.Errorf("%s: lives %v, want %v", body, c.AccessExpiresAt.Sub(b.clock.now()), want)
		}
	}
}

// F083: every connection has its own token, also when tenants name their connections alike.
func TestF083NoMixUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.respond(func(w http.ResponseWriter, r *http.Request) {
		good("access of "+r.PostForm.Get("refresh_token"), "")(w, r)
	})
	s := b.source(nil)
	pairs := []key{{"t1", "c1"}, {"t1", "c2"}, {"t2", "c1"}, {"t1/c1", "x"}, {"t1", "c1/x"}}
	for _, k := range pairs {
		b.connect(k.tenant, k.connection, string(k.tenant)+"|"+k.connection)
	}
	var wg sync.WaitGroup
	for range 10 {
		for _, k := range pairs {
			wg.Go(func() {
				got, err := s.Token(t.Context(), k.tenant, k.connection)
				if want := "access of " + string(k.tenant) + "|" + k.connection; err != nil || got != want {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
			})
		}
	}
	wg.Wait()
	b.wantCalls(int64(len(pairs)))
}

// F085: nothing that the token endpoint says reaches an error text, in any way of printing it.
func TestF085NoBodyInErrors(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"500 JSON":  reply(500, "application/json", `{"refresh_token":"1//SECRET","note":"x"}`),
		"400 code":  reply(400, "application/json", `{"error":"SECRET","error_description":"1//SECRET"}`),
		"grant":     reply(400, "application/json", `{"error":"invalid_grant","error_description":"1//SECRET"}`),
		"200 HTML":  reply(200, "text/html", `SECRET<html>`),
		"200 plain": reply(200, "text/plain", `x=SECRET&%zz`),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/?token=SECRET", http.StatusFound)
		},
	} {
		b := newBench(t)
		b.connect("t", "c", "1//SECRET-refresh")
		b.respond(answer)
		_, err := b.source(nil).Token(t.Context(), "t", "c")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		said := fmt.Sprintf("%v %+v %#v", err, err, err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			said += fmt.Sprintf("%v %+v %#v", e, e, e)
		}
		if strings.Contains(said, "SECRET") || strings.Contains(said, "html") {
			t.Errorf("%s: leaks in %s", name, said)
		}
	}
}

func TestInvalidateForcesOneRefresh(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	one, two := b.source(nil), b.source(nil)
	b.token(one, "t", "c", "a1")
	b.token(two, "t", "c", "a1")
	b.wantCalls(1)
	b.respond(good("a2", ""))
	one.Invalidate("t", "c", "a1")
	one.Invalidate("t", "c", "a1")
	b.token(one, "t", "c", "a2")
	b.wantCalls(2)
	two.Invalidate("t", "c", "a1") // the row already holds another token
	b.token(two, "t", "c", "a2")
	b.wantCalls(2)
	one.Invalidate("t", "c", "a1") // late news about an old token
	b.token(one, "t", "c", "a2")
	b.wantCalls(2)
	// Google may give the same token again; that ends the matter instead of going round.
	b.clock.advance(time.Minute)
	one.Invalidate("t", "c", "a2")
	b.token(one, "t", "c", "a2")
	b.wantCalls(3)
}

// A flight that began before Invalidate must not hand the refused token out once more.
func TestInvalidateDuringAFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	b.token(b.source(nil), "t", "c", "a1")
	reading, goOn := make(chan struct{}), make(chan struct{})
	s := b.source(func(o *Options) {
		o.Store = &slowRead{memory: b.store, reading: reading, goOn: goOn}
	})
	got := make(chan string, 1)
	go func() {
		tok, err := s.Token(t.Context(), "t", "c")
		if err != nil {
			t.Error(err)
		}
		got <- tok
	}()
	<-reading
	s.Invalidate("t", "c", "a1")
	b.respond(good("a2", ""))
	close(goOn)
	if tok := <-got; tok != "a2" {
		t.Errorf("got %q", tok)
	}
	b.wantCalls(2)
}

// The same when the refusal comes after the flight has decided and before it has answered.
func TestInvalidateAtTheEndOfAFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	b.token(b.source(nil), "t", "c", "a1")
	var s *Source
	var asked atomic.Int64
	s = b.source(func(o *Options) {
		o.Now = func() time.Time {
			if asked.Add(1) == 3 { // looking into memory, looking at the row, remembering
				b.respond(good("a2", ""))
				s.Invalidate("t", "c", "a1")
			}
			return b.clock.now()
		}
	})
	b.token(s, "t", "c", "a2")
	b.token(s, "t", "c", "a2")
	b.wantCalls(2)
}

type slowRead struct {
	*memory
	once          sync.Once
	reading, goOn chan struct{}
}

func (s *slowRead) ReadConnection(ctx context.Context, tenant authn.TenantID, id string) (Connection, error) {
	c, err := s.memory.ReadConnection(ctx, tenant, id)
	s.once.Do(func() { close(s.reading); <-s.goOn })
	return c, err
}

// A connection that was removed, or connected anew to another Google account, is noticed within CacheFor.
func TestMemoryIsShort(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	s := b.source(nil)
	b.token(s, "t", "c", "a1")
	b.respond(good("other account", ""))
	b.connect("t", "c", "r-other")
	b.token(s, "t", "c", "a1")
	b.clock.advance(61 * time.Second)
	b.token(s, "t", "c", "other account")
	b.store.mu.Lock()
	delete(b.store.rows, key{"t", "c"})
	b.store.mu.Unlock()
	b.clock.advance(61 * time.Second)
	if _, err := s.Token(t.Context(), "t", "c"); errs.CodeOf(err) != errs.GoogleReconnectRequired || !errors.Is(err, ErrNoConnection) {
		t.Errorf("got %v", err)
	}
}

// A token that could not be stored is not used, and the failure is not taken for a refusal.
func TestNotStoredIsNotUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	b.store.broken = errors.New("commit: connection reset")
	s := b.source(nil)
	_, err := s.Token(t.Context(), "t", "c")
	if e, ok := errors.AsType[*Error](err); !ok || e.Class != Transient || e.Reason != "store" {
		t.Fatalf("got %v", err)
	}
	b.store.mu.Lock()
	b.store.broken = nil
	b.store.mu.Unlock()
	b.token(s, "t", "c", "a1")
	b.wantCalls(2)
}

func TestForeignKeyringIsTheOperatorsProblem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	other := newBench(t)
	_, err := b.source(func(o *Options) { o.Keys = other.keys }).Token(t.Context(), "t", "c")
	if e, ok := errors.AsType[*Error](err); !ok || e.Class != Operator || e.Reason != "keyring" {
		t.Fatalf("got %v", err)
	}
	b.wantCalls(0)
	if _, _, c := b.stored("t", "c"); c.State != Alive {
		t.Error("the connection was given up")
	}
}

// A caller that leaves does not stop the refresh that others wait for.
func TestACallerMayLeave(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	arrived, goOn := make(chan struct{}), make(chan struct{})
	b.respond(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-goOn
		good("a1", "")(w, r)
	})
	s := b.source(nil)
	ctx, cancel := context.WithCancel(t.Context())
	left, got := make(chan error, 1), make(chan string, 1)
	go func() { _, err := s.Token(ctx, "t", "c"); left <- err }()
	<-arrived
	go func() {
		tok, err := s.Token(t.Context(), "t", "c")
		if err != nil {
			t.Error(err)
		}
		got <- tok
	}()
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) || errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("got %v", err)
	}
	close(goOn)
	if tok := <-got; tok != "a1" {
		t.Errorf("got %q", tok)
	}
	b.wantCalls(1)
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, change := range map[string]func(*Options){
		"no store": func(o *Options) { o.Store = nil }, "no keys": func(o *Options) { o.Keys = nil }, "no clock": func(o *Options) { o.Now = nil },
		"no client": func(o *Options) { o.ClientID = "" }, "bad base": func(o *Options) { o.BaseURL = "nonsense" },
	} {
		o := Options{Store: b.store, Keys: b.keys, ClientID: "c", Now: b.clock.now}
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
