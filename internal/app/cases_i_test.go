package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// tempting are the answers that would make a client think of a new key.
func tempting(code errs.Code) bool {
	return code != "" && code != errs.IdempotencyInProgress && code != errs.Unavailable
}

// F126: many calls with one key at once, the client's or the derived one, over two replicas: one batch, one post per store; the
// others get the same batch, or are told to ask again with the same key.
func TestF126ParallelCalls(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 4, NoWorkers: true})
	second := d.replica()
	p := d.principal(d.Token)
	var batches []string
	for name, args := range map[string]stack.Args{
		"client":  stack.Post(d.IDs(4), "F126 client").With("idempotency_key", "f126-key-1"),
		"derived": stack.Post(d.IDs(4), "F126 derived"),
	} {
		before := d.batches()
		raw := marshal(t, args)
		answers := parallel(200, func(i int) stack.Answer {
			set := d.App.Tools
			if i%2 == 1 {
				set = second
			}
			return d.on(context.Background(), set, p, "post.create", raw)
		})
		ids, executed := map[string]int{}, 0
		for _, a := range answers {
			if tempting(a.ErrorCode) {
				t.Errorf("%s: %s", name, a.Text)
			}
			if a.IsError {
				if a.Executed != errs.ExecutedNo || !a.Retry.SameKey || a.Retry.AfterSeconds < 1 && a.ErrorCode == errs.IdempotencyInProgress {
					t.Errorf("%s: %+v", name, a.Public)
				}
				continue
			}
			w := stack.Into[tools.Write](t, a)
			ids[string(w.Accepted.BatchID)]++
			if w.Accepted.Idempotency.Outcome == "executed" {
				executed++
			}
		}
		// On a machine that is too busy for the deadline of a call all may be told "later", and then nothing was accepted.
		accepted := d.batches() - before
		if len(ids) > 1 || executed > 1 || accepted > 1 || len(ids) > accepted {
			t.Fatalf("%s: batches %v, %d executed, %d rows", name, ids, executed, accepted)
		}
		last := stack.Into[tools.Write](t, d.call("post.create", args)).Accepted
		if want := map[bool]string{true: "replayed", false: "executed"}[accepted == 1]; last.Idempotency.Outcome != want || d.batches() != before+1 {
			t.Errorf("%s: %+v after %d batches", name, last, accepted)
		}
		batches = append(batches, string(last.BatchID))
	}
	defer d.Work()()
	for _, id := range batches {
		if v := d.Finish(id); v.SuccessCount != 4 {
			t.Errorf("%+v", v)
		}
	}
	for name, n := range d.Created() {
		if n != 2 {
			t.Errorf("%s has %d posts, want one per text", name, n)
		}
	}
}

// F127: the reply of a device's script is lost once: the call is executed exactly once, is charged once, and its key is answered.
func TestF127LostReply(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, redistest.New(t).URL())
	d := openDesk(t, stack.Options{NoWorkers: true, RedisURL: proxy.url, Policy: roomyBut(t, map[string]any{"user_per_minute": 50})})
	d.Accept("post.create", stack.Post(d.IDs(1), "loads the scripts"))
	left := func() int {
		for _, l := range stack.Into[tools.LimitsView](t, d.call("limits.get", stack.Args{})).Limits {
			if l.Scope == "user_per_minute" {
				return l.Remaining
			}
		}
		t.Fatal("no such limit")
		return 0
	}
	for i, what := range []string{"claim:{|claim\r\n", "limit:{|take\r\n", "claim:{|settle\r\n", "limit:{|refund\r\n"} {
		before, batches := left(), d.batches()
		args := stack.Post(d.IDs(1), "F127 "+fmt.Sprint(i)).With("idempotency_key", fmt.Sprintf("f127-key-%d", i))
		proxy.drop(strings.Split(what, "|")...)
		a := d.call("post.create", args)
		if n := proxy.dropped(); n != 1 {
			t.Fatalf("%s: %d replies were lost", what, n)
		}
		if a.IsError {
			t.Errorf("%s: %s", what, a.Text)
			continue
		}
		if again := d.Accept("post.create", args); again.BatchID != stack.Into[tools.Write](t, a).Accepted.BatchID || again.Idempotency.Outcome != "replayed" {
			t.Errorf("%s: %+v", what, again)
		}
		if d.batches() != batches+1 || left() != before-1 {
			t.Errorf("%s: %d batches, %d units spent", what, d.batches()-batches, before-left())
		}
	}
	// The same for a refusal: what it held is given back once, whatever was lost.
	for _, what := range []string{"claim:{|abort\r\n", "claim:{|claim\r\n"} {
		args := stack.Post(d.IDs(5), "F127 refused "+what).With("idempotency_key", "f127-refused")
		before := left()
		proxy.drop(strings.Split(what, "|")...)
		a := d.refused(errs.ConfirmationRequired, args)
		if n := proxy.dropped(); n != 1 {
			t.Fatalf("%s: %d replies were lost", what, n)
		}
		if left() != before {
			t.Errorf("%s: a refusal spent", what)
		}
		if what == "claim:{|claim\r\n" {
			d.Accept("post.create", args.With("confirm_token", a.Details.ConfirmToken))
		}
	}
}

