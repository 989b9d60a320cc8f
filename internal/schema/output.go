package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// OutputFor makes the schema of a Go struct that a tool answers with. Names and optionality come from json tags
// (omitempty or omitzero: not required), descriptions from jsonschema tags.
//
// The result is closed at every depth, but for gbp.View, and has neither type arrays nor combinators, so null is never valid: a slice or
// pointer that can be nil needs omitempty or omitzero. It is an error when a property has no description, and when a
// type has no closed schema: any, maps, json.RawMessage, recursive types.
func OutputFor[T any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {},
		// What is shown of a post, a reply or store data depends on the operation; it is an object, and open.
		reflect.TypeFor[gbp.View](): {Type: "object"},
	}})
	if err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("output schema of %v: the root is not a struct", reflect.TypeFor[T]())
	}
	if err := errors.Join(flatten(s, "")...); err != nil {
		return nil, fmt.Errorf("output schema of %v: %w", reflect.TypeFor[T](), err)
	}
	return s, nil
}

// flatten removes null from types and reports what cannot be closed.
func flatten(s *jsonschema.Schema, path string) []error {
	if s.Types != nil {
		types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
		if len(types) == 1 {
			s.Type, s.Types = types[0], nil
		}
	}
	where := path
	if where == "" {
		where = pathRoot
	}
	switch s.Type {
	case "":
		return []error{fmt.Errorf("%s: the Go type allows any JSON", where)}
	case "array":
		if s.Items == nil {
			return []error{fmt.Errorf("%s: a list without elements", where)}
		}
		return flatten(s.Items, path+"[]")
	case "object":
		return flattenObject(s, where, path)
	}
	return nil
}

func flattenObject(s *jsonschema.Schema, where, path string) []error {
	if s.AdditionalProperties == nil && s.Properties == nil { // a gbp.View
		return nil
	}
	if a := s.AdditionalProperties; a == nil || a.Not == nil {
		return []error{fmt.Errorf("%s: a map cannot be closed; use a list of structs", where)}
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	var faults []error
	for _, name := range s.PropertyOrder {
		p, at := s.Properties[name], name
		if path != "" {
			at = path + "." + name
		}
		if strings.TrimSpace(p.Description) == "" {
			faults = append(faults, fmt.Errorf("%s: no description", at))
		}
		faults = append(faults, flatten(p, at)...)
	}
	return faults
}

// Envelope is the output schema of a tool for success and error alike: an optional "data" and the properties of
// errorFields beside it, none of them required. Both arguments are copied.
func Envelope(data, errorFields *jsonschema.Schema) *jsonschema.Schema {
	data = data.CloneSchemas()
	if data.Description == "" {
		data.Description = "What the call did or found; absent when it was refused."
	}
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{"data": data},
		PropertyOrder:        []string{"data"},
		AdditionalProperties: closed(),
	}
	for _, name := range propertyNames(errorFields) {
		if _, ok := s.Properties[name]; !ok {
			s.Properties[name] = errorFields.Properties[name].CloneSchemas()
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
	}
	return s
}

// propertyNames are a schema's properties in their order, then those without one by name.
func propertyNames(s *jsonschema.Schema) []string {
	if s == nil {
		return nil
	}
	names := slices.Clone(s.PropertyOrder)
	var rest []string
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}
