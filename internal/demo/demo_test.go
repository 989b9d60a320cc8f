package demo

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/localstack"
	"github.com/mappy-dev/mappy-mcp/internal/localstack/teststack"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

// shared lets the demo reuse the test run's services.
func shared(t *testing.T) {
	t.Helper()
	owner, err := teststack.OwnerURL()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(localstack.EnvPostgres, owner)
	t.Setenv(localstack.EnvRedis, redistest.New(t).URL())
}

// private makes the demo start services of its own.
func private(t *testing.T) {
	t.Helper()
	t.Setenv(localstack.EnvPostgres, "")
	t.Setenv(localstack.EnvRedis, "")
}

func TestStory(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T){
		"Redis": shared,
		"in-process stand-in": func(t *testing.T) {
			t.Helper()
			shared(t)
			t.Setenv(localstack.EnvRedis, "redis://"+miniredis.RunT(t).Addr())
		},
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			var out bytes.Buffer
			var left traces
			f, err := run(t.Context(), Options{Out: &out, Log: t.Output(), reached: left.follow(t, nil)})
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			left.gone(t)
			told(t, f)
			if slices.Contains(out.Bytes(), 0x1b) {
				t.Error("colours where there is no terminal")
			}
		})
	}
}

// told asserts on the story's facts, apart from what the story checks itself.
func told(t *testing.T, f facts) {
	t.Helper()
	if f.Protocol != "2026-07-28" || f.Previewed != 12 {
		t.Errorf("protocol %s, %d stores previewed", f.Protocol, f.Previewed)
	}
	if f.Refusal != errs.ConfirmationRequired || f.Executed != errs.ExecutedNo || f.BeforeConsent != 0 {
		t.Errorf("without a confirmation: %s, executed %s, %d posts", f.Refusal, f.Executed, f.BeforeConsent)
	}
	if f.Status != batch.Partial || f.Succeeded != 11 || f.Failed != 1 || f.FailedWith != errs.GBPPermissionDenied || f.FailedStore != f.Stores[1].Location {
		t.Errorf("batch: %+v", f)
	}
	if f.ReplayBatch != f.Batch || f.Batch == "" || f.ReplayOutcome != "replayed" || f.ReplayCreates != 0 {
		t.Errorf("replay: %+v", f)
	}
	type line struct{ Asked, Posts, Unanswered, Refused int }
	got, want := map[string]line{}, map[string]line{}
	for _, place := range []string{"渋谷", "新宿", "池袋", "銀座", "上野", "浅草", "吉祥寺", "下北沢", "中目黒", "恵比寿", "品川", "北千住"} {
		want["こもれび珈琲 "+place+"店"] = line{Asked: 1, Posts: 1}
	}
	want["こもれび珈琲 新宿店"] = line{Asked: 1, Refused: 403}
	want["こもれび珈琲 池袋店"] = line{Asked: 1, Posts: 1, Unanswered: 1}
	for _, s := range f.Stores {
		got[s.Title] = line{s.Creates, s.Posts, s.Unanswered, s.Refused}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("at Google (-want +got):\n%s", d)
	}
	if f.Stores[2].Reads == 0 {
		t.Error("the unanswered post was not found by reading back")
	}
	if f.posts() != 11 || f.Strange != 0 {
		t.Errorf("%d posts, %d strange requests", f.posts(), f.Strange)
	}
	if !f.Audit.Valid || f.Audit.Sealed == 0 || f.Events < 36 {
		t.Errorf("audit of %d events: %+v", f.Events, f.Audit)
	}
}

func TestInterruptionLeavesNothingBehind(t *testing.T) {
	for name, c := range map[string]struct {
		services func(*testing.T)
		at       step
	}{
		"just up":                      {shared, stepUp},
		"in the middle of a batch":     {shared, stepAccepted},
		"private services, in a batch": {private, stepAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			c.services(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var left traces
			var last step
			f, err := run(ctx, Options{Log: t.Output(), reached: left.follow(t, func(at step, _ *stage) {
				if last = at; at == c.at {
					cancel()
				}
			})})
			if err != nil {
				t.Errorf("an interruption is no error: %v", err)
			}
			if last != c.at || f.Status != "" {
				t.Errorf("the story went on to step %d: %+v", last, f)
			}
			left.gone(t)
		})
	}
}

func TestInterruptionBeforeTheStart(t *testing.T) {
	private(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, Options{Log: t.Output(), reached: func(step, *stage) { t.Error("it started") }}); err != nil {
		t.Error(err)
	}
}

