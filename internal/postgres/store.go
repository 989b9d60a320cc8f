package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// SaveAttributes keeps what was read of a store's attributes: the list of Google's attributes resource.
func (db *DB) SaveAttributes(ctx context.Context, tenant authn.TenantID, id gbp.LocationID, list json.RawMessage) error {
	return db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		q := &pgx.Batch{}
		queueAttributes(q, tenant, id, list)
		if err := tx.SendBatch(ctx, q).Close(); err != nil {
			return fmt.Errorf("attributes of location %d: %w", id, err)
		}
		return nil
	})
}

func queueAttributes(q *pgx.Batch, tenant authn.TenantID, id gbp.LocationID, list json.RawMessage) {
	q.Queue(`UPDATE mappy.location SET attributes = $3, attributes_at = clock_timestamp() WHERE tenant_id = $1 AND location_id = $2`, tenant, id, snapshot(list))
}

// googleVersion is Google's own version of a location as jsonb, nil for none.
func googleVersion(l gbp.Location) []byte {
	if l.GoogleVersion == nil {
		return nil
	}
	b, err := json.Marshal(l.GoogleVersion)
	if err != nil {
		return nil // unreachable: texts and Google's own JSON
	}
	return snapshot(b)
}

// storeVersion is the version that a write of store data leaves when the write itself tells none: attributes are no part of it.
const storeVersion = `(SELECT l.version FROM mappy.location l WHERE l.tenant_id = $1 AND l.location_id = mappy.item.location_id AND mappy.item.kind = 'location' AND $3 = 'succeeded')`

// mayEdit tells whether the user may still change what an accepted item changes. An object of Google's that is two of our fields
// counts when one of them is granted: which of them the write changes was judged when it was accepted.
func mayEdit(g authn.Grants, i batch.Item) bool {
	if i.Kind != gbp.KindLocation {
		return true
	}
	for _, group := range profile.EditedBy(i.Mask) {
		if !slices.ContainsFunc(group, g.MayEdit) {
			return false
		}
	}
	return true
}

// replaced tells whether a later write of the same fields of the same store was sent: what is there is no longer about the item.
// The later write's attempt was committed before it was sent, so a reading that saw its effect is found out here.
func replaced(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, i batch.Item) (later bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM mappy.item i WHERE i.tenant_id = $1 AND i.target_name = $2 AND i.item_id > $3 AND i.kind = 'location'
		AND i.mask && $4 AND `+tried+`)`, tenant, i.TargetName, i.ID, i.Mask).Scan(&later)
	if err != nil {
		return false, fmt.Errorf("later edits of item %s: %w", i.ID, err)
	}
	return later, nil
}
