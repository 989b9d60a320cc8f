package schema

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// class sorts runes by what they may do to a reader.
type class int

const (
	plain    class = iota
	lineTab        // newline and tab
	mark           // combining marks
	joiner         // zero width joiner and non-joiner
	selector       // variation selectors
	control        // other control characters, NUL included
	hidden         // invisible or reordering characters, noncharacters
)

// maxMarks is how many combining marks may follow each other; scripts in use need about five.
const maxMarks = 16

func classOf(r rune) class {
	switch {
	case r == '\n' || r == '\t':
		return lineTab
	case r < 0x20 || r >= 0x7F && r < 0xA0:
		return control
	case r == 0xAD || r == 0x34F || r == 0x61C || r == 0x115F || r == 0x1160 || r == 0x17B4 || r == 0x17B5 || r == 0x180E || r == 0x3164:
		return hidden
	case r < 0x300, r > 0x309A && r < 0xA000, r > 0x3040 && r < 0x3099, r >= 0xAC00 && r < 0xD7A4:
		return plain
	case r == 0x200C || r == 0x200D:
		return joiner
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r >= 0x180B && r <= 0x180F:
		return selector
	case r == 0x200B || r == 0x200E || r == 0x200F, r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F,
		r == 0xFEFF, r == 0xFFA0, r >= 0xFFF0 && r <= 0xFFFB, r >= 0xFDD0 && r <= 0xFDEF, r&0xFFFE == 0xFFFE,
		r >= 0x1BCA0 && r <= 0x1BCA3, r >= 0x1D173 && r <= 0x1D17A, r >= 0xE0000 && r <= 0xE0FFF:
		return hidden
	case unicode.Is(unicode.M, r):
		return mark
	}
	return plain
}

// tidy brings a string into its canonical characters: LF, NFC, and for text no trailing white space, in front of a single line
// neither. ok is false when a character is forbidden; msg then says which.
func tidy(s []byte, lines, trim bool) (out []byte, msg errs.Text, ok bool) {
	s = unifyLines(s)
	if trim {
		s = bytes.TrimRightFunc(s, blank)
		if !lines {
			s = bytes.TrimLeftFunc(s, blank)
		}
	}
	if !norm.NFC.IsNormal(s) {
		s = norm.NFC.Bytes(s)
	}
	msg, ok = checkCharacters(s, lines)
	return s, msg, ok
}

// blank is what may be cut from the ends of a text: newline, tab and the spaces. Control characters are not, they are refused.
func blank(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || unicode.Is(unicode.Zs, r) }

func unifyLines(s []byte) []byte {
	if bytes.IndexByte(s, '\r') < 0 {
		return s
	}
	s = bytes.ReplaceAll(s, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(s, []byte("\r"), []byte("\n"))
}

// checkCharacters finds the first character that may not stand where it stands.
func checkCharacters(s []byte, lines bool) (errs.Text, bool) {
	var (
		prev      rune
		prevClass = control // the start: nothing visible before
		marks, at int
	)
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7F {
			prev, prevClass, marks = rune(c), plain, 0
			i++
			at++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		i += size
		at++
		c := classOf(r)
		switch c {
		case plain:
			marks = 0
		case lineTab:
			if !lines {
				return errs.Tf("改行やタブは使えません（%[1]d 文字目）。1 行で書いてください。", "Line breaks and tabs are not allowed (character %[1]d); write one line.", at), false
			}
			marks = 0
		case mark:
			marks++
			if marks > maxMarks {
				return errs.Tf("%[1]d 文字目で結合文字が %[2]d 個を超えて続いています。", "More than %[2]d combining marks follow each other at character %[1]d.", at, maxMarks), false
			}
		case joiner:
			if !visible(prev, prevClass) && prevClass != selector {
				return forbidden(r, at), false
			}
		case selector:
			if !visible(prev, prevClass) || !selectable(prev, r) {
				return forbidden(r, at), false
			}
		default:
			return forbidden(r, at), false
		}
		prev, prevClass = r, c
	}
	return errs.Text{}, true
}

func visible(r rune, c class) bool { return c == mark || c == plain && !unicode.IsSpace(r) }

// selectable tells whether a variation selector has a use behind base. Without this, selectors behind any letter could
// carry one hidden byte each.
func selectable(base, selector rune) bool {
	switch {
	case selector >= 0xE0100:
		return unicode.Is(unicode.Han, base)
	case base < utf8.RuneSelf: // keycaps
		return (selector == 0xFE0E || selector == 0xFE0F) && (base >= '0' && base <= '9' || base == '#' || base == '*')
	default:
		return true
	}
}

func forbidden(r rune, at int) errs.Text {
	return errs.Tf("%[1]d 文字目の U+%04[2]X は使えません（制御文字、または見えない・並びを変える文字）。取り除いてください。",
		"U+%04[2]X at character %[1]d is not allowed (a control character, or one that is invisible or reorders text); remove it.", at, r)
}

var flawTexts = map[flaw]errs.Text{
	flawUTF8:      errs.T("UTF-8 として正しくないバイトが含まれています。", "Contains bytes that are not valid UTF-8."),
	flawSurrogate: errs.T(`サロゲートペアの片方だけが含まれています（\ud800 など）。`, `Contains half a surrogate pair (such as \ud800).`),
}
