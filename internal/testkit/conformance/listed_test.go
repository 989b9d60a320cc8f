package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = `# Conformance

## Other

| 2025 | ` + "`not-ours`" + ` | other section |

## Ours

| revision | scenarios and checks | why |
|---|---|---|
| 2025, 2026 | ` + "`whole`, `parts: second`" + ` | no fixture |
| 2026 | ` + "`gone`" + ` | no fixture |

## Next

| 2026 | ` + "`not-ours`" + ` | other section |
`

// Whatever differs from the list is said: new failures, entries that pass, entries that were never looked at, and
// scenarios in which nothing was found good.
func TestCompareSaysEveryDifference(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "list.md")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	l := ReadList(t, file, "Ours")
	want := Listed{
		{"2025", "whole", ""}: "no fixture", {"2026", "whole", ""}: "no fixture", {"2025", "parts", "second"}: "no fixture",
		{"2026", "parts", "second"}: "no fixture", {"2026", "gone", ""}: "no fixture",
	}
	if d := cmp.Diff(want, l); d != "" {
		t.Fatalf("list (-want +got):\n%s", d)
	}
	for name, c := range map[string]struct {
		outcome Outcome
		want    []string
	}{
		"as listed": {Outcome{"whole": {"a": Success, "b": Failure}, "parts": {"first": Success, "second": Skipped}, "free": {"x": Success}}, nil},
		"new failures": {
			Outcome{"whole": {"b": Warning}, "parts": {"first": Warning, "second": Failure}, "free": {"x": Success, "y": Failure}},
			[]string{"2025 free: y: FAILURE", "2025 parts: first: WARNING", "2025 parts: nothing in it was found good"},
		},
		"listed and passing": {
			Outcome{"whole": {"a": Success, "b": Success}, "parts": {"first": Success, "second": Success}},
			[]string{"2025 parts: second passes: take it off the list", "2025 whole passes: take it off the list"},
		},
		"listed and not looked at": {Outcome{"parts": {"first": Success}}, []string{"2025 parts: second is listed and was not checked", "2025 whole is listed and was not run"}},
		"nothing checked": {
			Outcome{"whole": {"b": Failure}, "parts": {"first": Success, "second": Failure}, "free": {}},
			[]string{"2025 free: nothing in it was found good"},
		},
	} {
		if d := cmp.Diff(c.want, l.Compare("2025", c.outcome)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Of checks that repeat, the worst counts; the suite's own notes count for nothing.
func TestDecodeKeepsTheWorst(t *testing.T) {
	t.Parallel()
	got := decode(t, []byte(`[{"id":"a","status":"SUCCESS"},{"id":"a","status":"WARNING"},{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"SKIPPED"}]`))
	if d := cmp.Diff(map[Check]Status{"a": Warning, "c": Skipped}, got); d != "" {
		t.Errorf("checks (-want +got):\n%s", d)
	}
}

// Every reason in the document of this repository can be read.
func TestTheDocumentIsReadable(t *testing.T) {
	t.Parallel()
	for _, heading := range []string{"The product", "The front with the suite's own fixtures"} {
		for e, why := range ReadList(t, "../../../docs/conformance.md", heading) {
			if e.Scenario == "" || strings.ContainsAny(string(e.Scenario+Scenario(e.Check)), "`| ") || len(why) < 10 {
				t.Errorf("%q: %s: %s", heading, e, why)
			}
		}
	}
}
