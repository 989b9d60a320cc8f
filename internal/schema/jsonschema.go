package schema

import (
	"github.com/google/jsonschema-go/jsonschema"
)

// Patterns that say in a JSON schema what a type's decoder checks. The "time" format of JSON schema asks for seconds and an
// offset, so a time of day has a pattern instead.
const (
	patternTime    = `^([01][0-9]|2[0-3]):[0-5][0-9]$`
	patternTime24  = `^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	patternVisible = `^[!-~]+$`
)

// JSONSchema is the declaration as clients see it: plain types, closed at every depth, no combinators, no references,
// properties in the order of declaration. Each call makes a new tree, which the caller may change.
func (o Object) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           make(map[string]*jsonschema.Schema, len(o.Fields)),
		AdditionalProperties: closed(),
	}
	for i := range o.Fields {
		f := &o.Fields[i]
		s.Properties[f.Name] = f.jsonSchema()
		s.PropertyOrder = append(s.PropertyOrder, f.Name)
		if f.Required {
			s.Required = append(s.Required, f.Name)
		}
	}
	return s
}

// closed is the schema "false".
func closed() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func (f *Field) jsonSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{}
	switch f.Type {
	case TypeObject:
		if f.Object != nil {
			s = f.Object.JSONSchema()
		} else {
			s = Object{}.JSONSchema()
		}
	case TypeList:
		s.Type = "array"
		if f.Items != nil {
			s.Items = f.Items.jsonSchema()
		}
		s.MinItems, s.MaxItems = bound(f.MinItems), bound(f.MaxItems)
		s.UniqueItems = f.Unique
	case TypeBoolean:
		s.Type = "boolean"
	case TypeInteger, TypeLocationID:
		s.Type = "integer"
		s.Minimum, s.Maximum = number(f.Min), number(f.Max)
	default:
		f.stringSchema(s)
	}
	s.Description = f.Description
	if f.Example != "" {
		s.Description += " Example: " + f.Example
	}
	s.Default = f.Default
	return s
}

func (f *Field) stringSchema(s *jsonschema.Schema) {
	s.Type = "string"
	for _, w := range f.Enum {
		s.Enum = append(s.Enum, w)
	}
	s.MinLength, s.MaxLength = bound(f.MinLength), bound(f.mostLength())
	switch f.Type {
	case TypeDate:
		s.Format = "date"
	case TypeDateTime:
		s.Format = "date-time"
	case TypeURL:
		if !f.Templated { // a variable is not a legal part of a URI
			s.Format = "uri"
		}
	case TypeTimeOfDay:
		s.Pattern = patternTime
		if f.Until24 {
			s.Pattern = patternTime24
		}
	case TypeID:
		s.Pattern = patternVisible
	default: // String and Text say no more
	}
	if f.Pattern != nil {
		s.Pattern = f.Pattern.String()
	}
	if f.Required && len(f.Enum) == 0 && f.MinLength == 0 && s.Pattern == "" && s.Format == "" {
		s.MinLength = bound(1)
	}
}

func bound(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func number(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}
