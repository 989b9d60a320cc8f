package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/tools"
)

// longestName leaves room for what clients put before a name, such as mcp__server__: model APIs allow 64 characters.
const longestName = 50

// nameShape is one or more dotted words without underscores at their edges, so that the underscore twin is a legal
// function name everywhere.
var nameShape = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*(\.[a-z][a-z0-9]*(_[a-z0-9]+)*)*$`)

// toolset is the tools as they are registered, found under both spellings.
type toolset struct {
	tools  []tools.Tool
	byName map[string]*tools.Tool
	// scopes are those of all tools, startScopes those of the tools that only read; both sorted.
	scopes, startScopes []string
}

// underscored is a name's twin for model APIs that refuse dots.
func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// spelled is the name as an endpoint lists it.
func spelled(name string, names ToolNames) string {
	if names == Underscored {
		return underscored(name)
	}
	return name
}

// newToolset checks what would make clients or model APIs drop a tool, or the whole server, and reports all of it.
func newToolset(list []tools.Tool) (*toolset, error) {
	ts := &toolset{tools: list, byName: map[string]*tools.Tool{}}
	var problems []error
	for i := range list {
		t := &list[i]
		if err := checkTool(t); err != nil {
			problems = append(problems, fmt.Errorf("tool %q: %w", t.Name, err))
		}
		for _, n := range slices.Compact([]string{t.Name, underscored(t.Name)}) {
			if other, ok := ts.byName[n]; ok {
				problems = append(problems, fmt.Errorf("tools %q and %q share the name %q", other.Name, t.Name, n))
			}
			ts.byName[n] = t
		}
		if t.Scope != "" {
			ts.scopes = append(ts.scopes, t.Scope)
			if t.ReadOnly {
				ts.startScopes = append(ts.startScopes, t.Scope)
			}
		}
	}
	for _, s := range []*[]string{&ts.scopes, &ts.startScopes} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	return ts, errors.Join(problems...)
}

func checkTool(t *tools.Tool) error {
	var problems []error
	if !nameShape.MatchString(t.Name) || len(t.Name) > longestName {
		problems = append(problems, fmt.Errorf("the name is not dotted lower-case words of at most %d characters", longestName))
	}
	if t.Title == "" || t.Description == "" {
		problems = append(problems, errors.New("title or description is missing"))
	}
	if strings.ContainsAny(t.Scope, "\" \\\r\n") {
		problems = append(problems, fmt.Errorf("scope %q cannot stand in a header", t.Scope))
	}
	if err := checkSchema(t.Input.JSONSchema()); err != nil {
		problems = append(problems, fmt.Errorf("input schema: %w", err))
	}
	if err := checkSchema(t.Output); err != nil {
		problems = append(problems, fmt.Errorf("output schema: %w", err))
	}
	return errors.Join(problems...)
}

// checkSchema refuses roots that some model APIs refuse: anything but a plain object.
func checkSchema(s *jsonschema.Schema) error {
	switch {
	case s == nil:
		return errors.New("missing")
	case s.Type != "object":
		return fmt.Errorf("the root's type is %q instead of object", s.Type)
	case len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 || s.Not != nil || s.If != nil:
		return errors.New("the root has oneOf, anyOf, allOf, not or if")
	}
	return nil
}

// register adds every tool to a server of the library under the spelling that it lists.
func (s *Server) register(srv *mcp.Server, names ToolNames) error {
	for i := range s.toolset.tools {
		t := &s.toolset.tools[i]
		input, err := schemaBytes(t.Input.JSONSchema())
		if err != nil {
			return fmt.Errorf("tool %q: input schema: %w", t.Name, err)
		}
		output, err := schemaBytes(t.Output)
		if err != nil {
			return fmt.Errorf("tool %q: output schema: %w", t.Name, err)
		}
		destructive, openWorld := t.Destructive, t.OpenWorld
		// The untyped AddTool: arguments arrive as they were sent, unvalidated, and errors stay ours.
		srv.AddTool(&mcp.Tool{
			Name: spelled(t.Name, names), Title: t.Title, Description: t.Description, InputSchema: input, OutputSchema: output,
			Annotations: &mcp.ToolAnnotations{
				Title: t.Title, ReadOnlyHint: t.ReadOnly, DestructiveHint: &destructive, IdempotentHint: t.Idempotent, OpenWorldHint: &openWorld,
			},
		}, s.toolHandler(t))
	}
	return nil
}

// schemaBytes renders a schema once. Properties are always there: some clients read null into their absence.
func schemaBytes(schema *jsonschema.Schema) (json.RawMessage, error) {
	if schema.Properties == nil {
		withProperties := *schema
		withProperties.Properties = map[string]*jsonschema.Schema{}
		schema = &withProperties
	}
	return json.Marshal(schema)
}
