package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
	"github.com/mappy-dev/mappy-mcp/tools"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// Server is the MCP front with its admin listener.
type Server struct {
	app   *App
	front *mcpserver.Server
	ready atomic.Bool
}

// NewServer builds the front. address is where it is reached when no public URL is configured.
func (a *App) NewServer(address string) (*Server, error) {
	c := a.Config
	public := c.PublicURL
	if public == "" {
		public = "http://" + address
	}
	front, err := mcpserver.New(mcpserver.Options{
		Tools: a.Tools, Authenticator: a.DB, AuditRefusal: a.auditRefusal, PublicURL: public, AllowedHosts: c.AllowedHosts, AllowedOrigins: c.AllowedOrigins,
		ReadOnly: c.ReadOnly, LegacySessions: c.LegacySessions, Environment: c.Environment, Version: Version, Instructions: tools.Instructions(c.Environment),
		Locale: c.Locale, Prompts: prompts(c.Environment), Resources: a.resources(), Log: a.Log, Clock: a.now,
	})
	if err != nil {
		return nil, err
	}
	return &Server{app: a, front: front}, nil
}

// Version is the product's version, shown to clients.
const Version = "0.1.0"

func prompts(environment string) []mcpserver.Prompt {
	return []mcpserver.Prompt{
		{
			Name: "safe_write_guide", Title: "How to write safely", Description: "The recommended flow of a write: preview, ask the person, write with token and key, poll, report per store.",
			Text: tools.Guide(environment),
		},
		{
			Name: "report_batch", Title: "Report a batch", Description: "How to tell a person what became of a batch: counts, failures by cause, what is unknown or waits for Google, what can be done next. Writes nothing.",
			Text: tools.ReportGuide(environment),
		},
	}
}

// resources are what clients can read by URI: the session's capabilities, and batches.
func (a *App) resources() []mcpserver.Resource {
	byTool := func(tool string, arguments func(uri string) (json.RawMessage, error)) func(context.Context, *mcpserver.ResourceCall) (string, error) {
		return func(ctx context.Context, c *mcpserver.ResourceCall) (string, error) {
			args, err := arguments(c.URI)
			if err != nil {
				return "", err
			}
			return a.Tools.Resource(ctx, tool, &tools.Call{Principal: c.Principal, RequestID: c.RequestID, Arguments: args, Progress: func(int, int, string) {}})
		}
	}
	return append([]mcpserver.Resource{
		{
			URI: "mappy://capabilities", Name: "capabilities", Title: "What this session may do", Description: "Tools that this session may use and why not more, limits, granted stores.",
			Read: byTool("limits.get", func(string) (json.RawMessage, error) { return nil, nil }),
		},
		{
			URI: "mappy://batches/{batch_id}", Name: "batch", Title: "A batch", Description: "An accepted write with its outcome per store.",
			Read: byTool("batch.status", func(uri string) (json.RawMessage, error) {
				return json.Marshal(map[string]string{"batch_id": uri[len("mappy://batches/"):], "items": "all"})
			}),
		},
	}, a.reports()...)
}

// reports are the figures of report batches, as JSON and as CSV.
func (a *App) reports() []mcpserver.Resource {
	read := func(suffix string, asCSV bool) func(context.Context, *mcpserver.ResourceCall) (string, error) {
		return func(ctx context.Context, c *mcpserver.ResourceCall) (string, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(c.URI, reportsURI), suffix)
			return a.Tools.ReadReport(ctx, &tools.Call{Principal: c.Principal, RequestID: c.RequestID}, batch.ID(id), asCSV)
		}
	}
	return []mcpserver.Resource{
		{URI: reportsURI + "{batch_id}", Name: "report", Title: "A report", Description: "The figures of a report.create batch by store.", Read: read("", false)},
		{URI: reportsURI + "{batch_id}/csv", Name: "report_csv", Title: "A report as CSV", Description: "The figures of a report.create batch, one line per store, metric and day.", MIMEType: "text/csv", Read: read("/csv", true)},
	}
}

const reportsURI = "mappy://reports/"

// auditRefusal records a request that was turned away before a tool was called, within the caller's refusals per minute as
// any other refusal. Without a principal it belongs to the system tenant: all tokens that are none have one such budget, so
// that strangers cannot fill the audit log, and their answer stays the same beyond it.
func (a *App) auditRefusal(ctx context.Context, r mcpserver.Refusal) error {
	e := audit.Event{Kind: audit.LoginFailed, RequestID: r.RequestID, Tool: r.Tool, Result: "refused", ErrorCode: r.Code}
	p := r.Principal
	switch {
	case p != nil:
		e.Kind, e.Actor = audit.AdmissionRefused, audit.ActorOf(p)
	case r.TokenSent:
		p = &authn.Principal{TenantID: authn.SystemTenant, Policy: a.Config.Policy}
	default:
		return nil // nobody tried anything: clients begin without a token to learn where to get one
	}
	err := admission.Refused(ctx, a.DB, a.Tools.Limiter, a.Log.Warn, p, r.RequestID, errs.New(r.Code, errs.Text{}), e)
	if code := errs.CodeOf(err); code == r.Code || code == errs.RateLimited && r.Principal == nil {
		return nil
	}
	return err
}