func TestTheEndOfTheServerEndsTheRun(t *testing.T) {
	shared(t)
	broken := errors.New("the server ended")
	var left traces
	err := Run(t.Context(), Options{Log: t.Output(), reached: left.follow(t, func(at step, s *stage) {
		if at == stepListed {
			s.fail(broken)
		}
	})})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	left.gone(t)
}

func TestServicesThatCannotBeHad(t *testing.T) {
	shared(t)
	t.Setenv(localstack.EnvRedis, "redis://127.0.0.1:1")
	err := Run(t.Context(), Options{Log: t.Output()})
	if err == nil || !strings.Contains(err.Error(), localstack.EnvRedis) {
		t.Errorf("got %v", err)
	}
}

func TestStay(t *testing.T) {
	shared(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	var left traces
	err := Run(ctx, Options{Out: &out, Log: t.Output(), Stay: true, reached: left.follow(t, func(at step, s *stage) {
		if at != stepWaiting {
			return
		}
		defer cancel()
		visit(t, s, out.String())
	})})
	if err != nil {
		t.Error(err)
	}
	left.gone(t)
}

// visit uses what the invitation offers.
func visit(t *testing.T, s *stage, invitation string) {
	t.Helper()
	for path, name := range map[string]string{"/mcp": "post.create", "/mcp/compat": "post_create"} {
		a, err := dial(t.Context(), s.serverURL+path, s.token)
		if err != nil {
			t.Error(err)
			continue
		}
		names, err := a.toolNames(t.Context())
		if err != nil || !slices.Contains(names, name) {
			t.Errorf("%s: %v, %v", path, names, err)
		}
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}
	for _, u := range []string{s.simURL + "/", s.adminURL + "/metrics", s.serverURL + "/readyz"} {
		if !strings.HasSuffix(u, "/readyz") && !strings.Contains(invitation, u) {
			t.Errorf("%s is not said", u)
		}
		res, err := http.Get(u)
		if err != nil {
			t.Error(err)
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", u, res.Status)
		}
	}
	for _, v := range []string{
		"MAPPY_TOKEN=" + s.token, "MAPPY_LISTEN=" + strings.TrimPrefix(s.serverURL, "http://"), "MAPPY_ADMIN_LISTEN=" + strings.TrimPrefix(s.adminURL, "http://"),
	} {
		if !strings.Contains(invitation, "export "+v+"\n") {
			t.Errorf("%s is not said", v)
		}
	}
}

// traces are where a run could leave something behind.
type traces struct {
	seen      bool
	database  string
	server    string
	addresses []string
	folder    string // of private services
	pid       int    // of a private PostgreSQL
}

// follow notes the traces of a run and passes each step on.
func (l *traces) follow(t *testing.T, next func(step, *stage)) func(step, *stage) {
	t.Helper()
	return func(at step, s *stage) {
		if at == stepUp {
			l.note(t, s)
		}
		if next != nil {
			next(at, s)
		}
	}
}

func (l *traces) note(t *testing.T, s *stage) {
	t.Helper()
	l.seen, l.database, l.server = true, s.database.name, s.services.OwnerURL()
	for _, u := range []string{s.serverURL, s.adminURL, s.simURL} {
		l.addresses = append(l.addresses, strings.TrimPrefix(u, "http://"))
	}
	if os.Getenv(localstack.EnvPostgres) != "" {
		return
	}
	u, err := url.Parse(l.server)
	if err != nil {
		t.Fatal(err)
	}
	socket := u.Query().Get("host")
	l.folder = filepath.Dir(socket)
	lines, err := os.ReadFile(filepath.Join(socket, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(lines), "\n")
	if l.pid, err = strconv.Atoi(first); err != nil {
		t.Fatal(err)
	}
}

// gone fails the test for everything that is still there.
func (l *traces) gone(t *testing.T) {
	t.Helper()
	if !l.seen {
		t.Fatal("the run never was up")
	}
	for _, a := range l.addresses {
		if c, err := net.Dial("tcp", a); err == nil {
			_ = c.Close()
			t.Errorf("%s still answers", a)
		}
	}
	if l.folder != "" {
		if _, err := os.Stat(l.folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", l.folder, err)
		}
		if err := syscall.Kill(l.pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("PostgreSQL %d still runs (%v)", l.pid, err)
		}
		return
	}
	conn, err := pgx.Connect(t.Context(), l.server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var databases, roles int
	err = conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_database WHERE datname = $1), (SELECT count(*) FROM pg_roles WHERE rolname = $1)`, l.database).Scan(&databases, &roles)
	if err != nil || databases != 0 || roles != 0 {
		t.Errorf("%d databases and %d roles %s are still there (%v)", databases, roles, l.database, err)
	}
}
