package schema

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// Option refines a field.
type Option func(*Field)

// Required refuses arguments without the field.
func Required() Option { return func(f *Field) { f.Required = true } }

// Strict makes an empty string a violation; for arguments whose absence decides what happens.
func Strict() Option { return func(f *Field) { f.Strict = true } }

// Secret keeps the value out of every violation.
func Secret() Option { return func(f *Field) { f.Secret = true } }

// MinLength is the least number of characters.
func MinLength(n int) Option { return func(f *Field) { f.MinLength = n } }

// MaxLength is the greatest number of characters (code points after NFC).
func MaxLength(n int) Option { return func(f *Field) { f.MaxLength = n } }

// Items bounds the number of elements of a list, both inclusive.
func Items(least, most int) Option {
	return func(f *Field) { f.MinItems, f.MaxItems = least, most }
}

// MaxItems is the greatest number of elements.
func MaxItems(n int) Option { return func(f *Field) { f.MaxItems = n } }

// Unique refuses the same element twice, compared after normalisation.
func Unique() Option { return func(f *Field) { f.Unique = true } }

// Pattern is a regular expression that the string has to match; anchor it. It panics on a bad expression, as
// declarations are made at start.
func Pattern(expr string) Option {
	re := regexp.MustCompile(expr)
	return func(f *Field) { f.Pattern = re }
}

// Example is shown behind the description: the string itself, the digits, or JSON for objects and lists.
func Example(v string) Option { return func(f *Field) { f.Example = v } }

// SingleLine forbids newline and tab in a text.
func SingleLine() Option { return func(f *Field) { f.SingleLine = true } }

// Templated lets a URL hold variables such as {{location.website}}: they stay as typed and may stand in front or behind
// the host. The rendered URL needs [NormalizeURL] again. The MaxLength of a text is that of the rendered one, which has to be
// measured again: here a variable counts as one character, because it is never empty.
func Templated() Option { return func(f *Field) { f.Templated = true } }

// Until24 lets a time of day be 24:00, the end of the day.
func Until24() Option { return func(f *Field) { f.Until24 = true } }

// Shorthand lets an array stand in the place of an object whose list member it is: [1] for {"set":[1]}.
func Shorthand(member string) Option { return func(f *Field) { f.Shorthand = member } }

// Default says what absence means.
func Default[T string | bool | int](v T) Option {
	var raw json.RawMessage
	switch v := any(v).(type) {
	case string:
		raw = appendString(nil, []byte(v))
	case bool:
		raw = strconv.AppendBool(nil, v)
	case int:
		raw = strconv.AppendInt(nil, int64(v), 10)
	}
	return func(f *Field) { f.Default = raw }
}
