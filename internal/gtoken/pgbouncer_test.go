//go:build interop

package gtoken_test

import (
	"os"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/localstack"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// F164: through PgBouncer in transaction mode, where a lock of a session would hold nothing, three processes whose
// transactions share two server connections still refresh once.
func TestInteropF164OneRefreshThroughPgBouncer(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	b, err := localstack.StartPgBouncer(t.Context(), localstack.Options{Log: os.Stderr}, s.Config.DatabaseURL, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	c := crowdAt(t, s, b.URL())
	c.expire()
	before := c.refreshes()
	token := c.one(c.want(""), "after it ran out")
	if n := c.refreshes() - before; n != 1 {
		t.Errorf("%d refreshes", n)
	}
	if next := c.one(c.want(token), "after a refusal"); next == token || c.refreshes()-before != 2 {
		t.Errorf("%d refreshes after a refusal", c.refreshes()-before)
	}
}
