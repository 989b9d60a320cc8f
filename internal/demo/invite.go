package demo

import (
	"fmt"
	"os"
	"strings"
)

// invite prints how to connect clients and operators to what stays up.
func invite(p *printer, s *stage) error {
	c := clients{url: s.serverURL, token: s.token}
	desktop, err := c.claudeDesktop()
	if err != nil {
		return err
	}
	code, err := c.vsCode()
	if err != nil {
		return err
	}
	p.table([][]string{
		{"what", "where"},
		{"MCP, tools as post.create", s.serverURL + "/mcp"},
		{"MCP, tools as post_create", s.serverURL + "/mcp/compat"},
		{"token", s.token},
		{"Google, for people", s.simURL + "/"},
		{"metrics", s.adminURL + "/metrics"},
	})
	for _, part := range []struct{ title, text string }{
		{"Claude Code", c.claudeCode()},
		{"Claude Desktop: claude_desktop_config.json (it starts programs, so a bridge speaks HTTP for it)", desktop},
		{"VS Code: .vscode/mcp.json", code},
		{"MCP Inspector, command line (Node 22.19 or newer)", c.inspector()},
		{"Let 新宿店 (Shinjuku) refuse: the next post on it fails with 403", s.refusal()},
		{"Operator's commands in another terminal", s.operator()},
	} {
		p.line("\n" + p.paint(bold, "── "+part.title))
		p.line(part.text)
	}
	p.line("\n" + p.paint(bold, "── Then ask your agent, for example"))
	p.line("渋谷店から北千住店までの12店舗に、新作の抹茶ラテの投稿を出して。先にプレビューを見せて。")
	p.line("(Publish a post about the new matcha latte on the 12 stores from Shibuya to Kita-Senju; show me the preview first.)")
	p.line("\nEverything is private to this run. Ctrl-C stops it and removes the data.")
	return nil
}

// refusal is a call of the simulator's admin API.
func (s *stage) refusal() string {
	return fmt.Sprintf(`curl -X POST %s/admin/faults -d '{"route":"localPosts.create","location":"%s","answer":"error","status":403,"count":1}'`,
		s.simURL, s.googleName("SHINJUKU001"))
}

// operator is the environment of this deployment and what to do with it. The keyring seals the simulator's made-up Google
// token and nothing else.
func (s *stage) operator() string {
	c := s.config
	var b strings.Builder
	for _, v := range []struct{ name, value string }{
		{"MAPPY_ENVIRONMENT", c.Environment},
		{"MAPPY_DATABASE_URL", c.DatabaseURL},
		{"MAPPY_REDIS_URL", c.RedisURL},
		{"MAPPY_GOOGLE_BASE_URL", c.GoogleBaseURL},
		{"MAPPY_GOOGLE_CLIENT_ID", c.GoogleClientID},
		{"MAPPY_GOOGLE_CLIENT_SECRET", c.GoogleClientSecret},
		{"MAPPY_GOOGLE_PROJECT", c.Google.Project},
		{"MAPPY_KEYRING_B64", c.KeyringB64},
		{"MAPPY_LISTEN", strings.TrimPrefix(s.serverURL, "http://")}, // where this run's are: others may have the usual ports
		{"MAPPY_ADMIN_LISTEN", strings.TrimPrefix(s.adminURL, "http://")},
		{"MAPPY_TOKEN", s.token}, // for batch undo, batch retry and stdio
	} {
		fmt.Fprintf(&b, "export %s=%s\n", v.name, shellQuote(v.value))
	}
	for _, args := range []string{"ready", "batch undo BATCH_ID --dry-run", "audit list", "audit verify", "batch list", "kill on --reason 'a test'", "kill off"} {
		b.WriteString(program() + " " + args + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// program is how this program is started again: `go run` leaves no file behind that could be named.
func program() string {
	exe, err := os.Executable()
	if err != nil || strings.Contains(exe, "go-build") {
		return "go run ./cmd/mappy-mcp"
	}
	return shellQuote(exe)
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@+,", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
