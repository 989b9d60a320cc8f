package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
)

// superseded tells whether a derived key i has stopped matching: a later write to one of its targets was accepted, so the
// same words are a new effect. For what its batch created only deleting it counts.
const superseded = `i.source = 'derived' AND EXISTS (SELECT 1 FROM mappy.item t JOIN mappy.item later ON later.tenant_id = t.tenant_id
	AND later.target_name = coalesce(t.target_name, t.resource_name) AND later.item_id > t.item_id AND later.batch_id <> t.batch_id
	WHERE t.tenant_id = i.tenant_id AND t.batch_id = i.batch_id AND (t.target_name IS NOT NULL OR later.operation IN ('post.delete', 'media.delete')))`

// FindAnswer implements admission.Store.
func (db *DB) FindAnswer(ctx context.Context, k idempotency.Key) (*admission.Answered, error) {
	var found []admission.Answered
	var outcomes []errs.FirstOutcome
	err := db.readInTenant(ctx, k.Tenant, func(b *pgx.Batch) {
		live := `i.tenant_id = $1 AND i.client_id = $2 AND i.user_id = $3 AND i.tool = $4 AND i.source = $5 AND i.key_hash = $6 AND i.expires_at > clock_timestamp() AND NOT (` + superseded + `)`
		args := []any{k.Tenant, k.Client, k.User, k.Tool, k.Source, k.Hash()}
		collect(b, &found, scanAnswered, `
			SELECT i.input_hash, i.canonical_input, i.response, i.batch_id, b.created_at, b.status, b.target_count, b.success_count, b.failure_count, b.cancelled_count, b.unknown_count
			FROM mappy.idempotency i JOIN mappy.batch b USING (tenant_id, batch_id) WHERE `+live, args...)
		collect(b, &outcomes, pgx.RowToStructByPos[errs.FirstOutcome], `
			SELECT t.location_id, coalesce(t.resource_id, ''), t.state, coalesce(to_char(t.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '')
			FROM mappy.idempotency i JOIN mappy.item t USING (tenant_id, batch_id) WHERE `+live+` ORDER BY t.ordinal LIMIT 20`, args...)
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	found[0].Outcomes = outcomes
	return &found[0], nil
}

func scanAnswered(row pgx.CollectableRow) (a admission.Answered, err error) {
	c := &a.Counts
	return a, row.Scan(&a.InputHash, &a.Canonical, &a.Response, &a.BatchID, &a.AcceptedAt, &a.Status, &c.Target, &c.Success, &c.Failure, &c.Cancelled, &c.Unknown)
}

// Targets implements admission.Store.
func (db *DB) Targets(ctx context.Context, tenant authn.TenantID, ids []gbp.LocationID) (found []gbp.Location, dead []string, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		queueLocations(b, &found, tenant, ids)
		collect(b, &dead, pgx.RowTo[string], `SELECT connection_id FROM mappy.connection WHERE tenant_id = $1 AND state = 'dead'`, tenant)
	})
	return found, dead, err
}

// Recent implements admission.Store.
func (db *DB) Recent(ctx context.Context, tenant authn.TenantID, places []admission.Place) (map[gbp.LocationID]admission.Recent, error) {
	locations := make([]int64, len(places))
	prints := make([][]byte, len(places))
	for i, p := range places {
		locations[i], prints[i] = int64(p.Location), p.Fingerprint
	}
	type row struct {
		ID         gbp.LocationID
		Last, Same *time.Time
	}
	var rows []row
	err := db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &rows, pgx.RowToStructByPos[row], `
			SELECT p.location_id,
			       (SELECT i.finished_at FROM mappy.item i WHERE i.tenant_id = $1 AND i.location_id = p.location_id
			          AND i.operation = 'post.create' AND i.state = 'succeeded' ORDER BY i.finished_at DESC LIMIT 1),
			       (SELECT max(i.created_at) FROM mappy.item i WHERE i.tenant_id = $1 AND i.location_id = p.location_id AND i.fingerprint = p.fingerprint
			          AND i.created_at > now() - interval '1 day' AND i.state IN ('queued', 'processing', 'unknown', 'succeeded'))
			FROM unnest($2::bigint[], $3::bytea[]) AS p (location_id, fingerprint)`, tenant, locations, prints)
	})
	out := make(map[gbp.LocationID]admission.Recent, len(rows))
	for _, r := range rows {
		var recent admission.Recent
		if r.Last != nil {
			recent.LastPostAt = *r.Last
		}
		if r.Same != nil {
			recent.SameContentAt = *r.Same
		} else {
			recent.SameContentAt = out[r.ID].SameContentAt // of another content for the same location
		}
		out[r.ID] = recent
	}
	return out, err
}

