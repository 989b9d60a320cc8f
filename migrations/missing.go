package migrations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// Querier is a connection, a transaction or a pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// tellsVersions is the migration since which the application's role may read what is applied.
const tellsVersions = "00006_versions.sql"

// Missing names, in order, what this program needs and the schema lacks: files of ours, and River's migration. It asks as the
// application's role. A schema that is newer than the program lacks nothing: what is taken away was needed by no program that still
// runs. Of a schema older than the bookkeeping that the role may read only that is named.
func Missing(ctx context.Context, q Querier) ([]string, error) {
	applied, err := versions(ctx, q, `SELECT version_id FROM mappy.migration`)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42P01" { // no such table
		return []string{tellsVersions}, nil
	}
	if err != nil {
		return nil, err
	}
	river, err := versions(ctx, q, `SELECT version FROM `+RiverSchema+`.river_migration WHERE line = 'main'`)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(applied, v) {
			missing = append(missing, name)
		}
	}
	if !slices.ContainsFunc(river, func(v int64) bool { return v >= RiverVersion }) {
		missing = append(missing, fmt.Sprintf("River's migration %d", RiverVersion))
	}
	return missing, nil
}

func versions(ctx context.Context, q Querier, sql string) ([]int64, error) {
	rows, err := q.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read which migrations are applied: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("read which migrations are applied: %w", err)
	}
	return out, nil
}
