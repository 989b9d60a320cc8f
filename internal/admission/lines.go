package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// lineMost is how much of a text stands in a line about one target, in characters; the preview has the whole.
const lineMost = 120

// planLines are the changes in one line each, at most shownNames of them. First comes, in whatever store, what puts a link or
// phone number on a profile that is not the tenant's own; then what the tool has words for, such as a store's own text; then
// what is published or taken away, unless it is the text of the question. What all posts have beside their text is said once.
func planLines(c *Call) string {
	plan := slices.DeleteFunc(slices.Clone(c.plan), func(r Planned) bool { return r.Already })
	parts := make([]string, len(plan))
	for i, r := range plan {
		parts[i] = partsOf(r.After, c.Principal.Locale)
	}
	common := ""
	if len(slices.Compact(slices.Clone(parts))) == 1 {
		common = parts[0]
	}
	var flagged, own, other []string
	for i, r := range plan {
		beside := parts[i]
		if common != "" {
			beside = ""
		}
		line := lineOf(r, c.change.Headline(), beside)
		switch {
		case line == "":
		case slices.ContainsFunc(c.foreign, func(f contact) bool { return f.of(r) }):
			flagged = append(flagged, line)
		case r.Line != "":
			own = append(own, line)
		default:
			other = append(other, line)
		}
	}
	lines := slices.Concat(flagged, own, other)
	if n := len(lines) - shownNames; n > 0 {
		lines = append(lines[:shownNames], fmt.Sprintf("… (+%d)", n))
	}
	if common != "" {
		lines = append([]string{common}, lines...)
	}
	var b strings.Builder
	for _, line := range append(foreignLines(c), lines...) {
		b.WriteString("- " + gbp.VisibleLine(line) + "\n")
	}
	return b.String()
}

// foreignMost is how many links and phone numbers of others a question names.
const foreignMost = 20

// foreignLines name every link and phone number that is not the tenant's own, and the store that it is for.
func foreignLines(c *Call) (out []string) {
	stores := map[string]int{}
	var spans []contact
	for _, f := range c.foreign {
		if stores[f.Span]++; stores[f.Span] == 1 {
			spans = append(spans, f)
		}
	}
	for i, f := range spans {
		if i == foreignMost {
			return append(out, fmt.Sprintf("… (+%d)", len(spans)-i))
		}
		line := f.Message + " " + f.Span
		if at := slices.IndexFunc(c.locations, func(l gbp.Location) bool { return l.ID == f.LocationID }); at >= 0 {
			line += " — " + c.locations[at].Profile.Title
		}
		if n := stores[f.Span] - 1; n > 0 {
			line += fmt.Sprintf(" … (+%d)", n)
		}
		out = append(out, line)
	}
	return out
}

// lineOf names what a change publishes, replaces or takes away at one store, with the parts that stand beside its text; "" when
// the question says it already.
func lineOf(r Planned, headline, parts string) string {
	if r.Line != "" {
		return joined(r.Line, parts)
	}
	was, is := wordsOf(r.Before), wordsOf(r.After)
	text := Short(is)
	switch {
	case len(r.After) == 0 && was != "":
		text = "− " + Short(was)
	case was != "" && is != "" && was != is:
		text = Short(was) + " → " + Short(is)
	case is == headline:
		text = ""
	}
	if text == "" && parts == "" {
		return ""
	}
	return r.Location.Profile.Title + " — " + joined(text, parts)
}

func joined(text, parts string) string {
	if text == "" || parts == "" {
		return text + parts
	}
	return text + "; " + parts
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
	parts := []string{w.Summary, w.Comment, w.Association.Category, w.Description, redact.Text(w.SourceURL)} // an address may be signed
	if w.Summary == "" {
		parts = append(parts, w.Event.Title)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// partsOf is what a post has beside its text: button, period, offer, photo and time of publication. "" for other things.
func partsOf(v gbp.View, l errs.Locale) string {
	var p gbp.LocalPost
	if len(v) == 0 || json.Unmarshal(v, &p) != nil {
		return ""
	}
	var out []string
	say := func(t errs.Text) { out = append(out, t.In(l)) }
	if a := p.CallToAction; a != nil {
		say(errs.Tf("ボタン %[1]s %[2]s", "button %[1]s %[2]s", a.ActionType, Short(a.URL)))
	}
	if e := p.Event; e != nil {
		s := e.Schedule
		say(errs.Tf("期間「%[1]s」 %[2]s – %[3]s", "period \"%[1]s\" %[2]s – %[3]s", Short(e.Title), moment(s.StartDate, s.StartTime), moment(s.EndDate, s.EndTime)))
	}
	if o := p.Offer; o != nil {
		say(errs.Tf("特典 %s", "offer %s", strings.Join(strings.Fields(Short(o.CouponCode)+" "+Short(o.RedeemOnlineURL)+" "+Short(o.TermsConditions)), " ")))
	}
	for _, m := range p.Media {
		say(errs.Tf("写真 %s", "photo %s", Short(redact.Text(m.SourceURL))))
	}
	if p.ScheduledTime != "" {
		say(errs.Tf("公開日時 %s", "published at %s", p.ScheduledTime))
	}
	return strings.Join(out, "; ")
}

func moment(d gbp.Date, t gbp.TimeOfDay) string {
	return fmt.Sprintf("%04d-%02d-%02d %02d:%02d", d.Year, d.Month, d.Day, t.Hours, t.Minutes)
}
