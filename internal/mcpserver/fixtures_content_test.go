//go:build interop

package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A picture of one red pixel, and a sound of one sample.
const (
	pixelPNG  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silentWAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// schema2020 has what of JSON Schema 2020-12 has to reach clients untouched.
const schema2020 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"}, "email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]}, "then": {"required": ["phone"]}, "else": {"required": ["email"]},
	"additionalProperties": false
}`

func bytesOf(encoded string) []byte {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		panic(err)
	}
	return b
}

// registerContent adds what answers with media: tools, a resource and prompts.
func registerContent(s *mcp.Server) {
	text, picture := &mcp.TextContent{Text: "a text"}, &mcp.ImageContent{Data: bytesOf(pixelPNG), MIMEType: "image/png"}
	embedded := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "an embedded resource"}}
	for name, content := range map[string][]mcp.Content{
		"test_image_content":          {picture},
		"test_audio_content":          {&mcp.AudioContent{Data: bytesOf(silentWAV), MIMEType: "audio/wav"}},
		"test_embedded_resource":      {embedded},
		"test_multiple_content_types": {text, picture, embedded},
	} {
		fixture(s, name, "Answers with content.", func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	s.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema of JSON Schema 2020-12.", InputSchema: json.RawMessage(schema2020)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("called"), nil })

	s.AddResource(&mcp.Resource{Name: "static-binary", Description: "A picture.", MIMEType: "image/png", URI: "test://static-binary"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "image/png", Blob: bytesOf(pixelPNG)}}}, nil
		})

	prompt := func(name string, arguments []string, messages func(arguments map[string]string) []mcp.Content) {
		p := &mcp.Prompt{Name: name, Description: "A prompt for testing."}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "An argument.", Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			res := &mcp.GetPromptResult{Description: p.Description}
			for _, c := range messages(req.Params.Arguments) {
				res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		})
	}
	prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{&mcp.TextContent{Text: "Prompt with arguments: arg1='" + a["arg1"] + "', arg2='" + a["arg2"] + "'"}}
	})
	prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "embedded"}}, text}
	})
	prompt("test_prompt_with_image", nil, func(map[string]string) []mcp.Content { return []mcp.Content{picture, text} })
}
