package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// earlier tells whether an older item with the content or the target of item i is undecided. An edit that stayed unknown does
// not count: the next one reads the target before it writes.
const earlier = `EXISTS (SELECT 1 FROM mappy.item o WHERE o.tenant_id = i.tenant_id AND o.google_location = i.google_location AND o.fingerprint = i.fingerprint
	AND o.item_id < i.item_id AND (o.state IN ('queued', 'processing') OR o.state = 'unknown' AND o.target_name IS NULL))`

// tried tells whether an attempt of item i may have had its effect: what is there, or under review, can be the item's own.
const tried = `EXISTS (SELECT 1 FROM mappy.attempt m WHERE m.tenant_id = i.tenant_id AND m.item_id = i.item_id AND m.state NOT IN ('refused', 'not_sent', 'absent'))`

// Peek implements worker.Store: what a runner needs to ask for a slot and to look at the target, without a lock.
func (db *DB) Peek(ctx context.Context, tenant authn.TenantID, id batch.ItemID) (p worker.Peek, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(`
			SELECT `+itemColumns+`, i.looks, b.user_id,
			       i.state IN ('queued', 'processing') AND NOT i.already AND NOT b.cancel_requested AND NOT b.stopped AND c.state = 'alive' AND b.send_deadline > clock_timestamp()
			       AND coalesce(i.not_before <= clock_timestamp(), true)
			       AND NOT EXISTS (SELECT 1 FROM mappy.attempt a WHERE a.tenant_id = i.tenant_id AND a.item_id = i.item_id AND a.state = 'open')
			       AND NOT `+earlier+`,
			       EXISTS (SELECT 1 FROM mappy.resource r WHERE r.tenant_id = i.tenant_id AND r.google_name = i.target_name AND r.deleted_at IS NOT NULL),
			       `+tried+`
			FROM mappy.item i JOIN mappy.batch b USING (tenant_id, batch_id) JOIN mappy.connection c USING (tenant_id, connection_id)
			WHERE i.tenant_id = $1 AND i.item_id = $2`, tenant, id).
			Query(func(rows pgx.Rows) error {
				p, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (p worker.Peek, err error) {
					var looks int
					var tried bool
					p.Item, err = scanItemAnd(row, &looks, &p.User, &p.WantsSlot, &p.TargetGone, &tried)
					p.Item.Looks, p.Item.Tried = looks, tried
					return p, err
				})
				return err
			})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("item %s: %w", id, ErrUnknown)
	}
	return p, err
}

// Begin implements worker.Store. Lock order: the batch's row first, and only while it is queued, so that a start and a
// cancel of one batch are one race on one row; then the item.
func (db *DB) Begin(ctx context.Context, tenant authn.TenantID, id batch.ItemID, w worker.Windows, t worker.Turn, complete func(pgx.Tx) error) (b worker.Begun, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		s, wasQueued, err := db.lockItem(ctx, tx, tenant, id, &b)
		if err != nil {
			return err
		}
		b.Decision = batch.Decide(s)
		if b.Decision.Step == batch.StepSend && !t.Slot { // it wanted none a moment ago, and wants one now
			b.Decision = batch.Decision{Step: batch.StepWait}
		}
		switch b.Decision.Step {
		case batch.StepSend:
			if t.End != nil { // the target showed that nothing is to be sent
				b.Decision = batch.Decision{Step: batch.StepEnd, State: t.End.State, Code: t.End.Code}
				return db.decide(ctx, tx, tenant, b, *t.End, complete)
			}
			return db.openAttempt(ctx, tx, tenant, &b, w, t, wasQueued)
		case batch.StepExamine:
			b.Attempt = *s.Open
			return nil
		case batch.StepEnd:
			return db.decide(ctx, tx, tenant, b, worker.Unsent(b.Decision, b.Item), complete)
		case batch.StepDone:
			return complete(tx)
		case batch.StepWait:
		}
		return nil
	})
	if constraint(err) == "attempt_undecided_key" { // the same content at the same place is undecided elsewhere
		b.Decision = batch.Decision{Step: batch.StepWait, Wait: 2 * time.Second}
		return b, nil
	}
	return b, err
}

