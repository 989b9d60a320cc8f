package localstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// errNotFound says that no usable binary is on this machine; the next way is tried. errNoAnswer says that one is there but
// could not be run: that is for a person to look at, not a reason to install another.
var (
	errNotFound = errors.New("not found")
	errNoAnswer = errors.New("does not answer --version")
)

// finder looks for server binaries. Its fields are all that it depends on, so a test can hide what the machine has.
type finder struct {
	pgbin  string   // folder that must hold PostgreSQL's binaries when not empty
	path   []string // folders of commands, in order
	pgDirs []string // glob patterns of further folders with PostgreSQL's binaries
}

func systemFinder() *finder {
	return &finder{
		pgbin: os.Getenv("PGBIN"),
		path:  filepath.SplitList(os.Getenv("PATH")),
		pgDirs: []string{
			"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
			"/usr/pgsql-*/bin",                  // PostgreSQL's own RPMs
			"/usr/libexec/postgresql*",          // Alpine
			"/opt/homebrew/opt/postgresql*/bin", // Homebrew on arm64
			"/usr/local/opt/postgresql*/bin",    // Homebrew on x86
			"/Applications/Postgres.app/Contents/Versions/*/bin",
			"/usr/local/pgsql/bin", // built from source
		},
	}
}

// command returns the full path of an executable on the finder's path, or "".
func (f *finder) command(name string) string {
	for _, dir := range f.path {
		if p := filepath.Join(dir, name); dir != "" && executable(p) {
			return p
		}
	}
	return ""
}

// pgBinaries is a folder with initdb and postgres, and the version of the latter.
type pgBinaries struct {
	dir     string
	version version
}

// postgres returns the first usable pair of initdb and postgres. A PGBIN that does not hold one is an error of its own.
func (f *finder) postgres(ctx context.Context) (pgBinaries, error) {
	if f.pgbin != "" {
		b, err := inspectPostgres(ctx, f.pgbin)
		if err != nil {
			return b, fmt.Errorf("PGBIN=%s: %w", f.pgbin, err)
		}
		return b, nil
	}
	var dirs []string
	if p := f.command("initdb"); p != "" {
		dirs = append(dirs, filepath.Dir(resolve(p)))
	}
	if p := f.command("postgres"); p != "" {
		dirs = append(dirs, filepath.Dir(resolve(p)))
	}
	if p := f.command("pg_config"); p != "" {
		if out, err := exec.CommandContext(ctx, p, "--bindir").Output(); err == nil {
			dirs = append(dirs, strings.TrimSpace(string(out)))
		}
	}
	for _, pattern := range f.pgDirs {
		found, _ := filepath.Glob(pattern) // the patterns are constants: no error to see
		slices.SortFunc(found, func(a, b string) int { return lastNumber(b) - lastNumber(a) })
		dirs = append(dirs, found...)
	}
	why := fmt.Errorf("PostgreSQL %d+ %w", minPostgresMajor, errNotFound)
	for _, dir := range dirs {
		b, err := inspectPostgres(ctx, dir)
		if err == nil {
			return b, nil
		}
		if errors.Is(err, errNoAnswer) && errors.Is(why, errNotFound) {
			why = err
		}
		if b.version.major > 0 && errors.Is(why, errNotFound) {
			why = fmt.Errorf("PostgreSQL %d+ %w (only %s in %s)", minPostgresMajor, errNotFound, b.version, dir)
		}
	}
	if err := ctx.Err(); err != nil { // nothing could be asked for its version
		return pgBinaries{}, fmt.Errorf("look for PostgreSQL: %w", err)
	}
	return pgBinaries{}, why
}

func inspectPostgres(ctx context.Context, dir string) (pgBinaries, error) {
	b := pgBinaries{dir: dir}
	if !executable(filepath.Join(dir, "initdb")) || !executable(filepath.Join(dir, "postgres")) {
		return b, fmt.Errorf("no initdb and postgres in %s", dir)
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return b, fmt.Errorf("%s/postgres %w: %w", dir, errNoAnswer, err)
	}
	b.version = parseVersion(string(out))
	if b.version.major < minPostgresMajor {
		return b, fmt.Errorf("PostgreSQL %s is older than %d", b.version, minPostgresMajor)
	}
	return b, nil
}

// redisBinary is an executable and the name under which it becomes a server.
type redisBinary struct {
	path    string
	argv0   string
	version version
}

// String names the server, and the file that it is where that has another name.
func (b redisBinary) String() string {
	if filepath.Base(b.path) == b.argv0 {
		return b.path
	}
	return fmt.Sprintf("%s (%s is the same executable)", b.argv0, b.path)
}

// redis returns the first usable server. redis-check-rdb is the server's own executable under another name: it looks at
// argv[0] to tell what it shall be. Debian ships it without the daemon, in redis-tools.
func (f *finder) redis(ctx context.Context) (redisBinary, error) {
	why := fmt.Errorf("%s %d+ %w", redis, minRedisMajor, errNotFound)
	for _, c := range []struct {
		file, argv0 string
		certain     bool // it is a server in every build
	}{
		{"redis-server", "redis-server", true},
		{"valkey-server", "valkey-server", true},
		{"redis-check-rdb", "redis-server", false},
		{"valkey-check-rdb", "valkey-server", false},
	} {
		p := f.command(c.file)
		if p == "" {
			continue
		}
		b := redisBinary{path: p, argv0: c.argv0}
		cmd := exec.CommandContext(ctx, p)
		cmd.Args = []string{c.argv0, "--version"}
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), "server v=") {
			if c.certain && errors.Is(why, errNotFound) {
				why = fmt.Errorf("%s %w: %w", p, errNoAnswer, cause(err, out))
			}
			continue
		}
		b.version = parseVersion(string(out))
		if b.version.major >= minRedisMajor {
			return b, nil
		}
		if !errors.Is(why, errNotFound) {
			continue
		}
		why = fmt.Errorf("%s %d+ %w (only %s, %s)", redis, minRedisMajor, errNotFound, b.version, p)
	}
	if err := ctx.Err(); err != nil { // nothing could be asked for its version
		return redisBinary{}, fmt.Errorf("look for Redis: %w", err)
	}
	return redisBinary{}, why
}

// cause is err or, when the program ran well, what it said.
func cause(err error, out []byte) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("it says %q", out)
}

// version is a server's version as it says it itself; major 0 when it could not be read.
type version struct {
	major int
	text  string
}

func (v version) String() string { return v.text }

var versionPattern = regexp.MustCompile(`(\d+)(?:\.\d+)*`)

// parseVersion takes the first dotted number of a text, e.g. 15.18 of "postgres (PostgreSQL) 15.18 (Debian 15.18-0)".
func parseVersion(s string) version {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return version{text: "unknown"}
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return version{text: "unknown"}
	}
	return version{major: n, text: m[0]}
}

// lastNumber is the last number in a path, which in all of finder's folders is the version: 17 of /usr/lib/postgresql/17/bin.
func lastNumber(path string) int {
	all := versionPattern.FindAllString(path, -1)
	if len(all) == 0 {
		return 0
	}
	return parseVersion(all[len(all)-1]).major
}

func resolve(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return p
}

func executable(p string) bool {
	s, err := os.Stat(p)
	return err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0
}