// OwnContacts implements admission.Store.
func (db *DB) OwnContacts(ctx context.Context, tenant authn.TenantID) (c admission.Contacts, err error) {
	type row struct {
		Site, Phone string
		Additional  []string
	}
	var rows []row
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &rows, pgx.RowToStructByPos[row], `SELECT DISTINCT coalesce(profile->>'website_url', ''), coalesce(profile->>'primary_phone', ''), coalesce(profile->'additional_phones', '[]')
			FROM mappy.location WHERE tenant_id = $1 AND gone_at IS NULL`, tenant)
	})
	for _, r := range rows {
		if d := gbp.OwnSite(r.Site); d != "" {
			c.Domains = append(c.Domains, d)
		}
		if r.Phone != "" {
			c.Phones = append(c.Phones, r.Phone)
		}
		c.Phones = append(c.Phones, r.Additional...)
	}
	return c, err
}

// TokenSpentBy implements admission.Store.
func (db *DB) TokenSpentBy(ctx context.Context, tenant authn.TenantID, client authn.ClientID, user authn.UserID, tokenHash []byte) (batch.ID, error) {
	var ids []batch.ID
	err := db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &ids, pgx.RowTo[batch.ID], `SELECT batch_id FROM mappy.batch WHERE tenant_id = $1 AND client_id = $2 AND user_id = $3 AND confirm_token_hash = $4`, tenant, client, user, tokenHash)
	})
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// errSlower ends a submission whose key got its answer from another call meanwhile.
var errSlower = errors.New("another call with this key was faster")