func (db *DB) lockItem(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, id batch.ItemID, b *worker.Begun) (s batch.Snapshot, wasQueued bool, err error) {
	q := &pgx.Batch{}
	q.Queue(`SELECT 1 FROM mappy.batch WHERE tenant_id = $1 AND status = 'queued'
		AND batch_id = (SELECT batch_id FROM mappy.item WHERE tenant_id = $1 AND item_id = $2) FOR UPDATE`, tenant, id).
		Exec(func(tag pgconn.CommandTag) error {
			wasQueued = tag.RowsAffected() == 1
			return nil
		})
	// The lock is a statement of its own: what is read in the one that waits for it is, all but the locked row, as old as its start.
	q.Queue(`SELECT 1 FROM mappy.item WHERE tenant_id = $1 AND item_id = $2 FOR UPDATE`, tenant, id)
	var (
		grants, kill    []byte
		labels          []string
		tokenLive       bool
		attempt         *int64
		no, looks       *int
		startedAt       *time.Time
		examine, before *float64
		i               = &b.Item
	)
	q.Queue(`
		SELECT i.batch_id, i.ordinal, i.operation, i.location_id, i.connection_id, i.google_account, i.google_location, i.title, i.state, i.payload, i.fingerprint,
		       i.attempts, i.google_calls, i.kind, coalesce(i.target_name, ''), coalesce(i.target_id, ''), coalesce(i.expected_version, ''), i.mask, i.already, i.before, i.units,
		       extract(epoch FROM i.not_before - clock_timestamp()),
		       b.operation, b.client_id, b.user_id, b.token_id, b.request_id, b.environment, b.on_failure, b.assurance, b.cancel_requested, b.stopped, b.send_deadline <= clock_timestamp(),
		       u.grants, l.labels, k.revoked_at IS NULL, c.state = 'dead',
		       (SELECT coalesce(jsonb_agg(jsonb_build_object('kind', s.kind, 'target', s.target)), '[]') FROM mappy.kill_switch s WHERE s.tenant_id IN ($1, 'system')),
		       `+earlier+`, `+tried+`,
		       a.attempt_id, a.no, a.looks, a.started_at, extract(epoch FROM a.examine_at - clock_timestamp())
		FROM mappy.item i
		JOIN mappy.batch b ON b.tenant_id = i.tenant_id AND b.batch_id = i.batch_id
		JOIN mappy.app_user u ON u.tenant_id = b.tenant_id AND u.user_id = b.user_id
		JOIN mappy.access_token k ON k.tenant_id = b.tenant_id AND k.token_id = b.token_id
		JOIN mappy.location l ON l.tenant_id = i.tenant_id AND l.location_id = i.location_id
		JOIN mappy.connection c ON c.tenant_id = i.tenant_id AND c.connection_id = i.connection_id
		LEFT JOIN mappy.attempt a ON a.tenant_id = i.tenant_id AND a.item_id = i.item_id AND a.state = 'open'
		WHERE i.tenant_id = $1 AND i.item_id = $2`, tenant, id).QueryRow(func(row pgx.Row) error {
		return row.Scan(&i.Batch, &i.Ordinal, &i.Operation, &i.Location, &i.Connection, &i.Account, &i.LocationName, &i.Title, &i.State, &i.Payload, &i.Fingerprint,
			&i.Attempts, &i.GoogleCalls, &i.Kind, &i.TargetName, &i.TargetID, &i.Expected, &i.Mask, &i.Already, (*[]byte)(&i.Before), &i.Units, &before,
			&b.Batch.Operation, &b.Batch.Client, &b.Batch.User, &b.Batch.Token, &b.Batch.RequestID, &b.Batch.Environment, &b.Batch.OnFailure, &b.Batch.Assurance, &s.CancelRequested, &s.Stopped, &s.Overdue,
			&grants, &labels, &tokenLive, &s.ConnectionDead, &kill, &s.Earlier, &i.Tried,
			&attempt, &no, &looks, &startedAt, &examine)
	})
	err = tx.SendBatch(ctx, q).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, fmt.Errorf("item %s: %w", id, ErrUnknown)
	}
	if err != nil {
		return s, false, fmt.Errorf("start: %w", err)
	}
	i.ID, b.Batch.ID, b.Batch.Tenant = id, i.Batch, tenant
	var g authn.Grants
	if err := errors.Join(json.Unmarshal(grants, &g), json.Unmarshal(kill, &s.Kill)); err != nil {
		return s, false, fmt.Errorf("start: %w", err)
	}
	s.State, s.Client, s.Operations, s.Already = i.State, b.Batch.Client, []string{i.Operation, b.Batch.Operation}, i.Already
	s.Allowed = tokenLive && g.Cover(int64(i.Location), labels) && mayEdit(g, *i)
	s.NotBefore = seconds(before)
	if attempt != nil {
		s.Open = &batch.Attempt{ID: batch.AttemptID(*attempt), No: *no, State: batch.AttemptOpen, StartedAt: *startedAt, ExamineAfter: seconds(examine), Looks: *looks}
	}
	return s, wasQueued, nil
}

