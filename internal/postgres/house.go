package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// sealBatch bounds one seal; the next run goes on behind it.
const sealBatch = 5000

// Seal implements worker.Housekeeper. Ids and times are handed out before a transaction commits, so neither tells when
// everything up to a point is there; the snapshot's horizon does: below it every transaction is over.
func (db *DB) Seal(ctx context.Context, tenant authn.TenantID) (n int, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('mappy.audit.seal.' || $1, 0))`, tenant); err != nil {
			return err
		}
		n, err = sealOnce(ctx, tx, tenant)
		return err
	})
	return n, err
}

func sealOnce(ctx context.Context, tx pgx.Tx, tenant authn.TenantID) (int, error) {
	s := audit.Seal{Tenant: tenant, No: 1, From: "0", Prev: []byte{}}
	err := tx.QueryRow(ctx, `SELECT seal_no + 1, upto_txid::text, hash FROM mappy.audit_seal WHERE tenant_id = $1 ORDER BY seal_no DESC LIMIT 1`, tenant).Scan(&s.No, &s.From, &s.Prev)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("seal: %w", err)
	}
	// The order is that of the numbers: a bare "txid" would mean the text in the list.
	rows, err := tx.Query(ctx, `SELECT e.event_id, e.body, e.txid::text, pg_snapshot_xmin(pg_current_snapshot())::text FROM mappy.audit_event e
		WHERE e.tenant_id = $1 AND e.txid >= $2::xid8 AND e.txid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY e.txid, e.event_id LIMIT $3`, tenant, s.From, sealBatch+1)
	if err != nil {
		return 0, fmt.Errorf("seal: %w", err)
	}
	type found struct {
		ID            string
		Body          []byte
		Txid, Horizon string
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[found])
	if err != nil || len(events) == 0 {
		return 0, err
	}
	s.Upto = events[0].Horizon
	if len(events) > sealBatch { // end before the transaction that would be cut in two
		s.Upto = events[sealBatch].Txid
		for len(events) > 0 && events[len(events)-1].Txid == s.Upto {
			events = events[:len(events)-1]
		}
	}
	for _, e := range events {
		s.Add(e.ID, e.Body)
	}
	if len(s.Leaves) == 0 {
		return 0, fmt.Errorf("seal: one transaction has more than %d events", sealBatch)
	}
	return len(s.Leaves), insertSeal(ctx, tx, s)
}

func insertSeal(ctx context.Context, tx pgx.Tx, s audit.Seal) error {
	_, err := tx.Exec(ctx, `INSERT INTO mappy.audit_seal (tenant_id, seal_no, from_txid, upto_txid, n, digest, prev, hash) VALUES ($1, $2, $3::xid8, $4::xid8, $5, $6, $7, $8)`,
		s.Tenant, s.No, s.From, s.Upto, len(s.Leaves), s.Digest(), s.Prev, s.Hash())
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	ids, leaves := make([]string, len(s.Leaves)), make([][]byte, len(s.Leaves))
	for i, l := range s.Leaves {
		ids[i], leaves[i] = l.EventID, l.Hash
	}
	// COPY is not possible under row-level security.
	_, err = tx.Exec(ctx, `INSERT INTO mappy.audit_leaf (tenant_id, seal_no, ordinal, event_id, leaf)
		SELECT $1, $2, o - 1, e, l FROM unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS u (e, l, o)`, s.Tenant, s.No, ids, leaves)
	if err != nil {
		return fmt.Errorf("seal: leaves: %w", err)
	}
	return nil
}

// PrepareAudit implements worker.Housekeeper.
func (db *DB) PrepareAudit(ctx context.Context) error {
	_, err := db.pool.Exec(ctx, `SELECT mappy.make_audit_partitions()`)
	return unavailable(err)
}

// Sweep implements worker.Housekeeper: an item that is not decided and has no job that could run gets a new one. River keeps
// finished jobs for a day, so a lost job is seen as finished, discarded or absent.
func (db *DB) Sweep(ctx context.Context, tenant authn.TenantID) (n int, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT i.item_id, b.target_count FROM mappy.item i JOIN mappy.batch b USING (tenant_id, batch_id)
			LEFT JOIN river.river_job j ON j.id = i.river_job_id
			WHERE i.tenant_id = $1 AND i.state IN ('queued', 'processing') AND (j.id IS NULL OR j.state IN ('completed', 'cancelled', 'discarded'))
			ORDER BY i.item_id LIMIT 1000 FOR UPDATE OF i SKIP LOCKED`, tenant)
		if err != nil {
			return err
		}
		type lost struct {
			ID      string
			Targets int
		}
		items, err := pgx.CollectRows(rows, pgx.RowToStructByPos[lost])
		if err != nil {
			return err
		}
		for _, i := range items {
			job, err := db.jobs.InsertTx(ctx, tx, queue.ItemArgs{TenantID: string(tenant), ItemID: i.ID}, &river.InsertOpts{Queue: queue.For(i.Targets)})
			if err != nil {
				return fmt.Errorf("sweep: %w", err)
			}
			if _, err := tx.Exec(ctx, `UPDATE mappy.item SET river_job_id = $3 WHERE tenant_id = $1 AND item_id = $2`, tenant, i.ID, job.Job.ID); err != nil {
				return fmt.Errorf("sweep: %w", err)
			}
		}
		n = len(items)
		_, err = tx.Exec(ctx, `DELETE FROM mappy.idempotency WHERE tenant_id = $1 AND expires_at < clock_timestamp() - interval '1 hour'`, tenant)
		return err
	})
	return n, err
}

var _ worker.Housekeeper = (*DB)(nil)
