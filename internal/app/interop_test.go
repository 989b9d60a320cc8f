//go:build interop

package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/npm"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Clients that we did not write complete the story over HTTP, with sessions for older clients and without.
func TestInterop(t *testing.T) {
	box := npm.New(t, os.DirFS("testdata/interop/clients"))
	for _, sessions := range []bool{true, false} {
		t.Run(fmt.Sprintf("sessions %v", sessions), func(t *testing.T) {
			for _, c := range clients() {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					s := interopStack(t, sessions)
					got := c.play(t, box, s)
					got.judge(t, s, c.protocol, c.Underscored)
					if got.exposes() != c.exposes {
						t.Errorf("the client hands on %s, want %s", got.exposes(), c.exposes)
					}
					if want := sessions && c.protocol == legacy; got.Session != nil && *got.Session != want {
						t.Errorf("session: %v, want %v", *got.Session, want)
					}
					if !t.Failed() {
						t.Logf("%s, %s, sessions %v: list, preview, refusal, confirmation, batch done, replay, two errors; hands on %s", c.name, got.Protocol, sessions, got.exposes())
					}
				})
			}
			t.Run("inspector", func(t *testing.T) {
				t.Parallel()
				inspectAll(t, box, interopStack(t, sessions))
				if !t.Failed() {
					t.Logf("inspector, legacy and auto, sessions %v: nothing to say with --strict; preview, refusal; both addresses", sessions)
				}
			})
		})
	}
}

func interopStack(t *testing.T, sessions bool) *stack.Stack {
	t.Helper()
	return stack.New(t, stack.Options{Policy: stack.Roomy, Config: func(c *config.Config) { c.LegacySessions = sessions }})
}

// Exit codes of the inspector's command line: a result, and a result with isError. An error-level schema problem gives 6.
const (
	inspectorResult = 0
	inspectorError  = 5
)

// inspectAll looks at both endpoints in both eras: the schemas, a call that succeeds and one that is refused.
func inspectAll(t *testing.T, b *npm.Box, s *stack.Stack) {
	t.Helper()
	post := stack.Post(s.IDs(5), "新作の抹茶ラテが始まりました。")
	for path, tool := range map[string]string{"/mcp": "post.create", "/mcp/compat": "post_create"} {
		for _, era := range []string{"legacy", "auto"} {
			i := inspector{box: b, stack: s, path: path, era: era}
			// With --strict the inspector names on stderr what other hosts and models would stumble over in a schema.
			if r := i.run(t, inspectorResult, "tools/list", "--strict"); r.Stderr != "" || !strings.Contains(r.Stdout, `"`+tool+`"`) {
				t.Errorf("%s %s: %s listed: %v, schema problems: %s", path, era, tool, strings.Contains(r.Stdout, `"`+tool+`"`), r.Stderr)
			}
			preview := stack.Into[tools.Write](t, i.call(t, inspectorResult, tool, post.With("dry_run", true))).Preview
			if preview == nil || !preview.WouldExecute {
				t.Errorf("%s %s: preview: %+v", path, era, preview)
			}
			if a := i.call(t, inspectorError, tool, post); a.ErrorCode != errs.ConfirmationRequired {
				t.Errorf("%s %s: without a token: %s", path, era, a.Text)
			}
		}
	}
	if n := s.CreatedTotal(); n != 0 {
		t.Errorf("%d posts, though nobody confirmed", n)
	}
}

// inspector is the MCP Inspector's command line on one endpoint. An era of "auto" asks for the newest protocol first.
type inspector struct {
	box       *npm.Box
	stack     *stack.Stack
	path, era string
}

func (i inspector) run(t *testing.T, want int, method string, args ...string) npm.Result {
	t.Helper()
	// The transport is named because the inspector guesses it from the URL's end, and knows no end but /mcp and /sse.
	r := i.box.Run(t, nil, append([]string{
		"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", i.stack.URL + i.path, "--transport", "http",
		"--header", "Authorization: Bearer " + i.stack.Token, "--stored-auth-only", "--protocol-era", i.era, "--format", "json", "--method", method,
	}, args...)...)
	if r.Code != want {
		t.Fatalf("%s %s %s %v: exit %d, want %d\n%s%s", i.path, i.era, method, args, r.Code, want, r.Stdout, r.Stderr)
	}
	return r
}

func (i inspector) call(t *testing.T, want int, tool string, args stack.Args) stack.Answer {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r := i.run(t, want, "tools/call", "--tool-name", tool, "--tool-args-json", string(raw))
	var got struct {
		Result shown `json:"result"`
	}
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatalf("%s %s %s: %v\n%s", i.path, i.era, tool, err, r.Stdout)
	}
	return got.Result.answer(t)
}
