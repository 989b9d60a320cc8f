package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// waits is an undecided item i of a dead connection, without an attempt that may have had its effect. A connection that was
// connected again meanwhile ends nothing.
const waits = `i.state IN ('queued', 'processing')
	AND NOT EXISTS (SELECT 1 FROM mappy.attempt a WHERE a.tenant_id = i.tenant_id AND a.item_id = i.item_id AND a.state = 'open')
	AND EXISTS (SELECT 1 FROM mappy.connection c WHERE c.tenant_id = i.tenant_id AND c.connection_id = i.connection_id AND c.state = 'dead')`

// EndWaiting implements worker.Store. One transaction per batch: a batch that fails does not keep the others waiting.
func (db *DB) EndWaiting(ctx context.Context, tenant authn.TenantID, connection string) (ended []worker.Ended, err error) {
	var found []batch.Batch
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &found, scanBatch, `SELECT `+batchColumns+` FROM mappy.batch b WHERE b.tenant_id = $1 AND b.finished_at IS NULL
			AND EXISTS (SELECT 1 FROM mappy.item i WHERE i.tenant_id = $1 AND i.batch_id = b.batch_id AND i.connection_id = $2 AND `+waits+`) ORDER BY b.batch_id`, tenant, connection)
	})
	failed := []error{err}
	for _, b := range found {
		n := 0
		err := db.InTenant(ctx, tenant, func(tx pgx.Tx) (err error) {
			n, err = db.endWaitingOf(ctx, tx, tenant, b, connection)
			return err
		})
		if err == nil && n > 0 {
			ended = append(ended, worker.Ended{Batch: b.ID, Operation: b.Operation, Items: n})
		}
		failed = append(failed, err)
	}
	return ended, errors.Join(failed...)
}

// endWaitingOf takes the batch's row before its items, as a cancellation does, and skips items that a runner holds: that
// runner reads the connection before it sends.
func (db *DB) endWaitingOf(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, b batch.Batch, connection string) (int, error) {
	const code = errs.GoogleReconnectRequired
	if _, err := tx.Exec(ctx, `SELECT 1 FROM mappy.batch WHERE tenant_id = $1 AND batch_id = $2 FOR UPDATE`, tenant, b.ID); err != nil {
		return 0, fmt.Errorf("end waiting: %w", err)
	}
	detail, err := endDetail(code)
	if err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, `
		WITH free AS (SELECT i.item_id FROM mappy.item i WHERE i.tenant_id = $1 AND i.batch_id = $2 AND i.connection_id = $3 AND `+waits+` ORDER BY i.item_id FOR UPDATE SKIP LOCKED)
		UPDATE mappy.item i SET state = 'failed', error_code = $4, error = $5, retry_possible = $6, executed = 'no', not_before = NULL, finished_at = clock_timestamp()
		FROM free WHERE i.tenant_id = $1 AND i.item_id = free.item_id AND `+waits+` RETURNING i.item_id, i.location_id, i.operation`,
		tenant, b.ID, connection, code, detail, batch.RetryPossible(code))
	if err != nil {
		return 0, fmt.Errorf("end waiting: %w", err)
	}
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i batch.Item, err error) {
		i.Batch = b.ID
		return i, row.Scan(&i.ID, &i.Location, &i.Operation)
	})
	if err != nil || len(items) == 0 {
		return 0, err
	}
	events := make([]audit.Event, len(items))
	for n, i := range items {
		events[n] = endEvent(i, b, batch.ItemFailed, code)
	}
	if err := db.appendEvents(ctx, tx, tenant, events...); err != nil {
		return 0, err
	}
	return len(items), db.count(ctx, tx, tenant, b, delta(batch.ItemFailed, len(items)))
}

// Dead implements worker.Housekeeper.
func (db *DB) Dead(ctx context.Context, tenant authn.TenantID) (connections []string, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &connections, pgx.RowTo[string], `SELECT connection_id FROM mappy.connection WHERE tenant_id = $1 AND state = 'dead' ORDER BY connection_id`, tenant)
	})
	return connections, err
}
