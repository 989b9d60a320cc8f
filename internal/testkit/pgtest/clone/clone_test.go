package clone

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/localstack/teststack"
)

// stand-in for the migrations: a role, a table, and a count of how often it ran.
type migration struct {
	role string
	runs atomic.Int32
	err  error
}

func (m *migration) up(ctx context.Context, ownerURL, appURL string) error {
	m.runs.Add(1)
	if m.err != nil {
		return m.err
	}
	app, err := pgx.ParseConfig(appURL)
	if err != nil {
		return err
	}
	if app.User != m.role || app.Password != appPassword {
		return fmt.Errorf("application is %s:%s", app.User, app.Password)
	}
	conn, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+m.role+`') THEN
		CREATE ROLE `+m.role+` LOGIN PASSWORD '`+appPassword+`'; END IF; END $$;
		CREATE TABLE made_by_migration (x int); GRANT SELECT ON made_by_migration TO `+m.role)
	return err
}

// setup makes a config of the test's own on the shared server; what it makes there is dropped at the end.
func setup(t *testing.T) (Config, *migration) {
	t.Helper()
	url, err := teststack.OwnerURL()
	if err != nil {
		t.Fatalf("no PostgreSQL for this test: %v", err)
	}
	id := fmt.Sprintf("clonetest%d", rand.Uint32())
	m := &migration{role: "mappy_" + id}
	cfg := Config{OwnerURL: url, AppRole: m.role, Fingerprint: id, Migrate: m.up}
	t.Cleanup(func() {
		conn := connect(t, url)
		for _, name := range []string{templatePrefix + id, templatePrefix + id + partSuffix} {
			exec(t, conn, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
		}
		exec(t, conn, "DROP ROLE IF EXISTS "+m.role)
	})
	return cfg, m
}

func open(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func create(t *testing.T, s *Server) string {
	t.Helper()
	name, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn := connect(t, s.cfg.OwnerURL)
		exec(t, conn, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
	})
	return name
}

// connect lives to the end of the cleanups, so it takes no test context.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func databases(t *testing.T, url string) []string {
	t.Helper()
	rows, err := connect(t, url).Query(t.Context(), "SELECT datname FROM pg_database")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestParallelProcessesMakeTheTemplateOnce(t *testing.T) {
	t.Parallel()
	cfg, m := setup(t)
	var wg sync.WaitGroup
	names := make([]string, 5)
	for i := range names {
		wg.Go(func() {
			s, err := Open(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { s.Close(context.Background()) })
			names[i] = create(t, s)
			url, err := s.AppURL(names[i])
			if err != nil {
				t.Error(err)
				return
			}
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close(context.Background()) }()
			var n int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM made_by_migration").Scan(&n); err != nil {
				t.Errorf("as the application: %v", err)
			}
		})
	}
	wg.Wait()
	if m.runs.Load() != 1 {
		t.Errorf("migrated %d times", m.runs.Load())
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 5 {
		t.Errorf("two databases of one name: %v", names)
	}
}

func TestADifferentFingerprintIsADifferentTemplate(t *testing.T) {
	t.Parallel()
	first, m := setup(t)
	open(t, first)
	open(t, first)
	second, _ := setup(t)
	second.Migrate, second.AppRole = m.up, first.AppRole
	open(t, second)
	if m.runs.Load() != 2 {
		t.Errorf("migrated %d times for two states", m.runs.Load())
	}
}

func TestAHalfMadeTemplateIsMadeAnew(t *testing.T) {
	t.Parallel()
	cfg, m := setup(t)
	// What a maker killed in the middle of the migrations leaves, somebody still connected to it.
	part := templatePrefix + cfg.Fingerprint + partSuffix
	exec(t, connect(t, cfg.OwnerURL), "CREATE DATABASE "+quote(part))
	url, err := withDatabase(cfg.OwnerURL, part)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, connect(t, url), "CREATE TABLE half_made (x int)")

	s := open(t, cfg)
	if m.runs.Load() != 1 {
		t.Errorf("migrated %d times", m.runs.Load())
	}
	clone, err := s.OwnerURL(create(t, s))
	if err != nil {
		t.Fatal(err)
	}
	var half, whole bool
	err = connect(t, clone).QueryRow(t.Context(),
		"SELECT to_regclass('half_made') IS NOT NULL, to_regclass('made_by_migration') IS NOT NULL").Scan(&half, &whole)
	if err != nil || half || !whole {
		t.Errorf("half-made table there: %t, migrated table there: %t, %v", half, whole, err)
	}
	if slices.Contains(databases(t, cfg.OwnerURL), part) {
		t.Error("the half-made template is still there")
	}
}

func TestAFailedMigrationIsReportedAndTriedAgain(t *testing.T) {
	t.Parallel()
	cfg, m := setup(t)
	broken := errors.New("syntax error at or near")
	m.err = broken
	for range 2 {
		if _, err := Open(t.Context(), cfg); !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
	}
	if m.runs.Load() != 2 {
		t.Errorf("migrated %d times", m.runs.Load())
	}
	m.err = nil
	s := open(t, cfg)
	create(t, s)
}

