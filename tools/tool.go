// Package tools holds the MCP tools of the product, one file per tool: name, words, shape of arguments and result,
// scope, hints, and the strict reading of arguments into a typed change or query.
//
// (In Go, "tools" often means development tools; here it is MCP's word.)
//
// A tool knows nothing of MCP's wire format, SQL or Google: it is handed narrow interfaces ([Deps]) and answers with a
// [Result]. Package internal/mcpserver puts it on the wire.
package tools

import (
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// Tool is one MCP tool.
type Tool struct {
	// Name is dotted, "post.create"; the underscore twin is made by the front door.
	Name  string
	Title string
	// Description is the operating contract: target system, effect, visibility, confirmation.
	Description string
	// Scope is what a token needs to call it.
	Scope string
	// ReadOnly, Destructive and Idempotent are the MCP hints; OpenWorld is true for every tool that reaches Google.
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	Input                                        schema.Object
	// Output is the schema of Result.Structured, for success and error alike.
	Output *jsonschema.Schema

	run func(ctx context.Context, call *Call) (Result, error)
}

// Call is one invocation by an authenticated caller.
type Call struct {
	Principal *authn.Principal
	RequestID string
	// Arguments are the raw bytes of params.arguments, null or empty when absent.
	Arguments json.RawMessage
	// Progress reports to a client that asked for it; never nil.
	Progress func(done, total int, message string)
}

// Result is a tool's answer.
type Result struct {
	// Structured is {"data": ...} or the error fields, valid against the tool's Output.
	Structured json.RawMessage
	// Text stands on its own: clients exist that show nothing else.
	Text    string
	IsError bool
	Links   []Link
}

// Link points a client to a resource such as mappy://batches/{batch_id}. MIMEType is application/json when empty.
type Link struct{ URI, Name, Description, MIMEType string }
