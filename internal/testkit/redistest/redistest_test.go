package redistest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/localstack/teststack"
)

func TestNewKeepsTestsApart(t *testing.T) {
	t.Parallel()
	a, b := New(t), New(t)
	if err := a.Client().Set(t.Context(), "k", "a", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := b.Client().Exists(t.Context(), "k").Val(); got != 0 {
		t.Error("a key of one test is seen by another")
	}
	opt, err := goredis.ParseURL(a.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(opt)
	defer func() { _ = c.Close() }()
	if got := c.Get(t.Context(), "k").Val(); got != "a" {
		t.Errorf("through its URL the database has k = %q", got)
	}
	if opt.DB == 0 {
		t.Error("a test got database 0")
	}
}

func TestNewFlushesBeforeAndAfterAndGivesBack(t *testing.T) {
	t.Parallel()
	var opt *goredis.Options
	t.Run("inner", func(t *testing.T) {
		d := New(t)
		opt = d.Client().Options()
		if err := d.Client().Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		_ = d.Client().Close() // a test may
	})
	number := opt.DB
	left := goredis.NewClient(&goredis.Options{Network: opt.Network, Addr: opt.Addr, DB: number})
	defer func() { _ = left.Close() }()
	if n, err := left.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("%d keys left (%v)", n, err)
	}
	zero := goredis.NewClient(&goredis.Options{Network: opt.Network, Addr: opt.Addr})
	defer func() { _ = zero.Close() }()
	if n, err := zero.Exists(t.Context(), leaseKey(number)).Result(); err != nil || n != 0 {
		t.Errorf("the database was not given back (%v)", err)
	}
}

func TestANumberLeftDirtyIsFlushed(t *testing.T) {
	t.Parallel()
	s := Own(t)
	opt, err := goredis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	opt.DB = 1 + 1 // what the first INCR of a fresh server gives
	dirty := goredis.NewClient(opt)
	defer func() { _ = dirty.Close() }()
	if err := dirty.Set(t.Context(), "left", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	d := newOn(t, s.URL())
	if got := d.Client().Options().DB; got != opt.DB {
		t.Fatalf("the test expects database %d but New gave %d", opt.DB, got)
	}
	if n := d.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys of a killed test are in the new one's database", n)
	}
}

func TestAServerWithFewDatabasesGivesNoneTwice(t *testing.T) {
	t.Parallel()
	s := Own(t)
	opt, err := goredis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	zero := goredis.NewClient(opt)
	defer func() { _ = zero.Close() }()
	const count = 16
	var mu sync.Mutex
	seen := map[int]bool{}
	var wg sync.WaitGroup
	for range count - 1 {
		wg.Go(func() {
			n, err := allocate(context.Background(), zero, count, t.Name())
			mu.Lock()
			defer mu.Unlock()
			if err != nil || n < 1 || n >= count || seen[n] {
				t.Errorf("got %d, %v; already out: %t", n, err, seen[n])
			}
			seen[n] = true
		})
	}
	wg.Wait()
	if _, err := allocate(t.Context(), zero, count, t.Name()); !errors.Is(err, errNoneFree) {
		t.Errorf("one more: %v", err)
	}
	zero.Del(t.Context(), leaseKey(7))
	if n, err := allocate(t.Context(), zero, count, t.Name()); err != nil || n != 7 {
		t.Errorf("7 was given back, got %d, %v", n, err)
	}
	if ttl := zero.TTL(t.Context(), leaseKey(7)).Val(); ttl <= 10*time.Minute || ttl > lease {
		t.Errorf("a killed test's lease lasts %v", ttl)
	}
}

func TestOwnStopsStartsAndFreezes(t *testing.T) {
	t.Parallel()
	s := Own(t)
	shared, err := teststack.RedisURL()
	if err != nil {
		t.Fatal(err)
	}
	if s.URL() == shared {
		t.Fatal("Own gave the shared server")
	}
	opt, err := goredis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	opt.MaxRetries, opt.DialerRetries, opt.ContextTimeoutEnabled = -1, 1, true
	c := goredis.NewClient(opt)
	defer func() { _ = c.Close() }()
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}

	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Set(ctx, "late", "v", 0).Err(); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("frozen: %v", err)
	}
	s.Resume()
	if got := c.Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("after the freeze k = %q", got)
	}

	s.Stop()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a stopped server answers")
	}
	s.Start()
	if n, err := c.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("after the start: %d keys, %v", n, err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"unix:///tmp/r.sock":                 "unix:///tmp/r.sock?db=5",
		"unix:///tmp/r.sock?db=2&protocol=2": "unix:///tmp/r.sock?db=5&protocol=2",
		"redis://127.0.0.1:6379":             "redis://127.0.0.1:6379/5",
		"rediss://u:p@h:6380/3?protocol=3":   "rediss://u:p@h:6380/5?protocol=3",
		"redis://h?db=4":                     "redis://h/5",
	} {
		got, err := withNumber(in, 5)
		if err != nil || got != want {
			t.Errorf("%s gave %s, %v; want %s", in, got, err, want)
			continue
		}
		if opt, err := goredis.ParseURL(got); err != nil || opt.DB != 5 {
			t.Errorf("%s is not read as database 5: %v", got, err)
		}
	}
}
