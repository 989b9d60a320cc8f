package schema_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// sample has every type and the arguments whose absence decides what happens.
func sample() schema.Object {
	media := schema.List("media", "Pictures of the post.",
		schema.Nested("", "One picture.", schema.Object{Fields: []schema.Field{
			schema.URL("source_url", "Address of the picture.", schema.Required(), schema.Example("https://cdn.example.com/a.jpg")),
		}}), schema.Items(0, 10))
	post := schema.Object{Fields: []schema.Field{
		schema.Enum("topic_type", "Kind of post.", []string{"STANDARD", "EVENT", "OFFER"}, schema.Default("STANDARD")),
		schema.Text("summary", "Text of the post, at most 1,500 characters.", schema.MaxLength(1500), schema.Templated()),
		schema.Nested("call_to_action", "Button under the post.", schema.Object{Fields: []schema.Field{
			schema.Enum("action_type", "What the button does.", []string{"BOOK", "CALL"}, schema.Required()),
			schema.URL("url", "Where the button leads.", schema.Templated()),
		}}),
		schema.Nested("event", "What an event is about.", schema.Object{Fields: []schema.Field{
			schema.Text("title", "Title, at most 58 characters.", schema.SingleLine(), schema.MaxLength(58), schema.Required()),
			schema.Date("start_date", "First day.", schema.Required(), schema.Example("2026-12-01")),
			schema.TimeOfDay("start_time", "Time of day it opens."),
			schema.TimeOfDay("end_time", "Time of day it closes.", schema.Until24()),
		}}),
		media,
		schema.DateTime("scheduled_time", "When Google publishes it."),
	}}
	override := schema.Object{Fields: []schema.Field{
		schema.LocationID("location_id", "The store that differs.", schema.Required()),
		schema.Text("summary", "Text for this store, in characters.", schema.MaxLength(1500)),
	}}
	return schema.Object{Fields: []schema.Field{
		schema.List("location_ids", "Stores that get the post.", schema.LocationID("", "Id of one store.", schema.Example("8802")),
			schema.Required(), schema.Items(1, 100), schema.Unique()),
		schema.Nested("post", "What is published.", post, schema.Required()),
		schema.List("overrides", "What differs at single stores.", schema.Nested("", "One store.", override), schema.MaxItems(100)),
		schema.ID("batch_id", "Id of a batch.", schema.Example("01HV0000000000000000000000")),
		schema.String("query", "Words to look for, in characters.", schema.MaxLength(100)),
		schema.Text("comment", "Reply, at most 4,096 characters.", schema.MaxLength(4096)),
		schema.List("labels", "Labels of stores.", schema.String("", "One label.", schema.MaxLength(50)), schema.MaxItems(10)),
		schema.Integer("page_size", "Rows on a page.", 1, 200, schema.Default(50)),
		schema.Integer("offset", "Any whole number.", -1<<53, 1<<53),
		schema.Boolean("dry_run", "true: preview only.", schema.Default(false), schema.Strict()),
		schema.String("idempotency_key", "Names the intended effect.", schema.MinLength(8), schema.MaxLength(64), schema.Pattern(`^[!-~]{8,64}$`), schema.Strict()),
		schema.String("confirm_token", "Token of a preview.", schema.MaxLength(200), schema.Strict(), schema.Secret()),
	}}
}

// optional is the sample without required fields, so that one field at a time can be looked at.
func optional() schema.Object {
	o := sample()
	fields := append([]schema.Field(nil), o.Fields...)
	for i := range fields {
		fields[i].Required = false
	}
	return schema.Object{Fields: fields}
}

// decoded fails the test on any violation and returns the canonical document.
func decoded(t *testing.T, o schema.Object, in string) string {
	t.Helper()
	v, violations := o.Decode([]byte(in), errs.English)
	if len(violations) > 0 {
		t.Fatalf("%s: unexpected violations %+v", in, violations)
	}
	return string(v.Canonical())
}

// only fails the test unless there is exactly this violation, and returns it.
func only(t *testing.T, o schema.Object, in, path, rule string) errs.Violation {
	t.Helper()
	v, violations := o.Decode([]byte(in), errs.English)
	if len(violations) != 1 || violations[0].Path != path || violations[0].Rule != rule {
		t.Fatalf("%.200s: got %+v, want one violation %s at %s", in, violations, rule, path)
	}
	if string(v.Canonical()) != "{}" {
		t.Fatalf("%.200s: values despite a violation: %s", in, v.Canonical())
	}
	return violations[0]
}
