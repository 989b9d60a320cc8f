package tools_test

import (
	"os"
	"strings"
	"testing"
)

// Which scope opens which tool is said to operators as it is.
func TestScopesAreInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	opens := map[string][]string{}
	for _, tool := range set(t).List() {
		if tool.Scope != "" {
			opens[tool.Scope] = append(opens[tool.Scope], "`"+tool.Name+"`")
		}
	}
	for scope, tools := range opens {
		if row := "\n| `" + scope + "` | " + strings.Join(tools, ", ") + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/operations.md lacks the row%s", row)
		}
	}
}