// Enqueue implements admission.Store. The idempotency row comes first: a second call with the same key waits on it until
// the first has committed or rolled back, and then either finds the answer or goes on. An expired row is taken over. All
// statements travel together; what one of them decides against is rolled back as a whole.
func (db *DB) Enqueue(ctx context.Context, s admission.Submission) (*admission.Answered, error) {
	err := db.InTenant(ctx, s.Batch.Tenant, func(tx pgx.Tx) error {
		if err := db.insertAll(ctx, tx, s); err != nil {
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
	return &admission.Answered{InputHash: s.Batch.InputHash, Response: s.Response, BatchID: s.Batch.ID, Status: s.Batch.Status, Counts: s.Batch.Counts}, nil
}

func (db *DB) winner(ctx context.Context, s admission.Submission) (*admission.Answered, error) {
	found, err := db.FindAnswer(ctx, s.Key)
	if err == nil && found == nil { // it expired in this very moment
		err = errs.New(errs.IdempotencyInProgress, errs.T("同じ idempotency_key の呼び出しを受付処理中です。", "A call with the same idempotency_key is being admitted.")).After(time.Second)
	}
	return found, err
}

func (db *DB) tokenUsed(ctx context.Context, s admission.Submission) error {
	by, err := db.TokenSpentBy(ctx, s.Batch.Tenant, s.Batch.Client, s.Batch.User, s.Batch.ConfirmTokenHash)
	if err != nil {
		return err
	}
	return admission.TokenUsed(by)
}

func (db *DB) insertAll(ctx context.Context, tx pgx.Tx, s admission.Submission) error {
	k, b := s.Key, s.Batch
	w := &pgx.Batch{}
	w.Queue(`
		INSERT INTO mappy.idempotency AS i (tenant_id, client_id, user_id, tool, source, key_hash, input_hash, canonical_input, batch_id, response, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp() + $11::interval)
		ON CONFLICT ON CONSTRAINT idempotency_pkey DO UPDATE
		SET input_hash = EXCLUDED.input_hash, canonical_input = EXCLUDED.canonical_input, batch_id = EXCLUDED.batch_id, response = EXCLUDED.response,
		    created_at = clock_timestamp(), expires_at = EXCLUDED.expires_at
		WHERE i.expires_at <= clock_timestamp() OR `+superseded,
		k.Tenant, k.Client, k.User, k.Tool, k.Source, k.Hash(), b.InputHash, b.Canonical, b.ID, s.Response, s.KeyExpires).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() == 0 {
			return errSlower
		}
		return nil
	})
	queueContinues(w, s)
	// A switch that was thrown since the call began still stops it.
	var on []authn.KillSwitch
	collect(w, &on, pgx.RowToStructByPos[authn.KillSwitch], `SELECT kind, target, reason FROM mappy.kill_switch WHERE tenant_id IN ($1, 'system')`, b.Tenant)
	w.Queue(`INSERT INTO mappy.batch (tenant_id, batch_id, operation, status, environment, client_id, user_id, token_id, request_id, assurance, policy_version, locale,
			on_failure, canonical_input, input_hash, preview_digest, confirm_token_hash, target_count, send_deadline, origin_batch_id)
		VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, clock_timestamp() + $18::interval, nullif($19, ''))`,
		b.Tenant, b.ID, b.Operation, b.Environment, b.Client, b.User, b.Token, b.RequestID, b.Assurance, b.PolicyVersion, b.Locale,
		b.OnFailure, b.Canonical, b.InputHash, b.PreviewDigest, b.ConfirmTokenHash, b.Counts.Target, s.SendWithin, b.Origin)
	queueUnits(w, s)
	queueItems(w, s)
	for _, e := range s.Events {
		db.queueEvent(w, b.Tenant, e)
	}
	if err := tx.SendBatch(ctx, w).Close(); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	if k, stop := authn.Stops(on, b.Client, b.Operation); stop {
		return admission.Killed(k)
	}
	for _, i := range s.Items {
		if k, stop := authn.Stops(on, b.Client, i.Operation); stop {
			return admission.Killed(k)
		}
	}
	return nil
}

// queueContinues refuses an undo or a retry of items that another one has taken since the call read them. Continuations of one
// batch go one after another: each waits for the batch's row, and reads what the one before has committed.
func queueContinues(w *pgx.Batch, s admission.Submission) {
	if s.Batch.Origin == "" {
		return
	}
	origins := make([]string, len(s.Items))
	for i, it := range s.Items {
		origins[i] = string(it.Origin)
	}
	w.Queue(`SELECT 1 FROM mappy.batch WHERE tenant_id = $1 AND batch_id = $2 FOR NO KEY UPDATE`, s.Batch.Tenant, s.Batch.Origin)
	w.Queue(`SELECT DISTINCT o.location_id FROM mappy.item o WHERE o.tenant_id = $1 AND o.origin_item_id = ANY ($2) AND `+continues+`$3 ORDER BY 1`,
		s.Batch.Tenant, origins, s.Batch.Operation).Query(func(rows pgx.Rows) error {
		taken, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err == nil && len(taken) > 0 {
			err = admission.ContinuedMeanwhile(taken)
		}
		return err
	})
}

// unitsOfMonth gives what a tenant's reports bill in the calendar month of a time zone, and the seconds that are left of it.
const unitsOfMonth = `SELECT coalesce(sum(units), 0), extract(epoch FROM (date_trunc('month', clock_timestamp() AT TIME ZONE $2) + interval '1 month') AT TIME ZONE $2 - clock_timestamp())::float8
	FROM mappy.item WHERE tenant_id = $1 AND units > 0 AND state NOT IN ('failed', 'cancelled')
	AND created_at >= date_trunc('month', clock_timestamp() AT TIME ZONE $2) AT TIME ZONE $2`

// UnitsOfMonth gives what the tenant's reports bill in the current calendar month of its time zone.
func (db *DB) UnitsOfMonth(ctx context.Context, tenant authn.TenantID, zone *time.Location) (used int, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(unitsOfMonth, tenant, zone.String()).QueryRow(func(row pgx.Row) error { return row.Scan(&used, new(float64)) })
	})
	return used, err
}