// Handler serves the public address: MCP, its metadata and the health of the process.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.front.Handler())
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) { s.app.readyz(&s.ready, w, r) }

// readyz answers 200 while the process takes work and both stores answer as it needs them, else 503.
func (a *App) readyz(ready *atomic.Bool, w http.ResponseWriter, r *http.Request) {
	if !ready.Load() {
		answer(w, http.StatusServiceUnavailable, "starting or stopping")
		return
	}
	if err := a.Ready(r.Context()); err != nil {
		a.Log.WarnContext(r.Context(), "not ready", "error", err)
		if errors.Is(err, postgres.ErrMigrate) {
			answer(w, http.StatusServiceUnavailable, "the database's schema is older than this program: run `mappy-mcp migrate up`")
			return
		}
		answer(w, http.StatusServiceUnavailable, "a store does not answer")
		return
	}
	answer(w, http.StatusOK, "ready")
}

func healthz(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") }

// admin is what a process, server or worker, shows to its operators on l.
func (a *App) admin(ready *atomic.Bool, l net.Listener) *http.Server {
	a.Log.Info("metrics and readiness", "address", l.Addr().String())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.Metrics.Handler())
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { a.readyz(ready, w, r) })
	return mcpserver.HTTPServer("", mux)
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the peer may be gone
}

// Run serves on l and on the admin listener (nil: none) until ctx ends; then readiness fails first, sessions are closed,
// running calls finish, and workers record what they have sent. withWorker runs the workers in this process too.
func (a *App) Run(ctx context.Context, l, admin net.Listener, withWorker bool) error {
	s, err := a.NewServer(l.Addr().String())
	if err != nil {
		return err
	}
	public := mcpserver.HTTPServer("", s.Handler())
	servers := []*http.Server{public}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return listen(public, l) })
	if admin != nil {
		as := a.admin(&s.ready, admin)
		servers = append(servers, as)
		g.Go(func() error { return listen(as, admin) })
	}
	if withWorker {
		g.Go(func() error { return a.Work(running) })
	}
	s.ready.Store(true)
	a.Log.Info("serving", "address", l.Addr().String(), "environment", a.Config.Environment, "worker", withWorker)
	g.Go(func() error {
		<-running.Done()
		s.ready.Store(false)
		return s.stop(servers) //nolint:contextcheck // the context is over: stopping has a time of its own
	})
	return g.Wait()
}

func listen(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func (s *Server) stop(servers []*http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.app.Config.Worker.ShutdownGrace)
	defer cancel()
	err := s.front.Shutdown(ctx)
	for _, h := range servers {
		err = errors.Join(err, h.Shutdown(ctx))
	}
	return err
}

// RunWorker runs the workers until ctx ends, and serves metrics and readiness on the admin listener: ready is a worker that takes
// jobs. The listener is the last to go.
func (a *App) RunWorker(ctx context.Context, admin net.Listener) error {
	var ready atomic.Bool
	server := a.admin(&ready, admin)
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return listen(server, admin) })
	g.Go(func() error {
		unready := context.AfterFunc(running, func() { ready.Store(false) })
		defer unready()
		err := a.work(running, func() { ready.Store(running.Err() == nil) })
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return errors.Join(err, server.Shutdown(ending))
	})
	return g.Wait()
}

// Work runs the workers until ctx ends.
func (a *App) Work(ctx context.Context) error { return a.work(ctx, func() {}) }

// work calls started once the workers take jobs.
func (a *App) work(ctx context.Context, started func()) error {
	w := a.Config.Worker
	pool, err := a.startPool(ctx)
	if err != nil || pool == nil {
		return err
	}
	started()
	a.Log.Info("working", "interactive", w.Interactive, "bulk", w.Bulk)
	<-ctx.Done()
	return worker.Stop(ctx, pool, w.ShutdownGrace)
}

// startAgain is how long a worker waits for PostgreSQL to come back before it tries to start again.
const startAgain = time.Second

// startPool starts a pool. While PostgreSQL is away it tries again until ctx ends, and then gives nil: a worker next to a
// server must not take it down. Once started, River connects again by itself.
func (a *App) startPool(ctx context.Context) (*river.Client[pgx.Tx], error) {
	for {
		pool, err := worker.NewPool(a.DB.Pool(), a.Items(), a.DB, a.PoolOptions())
		if err != nil {
			return nil, err
		}
		if err = pool.Start(context.WithoutCancel(ctx)); err == nil {
			return pool, nil
		}
		a.Log.WarnContext(ctx, "workers cannot start yet", "error", redact.Error(err))
		t := time.NewTimer(startAgain)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, nil //nolint:nilnil // stopped before it started: nothing to stop, and no failure
		}
	}
}

// Stdio serves one token on a pair of streams.
func (a *App) Stdio(ctx context.Context, in io.Reader, out io.Writer, names mcpserver.ToolNames) error {
	s, err := a.NewServer("127.0.0.1")
	if err != nil {
		return err
	}
	return s.front.Stdio(ctx, a.Config.Token, in, out, names)
}
