package tools_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
	"github.com/mappy-dev/mappy-mcp/tools"
)

func set(t *testing.T) *tools.Set {
	t.Helper()
	s, err := tools.NewSet(tools.Deps{Environment: "simulator", Now: time.Now, NewID: func() string { return "" }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The contract of each tool as a file, so that a changed word in a description or schema shows in review.
func TestGolden(t *testing.T) {
	type annotations struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
		Idempotent  bool `json:"idempotentHint"`
		OpenWorld   bool `json:"openWorldHint"`
	}
	type contract struct {
		Name         string             `json:"name"`
		Title        string             `json:"title"`
		Scope        string             `json:"scope"`
		Description  string             `json:"description"`
		Annotations  annotations        `json:"annotations"`
		InputSchema  *jsonschema.Schema `json:"inputSchema"`
		OutputSchema *jsonschema.Schema `json:"outputSchema"`
	}
	known := map[string]bool{}
	for _, x := range set(t).List() {
		c := contract{x.Name, x.Title, x.Scope, x.Description, annotations{x.ReadOnly, x.Destructive, x.Idempotent, x.OpenWorld}, x.Input.JSONSchema(), x.Output}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(c); err != nil {
			t.Fatal(err)
		}
		known[x.Name+".golden.json"] = true
		golden.Compare(t, filepath.Join("testdata", x.Name+".golden.json"), b.String())
	}
	files, err := fs.Glob(os.DirFS("testdata"), "*.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f] {
			t.Errorf("testdata/%s belongs to no tool", f)
		}
	}
}

// The list is the same on every call and process: clients cache it, and models are sensitive to its order.
func TestListIsDeterministic(t *testing.T) {
	var first []string
	for range 3 {
		var names []string
		for _, x := range set(t).List() {
			names = append(names, x.Name)
		}
		if first == nil {
			first = names
		}
		if !slices.Equal(first, names) {
			t.Fatalf("%v, then %v", first, names)
		}
	}
}

// F086, F087, F089: names and schemas that every client and model API takes.
func TestF086ListCompatibility(t *testing.T) {
	compat := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	seen := map[string]bool{}
	for _, x := range set(t).List() {
		underscored := strings.ReplaceAll(x.Name, ".", "_")
		if !compat.MatchString(underscored) || len(x.Name) > 40 || seen[strings.ToLower(underscored)] {
			t.Errorf("F086 %s: the name is not usable, or taken", x.Name)
		}
		seen[strings.ToLower(underscored)] = true
		if x.Title == "" || utf8.RuneCountInString(x.Title) > 60 || (x.Scope == "") != continues(x.Name) {
			t.Errorf("%s: title %q, scope %q", x.Name, x.Title, x.Scope)
		}
		for kind, s := range map[string]*jsonschema.Schema{"input": x.Input.JSONSchema(), "output": x.Output} {
			checkRoot(t, x.Name+" "+kind, s)
			walk(t, x.Name+" "+kind, s)
		}
		if x.ReadOnly && x.Destructive {
			t.Errorf("F089 %s: read-only and destructive", x.Name)
		}
		if strings.Contains(x.Name, ".delete") && !x.Destructive {
			t.Errorf("F089 %s: a deletion is destructive", x.Name)
		}
		if write := !x.ReadOnly; !continues(x.Name) && write != (strings.HasSuffix(x.Scope, ":write") || strings.HasSuffix(x.Scope, ":delete") || strings.HasSuffix(x.Scope, ":create") || strings.HasSuffix(x.Scope, ":cancel")) {
			t.Errorf("F089 %s: read-only is %v with the scope %s", x.Name, x.ReadOnly, x.Scope)
		}
	}
}

// continues tells which tools need the scope of what they turn out to do.
func continues(tool string) bool { return tool == "batch.retry" || tool == "batch.undo" }

// open are the parts of outputs whose form depends on the operation or on the code.
var open = regexp.MustCompile(`output\.(details|data\.changes\[\]\.(before|after|sent)|data\.events\[\])$`)

func checkRoot(t *testing.T, at string, s *jsonschema.Schema) {
	t.Helper()
	if s == nil || s.Type != "object" {
		t.Errorf("F087 %s: the root is no object", at)
		return
	}
	if len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 || s.If != nil || s.Not != nil {
		t.Errorf("F087 %s: the root has a combinator", at)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte(`"$ref"`)) || bytes.Contains(raw, []byte(`"type":[`)) {
		t.Errorf("F087 %s: references or type arrays in %s", at, raw)
	}
	if _, err := s.Resolve(nil); err != nil {
		t.Errorf("%s: %v", at, err)
	}
}

// walk checks every depth: closed objects, no type arrays, described properties.
func walk(t *testing.T, at string, s *jsonschema.Schema) {
	t.Helper()
	if len(s.Types) > 0 || s.Type == "" {
		t.Errorf("%s: type %q, types %v", at, s.Type, s.Types)
	}
	if s.Type == "object" && !open.MatchString(at) && (s.AdditionalProperties == nil || s.AdditionalProperties.Not == nil) {
		t.Errorf("%s: the object is open", at)
	}
	for name, p := range s.Properties {
		here := at + "." + name
		if n := utf8.RuneCountInString(p.Description); n < 3 || n > 400 {
			t.Errorf("%s: description of %d characters", here, n)
		}
		if strings.HasSuffix(name, "_id") && name != "location_id" && p.Type != "string" {
			t.Errorf("F096 %s: an id is a string, this is %s", here, p.Type)
		}
		walk(t, here, p)
	}
	if s.Items != nil {
		walk(t, at+"[]", s.Items)
	}
}

// A reader of description and schema alone has to be able to predict the effect.
func TestDescriptions(t *testing.T) {
	hype := regexp.MustCompile(`(?i)\b(manage|seamless|powerful|easily|leverage|effortless|smart|sync)\b`)
	for _, x := range set(t).List() {
		d := x.Description
		if n := utf8.RuneCountInString(d); n < 80 || n > 1400 {
			t.Errorf("%s: description of %d characters", x.Name, n)
		}
		if m := hype.FindString(d); m != "" {
			t.Errorf("%s: %q says nothing", x.Name, m)
		}
		needs := map[string]string{"says that it changes nothing": `Changes nothing`}
		if !x.ReadOnly {
			needs = map[string]string{
				"names the environment":      `environment: simulator`,
				"names the target system":    `Google`,
				"says what becomes of it":    `(?i)publish|cancel|changes|takes|sends|restores|deletes|answers|adds`,
				"says how it is taken back":  `(?i)cannot be|can be deleted|batch\.undo|be undone`,
				"says what needs agreement":  `(?i)confirm`,
				"says how much is affected":  `(?i)store|whole|one`,
				"says when it becomes true":  `(?i)visible|before it is sent|within minutes|minutes to days`,
				"tells of repeating a call ": `(?i)idempotency_key|twice`,
			}
		}
		for what, expr := range needs {
			if !regexp.MustCompile(expr).MatchString(d) {
				t.Errorf("%s: the description never %s: %s", x.Name, what, d)
			}
		}
	}
}

// What decides about safety is spelled the same in every write tool, and identity is never an argument.
func TestSafetyArguments(t *testing.T) {
	for _, x := range set(t).List() {
		s := x.Input.JSONSchema()
		for _, name := range []string{"tenant", "tenant_id", "user", "user_id", "role", "admin", "approved", "environment", "method", "action", "force"} {
			if s.Properties[name] != nil {
				t.Errorf("%s takes %q", x.Name, name)
			}
		}
		if x.ReadOnly || x.Name == "batch.cancel" {
			continue
		}
		want := map[string]string{"dry_run": "boolean", "idempotency_key": "string", "confirm_token": "string", "wait_seconds": "integer", "on_failure": "string"}
		if s.Properties["review_id"] != nil { // one target: nothing is left to stop
			delete(want, "on_failure")
		}
		if x.Name == "report.create" { // a preview would cost the same
			delete(want, "dry_run")
			if s.Properties["dry_run"] != nil {
				t.Errorf("%s takes dry_run", x.Name)
			}
		}
		for name, want := range want {
			if p := s.Properties[name]; p == nil || p.Type != want {
				t.Errorf("%s: %s is %v", x.Name, name, p)
			}
		}
		if d := s.Properties["dry_run"]; d != nil && string(d.Default) != "false" {
			t.Errorf("%s: dry_run defaults to %s", x.Name, d.Default)
		}
	}
}
