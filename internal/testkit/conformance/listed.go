package conformance

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Listed are the scenarios and checks that do not apply, each with the reason.
type Listed map[Entry]string

// Entry is one of a list. Without a check the whole scenario is meant: at least one of its checks does not pass.
type Entry struct {
	Revision Revision
	Scenario Scenario
	Check    Check
}

func (e Entry) String() string {
	if e.Check == "" {
		return string(e.Revision) + " " + string(e.Scenario)
	}
	return string(e.Revision) + " " + string(e.Scenario) + ": " + string(e.Check)
}

// ReadList reads the tables under a second-level heading of a Markdown file. Their rows are
// "| revisions | scenarios, each alone or with `: check` | reason |", with several revisions or scenarios apart by commas.
func ReadList(tb testing.TB, file, heading string) Listed {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	_, section, found := strings.Cut(string(b), "\n## "+heading+"\n")
	if !found {
		tb.Fatalf("%s has no section %q", file, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	out := Listed{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "2") {
			continue
		}
		for _, r := range list(cells[0]) {
			for _, s := range list(cells[1]) {
				scenario, check, _ := strings.Cut(strings.Trim(s, "`"), ":")
				e := Entry{Revision(r), Scenario(scenario), Check(strings.TrimSpace(check))}
				if _, twice := out[e]; twice || strings.TrimSpace(cells[2]) == "" {
					tb.Fatalf("%s: %s is listed twice or without a reason", file, e)
				}
				out[e] = strings.TrimSpace(cells[2])
			}
		}
	}
	return out
}

func list(cell string) (out []string) {
	for s := range strings.SplitSeq(cell, ",") {
		out = append(out, strings.TrimSpace(s))
	}
	return out
}

// Compare gives everything in which an outcome differs from the list, sorted: what fails and is not listed, what is
// listed and passes or was never run, and scenarios in which nothing was checked.
func (l Listed) Compare(r Revision, o Outcome) (problems []string) {
	for scenario, checks := range o {
		_, whole := l[Entry{r, scenario, ""}]
		good, bad := 0, 0
		for check, status := range checks {
			e := Entry{r, scenario, check}
			_, single := l[e]
			switch {
			case status == Success && single:
				problems = append(problems, fmt.Sprintf("%s passes: take it off the list", e))
			case status == Success:
				good++
			case !single && !whole:
				problems = append(problems, fmt.Sprintf("%s: %s", e, status))
			case !single:
				bad++
			}
		}
		switch {
		case whole && bad == 0:
			problems = append(problems, fmt.Sprintf("%s passes: take it off the list", Entry{r, scenario, ""}))
		case !whole && good == 0:
			problems = append(problems, fmt.Sprintf("%s: nothing in it was found good", Entry{r, scenario, ""}))
		}
	}
	for e := range l {
		if _, run := o[e.Scenario]; e.Revision == r && !run {
			problems = append(problems, fmt.Sprintf("%s is listed and was not run", e))
		} else if _, run := o[e.Scenario][e.Check]; e.Revision == r && e.Check != "" && !run {
			problems = append(problems, fmt.Sprintf("%s is listed and was not checked", e))
		}
	}
	slices.SortFunc(problems, cmp.Compare[string])
	return problems
}
