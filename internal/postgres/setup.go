package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// Setup is the declared state of one tenant. Saving it twice changes nothing; what is left out stays as it is stored.
type Setup struct {
	ID authn.TenantID
	// Name is needed for a new tenant. Empty fields keep the stored value; a new tenant has DefaultLocale (empty: Japanese) and
	// the time zone Asia/Tokyo then.
	Name                  string
	Locale, DefaultLocale errs.Locale
	Timezone              string
	// Policy is the tenant's own JSON over the deployment's default, as a whole: {} takes everything back. Empty keeps it.
	Policy      json.RawMessage
	Users       []SetupUser
	Clients     []SetupClient
	Tokens      []NewToken
	Connections []SetupConnection
}

// SetupUser is a person that agents act for. An empty email or role keeps the stored one; a new user is a viewer.
type SetupUser struct {
	ID     authn.UserID
	Email  string
	Role   string
	Grants authn.Grants
	// KeepGrants leaves a user's stored grants as they are; a new user has none.
	KeepGrants bool
}

// SetupClient is an agent. An empty name keeps the stored one.
type SetupClient struct {
	ID   authn.ClientID
	Name string
}

// SetupConnection is a Google account. An empty address keeps the stored one. RefreshTokenSealed is nil when no secret was
// given: the stored one is kept, and a new connection is refused.
type SetupConnection struct {
	ID                 string
	GoogleEmail        string
	RefreshTokenSealed []byte
	// RefreshTokenDigest is the TokenDigest of the refresh token. Saving the one that the connection was made with changes
	// nothing: a live connection keeps its access token, and a dead one stays dead. Nil: nobody knows, so the token is stored.
	RefreshTokenDigest []byte
}

// TokenDigest tells refresh tokens apart without keeping them: they are long and random, so SHA-256 gives nothing away.
func TokenDigest(refreshToken string) []byte {
	h := sha256.Sum256([]byte(refreshToken))
	return h[:]
}

// Problems are all that is wrong with a declared state by itself. What depends on what is stored only Save can tell.
func (db *DB) Problems(s Setup) (problems []error) {
	shape := func(ok bool, field, value, want string) {
		if !ok {
			problems = append(problems, &ShapeError{Field: field, Value: value, Want: want})
		}
	}
	shape(tenantShape.MatchString(string(s.ID)), "tenant id", string(s.ID), tenantWant)
	shape(s.Locale == "" || s.Locale == errs.Japanese || s.Locale == errs.English, "locale", string(s.Locale), "ja or en")
	_, err := time.LoadLocation(s.Timezone)
	shape(err == nil, "timezone", s.Timezone, "a name such as Asia/Tokyo")
	for _, u := range s.Users {
		shape(u.Role == "" || slices.Contains(roles, u.Role), "role of user "+string(u.ID), u.Role, strings.Join(roles, ", "))
		for _, f := range slices.Concat(u.Grants.Fields, u.Grants.DeniedFields) {
			shape(slices.Contains(profile.Fields(), f), "grants.fields of user "+string(u.ID), f, strings.Join(profile.Fields(), ", "))
		}
	}
	for _, c := range s.Connections {
		shape(connectionShape.MatchString(c.ID), "connection_id", c.ID, connectionWant)
	}
	if err := db.policy.Declare(s.Policy); err != nil {
		problems = append(problems, err)
	}
	return problems
}

var roles = []string{"viewer", "approver", "admin"}

