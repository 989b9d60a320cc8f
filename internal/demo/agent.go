package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// agent is a customer's agent: an MCP client that knows a URL and a token, and nothing of the server's insides.
type agent struct{ session *mcp.ClientSession }

// dial connects an agent. The protocol version is the newest that both sides speak.
func dial(ctx context.Context, endpoint, token string) (*agent, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "mappy-demo-agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearer{token}}}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	return &agent{session}, nil
}

// bearer adds the token to every request.
type bearer struct{ token string }

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func (a *agent) close() error { return a.session.Close() }

func (a *agent) protocol() string { return a.session.InitializeResult().ProtocolVersion }

// toolNames lists the tools as the server spells them.
func (a *agent) toolNames(ctx context.Context) ([]string, error) {
	list, err := a.session.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// answer is a tool's result: data, or the fields of a refusal.
type answer struct {
	errs.Public
	Data    json.RawMessage `json:"data"`
	refused bool
}

// call calls a tool. An error is one of the protocol; a refusal is an answer.
func (a *agent) call(ctx context.Context, tool string, arguments any) (answer, error) {
	res, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", tool, err)
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", tool, err)
	}
	out := answer{refused: res.IsError}
	if err := json.Unmarshal(raw, &out); err != nil {
		return answer{}, fmt.Errorf("%s: structured content: %w", tool, err)
	}
	return out, nil
}

// unexpected is a refusal where the story goes on with data.
type unexpected struct {
	tool string
	errs.Public
}

// Error implements error.
func (u *unexpected) Error() string {
	return fmt.Sprintf("%s was refused: %s: %s", u.tool, u.ErrorCode, u.Message)
}

// data calls a tool and decodes what it answers; a refusal is an error.
func data[T any](ctx context.Context, a *agent, tool string, arguments any) (v T, err error) {
	got, err := a.call(ctx, tool, arguments)
	if err != nil {
		return v, err
	}
	if got.refused {
		return v, &unexpected{tool, got.Public}
	}
	if err := json.Unmarshal(got.Data, &v); err != nil {
		return v, fmt.Errorf("%s: data: %w", tool, err)
	}
	return v, nil
}

// pretty is arguments as people read them: indented, lists of numbers on one line.
func pretty(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	return string(numbers.ReplaceAllFunc(bytes.TrimSpace(b.Bytes()), func(list []byte) []byte {
		return bytes.ReplaceAll(bytes.Join(bytes.Fields(list), nil), []byte(","), []byte(", "))
	})), nil
}
