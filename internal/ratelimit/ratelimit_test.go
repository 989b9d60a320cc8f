package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

func setup(t *testing.T) (*ratelimit.Limiter, *redis.Client) {
	t.Helper()
	rdb, err := redisdb.Open(redistest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return ratelimit.New(rdb), rdb
}

func principal(change func(*policy.Policy)) *authn.Principal {
	zone, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		panic(err)
	}
	p := &authn.Principal{TenantID: "komorebi", ClientID: "agent", UserID: "hanako", TokenID: "token", Timezone: zone, Policy: policy.Default()}
	p.Policy.UserConcurrency = 1000
	change(&p.Policy)
	return p
}

// at is a moment in the middle of a day in Tokyo.
var at = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func details(err error) errs.Details { return errs.From(err).Details }

// Each limit at n and at n+1: the refusal names its scope, and none of the other limits was charged for the refused call.
func TestEachLimitAtItsEdge(t *testing.T) {
	t.Parallel()
	for scope, set := range map[ratelimit.Scope]func(*policy.Policy, int){
		ratelimit.TokenPerMinute:  func(p *policy.Policy, n int) { p.TokenPerMinute = n },
		ratelimit.UserPerMinute:   func(p *policy.Policy, n int) { p.UserPerMinute = n },
		ratelimit.UserPerDay:      func(p *policy.Policy, n int) { p.UserPerDay = n },
		ratelimit.ClientPerHour:   func(p *policy.Policy, n int) { p.ClientPerHour = n },
		ratelimit.UserConcurrency: func(p *policy.Policy, n int) { p.UserConcurrency = n },
	} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			l, _ := setup(t)
			p := principal(func(pol *policy.Policy) { set(pol, 3) })
			buckets := ratelimit.WriteBuckets(p, at)
			for n := range 3 {
				states, err := l.Take(t.Context(), buckets, strconv.Itoa(n))
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(states, func(s ratelimit.State) bool { return s.Scope == scope })
				if states[i].Remaining != 2-n || states[i].Limit != 3 {
					t.Errorf("after %d: %+v", n+1, states[i])
				}
			}
			before, _ := l.Peek(t.Context(), buckets)
			_, err := l.Take(t.Context(), buckets, "refused")
			if d := details(err); errs.CodeOf(err) != errs.RateLimited || d.Scope != string(scope) || d.Limit != 3 || d.RetryAfterSeconds < 1 {
				t.Errorf("got %v %+v", err, d)
			}
			after, _ := l.Peek(t.Context(), buckets)
			if !slices.Equal(before, after) {
				t.Errorf("the refused call was charged: %+v, then %+v", before, after)
			}
		})
	}
}