// Save brings the tenant to the declared state and records what changed. What is not declared is left alone.
func (db *DB) Save(ctx context.Context, s Setup, operator string) error {
	if err := errors.Join(db.Problems(s)...); err != nil {
		return err
	}
	return db.InTenant(ctx, s.ID, func(tx pgx.Tx) error {
		events, err := saveTenant(ctx, tx, s)
		if err != nil {
			return err
		}
		for _, u := range s.Users {
			e, err := saveUser(ctx, tx, s.ID, u)
			if err != nil {
				return fmt.Errorf("user %s: %w", u.ID, err)
			}
			events = append(events, e...)
		}
		for _, c := range s.Clients {
			_, err := tx.Exec(ctx, `INSERT INTO mappy.client (tenant_id, client_id, name) VALUES ($1, $2, $3)
				ON CONFLICT (tenant_id, client_id) DO UPDATE SET name = EXCLUDED.name WHERE EXCLUDED.name <> ''`, s.ID, c.ID, c.Name)
			if err != nil {
				return fmt.Errorf("client %s: %w", c.ID, err)
			}
		}
		for _, c := range s.Connections {
			e, err := saveConnection(ctx, tx, s.ID, c, false)
			if err != nil {
				return fmt.Errorf("connection %s: %w", c.ID, err)
			}
			events = append(events, e...)
		}
		for _, t := range s.Tokens {
			t.Tenant = s.ID
			e, err := db.saveToken(ctx, tx, t)
			if err != nil {
				return fmt.Errorf("token %s: %w", t.ID, err)
			}
			events = append(events, e...)
		}
		for i := range events {
			events[i].Actor.OperatorID = operator
		}
		return db.appendEvents(ctx, tx, s.ID, events...)
	})
}

func saveTenant(ctx context.Context, tx pgx.Tx, s Setup) ([]audit.Event, error) {
	var own any // NULL keeps the stored one
	if len(s.Policy) > 0 {
		own = s.Policy
	}
	var fresh, changed bool
	var version int
	var after []byte
	err := tx.QueryRow(ctx, `
		WITH old AS (SELECT policy FROM mappy.tenant WHERE tenant_id = $1)
		INSERT INTO mappy.tenant AS t (tenant_id, name, locale, timezone, policy)
			VALUES ($1, $2::text, coalesce(nullif($3::text, ''), nullif($6::text, ''), 'ja'), coalesce(nullif($4::text, ''), 'Asia/Tokyo'), coalesce($5::jsonb, '{}'))
		ON CONFLICT (tenant_id) DO UPDATE SET name = coalesce(nullif($2, ''), t.name), locale = coalesce(nullif($3, ''), t.locale),
			timezone = coalesce(nullif($4, ''), t.timezone), policy = coalesce($5, t.policy),
			policy_version = t.policy_version + CASE WHEN t.policy <> coalesce($5, t.policy) THEN 1 ELSE 0 END
		RETURNING NOT EXISTS (SELECT 1 FROM old), EXISTS (SELECT 1 FROM old WHERE old.policy <> t.policy), policy_version, policy`,
		s.ID, s.Name, s.Locale, s.Timezone, own, s.DefaultLocale).Scan(&fresh, &changed, &version, &after)
	if err != nil {
		return nil, fmt.Errorf("tenant %s: %w", s.ID, err)
	}
	if fresh && s.Name == "" {
		return nil, errors.New("a new tenant needs a name")
	}
	if !fresh && !changed {
		return nil, nil
	}
	return []audit.Event{{Kind: audit.PolicyChanged, Resource: string(s.ID), Result: "saved", After: after, PolicyVersion: version}}, nil
}

func saveUser(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, u SetupUser) ([]audit.Event, error) {
	grants, err := json.Marshal(u.Grants)
	if err != nil {
		return nil, err
	}
	var before []byte
	err = tx.QueryRow(ctx, `SELECT grants FROM mappy.app_user WHERE tenant_id = $1 AND user_id = $2`, tenant, u.ID).Scan(&before)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	var after []byte
	err = tx.QueryRow(ctx, `
		INSERT INTO mappy.app_user AS u (tenant_id, user_id, email, role, grants) VALUES ($1, $2, $3::text, coalesce(nullif($4::text, ''), 'viewer'), $5::jsonb)
		ON CONFLICT (tenant_id, user_id) DO UPDATE SET email = coalesce(nullif($3, ''), u.email), role = coalesce(nullif($4, ''), u.role),
			grants = CASE WHEN $6 THEN u.grants ELSE $5 END, updated_at = now()
		RETURNING grants`, tenant, u.ID, u.Email, u.Role, grants, u.KeepGrants).Scan(&after)
	if err != nil || string(before) == string(after) {
		return nil, err
	}
	return []audit.Event{{Kind: audit.GrantChanged, Resource: string(u.ID), Result: "saved", Before: before, After: after}}, nil
}