func TestATemplateWhoseRoleIsGoneIsMadeAnew(t *testing.T) {
	t.Parallel()
	cfg, m := setup(t)
	open(t, cfg)
	conn := connect(t, cfg.OwnerURL)
	template := templatePrefix + cfg.Fingerprint
	exec(t, conn, "ALTER DATABASE "+quote(template)+" ALLOW_CONNECTIONS true")
	url, err := withDatabase(cfg.OwnerURL, template)
	if err != nil {
		t.Fatal(err)
	}
	inside := connect(t, url)
	exec(t, inside, "DROP OWNED BY "+cfg.AppRole)
	_ = inside.Close(t.Context())
	exec(t, conn, "DROP ROLE "+cfg.AppRole)
	s := open(t, cfg)
	create(t, s)
	if m.runs.Load() != 2 {
		t.Errorf("migrated %d times", m.runs.Load())
	}
}

func TestAPowerfulApplicationRoleIsRefused(t *testing.T) {
	t.Parallel()
	for _, power := range []string{"SUPERUSER", "BYPASSRLS"} {
		cfg, _ := setup(t)
		exec(t, connect(t, cfg.OwnerURL), "CREATE ROLE "+cfg.AppRole+" LOGIN "+power)
		if _, err := Open(t.Context(), cfg); !errors.Is(err, errPowerfulRole) {
			t.Errorf("%s: got %v", power, err)
		}
	}
}

func TestDatabasesOfDeadProcessesAreDroppedThoseOfLivingAreNot(t *testing.T) {
	t.Parallel()
	cfg, _ := setup(t)
	living := open(t, cfg)
	kept := create(t, living)
	dead, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	left := create(t, dead)
	open(t, cfg)
	if names := databases(t, cfg.OwnerURL); !slices.Contains(names, left) || !slices.Contains(names, kept) {
		t.Fatalf("dropped although its process lives: %v", names)
	}
	url, err := dead.OwnerURL(left)
	if err != nil {
		t.Fatal(err)
	}
	connect(t, url)                  // a connection that outlives the process, as a worker's may
	dead.Close(context.Background()) // for the server this is what a killed process looks like
	// The end of a session is not instant: its lock may be held a moment longer.
	deadline := time.Now().Add(10 * time.Second)
	for {
		open(t, cfg)
		names := databases(t, cfg.OwnerURL)
		if !slices.Contains(names, kept) {
			t.Fatal("a living process's database was dropped")
		}
		if !slices.Contains(names, left) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", left)
		}
	}
}

func TestDropCutsConnectionsAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	cfg, _ := setup(t)
	s := open(t, cfg)
	name := create(t, s)
	url, err := s.OwnerURL(name)
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, url)
	for range 2 {
		if err := s.Drop(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if conn.Ping(t.Context()) == nil {
		t.Error("the connection still works")
	}
}

func TestOnlyOldTemplatesOfOtherStatesAreDropped(t *testing.T) {
	t.Parallel()
	old, _ := setup(t)
	recent, _ := setup(t)
	undated, _ := setup(t)
	conn := connect(t, old.OwnerURL)
	comment := func(cfg Config, text string) string {
		open(t, cfg)
		name := templatePrefix + cfg.Fingerprint
		exec(t, conn, "COMMENT ON DATABASE "+quote(name)+" IS '"+text+"'")
		return name
	}
	oldName := comment(old, time.Now().Add(-staleTemplate-time.Hour).UTC().Format(time.RFC3339))
	recentName := comment(recent, time.Now().Add(-staleTemplate+time.Hour).UTC().Format(time.RFC3339))
	undatedName := comment(undated, "mine, hands off")
	fresh, _ := setup(t)
	open(t, fresh)
	names := databases(t, old.OwnerURL)
	if slices.Contains(names, oldName) || !slices.Contains(names, recentName) || !slices.Contains(names, undatedName) {
		t.Errorf("old there: %t, recent there: %t, undated there: %t", slices.Contains(names, oldName),
			slices.Contains(names, recentName), slices.Contains(names, undatedName))
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://postgres@/postgres?host=%2Ftmp%2Fx&port=5432":         "/tmp/x 5432 db app",
		"postgresql://me:secret@h:6000/main?sslmode=disable&user=me":      "h 6000 db app",
		"postgres://h/main?dbname=other&user=me&password=x&sslmode=allow": "h 5432 db app",
	} {
		got, err := withRole(in, "db", "app")
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := pgx.ParseConfig(got)
		if err != nil {
			t.Fatal(err)
		}
		if s := fmt.Sprint(cfg.Host, " ", cfg.Port, " ", cfg.Database, " ", cfg.User); s != want || cfg.Password != appPassword {
			t.Errorf("%s gave %s: %s", in, got, s)
		}
		owner, err := withDatabase(in, "db")
		if err != nil {
			t.Fatal(err)
		}
		cfg, err = pgx.ParseConfig(owner)
		if err != nil || cfg.Database != "db" || cfg.User == "app" || strings.Contains(in, "secret") != (cfg.Password == "secret") {
			t.Errorf("%s gave %s for the owner (%v)", in, owner, err)
		}
	}
}
