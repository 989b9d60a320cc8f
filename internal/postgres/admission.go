package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
)

// FindAnswer implements admission.Store.
func (db *DB) FindAnswer(ctx context.Context, k idempotency.Key) (found *admission.Answered, err error) {
	err = db.InTenant(ctx, k.Tenant, func(tx pgx.Tx) error {
		found, err = findAnswer(ctx, tx, k)
		return err
	})
	return found, err
}

func findAnswer(ctx context.Context, tx pgx.Tx, k idempotency.Key) (*admission.Answered, error) {
	var a admission.Answered
	c := &a.Counts
	err := tx.QueryRow(ctx, `
		SELECT i.input_hash, i.canonical_input, i.response, i.batch_id, b.created_at, b.status, b.target_count, b.success_count, b.failure_count, b.cancelled_count, b.unknown_count
		FROM mappy.idempotency i JOIN mappy.batch b USING (tenant_id, batch_id)
		WHERE i.tenant_id = $1 AND i.client_id = $2 AND i.user_id = $3 AND i.tool = $4 AND i.source = $5 AND i.key_hash = $6 AND i.expires_at > clock_timestamp()`,
		k.Tenant, k.Client, k.User, k.Tool, k.Source, k.Hash()).
		Scan(&a.InputHash, &a.Canonical, &a.Response, &a.BatchID, &a.AcceptedAt, &a.Status, &c.Target, &c.Success, &c.Failure, &c.Cancelled, &c.Unknown)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no answer yet is an answer, and the interface says so
	}
	if err != nil {
		return nil, fmt.Errorf("idempotency: %w", err)
	}
	rows, err := tx.Query(ctx, `SELECT location_id, coalesce(resource_id, ''), state, coalesce(to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '')
		FROM mappy.item WHERE tenant_id = $1 AND batch_id = $2 ORDER BY ordinal LIMIT 20`, k.Tenant, a.BatchID)
	if err != nil {
		return nil, fmt.Errorf("idempotency: %w", err)
	}
	a.Outcomes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[errs.FirstOutcome])
	return &a, err
}

// DeadConnections implements admission.Store.
func (db *DB) DeadConnections(ctx context.Context, tenant authn.TenantID) (out []string, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT connection_id FROM mappy.connection WHERE tenant_id = $1 AND state = 'dead'`, tenant)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return out, err
}

// Recent implements admission.Store.
func (db *DB) Recent(ctx context.Context, tenant authn.TenantID, places []admission.Place) (map[gbp.LocationID]admission.Recent, error) {
	locations := make([]int64, len(places))
	prints := make([][]byte, len(places))
	for i, p := range places {
		locations[i], prints[i] = int64(p.Location), p.Fingerprint
	}
	out := make(map[gbp.LocationID]admission.Recent, len(places))
	err := db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT p.location_id,
			       (SELECT max(i.finished_at) FROM mappy.item i WHERE i.tenant_id = $1 AND i.location_id = p.location_id
			          AND i.operation = 'post.create' AND i.state = 'succeeded' AND i.finished_at > now() - interval '1 day'),
			       (SELECT max(i.created_at) FROM mappy.item i WHERE i.tenant_id = $1 AND i.location_id = p.location_id AND i.fingerprint = p.fingerprint
			          AND i.state IN ('queued', 'processing', 'unknown', 'succeeded') AND i.created_at > now() - interval '1 day')
			FROM unnest($2::bigint[], $3::bytea[]) AS p (location_id, fingerprint)`, tenant, locations, prints)
		if err != nil {
			return err
		}
		var id int64
		var last, same *time.Time
		_, err = pgx.ForEachRow(rows, []any{&id, &last, &same}, func() error {
			var r admission.Recent
			if last != nil {
				r.LastPostAt = *last
			}
			if same != nil {
				r.SameContentAt = *same
			}
			out[gbp.LocationID(id)] = r
			return nil
		})
		return err
	})
	return out, err
}

