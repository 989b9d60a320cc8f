// Package clone makes a database per test by cloning a migrated template on one PostgreSQL server that many test
// processes share. It knows nothing of what the migrations are; package pgtest binds it to ours.
//
// Databases on the server:
//
//	mappy_template_<fingerprint>        migrated once; nobody may connect to it, so it can always be cloned
//	mappy_template_<fingerprint>_part   a template being made, or what a killed maker left
//	mappy_test_<process>_<n>            one test's database
//
// <process> is a random number on which its process holds a session advisory lock. Databases whose number nobody holds
// belong to dead processes and are dropped by the next one.
package clone

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Advisory lock classes (first of two keys) on the maintenance database.
const (
	lockTemplate = 0x6d707401 // held while a template is made; second key 0
	lockProcess  = 0x6d707402 // held by a living process; second key its number
)

const (
	templatePrefix = "mappy_template_"
	partSuffix     = "_part"
	testPrefix     = "mappy_test_"
)

// staleTemplate is the age at which the template of another state of the migrations is dropped: younger ones may be in
// use by another checkout's run.
const staleTemplate = 7 * 24 * time.Hour

// Config says what is cloned.
type Config struct {
	// OwnerURL is a postgres:// URL of a role that may create databases and roles; its database is the maintenance
	// database, where locks are held.
	OwnerURL string
	// AppRole is the login role of AppURL. Migrate makes it; Open refuses one that is a superuser or has BYPASSRLS.
	AppRole string
	// Fingerprint is [0-9a-z]+, at most 32 long; another one is another template.
	Fingerprint string
	// Migrate brings an empty database to the state to clone. appURL is the same database as AppRole.
	Migrate func(ctx context.Context, ownerURL, appURL string) error
}

// Server hands out databases. Its methods may be called from several goroutines.
type Server struct {
	cfg     Config
	admin   *pgxpool.Pool // short statements on the maintenance database
	lock    *pgx.Conn     // holds the process's lock; nothing else runs on it
	process int32
	next    atomic.Int64
}

// Open connects, drops what dead processes left, and makes the template if there is none. It waits while another
// process makes it. Close ends the process's claim on its databases.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, process: rand.Int32()}
	pool, err := openAdmin(ctx, cfg.OwnerURL)
	if err != nil {
		return nil, err
	}
	s.admin = pool
	if s.lock, err = pgx.Connect(ctx, cfg.OwnerURL); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	if err := s.prepare(ctx); err != nil {
		s.Close(ctx)
		return nil, err
	}
	return s, nil
}

func openAdmin(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the owner URL: %w", err)
	}
	cfg.MaxConns = 4 // as many creations at once are as fast as more
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	return pool, nil
}

func (s *Server) prepare(ctx context.Context) error {
	if _, err := s.lock.Exec(ctx, `SELECT pg_advisory_lock($1, $2)`, int32(lockProcess), s.process); err != nil {
		return fmt.Errorf("claim a process number: %w", err)
	}
	if err := s.dropOrphans(ctx); err != nil {
		return err
	}
	return s.ensureTemplate(ctx)
}

// Close gives up the process's claim. Databases not yet dropped are dropped by the next process.
func (s *Server) Close(ctx context.Context) {
	_ = s.lock.Close(ctx)
	s.admin.Close()
}

// Create clones the template and returns the new database's name. 30 to 60 ms.
func (s *Server) Create(ctx context.Context) (string, error) {
	name := fmt.Sprintf("%s%d_%d", testPrefix, s.process, s.next.Add(1))
	if _, err := s.admin.Exec(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(s.template())); err != nil {
		return "", fmt.Errorf("clone a test database: %w", err)
	}
	return name, nil
}

// Drop removes a database and cuts the connections that a test left open.
func (s *Server) Drop(ctx context.Context, name string) error {
	if _, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop test database %s: %w", name, err)
	}
	return nil
}

// OwnerURL is the URL of a database for the owner role.
func (s *Server) OwnerURL(database string) (string, error) {
	return withDatabase(s.cfg.OwnerURL, database)
}

// AppURL is the URL of a database for the application's role.
func (s *Server) AppURL(database string) (string, error) {
	return withRole(s.cfg.OwnerURL, database, s.cfg.AppRole)
}

// dropOrphans drops the databases of processes that hold their number no more.
func (s *Server) dropOrphans(ctx context.Context) error {
	rows, err := s.admin.Query(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, testPrefix)
	if err != nil {
		return fmt.Errorf("look for left databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for left databases: %w", err)
	}
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, testPrefix), "_")
		process, err := strconv.ParseInt(number, 10, 32)
		if err != nil || int32(process) == s.process {
			continue
		}
		if err := s.dropOrphan(ctx, name, int32(process)); err != nil {
			return err
		}
	}
	return nil
}

// dropOrphan takes the dead process's lock on one connection, so that only one process drops the database.
func (s *Server) dropOrphan(ctx context.Context, name string, process int32) error {
	conn, err := s.admin.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("drop left database %s: %w", name, err)
	}
	defer conn.Release()
	var dead bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, int32(lockProcess), process).Scan(&dead)
	if err != nil {
		return fmt.Errorf("drop left database %s: %w", name, err)
	}
	if !dead {
		return nil
	}
	_, err = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
	if _, unlockErr := conn.Exec(ctx, `SELECT pg_advisory_unlock($1, $2)`, int32(lockProcess), process); err == nil {
		err = unlockErr
	}
	if err != nil {
		return fmt.Errorf("drop left database %s: %w", name, err)
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
