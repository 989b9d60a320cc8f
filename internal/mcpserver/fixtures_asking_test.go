//go:build interop

//nolint:staticcheck // the suite asks for what 2026-07-28 deprecates: sampling, roots, logging
package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// registerAsking adds the tools of 2025-11-25 that send requests and logs to the client while they run.
func registerAsking(s *mcp.Server) {
	type prompt struct {
		Prompt string `json:"prompt"`
	}
	fixture(s, "test_sampling", "Asks the client's model.", func(ctx context.Context, req *mcp.CallToolRequest, in prompt) (*mcp.CallToolResult, error) {
		res, err := req.Session.CreateMessage(ctx, complete(in.Prompt))
		if err != nil {
			return nil, err
		}
		text, ok := res.Content.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("the model answered with %T", res.Content)
		}
		return said("LLM response: " + text.Text), nil
	})
	elicit := func(name string, schema func() *jsonschema.Schema) {
		fixture(s, name, "Asks the person.", func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, error) {
			res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Please say.", RequestedSchema: schema()})
			if err != nil {
				return nil, err
			}
			return said(fmt.Sprintf("Elicitation result: action=%s, content=%v", res.Action, res.Content)), nil
		})
	}
	elicit("test_elicitation", func() *jsonschema.Schema {
		return object(map[string]*jsonschema.Schema{"username": {Type: "string", Description: "Your name."}})
	})
	elicit("test_elicitation_sep1034_defaults", schemaOf(`{"type": "object", "properties": {
		"name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5},
		"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, "verified": {"type": "boolean", "default": true}}}`))
	elicit("test_elicitation_sep1330_enums", schemaOf(`{"type": "object", "properties": {
		"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
		"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}, {"const": "value3", "title": "Third"}]},
		"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
		"untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
		"titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {
			"anyOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}, {"const": "value3", "title": "Third"}]}}}}`))

	fixture(s, "test_tool_with_logging", "Logs three times.", func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, error) {
		for _, step := range []string{"started", "processing", "completed"} {
			logLine(ctx, req, step)
		}
		return said("logged"), nil
	})
	fixture(s, "test_reconnection", "Cuts its own stream, and answers on the one that the client opens next.", func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		return said("answered after the cut"), nil
	})
}

func logLine(ctx context.Context, req *mcp.CallToolRequest, line string) {
	_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line})
}

func schemaOf(text string) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
		return &s
	}
}

// registerDiagnostics adds the tools with which the suite looks at 2026-07-28's own rules.
func registerDiagnostics(s *mcp.Server) {
	fixture(s, "test_missing_capability", "Needs sampling.", func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, error) {
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			return said("it is there"), nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client cannot sample", Data: data}
	})
	fixture(s, "test_streaming_elicitation", "Answers without asking.", func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, error) {
		return said("nothing but an answer"), nil
	})
	fixture(s, "test_logging_tool", "Logs once.", func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, error) {
		logLine(ctx, req, "logged")
		return said("logged if you asked for it"), nil
	})
	s.AddTool(&mcp.Tool{Name: "test_x_mcp_header", Description: "Has an argument that a header repeats.", InputSchema: json.RawMessage(
		`{"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("called"), nil })
	fixture(s, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, error) {
		fixture(s, "passing_tool", "Comes and goes.", func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, error) {
			return said("hello"), nil
		})
		return said("changed"), nil
	})
	fixture(s, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, error) {
		s.AddPrompt(&mcp.Prompt{Name: "passing_prompt", Description: "Comes and goes."}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		return said("changed"), nil
	})
}
