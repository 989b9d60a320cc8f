package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
)

// A client without a good token learns where to get one.
func TestF114ChallengePointsToTheMetadata(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) {
		o.PublicURL, o.AllowedHosts = "https://mappy.example/", nil
	})
	for path, meta := range map[string]string{
		"/mcp":        "https://mappy.example/.well-known/oauth-protected-resource/mcp",
		"/mcp/compat": "https://mappy.example/.well-known/oauth-protected-resource/mcp/compat",
	} {
		for _, c := range []struct {
			name, token string
			header      []string
			want        string
		}{
			{"no token", "", nil, `Bearer resource_metadata="` + meta + `", scope="things:read"`},
			{"bad token", "expired", nil, `Bearer resource_metadata="` + meta + `", error="invalid_token", scope="things:read"`},
			{"other scheme", "", []string{"Authorization", "Basic YTpi"}, `Bearer resource_metadata="` + meta + `", scope="things:read"`},
			{"two tokens in one", "", []string{"Authorization", "Bearer a b"}, `Bearer resource_metadata="` + meta + `", error="invalid_token", scope="things:read"`},
			{"empty token", "", []string{"Authorization", "Bearer "}, `Bearer resource_metadata="` + meta + `", error="invalid_token", scope="things:read"`},
			{
				"the tool's scope", "expired",
				[]string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "thing_create"},
				`Bearer resource_metadata="` + meta + `", error="invalid_token", scope="things:write"`,
			},
		} {
			a := f.send(t, http.MethodPost, path, c.token, echoBody, c.header...)
			got := a.header.Get("WWW-Authenticate")
			if a.status != http.StatusUnauthorized || got != c.want {
				t.Errorf("%s %s: %d %s", path, c.name, a.status, got)
			}
			var p errs.Public
			if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.ErrorCode != errs.Unauthenticated || p.Status != 401 || p.RequestID != a.header.Get("X-Request-Id") {
				t.Errorf("%s: %v %s", c.name, err, a.body)
			}
			if strings.Contains(a.body, "key 7") {
				t.Errorf("the verifier's words are out: %s", a.body)
			}
		}
	}
}

// The token is taken from the Authorization header and nowhere else.
func TestTokenOnlyFromTheHeader(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	if a := f.send(t, http.MethodPost, "/mcp?access_token="+tokenAll, "", echoBody, "Cookie", "access_token="+tokenAll); a.status != http.StatusUnauthorized {
		t.Fatalf("%d", a.status)
	}
	req := f.request(t, http.MethodPost, "/mcp", tokenAll, echoBody)
	req.Header.Add("Authorization", "Bearer "+tokenAll)
	if a := f.do(t, req); a.status != http.StatusUnauthorized {
		t.Fatalf("two headers: %d", a.status)
	}
	if a := f.send(t, http.MethodPost, "/mcp", "", echoBody, "Authorization", "bearer "+tokenAll); a.status != http.StatusOK {
		t.Fatalf("lower case: %d", a.status)
	}
}

// The metadata documents are found at the root and at the path forms, without a token and from any origin.
func TestMetadata(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.PublicURL = "https://example.com/gbp/mcp" })
	for path, resource := range map[string]string{
		"":                "https://example.com/gbp/mcp",
		"/mcp":            "https://example.com/gbp/mcp",
		"/gbp/mcp":        "https://example.com/gbp/mcp",
		"/mcp/compat":     "https://example.com/gbp/mcp/compat",
		"/gbp/mcp/compat": "https://example.com/gbp/mcp/compat",
	} {
		a := f.send(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, "", "", "Origin", "https://elsewhere.example")
		var doc struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %d %v", path, a.status, err)
		}
		if doc.Resource != resource || len(doc.Servers) > 0 ||
			strings.Join(doc.Scopes, " ") != "things:read things:write" || strings.Join(doc.Methods, " ") != "header" {
			t.Errorf("%s: %+v", path, doc)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
	a := f.legacy(t, "", echoBody, "Host", "example.com")
	if want := `resource_metadata="https://example.com/.well-known/oauth-protected-resource/gbp/mcp"`; !strings.Contains(a.header.Get("WWW-Authenticate"), want) {
		t.Errorf("%s", a.header.Get("WWW-Authenticate"))
	}
}

