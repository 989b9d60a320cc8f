package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
)

// Record appends events in a transaction of their own: for refusals, previews and whatever changes nothing else.
func (db *DB) Record(ctx context.Context, tenant authn.TenantID, events ...audit.Event) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error { return db.appendEvents(ctx, tx, tenant, events...) })
}

// appendEvents writes events in the caller's transaction, completing id, tenant, environment and time.
func (db *DB) appendEvents(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, events ...audit.Event) error {
	if len(events) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	for _, e := range events {
		db.queueEvent(b, tenant, e)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

func (db *DB) queueEvent(b *pgx.Batch, tenant authn.TenantID, e audit.Event) {
	e.ID, e.Tenant, e.Environment = db.ids.New(), tenant, db.environment
	if e.OccurredAt.IsZero() {
		e.OccurredAt = db.now()
	}
	e.OccurredAt = e.OccurredAt.UTC().Truncate(time.Microsecond) // what PostgreSQL keeps
	b.Queue(`INSERT INTO mappy.audit_event (tenant_id, event_id, occurred_at, event, request_id, client_id, user_id, tool, location_id, batch_id, item_id, result, error_code, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		e.Tenant, e.ID, e.OccurredAt, e.Kind, e.RequestID, e.Actor.ClientID, e.Actor.UserID, e.Tool, e.LocationID, e.BatchID, e.ItemID, e.Result, e.ErrorCode, e.Body())
}
