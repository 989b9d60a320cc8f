package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// bearer adds the token to every request of a client.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens a session of the library's own client over HTTP; version "" is the newest.
func (f *front) connect(t *testing.T, path, token, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: f.URL + path, HTTPClient: &http.Client{Transport: bearer{token}}}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// eras are the ways in for a real client.
func eras(t *testing.T, test func(t *testing.T, f *front, connect func(path string, o *mcp.ClientOptions) *mcp.ClientSession)) {
	t.Helper()
	for _, c := range []struct {
		name, version string
		change        []func(*mcpserver.Options)
	}{
		{"2026", "", nil},
		{"2026 sessions off", "", []func(*mcpserver.Options){stateless}},
		{"2025 session", legacyVersion, nil},
		{"2025 sessions off", legacyVersion, []func(*mcpserver.Options){stateless}},
		{"2025-03", "2025-03-26", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, c.change...)
			test(t, f, func(path string, o *mcp.ClientOptions) *mcp.ClientSession {
				return f.connect(t, path, tokenAll, c.version, o)
			})
		})
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		f := newFront(t)
		test(t, f, func(path string, o *mcp.ClientOptions) *mcp.ClientSession { return f.pipe(t, path, "", o) })
	})
	t.Run("stdio 2025", func(t *testing.T) {
		t.Parallel()
		f := newFront(t)
		test(t, f, func(path string, o *mcp.ClientOptions) *mcp.ClientSession { return f.pipe(t, path, legacyVersion, o) })
	})
}

// Every path of a result keeps to the tool's output schema, and its text stands on its own.
func TestF108ResultsOverEveryTransport(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, f *front, connect func(string, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Helper()
		session := connect("/mcp", nil)
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		schemas := map[string]*jsonschema.Resolved{}
		for _, tool := range list.Tools {
			b, err := json.Marshal(tool.OutputSchema)
			if err != nil {
				t.Fatal(err)
			}
			var s jsonschema.Schema
			if err := json.Unmarshal(b, &s); err != nil {
				t.Fatal(err)
			}
			if schemas[tool.Name], err = s.Resolve(nil); err != nil {
				t.Fatal(err)
			}
		}
		f.tools.result = func(*tools.Call) tools.Result {
			return tools.Result{Structured: json.RawMessage(`{"data":{"n":1}}`)}
		}
		for name, isError := range map[string]bool{
			"echo.read": false, "thing.create": false, "thing.delete": true, "panic.read": true, "panic.write": true, "result.any": false,
		} {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"a": 1}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if res.IsError != isError {
				t.Errorf("%s: isError %v", name, res.IsError)
			}
			if err := schemas[name].Validate(res.StructuredContent); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			structured, err := json.Marshal(res.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			text, ok := res.Content[0].(*mcp.TextContent)
			if !ok || text.Text == "" {
				t.Fatalf("%s: content %v", name, res.Content)
			}
			// The text ends with the same facts.
			var same any
			if err := json.Unmarshal([]byte(text.Text[strings.Index(text.Text, "{"):]), &same); err != nil {
				t.Fatalf("%s: %v in %s", name, err, text.Text)
			}
			if again, err := json.Marshal(same); err != nil || string(again) != string(structured) {
				t.Errorf("%s: text %s, structured %s", name, again, structured)
			}
			if name == "echo.read" {
				if link, ok := res.Content[1].(*mcp.ResourceLink); !ok || link.URI != "mappy://batches/1" || link.Name == "" {
					t.Errorf("link: %+v", res.Content)
				}
			}
		}
	})
}

// F086, F089: what tools/list says, at both endpoints and in every era.
func TestToolsList(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, _ *front, connect func(string, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Helper()
		dotted, err := connect("/mcp", nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		compat, err := connect("/mcp/compat", nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"echo.read", "panic.read", "panic.write", "progress.read", "result.any", "thing.create", "thing.delete", "trace.read", "wait.long"}
		for i, list := range []*mcp.ListToolsResult{dotted, compat} {
			if list.TTLMs != 600_000 || list.CacheScope != "public" {
				t.Errorf("cache: %d %q", list.TTLMs, list.CacheScope)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				a := tool.Annotations
				if tool.Title == "" || a == nil || a.Title != tool.Title || a.DestructiveHint == nil || a.OpenWorldHint == nil {
					t.Errorf("%s: %+v", tool.Name, a)
				}
				if schema, ok := tool.InputSchema.(map[string]any); !ok || schema["type"] != "object" || schema["properties"] == nil {
					t.Errorf("%s: input schema %v", tool.Name, tool.InputSchema)
				}
				if schema, ok := tool.OutputSchema.(map[string]any); !ok || schema["type"] != "object" {
					t.Errorf("%s: output schema %v", tool.Name, tool.OutputSchema)
				}
				switch strings.ReplaceAll(tool.Name, "_", ".") {
				case "thing.delete":
					if a.ReadOnlyHint || !*a.DestructiveHint || !a.IdempotentHint || !*a.OpenWorldHint {
						t.Errorf("%+v", a)
					}
				case "echo.read":
					if !a.ReadOnlyHint || *a.DestructiveHint || !a.IdempotentHint || *a.OpenWorldHint {
						t.Errorf("%+v", a)
					}
				}
			}
			spelled := want
			if i == 1 {
				spelled = nil
				for _, n := range want {
					spelled = append(spelled, strings.ReplaceAll(n, ".", "_"))
				}
			}
			if !slices.Equal(names, spelled) {
				t.Errorf("names: %v", names)
			}
		}
	})
}

