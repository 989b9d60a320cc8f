package clone

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

func (s *Server) template() string { return templatePrefix + s.cfg.Fingerprint }

// ensureTemplate makes the template unless it exists, one process at a time. It is made under another name and renamed
// when done, so a template that exists is whole; what a killed maker left under the other name is dropped first.
func (s *Server) ensureTemplate(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.cfg.OwnerURL) // its end, however it comes, frees the lock
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1, 0)`, int32(lockTemplate)); err != nil {
		return fmt.Errorf("wait for the template's lock: %w", err)
	}
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)
		AND EXISTS (SELECT FROM pg_roles WHERE rolname = $2)`, s.template(), s.cfg.AppRole).Scan(&exists)
	if err != nil {
		return fmt.Errorf("look for the template: %w", err)
	}
	if !exists {
		if err := s.makeTemplate(ctx, conn); err != nil {
			return err
		}
		if err := s.dropStaleTemplates(ctx, conn); err != nil {
			return err
		}
	}
	return s.checkAppRole(ctx, conn)
}

func (s *Server) makeTemplate(ctx context.Context, conn *pgx.Conn) error {
	part := s.template() + partSuffix
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + quote(part) + " WITH (FORCE)",
		"CREATE DATABASE " + quote(part) + " TEMPLATE template0 ENCODING 'UTF8'",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("make the template: %w", err)
		}
	}
	ownerURL, err := s.OwnerURL(part)
	if err != nil {
		return err
	}
	appURL, err := s.AppURL(part)
	if err != nil {
		return err
	}
	if err := s.cfg.Migrate(ctx, ownerURL, appURL); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	made := time.Now().UTC().Format(time.RFC3339)
	for _, sql := range []string{
		"COMMENT ON DATABASE " + quote(part) + " IS '" + made + "'",
		"ALTER DATABASE " + quote(part) + " ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '" + part + "'",
		"DROP DATABASE IF EXISTS " + quote(s.template()) + " WITH (FORCE)", // whole, but its role is gone
		"ALTER DATABASE " + quote(part) + " RENAME TO " + quote(s.template()),
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("finish the template: %w", err)
		}
	}
	return nil
}

// dropStaleTemplates drops old templates of other fingerprints; one without a readable age is left alone.
func (s *Server) dropStaleTemplates(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT datname, coalesce(shobj_description(oid, 'pg_database'), '')
		FROM pg_database WHERE starts_with(datname, $1)`, templatePrefix)
	if err != nil {
		return fmt.Errorf("look for old templates: %w", err)
	}
	type row struct{ Name, Made string }
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		return fmt.Errorf("look for old templates: %w", err)
	}
	for _, r := range found {
		made, err := time.Parse(time.RFC3339, r.Made)
		if err != nil || time.Since(made) < staleTemplate || strings.HasSuffix(r.Name, partSuffix) {
			continue
		}
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(r.Name)+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop old template %s: %w", r.Name, err)
		}
	}
	return nil
}

// errPowerfulRole says that tests as the application's role would prove nothing about row-level security.
var errPowerfulRole = errors.New("is a superuser or bypasses row-level security")

// checkAppRole looks at what the migrations made.
func (s *Server) checkAppRole(ctx context.Context, conn *pgx.Conn) error {
	var powerful bool
	err := conn.QueryRow(ctx, `SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1`, s.cfg.AppRole).Scan(&powerful)
	if err != nil {
		return fmt.Errorf("look at role %s: %w", s.cfg.AppRole, err)
	}
	if powerful {
		return fmt.Errorf("role %s %w", s.cfg.AppRole, errPowerfulRole)
	}
	return nil
}
