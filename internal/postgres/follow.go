package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/worker"
)

const dueColumns = itemColumns + `, i.follows, b.status, b.client_id, b.user_id, b.token_id, b.request_id, b.environment, b.assurance, b.operation,
	coalesce(a.attempt_id, 0), coalesce(a.no, 0), coalesce(a.state, ''), coalesce(a.started_at, i.created_at), coalesce(a.looks, 0),
	EXISTS (SELECT 1 FROM mappy.resource r WHERE r.tenant_id = i.tenant_id AND r.google_name = i.resource_name AND r.deleted_at IS NOT NULL), ` + tried

const dueFrom = ` FROM mappy.item i JOIN mappy.batch b ON b.tenant_id = i.tenant_id AND b.batch_id = i.batch_id
	LEFT JOIN LATERAL (SELECT x.attempt_id, x.no, x.state, x.started_at, x.looks FROM mappy.attempt x WHERE x.tenant_id = i.tenant_id AND x.item_id = i.item_id ORDER BY x.attempt_id DESC LIMIT 1) a ON true`

func scanDue(row pgx.CollectableRow) (d worker.Due, err error) {
	b, a := &d.Batch, &d.Attempt
	var tried bool
	d.Item, err = scanItemAnd(row, &d.Follows, &b.Status, &b.Client, &b.User, &b.Token, &b.RequestID, &b.Environment, &b.Assurance, &b.Operation,
		&a.ID, &a.No, &a.State, &a.StartedAt, &a.Looks, &d.Gone, &tried)
	b.ID, d.Item.Tried = d.Item.Batch, tried
	return d, err
}

