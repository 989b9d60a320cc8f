package localstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// bouncerPort names the socket; nothing listens on TCP.
const bouncerPort = "6432"

// PgBouncer is a private connection pooler in transaction mode in front of one database server.
type PgBouncer struct {
	home *home
	dir  string
	proc *process
	role *url.Userinfo
	name string
}

// StartPgBouncer starts a pooler before the database that target (a postgres:// URL on a socket, as [Stack] gives) names,
// from the binary on this machine or, unless opts.NoInstall, installed for it. pool is how many server connections it
// keeps: fewer than its clients, so that they share. The caller must Close it.
func StartPgBouncer(ctx context.Context, opts Options, target string, pool int) (*PgBouncer, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("pgbouncer: %w", err)
	}
	path, err := findOrInstall(ctx, opts, bouncer, opts.finder().bouncer)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bouncer.hint())
	}
	h, err := newHome(ctx)
	if err != nil {
		return nil, err
	}
	b := &PgBouncer{home: h, role: u.User, name: u.Path}
	if err := b.start(ctx, path, u, pool); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// bouncer returns the executable. Debian keeps it out of an ordinary user's path.
func (f *finder) bouncer(context.Context) (string, error) {
	for _, name := range []string{f.command("pgbouncer"), "/usr/sbin/pgbouncer"} {
		if name != "" && executable(name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s %w", bouncer, errNotFound)
}

func (b *PgBouncer) start(ctx context.Context, path string, target *url.URL, pool int) (err error) {
	if b.dir, err = b.home.sub("pgbouncer"); err != nil {
		return err
	}
	host, port := cmp.Or(target.Query().Get("host"), target.Hostname()), cmp.Or(target.Query().Get("port"), target.Port(), "5432")
	password, _ := b.role.Password()
	users, settings := filepath.Join(b.dir, "users.txt"), filepath.Join(b.dir, "pgbouncer.ini")
	err1 := os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", b.role.Username(), password), 0o600)
	err2 := os.WriteFile(settings, fmt.Appendf(nil, `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr =
listen_port = %s
unix_socket_dir = %s
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
`, host, port, bouncerPort, b.dir, users, pool), 0o600)
	if err := errors.Join(err1, err2, b.home.give(users), b.home.give(settings)); err != nil {
		return fmt.Errorf("pgbouncer: %w", err)
	}
	logPath := filepath.Join(b.home.dir, "pgbouncer.log")
	logFile, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("make PgBouncer's log: %w", err)
	}
	defer logFile.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, "-q", settings)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.dir, serverEnv(b.dir), logFile, logFile
	if b.proc, err = startProcess(cmd, b.home.cred, syscall.SIGKILL); err != nil {
		return err
	}
	if err := b.home.notePID("pgbouncer", "KILL", b.proc.pid()); err != nil {
		return err
	}
	if err := await(ctx, b.proc, func() error { return pingPostgres(ctx, b.URL()) }); err != nil {
		return fmt.Errorf("%s (%s) did not come up: %w (%s)", bouncer, path, err, lastLines(logPath))
	}
	return nil
}

// URL is the same database and role through the pooler, with pgx told to keep no prepared statements: the next
// transaction may meet another server connection.
func (b *PgBouncer) URL() string {
	q := url.Values{"host": {b.dir}, "port": {bouncerPort}, "default_query_exec_mode": {"cache_describe"}}
	return (&url.URL{Scheme: "postgres", User: b.role, Path: b.name, RawQuery: q.Encode()}).String()
}

// Close ends the pooler and removes its folder.
func (b *PgBouncer) Close() error {
	if b.proc != nil {
		b.proc.stop(syscall.SIGKILL, time.Second)
	}
	b.home.close()
	return nil
}
