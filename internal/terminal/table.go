// Package terminal is what both the command line and the demo print for people: tables that line up, audit events as their rows, the
// verdict on the audit's chain, and numbers of things.
package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Table gives rows as lines whose columns line up also where characters are two columns wide; nothing blank is at a line's end, and
// what would move the cursor is a blank.
func Table(rows [][]string) []string {
	var widths []int
	for _, r := range rows {
		for i, c := range r {
			r[i] = strings.Map(plain, c)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(c))
		}
	}
	lines := make([]string, 0, len(rows))
	for _, r := range rows {
		var b strings.Builder
		for i, c := range r {
			b.WriteString(c)
			b.WriteString(strings.Repeat(" ", widths[i]-columns(c)+2))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

func plain(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// columns is how wide a text is on a terminal.
func columns(s string) (n int) {
	for _, r := range s {
		n++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}
