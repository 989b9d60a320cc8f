package schema

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// The stable words of errs.Violation.Rule.
const (
	RuleJSON       = "json"       // the bytes are not one JSON value
	RuleTooLarge   = "too_large"  // more than MaxBytesTotal
	RuleDepth      = "depth"      // nested deeper than MaxDepth
	RuleRequired   = "required"   // missing, null or empty, and needed
	RuleUnknown    = "unknown"    // no argument of this name here
	RuleDuplicate  = "duplicate"  // the same name twice, or two that differ in case only
	RuleType       = "type"       // another JSON type, or a spelling that is not taken
	RuleEmpty      = "empty"      // an empty string where emptiness has no certain meaning
	RuleEnum       = "enum"       // not one of the listed words
	RuleMinLength  = "min_length" // too few characters
	RuleMaxLength  = "max_length" // too many characters
	RuleMinItems   = "min_items"  // too few elements
	RuleMaxItems   = "max_items"  // too many elements
	RuleUnique     = "unique"     // the same element twice
	RuleMinimum    = "minimum"    // too small a number
	RuleMaximum    = "maximum"    // too large a number, also beyond ±2^53
	RulePattern    = "pattern"    // not of the declared form
	RuleFormat     = "format"     // not a date, time, URL or id
	RuleCharacters = "characters" // forbidden characters
	RuleMore       = "more"       // not a rule: how many further violations there are
)

// How violations show what was sent.
const (
	pathRoot      = "$" // the arguments as a whole
	ellipsis      = "…" // stands for what was cut
	maxValueShown = 60  // characters of a value, the ellipsis included
	maxNameShown  = 40  // characters of an unknown name
)

// Bounds of the decoder.
const (
	// MaxViolations is how many violations are listed; one more may follow that counts the rest.
	MaxViolations = 50
	// MaxBytesTotal is the size of the arguments, 1 MiB: a hundred locations with every text at its limit is about half.
	MaxBytesTotal = 1 << 20
	// MaxDepth is how deep arrays and objects may nest; the deepest contract, hours of a location update, needs 6.
	MaxDepth = 16
	// maxInteger is 2^53, beyond which JSON readers round silently.
	maxInteger = 1 << 53
)

func (d *decoder) violate(rule string, msg errs.Text, value string) {
	if len(d.violations) >= MaxViolations {
		d.more++
		return
	}
	if d.hidden() {
		value = ""
	}
	d.violations = append(d.violations, errs.Violation{Path: d.pathString(), Rule: rule, Message: msg.In(d.locale), Value: value})
}

func (d *decoder) pathString() string {
	if len(d.path) == 0 {
		return pathRoot
	}
	return string(d.path)
}

// pushName extends the path by a member and returns what pop needs.
func (d *decoder) pushName(name string) int {
	mark := len(d.path)
	if mark > 0 {
		d.path = append(d.path, '.')
	}
	d.path = append(d.path, name...)
	return mark
}

func (d *decoder) pushIndex(i int) int {
	mark := len(d.path)
	if mark == 0 {
		d.path = append(d.path, pathRoot...)
	}
	d.path = append(d.path, '[')
	d.path = strconv.AppendInt(d.path, int64(i), 10)
	d.path = append(d.path, ']')
	return mark
}

func (d *decoder) pop(mark int) { d.path = d.path[:mark] }

// shown makes a stranger's bytes safe to print: without secrets, cut to 60 characters, with everything that is not plainly
// visible escaped.
func shown(s []byte) string {
	if safe := redact.TextIn(len(s)+len(redact.Mask), string(s)); strings.Contains(safe, redact.Mask) {
		s = []byte(safe)
	}
	return cutTo(s, maxValueShown)
}

func cutTo(s []byte, limit int) string {
	out := make([]byte, 0, min(len(s), limit*utf8.UTFMax)+len(ellipsis))
	n := 0
	lastFit := 0 // the length of out that leaves room for the ellipsis
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		piece := s[:size]
		if escaped := escapeRune(r, size); escaped != "" {
			piece = []byte(escaped)
		}
		width := utf8.RuneCount(piece)
		if n+width > limit {
			return string(out[:lastFit]) + ellipsis
		}
		out = append(out, piece...)
		n += width
		if n < limit {
			lastFit = len(out)
		}
		s = s[size:]
	}
	return string(out)
}

// escapeRune is the visible spelling of a rune that must not be printed as it is, else "".
func escapeRune(r rune, size int) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r == utf8.RuneError && size == 1:
		return `\x??`
	case classOf(r) != plain && classOf(r) != mark:
		return `\u{` + strconv.FormatInt(int64(r), 16) + `}`
	}
	return ""
}

// foreignName is an unknown argument's name as it may stand in paths and messages.
func foreignName(name []byte) string {
	ok := len(name) > 0 && len(name) <= maxNameShown
	for _, c := range name {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			ok = false
		}
	}
	if ok {
		return string(name)
	}
	return `"` + cutTo(name, maxNameShown) + `"`
}

// count writes 1501 as "1,501".
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
