package locsync

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
)

// Leases let one process at a time sync a connection. A Redis that forgets lets two do it, which costs reads and nothing
// else: what they store is the same.
type Leases struct{ rdb redis.Cmdable }

// NewLeases works on a connection of redisdb.Open.
func NewLeases(rdb redis.Cmdable) Leases { return Leases{rdb} }

// Take gives true when the connection is ours for d, or until Free. UNAVAILABLE while Redis is away.
func (l Leases) Take(ctx context.Context, tenant authn.TenantID, connection, nonce string, d time.Duration) (bool, error) {
	ctx, cancel := redisdb.Bound(ctx)
	defer cancel()
	err := l.rdb.SetArgs(ctx, leaseKey(tenant, connection), nonce, redis.SetArgs{Mode: "NX", TTL: d}).Err()
	if err == redis.Nil { //nolint:errorlint // the library's own sentinel, unwrapped
		return false, nil
	}
	if err != nil {
		return false, redisdb.Unavailable(err, "sync lease")
	}
	return true, nil
}

// keepScript sets how long a lease still lasts, 0 ends it, if it still is the caller's.
var keepScript = redis.NewScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if tonumber(ARGV[2]) > 0 then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('DEL', KEYS[1])`)

// Keep lets a lease of the caller's end after d; 0 ends it now.
func (l Leases) Keep(ctx context.Context, tenant authn.TenantID, connection, nonce string, d time.Duration) error {
	ctx, cancel := redisdb.Bound(context.WithoutCancel(ctx))
	defer cancel()
	if err := keepScript.Run(ctx, l.rdb, []string{leaseKey(tenant, connection)}, nonce, d.Milliseconds()).Err(); err != nil {
		return fmt.Errorf("sync lease: %w", err)
	}
	return nil
}

func leaseKey(tenant authn.TenantID, connection string) string {
	return "sync:{" + string(tenant) + "}:" + connection
}