func seconds(f *float64) time.Duration {
	if f == nil {
		return 0
	}
	return time.Duration(*f * float64(time.Second))
}

// openAttempt is the write-ahead record: committed before anything is sent.
func (db *DB) openAttempt(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, b *worker.Begun, w worker.Windows, t worker.Turn, wasQueued bool) error {
	i := &b.Item
	b.Attempt = batch.Attempt{No: i.Attempts + 1, State: batch.AttemptOpen}
	q := &pgx.Batch{}
	q.Queue(`INSERT INTO mappy.attempt (tenant_id, item_id, google_location, fingerprint, no, examine_at)
		VALUES ($1, $2, $3, $4, $5, clock_timestamp() + $6::interval) RETURNING attempt_id, started_at`,
		tenant, i.ID, i.LocationName, i.Fingerprint, b.Attempt.No, w.Send+w.Call+w.Settle).
		QueryRow(func(row pgx.Row) error { return row.Scan(&b.Attempt.ID, &b.Attempt.StartedAt) })
	q.Queue(`UPDATE mappy.item SET state = 'processing', attempts = attempts + 1, not_before = NULL, started_at = coalesce(started_at, clock_timestamp()), before = coalesce(before, $3), google_calls = google_calls + $4
		WHERE tenant_id = $1 AND item_id = $2 AND state IN ('queued', 'processing')`, tenant, i.ID, snapshot(t.Before), t.GoogleCalls)
	if wasQueued {
		q.Queue(`UPDATE mappy.batch SET status = 'processing', started_at = coalesce(started_at, clock_timestamp()) WHERE tenant_id = $1 AND batch_id = $2 AND status = 'queued'`, tenant, i.Batch)
	}
	e := itemEvent(b.Item, b.Batch, audit.ItemStarted)
	e.Details, e.OldVersion = &audit.Details{Attempt: b.Attempt.No}, i.Expected
	db.queueEvent(q, tenant, e)
	i.Attempts++
	if i.Before == nil {
		i.Before = t.Before
	}
	if err := tx.SendBatch(ctx, q).Close(); err != nil {
		return fmt.Errorf("attempt: %w", err)
	}
	return nil
}

// endDetail and endEvent are what is kept of an item that ends unsent with the rest of its batch.
func endDetail(code errs.Code) ([]byte, error) {
	text := batch.EndText(code)
	return json.Marshal(batch.ItemError{JA: text.JA, EN: text.EN})
}

func endEvent(i batch.Item, b batch.Batch, state batch.ItemState, code errs.Code) audit.Event {
	kind := audit.ItemFailed
	if state == batch.ItemCancelled {
		kind = audit.ItemCancelled
	}
	e := itemEvent(i, b, kind)
	e.Result, e.ErrorCode = string(state), code
	return e
}