// OwnContacts implements admission.Store.
func (db *DB) OwnContacts(ctx context.Context, tenant authn.TenantID) (c admission.Contacts, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT DISTINCT coalesce(profile->>'website_url', ''), coalesce(profile->>'primary_phone', '')
			FROM mappy.location WHERE tenant_id = $1 AND gone_at IS NULL`, tenant)
		if err != nil {
			return err
		}
		var site, phone string
		_, err = pgx.ForEachRow(rows, []any{&site, &phone}, func() error {
			if d := gbp.Domain(site); d != "" {
				c.Domains = append(c.Domains, d)
			}
			if phone != "" {
				c.Phones = append(c.Phones, phone)
			}
			return nil
		})
		return err
	})
	return c, err
}

// TokenSpentBy implements admission.Store.
func (db *DB) TokenSpentBy(ctx context.Context, tenant authn.TenantID, tokenHash []byte) (id batch.ID, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		id, err = tokenSpentBy(ctx, tx, tenant, tokenHash)
		return err
	})
	return id, err
}

func tokenSpentBy(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, tokenHash []byte) (batch.ID, error) {
	var id batch.ID
	err := tx.QueryRow(ctx, `SELECT batch_id FROM mappy.batch WHERE tenant_id = $1 AND confirm_token_hash = $2`, tenant, tokenHash).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// errSlower ends a submission whose key got its answer from another call meanwhile.
var errSlower = errors.New("another call with this key was faster")

// Enqueue implements admission.Store. The idempotency row comes first: a second call with the same key waits on it until
// the first has committed or rolled back, and then either finds the answer or goes on. An expired row is taken over.
func (db *DB) Enqueue(ctx context.Context, s admission.Submission) (*admission.Answered, error) {
	err := db.InTenant(ctx, s.Batch.Tenant, func(tx pgx.Tx) error {
		if err := db.claimKey(ctx, tx, s); err != nil {
			return err
		}
		if err := db.checkKill(ctx, tx, s.Batch); err != nil {
			return err
		}
		if err := db.insertBatch(ctx, tx, s); err != nil {
			return err
		}
		return db.insertJobs(ctx, tx, s)
	})
	switch {
	case errors.Is(err, errSlower):
		return db.winner(ctx, s)
	case constraint(err) == "batch_confirm_token_key":
		return nil, db.tokenUsed(ctx, s)
	case err != nil:
		return nil, err
	}
	return &admission.Answered{InputHash: s.Batch.InputHash, Response: s.Response, BatchID: s.Batch.ID, Status: s.Batch.Status, Counts: s.Batch.Counts, Fresh: true}, nil
}

func (db *DB) winner(ctx context.Context, s admission.Submission) (*admission.Answered, error) {
	found, err := db.FindAnswer(ctx, s.Key)
	if err == nil && found == nil { // it expired in this very moment
		err = errs.New(errs.IdempotencyInProgress, errs.T("同じ idempotency_key の呼び出しを受付処理中です。", "A call with the same idempotency_key is being admitted.")).After(time.Second)
	}
	return found, err
}

func (db *DB) tokenUsed(ctx context.Context, s admission.Submission) error {
	by, err := db.TokenSpentBy(ctx, s.Batch.Tenant, s.Batch.ConfirmTokenHash)
	if err != nil {
		return err
	}
	return admission.TokenUsed(by)
}

func (db *DB) claimKey(ctx context.Context, tx pgx.Tx, s admission.Submission) error {
	k := s.Key
	tag, err := tx.Exec(ctx, `
		INSERT INTO mappy.idempotency AS i (tenant_id, client_id, user_id, tool, source, key_hash, input_hash, canonical_input, batch_id, response, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp() + $11::interval)
		ON CONFLICT ON CONSTRAINT idempotency_pkey DO UPDATE
		SET input_hash = EXCLUDED.input_hash, canonical_input = EXCLUDED.canonical_input, batch_id = EXCLUDED.batch_id, response = EXCLUDED.response,
		    created_at = clock_timestamp(), expires_at = EXCLUDED.expires_at
		WHERE i.expires_at <= clock_timestamp()`,
		k.Tenant, k.Client, k.User, k.Tool, k.Source, k.Hash(), s.Batch.InputHash, s.Batch.Canonical, s.Batch.ID, s.Response, s.KeyExpires)
	if err != nil {
		return fmt.Errorf("idempotency: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return errSlower
	}
	return nil
}

// checkKill reads the switches again inside the transaction: one that was thrown since the call began still stops it.
func (db *DB) checkKill(ctx context.Context, tx pgx.Tx, b batch.Batch) error {
	rows, err := tx.Query(ctx, `SELECT kind, target, reason FROM mappy.kill_switch WHERE tenant_id IN ($1, 'system')`, b.Tenant)
	if err != nil {
		return fmt.Errorf("kill switch: %w", err)
	}
	on, err := pgx.CollectRows(rows, pgx.RowToStructByPos[authn.KillSwitch])
	if err != nil {
		return fmt.Errorf("kill switch: %w", err)
	}
	if k, stop := authn.Stops(on, b.Client, b.Operation); stop {
		return admission.Killed(k)
	}
	return nil
}

func (db *DB) insertBatch(ctx context.Context, tx pgx.Tx, s admission.Submission) error {
	b := s.Batch
	w := &pgx.Batch{}
	w.Queue(`INSERT INTO mappy.batch (tenant_id, batch_id, operation, status, environment, client_id, user_id, token_id, request_id, assurance, policy_version, locale,
			on_failure, canonical_input, input_hash, preview_digest, confirm_token_hash, target_count, send_deadline)
		VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, clock_timestamp() + $18::interval)`,
		b.Tenant, b.ID, b.Operation, b.Environment, b.Client, b.User, b.Token, b.RequestID, b.Assurance, b.PolicyVersion, b.Locale,
		b.OnFailure, b.Canonical, b.InputHash, b.PreviewDigest, b.ConfirmTokenHash, b.Counts.Target, s.SendWithin)
	for _, i := range s.Items {
		w.Queue(`INSERT INTO mappy.item (tenant_id, item_id, batch_id, ordinal, operation, location_id, connection_id, google_account, google_location, title, payload, fingerprint)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			b.Tenant, i.ID, i.Batch, i.Ordinal, i.Operation, i.Location, i.Connection, i.Account, i.LocationName, i.Title, i.Payload, i.Fingerprint)
	}
	for _, e := range s.Events {
		db.queueEvent(w, b.Tenant, e)
	}
	if err := tx.SendBatch(ctx, w).Close(); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	return nil
}

func (db *DB) insertJobs(ctx context.Context, tx pgx.Tx, s admission.Submission) error {
	params := make([]river.InsertManyParams, len(s.Items))
	for i, it := range s.Items {
		params[i] = river.InsertManyParams{
			Args:       queue.ItemArgs{TenantID: string(s.Batch.Tenant), ItemID: string(it.ID)},
			InsertOpts: &river.InsertOpts{Queue: queue.For(len(s.Items))},
		}
	}
	rows, err := db.jobs.InsertManyTx(ctx, tx, params)
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	items, jobs := make([]string, len(rows)), make([]int64, len(rows))
	for i, r := range rows { // River answers in the order of the parameters
		items[i], jobs[i] = string(s.Items[i].ID), r.Job.ID
	}
	_, err = tx.Exec(ctx, `UPDATE mappy.item i SET river_job_id = j.job FROM unnest($2::text[], $3::bigint[]) AS j (item, job)
		WHERE i.tenant_id = $1 AND i.item_id = j.item`, s.Batch.Tenant, items, jobs)
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}

var _ admission.Store = (*DB)(nil)
