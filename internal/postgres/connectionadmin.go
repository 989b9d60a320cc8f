package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
)

// removed is the dead reason of a connection that an operator took away. Its row stays, because locations and the audit
// point at it; its tokens do not.
const removed = "removed"

var connectionShape = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

const connectionWant = "1 to 63 small letters, digits, hyphens and underscores, of which the first is a letter or digit"

// AddConnection stores a Google account's sealed refresh token, or replaces it, the same one too: connecting anew brings a dead
// or removed connection to life. ShapeError for an id that is no id, ErrUnknown for a tenant that does not exist.
func (db *DB) AddConnection(ctx context.Context, tenant authn.TenantID, c SetupConnection, operator string) error {
	if !connectionShape.MatchString(c.ID) {
		return &ShapeError{Field: "connection_id", Value: c.ID, Want: connectionWant}
	}
	if len(c.RefreshTokenSealed) == 0 {
		return fmt.Errorf("connection %q: no refresh token", c.ID)
	}
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		events, err := saveConnection(ctx, tx, tenant, c, true)
		if err != nil {
			return fmt.Errorf("connection %s: %w", c.ID, err)
		}
		for i := range events {
			events[i].Actor.OperatorID = operator
		}
		return db.appendEvents(ctx, tx, tenant, events...)
	})
}

// RemoveConnection forgets a connection's tokens and takes its locations out of the mirror. Removing twice is success;
// ErrUnknown when there never was one. What waits for it is ended by EndWaiting, which callers run afterwards.
func (db *DB) RemoveConnection(ctx context.Context, tenant authn.TenantID, id, operator string) (locations int, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := readConnection(ctx, tx, tenant, id, "FOR UPDATE"); err != nil {
			return unknownConnection(id, err)
		}
		tag, err := tx.Exec(ctx, `UPDATE mappy.connection SET state = 'dead', dead_reason = $3, refresh_token_sealed = '', refresh_token_digest = NULL, access_token_sealed = NULL, access_expires_at = NULL,
				generation = generation + 1, updated_at = clock_timestamp()
			WHERE tenant_id = $1 AND connection_id = $2 AND dead_reason <> $3`, tenant, id, removed)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		tag, err = tx.Exec(ctx, `UPDATE mappy.location SET gone_at = clock_timestamp() WHERE tenant_id = $1 AND connection_id = $2 AND gone_at IS NULL`, tenant, id)
		if err != nil {
			return err
		}
		locations = int(tag.RowsAffected())
		return db.appendEvents(ctx, tx, tenant, audit.Event{
			Kind: audit.ConnectionRemoved, Resource: id, Result: removed, Actor: audit.Actor{OperatorID: operator}, Details: &audit.Details{TargetCount: locations},
		})
	})
	return locations, err
}

// Reseal puts a connection's tokens under another key, under the lock that refreshes take, and records it. fn gives nil to
// leave the row as it is. ErrUnknown when there is no such connection.
func (db *DB) Reseal(ctx context.Context, tenant authn.TenantID, id, operator string, fn func(c gtoken.Connection) (*gtoken.Resealed, error)) (done bool, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		done = false
		c, err := readConnection(ctx, tx, tenant, id, "FOR UPDATE")
		if err != nil {
			return unknownConnection(id, err)
		}
		r, err := fn(c)
		if err != nil || r == nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE mappy.connection SET refresh_token_sealed = $3, access_token_sealed = $4,
				access_expires_at = CASE WHEN $4::bytea IS NULL THEN NULL ELSE access_expires_at END, generation = generation + 1
			WHERE tenant_id = $1 AND connection_id = $2`, tenant, id, r.RefreshTokenSealed, r.AccessTokenSealed)
		if err != nil {
			return fmt.Errorf("connection %s: %w", id, err)
		}
		done = true
		return db.appendEvents(ctx, tx, tenant, audit.Event{
			Kind: audit.KeysRotated, Resource: id, Result: "resealed", Actor: audit.Actor{OperatorID: operator}, Details: &audit.Details{Note: fromKeys(r)},
		})
	})
	return done, err
}

func fromKeys(r *gtoken.Resealed) string {
	ids := make([]string, len(r.From))
	for i, id := range r.From {
		ids[i] = fmt.Sprint(id)
	}
	return "from key " + strings.Join(ids, ", ")
}

func unknownConnection(id string, err error) error {
	if errors.Is(err, gtoken.ErrNoConnection) {
		return fmt.Errorf("connection %q: %w", id, ErrUnknown)
	}
	return err
}
