package postgres

import (
	"context"

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

// SeenPosts stores what a live read of one location found and gives our rows for it, newest first as Google lists them.
func (db *DB) SeenPosts(ctx context.Context, tenant authn.TenantID, loc gbp.LocationID, posts []gbp.RemotePost) (out []gbp.Resource, err error) {
	names, snapshots, fresh := make([]string, len(posts)), make([]string, len(posts)), make([]string, len(posts))
	for i, p := range posts {
		names[i], snapshots[i], fresh[i] = string(p.Name), string(snapshot(p.Raw)), db.ids.New()
	}
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO mappy.resource AS r (tenant_id, resource_id, kind, location_id, google_name, snapshot)
			SELECT $1, u.id, 'post', $2, u.name, u.snapshot::jsonb FROM unnest($3::text[], $4::text[], $5::text[]) AS u (id, name, snapshot)
			ON CONFLICT ON CONSTRAINT resource_google_key DO UPDATE SET snapshot = EXCLUDED.snapshot, seen_at = clock_timestamp(), deleted_at = NULL`,
			tenant, loc, fresh, names, snapshots)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT `+resourceColumns+` FROM mappy.resource r JOIN unnest($2::text[]) WITH ORDINALITY AS u (name, o) ON r.google_name = u.name
			WHERE r.tenant_id = $1 ORDER BY u.o`, tenant, names)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanResource)
		return err
	})
	return out, err
}

// Resource reads one of our ids; ok is false for an absent one.
func (db *DB) Resource(ctx context.Context, tenant authn.TenantID, kind, id string) (r gbp.Resource, ok bool, err error) {
	var found []gbp.Resource
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &found, scanResource, `SELECT `+resourceColumns+` FROM mappy.resource r WHERE r.tenant_id = $1 AND r.kind = $2 AND r.resource_id = $3`, tenant, kind, id)
	})
	if err != nil || len(found) == 0 {
		return r, false, err
	}
	return found[0], true, nil
}