// Both spellings are accepted at both endpoints; tools see the dotted one.
func TestBothSpellings(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, f *front, connect func(string, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Helper()
		for _, path := range []string{"/mcp", "/mcp/compat"} {
			session := connect(path, nil)
			for _, name := range []string{"thing.create", "thing_create"} {
				if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name}); err != nil || res.IsError {
					t.Fatalf("%s %s: %v %+v", path, name, err, res)
				}
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "thing-create"}); err == nil {
				t.Error("an unknown name was accepted")
			}
		}
		if got := strings.Join(f.tools.called(), " "); got != "thing.create thing.create thing.create thing.create" {
			t.Errorf("%s", got)
		}
	})
}

// Read-only mode hides write tools, and says why when one is called all the same.
func TestReadOnlyHidesWriteTools(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.ReadOnly = true })
	for _, session := range []*mcp.ClientSession{f.connect(t, "/mcp", tokenAll, "", nil), f.connect(t, "/mcp", tokenAll, legacyVersion, nil), f.pipe(t, "/mcp", "", nil)} {
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s is listed", tool.Name)
			}
		}
		if len(list.Tools) != 5 {
			t.Errorf("%d tools", len(list.Tools))
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "thing.delete"})
		if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "WRITES_DISABLED") {
			t.Errorf("%v %+v", err, res)
		}
	}
}

// Progress grows strictly, and comes only to those who asked.
func TestProgress(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, _ *front, connect func(string, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Helper()
		var (
			mu  sync.Mutex
			got []float64
		)
		all := make(chan struct{})
		session := connect("/mcp", &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			if r.Params.ProgressToken != "p1" || r.Params.Total != 4 {
				t.Errorf("%+v", r.Params)
			}
			if got = append(got, r.Params.Progress); r.Params.Progress == 4 {
				close(all)
			}
		}})
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "progress.read"}); err != nil {
			t.Fatal(err)
		}
		p := &mcp.CallToolParams{Name: "progress.read", Meta: mcp.Meta{"progressToken": "p1"}}
		if _, err := session.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		await(t, all)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(got, []float64{0, 1, 3, 4}) {
			t.Errorf("%v", got)
		}
	})
}

// A call without a token gets no notification at all, not even one with a null token.
func TestNoProgressWithoutAToken(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for _, meta := range []string{``, `,"_meta":{"progressToken":null}`, `,"_meta":{"progressToken":{}}`} {
		a := f.legacy(t, tokenAll, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"progress.read"`+meta+`}}`)
		if a.status != http.StatusOK || strings.Contains(a.body, "notifications/progress") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	a := f.legacy(t, tokenAll, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"progress.read","_meta":{"progressToken":7}}}`)
	if n := strings.Count(a.body, "notifications/progress"); n != 4 || !strings.Contains(a.body, `"progressToken":7`) {
		t.Errorf("%d: %s", n, a.body)
	}
}

// Prompts and resources are per language and per reader.
func TestPromptsAndResources(t *testing.T) {
	t.Parallel()
	options := func(o *mcpserver.Options) {
		o.Prompts = []mcpserver.Prompt{{Name: "safe_write_guide", Title: "Guide", Description: "How to write safely.", Text: errs.T("先にプレビュー", "Preview first")}}
		read := func(_ context.Context, c *mcpserver.ResourceCall) (string, error) {
			switch {
			case strings.HasSuffix(c.URI, "/missing"):
				return "", errs.New(errs.BatchNotFound, errs.T("ない", "none"))
			case strings.HasSuffix(c.URI, "/broken"):
				return "", errors.New("secret cause")
			}
			return `{"user":"` + string(c.Principal.UserID) + `","uri":"` + c.URI + `"}`, nil
		}
		o.Resources = []mcpserver.Resource{
			{URI: "mappy://capabilities", Name: "capabilities", Description: "What may be done.", Read: read},
			{URI: "mappy://batches/{batch_id}", Name: "batch", Description: "One batch.", Read: read},
		}
	}
	f := newFront(t, options)
	for _, session := range []*mcp.ClientSession{f.connect(t, "/mcp", tokenOther, "", nil), f.connect(t, "/mcp", tokenOther, legacyVersion, nil)} {
		for language, want := range map[string]string{"": "Preview first", "ja": "先にプレビュー", "en": "Preview first", "xx": "Preview first"} {
			res, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "safe_write_guide", Arguments: map[string]string{"language": language}})
			if err != nil || res.Messages[0].Content.(*mcp.TextContent).Text != want {
				t.Errorf("%q: %v %+v", language, err, res)
			}
		}
		for _, uri := range []string{"mappy://capabilities", "mappy://batches/01HV"} {
			res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil || res.Contents[0].Text != `{"user":"bob","uri":"`+uri+`"}` || res.Contents[0].MIMEType != "application/json" {
				t.Fatalf("%v %+v", err, res)
			}
			if res.CacheScope != "private" || res.TTLMs != 5000 {
				t.Errorf("cache: %q %d", res.CacheScope, res.TTLMs)
			}
		}
		for uri, want := range map[string]string{"mappy://batches/missing": "not found", "mappy://elsewhere": "not found", "mappy://batches/broken": "INTERNAL"} {
			_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", uri, err)
			}
		}
	}
	if init := f.connect(t, "/mcp", tokenAll, "", nil).InitializeResult(); init.Instructions != "Preview, ask, write." || init.ServerInfo == nil || init.ServerInfo.Name != "mappy" ||
		init.Capabilities.Tools == nil || init.Capabilities.Tools.ListChanged || init.Capabilities.Prompts == nil || init.Capabilities.Resources == nil {
		t.Errorf("%+v", init)
	}
}