// A store that is away is no reason to throw a token away.
func TestUnavailableIs503(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.auth.set(errs.Wrap(errs.Unavailable, errors.New("dial tcp 10.0.0.7:5432"), errs.T("db 10.0.0.7", "db 10.0.0.7")))
	a := f.legacy(t, tokenAll, echoBody)
	var p errs.Public
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != 503 || p.ErrorCode != errs.Unavailable || p.Retry.AfterSeconds != 5 || a.header.Get("Retry-After") != "5" {
		t.Fatalf("%d %v %s", a.status, err, a.body)
	}
	if strings.Contains(a.body, "10.0.0.7") || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v %s", a.header, a.body)
	}
	if len(f.log.lines("10.0.0.7:5432")) != 1 {
		t.Error("the cause is not in the log")
	}
	f.auth.set(errors.New("boom"))
	if a := f.legacy(t, tokenAll, echoBody); a.status != 500 || strings.Contains(a.body, "boom") || !strings.Contains(a.body, "INTERNAL") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// The step-up challenge comes where the client can use it; elsewhere the tool's own answer says it.
func TestInsufficientScope(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for _, spelling := range []string{"thing.create", "thing_create"} {
		a := f.modern(t, tokenReader, "tools/call", spelling, `"name":"`+spelling+`"`)
		challenge := a.header.Get("WWW-Authenticate")
		if a.status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope", scope="things:write"`) || !strings.Contains(challenge, "resource_metadata=") {
			t.Fatalf("%d %s", a.status, challenge)
		}
		var p errs.Public
		if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.ErrorCode != errs.InsufficientScope || p.Details == nil || p.Details.RequiredScope != "things:write" || !strings.Contains(p.Message, "things:write") {
			t.Fatalf("%v %s", err, a.body)
		}
	}
	if got := f.tools.called(); len(got) != 0 {
		t.Fatalf("ran: %v", got)
	}
	for name, a := range map[string]answer{
		"unknown tool": f.modern(t, tokenReader, "tools/call", "nope", `"name":"nope"`),
		"has it":       f.modern(t, tokenReader, "tools/call", "echo.read", `"name":"echo.read"`),
		"list":         f.modern(t, tokenReader, "tools/list", "thing.create", ``),
	} {
		if a.status == http.StatusForbidden {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"thing.create"}}`
	if a := f.legacy(t, tokenReader, body); a.status != http.StatusOK || a.rpc(t).data(t).Tool != "thing.create" {
		t.Errorf("legacy reaches the tool: %d %s", a.status, a.body)
	}
}

// Read-only mode beats scopes: nobody should be sent to fetch a scope that would not help.
func TestNoStepUpInReadOnlyMode(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.ReadOnly = true })
	a := f.modern(t, tokenReader, "tools/call", "thing.delete", `"name":"thing.delete"`)
	if a.status != http.StatusOK || a.rpc(t).public(t).ErrorCode != errs.WritesDisabled {
		t.Fatalf("%d %s", a.status, a.body)
	}
}

// Refusals are recorded before they are answered, and fail closed.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		got  []mcpserver.Refusal
		fail error
	)
	f := newFront(t, func(o *mcpserver.Options) {
		o.AuditRefusal = func(ctx context.Context, r mcpserver.Refusal) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r)
			return errors.Join(fail, ctx.Err())
		}
	})
	a := f.legacy(t, "bad", echoBody)
	b := f.modern(t, tokenReader, "tools/call", "thing_create", `"name":"thing_create"`)
	f.legacy(t, "", echoBody)
	mu.Lock()
	if len(got) != 3 || got[0].Code != errs.Unauthenticated || !got[0].TokenSent || got[0].RequestID != a.header.Get("X-Request-Id") || got[0].Principal != nil ||
		got[1].Code != errs.InsufficientScope || got[1].Tool != "thing.create" || got[1].Principal == nil || got[1].RequestID != b.header.Get("X-Request-Id") || got[2].TokenSent {
		t.Errorf("%+v", got)
	}
	fail = errors.New("audit is away")
	mu.Unlock()
	if a := f.legacy(t, "bad", echoBody); a.status != http.StatusServiceUnavailable || strings.Contains(a.body, "audit is away") {
		t.Errorf("%d %s", a.status, a.body)
	}
	// Who only collects refusals reads that, in its own language.
	mu.Lock()
	fail = errs.New(errs.RateLimited, errs.T("多すぎます。", "Too many.")).After(7 * time.Second)
	mu.Unlock()
	a = f.modern(t, tokenReader, "tools/call", "thing.create", `"name":"thing.create"`)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "7" || a.header.Get("WWW-Authenticate") != "" || !strings.Contains(a.body, "Too many.") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

// Every request on a session stands for itself: the principal is that of its own token, and a dead token ends it.
func TestEachCallOnASessionIsAuthenticated(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	session := f.openSession(t, tokenAll)
	if a := f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", session); a.rpc(t).data(t).User != "alice" {
		t.Fatalf("%s", a.body)
	}
	if a := f.legacy(t, "revoked", echoBody, "Mcp-Session-Id", session); a.status != http.StatusUnauthorized {
		t.Fatalf("%d", a.status)
	}
	// Somebody else's session looks like none.
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		a := f.send(t, method, "/mcp", tokenOther, echoBody, "Mcp-Session-Id", session)
		if a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
	if a := f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", session); a.status != http.StatusOK {
		t.Errorf("the owner lost it: %d", a.status)
	}
	f.auth.set(errs.New(errs.Unauthenticated, errs.T("x", "x")))
	if a := f.legacy(t, tokenAll, echoBody, "Mcp-Session-Id", session); a.status != http.StatusUnauthorized {
		t.Errorf("%d", a.status)
	}
}

func TestNewRefusesBadOptions(t *testing.T) {
	good := func() mcpserver.Options {
		return mcpserver.Options{Tools: newFakeTools(), Authenticator: &fakeAuth{}, PublicURL: "https://mappy.example", Environment: "production"}
	}
	if _, err := mcpserver.New(good()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*mcpserver.Options){
		"no tools":         func(o *mcpserver.Options) { o.Tools = nil },
		"no authenticator": func(o *mcpserver.Options) { o.Authenticator = nil },
		"absolute URL":     func(o *mcpserver.Options) { o.PublicURL = "mappy.example" },
		"needs https":      func(o *mcpserver.Options) { o.PublicURL = "http://mappy.example" },
		`"*"`:              func(o *mcpserver.Options) { o.AllowedOrigins = []string{"*"} },
		"want scheme":      func(o *mcpserver.Options) { o.AllowedOrigins = []string{"app.example.com"} },
		"allowed host":     func(o *mcpserver.Options) { o.AllowedHosts = []string{"https://x.example"} },
		"prompt":           func(o *mcpserver.Options) { o.Prompts = []mcpserver.Prompt{{Name: "p"}} },
		"resource":         func(o *mcpserver.Options) { o.Resources = []mcpserver.Resource{{URI: "mappy://x"}} },
	} {
		o := good()
		change(&o)
		if _, err := mcpserver.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	t.Setenv("MCPGODEBUG", "plaintextstatefulrejection=1")
	if _, err := mcpserver.New(good()); err == nil || !strings.Contains(err.Error(), "MCPGODEBUG") {
		t.Errorf("%v", err)
	}
	o := good()
	o.Environment = "simulator"
	if _, err := mcpserver.New(o); err != nil {
		t.Errorf("outside of production: %v", err)
	}
	srv := mcpserver.HTTPServer("127.0.0.1:0", http.NotFoundHandler())
	if srv.ReadHeaderTimeout <= 0 || srv.ReadTimeout <= 0 || srv.IdleTimeout <= 0 || srv.WriteTimeout != 0 || srv.ReadHeaderTimeout > time.Minute {
		t.Errorf("%+v", srv)
	}
}
