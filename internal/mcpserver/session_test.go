package mcpserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
)

// With sessions off, any process serves any request: nothing is kept between two of them.
func TestF106AnyReplicaServes(t *testing.T) {
	t.Parallel()
	a, b := newFront(t, stateless), newFront(t, stateless)
	if got := a.legacy(t, tokenAll, initBody); got.status != http.StatusOK || got.header.Get("Mcp-Session-Id") != "" {
		t.Fatalf("%d %v", got.status, got.header)
	}
	if got := b.legacy(t, tokenAll, echoBody, "Mcp-Protocol-Version", legacyVersion); got.rpc(t).data(t).Tool != "echo.read" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := b.modern(t, tokenAll, "tools/call", "echo.read", `"name":"echo.read"`); got.rpc(t).data(t).Tool != "echo.read" {
		t.Fatalf("%d %s", got.status, got.body)
	}
}

// Old clients send what they have: a stale session, a GET for a stream, a call before the handshake.
func TestF107OldHabits(t *testing.T) {
	t.Parallel()
	f := newFront(t, stateless)
	for i, c := range []struct {
		method, body, session string
		want                  int
	}{
		{http.MethodPost, echoBody, "STALE", 200},
		{http.MethodPost, initBody, "STALE", 200},
		{http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "STALE", 202},
		{http.MethodPost, echoBody, "", 200},
		{http.MethodGet, "", "", 405},
		{http.MethodGet, "", "STALE", 405},
		{http.MethodDelete, "", "STALE", 405},
	} {
		a := f.send(t, c.method, "/mcp", tokenAll, c.body, "Mcp-Session-Id", c.session)
		if a.status != c.want {
			t.Errorf("%d: %s %q: %d, want %d: %s", i, c.method, c.session, a.status, c.want, a.body)
		}
		if c.want == 405 && a.header.Get("Allow") != "POST" {
			t.Errorf("Allow: %q", a.header.Get("Allow"))
		}
	}
	if got := f.tools.called(); len(got) != 2 {
		t.Errorf("ran: %v", got)
	}
}

// Open sessions cost memory, so one token gets a number of them, and all together too.
func TestSessionCaps(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.MaxSessionsPerPrincipal, o.MaxSessions = 3, 5 })
	var mine []string
	for range 3 {
		mine = append(mine, f.openSession(t, tokenAll))
	}
	a := f.legacy(t, tokenAll, initBody)
	if m := a.rpc(t); a.status != http.StatusTooManyRequests || m.Error == nil || string(m.ID) != "1" || !strings.Contains(m.Error.Message, "3 open sessions") || a.header.Get("Retry-After") == "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := f.send(t, http.MethodPost, "/mcp/compat", tokenAll, initBody); a.status != http.StatusTooManyRequests {
		t.Errorf("the other endpoint counts apart: %d", a.status)
	}
	for range 2 {
		f.openSession(t, tokenOther)
	}
	if a := f.legacy(t, tokenReader, initBody); a.status != http.StatusServiceUnavailable || a.rpc(t).Error == nil {
		t.Errorf("full: %d %s", a.status, a.body)
	}
	// Calls go on, and a session that ended makes room at once.
	if a := f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", mine[0]); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
	if a := f.send(t, http.MethodDelete, "/mcp", tokenAll, "", "Mcp-Session-Id", mine[1]); a.status != http.StatusNoContent {
		t.Errorf("DELETE: %d", a.status)
	}
	if a := f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", mine[1]); a.status != http.StatusNotFound {
		t.Errorf("an ended session: %d", a.status)
	}
	f.openSession(t, tokenAll)
	if a := f.legacy(t, tokenAll, initBody); a.status != http.StatusTooManyRequests {
		t.Errorf("%d", a.status)
	}
}

// A hundred handshakes at once never open more than the cap.
func TestSessionCapHoldsInARace(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.MaxSessionsPerPrincipal = 4 })
	results := make(chan answer, 40)
	for i := range cap(results) {
		go func() {
			results <- f.legacy(t, tokenAll, strings.Replace(initBody, `"id":1`, fmt.Sprintf(`"id":%d`, i), 1))
		}()
	}
	opened := 0
	for range cap(results) {
		switch a := await(t, results); a.status {
		case http.StatusOK:
			opened++
		case http.StatusTooManyRequests:
		default:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if opened != 4 {
		t.Errorf("%d sessions opened", opened)
	}
}
