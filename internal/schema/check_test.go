package schema_test

import (
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	if err := sample().Check(); err != nil {
		t.Errorf("the sample is sound, yet: %v", err)
	}
	for want, f := range map[string]schema.Field{
		"snake_case":              schema.Boolean("dryRun", "d"),
		"a: no description":       schema.Boolean("a", " "),
		"a: no MaxLength":         schema.String("a", "d"),
		"a: no MaxItems":          schema.List("a", "d", schema.Boolean("", "d")),
		"a[]: no MaxLength":       schema.List("a", "d", schema.String("", "d"), schema.MaxItems(1)),
		"a.b: no description":     schema.Nested("a", "d", schema.Object{Fields: []schema.Field{schema.Boolean("b", "")}}),
		"yet with a default":      schema.Boolean("a", "d", schema.Required(), schema.Default(true)),
		"default: value: Use one": schema.Enum("a", "d", []string{"x"}, schema.Default("y")),
		"default: value: Must be": schema.Integer("a", "d", 1, 5, schema.Default(6)),
		"example: value: Write a": schema.Date("a", "d", schema.Example("2026-02-30")),
		"lower bound exceeds":     schema.Integer("a", "d", 2, 1),
	} {
		err := schema.Object{Fields: []schema.Field{f}}.Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	twins := schema.Object{Fields: []schema.Field{schema.Boolean("dry_run", "d"), schema.Boolean("dryrun", "d")}}
	if err := twins.Check(); err == nil || !strings.Contains(err.Error(), "nearly the same name") {
		t.Errorf("twins: %v", err)
	}
}
