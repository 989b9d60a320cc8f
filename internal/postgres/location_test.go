package postgres_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// What a sync read before a write changed the mirror does not undo that, and is no reason to think that the store is gone; what it
// read of other stores is stored, as of when it was read.
func TestSyncThatReadBeforeAWrite(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, NoWorkers: true})
	list := func() []gbp.Location {
		t.Helper()
		l, err := s.App.DB.Locations(t.Context(), stack.Tenant, []gbp.LocationID{s.Locations[0].ID, s.Locations[1].ID, s.Locations[2].ID})
		if err != nil || len(l) != 3 {
			t.Fatalf("%v, %v", l, err)
		}
		slices.SortFunc(l, func(a, b gbp.Location) int { return cmp.Compare(a.ID, b.ID) })
		return l
	}
	read := list()
	if _, err := s.DB.Owner().Exec(t.Context(), `UPDATE mappy.location SET synced_at = synced_at - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	for i := range read {
		read[i].SyncedAt = time.Now()
		read[i].Profile.Title = "as the sync read it"
	}
	// the write, which ended while the sync went on
	if _, err := s.DB.Owner().Exec(t.Context(), `UPDATE mappy.location SET title = 'written', version = 'written', synced_at = clock_timestamp() WHERE location_id = $1`, read[0].ID); err != nil {
		t.Fatal(err)
	}
	r, err := s.App.DB.SaveLocations(t.Context(), stack.Tenant, "google", read[:2], true)
	if err != nil || r != (postgres.SyncResult{Found: 2, Changed: 1, Gone: 1}) {
		t.Errorf("%+v, %v", r, err)
	}
	got := rows[string](t, s.DB.Owner(), `SELECT title || CASE WHEN gone_at IS NULL THEN '' ELSE ', gone' END FROM mappy.location WHERE location_id <> $1 ORDER BY location_id`, read[2].ID)
	if len(got) != 2 || got[0] != "written" || got[1] != "as the sync read it" {
		t.Errorf("%q", got)
	}
	if at := rows[time.Time](t, s.DB.Owner(), `SELECT synced_at FROM mappy.location WHERE location_id = $1`, read[1].ID)[0]; at.Sub(read[1].SyncedAt).Abs() > 500*time.Millisecond {
		t.Errorf("read at %s, stored as of %s", read[1].SyncedAt, at)
	}
	s.Sync(stack.Tenant) // what is read now is newer than the write
	if l := list()[0]; l.Profile.Title == "written" || l.Profile.Title == "as the sync read it" || l.Version == "written" {
		t.Errorf("%+v", l.Profile)
	}
}

// One store with a text that PostgreSQL cannot hold does not keep its connection's other stores from being synced.
func TestSyncOfAnImpossibleText(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 2, NoServer: true, NoWorkers: true})
	for i, title := range []string{`"caf\u0000é"`, `"renamed"`} {
		if err := s.Sim.ChangeStore(gbpsim.LocationName(s.Locations[i].Name), gbpsim.StoreChange{Fields: map[string]json.RawMessage{"title": json.RawMessage(title)}}); err != nil {
			t.Fatal(err)
		}
	}
	s.Sync(stack.Tenant)
	if got := rows[string](t, s.DB.Owner(), `SELECT title FROM mappy.location ORDER BY location_id`); got[0] != "café" || got[1] != "renamed" {
		t.Errorf("%q", got)
	}
}
