package cli_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/cli"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// terminal runs commands as an operator does, against a stack.
type terminal struct {
	t   *testing.T
	env map[string]string
	in  string // what is typed
}

func newTerminal(t *testing.T, s *stack.Stack) *terminal {
	t.Helper()
	c := s.Config
	return &terminal{t: t, env: map[string]string{
		"MAPPY_DATABASE_URL": c.DatabaseURL, "MAPPY_OWNER_DATABASE_URL": s.DB.OwnerURL(), "MAPPY_REDIS_URL": c.RedisURL, "MAPPY_ENVIRONMENT": c.Environment,
		"MAPPY_GOOGLE_BASE_URL": c.GoogleBaseURL, "MAPPY_GOOGLE_CLIENT_ID": c.GoogleClientID, "MAPPY_GOOGLE_CLIENT_SECRET": c.GoogleClientSecret,
		"MAPPY_KEYRING_B64": c.KeyringB64, "MAPPY_LOG_LEVEL": "error",
	}}
}

func (x *terminal) run(args ...string) (code int, out, errOut string) {
	x.t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(x.t.Context(), args, cli.Env{In: strings.NewReader(x.in), Out: &o, Err: &e, Lookup: func(k string) (string, bool) { v, ok := x.env[k]; return v, ok }})
	return code, o.String(), e.String()
}

func (x *terminal) must(args ...string) string {
	x.t.Helper()
	code, out, errOut := x.run(args...)
	if code != 0 {
		x.t.Fatalf("%v: exit %d\n%s%s", args, code, out, errOut)
	}
	return out
}

const declaration = `
tenants:
  - id: bakery
    name: Bakery
    locale: en
    timezone: Asia/Tokyo
    policy: {confirm_at: {post.create: 2}}
    users: [{id: taro, email: taro@bakery.example, grants: {labels: [tokyo]}}]
    clients: [{id: agent, name: Agent}]
    tokens: [{id: main, client: agent, user: taro, scopes: ["posts:write", "locations:read", "batches:read"], value_from: {env: BAKERY_TOKEN}}]
    connections: [{id: google, google_email: owner@komorebi-coffee.example, refresh_token_from: {env: BAKERY_REFRESH}}]
`

// What operators' scripts read: the JSON of every command, as the set of its keys.
func TestCommandsAndTheirJSON(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, Policy: stack.Roomy})
	x := newTerminal(t, s)
	file := filepath.Join(t.TempDir(), "apply.yaml")
	if err := os.WriteFile(file, []byte(declaration), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := x.run("apply", "-f", file); code != 2 || !strings.Contains(errOut, "BAKERY_TOKEN") {
		t.Fatalf("a missing secret is not named: %d %s", code, errOut)
	}
	x.env["BAKERY_TOKEN"], x.env["BAKERY_REFRESH"] = authn.NewToken("simulator"), gbpsim.DemoRefreshToken
	x.env["MAPPY_TOKEN"] = s.Token
	apply := x.must("apply", "-f", file, "--output", "json")
	if again := x.must("apply", "-f", file, "--output", "json"); again != apply {
		t.Fatalf("applying twice differs:\n%s%s", apply, again)
	}
	b := s.Accept("post.create", stack.Post(s.IDs(1), "Fresh rolls"))
	s.Finish(string(b.BatchID))

	shapes := map[string]string{"apply": shape(t, apply)}
	switchOn := []string{"kill", "on", "--kind", "tool", "--target", "post.create", "--reason", "drill"}
	for _, c := range []struct {
		name   string
		args   []string
		before []string // run before each print: what the command needs to find
	}{
		{name: "token create", args: []string{"token", "create", "--client", "agent", "--user", "taro"}},
		{name: "token list", args: []string{"token", "list"}},
		{name: "location sync", args: []string{"location", "sync"}},
		{name: "location list", args: []string{"location", "list"}}, // what the sync brought
		{name: "batch list", args: []string{"batch", "list", "--tenant", string(stack.Tenant)}},
		{name: "batch show", args: []string{"batch", "show", string(b.BatchID), "--tenant", string(stack.Tenant)}},
		{name: "batch undo, preview", args: []string{"batch", "undo", string(b.BatchID), "--dry-run", "--tenant", string(stack.Tenant)}},
		{name: "audit list", args: []string{"audit", "list", "--limit", "1", "--event", "batch_finished", "--tenant", string(stack.Tenant)}},
		{name: "audit verify", args: []string{"audit", "verify"}},
		{name: "kill on", args: switchOn},
		{name: "kill status", args: []string{"kill", "status"}, before: switchOn},
		{name: "kill off", args: []string{"kill", "off", "--kind", "tool", "--target", "post.create"}, before: switchOn},
		{name: "policy show", args: []string{"policy", "show"}},
		{name: "migrate status", args: []string{"migrate", "status"}},
		{name: "doctor", args: []string{"doctor"}},
	} {
		run := func(args ...string) string {
			if !slices.Contains(args, "--tenant") {
				args = append(slices.Clone(args), "--tenant", "bakery")
			}
			return x.must(args...)
		}
		if c.before != nil {
			run(c.before...)
		}
		if strings.TrimSpace(run(c.args...)) == "" {
			t.Errorf("%s prints nothing for people", c.name)
		}
		if c.before != nil {
			run(c.before...)
		}
		shapes[c.name] = shape(t, run(append(slices.Clone(c.args), "--output", "json")...))
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		text.WriteString(name + ": " + shapes[name] + "\n")
	}
	golden.Compare(t, "testdata/json.golden", text.String())
}

