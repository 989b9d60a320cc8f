// Package migrations holds the database schema as numbered goose files and brings a database up to it, River's own tables included.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver for goose
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed *.sql
var files embed.FS

// FS is the folder of migration files.
func FS() fs.FS { return files }

// RiverSchema is where River's tables live; RiverVersion pins its migration.
const (
	RiverSchema  = "river"
	RiverVersion = 8
)

// lockKey is the session advisory lock under which one process migrates at a time ("mappy" in ASCII).
const lockKey = 0x6d61707079

// Up brings the database of ownerURL to the newest schema, makes the audit's partitions of this month and the next two, and makes the login role of appURL a member of mappy_app, creating
// it (with the password in the URL, if any) when it does not exist. An empty appURL skips the role. Safe to run from several
// processes at once: they wait for each other.
func Up(ctx context.Context, ownerURL, appURL string) error {
	return locked(ctx, ownerURL, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+RiverSchema); err != nil {
			return fmt.Errorf("river schema: %w", err)
		}
		if err := riverUp(ctx, ownerURL); err != nil {
			return err
		}
		p, closeDB, err := provider(ownerURL)
		if err != nil {
			return err
		}
		defer closeDB()
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if _, err := conn.Exec(ctx, `SELECT mappy.make_audit_partitions()`); err != nil {
			return fmt.Errorf("audit partitions: %w", err)
		}
		if appURL == "" {
			return nil
		}
		return grantLogin(ctx, conn, appURL)
	})
}

// Down takes the newest of our migrations back. River's tables stay.
func Down(ctx context.Context, ownerURL string) error {
	return locked(ctx, ownerURL, func(*pgx.Conn) error {
		p, closeDB, err := provider(ownerURL)
		if err != nil {
			return err
		}
		defer closeDB()
		if _, err := p.Down(ctx); err != nil && !errors.Is(err, goose.ErrNoNextVersion) {
			return fmt.Errorf("migrate down: %w", err)
		}
		return nil
	})
}

// Migration is one file and whether it is applied.
type Migration struct {
	Version int64  `json:"version"`
	File    string `json:"file"`
	Applied bool   `json:"applied"`
}

// Status lists our migrations in order.
func Status(ctx context.Context, ownerURL string) ([]Migration, error) {
	p, closeDB, err := provider(ownerURL)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	list, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate status: %w", err)
	}
	out := make([]Migration, 0, len(list))
	for _, m := range list {
		out = append(out, Migration{Version: m.Source.Version, File: m.Source.Path, Applied: m.State == goose.StateApplied})
	}
	return out, nil
}

func locked(ctx context.Context, ownerURL string, fn func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // closing the session frees the lock
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(lockKey)); err != nil {
		return fmt.Errorf("migrate: lock: %w", err)
	}
	return fn(conn)
}

// River's migrations cannot run in one transaction from an empty database (an enum value is added and used), so they run
// through a pool of their own and not inside goose's transaction.
func riverUp(ctx context.Context, ownerURL string) error {
	pool, err := pgxpool.New(ctx, ownerURL)
	if err != nil {
		return fmt.Errorf("river: %w", err)
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: RiverSchema})
	if err != nil {
		return fmt.Errorf("river: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: RiverVersion}); err != nil {
		return fmt.Errorf("river: %w", err)
	}
	return nil
}

// goose's own table stays in public: the Down of the first migration drops our schema.
func provider(ownerURL string) (*goose.Provider, func(), error) {
	db, err := sql.Open("pgx", ownerURL)
	if err != nil {
		return nil, nil, fmt.Errorf("migrate: %w", err)
	}
	store, err := database.NewStore(database.DialectPostgres, "public.mappy_migration")
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("migrate: %w", err), db.Close())
	}
	p, err := goose.NewProvider("", db, files, goose.WithStore(store))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("migrate: %w", err), db.Close())
	}
	return p, func() { _ = db.Close() }, nil
}

func grantLogin(ctx context.Context, conn *pgx.Conn, appURL string) error {
	cfg, err := pgx.ParseConfig(appURL)
	if err != nil {
		return fmt.Errorf("application role: %w", err)
	}
	role := pgx.Identifier{cfg.User}.Sanitize()
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1)`, cfg.User).Scan(&exists); err != nil {
		return fmt.Errorf("application role: %w", err)
	}
	if !exists {
		_, err := conn.Exec(ctx, `CREATE ROLE `+role+` LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE`)
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && (pg.Code == "42710" || pg.Code == "23505") {
			err = nil // another database's migration created it just now
		}
		if err != nil {
			return fmt.Errorf("application role: %w", err)
		}
		if cfg.Password != "" {
			// The password is quoted by the server: ALTER ROLE takes no parameters.
			var stmt string
			if err := conn.QueryRow(ctx, `SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text)`, cfg.User, cfg.Password).Scan(&stmt); err != nil {
				return fmt.Errorf("application role: %w", err)
			}
			if _, err := conn.Exec(ctx, stmt); err != nil {
				return errors.New("application role: its password could not be set") // the statement holds the password
			}
		}
	}
	_, err = conn.Exec(ctx, `GRANT mappy_app TO `+role)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "XX000" {
		err = nil // "tuple concurrently updated": the same grant by another process
	}
	if err != nil {
		return fmt.Errorf("application role: %w", err)
	}
	return nil
}
