package demo

import "fmt"

// clients makes the lines that connect known MCP clients; those for npm packages name the version that they were tried with. Those whose model APIs allow no dots in tool names get the
// address that lists them with underscores.
type clients struct{ url, token string }

func (c clients) compat() string { return c.url + "/mcp/compat" }

func (c clients) claudeCode() string {
	return fmt.Sprintf(`claude mcp add --transport http mappy %s --header "Authorization: Bearer %s"`, c.compat(), c.token)
}

// claudeDesktop is its configuration file. The header's value comes from the environment because some hosts split
// arguments at spaces.
func (c clients) claudeDesktop() (string, error) {
	type server struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
	}
	return pretty(map[string]map[string]server{"mcpServers": {"mappy": {
		Command: "npx", Args: []string{"-y", "mcp-remote@0.15.1", c.compat(), "--header", "Authorization:${MAPPY_AUTHORIZATION}"},
		Env: map[string]string{"MAPPY_AUTHORIZATION": "Bearer " + c.token},
	}}})
}

func (c clients) vsCode() (string, error) {
	type server struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	return pretty(map[string]map[string]server{"servers": {"mappy": {Type: "http", URL: c.compat(), Headers: map[string]string{"Authorization": "Bearer " + c.token}}}})
}

func (c clients) inspector() string {
	return fmt.Sprintf(`npx -y @modelcontextprotocol/inspector@2.12.0 --cli %s/mcp --transport http --header "Authorization: Bearer %s" --stored-auth-only --method tools/list`, c.url, c.token)
}