// queueUnits refuses what would bill more than the tenant's month allows. Calls that bill go one after another, so that two
// cannot both take what is left.
func queueUnits(w *pgx.Batch, s admission.Submission) {
	units := 0
	for _, i := range s.Items {
		units += i.Units
	}
	if units == 0 {
		return
	}
	w.Queue(`SELECT pg_advisory_xact_lock(hashtextextended('mappy.units.' || $1, 0))`, s.Batch.Tenant)
	w.Queue(unitsOfMonth, s.Batch.Tenant, s.Timezone.String()).QueryRow(func(row pgx.Row) error {
		var used int
		var left float64
		if err := row.Scan(&used, &left); err != nil {
			return err
		}
		if used+units > s.UnitsPerMonth {
			return errs.New(errs.RateLimited, errs.Tf("今月のレポート単位 %[1]d のうち %[2]d を使用済みで、あと %[3]d 単位は使えません。", "%[2]d of this month's %[1]d report units are used; %[3]d more do not fit.", s.UnitsPerMonth, used, units)).
				With(errs.Details{Scope: "report_units_per_month", Limit: s.UnitsPerMonth, RetryAfterSeconds: int(math.Ceil(left))}).After(time.Duration(left * float64(time.Second)))
		}
		return nil
	})
}

// queueItems inserts all items with one statement. What was done already when it was read may no longer be once an older item
// with its target has ended: where one is undecided, the runner looks when its turn comes.
func queueItems(w *pgx.Batch, s admission.Submission) {
	type row struct {
		ID         batch.ItemID     `json:"id"`
		Operation  string           `json:"operation"`
		Location   gbp.LocationID   `json:"location"`
		Connection string           `json:"connection"`
		Account    gbp.AccountName  `json:"account"`
		Name       gbp.LocationName `json:"name"`
		Title      string           `json:"title"`
		Kind       gbp.Kind         `json:"kind"`
		Target     string           `json:"target,omitempty"`
		TargetID   string           `json:"target_id,omitempty"`
		Expected   string           `json:"expected,omitempty"`
		Mask       []string         `json:"mask"`
		Origin     batch.ItemID     `json:"origin,omitempty"`
		Already    bool             `json:"already"`
		Units      int              `json:"units"`
	}
	rows := make([]row, len(s.Items))
	payloads, prints := make([][]byte, len(rows)), make([][]byte, len(rows))
	for i, it := range s.Items {
		rows[i] = row{
			it.ID, it.Operation, it.Location, it.Connection, it.Account, it.LocationName, it.Title, it.Kind, it.TargetName, it.TargetID, it.Expected,
			list(it.Mask), it.Origin, it.Already, it.Units,
		}
		payloads[i], prints[i] = it.Payload, it.Fingerprint
		if it.Payload == nil {
			payloads[i] = []byte{}
		}
	}
	w.Queue(`INSERT INTO mappy.item (tenant_id, item_id, batch_id, ordinal, operation, location_id, connection_id, google_account, google_location, title, payload, fingerprint,
			kind, target_name, target_id, expected_version, mask, origin_item_id, already, units)
		SELECT $1, u.id, $2, u.o - 1, u.operation, u.location, u.connection, u.account, u.name, u.title, u.payload, u.print,
			u.kind, u.target, u.target_id, u.expected, u.mask, u.origin,
			u.already AND NOT EXISTS (SELECT 1 FROM mappy.item o WHERE o.tenant_id = $1 AND o.google_location = u.name AND o.fingerprint = u.print AND o.state IN ('queued', 'processing')), u.units
		FROM ROWS FROM (
			jsonb_to_recordset($3) AS (id text, operation text, location bigint, connection text, account text, name text, title text,
				kind text, target text, target_id text, expected text, mask text[], origin text, already boolean, units integer),
			unnest($4::bytea[]), unnest($5::bytea[])
		) WITH ORDINALITY AS u (id, operation, location, connection, account, name, title, kind, target, target_id, expected, mask, origin, already, units, payload, print, o)`,
		s.Batch.Tenant, s.Batch.ID, rows, payloads, prints)
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
