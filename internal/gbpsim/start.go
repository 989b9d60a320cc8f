package gbpsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// TB is the part of testing.TB that Start uses; taking it by interface keeps package testing out of cmd/gbpsim.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start runs a simulator on a free loopback port until the test ends and gives it with its base URL (no trailing slash).
// With Options.Strict the test fails at its end for each request that is not simulated.
func Start(t TB, o Options) (*Sim, string) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatalf("gbpsim: %v", err)
	}
	server, err := Listen(s, "127.0.0.1:0")
	if err != nil {
		t.Fatalf("gbpsim: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Errorf("gbpsim: %v", err)
		}
		if o.Strict {
			for _, e := range s.Unknown() {
				t.Errorf("gbpsim: not simulated: %s %s%s?%s", e.Method, e.Host, e.Path, e.Query)
			}
		}
	})
	return s, server.URL
}

// Server is a simulator behind a listening socket.
type Server struct {
	// URL is the base URL, without a trailing slash.
	URL  string
	sim  *Sim
	http *http.Server
	done chan error
}

// Listen serves a simulator on an address such as "127.0.0.1:0".
func Listen(s *Sim, address string) (*Server, error) {
	l, err := net.Listen("tcp", address) //nolint:noctx // it binds at once
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	out := &Server{
		URL: "http://" + l.Addr().String(), sim: s, done: make(chan error, 1),
		http: &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { out.done <- out.http.Serve(l) }()
	return out, nil
}

// Done gives the error with which serving ended by itself; nothing comes while it serves.
func (s *Server) Done() <-chan error { return s.done }

// Stop drops held requests, waits for the open ones until ctx ends, and closes what is left.
func (s *Server) Stop(ctx context.Context) error {
	s.sim.Close()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = s.http.Close()
	}
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
