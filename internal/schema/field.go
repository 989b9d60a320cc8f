package schema

import (
	"encoding/json"
	"regexp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Type says how a field is written in JSON and which rules its value has to obey.
type Type int

// The types of fields.
const (
	// TypeString is one line for machines or look-ups: a key, a token, a query, a word of an enum.
	TypeString Type = iota
	// TypeText is text that people read, mostly on a public page; several lines unless [SingleLine].
	TypeText
	// TypeInteger is a whole number within ±2^53.
	TypeInteger
	// TypeLocationID is the integer id of a store, from 1 up.
	TypeLocationID
	// TypeID is an opaque id of visible ASCII characters. A JSON number is refused, because digits may already be lost.
	TypeID
	// TypeBoolean is true or false.
	TypeBoolean
	// TypeDate is a day of the calendar, YYYY-MM-DD.
	TypeDate
	// TypeTimeOfDay is a wall-clock time, HH:MM from 00:00 to 23:59, with [Until24] also 24:00.
	TypeTimeOfDay
	// TypeDateTime is RFC 3339 with seconds and an offset.
	TypeDateTime
	// TypeURL is an absolute http or https URL; see [NormalizeURL].
	TypeURL
	// TypeObject is a nested object.
	TypeObject
	// TypeList is a JSON array.
	TypeList
)

// Object is the root of a tool's arguments or a nested object. The zero value takes no arguments.
type Object struct {
	// Fields in the order of declaration. Names are unique, also when case is ignored.
	Fields []Field
	// Advice answers names that are not taken but are likely to be tried: what to do instead.
	Advice map[string]errs.Text
}

// Field is one named value. Make it with the constructor of its type; the struct is exported to be read.
type Field struct {
	// Name is snake_case; it is unused for the elements of a list.
	Name string
	Type Type
	// Description says what the value means, with its unit.
	Description string
	// Example is shown behind the description and checked by [Object.Check].
	Example  string
	Required bool
	// Strict makes an empty string a violation instead of an absent value.
	Strict bool
	// Secret keeps the value out of violations.
	Secret bool
	// Enum lists the allowed words of a string; empty allows all.
	Enum []string
	// MinLength and MaxLength count characters (code points) after normalisation; 0 is no bound.
	MinLength, MaxLength int
	// Min and Max bound integers, both inclusive; nil is no bound but ±2^53.
	Min, Max *int64
	// MinItems and MaxItems bound lists; 0 is no bound.
	MinItems, MaxItems int
	// Unique refuses a list that holds the same value twice.
	Unique bool
	// Pattern is matched against the normalised string; it has to mean the same in Go and in ECMAScript.
	Pattern *regexp.Regexp
	// Default is the JSON of what absence means. It is shown, and filled in by [Values.WithDefaults] only.
	Default json.RawMessage
	// SingleLine forbids newline and tab in a text.
	SingleLine bool
	// Templated lets a URL or text hold {{variables}}.
	Templated bool
	// Until24 lets a time of day be 24:00.
	Until24 bool
	// Object is the shape of a TypeObject.
	Object *Object
	// Shorthand names a list of Object: an array in the place of the object is read as an object with that list alone. Clients see
	// the object only.
	Shorthand string
	// Items is the shape of the elements of a TypeList.
	Items *Field
}

// String declares one line for machines or look-ups.
func String(name, description string, opts ...Option) Field {
	return field(TypeString, name, description, opts)
}

// Text declares text that people read.
func Text(name, description string, opts ...Option) Field {
	return field(TypeText, name, description, opts)
}

// Enum declares a string with a closed list of words.
func Enum(name, description string, words []string, opts ...Option) Field {
	f := field(TypeString, name, description, opts)
	f.Enum = words
	return f
}

// Integer declares a whole number between lowest and highest, both inclusive.
func Integer(name, description string, lowest, highest int64, opts ...Option) Field {
	f := field(TypeInteger, name, description, opts)
	f.Min, f.Max = &lowest, &highest
	return f
}

// LocationID declares the id of a store: an integer from 1 up.
func LocationID(name, description string, opts ...Option) Field {
	f := field(TypeLocationID, name, description, opts)
	lowest := int64(1)
	f.Min = &lowest
	return f
}

// defaultIDLength bounds ids that do not say otherwise; ours are ULIDs of 26 characters.
const defaultIDLength = 128

// ID declares an opaque id, at most 128 characters unless MaxLength says otherwise.
func ID(name, description string, opts ...Option) Field {
	f := field(TypeID, name, description, opts)
	if f.MaxLength == 0 {
		f.MaxLength = defaultIDLength
	}
	return f
}

// Boolean declares a yes or no.
func Boolean(name, description string, opts ...Option) Field {
	return field(TypeBoolean, name, description, opts)
}

// Date declares a day, YYYY-MM-DD.
func Date(name, description string, opts ...Option) Field {
	return field(TypeDate, name, description, opts)
}

// TimeOfDay declares a wall-clock time, HH:MM.
func TimeOfDay(name, description string, opts ...Option) Field {
	return field(TypeTimeOfDay, name, description, opts)
}

// DateTime declares a point in time, RFC 3339 with an offset.
func DateTime(name, description string, opts ...Option) Field {
	return field(TypeDateTime, name, description, opts)
}

// maxURLLength bounds URLs after encoding; what fetchers and browsers take everywhere.
const maxURLLength = 2048

// URL declares an http or https URL of at most 2,048 characters after encoding.
func URL(name, description string, opts ...Option) Field {
	f := field(TypeURL, name, description, opts)
	if f.MaxLength == 0 {
		f.MaxLength = maxURLLength
	}
	return f
}

// Nested declares an object.
func Nested(name, description string, object Object, opts ...Option) Field {
	f := field(TypeObject, name, description, opts)
	f.Object = &object
	return f
}

// List declares an array; the elements' name is unused, their description is shown.
func List(name, description string, element Field, opts ...Option) Field {
	f := field(TypeList, name, description, opts)
	f.Items = &element
	return f
}

func field(t Type, name, description string, opts []Option) Field {
	f := Field{Name: name, Type: t, Description: description}
	for _, o := range opts {
		o(&f)
	}
	return f
}

// find is the field with exactly this name.
func (o *Object) find(name []byte) int {
	for i := range o.Fields {
		if o.Fields[i].Name == string(name) {
			return i
		}
	}
	return -1
}