// shape gives the keys of a JSON document, each list by its first element.
func shape(t *testing.T, doc string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	return describe(v)
}

func describe(v any) string {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + describe(v[0]) + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			inner := describe(v[k])
			if inner != "" {
				inner = ":" + inner
			}
			parts = append(parts, k+inner)
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return ""
}

// Bad input gets one line that helps and a distinct exit code.
func TestCommandsRefuse(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"batch", "show", "01HV5K3Q8Z7M2N4P6R8T0V2X4Z"}, 5, "no such batch"},
		{[]string{"batch", "cancel", "nonsense"}, 5, "no such batch"},
		{[]string{"token", "revoke", "nobody"}, 2, `token "nobody"`},
		{[]string{"token", "list", "--tenant", "elsewhere"}, 2, "there is no tenant"},
		{[]string{"stdio"}, 2, "MAPPY_TOKEN"},
		{[]string{"stdio", "--tool-names", "camel"}, 2, "dot or underscore"},
		{[]string{"apply", "-f", "missing.yaml"}, 2, "missing.yaml"},
		{[]string{"frobnicate"}, 2, "unknown command"},
	} {
		code, _, errOut := x.run(c.args...)
		if code != c.code || !strings.Contains(strings.ToLower(errOut), strings.ToLower(c.says)) {
			t.Errorf("%v: exit %d, %q; want %d and %q", c.args, code, errOut, c.code, c.says)
		}
	}
	x.env["MAPPY_DATABASE_URL"] = s.DB.OwnerURL()
	if code, _, errOut := x.run("serve"); code != 1 || !strings.Contains(errOut, "row-level security") {
		t.Errorf("serve as the owner: exit %d, %q", code, errOut)
	}
}

// A program learns that a mistake is one, that sending it again does not help, and what does.
func TestMistakesAsJSON(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	x.env["MAPPY_TOKEN"] = s.Token
	bare := &terminal{t: t, env: map[string]string{}}
	for _, c := range []struct {
		on   *terminal
		args string
		says string
	}{
		{x, "batch show", "accepts 1 arg"},
		{x, "token create --client agent", `"user" not set`},
		{x, "batch show --frob", "unknown flag"},
		{x, "frobnicate", "unknown command"},
		{x, "audit export", "known are"},
		{x, "token revoke nobody", `token "nobody": no such id`},
		{x, "connection remove nobody", `connection "nobody": no such id`},
		{x, "connection add Nobody! --google-email a@b.example --refresh-token-env MAPPY_TOKEN", "connection_id"},
		{x, "batch undo 01HV5K3Q8Z7M2N4P6R8T0V2X4Z", "--yes"},
		{x, "kill on --kind bogus", "bogus"},
		{x, "apply -f missing.yaml", "missing.yaml"},
		{x, "keys add missing.json", "missing.json"},
		{bare, "batch list", "MAPPY_DATABASE_URL is not set"},
		{bare, "migrate up", "MAPPY_OWNER_DATABASE_URL is not set"},
		{bare, "config print --config missing.yaml", "missing.yaml"},
	} {
		code, out, errOut := c.on.run(append(strings.Fields(c.args), "--output", "json")...)
		var p errs.Public
		if err := json.Unmarshal([]byte(out), &p); err != nil {
			t.Errorf("%s: %v: %s %s", c.args, err, out, errOut)
			continue
		}
		if code != 2 || p.ErrorCode != errs.InvalidArgument || p.Retry.Possible || p.Retry.SameKey || p.Executed != errs.ExecutedNo ||
			!strings.Contains(p.Message, c.says) || !strings.Contains(p.Retry.How, "--help") {
			t.Errorf("%s: exit %d, %+v; want %q", c.args, code, p, c.says)
		}
	}
	// What is no mistake of the operator is not mended by sending it again either.
	x.env["MAPPY_DATABASE_URL"] = s.DB.OwnerURL()
	code, out, _ := x.run("batch", "list", "--output", "json")
	var p errs.Public
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != 1 || p.ErrorCode != errs.Internal || p.Retry.Possible || !strings.Contains(p.Message, "row-level security") {
		t.Errorf("as the owner: exit %d, %v, %+v", code, err, p)
	}
}
