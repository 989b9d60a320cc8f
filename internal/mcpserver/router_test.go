package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Every way in, with a good token, a bad one and none: who gets in is decided before the message is looked at.
func TestRouter(t *testing.T) {
	t.Parallel()
	type call struct {
		name, method, body string
		headers            []string
		// status and tool with sessions on, and with sessions off.
		on, off int
		served  bool // a tool ran
		text    string
	}
	modern := func(method, name string) []string {
		return []string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", method, "Mcp-Name", name}
	}
	big := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo.read","arguments":{"a":"` + strings.Repeat("x", 1<<16) + `"}}}`
	calls := []call{
		{"2026", http.MethodPost, modernBody("tools/call", `"name":"echo.read","arguments":{"a":1}`), modern("tools/call", "echo.read"), 200, 200, true, `\"a\":1`},
		{"2026 list", http.MethodPost, modernBody("tools/list", ""), modern("tools/list", ""), 200, 200, false, "thing.create"},
		{"2026 without its header", http.MethodPost, modernBody("tools/call", `"name":"echo.read"`), nil, 400, 400, false, "-32020"},
		{"2026 unknown tool", http.MethodPost, modernBody("tools/call", `"name":"nope"`), modern("tools/call", "nope"), 400, 400, false, "-32602"},
		{"2026 other name in the header", http.MethodPost, modernBody("tools/call", `"name":"thing.create"`), modern("tools/call", "echo.read"), 400, 400, false, "-32020"},
		{"a later version", http.MethodPost, strings.ReplaceAll(modernBody("tools/list", ""), modernVersion, "2031-01-01"), []string{"Mcp-Protocol-Version", "2031-01-01", "Mcp-Method", "tools/list"}, 400, 400, false, "-32022"},
		{"initialize", http.MethodPost, initBody, nil, 200, 200, false, legacyVersion},
		{"without a session", http.MethodPost, echoBody, nil, 200, 200, true, "echo.read"},
		{"without a session, with a version", http.MethodPost, echoBody, []string{"Mcp-Protocol-Version", legacyVersion}, 200, 200, true, "echo.read"},
		{"stale session", http.MethodPost, echoBody, []string{"Mcp-Session-Id", "STALE"}, 404, 200, true, ""},
		{"GET", http.MethodGet, "", nil, 405, 405, false, "POST"},
		{"GET with a stale session", http.MethodGet, "", []string{"Mcp-Session-Id", "STALE"}, 404, 405, false, ""},
		{"DELETE", http.MethodDelete, "", nil, 405, 405, false, "POST"},
		{"DELETE of a stale session", http.MethodDelete, "", []string{"Mcp-Session-Id", "STALE"}, 404, 405, false, ""},
		{"PUT", http.MethodPut, echoBody, nil, 405, 405, false, "POST"},
		{"array", http.MethodPost, "[" + echoBody + "," + echoBody + "]", nil, 400, 400, false, "arrays are not accepted"},
		{"array of 2026", http.MethodPost, "[" + modernBody("tools/call", `"name":"echo.read"`) + "]", modern("tools/call", "echo.read"), 400, 400, false, "arrays are not accepted"},
		{"array in a session", http.MethodPost, "[" + echoBody + "]", []string{"Mcp-Session-Id", "STALE"}, 400, 400, false, "arrays are not accepted"},
		{"too large", http.MethodPost, big, nil, 413, 413, false, "source_url"},
		{"arguments twice", http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo.read","arguments":{"a":1},"arguments":{"a":2}}}`, nil, 400, 400, false, `\"arguments\" appears more than once`},
		{"arguments twice, once escaped", http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo.read","arguments":{"a":1},"\u0061rguments":{"a":2}}}`, nil, 400, 400, false, `\"arguments\" appears more than once`},
		{"name twice", http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo.read","name":"thing.create"}}`, nil, 400, 400, false, `\"name\" appears`},
		{"params twice", http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo.read"},"params":{"name":"thing.create"}}`, nil, 400, 400, false, `\"params\" appears`},
		{"method twice", http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/list","method":"tools/call","params":{"name":"echo.read"}}`, nil, 400, 400, false, `\"method\" appears`},
		{"two messages", http.MethodPost, echoBody + echoBody, nil, 400, 400, false, "-32700"},
		{"no JSON", http.MethodPost, "hello", nil, 400, 400, false, "-32700"},
		{"a string", http.MethodPost, `"tools/call"`, nil, 400, 400, false, "-32600"},
		{"empty", http.MethodPost, "", nil, 400, 400, false, "-32700"},
		{"not JSON-RPC", http.MethodPost, `{}`, nil, 400, 400, false, ""},
		{"form", http.MethodPost, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, 415, false, "application/json"},
		{"no content type", http.MethodPost, echoBody, []string{"Content-Type", ""}, 415, 415, false, "application/json"},
		{"no stream accepted", http.MethodPost, echoBody, []string{"Accept", "application/json"}, 400, 400, false, "text/event-stream"},
		{"deeply nested", http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, nil, 400, 400, false, ""},
	}
	for _, sessions := range []bool{true, false} {
		f := newFront(t, func(o *mcpserver.Options) { o.LegacySessions, o.MaxBody = sessions, 1<<16 })
		for _, c := range calls {
			for _, path := range []string{"/mcp", "/mcp/compat"} {
				t.Run(fmt.Sprintf("sessions=%v/%s%s", sessions, c.name, path), func(t *testing.T) {
					before := len(f.tools.called())
					for _, token := range []string{"", "wrong"} {
						a := f.send(t, c.method, path, token, c.body, c.headers...)
						if a.status != http.StatusUnauthorized || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer ") {
							t.Errorf("token %q: %d, %v", token, a.status, a.header)
						}
					}
					want := c.on
					if !sessions {
						want = c.off
					}
					a := f.send(t, c.method, path, tokenAll, c.body, c.headers...)
					if a.status != want {
						t.Fatalf("status %d, want %d: %s", a.status, want, a.body)
					}
					if !strings.Contains(a.body, c.text) {
						t.Errorf("%q is not in %s", c.text, a.body)
					}
					if a.header.Get("X-Request-Id") == "" || a.header.Get("X-Accel-Buffering") != "no" || a.header.Get("X-Content-Type-Options") != "nosniff" {
						t.Errorf("headers: %v", a.header)
					}
					ran := len(f.tools.called()) - before
					if served := c.served && want == http.StatusOK; (ran == 1) != served || ran > 1 {
						t.Errorf("%d tools ran", ran)
					}
				})
			}
		}
	}
}

// F117: a body over the limit is told apart from a broken connection, and the way out is named.
func TestF117TooLarge(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.tools.result = func(*tools.Call) tools.Result { return tools.Result{Structured: json.RawMessage(`{"data":{}}`)} }
	const limit = 4 << 20
	head, tail := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"result.any","arguments":{"a":"`, `"}}}`
	for _, c := range []struct {
		size, want int
		chunked    bool
	}{{limit, 200, false}, {limit + 1, 413, false}, {limit + 1, 413, true}} {
		req := f.request(t, http.MethodPost, "/mcp", tokenAll, head+strings.Repeat("x", c.size-len(head)-len(tail))+tail)
		if c.chunked {
			req.ContentLength = -1
		}
		a := f.do(t, req)
		if a.status != c.want {
			t.Fatalf("%d bytes, chunked %v: %d", c.size, c.chunked, a.status)
		}
		if m := a.rpc(t); c.want == 413 && (m.Error == nil || !strings.Contains(m.Error.Message, "source_url") || !strings.Contains(m.Error.Message, "4194304") ||
			a.header.Get("Content-Type") != "application/json") {
			t.Errorf("%s", a.body)
		}
	}
	if n := len(f.tools.called()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// The refusal of a message carries the id it came with, so that the client can match it.
func TestRefusalCarriesTheID(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	a := f.legacy(t, tokenAll, `{"jsonrpc":"2.0","method":"tools/call","id":"abc","params":{"name":"echo.read","name":"x"}}`)
	m := a.rpc(t)
	if string(m.ID) != `"abc"` || m.Error == nil || m.Error.Data.RequestID != a.header.Get("X-Request-Id") || m.Error.Data.RequestID == "" {
		t.Fatalf("%s", a.body)
	}
}

// What stands in arguments arrives byte for byte; only the decoder of the tools may judge it.
func TestArgumentsArriveAsSent(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for _, args := range []string{
		`{"dry_run":true,"dry_run":false}`,
		`{ "a" : 1.0e2,  "id":9007199254740993, "t":"\u003c\ud83d\ude00<&>" }`,
		`{"location_ids":"[1,2]"}`,
		`[1, 2]`,
		`"text"`,
	} {
		a := f.modern(t, tokenAll, "tools/call", "echo.read", `"name":"echo.read","arguments":`+args)
		if got := a.rpc(t).data(t).Arguments; got != args {
			t.Errorf("2026: sent %s, arrived %s", args, got)
		}
		a = f.legacy(t, tokenAll, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo.read","arguments":`+args+`}}`, "Mcp-Session-Id", f.openSession(t, tokenAll))
		if got := a.rpc(t).data(t).Arguments; got != args {
			t.Errorf("session: sent %s, arrived %s", args, got)
		}
	}
	for _, params := range []string{`"name":"echo.read"`, `"name":"echo.read","arguments":null`} {
		a := f.modern(t, tokenAll, "tools/call", "echo.read", params)
		if got := a.rpc(t).data(t).Arguments; got != "" && got != "null" {
			t.Errorf("%s: arrived %q", params, got)
		}
	}
}

