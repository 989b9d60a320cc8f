// Package redistest gives tests a Redis: New, a database number of its own on a server that all tests share; Own, a
// private server for tests that stop, freeze or flush it as a whole. Only tests import it.
//
// The shared server is the one of MAPPY_REDIS_URL when set (as under `make test`), else a private one of the test
// process. A server that cannot be had fails the test with the line that says what to install; nothing is skipped.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/localstack/teststack"
)

// Keys of database 0, which belongs to this package alone.
const (
	counterKey  = "redistest:next"
	leasePrefix = "redistest:lease:"
)

// lease is how long a database stays taken when its test process is killed. Longer than go test's own limit (10 min).
const lease = 20 * time.Minute

// DB is one database of the shared server, empty when New returns. FLUSHALL, SCRIPT FLUSH, SCRIPT KILL, CONFIG SET and
// DEBUG reach the other tests' databases: use Own for those.
type DB struct {
	url    string
	client *goredis.Client
}

// New returns an empty database that no other test, of this process or another, has at the same time. It is flushed and
// given back when the test ends. 1 ms.
func New(tb testing.TB) *DB {
	tb.Helper()
	url, err := teststack.RedisURL()
	if err != nil {
		tb.Fatalf("no Redis for this test: %v", err)
	}
	return newOn(tb, url)
}

// URL is the database's address for go-redis (redis://… or unix://…, with its number).
func (d *DB) URL() string { return d.url }

// Client is a client with default options on the database, closed when the test ends.
func (d *DB) Client() *goredis.Client { return d.client }

func newOn(tb testing.TB, serverURL string) *DB {
	tb.Helper()
	ctx := context.Background()
	opt, err := goredis.ParseURL(serverURL)
	if err != nil {
		tb.Fatalf("read the Redis URL: %v", err)
	}
	opt.DB = 0
	zero := goredis.NewClient(opt)
	count, err := databases(ctx, zero)
	var number int
	if err == nil {
		number, err = allocate(ctx, zero, count, tb.Name())
	}
	if err != nil {
		_ = zero.Close()
		tb.Fatalf("get a Redis database: %v", err)
	}
	url, err := withNumber(serverURL, number)
	if err != nil {
		tb.Fatalf("address the Redis database: %v", err)
	}
	opt, err = goredis.ParseURL(url)
	if err != nil {
		tb.Fatalf("address the Redis database: %v", err)
	}
	d := &DB{url: url, client: goredis.NewClient(opt)}
	tb.Cleanup(func() {
		if err := flush(ctx, serverURL, number); err != nil {
			tb.Errorf("flush Redis database %d: %v", number, err)
		}
		_ = d.client.Close()
		zero.Del(ctx, leaseKey(number))
		_ = zero.Close()
	})
	if err := flush(ctx, serverURL, number); err != nil {
		tb.Fatalf("flush Redis database %d: %v", number, err)
	}
	return d
}

// flush uses a client of its own: the test may have closed the database's.
func flush(ctx context.Context, serverURL string, number int) error {
	url, err := withNumber(serverURL, number)
	if err != nil {
		return err
	}
	opt, err := goredis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("read the Redis URL: %w", err)
	}
	client := goredis.NewClient(opt)
	defer func() { _ = client.Close() }()
	return client.FlushDB(ctx).Err()
}

var errNoneFree = errors.New("every database is taken; start Redis with --databases 16384")

// allocate leases a free number from 1 up to the server's last one. Numbers go round, so that one is used again as late
// as possible; the lease keeps a server with few databases (16 by default) from giving one to two tests.
func allocate(ctx context.Context, zero *goredis.Client, count int, holder string) (int, error) {
	for range count {
		n, err := zero.Incr(ctx, counterKey).Result()
		if err != nil {
			return 0, fmt.Errorf("count databases: %w", err)
		}
		number := 1 + int(n%int64(count-1))
		err = zero.SetArgs(ctx, leaseKey(number), holder, goredis.SetArgs{Mode: "NX", TTL: lease}).Err()
		if err == nil {
			return number, nil
		}
		if !errors.Is(err, goredis.Nil) {
			return 0, fmt.Errorf("lease database %d: %w", number, err)
		}
	}
	return 0, errNoneFree
}

func databases(ctx context.Context, zero *goredis.Client) (int, error) {
	reply, err := zero.ConfigGet(ctx, "databases").Result()
	if err != nil {
		return 0, fmt.Errorf("ask for the number of databases: %w", err)
	}
	n, err := strconv.Atoi(reply["databases"])
	if err != nil || n < 2 {
		return 0, fmt.Errorf("a Redis with %q databases has none to spare: %w", reply["databases"], errNoneFree)
	}
	return n, nil
}

func leaseKey(number int) string { return leasePrefix + strconv.Itoa(number) }
