package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
)

const connectionColumns = `state, refresh_token_sealed, coalesce(access_token_sealed, ''), access_expires_at, generation`

// ReadConnection implements gtoken.Store.
func (db *DB) ReadConnection(ctx context.Context, tenant authn.TenantID, id string) (c gtoken.Connection, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		c, err = readConnection(ctx, tx, tenant, id, "")
		return err
	})
	return c, err
}

func readConnection(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, id, lock string) (gtoken.Connection, error) {
	c := gtoken.Connection{Tenant: tenant, ID: id}
	var expires *time.Time
	err := tx.QueryRow(ctx, `SELECT `+connectionColumns+` FROM mappy.connection WHERE tenant_id = $1 AND connection_id = $2 `+lock, tenant, id).
		Scan(&c.State, &c.RefreshTokenSealed, &c.AccessTokenSealed, &expires, &c.Generation)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, gtoken.ErrNoConnection
	}
	if expires != nil {
		c.AccessExpiresAt = *expires
	}
	return c, err
}

// WithConnection implements gtoken.Store: the row's lock is what makes one refresh of many processes' wishes.
func (db *DB) WithConnection(ctx context.Context, tenant authn.TenantID, id string, fn func(ctx context.Context, c gtoken.Connection) (*gtoken.Update, error)) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		c, err := readConnection(ctx, tx, tenant, id, "FOR UPDATE")
		if err != nil {
			return err
		}
		u, err := fn(ctx, c)
		if err != nil || u == nil {
			return err
		}
		if err := storeTokens(ctx, tx, tenant, id, u); err != nil {
			return err
		}
		e := audit.Event{Kind: audit.ConnectionRefreshed, Resource: id, Result: string(u.Event)}
		if u.Dead {
			e.Kind, e.Reason = audit.ConnectionDead, u.DeadReason
		}
		return db.appendEvents(ctx, tx, tenant, e)
	})
}

func storeTokens(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, id string, u *gtoken.Update) error {
	if u.Dead {
		_, err := tx.Exec(ctx, `UPDATE mappy.connection SET state = 'dead', dead_reason = $3, generation = generation + 1, updated_at = clock_timestamp()
			WHERE tenant_id = $1 AND connection_id = $2`, tenant, id, u.DeadReason)
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE mappy.connection SET refresh_token_sealed = coalesce($3, refresh_token_sealed), access_token_sealed = $4, access_expires_at = $5,
			generation = generation + 1, updated_at = clock_timestamp()
		WHERE tenant_id = $1 AND connection_id = $2`, tenant, id, u.RefreshTokenSealed, u.AccessTokenSealed, u.AccessExpiresAt)
	return err
}

var _ gtoken.Store = (*DB)(nil)