// Finish implements worker.Store: attempt, item, resource, counters, audit and the job in one transaction. Closing the
// attempt is the fence: of two runners the slower one hits no row and records nothing.
func (db *DB) Finish(ctx context.Context, tenant authn.TenantID, b worker.Begun, o worker.Outcome, complete func(pgx.Tx) error) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		q := &pgx.Batch{}
		queueClose(q, tenant, b.Attempt.ID, o)
		if o.State == "" { // another attempt follows; one that certainly was not sent does not count, nor one that waits for a spent quota
			q.Queue(`UPDATE mappy.item SET not_before = clock_timestamp() + $3::interval, google_calls = google_calls + $4, attempts = attempts - CASE WHEN $5 THEN 1 ELSE 0 END
				WHERE tenant_id = $1 AND item_id = $2 AND state = 'processing'`, tenant, b.Item.ID, o.RetryIn, o.GoogleCalls, o.Free || o.Attempt == batch.AttemptNotSent).Exec(oneRow)
			return tx.SendBatch(ctx, q).Close()
		}
		if err := tx.SendBatch(ctx, q).Close(); err != nil {
			return fmt.Errorf("finish: %w", err)
		}
		return db.decide(ctx, tx, tenant, b, o, complete)
	})
}

// decide records an item's fate with everything that follows from it.
func (db *DB) decide(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, b worker.Begun, o worker.Outcome, complete func(pgx.Tx) error) error {
	q := &pgx.Batch{}
	if err := db.queueDecision(q, tenant, b, o, batch.ItemQueued, batch.ItemProcessing); err != nil {
		return err
	}
	if err := tx.SendBatch(ctx, q).Close(); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	rest, err := db.endRest(ctx, tx, tenant, b, o)
	if err != nil {
		return err
	}
	if err := complete(tx); err != nil {
		return err
	}
	// Last, because every item of the batch waits for this row: it is locked for this statement and the commit only.
	return db.count(ctx, tx, tenant, b.Batch, delta(o.State, 1).plus(rest))
}

// kindOf is the audit event of an item's decision.
func kindOf(s batch.ItemState) audit.Kind {
	switch s {
	case batch.ItemSucceeded:
		return audit.ItemSucceeded
	case batch.ItemUnknown:
		return audit.ItemUnknown
	case batch.ItemCancelled:
		return audit.ItemCancelled
	default:
		return audit.ItemFailed
	}
}

// oneRow is the fence of a guarded update.
func oneRow(tag pgconn.CommandTag) error {
	if tag.RowsAffected() != 1 {
		return worker.ErrFenced
	}
	return nil
}

func queueClose(q *pgx.Batch, tenant authn.TenantID, id batch.AttemptID, o worker.Outcome) {
	q.Queue(`UPDATE mappy.attempt SET state = $3, note = $4, closed_at = CASE WHEN $3 <> 'unknown' THEN clock_timestamp() END
		WHERE tenant_id = $1 AND attempt_id = $2 AND state = 'open'`, tenant, id, o.Attempt, o.Note).Exec(oneRow)
}

