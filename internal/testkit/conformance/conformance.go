// Package conformance runs the official conformance suite of the Model Context Protocol (npm package
// @modelcontextprotocol/conformance, version in suite/package.json) against a server, and compares what does not pass with
// the list of docs/conformance.md.
package conformance

import (
	"embed"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/npm"
)

// Revisions are the protocol revisions whose requirement sets the suite has: one for each of the two eras.
var Revisions = []Revision{"2025-11-25", "2026-07-28"}

// Revision is a revision of the protocol.
type Revision string

// Scenario is one of the suite's, such as "tools-list".
type Scenario string

// Check is one observation in a scenario; "" stands for the scenario as a whole.
type Check string

// Status is how a check ended.
type Status string

// The suite's words, the best first. INFO is its protocol of what was sent and says nothing about the server.
const (
	Success Status = "SUCCESS"
	Skipped Status = "SKIPPED"
	Warning Status = "WARNING"
	Failure Status = "FAILURE"
	info    Status = "INFO"
)

func (s Status) worse(than Status) bool {
	rank := map[Status]int{Success: 1, Skipped: 2, Warning: 3, Failure: 4}
	return rank[s] > rank[than]
}

// Outcome is the worst status of every check, by scenario.
type Outcome map[Scenario]map[Check]Status

// Passed counts the scenarios in which something was checked and all of it is fine.
func (o Outcome) Passed() (n int) {
	for _, checks := range o {
		fine := len(checks) > 0
		for _, s := range checks {
			fine = fine && s == Success
		}
		if fine {
			n++
		}
	}
	return n
}

// suite is the package's lock.
//
//go:embed suite/package.json suite/package-lock.json
var suite embed.FS

// Suite is the suite, fetched.
type Suite struct{ box *npm.Box }

// New fetches the suite where it is not in the cache yet.
func New(tb testing.TB) *Suite {
	tb.Helper()
	lock, err := fs.Sub(suite, "suite")
	if err != nil {
		tb.Fatal(err)
	}
	return &Suite{npm.New(tb, lock)}
}

// stamp is what the suite puts behind a scenario's name: the time of its run.
var stamp = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

// Run runs what a revision requires of servers, and what the suite runs beside it without scoring. The suite sends no
// token: url has to let it in.
func (s *Suite) Run(tb testing.TB, url string, r Revision) Outcome {
	tb.Helper()
	out := tb.TempDir()
	res := s.box.Run(tb, nil, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
		"--url", url, "--requirements", string(r), "--timeout", "20000", "--output-dir", out)
	entries, err := os.ReadDir(out)
	if err != nil {
		tb.Fatal(err)
	}
	o := Outcome{}
	for _, e := range entries {
		m := stamp.FindStringSubmatch(e.Name())
		if m == nil {
			tb.Fatalf("the suite wrote %q", e.Name())
		}
		b, err := os.ReadFile(filepath.Join(out, e.Name(), "checks.json"))
		if err != nil {
			tb.Fatal(err)
		}
		o[Scenario(m[1])] = decode(tb, b)
	}
	// Its exit code says the same as the checks, for those that it scores; without checks it broke.
	if len(o) == 0 {
		tb.Fatalf("the suite checked nothing: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	return o
}

// decode reads one scenario's checks. Ids repeat where a check is made in a loop.
func decode(tb testing.TB, b []byte) map[Check]Status {
	tb.Helper()
	var checks []struct {
		ID     Check  `json:"id"`
		Status Status `json:"status"`
	}
	if err := json.Unmarshal(b, &checks); err != nil {
		tb.Fatalf("the suite's checks: %v\n%s", err, b)
	}
	out := map[Check]Status{}
	for _, c := range checks {
		if c.Status != info && c.Status.worse(out[c.ID]) {
			out[c.ID] = c.Status
		}
	}
	return out
}
