package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	serverName  = "mappy"
	serverTitle = "Mappy for Google Business Profile"

	mcpPath    = "/mcp"
	compatPath = "/mcp/compat"
)

// Server serves the tools over HTTP and stdio. It is safe for concurrent use.
type Server struct {
	opts     Options
	public   publicURL
	guard    *guard
	toolset  *toolset
	sessions *sessions
	drain    *drain

	dotted, underscored *endpoint
}

// New builds a server, or reports everything that is wrong with the options and the tools.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("mcp server: %w", err)
	}
	public, errURL := parsePublicURL(o.PublicURL, o.Environment)
	guard, errGuard := newGuard(o, public)
	toolset, errTools := newToolset(o.Tools.List())
	if err := errors.Join(errURL, errGuard, errTools, checkPrompts(o.Prompts), checkResources(o.Resources)); err != nil {
		return nil, fmt.Errorf("mcp server: %w", err)
	}
	s := &Server{opts: o, public: public, guard: guard, toolset: toolset, drain: newDrain()}
	s.sessions = newSessions(o.MaxSessionsPerPrincipal, o.MaxSessions, s.sessionIDs, s.endSession, o.Clock)
	if s.dotted, err = s.newEndpoint(mcpPath, Dotted, s.serverOptions()); err != nil {
		return nil, fmt.Errorf("mcp server: %w", err)
	}
	if s.underscored, err = s.newEndpoint(compatPath, Underscored, s.serverOptions()); err != nil {
		return nil, fmt.Errorf("mcp server: %w", err)
	}
	return s, nil
}

// serverOptions are what the library's server of every endpoint is built with.
func (s *Server) serverOptions() *mcp.ServerOptions {
	return &mcp.ServerOptions{
		Instructions: s.opts.Instructions,
		Logger:       slog.New(atLeast{level: slog.LevelWarn, Handler: s.opts.Log.Handler()}),
		Capabilities: s.capabilities(),
		SetCacheable: cacheable,
	}
}

// newEndpoint builds the library's server for one spelling of the names.
func (s *Server) newEndpoint(path string, names ToolNames, o *mcp.ServerOptions) (*endpoint, error) {
	srv := mcp.NewServer(&mcp.Implementation{Name: serverName, Title: serverTitle, Version: s.opts.Version}, o)
	if err := s.register(srv, names); err != nil {
		return nil, err
	}
	s.addPrompts(srv)
	s.addResources(srv)
	srv.AddReceivingMiddleware(s.middleware(names))
	return newEndpoint(s, path, srv, o.Logger), nil
}

// capabilities are those of fixed lists: nothing here changes while the server runs.
func (s *Server) capabilities() *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if len(s.opts.Prompts) > 0 {
		c.Prompts = &mcp.PromptCapabilities{}
	}
	if len(s.opts.Resources) > 0 {
		c.Resources = &mcp.ResourceCapabilities{}
	}
	return c
}

const (
	listTTLMs = 10 * 60 * 1000
	readTTLMs = 5 * 1000 // as often as a batch in progress is worth asking for
)

// cacheable says how long results may be kept. Lists depend on the URL and the configuration only; what is read
// belongs to the reader.
func cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	if _, ok := req.(*mcp.ReadResourceRequest); ok {
		c.TTLMs, c.CacheScope = readTTLMs, "private"
		return
	}
	c.TTLMs, c.CacheScope = listTTLMs, "public"
}

// Handler serves both endpoints and the metadata documents; every other path is 404.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(mcpPath, s.dotted)
	mux.Handle(compatPath, s.underscored)
	s.metadataRoutes(mux)
	return mux
}

// Shutdown admits no more calls (503), waits for those that are running to be answered, then closes all sessions and
// with them the idle streams that would hold http.Server.Shutdown up; call that one afterwards. When ctx ends first,
// the rest is closed in the background and the context's error comes back.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain.close()
	err := s.drain.wait(ctx)
	if err != nil {
		err = fmt.Errorf("waiting for running calls: %w", err)
	}
	closed := make(chan struct{})
	go func() {
		var wg sync.WaitGroup
		for ss := range s.openSessions() {
			wg.Go(func() { _ = ss.Close() })
		}
		wg.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("closing sessions: %w", context.Cause(ctx)))
	}
	return err
}

func (s *Server) openSessions() iter.Seq[*mcp.ServerSession] {
	return func(yield func(*mcp.ServerSession) bool) {
		for _, e := range []*endpoint{s.dotted, s.underscored} {
			for ss := range e.server.Sessions() {
				if !yield(ss) {
					return
				}
			}
		}
	}
}

func (s *Server) sessionIDs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for ss := range s.openSessions() {
			if id := ss.ID(); id != "" && !yield(id) {
				return
			}
		}
	}
}

func (s *Server) endSession(id string) {
	for ss := range s.openSessions() {
		if ss.ID() == id {
			_ = ss.Close() // its client is told by the 404 of its next request
		}
	}
}

// atLeast keeps the library's chatter (three lines for every stateless request) out of the log.
type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}

func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{Handler: h.Handler.WithAttrs(attrs), level: h.level}
}

func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{Handler: h.Handler.WithGroup(name), level: h.level}
}