// proxy stands between the app and Redis and can lose one reply.
type proxy struct {
	url   string
	mu    sync.Mutex
	match [][]byte
	lost  int
}

func newProxy(t *testing.T, redisURL string) *proxy {
	t.Helper()
	o, err := redis.ParseURL(redisURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: fmt.Sprintf("redis://%s/%d", l.Addr(), o.DB)}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(o.Network, o.Addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			wg.Go(func() { p.serve(client, server) })
		}
	})
	return p
}

// drop arms the proxy: the reply to the next request that holds all of the words is read from Redis and lost with its connection.
func (p *proxy) drop(words ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.lost = nil, 0
	for _, w := range words {
		p.match = append(p.match, []byte(w))
	}
}

// dropped disarms the proxy and gives how many replies were lost.
func (p *proxy) dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match = nil
	return p.lost
}

func (p *proxy) loses(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.match == nil || slices.ContainsFunc(p.match, func(w []byte) bool { return !bytes.Contains(request, w) }) {
		return false
	}
	p.match, p.lost = nil, p.lost+1
	return true
}

func (p *proxy) serve(client, server net.Conn) {
	defer func() { _, _ = client.Close(), server.Close() }()
	lose := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			if err != nil {
				_ = client.Close()
				return
			}
			select {
			case <-lose:
				_ = client.Close()
				return
			default:
			}
			if _, err := client.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil {
			break
		}
		if p.loses(b[:n]) {
			close(lose)
			_, _ = server.Write(b[:n])
			<-done // Redis has carried it out
			return
		}
		if _, err := server.Write(b[:n]); err != nil {
			break
		}
	}
	_ = server.Close()
	<-done
	_, _ = io.Copy(io.Discard, client)
}

// Redis loses everything between the first call and its repeat: still one, by the row. The confirm token that was spent stays spent.
func TestRedisFlushedBetweenCallAndRepeat(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 5})
	flush := func() {
		if err := d.App.Redis.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	keyed := stack.Post(d.IDs(5), "flushed").With("idempotency_key", "flush-key-1")
	token := d.preview(keyed).token
	first := d.Accept("post.create", keyed.With("confirm_token", token))
	flush()
	for _, args := range []stack.Args{keyed, keyed.With("confirm_token", token)} {
		if again := d.Accept("post.create", args); again.BatchID != first.BatchID || again.Idempotency.Outcome != "replayed" {
			t.Errorf("%+v", again)
		}
	}
	d.Finish(string(first.BatchID))
	flush()
	if used := d.refused(errs.ConfirmTokenUsed, keyed.With("confirm_token", token).With("idempotency_key", "flush-key-2")); used.Details.BatchID != string(first.BatchID) {
		t.Errorf("%+v", used.Details)
	}
	derived := stack.Post(d.IDs(1), "flushed, derived")
	a := d.Accept("post.create", derived)
	flush()
	if b := d.Accept("post.create", derived); b.BatchID != a.BatchID {
		t.Errorf("%+v", b)
	}
	// A token that was not spent is gone with Redis; a new preview is all it takes.
	fresh := stack.Post(d.IDs(5), "unspent").With("idempotency_key", "flush-key-3")
	lost := d.preview(fresh).token
	flush()
	d.refused(errs.ConfirmTokenInvalid, fresh.With("confirm_token", lost))
	d.Finish(string(d.Confirmed("post.create", fresh).BatchID))
	d.Finish(string(a.BatchID))
	for name, n := range d.Created() {
		want := 2
		if name == string(d.Locations[0].Name) {
			want = 3
		}
		if n != want {
			t.Errorf("%s has %d posts, want %d", name, n, want)
		}
	}
}

