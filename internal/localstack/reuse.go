package localstack

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// reuseTimeout bounds the first answer of a server that the environment names.
const reuseTimeout = 10 * time.Second

// reusePostgres asks the server at url for its version. The returned text says where it is, without its password.
func reusePostgres(ctx context.Context, url string) (where string, v version, err error) {
	ctx, cancel := context.WithTimeout(ctx, reuseTimeout)
	defer cancel()
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return "", v, fmt.Errorf("%s must be a postgres:// URL", EnvPostgres)
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return "", v, fmt.Errorf("read %s: %w", EnvPostgres, err)
	}
	where = fmt.Sprintf("%s port %d database %s", cfg.Host, cfg.Port, cfg.Database)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return where, v, fmt.Errorf("%s (%s) does not answer: %w", EnvPostgres, where, err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var text string
	var may bool
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), rolsuper OR (rolcreatedb AND rolcreaterole)
		FROM pg_roles WHERE rolname = current_user`).Scan(&text, &may)
	if err != nil {
		return where, v, fmt.Errorf("ask %s for its version: %w", EnvPostgres, err)
	}
	if v = parseVersion(text); v.major < minPostgresMajor {
		return where, v, fmt.Errorf("%s (%s) is PostgreSQL %s, older than %d", EnvPostgres, where, v, minPostgresMajor)
	}
	if !may {
		return where, v, fmt.Errorf("%s (%s): role %s may not create databases and roles", EnvPostgres, where, cfg.User)
	}
	return where, v, nil
}

// reuseRedis asks the server at url for its version. A server that hides INFO is taken as it is.
func reuseRedis(ctx context.Context, url string) (where string, v version, err error) {
	ctx, cancel := context.WithTimeout(ctx, reuseTimeout)
	defer cancel()
	client, err := openRedis(url)
	if err != nil {
		return "", v, fmt.Errorf("read %s: %w", EnvRedis, err)
	}
	defer func() { _ = client.Close() }()
	where = client.Options().Addr
	err = dialable(ctx, client)
	if err == nil {
		err = client.Ping(ctx).Err()
	}
	if err != nil {
		return where, v, fmt.Errorf("%s (%s) does not answer: %w", EnvRedis, where, err)
	}
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return where, version{text: "of unknown version"}, nil
	}
	if v = redisInfoVersion(info); v.major > 0 && v.major < minRedisMajor {
		return where, v, fmt.Errorf("%s (%s) is Redis %s, older than %d", EnvRedis, where, v, minRedisMajor)
	}
	return where, v, nil
}

// redisInfoVersion reads redis_version, which Valkey keeps at the Redis version that it is compatible with.
func redisInfoVersion(info string) version {
	lines := bufio.NewScanner(strings.NewReader(info))
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "redis_version:"); ok {
			return parseVersion(v)
		}
	}
	return version{text: "of unknown version"}
}
