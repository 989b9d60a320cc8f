package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/tools"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"

	tokenAll    = "token-all"    // every scope
	tokenReader = "token-reader" // only things:read
	tokenOther  = "token-other"  // every scope, another person
)

// fakeTools is a handful of tools that show the front's own behaviour.
type fakeTools struct {
	mu    sync.Mutex
	names []string

	started chan string                    // the request id of each call of wait.long
	release chan struct{}                  // lets wait.long go on
	ended   chan error                     // why wait.long ended
	result  func(*tools.Call) tools.Result // what result.any answers
}

func newFakeTools() *fakeTools {
	return &fakeTools{
		started: make(chan string, 16), release: make(chan struct{}), ended: make(chan error, 16),
	}
}

func (f *fakeTools) List() []tools.Tool {
	read := func(name string) tools.Tool {
		return tools.Tool{Name: name, Title: "Title of " + name, Description: "Reads things.", Scope: "things:read", ReadOnly: true, Idempotent: true, Output: outputSchema()}
	}
	write := func(name string) tools.Tool {
		return tools.Tool{Name: name, Title: "Title of " + name, Description: "Writes things.", Scope: "things:write", OpenWorld: true, Output: outputSchema()}
	}
	remove := write("thing.delete")
	remove.Destructive, remove.Idempotent = true, true
	return []tools.Tool{
		read("echo.read"), read("trace.read"), read("progress.read"), read("result.any"), read("panic.read"),
		write("thing.create"), write("wait.long"), write("panic.write"), remove,
	}
}

func (f *fakeTools) Call(ctx context.Context, name string, call *tools.Call) tools.Result {
	f.mu.Lock()
	f.names = append(f.names, name)
	f.mu.Unlock()
	switch name {
	case "panic.read", "panic.write":
		panic("secret in the panic")
	case "progress.read":
		for _, done := range []int{0, 1, 1, 3, 2, 3, 4} {
			call.Progress(done, 4, fmt.Sprintf("step %d", done))
		}
	case "result.any":
		return f.result(call)
	case "wait.long":
		f.started <- call.RequestID
		select {
		case <-f.release:
			f.ended <- nil
		case <-ctx.Done():
			f.ended <- context.Cause(ctx)
		}
	case "thing.delete":
		e := errs.New(errs.WritesDisabled, errs.T("停止中", "stopped")).Public(call.Principal.Locale, call.RequestID)
		b, _ := json.Marshal(e)
		return tools.Result{Structured: b, Text: string(b), IsError: true}
	}
	b, _ := json.Marshal(map[string]any{"data": map[string]any{
		"tool": name, "arguments": string(call.Arguments), "request_id": call.RequestID, "user": call.Principal.UserID,
	}})
	return tools.Result{Structured: b, Text: "done: " + string(b), Links: []tools.Link{{URI: "mappy://batches/1", Name: "batch", Description: "The batch."}}}
}

func (f *fakeTools) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.names)
}

// outputSchema is one envelope for success and error, as the product's tools have it.
func outputSchema() *jsonschema.Schema {
	s, err := jsonschema.For[errs.Public](nil)
	if err != nil {
		panic(err)
	}
	s.Required = nil
	s.Properties["data"] = &jsonschema.Schema{Type: "object"}
	return s
}

// fakeAuth knows three tokens and can be told to fail.
type fakeAuth struct {
	mu   sync.Mutex
	fail error
}

func (a *fakeAuth) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = err
}

func (a *fakeAuth) Authenticate(_ context.Context, token string) (*authn.Principal, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return nil, a.fail
	}
	p := &authn.Principal{
		TenantID: "t1", ClientID: "c1", UserID: "alice", TokenID: authn.TokenID(token), Locale: errs.English,
		Scopes: []string{"things:read", "things:write"},
	}
	switch token {
	case tokenAll:
	case tokenReader:
		p.Scopes = p.Scopes[:1]
	case tokenOther:
		p.UserID = "bob"
	default:
		return nil, errs.Wrap(errs.Unauthenticated, errors.New("verifier says: key 7 unknown"), errs.T("内部", "key 7 unknown"))
	}
	return p, nil
}

// front is a server on loopback with fakes behind it.
type front struct {
	*httptest.Server
	mcp   *mcpserver.Server
	tools *fakeTools
	auth  *fakeAuth
	log   *logBuffer
}

func newFront(t *testing.T, change ...func(*mcpserver.Options)) *front {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	f := newPipes(t, append([]func(*mcpserver.Options){func(o *mcpserver.Options) {
		o.PublicURL = "http://" + srv.Listener.Addr().String()
	}}, change...)...)
	srv.Config = mcpserver.HTTPServer("", f.mcp.Handler())
	f.start(t, srv)
	return f
}

// start opens the front on loopback until the test ends.
func (f *front) start(t *testing.T, srv *httptest.Server) {
	t.Helper()
	srv.Start()
	f.Server = srv
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = f.mcp.Shutdown(ctx)
		srv.CloseClientConnections()
		srv.Close()
	})
}

