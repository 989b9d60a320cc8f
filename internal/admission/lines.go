package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// lineMost is how much of a text stands in a line about one target, in characters; the preview has the whole.
const lineMost = 120

// planLines are the changes in one line each, at most shownNames of them: first those that the tool has words for, such as a
// store's own text, then what is published or taken away, unless it is the text of the question.
func planLines(c *Call) string {
	var own, other []string
	for _, r := range c.plan {
		if r.Already {
			continue
		}
		if r.Line != "" {
			own = append(own, r.Line)
		} else if l := lineOf(r, c.change.Headline()); l != "" {
			other = append(other, l)
		}
	}
	lines := slices.Concat(own, other)
	if n := len(lines) - shownNames; n > 0 {
		lines = append(lines[:shownNames], fmt.Sprintf("… (+%d)", n))
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("- " + gbp.Visible(l) + "\n")
	}
	return b.String()
}

// lineOf names what a change publishes, or takes away, at one store; "" when the question says it already.
func lineOf(r Planned, headline string) string {
	sign, shown := "", r.After
	if len(shown) == 0 {
		sign, shown = "− ", r.Before
	}
	text := wordsOf(shown)
	if text == "" || text == headline {
		return ""
	}
	return gbp.VisibleLine(r.Location.Profile.Title) + " — " + sign + Short(text)
}

// Short is the beginning of a text, for a line.
func Short(text string) string {
	text = gbp.VisibleLine(text)
	if r := []rune(text); len(r) > lineMost {
		return fmt.Sprintf("%s… (%d)", string(r[:lineMost]), len(r))
	}
	return text
}

// wordsOf are the words of a post, a reply, or a photo or video with what it is; "" for other things.
func wordsOf(v gbp.View) string {
	var w struct {
		Summary string `json:"summary"`
		Event   struct {
			Title string `json:"title"`
		} `json:"event"`
		Comment     string `json:"comment"`
		Association struct {
			Category string `json:"category"`
		} `json:"locationAssociation"`
		SourceURL   string `json:"sourceUrl"`
		Description string `json:"description"`
	}
	if len(v) == 0 || json.Unmarshal(v, &w) != nil {
		return ""
	}
	parts := []string{w.Summary, w.Comment, w.Association.Category, w.Description, w.SourceURL}
	if w.Summary == "" {
		parts = append(parts, w.Event.Title)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
