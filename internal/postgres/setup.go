package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// Setup is the declared state of one tenant. Saving it twice changes nothing.
type Setup struct {
	ID       authn.TenantID
	Name     string
	Locale   errs.Locale
	Timezone string
	// Policy is the tenant's own JSON over the deployment's default.
	Policy      json.RawMessage
	Users       []SetupUser
	Clients     []SetupClient
	Tokens      []NewToken
	Connections []SetupConnection
}

// SetupUser is a person that agents act for.
type SetupUser struct {
	ID     authn.UserID
	Email  string
	Role   string
	Grants authn.Grants
}

// SetupClient is an agent.
type SetupClient struct {
	ID   authn.ClientID
	Name string
}

// SetupConnection is a Google account. RefreshTokenSealed is nil when no secret was given: the stored one is kept then.
type SetupConnection struct {
	ID                 string
	GoogleEmail        string
	RefreshTokenSealed []byte
}

// Save brings the tenant to the declared state and records what changed. What is not declared is left alone.
func (db *DB) Save(ctx context.Context, s Setup, operator string) error {
	if _, err := db.policy.Override(s.Policy, 1); err != nil {
		return err
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil {
		return &ShapeError{Field: "timezone", Value: s.Timezone}
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
				ON CONFLICT (tenant_id, client_id) DO UPDATE SET name = EXCLUDED.name`, s.ID, c.ID, c.Name)
			if err != nil {
				return fmt.Errorf("client %s: %w", c.ID, err)
			}
		}
		for _, c := range s.Connections {
			e, err := saveConnection(ctx, tx, s.ID, c)
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
	own := s.Policy
	if len(own) == 0 {
		own = json.RawMessage(`{}`)
	}
	var changed bool
	var version int
	err := tx.QueryRow(ctx, `
		WITH old AS (SELECT policy FROM mappy.tenant WHERE tenant_id = $1)
		INSERT INTO mappy.tenant AS t (tenant_id, name, locale, timezone, policy) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant_id) DO UPDATE SET name = EXCLUDED.name, locale = EXCLUDED.locale, timezone = EXCLUDED.timezone, policy = EXCLUDED.policy,
			policy_version = t.policy_version + CASE WHEN t.policy <> EXCLUDED.policy THEN 1 ELSE 0 END
		RETURNING EXISTS (SELECT 1 FROM old WHERE old.policy <> t.policy) OR NOT EXISTS (SELECT 1 FROM old), policy_version`,
		s.ID, s.Name, s.Locale, s.Timezone, own).Scan(&changed, &version)
	if err != nil {
		return nil, fmt.Errorf("tenant %s: %w", s.ID, err)
	}
	if !changed {
		return nil, nil
	}
	return []audit.Event{{Kind: audit.PolicyChanged, Resource: string(s.ID), Result: "saved", After: own, PolicyVersion: version}}, nil
}

func saveUser(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, u SetupUser) ([]audit.Event, error) {
	for _, f := range slices.Concat(u.Grants.Fields, u.Grants.DeniedFields) {
		if !slices.Contains(profile.Fields(), f) {
			return nil, &ShapeError{Field: "grants.fields", Value: f}
		}
	}
	grants, err := json.Marshal(u.Grants)
	if err != nil {
		return nil, err
	}
	role := u.Role
	if role == "" {
		role = "viewer"
	}
	var before []byte
	err = tx.QueryRow(ctx, `SELECT grants FROM mappy.app_user WHERE tenant_id = $1 AND user_id = $2`, tenant, u.ID).Scan(&before)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	var after []byte
	err = tx.QueryRow(ctx, `
		INSERT INTO mappy.app_user (tenant_id, user_id, email, role, grants) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant_id, user_id) DO UPDATE SET email = EXCLUDED.email, role = EXCLUDED.role, grants = EXCLUDED.grants, updated_at = now()
		RETURNING grants`, tenant, u.ID, u.Email, role, grants).Scan(&after)
	if err != nil || string(before) == string(after) {
		return nil, err
	}
	return []audit.Event{{Kind: audit.GrantChanged, Resource: string(u.ID), Result: "saved", Before: before, After: after}}, nil
}

func saveConnection(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, c SetupConnection) ([]audit.Event, error) {
	if c.RefreshTokenSealed == nil {
		_, err := tx.Exec(ctx, `UPDATE mappy.connection SET google_email = $3 WHERE tenant_id = $1 AND connection_id = $2`, tenant, c.ID, c.GoogleEmail)
		return nil, err
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO mappy.connection (tenant_id, connection_id, google_email, refresh_token_sealed) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant_id, connection_id) DO UPDATE SET google_email = EXCLUDED.google_email, refresh_token_sealed = EXCLUDED.refresh_token_sealed,
			access_token_sealed = NULL, access_expires_at = NULL, state = 'alive', dead_reason = '', generation = mappy.connection.generation + 1, updated_at = now()`,
		tenant, c.ID, c.GoogleEmail, c.RefreshTokenSealed)
	if err != nil {
		return nil, err
	}
	return []audit.Event{{Kind: audit.ConnectionAdded, Resource: c.ID, Result: "saved"}}, nil
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
		return nil, err
	}
	return []audit.Event{{Kind: audit.TokenCreated, Resource: string(t.ID), Result: "created", Actor: audit.Actor{ClientID: t.Client, UserID: t.User, TokenID: t.ID}}}, nil
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

// SetKill turns a kill switch on or off. Kind "all" belongs to the system tenant and stops everybody.
func (db *DB) SetKill(ctx context.Context, tenant authn.TenantID, k authn.KillSwitch, on bool, operator string) error {
	if (k.Kind == "all") != (tenant == authn.SystemTenant) {
		return &ShapeError{Field: "kind", Value: k.Kind}
	}
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		var err error
		result := "off"
		if on {
			result = "on"
			_, err = tx.Exec(ctx, `INSERT INTO mappy.kill_switch (tenant_id, kind, target, reason, set_by) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (tenant_id, kind, target) DO UPDATE SET reason = EXCLUDED.reason, set_by = EXCLUDED.set_by, set_at = now()`, tenant, k.Kind, k.Target, k.Reason, operator)
		} else {
			_, err = tx.Exec(ctx, `DELETE FROM mappy.kill_switch WHERE tenant_id = $1 AND kind = $2 AND target = $3`, tenant, k.Kind, k.Target)
		}
		if err != nil {
			return err
		}
		return db.appendEvents(ctx, tx, tenant, audit.Event{Kind: audit.KillSwitchChanged, Resource: k.Kind + ":" + k.Target, Result: result, Reason: k.Reason, Actor: audit.Actor{OperatorID: operator}})
	})
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
