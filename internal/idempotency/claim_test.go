package idempotency_test

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

var key = idempotency.Key{Tenant: "komorebi", Client: "agent", User: "hanako", Tool: "post.create", Source: idempotency.FromClient, Value: "post-1234"}

func setup(t *testing.T) (*idempotency.Claims, *redis.Client) {
	t.Helper()
	rdb, err := redisdb.Open(redistest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return idempotency.NewClaims(rdb), rdb
}

func claim(t *testing.T, c *idempotency.Claims, k idempotency.Key, nonce string, want idempotency.Outcome) time.Duration {
	t.Helper()
	got, left, err := c.Claim(t.Context(), k, nonce)
	if err != nil || got != want {
		t.Fatalf("claim by %s: %d, %v; want %d", nonce, got, err, want)
	}
	return left
}

// The life of a claim: one owner at a time, who may ask again; freed by its owner alone; settled for everybody.
func TestClaim(t *testing.T) {
	t.Parallel()
	c, _ := setup(t)
	claim(t, c, key, "a", idempotency.Mine)
	claim(t, c, key, "a", idempotency.Mine) // the reply of the first was lost (F127)
	if left := claim(t, c, key, "b", idempotency.InFlight); left <= 0 || left > idempotency.Lease {
		t.Errorf("left: %s", left)
	}
	if err := c.Abort(t.Context(), key, "b"); err != nil {
		t.Fatal(err)
	}
	claim(t, c, key, "b", idempotency.InFlight)
	if err := c.Abort(t.Context(), key, "a"); err != nil {
		t.Fatal(err)
	}
	claim(t, c, key, "b", idempotency.Mine)
	if err := c.Settle(t.Context(), key, "b"); err != nil {
		t.Fatal(err)
	}
	claim(t, c, key, "a", idempotency.Settled)
	if err := c.Abort(t.Context(), key, "b"); err != nil {
		t.Fatal(err)
	}
	claim(t, c, key, "b", idempotency.Settled)
}

// F126: of many callers at once exactly one owns the key.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	c, _ := setup(t)
	var mine atomic.Int32
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			o, _, err := c.Claim(t.Context(), key, strconv.Itoa(n))
			if err != nil {
				t.Error(err)
			}
			if o == idempotency.Mine {
				mine.Add(1)
			}
		})
	}
	wg.Wait()
	if mine.Load() != 1 {
		t.Errorf("%d owners", mine.Load())
	}
}

// F129: a crash leaves the key to lapse in seconds, and what is settled does not fill Redis for a day.
func TestClaimsLapse(t *testing.T) {
	t.Parallel()
	c, rdb := setup(t)
	claim(t, c, key, "a", idempotency.Mine)
	ttl := func() time.Duration {
		keys := rdb.Keys(t.Context(), "*").Val()
		if len(keys) != 1 {
			t.Fatalf("keys: %v", keys)
		}
		return rdb.PTTL(t.Context(), keys[0]).Val()
	}
	if d := ttl(); d <= 0 || d > idempotency.Lease {
		t.Errorf("a claim lives %s", d)
	}
	if err := c.Settle(t.Context(), key, "a"); err != nil {
		t.Fatal(err)
	}
	if d := ttl(); d <= 0 || d > time.Minute {
		t.Errorf("a settled claim lives %s", d)
	}
	rdb.FlushDB(t.Context()) // the same as a lapse
	claim(t, c, key, "b", idempotency.Mine)
}

// F135: equal words of other tenants, clients, users, tools or sources are other intents, also where they could run together.
func TestKeysAreScoped(t *testing.T) {
	t.Parallel()
	c, rdb := setup(t)
	keys := []idempotency.Key{key}
	for _, change := range []func(*idempotency.Key){
		func(k *idempotency.Key) { k.Tenant = "rival" },
		func(k *idempotency.Key) { k.Client = "other" },
		func(k *idempotency.Key) { k.User = "taro" },
		func(k *idempotency.Key) { k.Tool = "post.delete" },
		func(k *idempotency.Key) { k.Source = idempotency.Derived },
		func(k *idempotency.Key) { k.Value = "post-1235" },
		func(k *idempotency.Key) { k.Client, k.User = `agent" "x`, "y" },
		func(k *idempotency.Key) { k.Client, k.User = "agent", `x" "y` },
		func(k *idempotency.Key) { k.Value = "}{komorebi}:x" },
	} {
		k := key
		change(&k)
		keys = append(keys, k)
	}
	for n, k := range keys {
		claim(t, c, k, strconv.Itoa(n), idempotency.Mine)
	}
	for _, k := range rdb.Keys(t.Context(), "*").Val() {
		if bytes.Contains([]byte(k), []byte("post-1234")) {
			t.Errorf("the key itself stands in Redis: %s", k)
		}
	}
	if bytes.Contains(key.Hash(), []byte("post-1234")) || bytes.Equal(keys[0].Hash(), keys[6].Hash()) {
		t.Error("hash")
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
	if _, _, err := idempotency.NewClaims(rdb).Claim(t.Context(), key, "a"); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("got %v", err)
	}
}
