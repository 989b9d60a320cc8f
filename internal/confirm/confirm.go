// Package confirm keeps confirm tokens: proof that a preview of exactly this write was made for exactly this caller.
//
// Redis holds what a token is bound to, under the token's digest. Whether it was spent is decided elsewhere: by a unique
// constraint in the transaction that accepts the write, so that neither a crash nor a lost reply nor a flushed Redis can
// spend it twice.
package confirm

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
)

// remembered is how long an expired token can still be told apart from one that never was.
const remembered = time.Hour

// Binding is what a token stands for.
type Binding struct {
	Tenant    authn.TenantID `json:"tenant"`
	Client    authn.ClientID `json:"client"`
	User      authn.UserID   `json:"user"`
	Tool      string         `json:"tool"`
	InputHash []byte         `json:"input_hash"`
	// Targets holds, per location, a digest of each thing that the person was shown ("title", "content").
	Targets   map[int64]map[string]string `json:"targets"`
	ExpiresAt time.Time                   `json:"expires_at"`
}

// Store keeps bindings in Redis.
type Store struct {
	rdb redis.Cmdable
	now func() time.Time
}

// NewStore works on a connection of redisdb.Open.
func NewStore(rdb redis.Cmdable, now func() time.Time) *Store { return &Store{rdb: rdb, now: now} }

// Issue makes a token of 43 random characters for b and keeps it for life.
func (s *Store) Issue(ctx context.Context, b Binding, life time.Duration) (string, error) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails
	token := base64.RawURLEncoding.EncodeToString(raw[:])
	b.ExpiresAt = s.now().Add(life)
	v, err := json.Marshal(b)
	if err != nil {
		return "", fmt.Errorf("confirm: %w", err)
	}
	ctx, cancel := redisdb.Bound(ctx)
	defer cancel()
	if err := s.rdb.Set(ctx, key(b.Tenant, Hash(token)), v, remembered+life).Err(); err != nil {
		return "", redisdb.Unavailable(err, "confirm token")
	}
	return token, nil
}

// Find reads what a token is bound to; ok is false for one that this tenant never had (or that Redis lost).
func (s *Store) Find(ctx context.Context, tenant authn.TenantID, token string) (b Binding, ok bool, err error) {
	ctx, cancel := redisdb.Bound(ctx)
	defer cancel()
	v, err := s.rdb.Get(ctx, key(tenant, Hash(token))).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return Binding{}, false, nil
	case err != nil:
		return Binding{}, false, redisdb.Unavailable(err, "confirm token")
	}
	if err := json.Unmarshal(v, &b); err != nil {
		return Binding{}, false, fmt.Errorf("confirm: stored binding: %w", err)
	}
	return b, true, nil
}

// Hash is how a token is stored and recorded; the token itself never is.
func Hash(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

func key(tenant authn.TenantID, hash []byte) string {
	return fmt.Sprintf("confirm:{%s}:%s", tenant, hex.EncodeToString(hash))
}
