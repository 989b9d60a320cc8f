package redisdb_test

import (
	"context"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/confirm"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

func open(t *testing.T, url string) *redis.Client {
	t.Helper()
	c, err := redisdb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// bounded runs a command that has to end by itself, far within the test's patience.
func bounded(t *testing.T, command func(ctx context.Context) error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := redisdb.Bound(context.Background())
		defer cancel()
		ended <- command(ctx)
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(5 * time.Second):
		t.Fatal("a command did not end")
		return nil
	}
}

// F146: a server that accepts and never answers costs one call one timeout; what comes right after it is refused at once,
// and it is used again when it answers.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	c := open(t, own.URL())
	ping := func(ctx context.Context) error { return c.Ping(ctx).Err() }
	if err := bounded(t, ping); err != nil {
		t.Fatal(err)
	}
	own.Pause()
	if err := bounded(t, ping); err == nil {
		t.Fatal("a frozen server answered")
	}
	var wg sync.WaitGroup
	refused := make(chan error, 200)
	begin := make(chan struct{})
	for range 200 {
		wg.Go(func() {
			<-begin
			refused <- c.Ping(t.Context()).Err()
		})
	}
	close(begin)
	wg.Wait()
	close(refused)
	atOnce := 0
	for err := range refused {
		if err == nil {
			t.Error("a frozen server answered")
		} else if strings.Contains(err.Error(), "a moment ago") {
			atOnce++
		}
	}
	if atOnce == 0 {
		t.Error("every command waited for the timeout")
	}
	own.Resume()
	deadline := time.After(10 * time.Second)
	for bounded(t, ping) != nil {
		select {
		case <-deadline:
			t.Fatal("the server is not used again")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A caller that has no time left says nothing about the server.
func TestImpatientCallerIsNotTheServersFault(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	c := open(t, own.URL())
	own.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Fatal("a frozen server answered")
	}
	own.Resume()
	if err := bounded(t, func(ctx context.Context) error { return c.Ping(ctx).Err() }); err != nil {
		t.Errorf("after an impatient caller: %v", err)
	}
	if err := c.Get(t.Context(), "absent").Err(); err != redis.Nil { //nolint:errorlint // the library's own sentinel
		t.Errorf("an answer is not an outage: %v", err)
	}
}

func TestStoppedServer(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	c := open(t, own.URL())
	ping := func(ctx context.Context) error { return c.Ping(ctx).Err() }
	for range 2 {
		own.Stop()
		for range 3 {
			if err := bounded(t, ping); err == nil {
				t.Error("a stopped server answered")
			}
		}
		own.Start()
		deadline := time.After(10 * time.Second)
		for bounded(t, ping) != nil {
			select {
			case <-deadline:
				t.Fatal("the server is not used again")
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

func TestOpenHidesThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://:SECRET@host:port", "http://SECRET", "", "redis://user:SECRET@h:1/x"} {
		if _, err := redisdb.Open(url); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if err := redisdb.Unavailable(io.ErrUnexpectedEOF, "test"); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("got %v", err)
	}
}

// spy collects the keys of every command.
type spy struct {
	mu   sync.Mutex
	keys [][]string
}

func (s *spy) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s *spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		s.mu.Lock()
		switch strings.ToLower(cmd.Name()) {
		case "eval", "evalsha":
			n, _ := args[2].(int)
			var keys []string
			for _, k := range args[3 : 3+n] {
				keys = append(keys, k.(string))
			}
			s.keys = append(s.keys, keys)
		case "get", "set":
			s.keys = append(s.keys, []string{args[1].(string)})
		}
		s.mu.Unlock()
		return next(ctx, cmd)
	}
}

// slot is the Redis Cluster slot of a key: CRC-16/XMODEM of the hash tag, or of the whole key.
func slot(key string) int {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open+1:], '}'); end > 0 {
			key = key[open+1 : open+1+end]
		}
	}
	crc := 0
	for _, b := range []byte(key) {
		crc ^= int(b) << 8
		for range 8 {
			if crc <<= 1; crc&0x10000 != 0 {
				crc ^= 0x11021
			}
		}
	}
	return crc % 16384
}

