package pgtest

import (
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
)

func TestNewGivesAMigratedDatabaseToBothRoles(t *testing.T) {
	t.Parallel()
	d := New(t)
	var tenants int
	if err := d.Owner().QueryRow(t.Context(), `SELECT count(*) FROM mappy.tenant`).Scan(&tenants); err != nil {
		t.Fatalf("owner: %v", err)
	}
	var user string
	var super, bypass, member bool
	err := d.App().QueryRow(t.Context(), `SELECT current_user::text, rolsuper, rolbypassrls, pg_has_role(current_user, 'mappy_app', 'MEMBER')
		FROM pg_roles WHERE rolname = current_user`).Scan(&user, &super, &bypass, &member)
	if err != nil {
		t.Fatalf("application: %v", err)
	}
	if user != AppRole || super || bypass || !member {
		t.Errorf("application runs as %s, superuser %t, bypassrls %t, member of mappy_app %t", user, super, bypass, member)
	}
	if _, err := d.App().Exec(t.Context(), `CREATE TABLE mappy.intruder (x int)`); err == nil {
		t.Error("the application's role may create tables")
	}
	owner, app := d.Owner(), d.App()
	if d.Owner() != owner || d.App() != app {
		t.Error("a second call opened a second pool")
	}
}

func TestNewKeepsTestsApart(t *testing.T) {
	t.Parallel()
	a, b := New(t), New(t)
	if _, err := a.Owner().Exec(t.Context(), `CREATE TABLE public.only_in_a (x int)`); err != nil {
		t.Fatal(err)
	}
	var there bool
	if err := b.Owner().QueryRow(t.Context(), `SELECT to_regclass('public.only_in_a') IS NOT NULL`).Scan(&there); err != nil {
		t.Fatal(err)
	}
	if there {
		t.Error("a table of one test is seen by another")
	}
}

func TestNewDropsTheDatabaseWithOpenConnections(t *testing.T) {
	t.Parallel()
	keep := New(t)
	var gone string
	t.Run("inner", func(t *testing.T) {
		d := New(t)
		if err := d.Owner().QueryRow(t.Context(), `SELECT current_database()`).Scan(&gone); err != nil {
			t.Fatal(err)
		}
		if _, err := pgx.Connect(t.Context(), d.AppURL()); err != nil { // deliberately left open
			t.Fatal(err)
		}
	})
	var exists bool
	err := keep.Owner().QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, gone).Scan(&exists)
	if err != nil {
		t.Fatal(err)
	}
	if gone == "" || exists {
		t.Errorf("database %q still exists: %t", gone, exists)
	}
}

func TestFingerprintFollowsContentNameAndRiver(t *testing.T) {
	t.Parallel()
	base := fstest.MapFS{"1.sql": {Data: []byte("a")}, "2.sql": {Data: []byte("b")}}
	prints := map[string]string{}
	for name, c := range map[string]struct {
		files fstest.MapFS
		river int
	}{
		"base":    {base, 8},
		"content": {fstest.MapFS{"1.sql": {Data: []byte("a")}, "2.sql": {Data: []byte("c")}}, 8},
		"moved":   {fstest.MapFS{"1.sql": {Data: []byte("ab")}, "2.sql": {}}, 8},
		"renamed": {fstest.MapFS{"1.sql": {Data: []byte("a")}, "3.sql": {Data: []byte("b")}}, 8},
		"river":   {base, 9},
	} {
		p, err := fingerprint(c.files, c.river)
		if err != nil {
			t.Fatal(err)
		}
		if len(p) != 16 {
			t.Errorf("%s: %q is not 16 digits", name, p)
		}
		if other, ok := prints[p]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		prints[p] = name
	}
	again, err := fingerprint(base, 8)
	if err != nil || prints[again] != "base" {
		t.Errorf("the same files gave %q (%v)", again, err)
	}
}
