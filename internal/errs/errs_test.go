package errs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// Every constant of type Code has exactly one row: a code without advice cannot be added by accident.
func TestEveryCodeHasARow(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "catalogue.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[Code]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Code" {
			s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared[Code(s)] = true
		}
		return true
	})
	if len(declared) < 40 {
		t.Fatalf("found only %d code constants", len(declared))
	}
	seen := map[Code]int{}
	for _, i := range Catalogue() {
		seen[i.Code]++
		if i.Status < 400 || i.Exit == 0 || i.Retry == "" || i.Meaning == "" || i.How.JA == "" || i.How.EN == "" {
			t.Errorf("%s: incomplete row %+v", i.Code, i)
		}
		if !declared[i.Code] {
			t.Errorf("%s has a row and no constant", i.Code)
		}
	}
	for c := range declared {
		if seen[c] != 1 {
			t.Errorf("%s has %d rows", c, seen[c])
		}
	}
}

func TestFromHidesTheUncatalogued(t *testing.T) {
	e := From(errors.New("password=hunter2"))
	if e.Code != Internal {
		t.Fatalf("code %s", e.Code)
	}
	p := e.Public(English, "r1")
	if got := fmt.Sprint(p); got == "" || p.Status != 500 || p.Executed != ExecutedNo || p.RequestID != "r1" {
		t.Fatalf("%+v", p)
	}
	if p.Message != textInternal.EN {
		t.Fatalf("the cause leaks: %q", p.Message)
	}
}

func TestWrapKeepsTheNearestError(t *testing.T) {
	inner := New(RateLimited, T("限", "limit"))
	if got := Wrap(Unavailable, fmt.Errorf("asking: %w", inner), T("x", "x")); !errors.Is(got, inner) || CodeOf(got) != RateLimited {
		t.Fatalf("got %v", got)
	}
}
