package gtoken_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// childEnv marks a run of this test binary as one of the processes that want a token; its value is an order.
const childEnv = "MAPPY_TEST_TOKEN_CHILD"

// order is what a child process is told.
type order struct {
	DatabaseURL, GoogleBaseURL, KeyringB64 string
	// Skew is how far its clock is ahead.
	Skew   time.Duration
	Wanted int
}

// answers are what its goroutines got: tokens, or codes of the catalogue.
type answers struct{ Tokens, Codes map[string]int }

func TestMain(m *testing.M) {
	if o := os.Getenv(childEnv); o != "" {
		if err := child(o); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child says "ready", waits for a line, and has all its goroutines want the token at once; then again for each further line.
func child(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	now := func() time.Time { return time.Now().Add(o.Skew) }
	db, err := postgres.Open(context.Background(), postgres.Options{URL: o.DatabaseURL, Environment: "simulator", Policy: policy.Default(), Now: now, MaxConns: 4})
	if err != nil {
		return err
	}
	defer db.Close()
	keys, err := keyring.LoadLive("", o.KeyringB64)
	if err != nil {
		return err
	}
	source, err := gtoken.New(gtoken.Options{Store: db, Keys: keys, ClientID: "client", ClientSecret: "secret", BaseURL: o.GoogleBaseURL, Now: now, RefreshTimeout: 5 * time.Second, FailureFor: 50 * time.Millisecond, ForceEvery: time.Nanosecond})
	if err != nil {
		return err
	}
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	fmt.Println("ready")
	for lines.Scan() {
		if held := lines.Text(); held != "" { // what Google refused of late
			source.Invalidate(stack.Tenant, "google", held)
		}
		a := answers{map[string]int{}, map[string]int{}}
		var mu sync.Mutex
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range o.Wanted {
			wg.Go(func() {
				<-begin
				token, err := source.Token(context.Background(), stack.Tenant, "google")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					a.Codes[string(errs.CodeOf(err))]++
				} else {
					a.Tokens[token]++
				}
			})
		}
		close(begin)
		wg.Wait()
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// crowd is 50 goroutines in three processes.
type crowd struct {
	t    *testing.T
	s    *stack.Stack
	in   []io.Writer
	outs []*bufio.Reader
}

func newCrowd(t *testing.T, knobs gbpsim.Knobs, skews ...time.Duration) *crowd {
	t.Helper()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true, Sim: func(o *gbpsim.Options) { o.Knobs = knobs }})
	return crowdAt(t, s, s.Config.DatabaseURL, skews...)
}

func crowdAt(t *testing.T, s *stack.Stack, databaseURL string, skews ...time.Duration) *crowd {
	t.Helper()
	c := &crowd{t: t, s: s}
	for n, wanted := range []int{17, 17, 16} {
		o := order{DatabaseURL: databaseURL, GoogleBaseURL: c.s.Config.GoogleBaseURL, KeyringB64: c.s.Config.KeyringB64, Wanted: wanted}
		if len(skews) > 0 {
			o.Skew = skews[n]
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"="+string(text)), os.Stderr
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		r := bufio.NewReader(out)
		if line, err := r.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("a process said %q, %v", line, err)
		}
		c.in, c.outs = append(c.in, in), append(c.outs, r)
	}
	return c
}

// want has all of them want a token at once.
func (c *crowd) want(refused string) answers {
	c.t.Helper()
	for _, in := range c.in {
		if _, err := io.WriteString(in, refused+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
	all := answers{map[string]int{}, map[string]int{}}
	for _, r := range c.outs {
		line, err := r.ReadBytes('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		var a answers
		if err := json.Unmarshal(line, &a); err != nil {
			c.t.Fatal(err)
		}
		for k, n := range a.Tokens {
			all.Tokens[k] += n
		}
		for k, n := range a.Codes {
			all.Codes[k] += n
		}
	}
	return all
}

func (c *crowd) one(a answers, what string) string {
	c.t.Helper()
	for token, n := range a.Tokens {
		if n == 50 && len(a.Codes) == 0 {
			return token
		}
	}
	c.t.Fatalf("%s: %d tokens, refused %v", what, len(a.Tokens), a.Codes)
	return ""
}

func (c *crowd) refreshes() int {
	return len(c.s.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteToken}))
}

func (c *crowd) expire() {
	c.t.Helper()
	if _, err := c.s.DB.Owner().Exec(c.t.Context(), `UPDATE mappy.connection SET access_expires_at = now() - interval '1 hour'`); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crowd) state() (state, reason string, dead int) {
	c.t.Helper()
	if err := c.s.DB.Owner().QueryRow(c.t.Context(), `SELECT state, dead_reason, (SELECT count(*) FROM mappy.audit_event WHERE event = 'connection_dead') FROM mappy.connection`).Scan(&state, &reason, &dead); err != nil {
		c.t.Fatal(err)
	}
	return state, reason, dead
}

// F077, F080: 50 in three processes find the token run out: one refresh, whose token all get, also when the endpoint spends
// refresh tokens, and again when Google refuses that token.
func TestF077OneRefreshInThreeProcesses(t *testing.T) {
	t.Parallel()
	for name, rotate := range map[string]bool{"F077 rotating": true, "F080 without a new refresh token": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, gbpsim.Knobs{RotateRefreshTokens: rotate})
			c.expire()
			before := c.refreshes()
			first := c.one(c.want(""), "after it ran out")
			if n := c.refreshes() - before; n != 1 {
				t.Errorf("%d refreshes", n)
			}
			if again := c.one(c.want(""), "while it lives"); again != first || c.refreshes()-before != 1 {
				t.Errorf("%d refreshes for a living token", c.refreshes()-before)
			}
			for n := 2; n <= 4; n++ { // three more rounds: what was stored works
				next := c.one(c.want(first), "after a refusal")
				if next == first || c.refreshes()-before != n {
					t.Errorf("round %d: %d refreshes", n, c.refreshes()-before)
				}
				first = next
			}
		})
	}
}

