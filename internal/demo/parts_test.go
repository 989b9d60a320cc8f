package demo

import (
	"bytes"
	"encoding/json"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// good are the facts of the story as it is told.
func good() facts {
	f := facts{
		Protocol: "2026-07-28", Previewed: targets, Refusal: errs.ConfirmationRequired, Executed: errs.ExecutedNo,
		Batch: "01B", Status: batch.Partial, Succeeded: 11, Failed: 1, FailedStore: 2, FailedWith: errs.GBPPermissionDenied,
		ReplayBatch: "01B", ReplayOutcome: "replayed", Denied: 2, Dropped: 3, Audit: audit.Report{Valid: true, Sealed: 1},
		Undone: tools.BatchView{Status: batch.Done, TargetCount: targets - 1},
	}
	for i := range int64(targets) {
		f.Stores = append(f.Stores, storeFacts{Location: i + 1, Creates: 1, Posts: 1})
	}
	f.Stores[1].Posts, f.Stores[1].Refused = 0, 403
	f.Stores[2].Unanswered, f.Stores[2].Reads = 1, 2
	return f
}

// A story that did not happen as it is told fails the run.
func TestCheckFindsEveryFault(t *testing.T) {
	t.Parallel()
	if err := good().check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*facts){
		"a post before consent":     func(f *facts) { f.BeforeConsent = 1 },
		"not refused":               func(f *facts) { f.Refusal = "" },
		"refused after executing":   func(f *facts) { f.Executed = errs.ExecutedUnknown },
		"preview of fewer":          func(f *facts) { f.Previewed = 11 },
		"all succeeded":             func(f *facts) { f.Status, f.Succeeded, f.Failed = batch.Done, 12, 0 },
		"another store failed":      func(f *facts) { f.FailedStore = 5 },
		"another batch":             func(f *facts) { f.ReplayBatch = "01C" },
		"executed again":            func(f *facts) { f.ReplayOutcome = "executed" },
		"asked again":               func(f *facts) { f.ReplayCreates = 1 },
		"a duplicate":               func(f *facts) { f.Stores[2].Posts = 2 },
		"a duplicate for a missing": func(f *facts) { f.Stores[2].Posts, f.Stores[4].Posts = 2, 0 },
		"sent again":                func(f *facts) { f.Stores[2].Creates = 2 },
		"not read back":             func(f *facts) { f.Stores[2].Reads = 0 },
		"undone in part":            func(f *facts) { f.Undone.Status = batch.Partial },
		"undone twice":              func(f *facts) { f.Undone.TargetCount = 12 },
		"a post is left":            func(f *facts) { f.Left = 1 },
		"a strange request":         func(f *facts) { f.Strange = 1 },
		"a broken chain":            func(f *facts) { f.Audit.Valid = false },
		"nothing sealed":            func(f *facts) { f.Audit.Sealed = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := good()
			spoil(&f)
			if f.check() == nil {
				t.Error("not noticed")
			}
		})
	}
}

func TestPretty(t *testing.T) {
	t.Parallel()
	got, err := pretty(postCall{LocationIDs: []int64{1, 20, 300}, Post: postText{Summary: "<b>渋谷</b> & [1, 2]"}, DryRun: true})
	want := "{\n  \"location_ids\": [1, 20, 300],\n  \"post\": {\n    \"summary\": \"<b>渋谷</b> & [1, 2]\"\n  },\n  \"dry_run\": true\n}"
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestColoursOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := newPrinter(&b)
	if got := p.paint(red, "x"); got != "x" {
		t.Errorf("painted %q", got)
	}
	p.colour = true
	if got := p.paint(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("painted %q", got)
	}
}

// What is printed to be pasted into files is JSON that names the address without dots in tool names.
func TestClientFilesAreJSON(t *testing.T) {
	t.Parallel()
	c := clients{url: "http://127.0.0.1:8080", token: "mappy_simulator_x"}
	desktop, err := c.claudeDesktop()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(desktop), &d); err != nil {
		t.Fatal(err)
	}
	m := d.MCPServers["mappy"]
	if m.Command != "npx" || !strings.Contains(strings.Join(m.Args, " "), c.compat()) || m.Env["MAPPY_AUTHORIZATION"] != "Bearer "+c.token {
		t.Errorf("%+v", m)
	}
	code, err := c.vsCode()
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Servers map[string]struct {
			Type, URL string
			Headers   map[string]string
		}
	}
	if err := json.Unmarshal([]byte(code), &v); err != nil {
		t.Fatal(err)
	}
	if s := v.Servers["mappy"]; s.Type != "http" || s.URL != "http://127.0.0.1:8080/mcp/compat" || s.Headers["Authorization"] != "Bearer "+c.token {
		t.Errorf("%+v", s)
	}
}

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "a b", "it's", `$HOME "x" \`, "postgres://u:p@/db?host=%2Ftmp&x=1", "渋谷"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+shellQuote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q became %q (%v)", s, out, err)
		}
	}
}

func TestListenTakesAFreePortInstead(t *testing.T) {
	t.Parallel()
	taken, err := listen(t.Context(), anyPort)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	other, err := listen(t.Context(), taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if a, ok := other.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() || other.Addr().String() == taken.Addr().String() {
		t.Errorf("got %s beside %s", other.Addr(), taken.Addr())
	}
}

func TestAddressed(t *testing.T) {
	t.Parallel()
	got, err := addressed("postgres://root:old@db:5433/postgres?sslmode=require&user=root&dbname=x", "mappy_demo_a", nil)
	if err != nil || got != "postgres://root:old@db:5433/mappy_demo_a?sslmode=require&user=root" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := addressed("postgres://u:secret@[", "x", nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
