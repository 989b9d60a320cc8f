package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Authenticate implements authn.Authenticator for Mappy tokens: one trip from the token's digest to the principal with
// scopes, grants, policy and kill switches.
func (db *DB) Authenticate(ctx context.Context, bearer string) (*authn.Principal, error) {
	if !authn.CheckToken(bearer, db.environment) {
		return nil, errUnauthenticated
	}
	var (
		p              authn.Principal
		grants, pol    []byte
		kill           []byte
		locale, zone   string
		version        int
		expires        *time.Time
		tenant, cl, us string
		tok            string
	)
	err := db.pool.QueryRow(ctx, `SELECT tenant_id, client_id, user_id, token_id, scopes, grants, locale, timezone, policy, policy_version, kill, expires_at
		FROM mappy.authenticate($1, $2)`, authn.HashToken(bearer), db.environment).
		Scan(&tenant, &cl, &us, &tok, &p.Scopes, &grants, &locale, &zone, &pol, &version, &kill, &expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errUnauthenticated
	}
	if err != nil {
		return nil, unavailable(err)
	}
	p.TenantID, p.ClientID, p.UserID, p.TokenID = authn.TenantID(tenant), authn.ClientID(cl), authn.UserID(us), authn.TokenID(tok)
	p.Environment, p.Locale = db.environment, errs.Locale(locale)
	if expires != nil {
		p.ExpiresAt = *expires
	}
	if err := json.Unmarshal(grants, &p.Grants); err != nil {
		return nil, fmt.Errorf("grants of %s/%s: %w", tenant, us, err)
	}
	if err := json.Unmarshal(kill, &p.Kill); err != nil {
		return nil, fmt.Errorf("kill switches of %s: %w", tenant, err)
	}
	if p.Timezone, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("time zone of %s: %w", tenant, err)
	}
	if p.Policy, err = db.policy.Override(pol, version); err != nil {
		return nil, fmt.Errorf("policy of %s: %w", tenant, err)
	}
	return &p, nil
}

var errUnauthenticated = errs.New(errs.Unauthenticated, errs.T("有効なアクセストークンが必要です。", "A valid access token is needed."))

// Tenants lists all tenant ids, the system tenant included, for periodic jobs.
func (db *DB) Tenants(ctx context.Context) ([]authn.TenantID, error) {
	rows, err := db.pool.Query(ctx, `SELECT t FROM mappy.tenant_ids() AS t`)
	if err != nil {
		return nil, unavailable(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[authn.TenantID])
	return out, unavailable(err)
}

// NewToken is a token to be stored; the secret itself is not part of it.
type NewToken struct {
	Tenant    authn.TenantID
	ID        authn.TokenID
	Client    authn.ClientID
	User      authn.UserID
	Scopes    []string
	Hash      []byte
	ExpiresAt time.Time
}

// Token is a stored token as operators see it.
type Token struct {
	ID        authn.TokenID  `json:"token_id"`
	Client    authn.ClientID `json:"client_id"`
	User      authn.UserID   `json:"user_id"`
	Scopes    []string       `json:"scopes"`
	CreatedAt time.Time      `json:"created_at"`
	ExpiresAt *time.Time     `json:"expires_at,omitempty"`
	RevokedAt *time.Time     `json:"revoked_at,omitempty"`
}

// ListTokens gives a tenant's tokens, newest first.
func (db *DB) ListTokens(ctx context.Context, tenant authn.TenantID) (out []Token, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, pgx.RowToStructByPos[Token], `SELECT token_id, client_id, user_id, scopes, created_at, expires_at, revoked_at
			FROM mappy.access_token WHERE tenant_id = $1 ORDER BY created_at DESC, token_id`, tenant)
	})
	return out, err
}

// ErrUnknown is what an operator's command gets for an id that does not exist.
var ErrUnknown = errors.New("no such id")

// ShapeError is an operator's value that the database refuses. Want says what it may be.
type ShapeError struct{ Field, Value, Want string }

func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s: %q is not possible: %s", e.Field, strings.ToValidUTF8(e.Value, "?"), e.Want)
}