// queueDecision records an item's fate, and what Google now has under our id of it.
// It is guarded by the states that the item may be in.
func (db *DB) queueDecision(q *pgx.Batch, tenant authn.TenantID, b worker.Begun, o worker.Outcome, from ...batch.ItemState) error {
	var detail []byte
	if o.Error != nil {
		var err error
		if detail, err = json.Marshal(o.Error); err != nil {
			return err
		}
	}
	made := ""
	if b.Item.Edits() {
		queueTarget(q, tenant, b.Item, o)
	} else if made = o.ResourceName; made != "" {
		// It may be known already, when somebody listed the store's posts meanwhile: it keeps its id then, and the item takes it over.
		q.Queue(`INSERT INTO mappy.resource AS r (tenant_id, resource_id, kind, location_id, google_name, origin_item_id, snapshot)
			VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, '{}'::jsonb))
			ON CONFLICT ON CONSTRAINT resource_google_key DO UPDATE SET origin_item_id = coalesce(r.origin_item_id, EXCLUDED.origin_item_id), snapshot = coalesce($7, r.snapshot), seen_at = clock_timestamp()`,
			tenant, db.ids.New(), b.Item.Kind, b.Item.Location, made, b.Item.ID, snapshot(o.After))
	}
	q.Queue(`UPDATE mappy.item SET state = $3, state_after = $4, version = coalesce(nullif($5, ''), `+storeVersion+`), publication = nullif($6, ''), resource_name = nullif($7, ''),
			resource_id = (SELECT r.resource_id FROM mappy.resource r WHERE r.tenant_id = $1 AND r.google_name = $7 AND $7 <> ''),
			error_code = nullif($8, ''), error = $9, retry_possible = $10, executed = $11, google_calls = google_calls + $12, already = already OR $13,
			follow_at = clock_timestamp() + $14::interval, not_before = NULL, finished_at = coalesce(finished_at, clock_timestamp())
		WHERE tenant_id = $1 AND item_id = $2 AND state = ANY ($15)`,
		tenant, b.Item.ID, o.State, snapshot(o.After), o.Version, o.Publication, made, o.Code, detail, o.RetryPossible, o.Executed, o.GoogleCalls, o.Already,
		o.FollowIn(), from).Exec(oneRow)
	e := itemEvent(b.Item, b.Batch, kindOf(o.State))
	switch was := b.Item.State; {
	case was == batch.ItemUnknown:
		e.Kind = audit.ItemResolved
	case was == batch.ItemSucceeded && o.State == batch.ItemSucceeded:
		e.Kind = audit.PublicationChanged
	}
	e.Result, e.ErrorCode, e.Resource, e.OldVersion, e.NewVersion = string(o.State), o.Code, o.ResourceName, b.Item.Expected, o.Version
	e.Before, e.After = o.AuditBefore, o.AuditAfter
	if o.Operator != "" {
		e.Actor, e.Reason = audit.Actor{OperatorID: o.Operator}, o.Reason
	}
	e.Details = &audit.Details{Attempt: b.Attempt.No, GoogleStatus: o.GoogleStatus, GoogleName: o.ResourceName, Note: o.Note}
	db.queueEvent(q, tenant, e)
	if b.Item.Units > 0 && o.State == batch.ItemSucceeded {
		billed := itemEvent(b.Item, b.Batch, audit.ReportBilled)
		billed.Result, billed.Details = "billed", &audit.Details{Units: b.Item.Units}
		db.queueEvent(q, tenant, billed)
	}
	return nil
}

// queueTarget brings our rows of an edit's target up to what the edit left.
func queueTarget(q *pgx.Batch, tenant authn.TenantID, i batch.Item, o worker.Outcome) {
	switch {
	case o.Mirror != nil:
		l := o.Mirror
		q.Queue(`UPDATE mappy.location SET title = $3, store_code = $4, city = $5, labels = $6, profile = $7, open_status = $8, verified = $9, pending_google_edit = $10, version = $11,
				google_version = NULL, synced_at = clock_timestamp()
			WHERE tenant_id = $1 AND location_id = $2`, tenant, i.Location, l.Profile.Title, l.Profile.StoreCode, l.Profile.City, list(l.Profile.Labels), l.Profile, l.OpenStatus, l.Verified,
			l.PendingGoogleEdit, l.Profile.Version())
	case o.Attributes != nil:
		queueAttributes(q, tenant, i.Location, o.Attributes)
	case i.Kind == gbp.KindLocation:
	case o.Gone, i.Kind != gbp.KindReview && o.Publication == batch.Deleted && o.State == batch.ItemSucceeded && o.After == nil && !o.Already:
		// of a review only the reply is deleted, unless Google says that it does not know the review
		q.Queue(`UPDATE mappy.resource SET deleted_at = clock_timestamp(), seen_at = clock_timestamp() WHERE tenant_id = $1 AND google_name = $2`, tenant, i.TargetName)
	case o.After != nil:
		queueSnapshot(q, tenant, i, o.After)
	case o.Found != nil:
		queueSnapshot(q, tenant, i, o.Found)
	}
}

// queueSnapshot is what Google shows of an edit's target now, which readings that are kept take from the row.
func queueSnapshot(q *pgx.Batch, tenant authn.TenantID, i batch.Item, raw json.RawMessage) {
	q.Queue(`UPDATE mappy.resource SET snapshot = $3, seen_at = clock_timestamp(), deleted_at = NULL WHERE tenant_id = $1 AND google_name = $2`, tenant, i.TargetName, snapshot(raw))
}

