package localstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes an executable that prints text for --version (and --bindir).
func program(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncat <<'END'\n%s\nEND\n", text)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func pgFolder(t *testing.T, dir, version string) string {
	t.Helper()
	program(t, dir, "initdb", "initdb")
	program(t, dir, "postgres", "postgres (PostgreSQL) "+version)
	return dir
}

func TestFindPostgres(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	pg9 := pgFolder(t, filepath.Join(base, "lib/9/bin"), "9.6.24")
	pg15 := pgFolder(t, filepath.Join(base, "lib/15/bin"), "15.18 (Debian 15.18-0+deb12u1)")
	pg17 := pgFolder(t, filepath.Join(base, "lib/17/bin"), "17.2")
	pg18 := pgFolder(t, filepath.Join(base, "elsewhere"), "18beta1")
	half := filepath.Join(base, "half")
	program(t, half, "initdb", "initdb")
	mute := pgFolder(t, filepath.Join(base, "mute"), "15.1")
	broken(t, mute, "postgres")
	config := filepath.Join(base, "config")
	program(t, config, "pg_config", pg15)
	links := filepath.Join(base, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(pg18, "initdb"), filepath.Join(links, "initdb")); err != nil {
		t.Fatal(err)
	}
	glob := []string{filepath.Join(base, "lib/*/bin")}

	for name, c := range map[string]struct {
		find      finder
		dir, vers string
		want      string // part of the error, with dir ""
	}{
		"PGBIN wins":                {finder{pgbin: pg15, path: []string{pg17}, pgDirs: glob}, pg15, "15.18", ""},
		"PGBIN without binaries":    {finder{pgbin: half, path: []string{pg17}, pgDirs: glob}, "", "", "PGBIN=" + half},
		"PGBIN too old":             {finder{pgbin: pg9, pgDirs: glob}, "", "", "older than 15"},
		"path before folders":       {finder{path: []string{pg15}, pgDirs: glob}, pg15, "15.18", ""},
		"path through a link":       {finder{path: []string{links}}, pg18, "18", ""},
		"pg_config":                 {finder{path: []string{config}, pgDirs: glob}, pg15, "15.18", ""},
		"newest folder":             {finder{pgDirs: glob}, pg17, "17.2", ""},
		"half a path is passed":     {finder{path: []string{half}, pgDirs: glob}, pg17, "17.2", ""},
		"an old one is passed over": {finder{path: []string{pg9}, pgDirs: glob}, pg17, "17.2", ""},
		"only an old one":           {finder{path: []string{pg9}}, "", "", "only 9.6.24 in " + pg9},
		"a mute one is passed over": {finder{path: []string{mute}, pgDirs: glob}, pg17, "17.2", ""},
		"nothing":                   {finder{}, "", "", "PostgreSQL 15+ not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.find.postgres(t.Context())
			if c.dir == "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, %v; want an error with %q", got, err, c.want)
				}
				if errors.Is(err, errNotFound) == (c.find.pgbin != "") {
					t.Errorf("a wrong PGBIN must stop the search, nothing else may: %v", err)
				}
				return
			}
			if err != nil || got.dir != c.dir || got.version.text != c.vers {
				t.Errorf("got %s %s, %v; want %s %s", got.dir, got.version, err, c.dir, c.vers)
			}
		})
	}
}

func TestFindRedis(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := func(name string) string { return filepath.Join(base, name) }
	program(t, dir("redis7"), "redis-server", "Redis server v=7.2.4 sha=0 malloc=jemalloc")
	program(t, dir("redis6"), "redis-server", "Redis server v=6.0.16 sha=0")
	program(t, dir("valkey"), "valkey-server", "Valkey server v=8.1.1 sha=0")
	program(t, dir("mute"), "redis-server", "")
	broken(t, dir("mute"), "redis-server")
	program(t, dir("other"), "redis-check-rdb", "Usage: redis-check-rdb <rdb-file>") // a build where it is not the server
	program(t, dir("check"), "redis-check-rdb", "Redis server v=7.0.15 sha=0")

	for name, c := range map[string]struct {
		path              []string
		file, argv0, want string
	}{
		"redis-server":            {[]string{dir("check"), dir("redis7")}, "redis7/redis-server", "redis-server", ""},
		"valkey-server":           {[]string{dir("check"), dir("valkey")}, "valkey/valkey-server", "valkey-server", ""},
		"the checker is a server": {[]string{dir("check")}, "check/redis-check-rdb", "redis-server", ""},
		"the checker is none":     {[]string{dir("other")}, "", "", "Redis 7+ not found"},
		"an old one passed over":  {[]string{dir("redis6"), dir("valkey")}, "valkey/valkey-server", "valkey-server", ""},
		"only an old one":         {[]string{dir("redis6")}, "", "", "only 6.0.16"},
		"a mute one passed over":  {[]string{dir("mute"), dir("check")}, "check/redis-check-rdb", "redis-server", ""},
		"nothing":                 {nil, "", "", "Redis 7+ not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := (&finder{path: c.path}).redis(t.Context())
			if c.file == "" {
				if !errors.Is(err, errNotFound) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, %v; want an error with %q", got, err, c.want)
				}
				return
			}
			if err != nil || got.path != dir(c.file) || got.argv0 != c.argv0 {
				t.Errorf("got %s as %s, %v; want %s as %s", got.path, got.argv0, err, dir(c.file), c.argv0)
			}
			if says := got.String(); !strings.Contains(says, c.argv0) || !strings.Contains(says, dir(c.file)) {
				t.Errorf("it is called %s", says)
			}
		})
	}
}

// broken makes a program fail.
func broken(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A server that is there but cannot be run, for want of memory or processes say, must not be replaced.
func TestAServerThatDoesNotAnswerIsNoReasonToInstallOne(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	pgFolder(t, base, "15.1")
	program(t, base, "redis-server", "")
	broken(t, base, "postgres")
	broken(t, base, "redis-server")
	old := filepath.Join(base, "old")
	pgFolder(t, old, "9.6")
	program(t, old, "redis-server", "Redis server v=6.0.16 sha=0")
	for _, path := range [][]string{{base}, {old, base}, {base, old}} {
		f := &finder{path: path[:1], pgDirs: path}
		if _, err := f.postgres(t.Context()); !errors.Is(err, errNoAnswer) || errors.Is(err, errNotFound) {
			t.Errorf("PostgreSQL in %v: %v", path, err)
		}
	}
	f := &finder{path: []string{base}}
	if _, err := f.redis(t.Context()); !errors.Is(err, errNoAnswer) || errors.Is(err, errNotFound) {
		t.Errorf("Redis: %v", err)
	}
	opts := private(t)
	opts.find = f
	opts.install = func(s service) error { t.Errorf("%s was to be installed", s); return nil }
	for _, s := range []service{postgres, redis} {
		opts.SkipPostgres, opts.SkipRedis = s == redis, s == postgres
		if stack, err := Start(t.Context(), opts); !errors.Is(err, errNoAnswer) {
			if err == nil {
				_ = stack.Close()
			}
			t.Errorf("%s: %v", s, err)
		}
	}
}
