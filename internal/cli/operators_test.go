package cli_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// apply applies a declaration and gives exit code and messages.
func (x *terminal) apply(declaration string) (code int, errOut string) {
	x.t.Helper()
	file := filepath.Join(x.t.TempDir(), "apply.yaml")
	if err := os.WriteFile(file, []byte(declaration), 0o600); err != nil {
		x.t.Fatal(err)
	}
	code, _, errOut = x.run("apply", "-f", file)
	return code, errOut
}

func (x *terminal) mustApply(declaration string) {
	x.t.Helper()
	if code, errOut := x.apply(declaration); code != 0 {
		x.t.Fatalf("exit %d: %s", code, errOut)
	}
}

// row reads one row of text as the owner of the tables.
func row(t *testing.T, s *stack.Stack, sql string) (out string) {
	t.Helper()
	if err := s.DB.Owner().QueryRow(t.Context(), sql).Scan(&out); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// What is not declared is left alone, in the tenant itself too.
func TestApplyLeavesAloneWhatIsNotDeclared(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	x.mustApply(`tenants: [{id: bakery, name: Bakery, locale: en, timezone: Europe/Paris, policy: {max_targets: 7},
		users: [{id: taro, email: taro@bakery.example, role: admin, grants: {labels: [tokyo]}}], clients: [{id: agent, name: Agent}]}]`)
	const tenant = `SELECT concat_ws(' ', name, locale, timezone, policy, policy_version) FROM mappy.tenant WHERE tenant_id = 'bakery'`
	const people = `SELECT string_agg(concat_ws(' ', user_id, email, role, grants), '; ' ORDER BY user_id) FROM mappy.app_user WHERE tenant_id = 'bakery'`
	before := row(t, s, tenant)
	x.mustApply(`tenants: [{id: bakery, users: [{id: jiro, email: jiro@bakery.example, grants: {all: true}}, {id: taro}], clients: [{id: agent}]}]`)
	if after := row(t, s, tenant); after != before || before != `Bakery en Europe/Paris {"max_targets": 7} 1` {
		t.Errorf("the tenant was %s, is %s", before, after)
	}
	if got := row(t, s, people); got != `jiro jiro@bakery.example viewer {"all": true}; taro taro@bakery.example admin {"labels": ["tokyo"]}` {
		t.Errorf("the users are %s", got)
	}
	if got := row(t, s, `SELECT name FROM mappy.client WHERE tenant_id = 'bakery'`); got != "Agent" {
		t.Errorf("the client is %q", got)
	}
	x.mustApply(`tenants: [{id: bakery, policy: {}, users: [{id: taro, grants: {}}]}]`)
	if got := row(t, s, tenant); got != `Bakery en Europe/Paris {} 2` {
		t.Errorf("an empty policy: %s", got)
	}
	if got := row(t, s, people); !strings.HasSuffix(got, "taro taro@bakery.example admin {}") {
		t.Errorf("empty grants: %s", got)
	}
}

func TestApplyRefuses(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	x.env["TOKEN"] = authn.NewToken("simulator")
	const base = `tenants: [{id: bakery, name: Bakery, clients: [{id: agent}], users: [{id: taro}], `
	for _, c := range []struct{ declaration, says string }{
		{`tenants: [{id: newcomer}]`, "needs a name"},
		{`tenants: [{id: Bakery!, name: x}]`, "Bakery!"},
		{`tenants: [{id: bakery, name: Bakery, locale: fr}]`, "locale"},
		{`tenants: [{id: bakery, name: Bakery, timezone: Mars/Base}]`, "timezone"},
		{`tenants: [{id: bakery, name: Bakery, users: [{id: taro, role: boss}]}]`, "role"},
		{`tenants: [{id: bakery, name: Bakery, policy: {confirm_allways: true}}]`, "confirm_allways"},
		{`tenants: [{id: bakery, name: Bakery, policy: {confirm_at: {post_create: 1}}}]`, "post_create"},
		{`tenants: [{id: bakery, name: Bakery, policy: {confirm_at: {post.create: 0}}}]`, "at least 1"},
		{base + `connections: [{id: google, google_email: a@b.example}]}]`, "refresh token is needed"},
		{base + `connections: [{id: "Google!", google_email: a@b.example}]}]`, "Google!"},
		{base + `tokens: [{id: t, client: nobody, user: taro, scopes: ["posts:read"], value_from: {env: TOKEN}}]}]`, `client "nobody": no such id`},
		{base + `tokens: [{id: t, client: agent, user: nobody, scopes: ["posts:read"], value_from: {env: TOKEN}}]}]`, `user "nobody": no such id`},
		{base + `tokens: [{id: t, client: agent, user: taro, scopes: ["posts:wirte"], value_from: {env: TOKEN}}]}]`, `"posts:wirte"`},
	} {
		if code, errOut := x.apply(c.declaration); code != 2 || !strings.Contains(errOut, c.says) || strings.Contains(errOut, "SQLSTATE") {
			t.Errorf("%s: exit %d, %q; want %q", c.declaration, code, errOut, c.says)
		}
	}
	if n := row(t, s, `SELECT count(*)::text FROM mappy.tenant WHERE tenant_id IN ('bakery', 'newcomer')`); n != "0" {
		t.Errorf("%s tenants were left behind", n)
	}
}

// All that is wrong with a file is said at once, with what would be right, and nothing of it is saved.
func TestApplyRefusesAllAtOnce(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	code, errOut := x.apply(`tenants:
  - {id: bakery, name: Bakery}
  - {id: KOMO, name: Komorebi, locale: fr, timezone: Mars/Base, policy: {confirm_allways: true},
     users: [{id: taro, role: boss, grants: {fields: [shoe_size]}}, {id: jiro, field_rights: [title]}],
     tokens: [{id: main, client: agent, user: taro, scopes: ["posts:wirte"], value_from: {env: MISSING}}],
     connections: [{id: "Google!", google_email: a@b.example, refresh_token_from: {env: MISSING_TOO}}]}`)
	if code != 2 {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		`"KOMO" is not possible: 1 to 63 small letters`, `"fr" is not possible: ja or en`, `"Mars/Base" is not possible: a name such as Asia/Tokyo`, "confirm_allways",
		`"boss" is not possible: viewer, approver, admin`, `"shoe_size" is not possible: `, `user "jiro": field_rights`, `"posts:wirte"`, "MISSING is not set", `"Google!" is not possible`, "MISSING_TOO is not set",
	} {
		if !strings.Contains(errOut, want) {
			t.Errorf("%q is not said: %s", want, errOut)
		}
	}
	if n := row(t, s, `SELECT count(*)::text FROM mappy.tenant WHERE tenant_id = 'bakery'`); n != "0" {
		t.Error("the tenant before was saved")
	}
	if code, _, errOut := x.run("token", "list", "--tenant", "KOMO"); code != 2 || !strings.Contains(errOut, "no tenant") {
		t.Errorf("exit %d, %s", code, errOut)
	}
}

// A declared token that was revoked stays so, and apply says it; another value brings it to life.
func TestApplySaysWhatStaysRevoked(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	file := filepath.Join(t.TempDir(), "apply.yaml")
	if err := os.WriteFile(file, []byte(`tenants: [{id: bakery, name: Bakery, clients: [{id: agent}], users: [{id: taro}],
		tokens: [{id: main, client: agent, user: taro, scopes: ["posts:read"], value_from: {env: TOKEN}}]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	x.env["TOKEN"] = authn.NewToken("simulator")
	const saved = "tenant bakery: 1 user, 1 client, 1 token, 0 connections\n"
	if out := x.must("apply", "-f", file); out != saved {
		t.Errorf("applied: %s", out)
	}
	x.must("token", "revoke", "main", "--tenant", "bakery")
	if out := x.must("apply", "-f", file); !strings.HasPrefix(out, saved) || !strings.Contains(out, "token main is as it was declared, but not live") {
		t.Errorf("applied after it was revoked: %s", out)
	}
	if out := x.must("apply", "-f", file, "--output", "json"); !strings.Contains(out, `"tokens_not_live"`) {
		t.Errorf("in JSON: %s", out)
	}
	x.env["TOKEN"] = authn.NewToken("simulator")
	if out := x.must("apply", "-f", file); out != saved {
		t.Errorf("applied with another value: %s", out)
	}
}

// Declaring a connection again changes nothing while its refresh token is the same: the access token stays, and what Google
// ended stays ended. Another token, or connecting by hand, brings it to life.
func TestApplyingAConnectionAgain(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	grant := s.Sim.World().Grants[0]
	const declared = `tenants: [{id: bakery, name: Bakery, connections: [{id: google, google_email: owner@komorebi-coffee.example, refresh_token_from: {env: REFRESH}}]}]`
	read := func() gtoken.Connection {
		t.Helper()
		c, err := s.App.DB.ReadConnection(t.Context(), "bakery", "google")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	x.env["REFRESH"] = grant.RefreshToken
	x.mustApply(declared)
	if _, err := s.App.Tokens.Token(t.Context(), "bakery", "google"); err != nil {
		t.Fatal(err)
	}
	before := read()
	if len(before.AccessTokenSealed) == 0 {
		t.Fatal("no access token")
	}
	x.mustApply(declared)
	if after := read(); after.Generation != before.Generation || string(after.AccessTokenSealed) != string(before.AccessTokenSealed) {
		t.Errorf("applied again: %+v, was %+v", after, before)
	}
	x.mustApply(`tenants: [{id: bakery, connections: [{id: google}]}]`) // no secret: the stored one
	if got := row(t, s, `SELECT google_email FROM mappy.connection WHERE tenant_id = 'bakery'`); got != "owner@komorebi-coffee.example" {
		t.Errorf("the address is %q", got)
	}
	kill := func() {
		t.Helper()
		if _, err := s.DB.Owner().Exec(t.Context(), `UPDATE mappy.connection SET state = 'dead', dead_reason = 'invalid_grant' WHERE tenant_id = 'bakery'`); err != nil {
			t.Fatal(err)
		}
	}
	kill()
	x.mustApply(declared)
	if c := read(); c.State != gtoken.Dead {
		t.Error("the same token revived a dead connection")
	}
	events := func() int {
		n := 0
		for _, e := range audited(t, s, "connection_added") {
			if strings.Contains(e, `"tenant_id":"bakery"`) {
				n++
			}
		}
		return n
	}
	if n := events(); n != 1 {
		t.Errorf("%d connection_added", n)
	}
	x.env["REFRESH"] = grant.RefreshToken + "-new"
	x.mustApply(declared)
	if c := read(); c.State != gtoken.Alive || len(c.AccessTokenSealed) != 0 || events() != 2 {
		t.Errorf("another token: %+v, %d events", c, events())
	}
	kill()
	x.must("connection", "add", "google", "--tenant", "bakery", "--google-email", "owner@komorebi-coffee.example", "--refresh-token-env", "REFRESH")
	if c := read(); c.State != gtoken.Alive || events() != 3 {
		t.Errorf("connected by hand: %+v, %d events", c, events())
	}
	x.must("connection", "remove", "google", "--tenant", "bakery")
	x.mustApply(declared)
	if c := read(); c.State != gtoken.Alive || len(c.RefreshTokenSealed) == 0 {
		t.Errorf("declared after a removal: %+v", c)
	}
}

// The newest migration goes back and forth, and the product works on both sides of it.
func TestMigrateDownAndUp(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	if out := x.must("migrate", "down"); strings.Count(out, "missing") != 1 {
		t.Errorf("down: %s", out)
	}
	s.Sync(stack.Tenant)
	if code, out, _ := x.run("doctor"); code != 1 || !strings.Contains(out, "run `mappy-mcp migrate up`") {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
	if out := x.must("migrate", "up"); strings.Contains(out, "missing") {
		t.Errorf("up: %s", out)
	}
	x.must("doctor")
}

// On a schema that lacks what it needs a program does not start and is not ready, whoever it asks as; on a newer one it does.
func TestOldSchema(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	delete(x.env, "MAPPY_OWNER_DATABASE_URL")
	x.env["MAPPY_LISTEN"], x.env["MAPPY_ADMIN_LISTEN"], x.env["MAPPY_TOKEN"] = "127.0.0.1:0", "127.0.0.1:0", s.Token
	for _, c := range []struct{ name, broken, mended string }{
		{"a newer one", `INSERT INTO public.mappy_migration (version_id, is_applied) VALUES (99999, true)`, `DELETE FROM public.mappy_migration WHERE version_id = 99999`},
		{"00005_audit_partitions.sql", `DELETE FROM public.mappy_migration WHERE version_id = 5`, `INSERT INTO public.mappy_migration (version_id, is_applied) VALUES (5, true)`},
		{"River's migration 8", `DELETE FROM river.river_migration WHERE version = 8`, `INSERT INTO river.river_migration (line, version) VALUES ('main', 8)`},
		{"00006_versions.sql", `DROP VIEW mappy.migration`, ``},
	} {
		if _, err := s.DB.Owner().Exec(t.Context(), c.broken); err != nil {
			t.Fatal(err)
		}
		code, out, _ := x.run("doctor")
		ready := s.App.Ready(t.Context())
		if c.name == "a newer one" {
			if code != 0 || ready != nil {
				t.Errorf("%s: exit %d, %s; %v", c.name, code, out, ready)
			}
		} else {
			if code != 1 || !strings.Contains(out, "FAIL migrations") || !strings.Contains(out, c.name) || !strings.Contains(out, "run `mappy-mcp migrate up`") {
				t.Errorf("%s: exit %d, %s", c.name, code, out)
			}
			if !errors.Is(ready, postgres.ErrMigrate) {
				t.Errorf("%s: ready says %v", c.name, ready)
			}
			for _, program := range []string{"serve", "worker", "stdio"} {
				if code, _, errOut := x.run(program); code != 1 || !strings.Contains(errOut, c.name) || !strings.Contains(errOut, "migrate up") {
					t.Errorf("%s on %s: exit %d, %s", program, c.name, code, errOut)
				}
			}
		}
		if _, err := s.DB.Owner().Exec(t.Context(), c.mended); err != nil {
			t.Fatal(err)
		}
	}
}

// Before the first `migrate up` there is no role either, and that is what doctor says.
func TestDoctorBeforeTheFirstMigration(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	u, err := url.Parse(s.Config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("nobody_yet", "secret")
	x.env["MAPPY_DATABASE_URL"] = u.String()
	if code, out, _ := x.run("doctor"); code != 1 || !strings.Contains(out, "-> run `mappy-mcp migrate up`") || strings.Contains(out, "secret") {
		t.Errorf("exit %d, %s", code, out)
	}
}