// F147: all keys of one script lie in one slot of a cluster, by a hash tag that holds the tenant or the Google project.
func TestF147OneSlotPerScript(t *testing.T) {
	t.Parallel()
	if slot("123456789") != 0x31C3%16384 || slot("{user1000}.following") != slot("user1000") || slot("foo{}{bar}") == slot("") {
		t.Fatal("the slots of the specification's examples are wrong")
	}
	var s spy
	c := open(t, redistest.New(t).URL())
	c.AddHook(&s)
	ctx := t.Context()
	p := &authn.Principal{TenantID: "komorebi", ClientID: "a{b}c", UserID: "{x}", TokenID: "}t{", Timezone: time.UTC, Policy: policy.Default()}
	run := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	l := ratelimit.New(c)
	for _, b := range [][]ratelimit.Bucket{ratelimit.WriteBuckets(p, time.Now()), ratelimit.ReadBuckets(p), ratelimit.PreviewBuckets(p), ratelimit.RefusalBuckets(p), ratelimit.SummaryBuckets(p)} {
		_, err := l.Take(ctx, b, "n")
		run(err)
		_, _ = l.Peek(ctx, b)
		run(l.Refund(ctx, b, "n"))
	}
	k := idempotency.Key{Tenant: p.TenantID, Client: p.ClientID, User: p.UserID, Tool: "post.create", Value: "{a}{b}"}
	_, _, err := idempotency.NewClaims(c).Claim(ctx, k, "n")
	run(err)
	token, err := confirm.NewStore(c, time.Now).Issue(ctx, confirm.Binding{Tenant: p.TenantID}, time.Minute)
	run(err)
	_, _, err = confirm.NewStore(c, time.Now).Find(ctx, p.TenantID, token)
	run(err)
	sl := slots.New(c, "my-project", app.SlotLimits(config.Default()))
	r := slots.Request{API: "v4", Tenant: p.TenantID, User: p.UserID, Location: "locations/{1}", Member: "m", Edit: true}
	_, err = sl.Reserve(ctx, r)
	run(err)
	run(sl.Release(ctx, r))
	run(sl.Pause(ctx, r, true, time.Second))
	_, err = sl.Estimate(ctx, "v4", p.TenantID, 1, "", 0)
	run(err)
	if len(s.keys) < 20 {
		t.Fatalf("only %d commands seen", len(s.keys))
	}
	for _, keys := range s.keys {
		for _, k := range keys {
			if slot(k) != slot(keys[0]) {
				t.Errorf("CROSSSLOT: %q and %q", keys[0], k)
			}
			if !strings.Contains(k, "{komorebi}") && !strings.Contains(k, "{g:my-project}") {
				t.Errorf("%q has neither tenant nor project as its tag", k)
			}
		}
	}
}

// No key is built inside a script: every command's first argument is a key that was passed in.
func TestF147NoKeyIsBuiltInLua(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../slots/slots.lua", "../ratelimit/limits.lua", "../idempotency/claim.lua"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, m := range regexp.MustCompile(`redis\.call\('([A-Z]+)'(?:, ([^,)]+))?`).FindAllStringSubmatch(string(b), -1) {
			found++
			if m[1] != "TIME" && !strings.HasPrefix(m[2], "KEYS[") && m[2] != "key" {
				t.Errorf("%s: %s works on %q", file, m[1], m[2])
			}
		}
		for _, m := range regexp.MustCompile(`\bkey = (.+)`).FindAllStringSubmatch(string(b), -1) {
			if strings.Contains(m[1], "..") || !strings.Contains(m[1], "KEYS[") {
				t.Errorf("%s: key = %s", file, m[1])
			}
		}
		if found < 3 {
			t.Errorf("%s: %d commands found", file, found)
		}
	}
}

// F127: the server carries a script out and its reply is lost. The client sends it once more; for the caller it ran once.
func TestF127LostReply(t *testing.T) {
	t.Parallel()
	target, err := redis.ParseURL(redistest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	var lose atomic.Bool
	lost := atomic.Int32{}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	go func() {
		for {
			in, err := front.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial(target.Network, target.Addr)
			if err != nil {
				_ = in.Close()
				return
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() {
				defer func() { _ = in.Close() }()
				buf := make([]byte, 64<<10)
				for {
					n, err := out.Read(buf)
					if err != nil {
						return
					}
					if lose.CompareAndSwap(true, false) { // it was carried out; nobody hears of it
						lost.Add(1)
						return
					}
					if _, err := in.Write(buf[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	c := open(t, "redis://"+front.Addr().String()+"/"+numberOf(target))
	p := &authn.Principal{TenantID: "komorebi", ClientID: "a", UserID: "u", TokenID: "t", Timezone: time.UTC, Policy: policy.Default()}
	l, claims := ratelimit.New(c), idempotency.NewClaims(c)
	buckets := ratelimit.WriteBuckets(p, time.Now())
	k := idempotency.Key{Tenant: p.TenantID, Client: "a", User: "u", Tool: "post.create", Value: "key-12345"}
	if _, err := l.Take(t.Context(), buckets, "warm"); err != nil { // the script is loaded
		t.Fatal(err)
	}
	if _, _, err := claims.Claim(t.Context(), idempotency.Key{Tenant: p.TenantID, Value: "warm"}, "warm"); err != nil {
		t.Fatal(err)
	}
	lose.Store(true)
	states, err := l.Take(t.Context(), buckets, "one call")
	if err != nil || states[0].Remaining != p.Policy.TokenPerMinute-2 {
		t.Errorf("limits: %+v, %v", states, err)
	}
	lose.Store(true)
	if o, _, err := claims.Claim(t.Context(), k, "one call"); err != nil || o != idempotency.Mine {
		t.Errorf("the call's own claim looks like another's: %d, %v", o, err)
	}
	if lost.Load() != 2 {
		t.Errorf("%d replies were lost", lost.Load())
	}
}

func numberOf(o *redis.Options) string { return strconv.Itoa(o.DB) }
