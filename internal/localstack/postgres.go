package localstack

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxConnections is the max_connections of private clusters: every test binary of a run shares one.
const maxConnections = "300"

// pgServer is a private cluster.
type pgServer struct {
	url  string
	proc *process
}

// startPostgres makes a cluster in h/pg and returns when it has answered a query.
func startPostgres(ctx context.Context, h *home, bin pgBinaries, durable bool) (*pgServer, error) {
	dir, err := h.sub("pg")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := initCluster(ctx, h, bin, dir, data); err != nil {
		return nil, err
	}
	logPath := filepath.Join(h.dir, "pg.log")
	logFile, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("make PostgreSQL's log: %w", err)
	}
	defer logFile.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin.dir, "postgres"), serverArgs(dir, data, durable)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, serverEnv(dir), logFile, logFile
	proc, err := startProcess(cmd, h.cred, syscall.SIGQUIT)
	if err != nil {
		return nil, err
	}
	s := &pgServer{url: socketURL(dir), proc: proc}
	if err := h.notePID("postgres", "QUIT", proc.pid()); err != nil {
		s.stop()
		return nil, err
	}
	if err := await(ctx, proc, func() error { return pingPostgres(ctx, s.url) }); err != nil {
		s.stop()
		return nil, fmt.Errorf("PostgreSQL from %s did not come up: %w (%s)", bin.dir, err, lastLines(logPath))
	}
	return s, nil
}

func initCluster(ctx context.Context, h *home, bin pgBinaries, dir, data string) error {
	// Never synced, even for a durable cluster: durable is about what commits cost, and no cluster outlives its owner.
	args := []string{"-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"}
	logPath := filepath.Join(h.dir, "initdb.log")
	logFile, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("make initdb's log: %w", err)
	}
	defer logFile.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin.dir, "initdb"), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, serverEnv(dir), logFile, logFile
	proc, err := startProcess(cmd, h.cred, syscall.SIGTERM)
	if err != nil {
		return err
	}
	if err := h.notePID("initdb", "TERM", proc.pid()); err != nil {
		proc.stop(syscall.SIGTERM, 5*time.Second)
		return err
	}
	select {
	case <-proc.done:
	case <-ctx.Done():
		proc.stop(syscall.SIGTERM, 5*time.Second)
		return fmt.Errorf("initdb: %w", ctx.Err())
	}
	if proc.err != nil {
		return fmt.Errorf("initdb from %s: %w (%s)", bin.dir, proc.err, lastLines(logPath))
	}
	return nil
}

func serverArgs(socketDir, data string, durable bool) []string {
	settings := []string{
		"listen_addresses=", "port=5432", "unix_socket_permissions=0700",
		"max_connections=" + maxConnections, "timezone=UTC", "log_timezone=UTC",
	}
	if !durable {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off",
			"wal_level=minimal", "max_wal_senders=0")
	}
	args := []string{"-D", data, "-k", socketDir}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// serverEnv keeps the user's PG* variables and locale away from the server.
func serverEnv(dir string) []string {
	return []string{"LC_ALL=C", "TZ=UTC", "HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin"}
}

// socketURL names the port although it is the usual one: PGPORT in the caller's environment would win otherwise.
func socketURL(dir string) string {
	q := url.Values{"host": {dir}, "port": {"5432"}}
	return "postgres://postgres@/postgres?" + q.Encode()
}

func pingPostgres(ctx context.Context, ownerURL string) error {
	conn, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var one int
	return conn.QueryRow(ctx, "SELECT 1").Scan(&one)
}

// stop ends the cluster at once, without the checkpoint of an orderly shutdown: its files are removed next. Only the
// postmaster is signalled; it ends its children. Connections still open are cut.
func (s *pgServer) stop() { s.proc.stop(syscall.SIGQUIT, 20*time.Second) }
