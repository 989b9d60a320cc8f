package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// audited gives the bodies of one kind of event.
func audited(t *testing.T, s *stack.Stack, kind string) (out []string) {
	t.Helper()
	rows, err := s.DB.Owner().Query(t.Context(), `SELECT convert_from(body, 'UTF8') FROM mappy.audit_event WHERE event = $1 ORDER BY event_id`, kind)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b string
		if err := rows.Scan(&b); err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// The JSON of connection and keys commands, and what they leave: connected, listed, used, removed, connected anew.
func TestConnectionCommands(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, NoWorkers: true, Policy: stack.Roomy})
	x := newTerminal(t, s)
	const tokenName = "SECOND_REFRESH"
	x.env[tokenName] = gbpsim.DemoRefreshToken
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(gbpsim.DemoRefreshToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	add := []string{"connection", "add", "second", "--google-email", "owner@komorebi-coffee.example"}
	var text strings.Builder
	note := func(name, doc string) { text.WriteString(name + ": " + shape(t, doc) + "\n") }
	note("connection add", x.must(append(add, "--refresh-token-env", tokenName, "--output", "json")...))
	x.must(append(add, "--refresh-token-file", file)...) // anew is no error
	note("connection list", x.must("connection", "list", "--output", "json"))
	if list := x.must("connection", "list"); !strings.Contains(list, "second") || strings.Contains(list, gbpsim.DemoRefreshToken) {
		t.Errorf("listed as %s", list)
	}
	if _, err := s.App.Tokens.Token(t.Context(), stack.Tenant, "second"); err != nil {
		t.Errorf("the new connection gives no token: %v", err)
	}
	waiting := s.Accept("post.create", stack.Post(s.IDs(1), "接続が消える投稿です。"))
	note("connection remove", x.must("connection", "remove", "google", "--output", "json"))
	if v := s.Finish(string(waiting.BatchID)); v.Status != batch.Failed {
		t.Errorf("what waited: %+v", v)
	}
	x.must("connection", "remove", "google") // twice is success
	if list := x.must("connection", "list"); strings.Contains(list, "google ") {
		t.Errorf("a removed connection is listed: %s", list)
	}
	var left int
	if err := s.DB.Owner().QueryRow(t.Context(), `SELECT coalesce(sum(length(refresh_token_sealed) + coalesce(length(access_token_sealed), 0)), 0) FROM mappy.connection WHERE connection_id = 'google'`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d bytes of tokens are left, %v", left, err)
	}
	if out := x.must("location", "list", "--output", "json"); strings.Contains(out, "locations/") {
		t.Errorf("stores of a removed connection: %s", out)
	}
	note("location sync", x.must("location", "sync", "--output", "json"))
	if added, gone := audited(t, s, "connection_added"), audited(t, s, "connection_removed"); len(added) != 3 || len(gone) != 1 || !strings.Contains(gone[0], `"operator_id":"cli`) {
		t.Errorf("added %v\nremoved %v", added, gone)
	}
	ring := filepath.Join(dir, "ring.json")
	note("keys new", x.must("keys", "new", ring, "--output", "json"))
	note("keys add", x.must("keys", "add", ring, "--output", "json"))
	note("keys rotate", x.must("keys", "rotate", "--output", "json"))
	golden.Compare(t, "testdata/connections.golden", text.String())
}

