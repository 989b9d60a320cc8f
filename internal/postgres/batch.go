package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
)

// continues is followed by a tool: whether item o, which undoes or retries another one, is of a batch of that tool and has not
// failed at it.
const continues = `o.state NOT IN ('failed', 'cancelled') AND (SELECT ob.operation FROM mappy.batch ob WHERE ob.tenant_id = o.tenant_id AND ob.batch_id = o.batch_id) = `

// batchColumns end with whether batch.undo would find something to take back.
const batchColumns = `b.batch_id, b.operation, b.status, b.environment, b.client_id, b.user_id, b.token_id, b.request_id, b.assurance, b.on_failure, b.stopped,
	b.target_count, b.success_count, b.failure_count, b.cancelled_count, b.unknown_count, b.created_at, b.send_deadline, b.started_at, b.finished_at, coalesce(b.origin_batch_id, ''),
	coalesce((SELECT i.kind FROM mappy.item i WHERE i.tenant_id = b.tenant_id AND i.batch_id = b.batch_id ORDER BY i.ordinal LIMIT 1), ''),
	b.finished_at IS NOT NULL AND EXISTS (SELECT 1 FROM mappy.item i WHERE i.tenant_id = b.tenant_id AND i.batch_id = b.batch_id AND i.executed = 'yes' AND NOT i.already AND i.kind <> 'report'
		AND NOT EXISTS (SELECT 1 FROM mappy.item o WHERE o.tenant_id = i.tenant_id AND o.origin_item_id = i.item_id AND ` + continues + `'batch.undo'))`

func scanBatch(row pgx.CollectableRow) (b batch.Batch, err error) {
	var started, finished *time.Time
	c := &b.Counts
	err = row.Scan(&b.ID, &b.Operation, &b.Status, &b.Environment, &b.Client, &b.User, &b.Token, &b.RequestID, &b.Assurance, &b.OnFailure, &b.Stopped,
		&c.Target, &c.Success, &c.Failure, &c.Cancelled, &c.Unknown, &b.CreatedAt, &b.SendDeadline, &started, &finished, &b.Origin, &b.Kind, &b.Undoable)
	if started != nil {
		b.StartedAt = *started
	}
	if finished != nil {
		b.FinishedAt = *finished
	}
	return b, err
}

// seen limits batches to those whose locations are all granted: one ungranted location hides the batch.
const seen = `NOT EXISTS (SELECT 1 FROM mappy.item gi JOIN mappy.location gl USING (tenant_id, location_id)
	WHERE gi.tenant_id = b.tenant_id AND gi.batch_id = b.batch_id AND NOT ($2 OR gl.labels && $3 OR gl.location_id = ANY ($4)))`

// Batch reads one batch that the grants let the caller see; ok is false for an absent and for a hidden one alike.
func (db *DB) Batch(ctx context.Context, tenant authn.TenantID, g authn.Grants, id batch.ID) (b batch.Batch, ok bool, err error) {
	var found []batch.Batch
	err = db.readInTenant(ctx, tenant, func(q *pgx.Batch) {
		collect(q, &found, scanBatch, oneBatch, tenant, g.All, list(g.Labels), list(g.LocationIDs), id)
	})
	if err != nil || len(found) == 0 {
		return b, false, err
	}
	found[0].Tenant = tenant
	return found[0], true, nil
}

const oneBatch = `SELECT ` + batchColumns + ` FROM mappy.batch b WHERE b.tenant_id = $1 AND b.batch_id = $5 AND ` + seen

func findBatch(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, g authn.Grants, id batch.ID) (batch.Batch, bool, error) {
	rows, err := tx.Query(ctx, oneBatch, tenant, g.All, list(g.Labels), list(g.LocationIDs), id)
	if err != nil {
		return batch.Batch{}, false, err
	}
	b, err := pgx.CollectExactlyOneRow(rows, scanBatch)
	if errors.Is(err, pgx.ErrNoRows) {
		return batch.Batch{}, false, nil
	}
	b.Tenant = tenant
	return b, err == nil, err
}

