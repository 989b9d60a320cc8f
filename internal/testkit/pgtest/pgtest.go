// Package pgtest gives each test a PostgreSQL database of its own with all migrations applied. Only tests import it.
//
// The server is the one of MAPPY_OWNER_DATABASE_URL when set (as under `make test`), else a private one of the test
// process. A server that cannot be had fails the test with the line that says what to install; nothing is skipped.
//
// The first test of a state of the migrations pays for a template (0.2 s); a database costs 30 to 60 ms after that.
package pgtest

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mappy-dev/mappy-mcp/internal/localstack/teststack"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/pgtest/clone"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

// AppRole is the login role that tests have as the application: a member of mappy_app, neither superuser nor BYPASSRLS.
const AppRole = "mappy_test_app"

// poolConns bounds each pool of a DB. The private server takes 300 connections in all.
const poolConns = 16

// server is shared by the process's tests; see package teststack for why it is a package variable.
var server = sync.OnceValues(func() (*clone.Server, error) {
	url, err := teststack.OwnerURL()
	if err != nil {
		return nil, err
	}
	print, err := fingerprint(migrations.FS(), migrations.RiverVersion)
	if err != nil {
		return nil, err
	}
	return clone.Open(context.Background(), clone.Config{
		OwnerURL: url, AppRole: AppRole, Fingerprint: print, Migrate: migrations.Up,
	})
})

// DB is one test's database. Its methods may be called from several goroutines.
type DB struct {
	tb               testing.TB
	ownerURL, appURL string
	owner, app       func() *pgxpool.Pool
}

// New returns a fresh database. It is dropped when the test ends, with the connections that are still open.
func New(tb testing.TB) *DB {
	tb.Helper()
	s, err := server()
	if err != nil {
		tb.Fatalf("no PostgreSQL for this test: %v", err)
	}
	name, err := s.Create(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	d := &DB{tb: tb}
	tb.Cleanup(func() {
		if err := s.Drop(context.Background(), name); err != nil {
			tb.Error(err)
		}
	})
	if d.ownerURL, err = s.OwnerURL(name); err != nil {
		tb.Fatal(err)
	}
	if d.appURL, err = s.AppURL(name); err != nil {
		tb.Fatal(err)
	}
	d.owner = sync.OnceValue(func() *pgxpool.Pool { return open(tb, d.ownerURL) })
	d.app = sync.OnceValue(func() *pgxpool.Pool { return open(tb, d.appURL) })
	return d
}

// OwnerURL is the database for the role that owns the schema and is not held by row-level security.
func (d *DB) OwnerURL() string { return d.ownerURL }

// AppURL is the database for the application's role, AppRole.
func (d *DB) AppURL() string { return d.appURL }

// Owner is a pool on OwnerURL, opened at the first call and closed when the test ends.
func (d *DB) Owner() *pgxpool.Pool { d.tb.Helper(); return d.owner() }

// App is a pool on AppURL, opened at the first call and closed when the test ends.
func (d *DB) App() *pgxpool.Pool { d.tb.Helper(); return d.app() }

// open is registered for closing after the drop of New, so it is closed before it.
func open(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		tb.Fatalf("read the test database's URL: %v", err)
	}
	cfg.MaxConns = poolConns
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		tb.Fatalf("open the test database: %v", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}
