// Package idempotency makes sure that one intent has one effect. The truth is a row in PostgreSQL, inserted in the
// transaction that accepts the write. In front of it stands a claim in Redis: while one call with a key is being admitted,
// others with the same key are told so instead of doing the same work.
//
// A claim is a short lease owned by the call's nonce. A crash leaves it to lapse in seconds; a lease that runs out in a
// slow first call lets a second one go on, and the row decides.
package idempotency

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
)

// Source says where a key came from.
type Source string

// A client's own key, or one derived from the canonical input because the client sent none.
const (
	FromClient Source = "client"
	Derived    Source = "derived"
)

// Key identifies an intent. Equal keys of different tenants, clients, users or tools are different intents.
type Key struct {
	Tenant authn.TenantID
	Client authn.ClientID
	User   authn.UserID
	Tool   string
	Source Source
	Value  string
}

// Hash is how a key is stored and shown in audit and logs.
func (k Key) Hash() []byte {
	h := sha256.Sum256([]byte(k.Value))
	return h[:]
}

func (k Key) redisKey() string {
	h := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", k.Client, k.User, k.Tool, k.Source, k.Value))
	return fmt.Sprintf("claim:{%s}:%s", k.Tenant, hex.EncodeToString(h[:]))
}

// Lease is how long a claim holds by itself: longer than an admission takes, short enough that a crash is soon forgotten.
const Lease = 5 * time.Second

// settledFor is how long Redis remembers that a key has its answer in PostgreSQL.
const settledFor = time.Minute

//go:embed claim.lua
var script string

// Outcome is the answer to a claim.
type Outcome int

// The outcomes.
const (
	Mine     Outcome = iota + 1 // the caller owns the key now
	InFlight                    // another call is being admitted with it
	Settled                     // its answer lies in PostgreSQL
)

// Claims are the claims in Redis.
type Claims struct {
	rdb    redis.Scripter
	script *redis.Script
}

// NewClaims works on a connection of redisdb.Open.
func NewClaims(rdb redis.Scripter) *Claims {
	return &Claims{rdb: rdb, script: redis.NewScript(script)}
}

// Claim takes the key for the call with this nonce. left is how long another call's lease still holds.
func (c *Claims) Claim(ctx context.Context, k Key, nonce string) (o Outcome, left time.Duration, err error) {
	return c.run(ctx, "claim", k, nonce)
}

// Settle says that the key's answer is committed.
func (c *Claims) Settle(ctx context.Context, k Key, nonce string) error {
	_, _, err := c.run(ctx, "settle", k, nonce)
	return err
}

// Abort frees the key after a refusal; only the owner can.
func (c *Claims) Abort(ctx context.Context, k Key, nonce string) error {
	_, _, err := c.run(ctx, "abort", k, nonce)
	return err
}

func (c *Claims) run(ctx context.Context, mode string, k Key, nonce string) (Outcome, time.Duration, error) {
	ctx, cancel := redisdb.Bound(ctx)
	defer cancel()
	r, err := c.script.Run(ctx, c.rdb, []string{k.redisKey()}, mode, nonce, Lease.Milliseconds(), settledFor.Milliseconds()).Int64Slice()
	if err != nil {
		return 0, 0, redisdb.Unavailable(err, "claim")
	}
	return Outcome(r[0]), time.Duration(r[1]) * time.Millisecond, nil
}
