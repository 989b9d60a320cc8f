package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/tools"
)

type listed []tools.Tool

func (l listed) List() []tools.Tool                                         { return l }
func (l listed) Call(context.Context, string, *tools.Call) (r tools.Result) { return r }

// F086, F087, F089: what would make clients drop a tool is refused at the start, all of it at once.
func TestNewChecksTools(t *testing.T) {
	t.Parallel()
	good := tools.Tool{Name: "post.create", Title: "T", Description: "D", Scope: "posts:write", Output: outputSchema()}
	build := func(list ...tools.Tool) error {
		_, err := mcpserver.New(mcpserver.Options{Tools: listed(list), Authenticator: &fakeAuth{}, PublicURL: "https://mappy.example"})
		return err
	}
	if err := build(good); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*tools.Tool)) tools.Tool {
		bad := good
		change(&bad)
		return bad
	}
	for _, name := range []string{"", "Post.create", "post-create", "_post.create", "post._create", "post..create", "post.create.", "post__create", strings.Repeat("a", 51)} {
		if err := build(with(func(b *tools.Tool) { b.Name = name })); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	err := build(good, with(func(b *tools.Tool) { b.Name = "post_create" }),
		with(func(b *tools.Tool) { b.Name, b.Title = "a.b", "" }),
		with(func(b *tools.Tool) { b.Name, b.Output = "a.c", nil }),
		with(func(b *tools.Tool) { b.Name, b.Output = "a.d", &jsonschema.Schema{Type: "array"} }),
		with(func(b *tools.Tool) {
			b.Name, b.Output = "a.e", &jsonschema.Schema{Type: "object", OneOf: []*jsonschema.Schema{{}}}
		}),
		with(func(b *tools.Tool) { b.Name, b.Scope = "a.f", "a\"b" }))
	for _, want := range []string{`share the name "post_create"`, `"a.b": title`, `"a.c": output schema: missing`, `"a.d": output schema: the root's type`, `"a.e": output schema: the root has`, `"a.f": scope`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