// endRest ends the batch's items that have not started, after a failure that stops them. Items locked by a runner are skipped: after
// on_failure the runner reads the batch again before it sends; where the fault is ours, it finds the same fault by itself.
func (db *DB) endRest(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, b worker.Begun, o worker.Outcome) (counted, error) {
	var state batch.ItemState
	var code errs.Code
	switch {
	case o.StopsBatch:
		state, code = batch.ItemFailed, o.Code
	case o.State == batch.ItemFailed && b.Batch.OnFailure == batch.OnFailureStop:
		state, code = batch.ItemCancelled, errs.StoppedAfterFailure
	default:
		return counted{}, nil
	}
	// The batch before its other items: a starting runner may hold the batch while it waits for its item.
	_, err := tx.Exec(ctx, `UPDATE mappy.batch SET stopped = stopped OR $3 WHERE tenant_id = $1 AND batch_id = $2`, tenant, b.Batch.ID, state == batch.ItemCancelled)
	if err != nil {
		return counted{}, fmt.Errorf("end rest: %w", err)
	}
	return db.endQueued(ctx, tx, tenant, b.Batch, state, code)
}

func (db *DB) endQueued(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, b batch.Batch, state batch.ItemState, code errs.Code) (counted, error) {
	detail, err := endDetail(code)
	if err != nil {
		return counted{}, err
	}
	rows, err := tx.Query(ctx, `
		WITH free AS (SELECT item_id FROM mappy.item WHERE tenant_id = $1 AND batch_id = $2 AND state = 'queued' ORDER BY item_id FOR UPDATE SKIP LOCKED)
		UPDATE mappy.item i SET state = $3, error_code = $4, error = $5, retry_possible = $6, executed = 'no', finished_at = clock_timestamp()
		FROM free WHERE i.tenant_id = $1 AND i.item_id = free.item_id RETURNING i.item_id, i.location_id, i.operation`,
		tenant, b.ID, state, code, detail, batch.RetryPossible(code))
	if err != nil {
		return counted{}, err
	}
	ended, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i batch.Item, err error) {
		i.Batch = b.ID
		return i, row.Scan(&i.ID, &i.Location, &i.Operation)
	})
	if err != nil {
		return counted{}, err
	}
	events := make([]audit.Event, len(ended))
	for n, i := range ended {
		events[n] = endEvent(i, b, state, code)
	}
	return delta(state, len(ended)), db.appendEvents(ctx, tx, tenant, events...)
}

// counted is a change of a batch's counters.
type counted struct{ success, failure, cancelled, unknown int }

func delta(s batch.ItemState, n int) (c counted) {
	switch s {
	case batch.ItemSucceeded:
		c.success = n
	case batch.ItemFailed:
		c.failure = n
	case batch.ItemCancelled:
		c.cancelled = n
	case batch.ItemUnknown:
		c.unknown = n
	default:
	}
	return c
}

func (c counted) plus(o counted) counted {
	return counted{c.success + o.success, c.failure + o.failure, c.cancelled + o.cancelled, c.unknown + o.unknown}
}

// count changes a batch's counters and, with the last item, finishes it. It is the last statement but audit, so that the
// batch's row is locked as shortly as possible.
func (db *DB) count(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, b batch.Batch, d counted) error {
	var status batch.Status
	var c batch.Counts
	err := tx.QueryRow(ctx, `
		UPDATE mappy.batch SET success_count = success_count + $3, failure_count = failure_count + $4, cancelled_count = cancelled_count + $5, unknown_count = unknown_count + $6,
			started_at = coalesce(started_at, clock_timestamp()),
			status = CASE WHEN success_count + failure_count + cancelled_count + unknown_count + $3 + $4 + $5 + $6 < target_count THEN 'processing'
				WHEN success_count + $3 = target_count THEN 'done'
				WHEN failure_count + $4 = target_count THEN 'failed'
				WHEN cancelled_count + $5 = target_count THEN 'cancelled'
				ELSE 'partial' END,
			finished_at = CASE WHEN success_count + failure_count + cancelled_count + unknown_count + $3 + $4 + $5 + $6 = target_count THEN coalesce(finished_at, clock_timestamp()) END
		WHERE tenant_id = $1 AND batch_id = $2
		RETURNING status, target_count, success_count, failure_count, cancelled_count, unknown_count`,
		tenant, b.ID, d.success, d.failure, d.cancelled, d.unknown).Scan(&status, &c.Target, &c.Success, &c.Failure, &c.Cancelled, &c.Unknown)
	if err != nil {
		return fmt.Errorf("count: %w", err)
	}
	if !status.Final() || status == b.Status { // a later transition that leaves the status as it was is no second end
		return nil
	}
	return db.batchFinished(ctx, tx, tenant, b, status, c)
}

