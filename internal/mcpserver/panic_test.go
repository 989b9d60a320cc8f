package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// A panic in a tool is that call's error; the call beside it finishes and the process lives.
func TestF116PanicIsContained(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	beside := make(chan answer, 1)
	go func() { beside <- f.modern(t, tokenAll, "tools/call", "wait.long", `"name":"wait.long"`) }()
	await(t, f.tools.started)

	session := f.openSession(t, tokenAll)
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `"}}`
	}
	for _, a := range []answer{
		f.modern(t, tokenAll, "tools/call", "panic.write", `"name":"panic.write"`),
		f.legacy(t, tokenAll, call("panic.write"), "Mcp-Session-Id", session),
		f.legacy(t, tokenAll, call("panic_write")),
		f.legacy(t, tokenAll, call("panic.read")),
	} {
		m := a.rpc(t)
		p := m.public(t)
		if a.status != http.StatusOK || p.ErrorCode != errs.Internal || p.RequestID != a.header.Get("X-Request-Id") {
			t.Errorf("%d %s", a.status, a.body)
		}
		if len(m.Result.Content) != 1 || !strings.Contains(m.Result.Content[0].Text, p.RequestID) {
			t.Errorf("text: %+v", m.Result.Content)
		}
		if strings.Contains(a.body, "secret") || strings.Contains(a.body, ".go") {
			t.Errorf("the stack is out: %s", a.body)
		}
		var found bool
		for _, line := range f.log.lines("secret in the panic") {
			found = found || (strings.Contains(line, p.RequestID) && strings.Contains(line, "front_test.go"))
		}
		if !found {
			t.Errorf("no stack in the log for %s", p.RequestID)
		}
	}
	broke := f.legacy(t, tokenAll, call("panic.write")).rpc(t)
	if p := broke.public(t); p.Executed != errs.ExecutedUnknown || !strings.Contains(broke.Result.Content[0].Text, "(executed: unknown)") {
		t.Errorf("a write that broke half way: executed %q, %+v", p.Executed, broke.Result.Content)
	}
	if p := f.legacy(t, tokenAll, call("panic.read")).rpc(t).public(t); p.Executed != errs.ExecutedNo {
		t.Errorf("a read: executed %q", p.Executed)
	}
	close(f.tools.release)
	if a := await(t, beside); a.rpc(t).data(t).Tool != "wait.long" {
		t.Errorf("beside: %d %s", a.status, a.body)
	}
}

// Outside of tools the second net answers with a protocol error.
func TestPanicOutsideOfTools(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) {
		o.Resources = []mcpserver.Resource{{
			URI: "mappy://capabilities", Name: "capabilities", Description: "What may be done.",
			Read: func(context.Context, *mcpserver.ResourceCall) (string, error) { panic("in a resource") },
		}}
	})
	a := f.modern(t, tokenAll, "resources/read", "mappy://capabilities", `"uri":"mappy://capabilities"`)
	m := a.rpc(t)
	if m.Error == nil || m.Error.Code != -32603 || m.Error.Data.RequestID != a.header.Get("X-Request-Id") || strings.Contains(a.body, "in a resource") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if len(f.log.lines("in a resource")) != 1 {
		t.Error("not in the log")
	}
	if a := f.legacy(t, tokenAll, echoBody); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
}

// What cannot be sent must not leave the caller without an answer.
func TestBrokenResults(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for name, r := range map[string]tools.Result{
		"nothing":     {},
		"broken JSON": {Structured: json.RawMessage(`{"data":`), Text: "x"},
		"an array":    {Structured: json.RawMessage(`[1]`), Text: "x"},
	} {
		f.tools.result = func(*tools.Call) tools.Result { return r }
		for _, a := range []answer{
			f.modern(t, tokenAll, "tools/call", "result.any", `"name":"result.any"`),
			f.legacy(t, tokenAll, strings.Replace(echoBody, "echo.read", "result.any", 1)),
		} {
			if p := a.rpc(t).public(t); p.ErrorCode != errs.Internal {
				t.Errorf("%s: %s", name, a.body)
			}
		}
	}
	if len(f.log.lines("cannot be sent")) != 6 {
		t.Errorf("log: %v", f.log.lines("cannot be sent"))
	}
}