// F129: a process that died between claim and commit holds the key for seconds, not for a day, and a lease that ran out in a
// slow call lets the other go on: the row decides.
func TestF129DeadClaim(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	args := stack.Post(d.IDs(1), "F129").With("idempotency_key", "f129-key-1")
	tx, err := d.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `LOCK TABLE mappy.idempotency IN SHARE MODE`); err != nil { // holds the first call in its enqueue
		t.Fatal(err)
	}
	p := d.principal(d.Token)
	slow := make(chan stack.Answer, 1)
	go func() { slow <- d.as(context.Background(), p, "post.create", marshal(t, args)) }()
	claim := ""
	until(t, "the first call holds its claim", func() bool {
		keys, err := d.App.Redis.Keys(t.Context(), "claim:*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 0 {
			claim = keys[0]
		}
		return claim != ""
	})
	busy := d.refused(errs.IdempotencyInProgress, args)
	if busy.Details.RetryAfterSeconds < 1 || busy.Retry.AfterSeconds > 5 || !busy.Retry.SameKey {
		t.Errorf("%+v", busy.Public)
	}
	if life := d.App.Redis.PTTL(t.Context(), claim).Val(); life <= 0 || life > 5*time.Second {
		t.Errorf("a dead call would hold the key for %s", life)
	}
	// The lease runs out while the first call is still at it: the second goes on to the row and waits there.
	if err := d.App.Redis.Del(t.Context(), claim).Err(); err != nil {
		t.Fatal(err)
	}
	second := make(chan stack.Answer, 1)
	go func() { second <- d.as(context.Background(), p, "post.create", marshal(t, args)) }()
	until(t, "both calls wait for the row", func() bool {
		return d.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 2
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := stack.Into[tools.Write](t, <-slow).Accepted, stack.Into[tools.Write](t, <-second).Accepted
	if a.BatchID != b.BatchID || d.batches() != 1 {
		t.Errorf("%s and %s, %d batches", a.BatchID, b.BatchID, d.batches())
	}
	if outcomes := []string{a.Idempotency.Outcome, b.Idempotency.Outcome}; !slices.Contains(outcomes, "executed") || !slices.Contains(outcomes, "replayed") {
		t.Errorf("%q", outcomes)
	}
}

// F132, F133: a refusal never occupies a key: corrected, confirmed, granted or simply later, the same key executes; and only
// what was accepted is replayed.
func TestF132F133RefusalsFreeTheKey(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{NoWorkers: true, Policy: roomyBut(t, map[string]any{"user_per_day": 1})})
	key := func(a stack.Args) stack.Args { return a.With("idempotency_key", "f132-key-1") }
	good := stack.Post(d.IDs(1), "F132")
	d.refused(errs.LocationNotFound, key(stack.Post([]int64{999999}, "F132")))
	d.refused(errs.InvalidArgument, key(stack.Post(d.IDs(1), strings.Repeat("x", 1501))))
	d.refused(errs.InvalidArgument, key(stack.Post(d.IDs(1), "{{location.x}}")))
	d.refused(errs.ConfirmationRequired, key(stack.Post(d.IDs(5), "F132")))
	d.refused(errs.ConfirmTokenInvalid, key(good).With("confirm_token", strings.Repeat("E", 43)))
	d.Accept("post.create", stack.Post(d.IDs(1), "uses the day up"))
	d.refused(errs.RateLimited, key(good))
	if n := len(d.App.Redis.Keys(t.Context(), "claim:*").Val()); n != 1 { // the accepted call's own
		t.Errorf("%d claims are left", n)
	}
	for _, k := range d.App.Redis.Keys(t.Context(), "limit:*:day:*").Val() {
		if err := d.App.Redis.Del(t.Context(), k).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.App.DB.SetKill(t.Context(), stack.Tenant, authn.KillSwitch{Kind: "tenant"}, true, "op"); err != nil {
		t.Fatal(err)
	}
	d.refused(errs.WritesDisabled, key(good))
	if err := d.App.DB.SetKill(t.Context(), stack.Tenant, authn.KillSwitch{Kind: "tenant"}, false, "op"); err != nil {
		t.Fatal(err)
	}
	d.exec(`UPDATE mappy.connection SET state = 'dead', dead_reason = 'invalid_grant'`)
	d.refused(errs.GoogleReconnectRequired, key(good))
	d.exec(`UPDATE mappy.connection SET state = 'alive', dead_reason = ''`)
	a := d.Accept("post.create", key(good))
	if a.Idempotency.Outcome != "executed" {
		t.Errorf("%+v", a)
	}
	if b := d.Accept("post.create", key(good)); b.BatchID != a.BatchID || b.Idempotency.Outcome != "replayed" {
		t.Errorf("%+v", b)
	}
	// A replay is decided before anything that has changed since: grants gone, stores gone, Google gone.
	d.exec(`UPDATE mappy.connection SET state = 'dead', dead_reason = 'invalid_grant'`)
	if b := d.Accept("post.create", key(good)); b.BatchID != a.BatchID {
		t.Errorf("%+v", b)
	}
}

// F135: keys are the caller's own: another tenant, another user and another client of one tenant use the same key for their own
// intent, and see nothing of each other.
func TestF135KeyScope(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	other, ids := d.tenant("other", stack.Roomy)
	colleague := d.AddUser(stack.Tenant, "colleague", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	seen := map[batch.ID]bool{}
	for i, c := range []struct {
		token string
		args  stack.Args
	}{
		{d.Token, stack.Post(d.IDs(1), "A's own words")},
		{other, stack.Post(ids[:1], "B's own words")},
		{colleague, stack.Post(d.IDs(1), "a colleague's own words")},
		{d.Token, stack.Post(d.IDs(1), "A's own words")},
		{other, stack.Post(ids[:1], "B's own words")},
		{colleague, stack.Post(d.IDs(1), "a colleague's own words")},
	} {
		w := stack.Into[tools.Write](t, d.callAs(c.token, "post.create", c.args.With("idempotency_key", "post-0001"))).Accepted
		if want := map[bool]string{true: "executed", false: "replayed"}[i < 3]; w.Idempotency.Outcome != want || seen[w.BatchID] != (i >= 3) {
			t.Errorf("call %d: %+v", i, w)
		}
		seen[w.BatchID] = true
	}
	conflict := d.callAs(other, "post.create", stack.Post(ids[:1], "A's own words").With("idempotency_key", "post-0001"))
	d.mustRefuse(conflict, errs.IdempotencyConflict)
	if strings.Contains(conflict.Text, "A's") {
		t.Errorf("%s", conflict.Text)
	}
	// Without keys the same content of two users is two intents; the second is warned.
	same := stack.Post(d.IDs(2), "one text, two people")
	a := d.Accept("post.create", same)
	b := stack.Into[tools.Write](t, d.callAs(colleague, "post.create", same)).Accepted
	if a.BatchID == b.BatchID || !hasWarning(b.Warnings, "DUPLICATE_CONTENT") {
		t.Errorf("%+v", b)
	}
	for _, e := range d.events("other", audit.BatchDispatched) {
		if strings.Contains(string(e.Body()), "A's own") {
			t.Errorf("%s", e.Body())
		}
	}
}

// F137: spelling does not make another intent: order of members, numbers, escapes, white space, spelled-out defaults, composed
// characters, targets named twice, and what only steers this call.
func TestF137Spelling(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	ids := d.IDs(2)
	raw := func(format string) stack.Answer {
		return d.raw(d.Token, "post.create", []byte(strings.NewReplacer("A1", fmt.Sprint(ids[0]), "A2", fmt.Sprint(ids[1])).Replace(format)))
	}
	first := stack.Into[tools.Write](t, raw(`{"location_ids":[A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`)).Accepted
	for _, spelling := range []string{
		`{"idempotency_key":"f137-key-1","post":{"call_to_action":{"action_type":"CALL"},"summary":"あが"},"location_ids":[A1,A2]}`,
		" {\n\t\"location_ids\" : [ A1 ,\r\n A2 ] , \"post\" : { \"summary\" : \"あが\" , \"call_to_action\" : {\"action_type\":\"CALL\"} } , \"idempotency_key\" : \"f137-key-1\" } ",
		`{"location_ids":[A1.0,A2e0],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		`{"location_ids":["A1","A2"],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		`{"location_ids":"[A1,A2]","post":"{\"summary\":\"あが\",\"call_to_action\":{\"action_type\":\"CALL\"}}","idempotency_key":"f137-key-1"}`,
		`{"location_ids":[A1,A2],"post":{"summary":"\u3042\u304c","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		`{"location_ids":[A1,A2],"post":{"summary":"あか` + "\u3099" + `","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		`{"location_ids":[A1,A2],"post":{"summary":"あが\n\n","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		`{"location_ids":[A1,A2,A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		`{"location_ids":[A1,A2],"post":{"topic_type":"STANDARD","summary":"あが","call_to_action":{"action_type":"CALL","url":""},"event":null,"media":[]},"overrides":[],"on_failure":"continue","idempotency_key":"f137-key-1"}`,
		`{"location_ids":[A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1","dry_run":false,"wait_seconds":0}`,
		`{"location_ids":[A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1","dry_run":"false","confirm_token":null}`,
		`{"location_ids":[A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1","confirm_token":"a-token-that-is-none"}`,
		`{"location_\u0069ds":[A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-k\u0065y-1"}`,
	} {
		a := raw(spelling)
		if a.IsError || stack.Into[tools.Write](t, a).Accepted.BatchID != first.BatchID {
			t.Errorf("%s: %s", spelling, a.Text)
		}
	}
	for differs, spelling := range map[string]string{
		"location_ids":        `{"location_ids":[A2,A1],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		"on_failure":          `{"location_ids":[A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1","on_failure":"stop"}`,
		"post.call_to_action": `{"location_ids":[A1,A2],"post":{"summary":"あが"},"idempotency_key":"f137-key-1"}`,
		"post.summary":        `{"location_ids":[A1,A2],"post":{"summary":"アガ","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
		"overrides":           `{"location_ids":[A1,A2],"post":{"summary":"あが","call_to_action":{"action_type":"CALL"}},"overrides":[{"location_id":A1,"summary":"x"}],"idempotency_key":"f137-key-1"}`,
		"post.language_code":  `{"location_ids":[A1,A2],"post":{"summary":"あが","language_code":"ja","call_to_action":{"action_type":"CALL"}},"idempotency_key":"f137-key-1"}`,
	} {
		a := raw(spelling)
		d.mustRefuse(a, errs.IdempotencyConflict)
		if !slices.Equal(a.Details.Differs, []string{differs}) {
			t.Errorf("%s: said to differ in %q", differs, a.Details.Differs)
		}
	}
	// An event with its times spelled out is the event without them; a key is case-sensitive.
	event := func(times string) string {
		return `{"location_ids":[A1],"post":{"topic_type":"EVENT","summary":"x","event":{"title":"t","start_date":"2027-12-24",` + times + `"end_date":"2027-12-24"}},"idempotency_key":"f137-key-2"}`
	}
	a, b := stack.Into[tools.Write](t, raw(event(""))).Accepted, stack.Into[tools.Write](t, raw(event(`"start_time":"00:00","end_time":"23:59",`))).Accepted
	if a.BatchID != b.BatchID {
		t.Error("default times make another event")
	}
	if c := stack.Into[tools.Write](t, raw(strings.ReplaceAll(event(""), "f137-key-2", "F137-KEY-2"))).Accepted; c.BatchID == a.BatchID {
		t.Error("keys are compared without case")
	}
	if d.batches() != 3 {
		t.Errorf("%d batches", d.batches())
	}
}

// F139, F143: the same key for other words is refused with what the first call did, so that nobody is tempted to a second post
// by a fresh key; the advice says what to do instead.
func TestF139Conflict(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(d.Locations[2].Name), Answer: gbpsim.AnswerError, Status: 403})
	args := stack.Post(d.IDs(3), "F139 first words").With("idempotency_key", "f139-key-1")
	first := d.Accept("post.create", args)
	d.Finish(string(first.BatchID))
	for name, c := range map[string]struct {
		args    stack.Args
		differs []string
	}{
		"re-worded":         {stack.Post(d.IDs(3), "F139 other words"), []string{"post.summary"}},
		"F143 failed only":  {stack.Post(d.IDs(3)[2:], "F139 first words"), []string{"location_ids"}},
		"everything":        {stack.Post(d.IDs(1), "x").With("on_failure", "stop"), []string{"location_ids", "post.summary"}},
		"invalid otherwise": {stack.Post([]int64{999999}, "x"), []string{"location_ids", "post.summary"}},
	} {
		a := d.refused(errs.IdempotencyConflict, c.args.With("idempotency_key", "f139-key-1"))
		x := a.Details
		if x.Key != "f139-key-1" || x.BatchID != string(first.BatchID) || x.BatchStatus != string(batch.Partial) || x.AcceptedAt == "" || !slices.Equal(x.Differs, c.differs) {
			t.Errorf("%s: %+v", name, x)
		}
		if x.Counts == nil || x.Counts.Success != 2 || x.Counts.Failure != 1 || len(x.FirstOutcomes) != 3 {
			t.Fatalf("%s: %+v, %+v", name, x.Counts, x.FirstOutcomes)
		}
		for i, o := range x.FirstOutcomes {
			failed := i == 2
			if o.LocationID != d.IDs(3)[i] || (o.PostID == "") != failed || o.At == "" || (o.State == "failed") != failed {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if a.Retry.Possible || a.Retry.SameKey || !strings.Contains(a.Retry.How, "update") || !strings.Contains(a.Text, string(first.BatchID)) {
			t.Errorf("%s: %+v", name, a.Retry)
		}
		if strings.Contains(a.Text, "first words") {
			t.Errorf("%s: the first text is repeated: %s", name, a.Text)
		}
	}
	if n := d.CreatedTotal(); n != 2 {
		t.Errorf("%d posts", n)
	}
	// A dry run with the key says that the real call would be refused, and takes nothing.
	if p := d.preview(stack.Post(d.IDs(1), "F139 other words").With("idempotency_key", "f139-key-1")); p.ok || p.Preview.WouldRefuse.ErrorCode != errs.IdempotencyConflict {
		t.Errorf("%+v", p.Preview.WouldRefuse)
	}
}

// F140: a dry run and the live call share a key: the live call is executed, its repeat is replayed, and a later dry run is a
// preview again.
func TestF140DryRunAndKey(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	for _, args := range []stack.Args{stack.Post(d.IDs(1), "F140 keyed").With("idempotency_key", "f140-key-1"), stack.Post(d.IDs(1), "F140 derived")} {
		for range 2 {
			if p := d.preview(args); !p.ok {
				t.Errorf("%+v", p.Preview.WouldRefuse)
			}
		}
		a := d.Accept("post.create", args.With("dry_run", false))
		if a.Idempotency.Outcome != "executed" {
			t.Errorf("%+v", a.Idempotency)
		}
		if b := d.Accept("post.create", args); b.BatchID != a.BatchID || b.Idempotency.Outcome != "replayed" {
			t.Errorf("%+v", b)
		}
		d.Finish(string(a.BatchID))
		if p := d.preview(args); !hasWarning(p.Preview.ValidationWarnings, "DUPLICATE_CONTENT") {
			t.Errorf("%+v", p.Preview)
		}
		if b := d.Accept("post.create", args); b.BatchID != a.BatchID {
			t.Errorf("%+v", b)
		}
	}
	if n := d.CreatedTotal(); n != 2 {
		t.Errorf("%d posts, want 2", n)
	}
}

// until asks again and again whether something that no event tells of has come true.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s", what)
		}
	}
}

// replica is a second server on the same stores, as behind a load balancer.
func (d *desk) replica() *tools.Set {
	d.t.Helper()
	a, err := app.New(context.Background(), d.Config, slog.New(slog.DiscardHandler))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(a.Close)
	return a.Tools
}