// newPipes is a front without HTTP.
func newPipes(t *testing.T, change ...func(*mcpserver.Options)) *front {
	t.Helper()
	f := &front{tools: newFakeTools(), auth: &fakeAuth{}, log: &logBuffer{}}
	o := mcpserver.Options{
		Tools: f.tools, Authenticator: f.auth, PublicURL: "http://127.0.0.1", LegacySessions: true,
		Environment: "simulator", Locale: errs.English, Log: slog.New(slog.NewJSONHandler(f.log, nil)), Instructions: "Preview, ask, write.",
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if f.mcp, err = mcpserver.New(o); err != nil {
		t.Fatal(err)
	}
	return f
}

func stateless(o *mcpserver.Options) { o.LegacySessions = false }

// send makes one request. Pairs are header names and values; an empty value removes the header.
func (f *front) send(t *testing.T, method, path, token, body string, pairs ...string) answer {
	t.Helper()
	return f.do(t, f.request(t, method, path, token, body, pairs...))
}

func (f *front) request(t *testing.T, method, path, token, body string, pairs ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(pairs); i += 2 {
		switch {
		case pairs[i] == "Host":
			req.Host = pairs[i+1]
		case pairs[i+1] == "":
			req.Header.Del(pairs[i])
		default:
			req.Header.Set(pairs[i], pairs[i+1])
		}
	}
	return req
}

func (f *front) do(t *testing.T, req *http.Request) answer {
	t.Helper()
	resp, err := f.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
}

// modern sends a 2026-07-28 request.
func (f *front) modern(t *testing.T, token, method, name, params string, pairs ...string) answer {
	t.Helper()
	h := []string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return f.send(t, http.MethodPost, "/mcp", token, modernBody(method, params), append(h, pairs...)...)
}

func modernBody(method, params string) string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `","io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta)
}

// legacy sends a message of the older kind; the version header is left out unless a pair sets it.
func (f *front) legacy(t *testing.T, token, body string, pairs ...string) answer {
	t.Helper()
	return f.send(t, http.MethodPost, "/mcp", token, body, pairs...)
}

const (
	initBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	echoBody = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo.read","arguments":{"a":1}}}`
)

// openSession does the older handshake and gives the session's id.
func (f *front) openSession(t *testing.T, token string) string {
	t.Helper()
	a := f.legacy(t, token, initBody)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != http.StatusOK || id == "" {
		t.Fatalf("initialize: %d %q %s", a.status, id, a.body)
	}
	if b := f.legacy(t, token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id); b.status != http.StatusAccepted {
		t.Fatalf("initialized: %d %s", b.status, b.body)
	}
	return id
}

type answer struct {
	status int
	header http.Header
	body   string
}

// rpc is the message in the answer, from a stream or a plain body.
func (a answer) rpc(t *testing.T) rpcMessage {
	t.Helper()
	var last string
	for line := range strings.Lines(a.body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			last = data
		}
	}
	if last == "" {
		last = a.body
	}
	var m rpcMessage
	if err := json.Unmarshal([]byte(last), &m); err != nil {
		t.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	return m
}

type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Result *struct {
		ProtocolVersion   string                             `json:"protocolVersion"`
		Content           []struct{ Type, Text, URI string } `json:"content"`
		StructuredContent json.RawMessage                    `json:"structuredContent"`
		IsError           bool                               `json:"isError"`
		ResultType        string                             `json:"resultType"`
		TTLMs             *int                               `json:"ttlMs"`
		CacheScope        string                             `json:"cacheScope"`
		Tools             []map[string]any                   `json:"tools"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			RequestID string `json:"request_id"`
		} `json:"data"`
	} `json:"error"`
}

// data is the data part of a successful tool result.
func (m rpcMessage) data(t *testing.T) echoed {
	t.Helper()
	if m.Result == nil || m.Result.IsError {
		t.Fatalf("no success: %+v", m)
	}
	var d struct{ Data echoed }
	if err := json.Unmarshal(m.Result.StructuredContent, &d); err != nil {
		t.Fatal(err)
	}
	return d.Data
}

type echoed struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	RequestID string `json:"request_id"`
	User      string `json:"user"`
}

// public is the error part of a tool result.
func (m rpcMessage) public(t *testing.T) errs.Public {
	t.Helper()
	if m.Result == nil || !m.Result.IsError {
		t.Fatalf("no tool error: %+v %+v", m, m.Error)
	}
	var p errs.Public
	if err := json.Unmarshal(m.Result.StructuredContent, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// await takes the next value, and fails the test instead of hanging when none comes.
func await[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines are the log records that hold a text.
func (l *logBuffer) lines(text string) []string {
	var out []string
	sc := bufio.NewScanner(strings.NewReader(l.String()))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if strings.Contains(sc.Text(), text) {
			out = append(out, sc.Text())
		}
	}
	return out
}
