package gbp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is a text without the characters that show nothing or reorder what is shown. Joiners and the selectors of emoji
// are a part of scripts in use and stay, as do line breaks and tabs.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Legible tells whether a text has anything to read: a letter, digit, sign or picture that is not blank.
func Legible(s string) bool { return strings.ContainsFunc(s, legible) }

// legible tells whether a character leaves something to see. The named ones are letters and symbols that look like nothing.
func legible(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800', utf8.RuneError:
		return false
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r)
}

// VisibleLine is Visible on one line.
func VisibleLine(s string) string { return strings.Join(strings.Fields(Visible(s)), " ") }

func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
		return false
	case r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Noncharacter_Code_Point, r)
}
