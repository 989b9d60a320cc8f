package postgres_test

import (
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// What a live read found, against what happened since it began: a deletion stands, a newer content stands, and what it found
// twice, because the list grew while its pages were read, is one thing.
func TestSawALateRead(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	loc := s.Locations[0]
	at := func(id string) string { return loc.Name.V4(loc.Account) + "/localPosts/" + id }
	saw := func(began time.Time, content string, ids ...string) (out []string) {
		t.Helper()
		var seen []gbp.Seen
		for _, id := range ids {
			seen = append(seen, gbp.Seen{Name: at(id), Raw: []byte(`{"summary":"` + content + `"}`)})
		}
		things, err := s.App.DB.Saw(t.Context(), stack.Tenant, loc.ID, gbp.KindPost, seen, began)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range things {
			if x.DeletedAt != nil {
				t.Errorf("%s is given although it is deleted", x.GoogleName)
			}
			out = append(out, x.GoogleName)
		}
		return out
	}
	content := func(id string) string {
		return rows[string](t, s.DB.Owner(), `SELECT snapshot ->> 'summary' || CASE WHEN deleted_at IS NULL THEN '' ELSE ', deleted' END FROM mappy.resource WHERE google_name = $1`, at(id))[0]
	}
	began := time.Now()
	if got := saw(began, "first", "a", "b", "c", "a"); len(got) != 3 || got[0] != at("a") || got[2] != at("c") {
		t.Fatalf("%v", got)
	}
	late := time.Now() // a read begins
	if _, err := s.DB.Owner().Exec(t.Context(), `UPDATE mappy.resource SET deleted_at = clock_timestamp(), seen_at = clock_timestamp() WHERE google_name = $1`, at("a")); err != nil {
		t.Fatal(err)
	}
	saw(time.Now(), "second", "b")
	if got := saw(late, "late", "a", "b", "c", "d"); len(got) != 3 || got[0] != at("b") {
		t.Errorf("%v", got)
	}
	for id, want := range map[string]string{"a": "first, deleted", "b": "second", "c": "late", "d": "late"} {
		if got := content(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	// A read that begins after it sees that somebody has put it back.
	if got := saw(time.Now(), "again", "a"); len(got) != 1 || content("a") != "again" {
		t.Errorf("%v, %s", got, content("a"))
	}
}
