package mcpserver_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
)

// pipe connects the library's own client over stdio; the path chooses the spelling.
func (f *front) pipe(t *testing.T, path, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	names := mcpserver.Dotted
	if path == "/mcp/compat" {
		names = mcpserver.Underscored
	}
	p := f.stdio(t, names)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(),
		&mcp.IOTransport{Reader: p.out, Writer: p.in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// process is a server on pipes, as a client program starts it.
type process struct {
	in     io.WriteCloser
	out    io.ReadCloser
	lines  *bufio.Reader
	end    context.CancelFunc
	result chan error
}

func (f *front) stdio(t *testing.T, names mcpserver.ToolNames) *process {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{in: inW, out: outR, lines: bufio.NewReader(outR), end: cancel, result: make(chan error, 1)}
	go func() {
		err := f.mcp.Stdio(ctx, tokenAll, inR, outW, names)
		_ = outW.Close()
		p.result <- err
	}()
	t.Cleanup(func() {
		cancel()
		_ = inW.Close()
		_ = outR.Close()
	})
	return p
}

func (p *process) send(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *process) receive(t *testing.T) rpcMessage {
	t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return answer{body: line}.rpc(t)
}

// handshake does the older one.
func (p *process) handshake(t *testing.T) {
	t.Helper()
	p.send(t, initBody)
	if m := p.receive(t); m.Result == nil || m.Result.ProtocolVersion != legacyVersion {
		t.Fatalf("%+v", m)
	}
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// A line that may not pass is answered; the connection goes on.
func TestStdioRefusesBadLines(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.MaxBody = 1 << 12 })
	p := f.stdio(t, mcpserver.Dotted)
	p.handshake(t)
	for _, c := range []struct{ line, id, text string }{
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo.read","arguments":{},"arguments":{}}}`, "5", "more than once"},
		{`{"jsonrpc":"2.0","id":6,"id":7,"method":"tools/list"}`, "6", "more than once"},
		{"[" + echoBody + "]", "null", "arrays are not accepted"},
		{`{"jsonrpc":"2.0","id":`, "null", "JSON"},
		{`{"jsonrpc":"1.0","id":8,"method":"tools/list"}`, "8", "2.0"},
		{echoBody + echoBody, "null", "JSON"},
		{strings.Repeat("x", 1<<17), "null", "at most 4096 bytes"},
	} {
		p.send(t, "", c.line)
		if m := p.receive(t); m.Error == nil || !strings.Contains(m.Error.Message, c.text) || string(m.ID) != c.id || m.Error.Data.RequestID == "" {
			t.Errorf("%.60s: %+v", c.line, m.Error)
		}
	}
	if got := f.tools.called(); len(got) != 0 {
		t.Fatalf("ran: %v", got)
	}
	p.send(t, strings.Replace(echoBody, `{"a":1}`, `{"a":1,"a": 2}`, 1)+"\r")
	if got := p.receive(t).data(t); got.Arguments != `{"a":1,"a": 2}` || got.User != "alice" || got.RequestID == "" {
		t.Errorf("%+v", got)
	}
}

// A call that runs when the input ends is still answered, and the end is no error.
func TestStdioAnswersBeforeItEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*process){
		"end of input":  func(p *process) { _ = p.in.Close() },
		"asked to stop": func(p *process) { p.end() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newPipes(t)
				p := f.stdio(t, mcpserver.Dotted)
				p.handshake(t)
				p.send(t, strings.Replace(echoBody, "echo.read", "wait.long", 1))
				await(t, f.tools.started)
				end(p)
				synctest.Wait() // the server has seen it, and waits
				close(f.tools.release)
				if got := p.receive(t).data(t); got.Tool != "wait.long" {
					t.Errorf("%+v", got)
				}
				if err := await(t, f.tools.ended); err != nil {
					t.Errorf("the call was cut: %v", err)
				}
				if err := await(t, p.result); err != nil {
					t.Errorf("%v", err)
				}
				if rest, err := io.ReadAll(p.lines); err != nil || len(rest) > 0 {
					t.Errorf("more output: %q %v", rest, err)
				}
			})
		})
	}
}

// A script may close the input right after its question.
func TestStdioOneShot(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	var out strings.Builder
	in := strings.NewReader(modernBody("tools/call", `"name":"echo_read","arguments":{"a":1}`))
	if err := f.mcp.Stdio(t.Context(), tokenAll, in, &out, mcpserver.Underscored); err != nil {
		t.Fatal(err)
	}
	if got := (answer{body: out.String()}).rpc(t).data(t); got.Arguments != `{"a":1}` || got.Tool != "echo.read" {
		t.Errorf("%+v", got)
	}
}

// The token is looked at with each call: one that was revoked stops working in the middle of the connection.
func TestStdioTokenIsCheckedAgain(t *testing.T) {
	t.Parallel()
	refusals := make(chan mcpserver.Refusal, 8)
	f := newFront(t, func(o *mcpserver.Options) {
		o.AuditRefusal = func(_ context.Context, r mcpserver.Refusal) error { refusals <- r; return nil }
	})
	if err := f.mcp.Stdio(t.Context(), "bad", strings.NewReader(""), io.Discard, mcpserver.Dotted); errs.CodeOf(err) != errs.Unauthenticated {
		t.Fatalf("%v", err)
	}
	p := f.stdio(t, mcpserver.Dotted)
	p.handshake(t)
	p.send(t, echoBody)
	p.receive(t).data(t)
	f.auth.set(errs.New(errs.Unauthenticated, errs.T("内", "verifier's words")))
	p.send(t, echoBody)
	m := p.receive(t)
	if got := m.public(t); got.ErrorCode != errs.Unauthenticated || strings.Contains(got.Message, "verifier") {
		t.Errorf("%+v", got)
	}
	if r := await(t, refusals); r.Code != errs.Unauthenticated || r.Tool != "echo.read" || !r.TokenSent || r.RequestID == "" {
		t.Errorf("%+v", r)
	}
	f.auth.set(errs.New(errs.Unavailable, errs.T("x", "x")))
	p.send(t, echoBody)
	if got := p.receive(t).public(t); got.ErrorCode != errs.Unavailable {
		t.Errorf("%+v", got)
	}
	if got := f.tools.called(); len(got) != 1 {
		t.Errorf("ran: %v", got)
	}
}

// Two calls with one id at a time cannot be told apart in the answers.
func TestStdioRefusesAnIDInUse(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	p := f.stdio(t, mcpserver.Dotted)
	p.handshake(t)
	p.send(t, strings.Replace(echoBody, "echo.read", "wait.long", 1))
	await(t, f.tools.started)
	p.send(t, echoBody)
	if m := p.receive(t); m.Error == nil || string(m.ID) != "2" {
		t.Fatalf("%+v", m)
	}
	close(f.tools.release)
	p.receive(t).data(t)
	p.send(t, echoBody)
	p.receive(t).data(t)
}
