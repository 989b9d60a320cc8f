//go:build interop

//nolint:staticcheck // the suite asks for what 2026-07-28 deprecates: sampling, roots, logging
package mcpserver_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// form asks a person for one required field.
func form(field, typ string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "Please say your " + field + ".", RequestedSchema: object(map[string]*jsonschema.Schema{field: {Type: typ}})}
}

// complete asks a model for one text.
func complete(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}, MaxTokens: 50}
}

// accepted is what a person filled in; nil unless they agreed.
func accepted(r mcp.InputResponseMap, key string) map[string]any {
	if e, ok := r[key].(*mcp.ElicitResult); ok && e.Action == "accept" {
		return e.Content
	}
	return nil
}

func textOf(r mcp.InputResponseMap, key string) (string, bool) {
	m, ok := r[key].(*mcp.CreateMessageWithToolsResult)
	if !ok {
		return "", false
	}
	for _, c := range m.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "no text", true
}

// ask is the answer that asks back.
func ask(state string, requests mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}
}

// registerInput adds the tools and the prompt of 2026-07-28 that ask back within their answer.
func registerInput(s *mcp.Server) {
	tool := func(kind string, run func(p *mcp.CallToolParamsRaw, c *mcp.ClientCapabilities) (*mcp.CallToolResult, error)) {
		fixture(s, "test_input_required_result_"+kind, "Asks back: "+kind+".", func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, error) {
			return run(req.Params, req.ClientCapabilities())
		})
	}
	tool("elicitation", func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
		if name, ok := accepted(p.InputResponses, "user_name")["name"].(string); ok && name != "" {
			return said("Hello, " + name + "!"), nil
		}
		return ask("", mcp.InputRequestMap{"user_name": form("name", "string")}), nil
	})
	tool("sampling", func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
		if text, ok := textOf(p.InputResponses, "capital_question"); ok {
			return said("Sampling response: " + text), nil
		}
		return ask("", mcp.InputRequestMap{"capital_question": complete("What is the capital of France?")}), nil
	})
	tool("list_roots", func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
		if r, ok := p.InputResponses["client_roots"].(*mcp.ListRootsResult); ok {
			return said(fmt.Sprintf("%d roots", len(r.Roots))), nil
		}
		return ask("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
	})
	for _, kind := range []string{"request_state", "tampered_state"} {
		tool(kind, confirmWithState)
	}
	tool("multiple_inputs", func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
		name, named := accepted(p.InputResponses, "user_name")["name"].(string)
		greeting, greeted := textOf(p.InputResponses, "greeting")
		roots, rooted := p.InputResponses["client_roots"].(*mcp.ListRootsResult)
		if named && greeted && rooted {
			return said(fmt.Sprintf("%s %s, %d roots", greeting, name, len(roots.Roots))), nil
		}
		return ask("several", mcp.InputRequestMap{
			"user_name": form("name", "string"), "greeting": complete("Generate a greeting"), "client_roots": &mcp.ListRootsParams{},
		}), nil
	})
	tool("multi_round", twoRounds)
	tool("capabilities", askWhatTheClientCan)

	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks back before it answers."},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			c, ok := accepted(req.Params.InputResponses, "user_context")["context"].(string)
			if !ok {
				return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": form("context", "string")}}, nil
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Context: " + c}}}}, nil
		})
}

// intact is a state that nobody changed on its way. The product would seal it.
const intact = "state-of-the-fixture"

func confirmWithState(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
	switch {
	case p.RequestState != "" && p.RequestState != intact:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState was tampered with"}
	case p.RequestState == intact && accepted(p.InputResponses, "confirm") != nil:
		return said("state-ok: confirmed"), nil
	}
	return ask(intact, mcp.InputRequestMap{"confirm": form("ok", "boolean")}), nil
}

func twoRounds(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
	const second = "second;"
	if name, ok := strings.CutPrefix(p.RequestState, second); ok {
		color, _ := accepted(p.InputResponses, "step2")["color"].(string)
		return said(name + " likes " + color), nil
	}
	if name, ok := accepted(p.InputResponses, "step1")["name"].(string); ok && p.RequestState == "first" {
		return ask(second+name, mcp.InputRequestMap{"step2": form("color", "string")}), nil
	}
	return ask("first", mcp.InputRequestMap{"step1": form("name", "string")}), nil
}

func askWhatTheClientCan(p *mcp.CallToolParamsRaw, c *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
	requests := mcp.InputRequestMap{}
	if c != nil && c.Elicitation != nil {
		requests["user_name"] = form("name", "string")
	}
	if c != nil && c.Sampling != nil {
		requests["greeting"] = complete("Generate a short greeting")
	}
	if c != nil && c.RootsV2 != nil {
		requests["client_roots"] = &mcp.ListRootsParams{}
	}
	if len(requests) == 0 || len(p.InputResponses) > 0 {
		return said("nothing to ask"), nil
	}
	return ask("", requests), nil
}
