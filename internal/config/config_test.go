package config_test

import (
	"maps"
	"os"
	"path/filepath"
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
	c, err := load(t, "listen: 127.0.0.1:1\nlog_level: warn\n", map[string]string{"MAPPY_LISTEN": "127.0.0.1:2", "MAPPY_WORKER_SETTLE": "7s", "MAPPY_ALLOWED_HOSTS": "a.example,b.example"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:2" || c.LogLevel != "warn" || c.Worker.Settle.String() != "7s" || c.AdminListen != "127.0.0.1:8081" || len(c.AllowedHosts) != 2 {
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
	_, err := load(t, "environment: Prod!\nlocale: fr\n", map[string]string{"MAPPY_WORKER_SETTLE": "soon", "MAPPY_WORKER_BULK": "many", "MAPPY_READ_ONLY": "maybe"})
	for _, want := range []string{"environment", "locale", "MAPPY_WORKER_SETTLE", "MAPPY_WORKER_BULK", "MAPPY_READ_ONLY"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported: %v", want, err)
		}
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	if _, err := load(t, "listenn: x\n", nil); err == nil || !strings.Contains(err.Error(), "listenn") {
		t.Fatalf("got %v", err)
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
