//go:build interop

package app_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/conformance"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// The official suite against the product as it is: everything in it that needs no fixture passes, at both addresses.
func TestInteropConformance(t *testing.T) {
	suite := conformance.New(t)
	listed := conformance.ReadList(t, "../../docs/conformance.md", "The product")
	for _, path := range []string{"/mcp", "/mcp/compat"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := interopStack(t, true)
			tokens := []string{s.Token}
			for _, user := range []authn.UserID{"jiro", "saburo", "shiro"} {
				tokens = append(tokens, s.AddUser(stack.Tenant, user, authn.Grants{All: true}, stack.Scopes(), stack.Roomy))
			}
			url := conformance.Doorman(t, s.URL, tokens...) + path
			for _, r := range conformance.Revisions {
				o := suite.Run(t, url, r)
				for _, problem := range listed.Compare(r, o) {
					t.Error(problem)
				}
				t.Logf("conformance %s: %s: %d of %d scenarios pass", r, path, o.Passed(), len(o))
			}
			if n := s.CreatedTotal(); n != 0 {
				t.Errorf("the suite made %d posts", n)
			}
		})
	}
}
