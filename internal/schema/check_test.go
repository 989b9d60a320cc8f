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

type safety struct {
	DryRun bool   `json:"dry_run"`
	Token  string `json:"confirm_token"`
}

func TestCheckInto(t *testing.T) {
	t.Parallel()
	o := schema.Object{Fields: []schema.Field{
		schema.Boolean("dry_run", "d"), schema.String("confirm_token", "d"),
		schema.List("updates", "d", schema.Nested("", "d", schema.Object{Fields: []schema.Field{schema.LocationID("location_id", "d")}})),
	}}
	type update struct {
		LocationID int64 `json:"location_id"`
	}
	type rest struct {
		Updates []update `json:"updates"`
	}
	type all struct {
		safety
		Updates []*update `json:"updates,omitempty"`
	}
	if err := o.CheckInto(safety{}, &rest{}); err != nil {
		t.Error(err)
	}
	if err := o.CheckInto(all{}); err != nil {
		t.Error(err)
	}
	type mistyped struct {
		DryRun  bool   `json:"dryrun"`
		Token   int    `json:"confirm_token"`
		Updates update `json:"updates"`
	}
	err := o.CheckInto(mistyped{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"dryrun: ", "dry_run: declared, but no target", "confirm_token: a int", "updates: a "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	type deep struct {
		safety
		Updates []struct {
			Location int64 `json:"location"`
		} `json:"updates"`
	}
	if err := o.CheckInto(deep{}); err == nil || !strings.Contains(err.Error(), "updates[].location_id: declared") {
		t.Errorf("%v", err)
	}
}
