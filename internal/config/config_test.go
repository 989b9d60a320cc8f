package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/config"
)

func load(t *testing.T, yaml string, env map[string]string) (config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(file, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
}

func TestEnvironmentOverridesFileOverridesDefaults(t *testing.T) {
	c, err := load(t, "listen: 127.0.0.1:1\nlog_level: warn\n", map[string]string{"MAPPY_LISTEN": "127.0.0.1:2", "MAPPY_WORKER_SETTLE": "7s", "MAPPY_ALLOWED_HOSTS": " a.example, b.example,"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:2" || c.LogLevel != "warn" || c.Worker.Settle.String() != "7s" || c.AdminListen != "127.0.0.1:8081" || !slices.Equal(c.AllowedHosts, []string{"a.example", "b.example"}) {
		t.Fatalf("%+v", c)
	}
}

// Naming one tool's threshold must never remove another's.
func TestThresholdsMerge(t *testing.T) {
	c, err := load(t, "policy:\n  confirm_at: {post.create: 2}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(config.Default().Policy.ConfirmAt)
	want["post.create"] = 2
	if !maps.Equal(c.Policy.ConfirmAt, want) {
		t.Fatalf("got %v, want %v", c.Policy.ConfirmAt, want)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load(t, "environment: prodution\nlocale: fr\nlog_level: warning\npolicy: {confirm_at: {post_create: 1, post.create: 0}, allowed_link_domains: [\"https://own.example\"]}\n", map[string]string{"MAPPY_WORKER_SETTLE": "soon", "MAPPY_WORKER_BULK": "many", "MAPPY_READ_ONLY": "maybe"})
	for _, want := range []string{"environment", "locale", "log_level", `"post_create"`, "post.create is 0", "https://own.example", "MAPPY_WORKER_SETTLE", "MAPPY_WORKER_BULK", "MAPPY_READ_ONLY"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported: %v", want, err)
		}
	}
}

// Neither an unknown key nor a wrong value hides what else is wrong, or missing. Of a file that cannot be read nobody knows what it lacks.
func TestNothingHidesAnotherProblem(t *testing.T) {
	env := map[string]string{"MAPPY_LOCALE": "fr", "MAPPY_REDIS_URL": "redis://r"}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	file := filepath.Join(t.TempDir(), "c.yaml")
	for _, c := range []struct {
		yaml        string
		says, hides []string
	}{
		{"listenn: x\nworkr: {}\nlog_level: loud\ndatabase_connections: many\n", []string{"listenn", "workr", "line 4", "many", `"loud"`, `"fr"`, "MAPPY_DATABASE_URL is not set", "MAPPY_KEYRING"}, []string{"MAPPY_REDIS_URL is"}},
		{"listen: [\n", []string{"c.yaml", `"fr"`}, []string{"is not set"}},
	} {
		if err := os.WriteFile(file, []byte(c.yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.LoadWhole(file, lookup)
		if err == nil {
			t.Fatalf("%q is taken", c.yaml)
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %q is not reported: %v", c.yaml, want, err)
			}
		}
		for _, no := range c.hides {
			if strings.Contains(err.Error(), no) {
				t.Errorf("%q: %q is reported: %v", c.yaml, no, err)
			}
		}
	}
	if _, err := config.LoadWhole(filepath.Join(t.TempDir(), "none.yaml"), lookup); err == nil || !strings.Contains(err.Error(), "none.yaml") || strings.Contains(err.Error(), "is not set") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	if _, err := load(t, "listenn: x\n", nil); err == nil || !strings.Contains(err.Error(), "listenn") {
		t.Fatalf("got %v", err)
	}
}

func TestMissingNamesEverything(t *testing.T) {
	err := config.Default().Missing()
	for _, want := range []string{"MAPPY_DATABASE_URL", "MAPPY_REDIS_URL", "MAPPY_GOOGLE_CLIENT_ID", "MAPPY_KEYRING or MAPPY_KEYRING_B64", "make run"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported: %v", want, err)
		}
	}
	c := config.Default()
	c.DatabaseURL, c.RedisURL, c.GoogleClientID, c.Keyring = "postgres://db", "redis://r", "id", "keyring.json"
	if err := c.Missing(); err != nil {
		t.Error(err)
	}
	if c.KeyringB64 = "x"; c.Missing() == nil {
		t.Error("two keyrings are taken")
	}
}

func TestPrintHidesPasswordsOfQueries(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://app@db/mappy?password=hunter2&sslmode=disable":             "postgres://app@db/mappy?password=xxxxx&sslmode=disable",
		"postgres://app:hunter2@db/mappy?sslpassword=hunter2&passfile=hunter2": "postgres://app:xxxxx@db/mappy?passfile=xxxxx&sslpassword=xxxxx",
		"postgres://app@db/mappy?sslmode=disable&a=b":                          "postgres://app@db/mappy?sslmode=disable&a=b",
		"postgres://app@db/mappy?password=hunter2;x":                           "(set)",
		"host=db password=hunter2":                                             "(set)",
		"postgres:app:hunter2@db":                                              "(set)",
	} {
		c, err := load(t, "", map[string]string{"MAPPY_DATABASE_URL": address})
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Redacted()
		if err != nil || strings.Contains(s, "hunter2") || !strings.Contains(s, "database_url: "+want) {
			t.Errorf("%s: %v\n%s", address, err, s)
		}
	}
}

func TestPrintHidesSecrets(t *testing.T) {
	c, err := load(t, "", map[string]string{
		"MAPPY_DATABASE_URL": "postgres://app:hunter2@db/mappy", "MAPPY_REDIS_URL": "redis://:hunter2@r:6379", "MAPPY_GOOGLE_CLIENT_SECRET": "hunter2", "MAPPY_KEYRING_B64": "hunter2", "MAPPY_TOKEN": "hunter2",
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Redacted()
	if err != nil || strings.Contains(s, "hunter2") || !strings.Contains(s, "postgres://app:xxxxx@db/mappy") {
		t.Fatalf("%v\n%s", err, s)
	}
}
