package redistest

import (
	"context"
	"os"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/localstack"
)

// Server is a private Redis of one test. Its methods may be called from several goroutines.
type Server struct {
	tb     testing.TB
	server *localstack.RedisServer
}

// Own starts a private Redis, stopped and removed when the test ends. 50 ms. It never is the server that MAPPY_REDIS_URL
// names.
func Own(tb testing.TB) *Server {
	tb.Helper()
	server, err := localstack.StartRedisServer(context.Background(), localstack.Options{Log: os.Stderr})
	if err != nil {
		tb.Fatalf("no Redis for this test: %v", err)
	}
	tb.Cleanup(func() { _ = server.Close() })
	return &Server{tb: tb, server: server}
}

// URL is the server's address for go-redis, the same over every Stop and Start.
func (s *Server) URL() string { return s.server.URL() }

// Stop ends the server at once: its data are lost, connections are cut, new ones refused. Returns when it is gone.
func (s *Server) Stop() { s.server.Stop() }

// Start starts a stopped server again, empty, at the same address, and returns when it answers. A failure fails the
// test; call it from the test's own goroutine.
func (s *Server) Start() {
	s.tb.Helper()
	if err := s.server.Start(context.Background()); err != nil {
		s.tb.Fatalf("start Redis again: %v", err)
	}
}

// Pause freezes the server: connecting still works, but no answer comes, as from a host that hangs.
func (s *Server) Pause() { s.server.Pause() }

// Resume lets a frozen server go on. It then carries out what was sent meanwhile.
func (s *Server) Resume() { s.server.Resume() }
