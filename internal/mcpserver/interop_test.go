//go:build interop

package mcpserver_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/conformance"
)

// The official suite finds in both eras what it finds in the protocol library alone, though all of it passes our front:
// the router, the middleware, the guard, and for what this package can express also our own results.
func TestInteropConformanceOfTheFront(t *testing.T) {
	suite := conformance.New(t)
	listed := conformance.ReadList(t, "../../docs/conformance.md", "The front with the suite's own fixtures")
	f := newFixtures(t)
	for _, r := range conformance.Revisions {
		o := suite.Run(t, f.URL+"/mcp", r)
		for _, problem := range listed.Compare(r, o) {
			t.Error(problem)
		}
		t.Logf("conformance %s: front with fixtures: %d of %d scenarios pass", r, o.Passed(), len(o))
	}
}
