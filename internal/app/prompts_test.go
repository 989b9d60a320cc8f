package app_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// named finds what looks like a tool in a text for models.
var named = regexp.MustCompile(`\b(location|post|review|media|batch|limits|report|audit)\.[a-z_]+\b`)

// The texts for models and people as they are served, in both languages; they name only tools that exist.
func TestPromptsAndInstructions(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1})
	c := connect(t, s, nil)
	var tools []string
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool.Name)
	}
	var all strings.Builder
	all.WriteString("# instructions\n" + c.InitializeResult().Instructions + "\n")
	list, err := c.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Prompts {
		for _, language := range []string{"en", "ja"} {
			res, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"language": language}})
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString("\n# " + p.Name + " " + language + ": " + p.Description + "\n" + res.Messages[0].Content.(*mcp.TextContent).Text + "\n")
		}
	}
	for _, name := range named.FindAllString(all.String(), -1) {
		if !slices.Contains(tools, name) {
			t.Errorf("there is no tool %s", name)
		}
	}
	golden.Compare(t, "testdata/prompts.golden", all.String())
}

// The resource says what limits.get says.
func TestCapabilitiesResource(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1})
	res, err := connect(t, s, nil).ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "mappy://capabilities"})
	if err != nil {
		t.Fatal(err)
	}
	text := res.Contents[0].Text
	for _, want := range []string{`"post.create"`, `"limits"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing: %s", want, text)
		}
	}
}
