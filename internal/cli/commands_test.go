package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// A switch that says "on" stops something, and says what; one that is turned off is gone.
func TestKillSwitches(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"on", "--kind", "bogus"}, `"bogus" is not`},
		{[]string{"off", "--kind", "bogus"}, `"bogus" is not`},
		{[]string{"on", "--kind", "client"}, "needs a --target"},
		{[]string{"on", "--kind", "tool"}, "needs a --target"},
		{[]string{"off", "--kind", "tool"}, "needs a --target"},
		{[]string{"on", "--target", "post.create"}, "takes no --target"},
		{[]string{"on", "--kind", "all", "--target", "x"}, "takes no --target"},
		{[]string{"on", "--kind", "tool", "--target", "post.craete"}, "known are location.update"},
		{[]string{"on", "--kind", "tool", "--target", "post.list"}, "known are location.update"},
		{[]string{"on", "--kind", "client", "--target", "nobody"}, `no client "nobody"`},
	} {
		code, out, errOut := x.run(append([]string{"kill"}, c.args...)...)
		if code != 2 || out != "" || !strings.Contains(errOut, c.says) {
			t.Errorf("kill %v: exit %d, %q %q; want %q", c.args, code, out, errOut, c.says)
		}
	}
	if n := row(t, s, `SELECT count(*)::text FROM mappy.kill_switch`); n != "0" {
		t.Fatalf("%s switches are on", n)
	}
	stopped := func() (authn.KillSwitch, bool) {
		t.Helper()
		p, err := s.App.DB.Authenticate(t.Context(), s.Token)
		if err != nil {
			t.Fatal(err)
		}
		return p.Killed("post.create")
	}
	for _, c := range []struct {
		args []string
		text string
	}{
		{[]string{"--kind", "tool", "--target", "post_create"}, "tool post_create"},
		{[]string{"--kind", "tool", "--target", "post.create"}, "tool post.create"},
		{[]string{"--kind", "client", "--target", string(stack.Client)}, "client " + string(stack.Client)},
		{[]string{"--kind", "tenant"}, "tenant"},
		{[]string{"--kind", "all"}, "all"},
	} {
		x.must(append([]string{"kill", "on", "--reason", "drill"}, c.args...)...)
		if k, on := stopped(); !on || k.Reason != "drill" {
			t.Errorf("%v stops nothing: %+v", c.args, k)
		}
		off := append([]string{"kill", "off"}, c.args...)
		if out := x.must(off...); out != c.text+" off\n" {
			t.Errorf("off says %q", out)
		}
		if k, on := stopped(); on {
			t.Errorf("%v is still on: %+v", c.args, k)
		}
		if out := x.must(off...); out != c.text+" off (it was not on)\n" {
			t.Errorf("off twice says %q", out)
		}
	}
	for _, want := range []string{"tool:post.create; drill", "client:" + string(stack.Client) + "; drill", "tenant; drill"} {
		if out := x.must("audit", "list"); !strings.Contains(out, want) {
			t.Errorf("audit list: %s; want %q", out, want)
		}
	}
	// What an older program has stored can be taken away.
	if _, err := s.DB.Owner().Exec(t.Context(), `INSERT INTO mappy.kill_switch (tenant_id, kind, target) VALUES ('komorebi', 'tenant', 'x'), ('komorebi', 'tool', 'post_create')`); err != nil {
		t.Fatal(err)
	}
	x.must("kill", "off", "--target", "x")
	x.must("kill", "off", "--kind", "tool", "--target", "post_create")
	if out := x.must("kill", "status", "--output", "json"); out != "[]\n" {
		t.Errorf("left: %s", out)
	}
}

