package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/pgtest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

const rival authn.TenantID = "rival"

// lived is a database in which two tenants have left rows in every table.
func lived(t *testing.T) *stack.Stack {
	t.Helper()
	s := stack.New(t, stack.Options{Stores: 3, Policy: stack.Roomy})
	other := s.AddUser(rival, "jiro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	s.Sync(rival)
	ids := rows[int64](t, s.DB.Owner(), `SELECT location_id FROM mappy.location WHERE tenant_id = 'rival'`)
	s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(2), "こちらの会社の投稿です。")).BatchID))
	into := stack.Into[tools.Write](t, s.CallAs(other, "post.create", stack.Post(ids[:2], "あちらの会社の投稿です。").With("wait_seconds", 20)))
	if into.Batch == nil || !into.Batch.Status.Final() {
		t.Fatalf("the rival's batch: %+v", into)
	}
	for _, tenant := range []authn.TenantID{stack.Tenant, rival} {
		if err := s.App.DB.SetKill(t.Context(), tenant, authn.KillSwitch{Kind: "client", Target: "x"}, true, "operator"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.App.DB.Seal(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func rows[T any](t *testing.T, p *pgxpool.Pool, sql string, args ...any) []T {
	t.Helper()
	r, err := p.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	out, err := pgx.CollectRows(r, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return out
}

// tablesOf are the schema's tables, partitions left out.
func tablesOf(t *testing.T, p *pgxpool.Pool) []string {
	t.Helper()
	return rows[string](t, p, `SELECT relname FROM pg_class WHERE relnamespace = 'mappy'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`)
}

// inTenant runs fn in a transaction of the application's role with a tenant, and rolls it back.
func inTenant(t *testing.T, p *pgxpool.Pool, tenant string, fn func(pgx.Tx)) {
	t.Helper()
	tx, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `SELECT set_config('mappy.tenant', $1, true)`, tenant); err != nil {
		t.Fatal(err)
	}
	fn(tx)
}

func refusedWith(err error, state string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == state
}

func TestForgottenTenantSeesNothing(t *testing.T) {
	t.Parallel()
	s := lived(t)
	app, owner := s.DB.App(), s.DB.Owner()
	all := tablesOf(t, owner)
	if len(all) != 15 {
		t.Errorf("%d tables: %v", len(all), all)
	}
	for _, table := range all {
		t.Run(table, func(t *testing.T) {
			count := func(where string) string { return `SELECT count(*) FROM mappy.` + table + where }
			for _, tenant := range []string{string(stack.Tenant), string(rival)} {
				if n := rows[int](t, owner, count(` WHERE tenant_id = $1`), tenant)[0]; n == 0 {
					t.Fatalf("%s has no row of %s: nothing would be shown", table, tenant)
				}
			}
			if n := rows[int](t, app, count(``))[0]; n != 0 {
				t.Errorf("without a tenant: %d rows", n)
			}
			if n := rows[int](t, app, count(` WHERE tenant_id = 'rival'`))[0]; n != 0 {
				t.Errorf("without a tenant, by name: %d rows", n)
			}
			inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) {
				var own, foreign int
				if err := tx.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE tenant_id = $1), count(*) FILTER (WHERE tenant_id <> $1) FROM mappy.`+table, stack.Tenant).Scan(&own, &foreign); err != nil {
					t.Fatal(err)
				}
				if own == 0 || foreign != 0 {
					t.Errorf("with a tenant: %d own rows, %d foreign", own, foreign)
				}
			})
			inTenant(t, app, "", func(tx pgx.Tx) {
				var n int
				if err := tx.QueryRow(t.Context(), count(``)).Scan(&n); err != nil || n != 0 {
					t.Errorf("with an empty tenant: %d rows, %v", n, err)
				}
			})
		})
	}
	t.Run("system switches are everybody's", func(t *testing.T) {
		if err := s.App.DB.SetKill(t.Context(), authn.SystemTenant, authn.KillSwitch{Kind: "all"}, true, "operator"); err != nil {
			t.Fatal(err)
		}
		if got := rows[string](t, app, `SELECT tenant_id FROM mappy.kill_switch`); !slices.Equal(got, []string{"system"}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("every table and partition has row-level security", func(t *testing.T) {
		if got := rows[string](t, owner, `SELECT relname FROM pg_class WHERE relnamespace = 'mappy'::regnamespace AND relkind IN ('r', 'p') AND NOT relrowsecurity`); len(got) != 0 {
			t.Errorf("without: %v", got)
		}
	})
	t.Run("the tenant does not stay on the connection", func(t *testing.T) {
		for range 30 {
			if _, err := s.App.DB.TenantPolicy(t.Context(), stack.Tenant); err != nil {
				t.Fatal(err)
			}
			if got := rows[string](t, s.App.DB.Pool(), `SELECT coalesce(mappy.current_tenant(), 'none')`); got[0] != "none" {
				t.Fatalf("left behind: %v", got)
			}
		}
	})
}

func TestForeignRowsCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := lived(t)
	app, owner := s.DB.App(), s.DB.Owner()
	for _, table := range tablesOf(t, owner) {
		t.Run(table, func(t *testing.T) {
			appendOnly := strings.HasPrefix(table, "audit_")
			inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) {
				tag, err := tx.Exec(t.Context(), `UPDATE mappy.`+table+` SET tenant_id = tenant_id WHERE tenant_id = 'rival'`)
				if appendOnly && !refusedWith(err, "42501") || !appendOnly && (err != nil || tag.RowsAffected() != 0) {
					t.Errorf("update: %v, %v", tag, err)
				}
			})
			inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) { // a copy of a foreign row, as its own owner's
				columns := strings.Join(rows[string](t, owner, `SELECT quote_ident(column_name) FROM information_schema.columns WHERE table_schema = 'mappy' AND table_name = $1
					AND is_identity = 'NO' AND column_name <> 'tenant_id'`, table), ", ")
				_, err := tx.Exec(t.Context(), fmt.Sprintf(`INSERT INTO mappy.%s (tenant_id, %s) SELECT 'rival', %s FROM mappy.%s LIMIT 1`, table, columns, columns, table))
				if !refusedWith(err, "42501") {
					t.Errorf("insert: %v", err)
				}
			})
			inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) {
				_, err := tx.Exec(t.Context(), `DELETE FROM mappy.`+table+` WHERE tenant_id = 'rival'`)
				mayDelete := table == "idempotency" || table == "kill_switch"
				if mayDelete && err != nil || !mayDelete && !refusedWith(err, "42501") {
					t.Errorf("delete: %v", err)
				}
			})
			inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) {
				if _, err := tx.Exec(t.Context(), `TRUNCATE mappy.`+table+` CASCADE`); !refusedWith(err, "42501") {
					t.Errorf("truncate: %v", err)
				}
			})
		})
	}
}

func TestAuditTablesAreAppendOnly(t *testing.T) {
	t.Parallel()
	s := lived(t)
	app, owner := s.DB.App(), s.DB.Owner()
	if _, err := owner.Exec(t.Context(), `SELECT mappy.make_audit_partition(date '2031-01-15')`); err != nil {
		t.Fatal(err)
	}
	all := rows[string](t, owner, `SELECT relname FROM pg_class WHERE relnamespace = 'mappy'::regnamespace AND relkind IN ('r', 'p') AND relname LIKE 'audit%' ORDER BY 1`)
	if !slices.Contains(all, "audit_event_203101") || !slices.Contains(all, "audit_event_default") || len(all) < 7 {
		t.Fatalf("tables: %v", all)
	}
	for _, table := range all {
		for _, sql := range []string{`UPDATE mappy.%s SET tenant_id = 'x'`, `DELETE FROM mappy.%s`, `TRUNCATE mappy.%s CASCADE`} {
			sql = fmt.Sprintf(sql, table)
			inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) {
				if _, err := tx.Exec(t.Context(), sql); !refusedWith(err, "42501") {
					t.Errorf("application: %s: %v", sql, err)
				}
			})
			if _, err := owner.Exec(t.Context(), sql); err == nil {
				if n := rows[int](t, owner, `SELECT count(*) FROM mappy.`+table)[0]; n > 0 || !strings.HasPrefix(sql, "UPDATE") && !strings.HasPrefix(sql, "DELETE") {
					t.Errorf("owner: %s succeeded", sql) // row triggers have nothing to say about no rows
				}
			} else if !strings.Contains(err.Error(), "append-only") {
				t.Errorf("owner: %s: %v", sql, err)
			}
		}
		if strings.HasPrefix(table, "audit_event_") {
			inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) {
				if _, err := tx.Exec(t.Context(), `SELECT count(*) FROM mappy.`+table); !refusedWith(err, "42501") {
					t.Errorf("a partition is read past the parent: %v", err)
				}
			})
		}
	}
	inTenant(t, app, string(stack.Tenant), func(tx pgx.Tx) {
		if _, err := tx.Exec(t.Context(), `SELECT mappy.make_audit_partition(date '2032-01-01')`); !refusedWith(err, "42501") {
			t.Errorf("the application makes partitions: %v", err)
		}
	})
	if n := rows[int](t, owner, `SELECT count(*) FROM mappy.audit_event WHERE tableoid = 'mappy.audit_event_default'::regclass`)[0]; n != 0 {
		t.Errorf("%d events of today lie in the default partition", n)
	}
}

// A login that row-level security does not hold back is refused at the start.
func TestOpenRefusesPowerfulRoles(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	suffix := fmt.Sprint(rand.Uint32())
	login := func(name, attributes, groups string) string {
		role := pgx.Identifier{"mappy_power_" + name + suffix}.Sanitize()
		for _, sql := range []string{`CREATE ROLE ` + role + ` LOGIN PASSWORD 'x' ` + attributes, groups} {
			if sql == "" {
				continue
			}
			if _, err := d.Owner().Exec(t.Context(), strings.ReplaceAll(sql, "ROLE_NAME", role)); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			_, err := d.Owner().Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
			if err != nil {
				t.Error(err)
			}
		})
		u, err := url.Parse(d.AppURL())
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("mappy_power_"+name+suffix, "x")
		return u.String()
	}
	owner := pgx.Identifier{rows[string](t, d.Owner(), `SELECT current_user::text`)[0]}.Sanitize()
	for name, c := range map[string]struct{ url, says string }{
		"owner of the schema": {d.OwnerURL(), "does not hold back"},
		"superuser":           {login("super", "SUPERUSER", ""), "does not hold back"},
		"BYPASSRLS":           {login("bypass", "BYPASSRLS", "GRANT mappy_app TO ROLE_NAME"), "does not hold back"},
		"member of the owner": {login("member", "", "GRANT mappy_app TO ROLE_NAME; GRANT "+owner+" TO ROLE_NAME"), "does not hold back"},
		"no member":           {login("stranger", "", ""), "not a member of mappy_app"},
		"unreadable URL":      {"postgres://user:SECRET@host:port:x/", "cannot be parsed"},
	} {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: c.url, Environment: "simulator", Policy: policy.Default(), Now: time.Now})
		if err == nil {
			db.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A panic inside a transaction gives its connection and its locks back.
func TestInTenantSurvivesPanics(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	for range 2 * s.App.DB.Pool().Config().MaxConns {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = s.App.DB.InTenant(t.Context(), stack.Tenant, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), `SELECT 1 FROM mappy.connection FOR UPDATE`); err != nil {
					t.Error(err)
				}
				panic("x")
			})
		}()
	}
	if n := s.App.DB.Pool().Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections are lost", n)
	}
}

// The tenant becomes part of a statement, so nothing but a tenant id gets through.
func TestInTenantTakesOnlyTenantIDs(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	for _, bad := range []authn.TenantID{"", "A", "-a", "a b", "a'; DROP SCHEMA mappy CASCADE; --", "a\x00", "ä", "a\n", authn.TenantID(strings.Repeat("a", 64))} {
		called := false
		err := s.App.DB.InTenant(t.Context(), bad, func(pgx.Tx) error { called = true; return nil })
		if err == nil || called {
			t.Errorf("%q was taken", bad)
		}
	}
	if err := s.App.DB.InTenant(t.Context(), authn.TenantID(strings.Repeat("a", 63)), func(pgx.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}

// Which of Google's posts an attempt may have made: those that no item has and that nobody had seen before it.
func TestUnclaimed(t *testing.T) {
	t.Parallel()
	s := lived(t)
	bound := rows[string](t, s.DB.Owner(), `SELECT resource_name FROM mappy.item WHERE tenant_id = $1 ORDER BY 1`, stack.Tenant)
	loc := s.Locations[2]
	post := func(id string) gbp.PostName { return gbp.PostName(loc.Name.V4(loc.Account) + "/localPosts/" + id) }
	if _, err := s.App.DB.Saw(t.Context(), stack.Tenant, loc.ID, gbp.KindPost, []gbp.Seen{{Name: string(post("seen")), Raw: []byte(`{"name":"x\u0000"}`)}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	foreign := rows[string](t, s.DB.Owner(), `SELECT resource_name FROM mappy.item WHERE tenant_id = 'rival'`)[0]
	names := []string{bound[0], string(post("b")), string(post("seen")), foreign, string(post("a"))}
	for name, c := range map[string]struct {
		since time.Time
		want  []string
	}{
		// The rival's own rows are no business of this tenant's.
		"an attempt of now": {time.Now().Add(time.Hour), []string{string(post("b")), foreign, string(post("a"))}},
		"one of long ago":   {time.Now().Add(-time.Hour), []string{string(post("b")), string(post("seen")), foreign, string(post("a"))}},
	} {
		if got, err := s.App.DB.Unclaimed(t.Context(), stack.Tenant, names, c.since); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
