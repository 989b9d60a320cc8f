// Package ratelimit keeps the contract's limits of calls: exact sliding windows per minute and hour, calendar days in the
// tenant's zone, and calls in admission at the same time. All limits of one call are decided in one Redis script, all or
// nothing, and a call is charged once however often the script runs for it.
package ratelimit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
)

//go:embed limits.lua
var script string

// Scope names a limit in errors and results.
type Scope string

// The scopes of the contract.
const (
	TokenPerMinute    Scope = "token_per_minute"
	UserPerMinute     Scope = "user_per_minute"
	UserPerDay        Scope = "user_per_day"
	ClientPerHour     Scope = "client_per_hour"
	UserConcurrency   Scope = "user_concurrency"
	ReadPerMinute     Scope = "read_per_minute"
	PreviewPerMinute  Scope = "preview_per_minute"
	RefusalsPerMinute Scope = "refusals_per_minute"
)

// kind is how a bucket counts.
type kind string

const (
	window kind = "w" // a log of the last window: never more than the limit in any window of that length
	day    kind = "d" // a set that ends with the tenant's day
	lease  kind = "c" // at the same time: an entry is given back, or lapses
)

// Bucket is one limit with its place in Redis.
type Bucket struct {
	Scope Scope
	Limit int
	kind  kind
	key   string
	life  time.Duration
}

// State is one limit as it stands.
type State struct {
	Scope     Scope `json:"scope" jsonschema:"name of the limit"`
	Limit     int   `json:"limit" jsonschema:"the limit"`
	Remaining int   `json:"remaining" jsonschema:"what is left of it now"`
}

// concurrencyLease is how long a call in admission counts when its process dies: longer than any admission may take.
const concurrencyLease = 10 * time.Second

// WriteBuckets are the limits of a write call by p at the given time.
func WriteBuckets(p *authn.Principal, now time.Time) []Bucket {
	local := now.In(p.Timezone)
	midnight := time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, p.Timezone)
	user := key(p, "user", string(p.UserID))
	return []Bucket{
		{TokenPerMinute, p.Policy.TokenPerMinute, window, key(p, "token", string(p.TokenID)) + ":min", time.Minute},
		{UserPerMinute, p.Policy.UserPerMinute, window, user + ":min", time.Minute},
		{UserPerDay, p.Policy.UserPerDay, day, user + ":day:" + local.Format(time.DateOnly), midnight.Sub(now)},
		{ClientPerHour, p.Policy.ClientPerHour, window, key(p, "client", string(p.ClientID)) + ":hour", time.Hour},
		{UserConcurrency, p.Policy.UserConcurrency, lease, user + ":now", concurrencyLease},
	}
}

// ReadBuckets is the limit of read calls, PreviewBuckets that of previews and demands for a confirmation, RefusalBuckets
// that of refusals.
func ReadBuckets(p *authn.Principal) []Bucket {
	return []Bucket{{ReadPerMinute, p.Policy.ReadPerMinute, window, key(p, "token", string(p.TokenID)) + ":read", time.Minute}}
}

// PreviewBuckets is the budget of previews.
func PreviewBuckets(p *authn.Principal) []Bucket {
	return []Bucket{{PreviewPerMinute, p.Policy.PreviewPerMinute, window, key(p, "token", string(p.TokenID)) + ":preview", time.Minute}}
}

// RefusalBuckets is the budget of refused calls.
func RefusalBuckets(p *authn.Principal) []Bucket {
	return []Bucket{{RefusalsPerMinute, p.Policy.RefusalsPerMinute, window, key(p, "token", string(p.TokenID)) + ":refused", time.Minute}}
}

// key holds the tenant as hash tag, so that all buckets of a call lie in one slot of a Redis Cluster.
func key(p *authn.Principal, what, id string) string {
	return fmt.Sprintf("limit:{%s}:%s:%s", p.TenantID, what, id)
}

// Limiter decides limits in Redis.
type Limiter struct {
	rdb    redis.Scripter
	script *redis.Script
}

// New makes a limiter on a connection of redisdb.Open.
func New(rdb redis.Scripter) *Limiter {
	return &Limiter{rdb: rdb, script: redis.NewScript(script)}
}

// Take spends one unit of every bucket, or none. nonce is the call's own: taking twice with one nonce spends once.
// Refusals are RATE_LIMITED with scope, limit and retry_after_seconds; UNAVAILABLE when Redis is away.
func (l *Limiter) Take(ctx context.Context, buckets []Bucket, nonce string) ([]State, error) {
	return l.run(ctx, "take", buckets, nonce)
}

// Peek says what Take would, and spends nothing.
func (l *Limiter) Peek(ctx context.Context, buckets []Bucket) ([]State, error) {
	return l.run(ctx, "peek", buckets, "")
}

// Refund gives back what Take spent for the nonce. It is best effort: what cannot be given back lapses by itself.
func (l *Limiter) Refund(ctx context.Context, buckets []Bucket, nonce string) error {
	_, err := l.run(ctx, "refund", buckets, nonce)
	return err
}

// Leave ends the call's share of the limits on simultaneous calls.
func (l *Limiter) Leave(ctx context.Context, buckets []Bucket, nonce string) error {
	var held []Bucket
	for _, b := range buckets {
		if b.kind == lease {
			held = append(held, b)
		}
	}
	return l.Refund(ctx, held, nonce)
}

func (l *Limiter) run(ctx context.Context, mode string, buckets []Bucket, nonce string) ([]State, error) {
	ctx, cancel := redisdb.Bound(ctx)
	defer cancel()
	keys := make([]string, len(buckets))
	args := make([]any, 0, 2+3*len(buckets))
	args = append(args, mode, nonce)
	for i, b := range buckets {
		keys[i] = b.key
		args = append(args, string(b.kind), b.Limit, b.life.Milliseconds())
	}
	reply, err := l.script.Run(ctx, l.rdb, keys, args...).Int64Slice()
	if err != nil {
		return nil, redisdb.Unavailable(err, "limits")
	}
	states := make([]State, len(buckets))
	for i, b := range buckets {
		states[i] = State{Scope: b.Scope, Limit: b.Limit, Remaining: int(reply[2+i])}
	}
	if at := reply[0]; at > 0 {
		return states, refusal(buckets[at-1], time.Duration(reply[1])*time.Millisecond)
	}
	return states, nil
}

func refusal(b Bucket, wait time.Duration) error {
	seconds := max(1, int((wait+time.Second-1)/time.Second))
	return errs.New(errs.RateLimited, errs.Tf("上限 %[1]s (%[2]d) に達しました。何も実行されていません。%[3]d 秒後に同じキーで送れます。",
		"The limit %[1]s (%[2]d) is reached. Nothing was executed; send again with the same key after %[3]d seconds.", b.Scope, b.Limit, seconds)).
		With(errs.Details{Scope: string(b.Scope), Limit: b.Limit, RetryAfterSeconds: seconds}).After(time.Duration(seconds) * time.Second)
}

// SummaryBuckets lets one event a minute through that stands for refusals beyond the budget.
func SummaryBuckets(p *authn.Principal) []Bucket {
	return []Bucket{{RefusalsPerMinute, 1, window, key(p, "token", string(p.TokenID)) + ":summary", time.Minute}}
}
