package localstack

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func up(t *testing.T, opts Options) *Stack {
	t.Helper()
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func setting(t *testing.T, url, name string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var v string
	if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func redisConfig(t *testing.T, url, name string) string {
	t.Helper()
	c, err := openRedis(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	v, err := c.ConfigGet(t.Context(), name).Result()
	if err != nil {
		t.Fatal(err)
	}
	return v[name]
}

func TestStartFromNothingAndCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	began := time.Now()
	s := up(t, private(t))
	t.Logf("both services answered after %v", time.Since(began))
	for name, want := range map[string]string{
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off",
		"max_connections": "300", "listen_addresses": "", "server_encoding": "UTF8", "lc_collate": "C",
	} {
		if got := setting(t, s.OwnerURL(), name); got != want {
			t.Errorf("PostgreSQL's %s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"save": "", "appendonly": "no", "maxmemory-policy": "noeviction", "databases": RedisDatabases, "port": "0",
	} {
		if got := redisConfig(t, s.RedisURL(), name); got != want {
			t.Errorf("Redis's %s is %q, want %q", name, got, want)
		}
	}
	conn, err := pgx.Connect(t.Context(), s.OwnerURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range []string{"CREATE DATABASE made_by_owner", "CREATE ROLE made_by_owner LOGIN"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}

	pids, dir, watcher := notedPIDs(s.home.dir), s.home.dir, s.home.watch.proc.pid()
	if len(pids) != 2 {
		t.Fatalf("%d servers noted, want 2", len(pids))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range append(pids, watcher) {
		if running(pid) {
			t.Errorf("process %d outlived Close", pid)
		}
	}
	if exists(dir) {
		t.Errorf("%s outlived Close", dir)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestStartDurable(t *testing.T) {
	t.Parallel()
	opts := private(t)
	opts.Durable, opts.SkipRedis = true, true
	s := up(t, opts)
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes", "autovacuum"} {
		if got := setting(t, s.OwnerURL(), name); got != "on" {
			t.Errorf("%s is %q", name, got)
		}
	}
	if s.RedisURL() != "" {
		t.Errorf("Redis was left out but has the URL %q", s.RedisURL())
	}
}

// psql stands for libpq, which reads URLs by its own rules.
func TestOwnerURLIsReadByLibpq(t *testing.T) {
	t.Parallel()
	opts := private(t)
	opts.SkipRedis = true
	s := up(t, opts)
	bin, err := systemFinder().postgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	psql := filepath.Join(bin.dir, "psql")
	if !executable(psql) {
		t.Fatalf("no psql beside the server in %s", bin.dir)
	}
	cmd := exec.CommandContext(t.Context(), psql, "-XAtc", "SELECT 6 * 7", s.OwnerURL())
	cmd.Env = append(os.Environ(), "PGPORT=1", "PGHOST=nowhere.invalid")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "42" {
		t.Errorf("psql: %v: %s", err, out)
	}
}

func TestParallelStartsDoNotMeet(t *testing.T) {
	t.Parallel()
	var stacks [2]*Stack
	var wg sync.WaitGroup
	for i := range stacks {
		wg.Go(func() {
			s, err := Start(t.Context(), private(t))
			if err != nil {
				t.Error(err)
				return
			}
			stacks[i] = s
		})
	}
	wg.Wait()
	for _, s := range stacks {
		if s == nil {
			t.FailNow()
		}
		t.Cleanup(func() { _ = s.Close() })
	}
	if stacks[0].OwnerURL() == stacks[1].OwnerURL() || stacks[0].RedisURL() == stacks[1].RedisURL() {
		t.Fatal("two runs share a server")
	}
	_ = stacks[0].Close()
	if got := setting(t, stacks[1].OwnerURL(), "max_connections"); got != maxConnections {
		t.Errorf("the other run's PostgreSQL: %q", got)
	}
	if err := pingRedis(t.Context(), stacks[1].RedisURL()); err != nil {
		t.Errorf("the other run's Redis: %v", err)
	}
}

func TestReusedServersAreNotStopped(t *testing.T) {
	t.Parallel()
	first := up(t, private(t))
	var log tail
	opts := private(t)
	opts.Log = &log
	opts.find = &finder{} // nothing else could be used
	opts.env = func(name string) string {
		return map[string]string{EnvPostgres: first.OwnerURL(), EnvRedis: first.RedisURL()}[name]
	}
	s := up(t, opts)
	if s.OwnerURL() != first.OwnerURL() || s.RedisURL() != first.RedisURL() {
		t.Fatalf("not reused: %s %s", s.OwnerURL(), s.RedisURL())
	}
	if s.home != nil {
		t.Errorf("a folder was made for nothing: %s", s.home.dir)
	}
	for _, want := range []string{"PostgreSQL 1", "reused from MAPPY_OWNER_DATABASE_URL", "Redis ", "reused from MAPPY_REDIS_URL"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	_ = s.Close()
	if err := pingPostgres(t.Context(), first.OwnerURL()); err != nil {
		t.Errorf("PostgreSQL was stopped: %v", err)
	}
	if err := pingRedis(t.Context(), first.RedisURL()); err != nil {
		t.Errorf("Redis was stopped: %v", err)
	}
}

// closedPort is a loopback address that refuses.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestAnEnvironmentURLThatFailsIsNotPassedOver(t *testing.T) {
	t.Parallel()
	addr := closedPort(t)
	for name, c := range map[string]struct{ variable, url, want string }{
		"postgres refuses":     {EnvPostgres, "postgres://u:s3cret@" + addr + "/postgres", "does not answer"},
		"postgres no URL":      {EnvPostgres, "host=/tmp user=postgres password=s3cret", "must be a postgres:// URL"},
		"redis refuses":        {EnvRedis, "redis://:s3cret@" + addr, "does not answer"},
		"redis another scheme": {EnvRedis, "http://" + addr, EnvRedis},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := private(t)
			opts.SkipPostgres, opts.SkipRedis = c.variable == EnvRedis, c.variable == EnvPostgres
			opts.AllowEmbeddedRedis = true
			opts.env = func(n string) string {
				if n == c.variable {
					return c.url
				}
				return ""
			}
			s, err := Start(t.Context(), opts)
			if err == nil {
				_ = s.Close()
				t.Fatal("started something else instead")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("unhelpful, or tells the password: %v", err)
			}
		})
	}
}

func TestARoleThatMayNotCreateDatabasesIsRefused(t *testing.T) {
	t.Parallel()
	opts := private(t)
	opts.SkipRedis = true
	s := up(t, opts)
	conn, err := pgx.Connect(t.Context(), s.OwnerURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "CREATE ROLE weak LOGIN"); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(s.OwnerURL(), "postgres@", "weak@", 1)
	if _, _, err := reusePostgres(t.Context(), url); err == nil || !strings.Contains(err.Error(), "weak may not create") {
		t.Errorf("got %v", err)
	}
}

func TestNothingToBeHadIsOneLineThatHelps(t *testing.T) {
	t.Parallel()
	for s, variable := range map[service]string{postgres: EnvPostgres, redis: EnvRedis} {
		opts := private(t)
		opts.find = &finder{}
		opts.SkipPostgres, opts.SkipRedis = s == redis, s == postgres
		stack, err := Start(t.Context(), opts)
		if err == nil {
			_ = stack.Close()
			t.Fatalf("%s was found although hidden", s)
		}
		text := err.Error()
		for _, want := range []string{string(s), "apt-get install", "brew install", "Docker", variable} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the error lacks %q: %s", s, want, text)
			}
		}
		if strings.Contains(text, "\n") {
			t.Errorf("%s: more than one line: %q", s, text)
		}
	}
}

func TestEmbeddedRedisOnlyWhenAllowed(t *testing.T) {
	t.Parallel()
	var log tail
	opts := private(t)
	opts.find, opts.SkipPostgres, opts.AllowEmbeddedRedis, opts.Log = &finder{}, true, true, &log
	s := up(t, opts)
	if !strings.Contains(log.String(), "in-process stand-in") {
		t.Errorf("not said: %q", log.String())
	}
	c, err := openRedis(s.RedisURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Set(t.Context(), "k", "v", 50*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the key expires by the clock", func() bool { return c.Exists(context.Background(), "k").Val() == 0 })
	_ = s.Close()
	if pingRedis(t.Context(), s.RedisURL()) == nil {
		t.Error("it answers after Close")
	}
}

func TestAFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	var log tail
	opts := private(t)
	real, err := systemFinder().postgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opts.find, opts.Log = &finder{pgbin: real.dir}, &log // PostgreSQL comes up, Redis cannot
	s, err := Start(t.Context(), opts)
	if err == nil {
		_ = s.Close()
		t.Fatal("Redis was found although hidden")
	}
	_, socket, ok := strings.Cut(strings.TrimSpace(log.String()), "socket ")
	if !ok || !strings.HasSuffix(socket, "/pg") {
		t.Fatalf("PostgreSQL did not start first: %q", log.String())
	}
	if exists(filepath.Dir(socket)) {
		t.Errorf("%s was left", filepath.Dir(socket))
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opts := private(t)
	opts.install = func(s service) error { t.Errorf("%s was to be installed", s); return errNoInstaller }
	s, err := Start(ctx, opts)
	if err == nil {
		_ = s.Close()
		t.Fatal("started")
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatDiesWhileStartingIsReportedWithItsLog(t *testing.T) {
	t.Parallel()
	fake := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Redis server v=7.9.9' && exit\necho 'no such luck' >&2\nexit 3\n"
	if err := os.WriteFile(filepath.Join(fake, "redis-server"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	openForAll(t, fake)
	opts := private(t)
	opts.find = &finder{path: []string{fake}}
	s, err := StartRedisServer(t.Context(), opts)
	if err == nil {
		_ = s.Close()
		t.Fatal("started")
	}
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("got %v", err)
	}
}

func TestRedisServerStopsStartsAndFreezes(t *testing.T) {
	t.Parallel()
	s, err := StartRedisServer(t.Context(), private(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c, err := openRedis(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}

	s.Pause()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	if err := pingRedis(short, s.URL()); err == nil {
		t.Error("a frozen server answered")
	}
	cancel()
	s.Resume()
	if got := c.Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("after the freeze k is %q", got)
	}

	url := s.URL()
	s.Stop()
	if pingRedis(t.Context(), url) == nil {
		t.Error("a stopped server answered")
	}
	s.Stop()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.URL() != url || c.Exists(t.Context(), "k").Val() != 0 {
		t.Errorf("after the start: address %s (was %s), k exists: %d", s.URL(), url, c.Exists(t.Context(), "k").Val())
	}
	if err := s.Start(t.Context()); err != nil {
		t.Errorf("starting a running server: %v", err)
	}

	s.Pause()
	dir := s.home.dir
	_ = s.Close() // must not hang on a frozen server
	if exists(dir) {
		t.Errorf("%s outlived Close", dir)
	}
	_ = s.Close()
}

func TestSocketPathsFitTheLimit(t *testing.T) {
	t.Parallel()
	longest := len(baseDir(nil)) + 1 + len(homePrefix) + len(strconv.FormatUint(1<<32-1, 10)) + len("/pg/.s.PGSQL.5432")
	if longest > maxSocketPath {
		t.Errorf("a socket path may be %d bytes long", longest)
	}
}
