package mcpserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

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

// Open sessions cost memory, so one token gets a number of them, and all together too. A token at its number goes on: the
// session that it has not used for longest makes room, and its client is told to open another.
func TestSessionCaps(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	f := newFront(t, func(o *mcpserver.Options) {
		o.MaxSessionsPerPrincipal, o.MaxSessions = 3, 5
		o.Clock = func() time.Time { mu.Lock(); defer mu.Unlock(); now = now.Add(time.Second); return now }
	})
	on := func(session string) int {
		return f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", session).status
	}
	var mine []string
	for range 3 {
		mine = append(mine, f.openSession(t, tokenAll))
	}
	others := []string{f.openSession(t, tokenOther), f.openSession(t, tokenOther)}
	if a := f.legacy(t, tokenReader, initBody); a.status != http.StatusServiceUnavailable || a.rpc(t).Error == nil {
		t.Errorf("full: %d %s", a.status, a.body)
	}
	if got := on(mine[0]); got != http.StatusOK { // the first is not the least used any more
		t.Errorf("%d", got)
	}
	fourth := f.openSession(t, tokenAll)
	for id, want := range map[string]int{mine[0]: 200, mine[1]: 404, mine[2]: 200, fourth: 200} {
		if got := on(id); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	for _, id := range others { // nobody else's makes room
		if a := f.legacy(t, tokenOther, echoBody, "Mcp-Session-Id", id); a.status != http.StatusOK {
			t.Errorf("%d", a.status)
		}
	}
	// A session that its client ended makes room by itself.
	if a := f.send(t, http.MethodDelete, "/mcp", tokenAll, "", "Mcp-Session-Id", mine[0]); a.status != http.StatusNoContent {
		t.Errorf("DELETE: %d", a.status)
	}
	if a := f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", mine[0]); a.status != http.StatusNotFound {
		t.Errorf("an ended session: %d", a.status)
	}
	f.openSession(t, tokenAll)
	if got := on(mine[2]); got != http.StatusOK {
		t.Errorf("%d", got)
	}
}

// What serves a request is not idle: when all sessions of a token do, the next one is refused.
func TestSessionsInUseMakeNoRoom(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.MaxSessionsPerPrincipal = 1 })
	id := f.openSession(t, tokenAll)
	held := make(chan answer, 1)
	go func() {
		held <- f.legacy(t, tokenAll, strings.Replace(echoBody, "echo.read", "wait.long", 1), "Mcp-Session-Id", id)
	}()
	await(t, f.tools.started)
	a := f.send(t, http.MethodPost, "/mcp/compat", tokenAll, initBody)
	if m := a.rpc(t); a.status != http.StatusTooManyRequests || m.Error == nil || string(m.ID) != "1" || !strings.Contains(m.Error.Message, "1 sessions in use") || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	close(f.tools.release)
	if a := await(t, held); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	f.openSession(t, tokenAll)
}

// A hundred handshakes at once never leave more open than the cap.
func TestSessionCapHoldsInARace(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.MaxSessionsPerPrincipal = 4 })
	results := make(chan answer, 40)
	for i := range cap(results) {
		go func() {
			results <- f.legacy(t, tokenAll, strings.Replace(initBody, `"id":1`, fmt.Sprintf(`"id":%d`, i), 1))
		}()
	}
	var ids []string
	for range cap(results) {
		switch a := await(t, results); a.status {
		case http.StatusOK:
			ids = append(ids, a.header.Get("Mcp-Session-Id"))
		case http.StatusTooManyRequests:
		default:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	open := 0
	for _, id := range ids {
		if f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", id).status == http.StatusOK {
			open++
		}
	}
	if open != 4 {
		t.Errorf("%d sessions are open, of %d", open, len(ids))
	}
}