// Batches lists batches that the grants let the caller see, newest first.
func (db *DB) Batches(ctx context.Context, tenant authn.TenantID, f batch.Filter) (out []batch.Batch, err error) {
	g := f.Grants
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, scanBatch, `SELECT `+batchColumns+` FROM mappy.batch b WHERE b.tenant_id = $1 AND `+seen+`
			AND ($5 = '' OR b.status = $5) AND ($6::timestamptz IS NULL OR b.created_at >= $6) AND ($7 = '' OR b.user_id = $7) AND ($8 = '' OR b.batch_id < $8)
			ORDER BY b.batch_id DESC LIMIT $9`,
			tenant, g.All, list(g.Labels), list(g.LocationIDs), f.Status, nullTime(f.Since), f.User, f.Before, f.Limit)
	})
	return out, err
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// BatchItems reads one batch as Batch does, and of the same moment its items in the order of their targets.
func (db *DB) BatchItems(ctx context.Context, tenant authn.TenantID, g authn.Grants, id batch.ID, f batch.ItemFilter) (b batch.Batch, items []batch.Item, ok bool, err error) {
	var found []batch.Batch
	err = db.readInTenant(ctx, tenant, func(q *pgx.Batch) {
		collect(q, &found, scanBatch, oneBatch, tenant, g.All, list(g.Labels), list(g.LocationIDs), id)
		collect(q, &items, scanItem, `
			SELECT `+itemColumns+`
			FROM mappy.item i WHERE i.tenant_id = $1 AND i.batch_id = $2 AND i.ordinal >= $3 AND (NOT $4 OR i.state IN ('failed', 'unknown'))
			ORDER BY i.ordinal LIMIT nullif($5, 0)`, tenant, id, f.From, f.FailuresOnly, f.Limit)
	})
	if err != nil || len(found) == 0 {
		return b, nil, false, err
	}
	found[0].Tenant = tenant
	return found[0], items, true, nil
}

const itemColumns = `i.item_id, i.batch_id, i.ordinal, i.operation, i.location_id, i.connection_id, i.google_account, i.google_location, i.title, i.kind, i.state,
	coalesce(i.target_name, ''), coalesce(i.target_id, ''), coalesce(i.expected_version, ''), i.payload, i.mask, i.fingerprint, coalesce(i.origin_item_id, ''),
	i.already, i.before, i.state_after, coalesce(i.version, ''), coalesce(i.publication, ''), coalesce(i.resource_name, ''), coalesce(i.resource_id, ''),
	coalesce(i.error_code, ''), i.error, i.retry_possible, i.executed, i.attempts, i.google_calls, i.units, i.created_at, i.finished_at`

func scanItem(row pgx.CollectableRow) (i batch.Item, err error) { return scanItemAnd(row) }

// scanItemAnd reads itemColumns and what follows them.
func scanItemAnd(row pgx.CollectableRow, more ...any) (i batch.Item, err error) {
	var detail, before, after []byte
	var finished *time.Time
	err = row.Scan(append([]any{
		&i.ID, &i.Batch, &i.Ordinal, &i.Operation, &i.Location, &i.Connection, &i.Account, &i.LocationName, &i.Title, &i.Kind, &i.State,
		&i.TargetName, &i.TargetID, &i.Expected, &i.Payload, &i.Mask, &i.Fingerprint, &i.Origin,
		&i.Already, &before, &after, &i.Version, &i.Publication, &i.ResourceName, &i.ResourceID,
		&i.ErrorCode, &detail, &i.RetryPossible, &i.Executed, &i.Attempts, &i.GoogleCalls, &i.Units, &i.CreatedAt, &finished,
	}, more...)...)
	if err != nil {
		return i, err
	}
	i.Before, i.After = before, after
	if finished != nil {
		i.FinishedAt = *finished
	}
	if detail != nil {
		err = json.Unmarshal(detail, &i.Error)
	}
	return i, err
}

// Prior implements admission.Store.
func (db *DB) Prior(ctx context.Context, tenant authn.TenantID, g authn.Grants, id batch.ID, by string) (b batch.Batch, items []admission.Prior, ok bool, err error) {
	var found []batch.Batch
	err = db.readInTenant(ctx, tenant, func(q *pgx.Batch) {
		collect(q, &found, scanBatch, oneBatch, tenant, g.All, list(g.Labels), list(g.LocationIDs), id)
		collect(q, &items, scanPrior, `
			SELECT `+itemColumns+`, b.operation, EXISTS (SELECT 1 FROM mappy.item o WHERE o.tenant_id = i.tenant_id AND o.origin_item_id = i.item_id AND `+continues+`$3)
			FROM mappy.item i JOIN mappy.batch b ON b.tenant_id = i.tenant_id AND b.batch_id = i.batch_id
			WHERE i.tenant_id = $1 AND i.batch_id = $2 ORDER BY i.ordinal`, tenant, id, by)
	})
	if err != nil || len(found) == 0 {
		return b, nil, false, err
	}
	found[0].Tenant = tenant
	return found[0], items, true, nil
}

func scanPrior(row pgx.CollectableRow) (p admission.Prior, err error) {
	p.Item, err = scanItemAnd(row, &p.Tool, &p.Continued)
	return p, err
}

