package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

const locationColumns = `l.location_id, l.connection_id, l.google_account, l.google_location, l.profile, CASE WHEN l.timezone = '' THEN t.timezone ELSE l.timezone END,
	l.verified, l.pending_google_edit, l.open_status, l.maps_uri, l.place_id, l.version, l.synced_at, l.attributes, l.attributes_at, l.google_version,
	EXISTS (SELECT 1 FROM mappy.connection c WHERE c.tenant_id = l.tenant_id AND c.connection_id = l.connection_id AND c.state = 'dead')`

func scanLocation(row pgx.CollectableRow) (gbp.Location, error) {
	var l gbp.Location
	var profile, attributes, version []byte
	var at *time.Time
	err := row.Scan(&l.ID, &l.ConnectionID, &l.Account, &l.Name, &profile, &l.Timezone, &l.Verified, &l.PendingGoogleEdit, &l.OpenStatus, &l.MapsURI, &l.PlaceID, &l.Version, &l.SyncedAt,
		&attributes, &at, &version, &l.Disconnected)
	if err != nil {
		return l, err
	}
	if at != nil {
		l.Attributes, l.AttributesAt = attributes, *at
	}
	if version != nil {
		if err := json.Unmarshal(version, &l.GoogleVersion); err != nil {
			return l, fmt.Errorf("google's version of location %d: %w", l.ID, err)
		}
	}
	if err := json.Unmarshal(profile, &l.Profile); err != nil {
		return l, fmt.Errorf("profile of location %d: %w", l.ID, err)
	}
	return l, nil
}

// Locations gives the tenant's locations among ids; absent and foreign ones are left out alike.
func (db *DB) Locations(ctx context.Context, tenant authn.TenantID, ids []gbp.LocationID) (out []gbp.Location, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) { queueLocations(b, &out, tenant, ids) })
	return out, err
}

func queueLocations(b *pgx.Batch, out *[]gbp.Location, tenant authn.TenantID, ids []gbp.LocationID) {
	collect(b, out, scanLocation, `SELECT `+locationColumns+` FROM mappy.location l JOIN mappy.tenant t USING (tenant_id)
		WHERE l.tenant_id = $1 AND l.location_id = ANY ($2) AND l.gone_at IS NULL`, tenant, ids)
}

// ListLocations gives granted locations in the order of their ids.
func (db *DB) ListLocations(ctx context.Context, tenant authn.TenantID, g authn.Grants, f gbp.LocationFilter) (out []gbp.Location, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, scanLocation, `SELECT `+locationColumns+` FROM mappy.location l JOIN mappy.tenant t USING (tenant_id)
			WHERE l.tenant_id = $1 AND l.gone_at IS NULL AND l.location_id > $2
			  AND ($3 = '' OR position(lower($3) IN lower(l.title || ' ' || l.store_code || ' ' || l.city || ' ' || coalesce(l.profile ->> 'address_summary', ''))) > 0)
			  AND (cardinality($4::text[]) = 0 OR l.labels && $4)
			  AND (cardinality($5::bigint[]) = 0 OR l.location_id = ANY ($5))
			  AND ($6 OR l.labels && $7 OR l.location_id = ANY ($8))
			ORDER BY l.location_id LIMIT $9`,
			tenant, f.After, f.Query, list(f.Labels), list(f.IDs), g.All, list(g.Labels), list(g.LocationIDs), f.Limit)
	})
	return out, err
}

// list makes sure that an absent list reaches SQL as an empty array and not as NULL.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// SyncResult says what a sync changed.
type SyncResult struct {
	Found   int `json:"found"`
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Gone    int `json:"gone"`
}

