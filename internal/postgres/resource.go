package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

const resourceColumns = `r.resource_id, r.kind, r.location_id, r.google_name, coalesce(r.origin_item_id, ''),
	coalesce((SELECT i.batch_id FROM mappy.item i WHERE i.tenant_id = r.tenant_id AND i.item_id = r.origin_item_id), ''), r.snapshot, r.seen_at, r.deleted_at`

func scanResource(row pgx.CollectableRow) (r gbp.Resource, err error) {
	var snapshot []byte
	err = row.Scan(&r.ID, &r.Kind, &r.Location, &r.GoogleName, &r.OriginItem, &r.Batch, &snapshot, &r.SeenAt, &r.DeletedAt)
	r.Snapshot = snapshot
	return r, err
}

// Saw stores what a live read of one location found that began at began, and gives our rows for it, in the order given, each
// thing once and without what was deleted meanwhile. What a write or another read left since the read began stands: a late read neither brings back what was deleted meanwhile
// nor an older content.
func (db *DB) Saw(ctx context.Context, tenant authn.TenantID, loc gbp.LocationID, kind gbp.Kind, things []gbp.Seen, began time.Time) (out []gbp.Resource, err error) {
	var names, snapshots, fresh []string
	seen := map[string]bool{}
	for _, p := range things {
		if !seen[p.Name] {
			seen[p.Name] = true
			names, snapshots, fresh = append(names, p.Name), append(snapshots, string(snapshot(p.Raw))), append(fresh, db.ids.New())
		}
	}
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO mappy.resource AS r (tenant_id, resource_id, kind, location_id, google_name, snapshot, seen_at)
			SELECT $1, u.id, $6, $2, u.name, u.snapshot::jsonb, now() - $7::interval FROM unnest($3::text[], $4::text[], $5::text[]) AS u (id, name, snapshot)
			ON CONFLICT ON CONSTRAINT resource_google_key DO UPDATE SET snapshot = EXCLUDED.snapshot, seen_at = EXCLUDED.seen_at, deleted_at = NULL
				WHERE greatest(r.seen_at, r.deleted_at) < EXCLUDED.seen_at`,
			tenant, loc, fresh, names, snapshots, kind, db.now().Sub(began)) // after the beginning of the transaction, which now() is: it errs to the early side
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT `+resourceColumns+` FROM mappy.resource r JOIN unnest($2::text[]) WITH ORDINALITY AS u (name, o) ON r.google_name = u.name
			WHERE r.tenant_id = $1 AND r.deleted_at IS NULL ORDER BY u.o`, tenant, names)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanResource)
		return err
	})
	return out, err
}

// Known gives the rows of a reading as they are now, in its order, without what was deleted meanwhile; before them what was
// made since the reading, newest first.
func (db *DB) Known(ctx context.Context, tenant authn.TenantID, loc gbp.LocationID, kind gbp.Kind, ids []string, since time.Time) (out []gbp.Resource, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, scanResource, `SELECT `+resourceColumns+` FROM mappy.resource r
			WHERE r.tenant_id = $1 AND r.location_id = $2 AND r.kind = $3 AND r.deleted_at IS NULL AND (r.resource_id = ANY ($4) OR r.first_seen_at >= $5)
			ORDER BY array_position($4, r.resource_id) NULLS FIRST, r.resource_id DESC`, tenant, loc, kind, list(ids), since)
	})
	return out, err
}

// Resources implements admission.Store.
func (db *DB) Resources(ctx context.Context, tenant authn.TenantID, ids []string) (out []gbp.Resource, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, scanResource, `SELECT `+resourceColumns+` FROM mappy.resource r WHERE r.tenant_id = $1 AND r.resource_id = ANY ($2)`, tenant, ids)
	})
	return out, err
}

// Resource reads one of our ids; ok is false for an absent one.
func (db *DB) Resource(ctx context.Context, tenant authn.TenantID, kind gbp.Kind, id string) (r gbp.Resource, ok bool, err error) {
	var found []gbp.Resource
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &found, scanResource, `SELECT `+resourceColumns+` FROM mappy.resource r WHERE r.tenant_id = $1 AND r.kind = $2 AND r.resource_id = $3`, tenant, kind, id)
	})
	if err != nil || len(found) == 0 {
		return r, false, err
	}
	return found[0], true, nil
}