// F079: a revoked grant is asked about once, and everybody is told to reconnect.
func TestF079RevokedInThreeProcesses(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, gbpsim.Knobs{})
	c.expire()
	if err := c.s.Sim.Revoke(gbpsim.DemoEmail); err != nil {
		t.Fatal(err)
	}
	before := c.refreshes()
	for range 2 {
		if a := c.want(""); a.Codes[string(errs.GoogleReconnectRequired)] != 50 {
			t.Errorf("answered %v", a.Codes)
		}
	}
	if n := c.refreshes() - before; n != 1 {
		t.Errorf("%d refreshes of a revoked grant", n)
	}
	if state, reason, dead := c.state(); state != "dead" || reason != "invalid_grant" || dead != 1 {
		t.Errorf("%s (%s), recorded %d times", state, reason, dead)
	}
}

// Weather at the token endpoint is no revocation: everybody is told to wait, each process asks once in a while, and the
// connection works as soon as the endpoint does.
func TestF079WeatherInThreeProcesses(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]gbpsim.Fault{
		"5xx":                         {Answer: gbpsim.AnswerError, Status: 503},
		"HTML 200":                    {Answer: gbpsim.AnswerHTML, Status: 200},
		"unreachable":                 {Answer: gbpsim.AnswerReset},
		"5xx that says invalid_grant": {Answer: gbpsim.AnswerError, Status: 500, Body: `{"error":"invalid_grant"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, gbpsim.Knobs{RotateRefreshTokens: true})
			c.expire()
			f.Route = gbpsim.RouteToken
			id, err := c.s.Sim.AddFault(f)
			if err != nil {
				t.Fatal(err)
			}
			before := c.refreshes()
			if a := c.want(""); a.Codes[string(errs.Unavailable)] != 50 {
				t.Errorf("answered %v", a)
			}
			if n := c.refreshes() - before; n < 1 || n > 9 { // a lost connection is dialled again by net/http
				t.Errorf("%d refreshes for 50 callers in 3 processes", n)
			}
			if state, _, _ := c.state(); state != "alive" {
				t.Errorf("the connection is %s", state)
			}
			if err := c.s.Sim.RemoveFault(id); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(20 * time.Second)
			a := c.want("")
			for ; len(a.Codes) > 0; a = c.want("") { // the failure is remembered for a moment
				if time.Now().After(deadline) {
					t.Fatalf("it never worked again: %v", a.Codes)
				}
			}
			c.one(a, "after the weather")
		})
	}
}

// F082: hosts whose clocks disagree by less than the margin use one token, and none uses one that has run out.
func TestF082SkewedClocks(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, gbpsim.Knobs{}, -25*time.Second, 0, 25*time.Second)
	c.expire()
	before := c.refreshes()
	token := c.one(c.want(""), "skewed")
	if n := c.refreshes() - before; n != 1 {
		t.Errorf("%d refreshes", n)
	}
	// It has 70 s left by the middle clock, so 45 s by the fast one: that one replaces it, and the others follow within a minute at most.
	if _, err := c.s.DB.Owner().Exec(t.Context(), `UPDATE mappy.connection SET access_expires_at = now() + interval '70 seconds'`); err != nil {
		t.Fatal(err)
	}
	for _, skew := range []time.Duration{-25 * time.Second, 0} {
		if !strings.HasPrefix(token, "ya29.") || fresh(t, c, skew) != token {
			t.Errorf("a clock %s ahead replaces a token with 70 s left", skew)
		}
	}
	if fresh(t, c, 25*time.Second) == token || c.refreshes()-before != 2 {
		t.Error("a clock that is ahead uses a token that may have run out by the margin")
	}
}

// fresh is what a process with this clock, that remembers nothing, gets.
func fresh(t *testing.T, c *crowd, skew time.Duration) string {
	t.Helper()
	s, err := gtoken.New(gtoken.Options{Store: c.s.App.DB, Keys: c.s.App.Keys, ClientID: "client", ClientSecret: "secret", BaseURL: c.s.Config.GoogleBaseURL, Now: func() time.Time { return time.Now().Add(skew) }})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Token(t.Context(), stack.Tenant, "google")
	if err != nil {
		t.Fatal(err)
	}
	return token
}