// saveConnection stores the connection's refresh token unless it is the one that it was made with; anew stores that too.
func saveConnection(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, c SetupConnection, anew bool) ([]audit.Event, error) {
	if c.RefreshTokenSealed != nil {
		tag, err := tx.Exec(ctx, `
			INSERT INTO mappy.connection AS c (tenant_id, connection_id, google_email, refresh_token_sealed, refresh_token_digest) VALUES ($1, $2, $3::text, $4, $5::bytea)
			ON CONFLICT (tenant_id, connection_id) DO UPDATE SET google_email = coalesce(nullif($3, ''), c.google_email), refresh_token_sealed = EXCLUDED.refresh_token_sealed,
				refresh_token_digest = EXCLUDED.refresh_token_digest,
				access_token_sealed = NULL, access_expires_at = NULL, state = 'alive', dead_reason = '', generation = c.generation + 1, updated_at = now()
			WHERE $6 OR $5 IS NULL OR c.refresh_token_digest IS DISTINCT FROM $5`,
			tenant, c.ID, c.GoogleEmail, c.RefreshTokenSealed, c.RefreshTokenDigest, anew)
		if err != nil {
			return nil, err
		}
		if tag.RowsAffected() > 0 {
			return []audit.Event{{Kind: audit.ConnectionAdded, Resource: c.ID, Result: "saved"}}, nil
		}
	}
	tag, err := tx.Exec(ctx, `UPDATE mappy.connection SET google_email = coalesce(nullif($3::text, ''), google_email) WHERE tenant_id = $1 AND connection_id = $2`, tenant, c.ID, c.GoogleEmail)
	if err == nil && tag.RowsAffected() == 0 {
		return nil, errors.New("it is new, so its refresh token is needed")
	}
	return nil, err
}

// AddToken stores one token.
func (db *DB) AddToken(ctx context.Context, t NewToken, operator string) error {
	return db.InTenant(ctx, t.Tenant, func(tx pgx.Tx) error {
		events, err := db.saveToken(ctx, tx, t)
		if err != nil {
			return err
		}
		for i := range events {
			events[i].Actor.OperatorID = operator
		}
		return db.appendEvents(ctx, tx, t.Tenant, events...)
	})
}

func (db *DB) saveToken(ctx context.Context, tx pgx.Tx, t NewToken) ([]audit.Event, error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO mappy.access_token AS a (tenant_id, token_id, client_id, user_id, scopes, environment, token_hash, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (tenant_id, token_id) DO UPDATE SET client_id = EXCLUDED.client_id, user_id = EXCLUDED.user_id, scopes = EXCLUDED.scopes, token_hash = EXCLUDED.token_hash,
			environment = EXCLUDED.environment, expires_at = EXCLUDED.expires_at, revoked_at = NULL
		WHERE (a.client_id, a.user_id, a.scopes, a.token_hash) IS DISTINCT FROM (EXCLUDED.client_id, EXCLUDED.user_id, EXCLUDED.scopes, EXCLUDED.token_hash)`,
		t.Tenant, t.ID, t.Client, t.User, list(t.Scopes), db.environment, t.Hash, nullTime(t.ExpiresAt))
	if err != nil || tag.RowsAffected() == 0 {
		return nil, tokenRefused(t, err)
	}
	return []audit.Event{{Kind: audit.TokenCreated, Resource: string(t.ID), Result: "created", Actor: audit.Actor{ClientID: t.Client, UserID: t.User, TokenID: t.ID}}}, nil
}

// tokenRefused says in words which of the token's references the database does not know.
func tokenRefused(t NewToken, err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return err
	case pg.ConstraintName == "access_token_hash_key":
		return errors.New("this token value is stored under another id already")
	case pg.ConstraintName == "access_token_tenant_id_client_id_fkey":
		return fmt.Errorf("client %q: %w", t.Client, ErrUnknown)
	case pg.ConstraintName == "access_token_tenant_id_user_id_fkey":
		return fmt.Errorf("user %q: %w", t.User, ErrUnknown)
	}
	return err
}

// RevokeToken ends a token at once, also for accepted work that has not been sent. ErrUnknown when there is none.
func (db *DB) RevokeToken(ctx context.Context, tenant authn.TenantID, id authn.TokenID, operator string) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE mappy.access_token SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE tenant_id = $1 AND token_id = $2`, tenant, id)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("token %q: %w", id, ErrUnknown)
		}
		return db.appendEvents(ctx, tx, tenant, audit.Event{Kind: audit.TokenRevoked, Resource: string(id), Result: "revoked", Actor: audit.Actor{TokenID: id, OperatorID: operator}})
	})
}