// failuresNoted bounds how many failures a batch_finished event lists.
const failuresNoted = 100

func (db *DB) batchFinished(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, b batch.Batch, status batch.Status, c batch.Counts) error {
	rows, err := tx.Query(ctx, `SELECT location_id, error_code FROM mappy.item WHERE tenant_id = $1 AND batch_id = $2 AND state IN ('failed', 'unknown') ORDER BY ordinal LIMIT $3`, tenant, b.ID, failuresNoted)
	if err != nil {
		return err
	}
	failures, err := pgx.CollectRows(rows, pgx.RowToStructByPos[audit.FailureNote])
	if err != nil {
		return err
	}
	counts := c.Public()
	e := itemEvent(batch.Item{Batch: b.ID, Operation: b.Operation}, b, audit.BatchFinished)
	e.Result, e.Details = string(status), &audit.Details{TargetCount: c.Target, Counts: &counts, Failures: failures}
	return db.appendEvents(ctx, tx, tenant, e)
}

func itemEvent(i batch.Item, b batch.Batch, kind audit.Kind) audit.Event {
	return audit.Event{
		Kind: kind, RequestID: b.RequestID, Actor: audit.Actor{ClientID: b.Client, UserID: b.User, TokenID: b.Token}, Tool: b.Operation, Operation: i.Operation,
		LocationID: int64(i.Location), BatchID: string(i.Batch), ItemID: string(i.ID), Assurance: string(b.Assurance),
	}
}

// Retreat implements worker.Store.
func (db *DB) Retreat(ctx context.Context, tenant authn.TenantID, id batch.ItemID, by time.Duration, counts bool) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE mappy.item SET looks = looks + CASE WHEN $4 THEN 1 ELSE 0 END, not_before = clock_timestamp() + $3::interval, google_calls = google_calls + 1
			WHERE tenant_id = $1 AND item_id = $2 AND state IN ('queued', 'processing')`, tenant, id, by, counts)
		return err
	})
}

// Postpone implements worker.Store: an open attempt is examined later.
func (db *DB) Postpone(ctx context.Context, tenant authn.TenantID, id batch.AttemptID, by time.Duration, looks int, note string) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE mappy.attempt SET examine_at = clock_timestamp() + $3::interval, looks = $4, looked_at = clock_timestamp(), note = $5
			WHERE tenant_id = $1 AND attempt_id = $2 AND state = 'open'`, tenant, id, by, looks, note)
		if err != nil {
			return err
		}
		return oneRow(tag)
	})
}

// Unclaimed implements worker.Store: of Google's names, those that no item is bound to and that our mirror had not seen
// before the attempt, in the order given.
func (db *DB) Unclaimed(ctx context.Context, tenant authn.TenantID, names []string, since time.Time) (out []string, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, pgx.RowTo[string], `SELECT n FROM unnest($2::text[]) WITH ORDINALITY AS u (n, o)
			WHERE NOT EXISTS (SELECT 1 FROM mappy.item i WHERE i.tenant_id = $1 AND i.resource_name = n)
			  AND NOT EXISTS (SELECT 1 FROM mappy.resource r WHERE r.tenant_id = $1 AND r.google_name = n AND r.first_seen_at < $3)
			ORDER BY o`, tenant, names, since)
	})
	return out, err
}

// Undecided implements worker.Store.
func (db *DB) Undecided(ctx context.Context, tenant authn.TenantID, location gbp.LocationName, except batch.ItemID) (bool, error) {
	var n []int
	err := db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &n, pgx.RowTo[int], `SELECT count(*)::int FROM mappy.attempt WHERE tenant_id = $1 AND google_location = $2 AND item_id <> $3 AND state IN ('open', 'unknown')`,
			tenant, location, except)
	})
	return len(n) > 0 && n[0] > 0, err
}

var _ worker.Store = (*DB)(nil)
