package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

// The audit has its partitions of this month and the next two, after a migration and after the application's own sweep. A month whose
// events came before its partition keeps them in the default one, and does not keep the later months from theirs.
func TestAuditPartitionsAreMadeAhead(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	owner := s.DB.Owner()
	month := func(n int) time.Time {
		now := time.Now().UTC()
		return time.Date(now.Year(), now.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	}
	name := func(n int) string { return "audit_event_" + month(n).Format("200601") }
	exec := func(sql string) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	have := func(what string, want ...int) {
		t.Helper()
		var names []string
		for _, n := range want {
			names = append(names, name(n))
		}
		got := rows[string](t, owner, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'mappy.audit_event'::regclass AND c.relname <> 'audit_event_default' AND c.relrowsecurity ORDER BY 1`)
		if !slices.Equal(got, names) {
			t.Errorf("%s: %v, want %v", what, got, names)
		}
	}
	have("after the first migration", 0, 1, 2)
	exec(`DROP TABLE mappy.` + name(2))
	if err := s.App.DB.PrepareAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
	have("after the application's sweep", 0, 1, 2)
	if err := s.App.DB.PrepareAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(`DROP TABLE mappy.` + name(1))
	exec(`DROP TABLE mappy.` + name(2))
	exec(`INSERT INTO mappy.audit_event (tenant_id, event_id, occurred_at, event, body) VALUES ('komorebi', '01', '` + month(1).Add(72*time.Hour).Format(time.RFC3339) + `', '` + string(audit.AuditRead) + `', '{}')`)
	if err := migrations.Up(t.Context(), s.DB.OwnerURL(), ""); err != nil {
		t.Fatal(err)
	}
	have("with events of next month in the default partition", 0, 2)
	if n := rows[int](t, owner, `SELECT count(*) FROM mappy.audit_event_default`)[0]; n != 1 {
		t.Errorf("%d events there", n)
	}
}

// A partition that was made in another time zone ends before or after the month does: the next one begins there.
func TestAuditPartitionsOfOtherZones(t *testing.T) {
	t.Parallel()
	for zone, ends := range map[string]time.Duration{"Asia/Tokyo": -9 * time.Hour, "America/Los_Angeles": 8 * time.Hour} {
		s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
		now := time.Now().UTC()
		next, after := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC), time.Date(now.Year(), now.Month()+2, 1, 0, 0, 0, 0, time.UTC)
		end := after.Add(ends).Format(time.RFC3339)
		for _, sql := range []string{
			`DROP TABLE mappy.audit_event_` + next.Format("200601"), `DROP TABLE mappy.audit_event_` + after.Format("200601"),
			`CREATE TABLE mappy.audit_event_` + next.Format("200601") + ` PARTITION OF mappy.audit_event FOR VALUES FROM ('` + next.Add(24*time.Hour).Format(time.RFC3339) + `') TO ('` + end + `')`,
			`SELECT mappy.make_audit_partitions()`,
			`INSERT INTO mappy.audit_event (tenant_id, event_id, occurred_at, event, body) VALUES ('komorebi', '01', '` + end + `', 'audit_read', '{}')`,
		} {
			if _, err := s.DB.Owner().Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", zone, err)
			}
		}
		if got := rows[string](t, s.DB.Owner(), `SELECT tableoid::regclass::text FROM mappy.audit_event WHERE event_id = '01'`)[0]; got != "mappy.audit_event_"+after.Format("200601") {
			t.Errorf("%s: it lies in %s", zone, got)
		}
	}
}