// Cancel stops a batch: a queued one as a whole, or, with scope "remaining", what a processing one has not started. It and
// the start of the batch's first item are one race on the batch's row; exactly one wins, and the answer is read under the
// lock. The error is BATCH_NOT_FOUND or BATCH_NOT_CANCELLABLE.
func (db *DB) Cancel(ctx context.Context, p *authn.Principal, id batch.ID, requestID string) (c batch.Cancellation, err error) {
	refused := false
	err = db.InTenant(ctx, p.TenantID, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT 1 FROM mappy.batch WHERE tenant_id = $1 AND batch_id = $2 FOR UPDATE`, p.TenantID, id); err != nil {
			return err
		}
		b, ok, err := findBatch(ctx, tx, p.TenantID, p.Grants, id)
		if err != nil {
			return err
		}
		if !ok {
			return admission.BatchNotFound(id)
		}
		if b.User != p.UserID && !p.HasScope("batches:manage") {
			return errs.New(errs.InsufficientScope, errs.T("他の利用者のバッチを取り消すには batches:manage が必要です。", "Cancelling somebody else's batch needs batches:manage.")).
				With(errs.Details{RequiredScope: "batches:manage"})
		}
		c.Batch = b
		allowed := b.Status == batch.Queued || b.Status == batch.AwaitingApproval || b.Status == batch.Processing && p.Policy.CancelScope == policy.CancelRemaining
		switch {
		case b.Status == batch.Cancelled:
			c.Already = true
		case allowed:
			if err := db.cancelLocked(ctx, tx, b); err != nil {
				return err
			}
		default:
			refused = true
		}
		if c.Batch, _, err = findBatch(ctx, tx, p.TenantID, p.Grants, id); err != nil {
			return err
		}
		c.InFlight = c.Batch.Counts.Pending() // an item that a runner held just now may be on its way, whatever its row says
		if refused {
			err = tx.QueryRow(ctx, `SELECT count(*) FROM mappy.item WHERE tenant_id = $1 AND batch_id = $2 AND state = 'processing'`, p.TenantID, id).Scan(&c.InFlight)
			if err != nil {
				return err
			}
		}
		return db.appendEvents(ctx, tx, p.TenantID, cancelEvent(p, requestID, c, !refused))
	})
	if err == nil && refused {
		err = notCancellable(c)
	}
	return c, err
}

func (db *DB) cancelLocked(ctx context.Context, tx pgx.Tx, b batch.Batch) error {
	if _, err := tx.Exec(ctx, `UPDATE mappy.batch SET cancel_requested = true WHERE tenant_id = $1 AND batch_id = $2`, b.Tenant, b.ID); err != nil {
		return err
	}
	n, err := db.endQueued(ctx, tx, b.Tenant, b, batch.ItemCancelled, errs.Cancelled)
	if err != nil {
		return err
	}
	return db.count(ctx, tx, b.Tenant, b, n)
}

func cancelEvent(p *authn.Principal, requestID string, c batch.Cancellation, allowed bool) audit.Event {
	counts := c.Batch.Counts.Public()
	e := audit.Event{
		Kind: audit.CancelRequested, RequestID: requestID, Actor: audit.ActorOf(p), Tool: "batch.cancel", Operation: "batch.cancel", BatchID: string(c.Batch.ID),
		Result: "allowed", Details: &audit.Details{Allowed: &allowed, Counts: &counts},
	}
	if !allowed {
		e.Result, e.ErrorCode = "denied", errs.BatchNotCancellable
	}
	return e
}

func notCancellable(c batch.Cancellation) error {
	counts := c.Batch.Counts.Public()
	done, waiting := c.Batch.Counts.Target-counts.Pending, counts.Pending-c.InFlight
	return errs.New(errs.BatchNotCancellable, errs.Tf("状態が %[1]s のため取り消せません (完了 %[2]d、実行中 %[3]d、未開始 %[4]d)。",
		"The batch is %[1]s and cannot be cancelled (%[2]d done, %[3]d in flight, %[4]d not started).", c.Batch.Status, done, c.InFlight, waiting)).
		With(errs.Details{BatchID: string(c.Batch.ID), BatchStatus: string(c.Batch.Status), Counts: &counts})
}

// BatchVersion is a word that changes with every change of a batch, for waiting.
func (db *DB) BatchVersion(ctx context.Context, tenant authn.TenantID, id batch.ID) (status batch.Status, done int, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(`SELECT status, success_count + failure_count + cancelled_count + unknown_count FROM mappy.batch WHERE tenant_id = $1 AND batch_id = $2`, tenant, id).
			QueryRow(func(row pgx.Row) error { return row.Scan(&status, &done) })
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("batch %s: %w", id, ErrUnknown)
	}
	return status, done, err
}
