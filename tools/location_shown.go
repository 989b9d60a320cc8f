package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// Bounds of what an answer shows of one store: the body in bytes, special hours in entries. Longer special hours are shown with
// equal days in a row as one range.
const (
	sentMost    = 6_000
	specialMost = 40
	// shownMost is the most entries that are shown at all.
	shownMost = 120
)

// shownChanges are changes as a preview shows them, and how many entries it leaves out. Of special hours that stay too long only
// the entries that differ are shown.
func shownChanges(changed []profile.FieldChange) (out []profile.FieldChange, omitted int) {
	out = slices.Clone(changed)
	for i, c := range out {
		if c.Field != profile.Special {
			continue
		}
		before, after := specialIn(c.Before), specialIn(c.After)
		if max(len(before), len(after)) <= specialMost {
			continue
		}
		before, after = ranges(before), ranges(after)
		if max(len(before), len(after)) > shownMost {
			before, after = ranges(without(specialIn(c.Before), specialIn(c.After))), ranges(without(specialIn(c.After), specialIn(c.Before)))
			omitted += max(0, len(before)-shownMost) + max(0, len(after)-shownMost)
			before, after = before[:min(len(before), shownMost)], after[:min(len(after), shownMost)]
		}
		out[i].Before, out[i].After = wordOf(before), wordOf(after)
	}
	return out, omitted
}

func specialIn(word json.RawMessage) []profile.SpecialHours {
	var list []profile.SpecialHours
	if json.Unmarshal(word, &list) != nil {
		return nil // words of this program always can
	}
	return list
}

func wordOf(list []profile.SpecialHours) json.RawMessage {
	if list == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(gbp.ViewOf(list))
}

// without are the entries of a list that another one has not.
func without(list, other []profile.SpecialHours) []profile.SpecialHours {
	known := make(map[profile.SpecialHours]bool, len(other))
	for _, h := range other {
		known[h] = true
	}
	return slices.DeleteFunc(list, func(h profile.SpecialHours) bool { return known[h] })
}

// ranges puts days in a row with one and the same entry together.
func ranges(list []profile.SpecialHours) []profile.SpecialHours {
	days := map[string]int{}
	for _, h := range list {
		days[h.Date]++
	}
	var out []profile.SpecialHours
	for _, h := range list {
		if n := len(out) - 1; n >= 0 && days[h.Date] == 1 && continued(out[n], h, days) {
			if out[n].From == "" {
				out[n].From = out[n].Date
			}
			out[n].Date, out[n].To = "", h.Date
			continue
		}
		out = append(out, h)
	}
	return out
}

// continued tells whether h is the same on the day behind the last one of range r.
func continued(r, h profile.SpecialHours, days map[string]int) bool {
	last := r.Date
	if last == "" {
		last = r.To
	}
	t, err := time.Parse(time.DateOnly, last)
	if err != nil || days[last] != 1 || t.AddDate(0, 0, 1).Format(time.DateOnly) != h.Date {
		return false
	}
	r.Date, r.From, r.To, h.Date = "", "", "", ""
	return r == h
}

// lineMost bounds a value in the line about a change.
const lineMost = 60

// changeLine says in one line what a change does to a store, for the question to a person: short values with what they were,
// others by name.
func changeLine(l gbp.Location, changed []profile.FieldChange, locale errs.Locale) string {
	parts := make([]string, len(changed))
	for i, c := range changed {
		parts[i] = c.Field
		if short(c.Before) && short(c.After) {
			parts[i] += ": " + inLine(c.Before, locale) + " → " + inLine(c.After, locale)
		} else if d := entryDiff(c.Before, c.After); d != "" {
			parts[i] += ": " + d
		}
	}
	return l.Profile.Title + " — " + strings.Join(parts, "; ")
}

// entryDiff says which entries of a list a change takes away (−) and adds (+), each by its values; "" for what is no list, and
// for more than a line holds.
func entryDiff(before, after json.RawMessage) string {
	var was, is []json.RawMessage
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil {
		return ""
	}
	var out []string
	for _, side := range []struct {
		sign         string
		these, those []json.RawMessage
	}{{"− ", was, is}, {"+ ", is, was}} {
		for _, e := range side.these {
			if !slices.ContainsFunc(side.those, func(o json.RawMessage) bool { return bytes.Equal(e, o) }) {
				out = append(out, side.sign+entryWords(e))
			}
		}
	}
	line := strings.Join(out, ", ")
	if len([]rune(line)) > 4*lineMost {
		return ""
	}
	return line
}

// entryWords are the values of an entry one after the other, what is true or false with its name; an entry with more inside is
// shown as it is.
func entryWords(entry json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(entry))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return strings.Trim(string(entry), `"`)
	}
	var out []string
	for d.More() {
		name, err1 := d.Token()
		value, err2 := d.Token()
		switch v := value.(type) {
		case string:
			out = append(out, v)
		case bool:
			out = append(out, fmt.Sprintf("%v: %v", name, v))
		default:
			return string(entry)
		}
		if err1 != nil || err2 != nil {
			return string(entry)
		}
	}
	return strings.Join(out, " ")
}

// short tells whether a value in words can stand in a line: a text, nothing, or a small object such as categories.
func short(word json.RawMessage) bool {
	return len(word) > 0 && word[0] != '[' && len([]rune(string(word))) <= 2*lineMost
}

func inLine(word json.RawMessage, locale errs.Locale) string {
	var s string
	switch {
	case bytes.Equal(word, []byte("null")):
		return errs.T("(なし)", "(none)").In(locale)
	case json.Unmarshal(word, &s) != nil:
		s = string(word)
	}
	return s
}