// SetKill turns a kill switch on or off. Kind "all" belongs to the system tenant and stops everybody. A switch of a client or a
// tool has a target, one of everybody or a tenant has none: it would look like less than it stops. Turning one off that is not
// on gives ErrUnknown.
func (db *DB) SetKill(ctx context.Context, tenant authn.TenantID, k authn.KillSwitch, on bool, operator string) error {
	if !slices.Contains([]string{"all", "tenant", "client", "tool"}, k.Kind) || (k.Kind == "all") != (tenant == authn.SystemTenant) {
		return &ShapeError{Field: "kind", Value: k.Kind, Want: "all for the tenant system; tenant, client or tool for another"}
	}
	if targeted := k.Kind == "client" || k.Kind == "tool"; on && targeted != (k.Target != "") {
		return &ShapeError{Field: "target", Value: k.Target, Want: "one for a client or a tool, none else"}
	}
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		result := "on"
		if on {
			_, err := tx.Exec(ctx, `INSERT INTO mappy.kill_switch (tenant_id, kind, target, reason, set_by) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (tenant_id, kind, target) DO UPDATE SET reason = EXCLUDED.reason, set_by = EXCLUDED.set_by, set_at = now()`, tenant, k.Kind, k.Target, k.Reason, operator)
			if err != nil {
				return err
			}
		} else {
			result = "off"
			tag, err := tx.Exec(ctx, `DELETE FROM mappy.kill_switch WHERE tenant_id = $1 AND kind = $2 AND target = $3`, tenant, k.Kind, k.Target)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return fmt.Errorf("kill switch %q %q: %w", k.Kind, k.Target, ErrUnknown)
			}
		}
		return db.appendEvents(ctx, tx, tenant, audit.Event{Kind: audit.KillSwitchChanged, Resource: k.Kind + ":" + k.Target, Result: result, Reason: k.Reason, Actor: audit.Actor{OperatorID: operator}})
	})
}

// HasClient tells whether a tenant has an agent of that id.
func (db *DB) HasClient(ctx context.Context, tenant authn.TenantID, id authn.ClientID) (has bool, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM mappy.client WHERE tenant_id = $1 AND client_id = $2)`, tenant, id).Scan(&has)
	})
	return has, err
}

// Kills lists the switches that are on for a tenant, those for everything included.
func (db *DB) Kills(ctx context.Context, tenant authn.TenantID) (out []authn.KillSwitch, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, pgx.RowToStructByPos[authn.KillSwitch], `SELECT kind, target, reason FROM mappy.kill_switch WHERE tenant_id IN ($1, 'system') ORDER BY kind, target`, tenant)
	})
	return out, err
}

// TenantPolicy is a tenant's effective policy.
func (db *DB) TenantPolicy(ctx context.Context, tenant authn.TenantID) (p policy.Policy, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		var own []byte
		var version int
		if err := tx.QueryRow(ctx, `SELECT policy, policy_version FROM mappy.tenant WHERE tenant_id = $1`, tenant).Scan(&own, &version); err != nil {
			return err
		}
		p, err = db.policy.Override(own, version)
		return err
	})
	return p, err
}