// A client that says initialize with the sessionless revision gets the newest one that has sessions.
func TestInitializeWithTheSessionlessRevision(t *testing.T) {
	t.Parallel()
	for _, change := range [][]func(*mcpserver.Options){nil, {stateless}} {
		f := newFront(t, change...)
		a := f.legacy(t, tokenAll, strings.Replace(initBody, legacyVersion, modernVersion, 1))
		if m := a.rpc(t); m.Result == nil || m.Result.ProtocolVersion != legacyVersion {
			t.Fatalf("%d %s", a.status, a.body)
		}
		// And is served in the manner of that one from then on.
		a = f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", a.header.Get("Mcp-Session-Id"))
		if m := a.rpc(t); m.Result == nil || m.Result.ResultType != "" {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
}

// One id per call, the same in the header, the tool's call and the log; the trace of the client is kept.
func TestRequestIDAndTrace(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	const other = "00-11111111111111111111111111111111-2222222222222222-00"
	a := f.modern(t, tokenAll, "tools/call", "trace.read", `"name":"trace.read"`, "Traceparent", parent)
	id := a.header.Get("X-Request-Id")
	if got := a.rpc(t).data(t).RequestID; got != id || id == "" {
		t.Errorf("header %q, call %q", id, got)
	}
	if got := traceOf(t, f, a); got != parent {
		t.Errorf("header trace: %q", got)
	}
	session := f.openSession(t, tokenAll)
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"trace.read","_meta":{"traceparent":"` + other + `"}}}`
	a = f.legacy(t, tokenAll, body, "Mcp-Session-Id", session, "Traceparent", parent)
	if got := traceOf(t, f, a); got != other {
		t.Errorf("_meta trace: %q", got)
	}
	a = f.legacy(t, tokenAll, strings.Replace(body, other, "not a trace\\n", 1), "Mcp-Session-Id", session)
	if got := traceOf(t, f, a); got != "" {
		t.Errorf("malformed trace kept: %q", got)
	}
}

// traceOf is the trace in the one line that the log has about a call.
func traceOf(t *testing.T, f *front, a answer) string {
	t.Helper()
	lines := f.log.lines(`"request_id":"` + a.header.Get("X-Request-Id") + `"`)
	var line struct {
		Trace string `json:"traceparent"`
	}
	if len(lines) != 1 || json.Unmarshal([]byte(lines[0]), &line) != nil {
		t.Fatalf("log: %v", lines)
	}
	return line.Trace
}
