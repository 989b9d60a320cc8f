package audit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
)

// Every constant of type Kind is among the kinds that a search knows.
func TestKindsAreComplete(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := audit.Kinds()
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		v, ok := node.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Kind" {
			word, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil || !slices.Contains(known, word) {
				t.Errorf("%s %q is missing: %v", v.Names[0].Name, word, err)
			}
			n++
		}
		return true
	})
	if n != len(known) || n == 0 {
		t.Errorf("%d constants, %d kinds", n, len(known))
	}
}
