package app_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// A host starts the real binary as a child and completes the story over its pipes, while the workers run elsewhere.
func TestStdioStory(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "mappy-mcp")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/mappy-dev/mappy-mcp/cmd/mappy-mcp")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, c := range []struct {
		name, version, protocol string
		underscored             bool
	}{
		{"2026", "", "2026-07-28", false},
		{"2025 underscored", "2025-11-25", "2025-11-25", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stack.New(t, stack.Options{NoServer: true, Policy: stack.Roomy})
			p := startPlayer(t, s, binary, c.version, c.underscored)
			got := p.play()
			got.judge(t, s, c.protocol, c.underscored)
			if err := p.session.Close(); err != nil {
				t.Errorf("the child did not end well after its input: %v", err)
			}
			if p.stderr.Len() != 0 {
				t.Errorf("a quiet run says on standard error: %s", &p.stderr)
			}
		})
	}
}

// player plays the story as a client of a child process.
type player struct {
	t           *testing.T
	session     *mcp.ClientSession
	underscored bool
	stderr      bytes.Buffer
}

func startPlayer(t *testing.T, s *stack.Stack, binary, version string, underscored bool) *player {
	t.Helper()
	p := &player{t: t, underscored: underscored}
	cmd := exec.CommandContext(t.Context(), binary, "stdio")
	if underscored {
		cmd.Args = append(cmd.Args, "--tool-names=underscore")
	}
	cmd.Env, cmd.Stderr = append(bareEnviron(), variables(s)...), &p.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "stdio-test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting: %v\n%s", err, &p.stderr)
	}
	t.Cleanup(func() { _ = session.Close() })
	p.session = session
	return p
}

// bareEnviron is the environment without what configures the product, so that nothing but variables does.
func bareEnviron() (out []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MAPPY_") {
			out = append(out, v)
		}
	}
	return out
}

// variables configure a process like the stack.
func variables(s *stack.Stack) []string {
	c := s.Config
	return []string{
		"MAPPY_ENVIRONMENT=" + c.Environment, "MAPPY_DATABASE_URL=" + c.DatabaseURL, "MAPPY_REDIS_URL=" + c.RedisURL, "MAPPY_KEYRING_B64=" + c.KeyringB64,
		"MAPPY_GOOGLE_BASE_URL=" + c.GoogleBaseURL, "MAPPY_GOOGLE_CLIENT_ID=" + c.GoogleClientID, "MAPPY_GOOGLE_CLIENT_SECRET=" + c.GoogleClientSecret,
		"MAPPY_GOOGLE_REQUESTS_PER_MINUTE=" + strconv.Itoa(c.Google.RequestsPerMinute), "MAPPY_GOOGLE_EDITS_PER_MINUTE=" + strconv.Itoa(c.Google.EditsPerMinute),
		"MAPPY_GOOGLE_USER_ITEMS=" + strconv.Itoa(c.Google.UserItems), "MAPPY_LOG_LEVEL=" + c.LogLevel, "MAPPY_TOKEN=" + s.Token,
	}
}

func (p *player) call(tool string, args stack.Args) shown {
	p.t.Helper()
	if p.underscored {
		tool = strings.ReplaceAll(tool, ".", "_")
	}
	res, err := p.session.CallTool(p.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", tool, err, &p.stderr)
	}
	b, err := json.Marshal(res)
	if err != nil {
		p.t.Fatal(err)
	}
	var r shown
	if err := json.Unmarshal(b, &r); err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *player) play() (got transcript) {
	p.t.Helper()
	got.Protocol = p.session.InitializeResult().ProtocolVersion
	list, err := p.session.ListTools(p.t.Context(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		got.Tools = append(got.Tools, tool.Name)
	}
	got.Locations = p.call("location.list", stack.Args{"page_size": 200})
	var ids []int64
	for _, l := range stack.Into[tools.LocationPage](p.t, got.Locations.answer(p.t)).Locations[:5] {
		ids = append(ids, int64(l.LocationID))
	}
	post := stack.Post(ids, "新作の抹茶ラテが始まりました。{{location.title}}でお待ちしています。")
	keyed := post.With("idempotency_key", "stdio-story-1")
	got.Preview = p.call("post.create", post.With("dry_run", true))
	got.Refused = p.call("post.create", keyed)
	refusal := got.Refused.answer(p.t)
	if refusal.Details == nil {
		p.t.Fatalf("refused: %s", got.Refused.StructuredContent)
	}
	confirmed := keyed.With("confirm_token", refusal.Details.ConfirmToken)
	got.Accepted = p.call("post.create", confirmed)
	accepted := stack.Into[tools.Write](p.t, got.Accepted.answer(p.t)).Accepted
	for range 4 {
		got.Final = p.call("batch.status", stack.Args{"batch_id": accepted.BatchID, "wait_seconds": 25, "items": "all"})
		if v := stack.Into[tools.BatchView](p.t, got.Final.answer(p.t)); v.Status == batch.Done {
			break
		}
	}
	got.Replay = p.call("post.create", confirmed)
	got.Invalid = p.call("post.create", post.With("dryRun", true))
	got.Foreign = p.call("post.create", stack.Post(append(ids, 99999999), "新作の抹茶ラテが始まりました。"))
	got.Batches = p.call("batch.list", stack.Args{})
	return got
}
