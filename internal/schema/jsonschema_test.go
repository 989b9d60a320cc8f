package schema_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/schema"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
)

func TestF089NoArguments(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(schema.Object{}.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"object","properties":{},"additionalProperties":false}`; string(got) != want {
		t.Errorf("got %s", got)
	}
	if got := decoded(t, schema.Object{}, `{}`); got != `{}` {
		t.Errorf("got %s", got)
	}
	v := only(t, schema.Object{}, `{"a":1}`, "a", schema.RuleUnknown)
	if !strings.Contains(v.Message, "none are taken") {
		t.Errorf("message %q", v.Message)
	}
}

// The golden file shows in review what clients will read.
func TestJSONSchemaGolden(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(sample().JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, raw, "", "  "); err != nil { // keeps the order of members
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden.Compare(t, "testdata/sample.schema.json", got.String())
}

func TestF087SchemaHasPlainShape(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(sample().JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	walkSchema(t, "$", raw)
	if _, err := sample().JSONSchema().Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		t.Error(err)
	}
}

// walkSchema looks at the JSON, as a client does.
func walkSchema(t *testing.T, path string, raw json.RawMessage) {
	t.Helper()
	var s map[string]json.RawMessage
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf", "not", "if", "$ref", "$schema", "$defs"} {
		if _, ok := s[word]; ok {
			t.Errorf("%s has %s", path, word)
		}
	}
	var typ string
	if err := json.Unmarshal(s["type"], &typ); err != nil {
		t.Fatalf("%s: type is %s", path, s["type"])
	}
	if path != "$" && !strings.HasSuffix(path, "data") && len(s["description"]) < 4 {
		t.Errorf("%s: no description", path)
	}
	switch typ {
	case "object":
		if string(s["additionalProperties"]) != "false" {
			t.Errorf("%s is not closed", path)
		}
		var properties map[string]json.RawMessage
		if err := json.Unmarshal(s["properties"], &properties); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for name, p := range properties {
			walkSchema(t, path+"."+name, p)
		}
	case "array":
		var items map[string]json.RawMessage
		if err := json.Unmarshal(s["items"], &items); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if _, described := items["description"]; !described {
			items["description"] = json.RawMessage(`"an element"`)
		}
		raw, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		walkSchema(t, path+"[]", raw)
	}
}

func TestDeclarationOrderIsKept(t *testing.T) {
	t.Parallel()
	o := schema.Object{Fields: []schema.Field{
		schema.Boolean("zebra", "z"), schema.Boolean("apple", "a"), schema.Boolean("mango", "m"),
	}}
	raw, err := json.Marshal(o.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	at := []int{bytes.Index(raw, []byte("zebra")), bytes.Index(raw, []byte("apple")), bytes.Index(raw, []byte("mango"))}
	if !slices.IsSorted(at) || at[0] < 0 {
		t.Errorf("%s", raw)
	}
	if got := decoded(t, o, `{"mango":true,"apple":true,"zebra":false}`); got != `{"zebra":false,"apple":true,"mango":true}` {
		t.Errorf("got %s", got)
	}
}
