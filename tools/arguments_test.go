package tools_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// parsing admits nothing: it keeps what a write tool says of its arguments.
type parsing struct{ violations []errs.Violation }

func (p *parsing) Admit(_ context.Context, c *admission.Call) (*admission.Answer, error) {
	_, _, p.violations = c.Operation.Parse(c.Arguments, errs.English)
	return nil, errs.New(errs.InsufficientScope, errs.T("ここまで", "as far as this"))
}

type (
	unrecorded struct{ tools.Store }
	unlimited  struct{ admission.Limiter }
)

func (unrecorded) Record(context.Context, authn.TenantID, ...audit.Event) error { return nil }

func (unlimited) Take(context.Context, []ratelimit.Bucket, string) ([]ratelimit.State, error) {
	return nil, nil
}

// Every declaration is sound, and every argument that it declares has its place in what the tool works with. Nobody holds a
// scope here, so that reads end once their arguments are read.
func TestEveryArgumentArrives(t *testing.T) {
	t.Parallel()
	parsed := &parsing{}
	s, err := tools.NewSet(tools.Deps{
		Admission: parsed, Store: unrecorded{}, Limiter: unlimited{}, Environment: "simulator", Now: time.Now, NewID: func() string { return "" }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range s.List() {
		if err := x.Input.Check(); err != nil {
			t.Errorf("%s: %v", x.Name, err)
		}
		all, err := json.Marshal(everything(x.Input))
		if err != nil {
			t.Fatal(err)
		}
		if _, violations := x.Input.Decode(all, errs.English); len(violations) > 0 {
			t.Fatalf("%s: the test's arguments are wrong: %+v", x.Name, violations)
		}
		r := s.Call(t.Context(), x.Name, &tools.Call{Principal: &authn.Principal{Locale: errs.English}, Arguments: all})
		if !strings.Contains(string(r.Structured), `"error_code":"INSUFFICIENT_SCOPE"`) {
			t.Errorf("%s: %s", x.Name, r.Text)
		}
		if i := slices.IndexFunc(parsed.violations, func(v errs.Violation) bool { return v.Rule == schema.RuleType }); i >= 0 { // other rules are of the business
			t.Errorf("%s: %s", x.Name, parsed.violations[i].Message)
		}
		parsed.violations = nil
	}
}

// everything are arguments with a value for each declared field at every depth.
func everything(o schema.Object) map[string]any {
	all := map[string]any{}
	for _, f := range o.Fields {
		all[f.Name] = someValue(f)
	}
	return all
}

func someValue(f schema.Field) any {
	switch f.Type {
	case schema.TypeObject:
		return everything(*f.Object)
	case schema.TypeList:
		return []any{someValue(*f.Items)}
	case schema.TypeBoolean:
		return true
	case schema.TypeInteger, schema.TypeLocationID:
		return max(*f.Min, 1)
	}
	switch {
	case f.Example != "":
		return f.Example
	case len(f.Enum) > 0:
		return f.Enum[0]
	}
	return map[schema.Type]string{
		schema.TypeDate: "2026-12-01", schema.TypeTimeOfDay: "10:00", schema.TypeDateTime: "2026-12-01T10:00:00Z", schema.TypeURL: "https://www.example.com/",
		schema.TypeString: "something", schema.TypeText: "something", schema.TypeID: "something",
	}[f.Type]
}
