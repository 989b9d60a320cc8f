package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/tools"
)

var errNotObject = errors.New("structured content is not a JSON object")

// checkResult refuses what the library could not send: it would then never answer the call.
func checkResult(r tools.Result) error {
	if b := bytes.TrimLeft(r.Structured, " \t\r\n"); len(b) == 0 || b[0] != '{' || !json.Valid(b) {
		return errNotObject
	}
	return nil
}

// wireResult is a tool's answer in the protocol's shape: the structured content, and a text block that carries the
// same for clients that show nothing else, followed by links.
func wireResult(r tools.Result) *mcp.CallToolResult {
	text := r.Text
	if text == "" {
		text = string(r.Structured)
	}
	content := make([]mcp.Content, 0, 1+len(r.Links))
	content = append(content, &mcp.TextContent{Text: text})
	for _, l := range r.Links {
		content = append(content, &mcp.ResourceLink{URI: l.URI, Name: l.Name, Description: l.Description, MIMEType: cmp.Or(l.MIMEType, "application/json")})
	}
	return &mcp.CallToolResult{Content: content, StructuredContent: r.Structured, IsError: r.IsError}
}
