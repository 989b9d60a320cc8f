package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
)

// A client that goes away ends the wait of its call where the revision says so; older ones may come back for it.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	ctx, hangUp := context.WithCancel(t.Context())
	req := f.request(t, http.MethodPost, "/mcp", tokenAll, modernBody("tools/call", `"name":"wait.long"`),
		"Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "wait.long").WithContext(ctx)
	done := make(chan error, 1)
	go func() {
		resp, err := f.Client().Do(req) //nolint:bodyclose // the request never gets an answer
		if err == nil {
			_, err = bufio.NewReader(resp.Body).ReadString(0)
		}
		done <- err
	}()
	await(t, f.tools.started)
	hangUp()
	if err := await(t, done); err == nil {
		t.Error("an answer came")
	}
	if err := await(t, f.tools.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if a := f.legacy(t, tokenAll, echoBody); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}

	// On a session the call goes on.
	session := f.openSession(t, tokenAll)
	ctx, hangUp = context.WithCancel(t.Context())
	req = f.request(t, http.MethodPost, "/mcp", tokenAll, strings.Replace(echoBody, "echo.read", "wait.long", 1), "Mcp-Session-Id", session).WithContext(ctx)
	go func() {
		resp, err := f.Client().Do(req) //nolint:bodyclose // the request never gets an answer
		if err == nil {
			_, err = bufio.NewReader(resp.Body).ReadString(0)
		}
		done <- err
	}()
	await(t, f.tools.started)
	hangUp()
	if err := await(t, done); err == nil {
		t.Error("an answer came")
	}
	close(f.tools.release)
	if err := await(t, f.tools.ended); err != nil {
		t.Errorf("the session's call was cut: %v", err)
	}
}

// The context of a call ends by itself.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.CallTimeout = 20 * time.Millisecond })
	f.modern(t, tokenAll, "tools/call", "wait.long", `"name":"wait.long"`)
	if err := await(t, f.tools.ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// Idle streams do not hold the end up.
func TestShutdownWithOpenStreams(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for range 3 {
		session := f.openSession(t, tokenAll)
		resp, err := f.Client().Do(f.request(t, http.MethodGet, "/mcp", tokenAll, "", "Mcp-Session-Id", session))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %q %v", resp.StatusCode, line, err)
		}
	}
	f.connect(t, "/mcp", tokenAll, "", nil)
	f.connect(t, "/mcp/compat", tokenAll, legacyVersion, nil)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.mcp.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

// A running call is answered before its session is closed; nothing new starts meanwhile.
func TestShutdownFinishesCalls(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	session := f.openSession(t, tokenAll)
	wait := strings.Replace(echoBody, "echo.read", "wait.long", 1)
	answers := make(chan answer, 3)
	go func() { answers <- f.legacy(t, tokenAll, wait, "Mcp-Session-Id", session) }()
	go func() { answers <- f.legacy(t, tokenAll, wait) }()
	go func() { answers <- f.modern(t, tokenAll, "tools/call", "wait.long", `"name":"wait.long"`) }()
	for range 3 {
		await(t, f.tools.started)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.mcp.Shutdown(t.Context()) }()
	for i := 0; f.legacy(t, tokenAll, `{"jsonrpc":"2.0","id":9,"method":"ping"}`).status != http.StatusServiceUnavailable; i++ {
		if i > 10_000 { // it is a matter of one or two
			t.Fatal("calls are admitted all along")
		}
	}
	a := f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", session)
	if a.status != http.StatusServiceUnavailable || a.rpc(t).Error == nil || string(a.rpc(t).ID) != "2" || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := f.legacy(t, tokenAll, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, "Mcp-Session-Id", session); a.status != http.StatusAccepted {
		t.Errorf("a notification: %d", a.status)
	}
	select {
	case err := <-ended:
		t.Fatalf("ended too early: %v", err)
	default:
	}
	close(f.tools.release)
	for range 3 {
		if a := await(t, answers); a.status != http.StatusOK || a.rpc(t).data(t).Tool != "wait.long" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if err := await(t, ended); err != nil {
		t.Error(err)
	}
	if err := f.mcp.Shutdown(t.Context()); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// When time is up the end comes all the same, and says so.
func TestShutdownGivesUp(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	answered := make(chan answer, 1)
	go func() { answered <- f.legacy(t, tokenAll, strings.Replace(echoBody, "echo.read", "wait.long", 1)) }()
	await(t, f.tools.started)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.mcp.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(f.tools.release)
	if err := await(t, f.tools.ended); err != nil {
		t.Errorf("the call was cut: %v", err)
	}
	await(t, answered)
}

// An idle session ends by itself.
func TestSessionTimeout(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.SessionTimeout = 200 * time.Millisecond })
	session := f.legacy(t, tokenAll, initBody).header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatal("no session")
	}
	// Its stream ends with it; on a slow machine it ended before.
	resp, err := f.Client().Do(f.request(t, http.MethodGet, "/mcp", tokenAll, "", "Mcp-Session-Id", session))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		if _, err := bufio.NewReader(resp.Body).ReadString(0); err == nil {
			t.Error("the stream goes on")
		}
	}
	// The library closes the streams a moment before it forgets the session; a call in between gets an empty answer.
	for i := 0; f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", session).status != http.StatusNotFound; i++ {
		if i > 10_000 {
			t.Fatal("the session is still known")
		}
	}
	if got := f.tools.called(); len(got) != 0 {
		t.Errorf("ran: %v", got)
	}
}

// A call of an older client on a session can be cancelled by its notification.
func TestCancelNotification(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for _, session := range []*mcp.ClientSession{f.connect(t, "/mcp", tokenAll, legacyVersion, nil), f.pipe(t, "/mcp", "", nil)} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait.long"})
			done <- err
		}()
		await(t, f.tools.started)
		cancel()
		if err := await(t, done); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if err := await(t, f.tools.ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}
