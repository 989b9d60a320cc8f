// Package configs_test keeps the example files, the container files and the documentation true to the program.
package configs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
)

// nothing is an environment without variables.
func nothing(string) (string, bool) { return "", false }

func load(t *testing.T, file string) config.Config {
	t.Helper()
	c, err := config.Load(file, nothing)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func files(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("*.yaml")
	if err != nil || len(list) != 4 {
		t.Fatalf("files: %v, %v", list, err)
	}
	return list
}

// Every file is read strictly by the program itself, and keeps the thresholds of every tool.
func TestEveryFileLoads(t *testing.T) {
	t.Parallel()
	for _, file := range files(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			c := load(t, file)
			if name := strings.TrimSuffix(file, ".yaml"); name != "limits" && c.Environment != name {
				t.Errorf("environment %q", c.Environment)
			}
			for tool, at := range policy.Default().ConfirmAt {
				if got, ok := c.Policy.ConfirmAt[tool]; !ok || got > at {
					t.Errorf("%s needs a confirmation from %d targets (%t), the contract says %d", tool, got, ok, at)
				}
			}
		})
	}
}

// production.yaml says the program's own numbers, so that a reader of the file knows what is in force.
func TestProductionIsTheDefault(t *testing.T) {
	t.Parallel()
	want := config.Default()
	want.Listen, want.AdminListen = "0.0.0.0:8080", "0.0.0.0:8081"
	want.AllowedHosts, want.AllowedOrigins = []string{}, []string{}
	if d := cmp.Diff(want, load(t, "production.yaml")); d != "" {
		t.Errorf("(-default +production.yaml):\n%s", d)
	}
}

// limits.yaml is complete and says the program's own numbers.
func TestLimitsAreTheDefaults(t *testing.T) {
	t.Parallel()
	want := config.Default()
	want.Policy.AllowedLinkDomains, want.Policy.AllowedPhones = []string{}, []string{}
	if d := cmp.Diff(want, load(t, "limits.yaml")); d != "" {
		t.Errorf("(-default +limits.yaml):\n%s", d)
	}
	var got map[string]map[string]any
	read(t, "limits.yaml", &got)
	for section, of := range map[string]reflect.Type{"google": reflect.TypeFor[config.Google](), "policy": reflect.TypeFor[policy.Policy]()} {
		for _, key := range keys(of) {
			if _, ok := got[section][key]; !ok {
				t.Errorf("%s.%s is missing", section, key)
			}
		}
	}
}

// The files hold no secrets, and no address of a database.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	of := reflect.TypeFor[config.Config]()
	for _, file := range files(t) {
		var got map[string]any
		read(t, file, &got)
		for f := range of.Fields() {
			key := f.Tag.Get("yaml")
			if _, there := got[key]; there && f.Tag.Get("secret") != "" && file != "simulator.yaml" {
				t.Errorf("%s: %s", file, key)
			}
		}
	}
}

// docs/operations.md has a row for each variable, with its key, and for no other.
func TestEveryVariableIsDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(MAPPY_[A-Z0-9_]+)` \\| (`[a-z0-9_.]+`)? ?\\|").FindAllStringSubmatch(string(b), -1) {
		got = append(got, row[1]+" "+strings.Trim(row[2], "`"))
	}
	want := variables(reflect.TypeFor[config.Config](), "")
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-program +documentation):\n%s", d)
	}
}

// docker-compose.yml is YAML, starts commands that exist, and sets variables that the program reads.
func TestCompose(t *testing.T) {
	t.Parallel()
	var c struct {
		Services map[string]struct {
			Command     any               `yaml:"command"`
			Environment map[string]string `yaml:"environment"`
			Healthcheck struct {
				Test []string `yaml:"test"`
			} `yaml:"healthcheck"`
		} `yaml:"services"`
	}
	read(t, "../docker-compose.yml", &c)
	known := map[string]bool{}
	for _, v := range variables(reflect.TypeFor[config.Config](), "") {
		name, _, _ := strings.Cut(v, " ")
		known[name] = true
	}
	for _, name := range []string{"migrate", "serve", "worker"} {
		s, ok := c.Services[name]
		if !ok {
			t.Fatalf("there is no service %s", name)
		}
		if args, ok := s.Command.([]any); !ok || len(args) == 0 || args[0] != name {
			t.Errorf("%s runs %v", name, s.Command)
		}
		if check := s.Healthcheck.Test; name != "migrate" && (len(check) == 0 || check[len(check)-1] != "ready") {
			t.Errorf("%s is checked by %v", name, check)
		}
		for v := range s.Environment {
			if !known[v] {
				t.Errorf("%s: the program reads no %s", name, v)
			}
		}
		if _, owner := s.Environment["MAPPY_OWNER_DATABASE_URL"]; owner != (name == "migrate") {
			t.Errorf("%s: the owner's URL is for migrate only", name)
		}
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// keys are the names of a struct's YAML keys.
func keys(of reflect.Type) (out []string) {
	for f := range of.Fields() {
		if k := f.Tag.Get("yaml"); k != "-" {
			out = append(out, k)
		}
	}
	return out
}

// variables are "NAME key" for each variable of the configuration; the key is empty where a file cannot set it.
func variables(of reflect.Type, prefix string) (out []string) {
	for f := range of.Fields() {
		key := f.Tag.Get("yaml")
		if name := f.Tag.Get("env"); name != "" {
			if key == "-" {
				out = append(out, name+" ")
			} else {
				out = append(out, name+" "+prefix+key)
			}
		} else if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[policy.Policy]() {
			out = append(out, variables(f.Type, prefix+key+".")...)
		}
	}
	return out
}