// One call is charged once, however often its script runs, from however many goroutines; a refund gives back exactly that.
func TestChargedOncePerCall(t *testing.T) {
	t.Parallel()
	l, _ := setup(t)
	p := principal(func(pol *policy.Policy) { pol.TokenPerMinute = 5 })
	buckets := ratelimit.WriteBuckets(p, at)
	remaining := func() int {
		s, err := l.Peek(t.Context(), buckets)
		if err != nil && errs.CodeOf(err) != errs.RateLimited {
			t.Fatal(err)
		}
		return s[0].Remaining
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if s, err := l.Take(t.Context(), buckets, "one call"); err != nil || s[0].Remaining != 4 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	wg.Wait()
	if n := remaining(); n != 4 {
		t.Errorf("%d left after one call, want 4", n)
	}
	for range 2 {
		if err := l.Refund(t.Context(), buckets, "one call"); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Refund(t.Context(), buckets, "a call that never was"); err != nil {
		t.Fatal(err)
	}
	if n := remaining(); n != 5 {
		t.Errorf("%d left after the refund, want 5", n)
	}
	for n := range 5 {
		if _, err := l.Take(t.Context(), buckets, strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Take(t.Context(), buckets, "3"); err != nil {
		t.Errorf("a call at the limit that asks again: %v", err)
	}
	if _, err := l.Take(t.Context(), buckets, "sixth"); errs.CodeOf(err) != errs.RateLimited {
		t.Errorf("got %v", err)
	}
}

func TestNeverMoreThanTheLimitAtOnce(t *testing.T) {
	t.Parallel()
	l, _ := setup(t)
	p := principal(func(pol *policy.Policy) { pol.TokenPerMinute, pol.UserPerMinute, pol.UserPerDay = 40, 50, 37 })
	buckets := ratelimit.WriteBuckets(p, at)
	var taken atomic.Int32
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			if _, err := l.Take(t.Context(), buckets, strconv.Itoa(n)); err == nil {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 37 {
		t.Errorf("%d calls passed a limit of 37", taken.Load())
	}
}

// F072: never more than the limit in any window, whatever the calls' rhythm. Time is moved by rewriting the log, which the
// script reads with Redis' own clock.
func TestExactSlidingWindow(t *testing.T) {
	t.Parallel()
	l, rdb := setup(t)
	const limit = 4
	p := principal(func(pol *policy.Policy) { pol.TokenPerMinute = limit })
	buckets := ratelimit.WriteBuckets(p, at)[:1]
	const key = "limit:{komorebi}:token:token:min"
	clock := time.Duration(0)
	var passed []time.Duration
	pass := func(d time.Duration) { // d goes by: all entries become older
		clock += d
		for _, z := range rdb.ZRangeWithScores(t.Context(), key, 0, -1).Val() {
			rdb.ZAdd(t.Context(), key, redis.Z{Score: z.Score - float64(d.Milliseconds()), Member: z.Member})
		}
	}
	for n := range 200 {
		pass(time.Duration(rand.IntN(20_000)) * time.Millisecond)
		_, err := l.Take(t.Context(), buckets, fmt.Sprint("call ", n))
		inWindow := 0
		for _, at := range passed {
			if clock-at < time.Minute-2*time.Second { // the test itself takes real time
				inWindow++
			}
		}
		if err == nil {
			passed = append(passed, clock)
			if inWindow >= limit {
				t.Fatalf("call %d passed with %d in its window", n, inWindow)
			}
			continue
		}
		wait := time.Duration(details(err).RetryAfterSeconds) * time.Second
		pass(wait)
		if _, err := l.Take(t.Context(), buckets, fmt.Sprint("again ", n)); err != nil {
			t.Fatalf("call %d waited the %s it was told and was refused again", n, wait)
		}
		passed = append(passed, clock)
	}
	if len(passed) < 50 {
		t.Errorf("only %d calls passed", len(passed))
	}
}

// The day is the tenant's: it ends at its own midnight, also when clocks are changed.
func TestTheDayIsTheTenants(t *testing.T) {
	t.Parallel()
	l, _ := setup(t)
	p := principal(func(pol *policy.Policy) { pol.UserPerDay = 1 })
	evening := time.Date(2026, 11, 30, 14, 59, 30, 0, time.UTC) // 23:59:30 in Tokyo
	day := func(at time.Time) []ratelimit.Bucket { return ratelimit.WriteBuckets(p, at)[2:3] }
	if _, err := l.Take(t.Context(), day(evening), "a"); err != nil {
		t.Fatal(err)
	}
	_, err := l.Take(t.Context(), day(evening), "b")
	if d := details(err); d.Scope != string(ratelimit.UserPerDay) || d.RetryAfterSeconds != 30 {
		t.Errorf("got %+v", d)
	}
	if _, err := l.Take(t.Context(), day(evening.Add(31*time.Second)), "b"); err != nil {
		t.Errorf("after midnight: %v", err)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	p.Timezone = zone
	long := time.Date(2026, 10, 25, 0, 0, 0, 0, zone) // 25 hours
	for _, b := range []string{"c", "d"} {
		_, err = l.Take(t.Context(), day(long), b)
	}
	if d := details(err); d.RetryAfterSeconds != 25*3600 {
		t.Errorf("the long day lasts %d s", d.RetryAfterSeconds)
	}
}

// Limits belong to their tenant, user, client and token; one's use is not another's.
func TestBucketsAreTheirOwners(t *testing.T) {
	t.Parallel()
	l, _ := setup(t)
	set := func(pol *policy.Policy) {
		pol.TokenPerMinute, pol.UserPerMinute, pol.UserPerDay, pol.ClientPerHour = 1, 1, 1, 1
	}
	if _, err := l.Take(t.Context(), ratelimit.WriteBuckets(principal(set), at), "x"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*authn.Principal)
		scope  ratelimit.Scope
	}{
		"another tenant": {func(p *authn.Principal) { p.TenantID = "rival" }, ""},
		"another token":  {func(p *authn.Principal) { p.TokenID = "2" }, ratelimit.UserPerMinute},
		"another user":   {func(p *authn.Principal) { p.TokenID, p.UserID = "2", "taro" }, ratelimit.ClientPerHour},
		"another client": {func(p *authn.Principal) { p.TokenID, p.ClientID = "2", "other" }, ratelimit.UserPerMinute},
		"all but tenant": {func(p *authn.Principal) { p.TokenID, p.ClientID, p.UserID = "2", "other", "taro" }, ""},
	} {
		p := principal(set)
		c.change(p)
		buckets := ratelimit.WriteBuckets(p, at)
		_, err := l.Peek(t.Context(), buckets)
		if c.scope == "" && err != nil || c.scope != "" && errs.CodeOf(err) != errs.RateLimited {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A call that ends gives its share of simultaneous calls back and keeps what it spent.
func TestLeave(t *testing.T) {
	t.Parallel()
	l, _ := setup(t)
	p := principal(func(pol *policy.Policy) { pol.UserConcurrency, pol.TokenPerMinute = 1, 10 })
	buckets := ratelimit.WriteBuckets(p, at)
	for n := range 3 {
		nonce := strconv.Itoa(n)
		if _, err := l.Take(t.Context(), buckets, nonce); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		if _, err := l.Take(t.Context(), buckets, "beside"); details(err).Scope != string(ratelimit.UserConcurrency) {
			t.Errorf("a second call at the same time: %v", err)
		}
		if err := l.Leave(t.Context(), buckets, nonce); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := l.Peek(t.Context(), buckets); err != nil || s[0].Remaining != 7 || s[4].Remaining != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Previews, reads and refusals have budgets of their own.
func TestBudgetsAreSeparate(t *testing.T) {
	t.Parallel()
	l, _ := setup(t)
	p := principal(func(pol *policy.Policy) { pol.ReadPerMinute, pol.PreviewPerMinute, pol.RefusalsPerMinute = 1, 1, 1 })
	all := map[string][]ratelimit.Bucket{
		"reads": ratelimit.ReadBuckets(p), "previews": ratelimit.PreviewBuckets(p), "refusals": ratelimit.RefusalBuckets(p), "summary": ratelimit.SummaryBuckets(p),
		"writes": ratelimit.WriteBuckets(p, at),
	}
	for name, b := range all {
		if _, err := l.Take(t.Context(), b, "first"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	delete(all, "writes")
	for name, b := range all {
		if _, err := l.Take(t.Context(), b, "second"); errs.CodeOf(err) != errs.RateLimited {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every key ends when it no longer matters.
func TestKeysEnd(t *testing.T) {
	t.Parallel()
	l, rdb := setup(t)
	if _, err := l.Take(t.Context(), ratelimit.WriteBuckets(principal(func(*policy.Policy) {}), at), "x"); err != nil {
		t.Fatal(err)
	}
	keys := rdb.Keys(t.Context(), "*").Val()
	if len(keys) != 5 {
		t.Errorf("keys: %v", keys)
	}
	for _, k := range keys {
		if ttl := rdb.PTTL(t.Context(), k).Val(); ttl <= 0 || ttl > 25*time.Hour {
			t.Errorf("%s lives %s", k, ttl)
		}
	}
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	rdb, err := redisdb.Open(own.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	own.Stop()
	if _, err := ratelimit.New(rdb).Take(t.Context(), ratelimit.ReadBuckets(principal(func(*policy.Policy) {})), "x"); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("got %v", err)
	}
}