func TestConnectionCommandsRefuse(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	x.env["EMPTY"], x.env["FULL"] = "", "1//x"
	blank := filepath.Join(t.TempDir(), "blank")
	if err := os.WriteFile(blank, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	add := func(more ...string) []string {
		return append([]string{"connection", "add", "x", "--google-email", "a@b.example"}, more...)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{add(), "refresh token is needed"},
		{add("--refresh-token-env", "EMPTY"), "EMPTY"},
		{add("--refresh-token-file", blank), "refresh token is needed"},
		{add("--refresh-token-file", blank+"x"), "no such file"},
		{add("--refresh-token-env", "FULL", "--refresh-token-file", blank), "cannot both"},
		{add("--refresh-token", "1//SECRET"), "unknown flag"},
		{[]string{"connection", "add", "x", "--refresh-token-env", "FULL"}, "google-email"},
		{[]string{"connection", "add", "../x", "--google-email", "e", "--refresh-token-env", "FULL"}, "connection_id"},
		{[]string{"connection", "add", "x", "--tenant", "elsewhere", "--google-email", "e", "--refresh-token-env", "FULL"}, "no tenant"},
		{[]string{"connection", "remove", "nobody"}, `connection "nobody"`},
		{[]string{"connection", "remove"}, "arg"},
		{[]string{"keys", "add", blank}, "not a cleartext Tink JSON keyset"},
	} {
		code, out, errOut := x.run(c.args...)
		if code == 0 || !strings.Contains(out+errOut, c.says) || strings.Contains(out+errOut, "1//") {
			t.Errorf("%v: exit %d, %s%s; want %q", c.args, code, out, errOut, c.says)
		}
	}
	if n := len(audited(t, s, "connection_added")); n != 1 { // the stack's own
		t.Errorf("%d connections were added", n)
	}
}

// A key is added and everything sealed anew while workers run and tokens are refreshed: nothing fails, and afterwards the
// old key is not needed.
func TestKeysRotateWhileWorking(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyring.json")
	first, err := keyring.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Create(file); err != nil {
		t.Fatal(err)
	}
	s := stack.New(t, stack.Options{Stores: 40, NoServer: true, Policy: stack.Roomy, Config: func(c *config.Config) { c.Keyring, c.KeyringB64 = file, "" }, Sim: func(o *gbpsim.Options) { o.Knobs.RotateRefreshTokens, o.Knobs.NoQuotas = true, true }})
	x := newTerminal(t, s)
	delete(x.env, "MAPPY_KEYRING_B64")
	x.env["MAPPY_KEYRING"] = file
	var accepted []string
	stop, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() { // refreshes all the while, with tokens that the endpoint spends
		for {
			select {
			case <-stop:
				return
			default:
			}
			token, err := s.App.Tokens.Token(t.Context(), stack.Tenant, "google")
			if err != nil {
				t.Errorf("no token: %v", err)
				return
			}
			s.App.Tokens.Invalidate(stack.Tenant, "google", token)
		}
	})
	for n := range 3 {
		accepted = append(accepted, string(s.Confirmed("post.create", stack.Post(s.IDs(40), "鍵を替える間の投稿です。"+strings.Repeat("!", n))).BatchID))
		x.must("keys", "add", file)
		x.must("keys", "rotate")
	}
	close(stop)
	ended.Wait()
	x.must("keys", "rotate") // what a process sealed with an older key meanwhile
	var r struct{ Resealed, Failed int }
	if err := json.Unmarshal([]byte(x.must("keys", "rotate", "--output", "json")), &r); err != nil || r.Resealed != 0 || r.Failed != 0 {
		t.Errorf("the last rotation: %+v, %v", r, err)
	}
	for _, id := range accepted {
		if v := s.Finish(id); v.Status != batch.Done {
			t.Errorf("batch: %+v", v.Failures)
		}
	}
	if n := len(audited(t, s, "keys_rotated")); n < 3 {
		t.Errorf("keys_rotated is recorded %d times", n)
	}
	newest, err := keyring.Load(file, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.App.DB.ReadConnection(t.Context(), stack.Tenant, "google")
	if err != nil {
		t.Fatal(err)
	}
	for _, sealed := range [][]byte{c.RefreshTokenSealed, c.AccessTokenSealed} {
		if id, err := keyring.KeyOf(sealed); err != nil || id != newest.Primary() {
			t.Errorf("sealed with %d, %v; the primary key is %d", id, err, newest.Primary())
		}
	}
	if _, err := newest.Open(c.RefreshTokenSealed, gtoken.Binding(stack.Tenant, "google", gtoken.RefreshToken)); err != nil {
		t.Error(err)
	}
}

// A connection whose key is lost is named and fails the command; the others are done, and nothing of it is changed.
func TestKeysRotateWithALostKey(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	lost, err := keyring.New()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := lost.Seal([]byte("1//SECRET"), gtoken.Binding(stack.Tenant, "another", gtoken.RefreshToken))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Owner().Exec(t.Context(), `INSERT INTO mappy.connection (tenant_id, connection_id, google_email, refresh_token_sealed) VALUES ($1, 'another', 'x', $2)`, stack.Tenant, foreign); err != nil {
		t.Fatal(err)
	}
	old, err := keyring.Load("", s.Config.KeyringB64)
	if err != nil {
		t.Fatal(err)
	}
	if old, err = old.Rotate(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keyring.json")
	if err := old.Create(file); err != nil {
		t.Fatal(err)
	}
	delete(x.env, "MAPPY_KEYRING_B64")
	x.env["MAPPY_KEYRING"] = file
	code, out, errOut := x.run("keys", "rotate")
	if code != 1 || !strings.Contains(out, "another: failed") || !strings.Contains(out, "google: resealed") || strings.Contains(out+errOut, "SECRET") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	c, err := s.App.DB.ReadConnection(t.Context(), stack.Tenant, "another")
	if err != nil || !bytes.Equal(c.RefreshTokenSealed, foreign) {
		t.Errorf("the unreadable token was changed: %v", err)
	}
}
