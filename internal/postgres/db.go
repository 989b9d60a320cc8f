// Package postgres holds every SQL statement of the product and implements the Store interfaces that the domain packages
// state. PostgreSQL is the truth: while it is away everything is refused with UNAVAILABLE.
//
// Every statement names its tenant, and runs in a transaction opened by [DB.InTenant], which also sets the tenant for
// row-level security: a statement that forgets its tenant sees nothing.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/ids"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

// DB is the application's access to PostgreSQL.
type DB struct {
	pool        *pgxpool.Pool
	jobs        *river.Client[pgx.Tx]
	ids         *ids.Source
	now         func() time.Time
	environment string
	policy      policy.Policy
}

// Options are what a DB needs besides its URL.
type Options struct {
	// URL is MAPPY_DATABASE_URL, the application's role.
	URL         string
	Environment string
	// Policy is the deployment's default, which tenants override.
	Policy policy.Policy
	Now    func() time.Time
	// MaxConns bounds the pool; 0 takes pgx's default.
	MaxConns int32
}

// statementTimeout, in milliseconds, bounds every statement of a tenant's transaction; nothing takes longer on purpose. It
// is set with the tenant, not when connecting: a pooler in transaction mode refuses what it cannot keep apart.
const statementTimeout = "15000"

// Open connects and refuses a role that row-level security would not hold back.
func Open(ctx context.Context, o Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, errors.New("postgres: MAPPY_DATABASE_URL cannot be parsed") // the parser's text may hold the password
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = "mappy-mcp"
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := checkRole(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	// This client only inserts; workers have their own.
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: migrations.RiverSchema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: river: %w", err)
	}
	return &DB{pool: pool, jobs: jobs, ids: ids.NewSource(o.Now), now: o.Now, environment: o.Environment, policy: o.Policy}, nil
}

// Close waits for running statements and closes the pool.
func (db *DB) Close() { db.pool.Close() }

// Pool is for River's worker client, which needs LISTEN and its own transactions.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// ErrMigrate is the cause of errors that a migration mends: of the schema, or of the application's role.
var ErrMigrate = errors.New("run `mappy-mcp migrate up`")

// CheckSchema tells whether the schema has what this program needs, a newer one included; the error is ErrMigrate when it does not.
func (db *DB) CheckSchema(ctx context.Context) error {
	missing, err := migrations.Missing(ctx, db.pool)
	switch {
	case err != nil:
		return unavailable(err)
	case len(missing) > 0:
		return fmt.Errorf("postgres: the schema is older than this program, it lacks %s: %w", strings.Join(missing, ", "), ErrMigrate)
	}
	return nil
}

func checkRole(ctx context.Context, pool *pgxpool.Pool) error {
	var name string
	var super, bypass, owner, member bool
	err := pool.QueryRow(ctx, `
		SELECT r.rolname, r.rolsuper, r.rolbypassrls,
		       EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		               WHERE n.nspname = 'mappy' AND c.relkind IN ('r', 'p') AND pg_has_role(r.oid, c.relowner, 'MEMBER')),
		       EXISTS (SELECT 1 FROM pg_roles g WHERE g.rolname = 'mappy_app' AND pg_has_role(r.oid, g.oid, 'USAGE'))
		FROM pg_roles r WHERE r.rolname = current_user`).Scan(&name, &super, &bypass, &owner, &member)
	pg, _ := errors.AsType[*pgconn.PgError](err)
	switch {
	case pg != nil && (pg.Code == "28000" || pg.Code == "28P01"): // with a password, a role that is absent looks like a wrong one
		return fmt.Errorf("postgres: %w; if the role does not exist yet: %w", err, ErrMigrate)
	case err != nil:
		return fmt.Errorf("postgres: %w", err)
	case super || bypass || owner:
		return fmt.Errorf("postgres: MAPPY_DATABASE_URL connects as %q, which row-level security does not hold back (owner, superuser or BYPASSRLS); use the application's role, made by `mappy-mcp migrate up`", name)
	case !member:
		return fmt.Errorf("postgres: role %q is not a member of mappy_app: %w", name, ErrMigrate)
	}
	return nil
}

var tenantShape = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

const tenantWant = "1 to 63 small letters, digits and hyphens, of which the first is no hyphen"

// InTenant is the only way to a transaction: it sets the tenant for row-level security in the same trip that begins it.
// It commits when fn returns nil. Errors of the connection come back as UNAVAILABLE; nothing was committed then, except
// where the answer to COMMIT itself was lost, which callers settle by asking again with the same key.
func (db *DB) InTenant(ctx context.Context, tenant authn.TenantID, fn func(pgx.Tx) error) error {
	if !tenantShape.MatchString(string(tenant)) {
		return &ShapeError{Field: "tenant id", Value: string(tenant), Want: tenantWant}
	}
	// The shape above leaves nothing to escape.
	begin := "BEGIN; SELECT set_config('mappy.tenant', '" + string(tenant) + "', true), set_config('statement_timeout', '" + statementTimeout + "', true)"
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a panic; else the transaction is over
	if err := fn(tx); err != nil {
		if rb := tx.Rollback(context.WithoutCancel(ctx)); rb != nil && !errors.Is(rb, pgx.ErrTxClosed) {
			err = errors.Join(err, rb)
		}
		return unavailable(err)
	}
	return unavailable(tx.Commit(ctx))
}

// readInTenant runs reading statements for a tenant in one trip, and all of them see one moment: counts and the items that
// they count agree. queue adds the statements, each with what it does with its rows. A statement that fails leaves its
// connection in a failed transaction, and the pool replaces it.
func (db *DB) readInTenant(ctx context.Context, tenant authn.TenantID, queue func(b *pgx.Batch)) error {
	if !tenantShape.MatchString(string(tenant)) {
		return &ShapeError{Field: "tenant id", Value: string(tenant), Want: tenantWant}
	}
	b := &pgx.Batch{}
	b.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	b.Queue(`SELECT set_config('mappy.tenant', $1, true), set_config('statement_timeout', $2, true)`, string(tenant), statementTimeout)
	queue(b)
	b.Queue(`COMMIT`)
	return unavailable(db.pool.SendBatch(ctx, b).Close())
}

// collect queues a statement whose rows go into out.
func collect[T any](b *pgx.Batch, out *[]T, scan pgx.RowToFunc[T], sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, scan)
		return err
	})
}

// unavailable turns a lost or refused connection into UNAVAILABLE and leaves every other error as it is.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*errs.Error](err); ok {
		return err
	}
	pg, isPG := errors.AsType[*pgconn.PgError](err)
	_, isConnect := errors.AsType[*pgconn.ConnectError](err)
	down := isConnect || pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) ||
		isPG && (strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "53") || pg.Code == "57014") ||
		!isPG && (pgconn.SafeToRetry(err) || cut(err))
	if !down {
		return err
	}
	return errs.Wrap(errs.Unavailable, err, errs.T("一時的に受け付けられません。何も受け付けていません。", "Temporarily unavailable; nothing was accepted."))
}

// cut tells whether an exchange with PostgreSQL broke off.
func cut(err error) bool {
	_, isNet := errors.AsType[net.Error](err)
	_, isSystem := errors.AsType[syscall.Errno](err)
	return isNet || isSystem || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrUnexpectedEOF)
}

// constraint is the name of the violated unique constraint, or "".
func constraint(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23505" {
		return pg.ConstraintName
	}
	return ""
}