// SaveLocations stores what a sync of one connection found, each location as of its SyncedAt, when it was read: what a write has left
// since then stands. Locations of the connection that were not found are marked as gone, unless the list was truncated.
func (db *DB) SaveLocations(ctx context.Context, tenant authn.TenantID, connection string, found []gbp.Location, complete bool) (r SyncResult, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		names, q := make([]string, 0, len(found)), &pgx.Batch{}
		read := db.now() // after the beginning of the transaction, which now() is: what was read before it errs to the early side
		for _, l := range found {
			names = append(names, string(l.Name))
			if err := queueLocation(q, tenant, connection, l, read.Sub(l.SyncedAt), &r); err != nil {
				return err
			}
		}
		if err := tx.SendBatch(ctx, q).Close(); err != nil {
			return fmt.Errorf("locations: %w", err)
		}
		r.Found = len(found)
		if complete {
			tag, err := tx.Exec(ctx, `UPDATE mappy.location SET gone_at = clock_timestamp()
				WHERE tenant_id = $1 AND connection_id = $2 AND gone_at IS NULL AND google_location <> ALL ($3)`, tenant, connection, names)
			if err != nil {
				return err
			}
			r.Gone = int(tag.RowsAffected())
		}
		_, err = tx.Exec(ctx, `UPDATE mappy.connection SET synced_at = clock_timestamp() WHERE tenant_id = $1 AND connection_id = $2`, tenant, connection)
		return err
	})
	return r, err
}

// queueLocation stores a location that was read age before the transaction began, and counts what that changed in r.
func queueLocation(q *pgx.Batch, tenant authn.TenantID, connection string, l gbp.Location, age time.Duration, r *SyncResult) error {
	profile, err := json.Marshal(l.Profile)
	if err != nil {
		return fmt.Errorf("location %s: %w", l.Name, err)
	}
	q.Queue(`
		WITH old AS (SELECT version FROM mappy.location WHERE tenant_id = $1 AND google_location = $4)
		INSERT INTO mappy.location AS l (tenant_id, connection_id, google_account, google_location, title, store_code, city, labels, profile,
			verified, pending_google_edit, open_status, maps_uri, place_id, version, google_version, synced_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, now() - $17::interval)
		ON CONFLICT ON CONSTRAINT location_google_key DO UPDATE SET connection_id = EXCLUDED.connection_id, google_account = EXCLUDED.google_account,
			title = EXCLUDED.title, store_code = EXCLUDED.store_code, city = EXCLUDED.city, labels = EXCLUDED.labels, profile = EXCLUDED.profile,
			verified = EXCLUDED.verified, pending_google_edit = EXCLUDED.pending_google_edit, open_status = EXCLUDED.open_status, maps_uri = EXCLUDED.maps_uri,
			place_id = EXCLUDED.place_id, version = EXCLUDED.version, google_version = EXCLUDED.google_version, synced_at = EXCLUDED.synced_at, gone_at = NULL
			WHERE l.synced_at < EXCLUDED.synced_at
		RETURNING NOT EXISTS (SELECT 1 FROM old), EXISTS (SELECT 1 FROM old WHERE old.version <> l.version)`,
		tenant, connection, l.Account, l.Name, l.Profile.Title, l.Profile.StoreCode, l.Profile.City, list(l.Profile.Labels), profile,
		l.Verified, l.PendingGoogleEdit, l.OpenStatus, l.MapsURI, l.PlaceID, l.Profile.Version(), googleVersion(l), age).
		Query(func(rows pgx.Rows) error { // no row where ours is newer
			var added, changed bool
			_, err := pgx.ForEachRow(rows, []any{&added, &changed}, func() error {
				r.Added += one(added)
				r.Changed += one(changed)
				return nil
			})
			return err
		})
	return nil
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ConnectionInfo is a connection as operators see it.
type ConnectionInfo struct {
	ID          string     `json:"connection_id"`
	GoogleEmail string     `json:"google_email"`
	State       string     `json:"state"`
	DeadReason  string     `json:"dead_reason,omitempty"`
	SyncedAt    *time.Time `json:"synced_at,omitempty"`
}

// ListConnections gives a tenant's connections, without removed ones.
func (db *DB) ListConnections(ctx context.Context, tenant authn.TenantID) (out []ConnectionInfo, err error) {
	err = db.readInTenant(ctx, tenant, func(b *pgx.Batch) {
		collect(b, &out, pgx.RowToStructByPos[ConnectionInfo], `SELECT connection_id, google_email, state, dead_reason, synced_at FROM mappy.connection
			WHERE tenant_id = $1 AND dead_reason <> $2 ORDER BY connection_id`, tenant, removed)
	})
	return out, err
}
