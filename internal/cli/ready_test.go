package cli_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/cli"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// A worker by itself shows metrics and readiness, which `ready` asks for, and both end with it.
func TestWorkerIsWatched(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	x.env["MAPPY_ADMIN_LISTEN"] = address
	if code, _, errOut := x.run("worker"); code != 1 || !strings.Contains(errOut, "MAPPY_ADMIN_LISTEN") {
		t.Errorf("on an address in use: exit %d, %q", code, errOut)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := x.run("ready"); code != 1 || !strings.Contains(errOut, "nobody answers") {
		t.Errorf("before: exit %d, %q", code, errOut)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var errOut bytes.Buffer
	ended := make(chan int, 1)
	lookup := func(k string) (string, bool) { v, ok := x.env[k]; return v, ok }
	go func() {
		ended <- cli.Run(ctx, []string{"worker"}, cli.Env{Out: io.Discard, Err: &errOut, Lookup: lookup})
	}()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if code, out, _ := x.run("ready"); code == 0 {
			if out != "ready\n" {
				t.Errorf("ready says %q", out)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the worker is never ready: %s", errOut.String())
		}
	}
	for path, want := range map[string]string{"/metrics": "go_goroutines", "/healthz": "ok"} {
		if got := get(t, "http://"+address+path); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	b := s.Accept("post.create", stack.Post(s.IDs(1), "Fresh rolls"))
	s.Finish(string(b.BatchID))
	if _, err := s.DB.Owner().Exec(t.Context(), `DELETE FROM public.mappy_migration WHERE version_id = 5`); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := x.run("ready"); code != 1 || !strings.Contains(out, "run `mappy-mcp migrate up`") {
		t.Errorf("on an old schema: exit %d, %q", code, out)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("the worker ended with %d: %s", code, errOut.String())
	}
	if code, _, _ := x.run("ready"); code != 1 {
		t.Errorf("afterwards: exit %d", code)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A process that answers and takes no work is not ready; one that listens everywhere is found on loopback.
func TestReadyAsksTheProcess(t *testing.T) {
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "a store does not answer\n")
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, env: map[string]string{}}
	for _, address := range []string{"127.0.0.1:" + port, "0.0.0.0:" + port, ":" + port} {
		x.env["MAPPY_ADMIN_LISTEN"] = address
		status = http.StatusServiceUnavailable
		if code, out, errOut := x.run("ready"); code != 1 || out != "a store does not answer\n" || !strings.Contains(errOut, "not ready") {
			t.Errorf("%s: exit %d, %q %q", address, code, out, errOut)
		}
		status = http.StatusOK
		if got := shape(t, x.must("ready", "--output", "json")); got != "{detail ready}" {
			t.Errorf("%s: %s", address, got)
		}
	}
}
