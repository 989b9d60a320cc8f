package errs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
)

const pageHead = `# Error codes

Made from ` + "`internal/errs/catalogue.go` by `make golden`" + `. A refused call carries ` + "`error_code`, `status`, `executed` (`no`, `yes` or `unknown`) and `retry`" + `:

| ` + "`retry` is here" + ` | means |
|---|---|
| never | the same intent is refused again |
| after a change | something has to change first; the last column says what |
| after a delay | time alone helps: ` + "`retry.after_seconds`" + ` |
| look first | the write may have happened: never send it blindly |

"Same key" says whether the same ` + "`idempotency_key`" + ` may be sent again. Texts come in the tenant's language. Where more is known about a single
refusal, its own ` + "`retry`" + ` says so and wins over this page.
`

// The page of the catalogue for people.
func TestErrorsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(pageHead)
	rows := func(title, intro string, item bool) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| code | status | exit | retry | same key | when | what to do |\n|---|---|---|---|---|---|---|\n", title, intro)
		for _, i := range Catalogue() {
			if i.Item == item {
				fmt.Fprintf(&b, "| `%s` | %d | %d | %s | %s | %s | %s |\n", i.Code, i.Status, i.Exit, inWords[i.Retry], yes(i.SameKey), i.Meaning, i.How.EN)
			}
		}
	}
	rows("Refusals of a call", "Nothing was executed, unless `executed` says otherwise. `WRITES_DISABLED`, `GOOGLE_RECONNECT_REQUIRED`, `VERSION_CONFLICT` and `INTERNAL` are outcomes of single items, too.", false)
	rows("Outcomes of single items", "One store of an accepted batch. `retry_possible` of the item says whether `batch.retry` sends it again; a call with the same key only reports.", true)
	b.WriteString("\n## Exit codes of `mappy-mcp`\n\n0 is success, 1 an error outside of the catalogue.\n\n| exit | codes |\n|---|---|\n")
	exits := map[int][]string{}
	for _, i := range Catalogue() {
		exits[i.Exit] = append(exits[i.Exit], "`"+string(i.Code)+"`")
	}
	for _, exit := range slices.Sorted(maps.Keys(exits)) {
		fmt.Fprintf(&b, "| %d | %s |\n", exit, strings.Join(exits[exit], ", "))
	}
	golden.Compare(t, "../../docs/errors.md", b.String())
}

var inWords = map[RetryClass]string{RetryNever: "never", RetryAfterChange: "after a change", RetryAfterDelay: "after a delay", RetryUnknownOutcome: "look first"}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
