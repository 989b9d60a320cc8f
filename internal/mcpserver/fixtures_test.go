//go:build interop

package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// fixtures are what the conformance suite calls by name. What this package can express goes through Options, and so
// through its own results, errors, progress, prompts and resources; the rest is registered at the library's server by
// registerContent and registerInput, behind the same front and middleware.
type fixtures struct{}

func (fixtures) List() []tools.Tool {
	tool := func(name, description string) tools.Tool {
		return tools.Tool{Name: name, Title: "Fixture " + name, Description: description, ReadOnly: true, Idempotent: true, Output: outputSchema()}
	}
	return []tools.Tool{
		tool("test_simple_text", "Answers with one text."),
		tool("test_error_handling", "Answers with an error."),
		tool("test_tool_with_progress", "Reports progress 0, 50, 100."),
	}
}

func (fixtures) Call(_ context.Context, name string, call *tools.Call) tools.Result {
	switch name {
	case "test_error_handling":
		e := errs.New(errs.WritesDisabled, errs.T("停止中", "stopped")).Public(call.Principal.Locale, call.RequestID)
		b, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		return tools.Result{Structured: b, Text: string(b), IsError: true}
	case "test_tool_with_progress":
		for _, done := range []int{0, 50, 100} {
			call.Progress(done, 100, "Completed some of it.")
		}
	}
	return tools.Result{Structured: json.RawMessage(`{"data":{}}`), Text: "This is a simple text response for testing."}
}

// newFixtures is a front with everything that the suite asks for; requests get their token on the way, because the suite
// cannot send one.
func newFixtures(t *testing.T) *front {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	f := newPipes(t, func(o *mcpserver.Options) {
		o.PublicURL = "http://" + srv.Listener.Addr().String()
		o.Tools = fixtures{}
		o.Prompts = []mcpserver.Prompt{{Name: "test_simple_prompt", Description: "A prompt without arguments.", Text: errs.T("試験", "This is a simple prompt for testing.")}}
		o.Resources = []mcpserver.Resource{
			{URI: "test://static-text", Name: "static-text", Description: "A text.", MIMEType: "text/plain", Read: func(context.Context, *mcpserver.ResourceCall) (string, error) {
				return "This is the content of the static text resource.", nil
			}},
			{URI: "test://template/{id}/data", Name: "template", Description: "A template.", Read: readTemplate},
			{URI: "test://watched-resource", Name: "watched-resource", Description: "Can be watched.", MIMEType: "text/plain", Read: func(context.Context, *mcpserver.ResourceCall) (string, error) {
				return "watched", nil
			}},
		}
	})
	err := f.mcp.Extend(func(o *mcp.ServerOptions) {
		o.Capabilities = nil // the library's own: everything, with notices of changed lists
		o.CompletionHandler = func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		}
		o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
		o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	}, func(s *mcp.Server) {
		registerContent(s)
		registerInput(s)
		registerAsking(s)
		registerDiagnostics(s)
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := f.mcp.Handler()
	srv.Config = mcpserver.HTTPServer("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+tokenAll)
		handler.ServeHTTP(w, r)
	}))
	f.start(t, srv)
	return f
}

func readTemplate(_ context.Context, c *mcpserver.ResourceCall) (string, error) {
	u, err := url.Parse(c.URI)
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	b, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
	return string(b), err
}

// said is a result of one text.
func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// object is a schema with these properties, all of them required.
func object(properties map[string]*jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: properties}
	for name := range properties {
		s.Required = append(s.Required, name)
	}
	return s
}

// fixture registers a tool that the library serves by itself.
func fixture[In any](s *mcp.Server, name, description string, run func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		res, err := run(ctx, req, in)
		return res, nil, err
	})
}
