//go:build interop

package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/npm"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// Protocol revisions: what clients of 2025 speak, and what those speak that ask for more.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// client is one way to run play.mjs; the fields with JSON names are its argument.
type client struct {
	name, protocol string
	exposes        exposure
	compat         bool // at /mcp/compat

	Client string          `json:"client"`
	URL    string          `json:"url"`
	Mode   json.RawMessage `json:"mode,omitempty"` // SDK 2's versionNegotiation, "auto" or {"pin": revision}; "strict" for agents
	Key    string          `json:"key"`
	// Underscored: the client's host calls post_create.
	Underscored bool `json:"underscored"`
}

// clients are all clients, each as its hosts would use it: where names go to a model API unchanged, at /mcp/compat.
func clients() []client {
	auto, pin := json.RawMessage(`"auto"`), json.RawMessage(`{"pin":"`+modern+`"}`)
	return []client{
		{name: "sdk 1", Client: "./sdk1.mjs", protocol: legacy, exposes: everything},
		{name: "sdk 1 compat", Client: "./sdk1.mjs", protocol: legacy, exposes: everything, compat: true, Underscored: true},
		{name: "sdk 2 default", Client: "./sdk2.mjs", protocol: legacy, exposes: everything},
		{name: "sdk 2 auto", Client: "./sdk2.mjs", Mode: auto, protocol: modern, exposes: everything},
		{name: "sdk 2 pinned compat", Client: "./sdk2.mjs", Mode: pin, protocol: modern, exposes: everything, compat: true, Underscored: true},
		{name: "ai sdk", Client: "./aisdk.mjs", protocol: modern, exposes: everything, compat: true, Underscored: true},
		// Errors are exceptions with the text, and arguments that do not fit the schema are not sent.
		{name: "langchain", Client: "./langchain.mjs", protocol: legacy, exposes: exposure{Structured: true, Flag: true, Mistakes: false}, compat: true, Underscored: true},
		// It takes the dots out of names by itself, and hands on text alone.
		{name: "openai agents", Client: "./agents.mjs", protocol: modern, exposes: exposure{Mistakes: true}, Underscored: true},
		{name: "openai agents strict", Client: "./agents.mjs", Mode: json.RawMessage(`"strict"`), protocol: modern, exposes: exposure{Mistakes: true}, Underscored: true},
		{name: "mcp-remote", Client: "./bridge.mjs", protocol: legacy, exposes: everything},
		{name: "mcp-remote auto", Client: "./bridge.mjs", Mode: auto, protocol: modern, exposes: everything},
	}
}

// exposure is what a client hands on of a result beside its text.
type exposure struct {
	// Structured and StructuredErrors tell whether structuredContent arrives, and also with an error; Flag, whether isError does.
	Structured, StructuredErrors, Flag bool
	// Mistakes tells whether arguments that the schema forbids reach the server, so that its words about them reach the model.
	Mistakes bool
}

func (e exposure) String() string {
	words := []string{"text"}
	for _, w := range []struct {
		word string
		on   bool
	}{{"structure", e.Structured}, {"structure of errors", e.StructuredErrors}, {"isError", e.Flag}, {"the server's view of mistakes", e.Mistakes}} {
		if w.on {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// everything is what a client hands on that hides nothing.
var everything = exposure{true, true, true, true}

func (got transcript) exposes() exposure {
	return exposure{
		Structured: len(got.Accepted.StructuredContent) > 0, StructuredErrors: len(got.Refused.StructuredContent) > 0,
		Flag: got.Refused.IsError, Mistakes: !got.Invalid.Unsent,
	}
}

// play runs the story in a process of its own.
func (c client) play(t *testing.T, b *npm.Box, s *stack.Stack) (got transcript) {
	t.Helper()
	c.URL, c.Key = s.URL+"/mcp", "interop-story-1"
	if c.compat {
		c.URL += "/compat"
	}
	argument, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	r := b.Run(t, []string{"MAPPY_TOKEN=" + s.Token}, "play.mjs", string(argument))
	if r.Code != 0 {
		t.Fatalf("play.mjs: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatalf("play.mjs: %v\n%s", err, r.Stdout)
	}
	return got
}