func TestTokenCommands(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	create := func(more ...string) []string {
		return append([]string{"token", "create", "--client", string(stack.Client), "--user", string(stack.User)}, more...)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"token", "create", "--user", "hanako"}, `"client"`},
		{[]string{"token", "create", "--client", "agent"}, `"user"`},
		{[]string{"token", "create", "--client", "nobody", "--user", "hanako"}, `client "nobody": no such id`},
		{[]string{"token", "create", "--client", "agent", "--user", "nobody"}, `user "nobody": no such id`},
		{create("--scopes", "posts:wirte"), `no scope "posts:wirte"; known are audit:read`},
		{create("--scopes", ""), "scopes"},
		{create("--scopes", "posts:read,,posts:write"), `no scope ""`},
		{create("--expires-in", "-1h"), "has passed"},
		{[]string{"audit", "list", "--limit", "-1"}, "--limit"},
		{[]string{"audit", "list", "--limit", "0"}, "--limit"},
	} {
		code, _, errOut := x.run(c.args...)
		if code != 2 || !strings.Contains(errOut, c.says) || strings.Contains(errOut, "SQLSTATE") {
			t.Errorf("%v: exit %d, %q; want %q", c.args, code, errOut, c.says)
		}
	}
	x.must(create("--scopes", " posts:read, batches:manage ,posts:read", "--expires-in", "1ms")...)
	time.Sleep(5 * time.Millisecond)
	var list []struct {
		Scopes []string
		State  string
	}
	if err := json.Unmarshal([]byte(x.must("token", "list", "--output", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].State != "expired" || strings.Join(list[0].Scopes, " ") != "posts:read batches:manage" || list[1].State != "live" {
		t.Errorf("listed as %+v", list)
	}
	if out := x.must("token", "list"); !strings.Contains(out, "EXPIRES") || !strings.Contains(out, "expired") || !strings.Contains(out, "never") {
		t.Errorf("listed as %s", out)
	}
}

// A mistyped command is no success, and says what would have been right.
func TestUnknownCommandsFail(t *testing.T) {
	x := &terminal{t: t, env: map[string]string{}}
	for _, c := range []struct{ args, says string }{
		{"audit export", "known are list, verify"},
		{"batch cancell 01HV", "cancel"},
		{"kill onn --kind tool --target x", "known are off, on, status"},
		{"token creat", "create"},
		{"connection ad x", "add"},
		{"location snyc", "sync"},
		{"keys rotat", "rotate"},
		{"migrate upp", "up"},
		{"config prnit", "print"},
		{"policy sho", "show"},
	} {
		code, out, errOut := x.run(strings.Fields(c.args)...)
		if code != 2 || out != "" || !strings.Contains(errOut, "unknown command") || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: exit %d, %q %q; want %q", c.args, code, out, errOut, c.says)
		}
	}
	if code, out, _ := x.run("kill"); code != 0 || !strings.Contains(out, "status") {
		t.Errorf("a group alone: exit %d, %q", code, out)
	}
	if code, out, errOut := x.run("token", "generate", "--output", "yaml"); code != 2 || out != "" || !strings.Contains(errOut, `"yaml" is not text or json`) {
		t.Errorf("an unknown output: exit %d, %q %q", code, out, errOut)
	}
	if got := shape(t, x.must("token", "generate", "--output", "json")); got != "{token}" {
		t.Errorf("token generate: %s", got)
	}
	if got := shape(t, x.must("config", "print", "--output", "json")); !strings.Contains(got, "worker:{attempts backoff") {
		t.Errorf("config print: %s", got)
	}
}

// For people an error has all that mends it.
func TestErrorsInWords(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true})
	x := newTerminal(t, s)
	x.env["MAPPY_TOKEN"] = s.Token
	b := s.Accept("post.create", stack.Post(s.IDs(1), "Fresh rolls"))
	s.Finish(string(b.BatchID))
	code, _, errOut := x.run("batch", "undo", string(b.BatchID), "--yes", "--location=-5")
	if code == 0 || !strings.Contains(errOut, "location_ids[0]: ") || !strings.Contains(errOut, "INVALID_ARGUMENT") {
		t.Errorf("violations: exit %d, %q", code, errOut)
	}
	x.must("kill", "on", "--kind", "client", "--target", string(stack.Client), "--reason", "incident 7")
	code, _, errOut = x.run("batch", "undo", string(b.BatchID), "--yes")
	for _, want := range []string{"WRITES_DISABLED", "reason: incident 7", "can be lifted by: an administrator of the tenant", "what to do: "} {
		if code == 0 || !strings.Contains(errOut, want) {
			t.Errorf("exit %d, %q; want %q", code, errOut, want)
		}
	}
}

// Words for people: lists in commas, one thing in the singular, nothing blank at a line's end, columns that line up, no name that is
// not the operator's.
func TestWordsForPeople(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	file := filepath.Join(t.TempDir(), "keyring.json")
	x.must("keys", "new", file)
	if code, _, errOut := x.run("keys", "new", file); code != 2 || errOut != "mappy-mcp: keyring: writing "+file+": file exists\n" {
		t.Errorf("keys new: exit %d, %s", code, errOut)
	}
	if out := x.must("--version"); out != "mappy-mcp version "+app.Version+"\n" {
		t.Errorf("version: %s", out)
	}
	if out := x.must("batch", "undo", "--help"); !strings.Contains(out, "--location location_ids") || strings.Contains(out, "Slice") {
		t.Errorf("help: %s", out)
	}
	for _, args := range [][]string{{"location", "sync"}, {"location", "list"}, {"keys", "rotate"}, {"token", "list"}, {"audit", "list"}} {
		if out := x.must(args...); strings.Contains(out, " \n") || strings.Contains(out, " 1 accounts") || strings.Contains(out, "1 connections") {
			t.Errorf("%v: %q", args, out)
		}
	}
	x.mustApply(`tenants: [{id: two, name: Two}]`)
	for _, args := range [][]string{{"token", "list"}, {"token", "list", "--tenant", "three"}} {
		if code, _, errOut := x.run(args...); code != 2 || !strings.Contains(errOut, ": komorebi, two\n") && !strings.Contains(errOut, "known are komorebi, two\n") {
			t.Errorf("%v: exit %d, %s", args, code, errOut)
		}
	}
}