// DueFollows implements worker.Store.
func (db *DB) DueFollows(ctx context.Context, tenant authn.TenantID, limit int, lease time.Duration) (out []worker.Due, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH due AS (SELECT item_id FROM mappy.item WHERE tenant_id = $1 AND follow_at <= clock_timestamp() ORDER BY follow_at LIMIT $2 FOR UPDATE SKIP LOCKED),
			taken AS (UPDATE mappy.item t SET follow_at = clock_timestamp() + $3::interval FROM due WHERE t.tenant_id = $1 AND t.item_id = due.item_id RETURNING t.item_id)
			SELECT `+dueColumns+dueFrom+` JOIN taken ON taken.item_id = i.item_id WHERE i.tenant_id = $1 ORDER BY i.item_id`, tenant, limit, lease)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanDue)
		return err
	})
	for i := range out {
		out[i].Batch.Tenant = tenant
	}
	return out, err
}

// Followed implements worker.Store.
func (db *DB) Followed(ctx context.Context, tenant authn.TenantID, d worker.Due, o worker.Outcome) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		if o.State == "" {
			return db.followLater(ctx, tx, tenant, d, o)
		}
		return db.settle(ctx, tx, tenant, d, o)
	})
}

func (db *DB) followLater(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, d worker.Due, o worker.Outcome) error {
	q := &pgx.Batch{}
	q.Queue(`UPDATE mappy.item SET follow_at = clock_timestamp() + $3::interval, follows = follows + 1, google_calls = google_calls + 1
		WHERE tenant_id = $1 AND item_id = $2 AND state = $4`, tenant, d.Item.ID, o.FollowIn(), d.Item.State).Exec(oneRow)
	if d.Attempt.ID != 0 && o.Looks > 0 {
		q.Queue(`UPDATE mappy.attempt SET looks = $3, looked_at = clock_timestamp(), note = CASE WHEN state IN ('unknown', 'given_up') THEN $4 ELSE note END WHERE tenant_id = $1 AND attempt_id = $2`, tenant, d.Attempt.ID, o.Looks, o.Note)
	}
	return tx.SendBatch(ctx, q).Close()
}

// settle is a recorded transition of a decided item: its state, its batch's counters and status, our rows of what it is
// about, and the audit in one transaction. The batch comes first, as everywhere.
func (db *DB) settle(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, d worker.Due, o worker.Outcome) error {
	if err := tx.QueryRow(ctx, `SELECT status FROM mappy.batch WHERE tenant_id = $1 AND batch_id = $2 FOR UPDATE`, tenant, d.Batch.ID).Scan(&d.Batch.Status); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if d.Item.Kind == gbp.KindLocation && o.State == batch.ItemFailed {
		later, err := replaced(ctx, tx, tenant, d.Item)
		if err != nil {
			return err
		}
		if later {
			return db.followLater(ctx, tx, tenant, d, worker.Outcome{Note: "a later edit has replaced it"})
		}
	}
	switch {
	case o.Publication == batch.Deleted: // nothing of it is left; what was read is somebody else's
		if o.Found == nil {
			o.Found = o.After
		}
		o.After = nil
	case o.After == nil: // what is known of it stays known
		o.After = d.Item.After
	}
	if o.Version == "" {
		o.Version = d.Item.Version
	}
	if o.ResourceName == "" {
		o.ResourceName = d.Item.ResourceName
	}
	q := &pgx.Batch{}
	if d.Item.State == batch.ItemUnknown && d.Attempt.ID != 0 && o.Attempt != "" {
		q.Queue(`UPDATE mappy.attempt SET state = $3, note = $4, closed_at = clock_timestamp() WHERE tenant_id = $1 AND attempt_id = $2 AND state IN ('unknown', 'given_up')`,
			tenant, d.Attempt.ID, o.Attempt, o.Note)
	}
	b := worker.Begun{Item: d.Item, Batch: d.Batch, Attempt: d.Attempt}
	if err := db.queueDecision(q, tenant, b, o, d.Item.State); err != nil {
		return err
	}
	q.Queue(`UPDATE mappy.item SET follows = follows + 1 WHERE tenant_id = $1 AND item_id = $2`, tenant, d.Item.ID)
	if o.Publication == batch.Deleted && !d.Item.Edits() && o.ResourceName != "" {
		q.Queue(`UPDATE mappy.resource SET deleted_at = clock_timestamp(), seen_at = clock_timestamp() WHERE tenant_id = $1 AND google_name = $2`, tenant, o.ResourceName)
	}
	if err := tx.SendBatch(ctx, q).Close(); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if o.State == d.Item.State {
		return nil
	}
	was := delta(d.Item.State, -1)
	return db.count(ctx, tx, tenant, d.Batch, was.plus(delta(o.State, 1)))
}

// atOnce has an item followed in the next round.
const atOnce = time.Millisecond

// Resolve settles an item whose outcome is unknown by an operator's word: state is succeeded or failed. name is Google's name
// of what a create made, "" when the operator does not know it: then nobody can undo it here. What stands there is read in the
// next round of follow-ups. Nothing is sent. The error is INVALID_ARGUMENT for an item that is not unknown and for a name that
// cannot be the item's, and BATCH_NOT_FOUND for an absent one.
func (db *DB) Resolve(ctx context.Context, tenant authn.TenantID, id batch.ItemID, state batch.ItemState, name, reason, operator string) (item batch.Item, err error) {
	o := worker.Outcome{State: state, Attempt: batch.AttemptFound, Executed: errs.ExecutedYes, Publication: batch.Accepted, Operator: operator, Reason: reason, Note: "settled by an operator"}
	if state == batch.ItemFailed {
		o.Attempt, o.Executed, o.Publication, o.Code, o.RetryPossible = batch.AttemptAbsent, errs.ExecutedNo, "", errs.GBPUnavailable, true
		o.Error = &batch.ItemError{JA: "運用担当が、書き込まれていないことを確認しました。", EN: "An operator found that it was not written."}
	}
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+dueColumns+dueFrom+` WHERE i.tenant_id = $1 AND i.item_id = $2 FOR UPDATE OF b`, tenant, id)
		if err != nil {
			return err
		}
		d, err := pgx.CollectExactlyOneRow(rows, scanDue)
		if errors.Is(err, pgx.ErrNoRows) {
			e := errs.New(errs.BatchNotFound, errs.T("この項目は見つかりません。", "There is no such item.")).With(errs.Details{NotFound: []string{string(id)}})
			e.How = errs.T("`mappy-mcp batch show BATCH_ID` の ITEM 列で項目の ID を確認してください。", "Look the id up in the column ITEM of `mappy-mcp batch show BATCH_ID`.")
			return e
		}
		if err != nil {
			return err
		}
		if d.Item.State != batch.ItemUnknown {
			e := errs.New(errs.InvalidArgument, errs.Tf("この項目は不明ではなく %s です。", "The item is not unknown but %s.", d.Item.State))
			e.How = errs.T("結果の不明な項目だけを手で確定できます。この項目は確定済みか処理中です。", "Only an item whose outcome is unknown is settled by hand; this one is decided, or still being worked on.")
			return e
		}
		d.Batch.Tenant = tenant
		if name != "" {
			if err := mayBe(ctx, tx, tenant, d.Item, state, name); err != nil {
				return err
			}
			o.ResourceName, o.Follow = name, atOnce
		}
		if err := db.settle(ctx, tx, tenant, d, o); err != nil {
			return err
		}
		item = d.Item
		item.State = state
		_, err = tx.Exec(ctx, `UPDATE mappy.item SET resolved_by = $3 WHERE tenant_id = $1 AND item_id = $2`, tenant, id, operator)
		return err
	})
	return item, err
}

// mayBe refuses a name that an item cannot have made: of another kind or store, or made by another item.
func mayBe(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, i batch.Item, state batch.ItemState, name string) error {
	if state != batch.ItemSucceeded {
		return errs.New(errs.InvalidArgument, errs.T("名前は succeeded の項目にだけ指定できます。", "Only what succeeded has a name at Google."))
	}
	var at gbp.LocationName
	var collection string
	switch {
	case i.Kind == gbp.KindPost && !i.Edits():
		at, collection = gbp.PostName(name).Location(), "localPosts"
	case i.Kind == gbp.KindMedia && !i.Edits():
		at, collection = gbp.MediaName(name).Location(), "media"
	default:
		return errs.New(errs.InvalidArgument, errs.Tf("%s は新しいものを作らないため、名前は要りません。", "%s makes nothing new, so there is no name to give.", i.Operation))
	}
	store := i.LocationName.V4(i.Account) + "/" + collection + "/"
	if at == "" || !strings.HasPrefix(name, store) {
		return errs.New(errs.InvalidArgument, errs.Tf("名前は %[1]s で始まります: %[2]q", "A name of this item begins with %[1]s; %[2]q does not, or is malformed.", store, name))
	}
	var other string
	err := tx.QueryRow(ctx, `SELECT item_id FROM mappy.item WHERE tenant_id = $1 AND resource_name = $2 LIMIT 1`, tenant, name).Scan(&other)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return errs.New(errs.InvalidArgument, errs.Tf("それは別の項目 %s が作ったものです。", "That was made by another item, %s.", other))
}
