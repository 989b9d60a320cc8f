package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// Check reports every fault of the declaration itself: names that are not snake_case or not unique, missing
// descriptions and bounds, defaults and examples that the decoder would refuse. Run it in a test of every tool.
func (o Object) Check() error { return errors.Join(o.check("")...) }

func (o Object) check(prefix string) []error {
	var faults []error
	names := map[string]bool{}
	for i := range o.Fields {
		f := &o.Fields[i]
		path := prefix + f.Name
		if !snakeCase.MatchString(f.Name) {
			faults = append(faults, fmt.Errorf("%s: the name %q is not snake_case", path, f.Name))
		}
		if names[fold(f.Name)] {
			faults = append(faults, fmt.Errorf("%s: another field has nearly the same name", path))
		}
		names[fold(f.Name)] = true
		faults = append(faults, f.check(path)...)
	}
	return faults
}

func (f *Field) check(path string) []error {
	var faults []error
	fault := func(bad bool, what string) {
		if bad {
			faults = append(faults, fmt.Errorf("%s: %s", path, what))
		}
	}
	fault(strings.TrimSpace(f.Description) == "", "no description")
	fault(f.Required && f.Default != nil, "required, yet with a default")
	switch f.Type {
	case TypeString, TypeText:
		fault(f.MaxLength == 0 && len(f.Enum) == 0, "no MaxLength")
		fault(f.MaxLength > 0 && f.MinLength > f.MaxLength, "MinLength exceeds MaxLength")
	case TypeInteger:
		fault(f.Min == nil || f.Max == nil, "no bounds")
		fault(f.Min != nil && f.Max != nil && *f.Min > *f.Max, "the lower bound exceeds the upper")
	case TypeObject:
		fault(f.Object == nil, "no Object")
		if f.Object != nil {
			faults = append(faults, f.Object.check(path+".")...)
			fault(f.Shorthand != "" && f.short() == nil, "the shorthand is no list of the object")
		}
	case TypeList:
		fault(f.MaxItems == 0, "no MaxItems")
		fault(f.MaxItems > 0 && f.MinItems > f.MaxItems, "MinItems exceeds MaxItems")
		fault(f.Items == nil, "no Items")
		if f.Items != nil {
			fault(f.Items.Default != nil || f.Items.Required, "an element can be neither optional nor required")
			faults = append(faults, f.Items.check(path+"[]")...)
		}
	default: // bounded by their type
	}
	if f.Default != nil {
		faults = append(faults, f.try(path+": default", f.Default)...)
	}
	if f.Example != "" {
		example := []byte(f.Example)
		switch f.Type {
		case TypeInteger, TypeLocationID, TypeBoolean, TypeObject, TypeList:
		default:
			example = appendString(nil, example)
		}
		faults = append(faults, f.try(path+": example", example)...)
	}
	return faults
}

// try decodes one value as the field.
func (f *Field) try(what string, raw json.RawMessage) []error {
	probe := *f
	probe.Name, probe.Required, probe.Secret = "value", true, false
	_, violations := Object{Fields: []Field{probe}}.Decode([]byte(`{"value":`+string(raw)+`}`), errs.English)
	var faults []error
	for _, v := range violations {
		faults = append(faults, fmt.Errorf("%s: %s: %s", what, v.Path, v.Message))
	}
	return faults
}

// CheckInto reports every declared field that none of the targets takes, every field of a target that is not declared,
// and every pair whose types do not fit. Targets are structs or pointers to structs; several share the root's fields. A
// type that unmarshals itself is trusted. Without this check a mistyped json tag would drop an argument silently.
func (o Object) CheckInto(targets ...any) error {
	types := make([]reflect.Type, len(targets))
	for i, t := range targets {
		types[i] = reflect.TypeOf(t)
	}
	return errors.Join(o.checkInto("", types)...)
}

func (o Object) checkInto(prefix string, types []reflect.Type) []error {
	var faults []error
	taken := map[string][]reflect.Type{}
	for _, t := range types {
		t = pointee(t)
		if t == nil || t.Kind() != reflect.Struct {
			return []error{fmt.Errorf("%s%v is not a struct", prefix, t)}
		}
		for _, sf := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			if sf.Anonymous && name == "" || !sf.IsExported() || name == "-" {
				continue
			}
			if name == "" {
				name = sf.Name
			}
			if o.find([]byte(name)) < 0 {
				faults = append(faults, fmt.Errorf("%s%s: %v.%s takes an argument that is not declared", prefix, name, t, sf.Name))
			}
			taken[name] = append(taken[name], sf.Type)
		}
	}
	for i := range o.Fields {
		f := &o.Fields[i]
		if len(taken[f.Name]) == 0 {
			faults = append(faults, fmt.Errorf("%s%s: declared, but no target takes it", prefix, f.Name))
		}
		for _, t := range taken[f.Name] {
			faults = append(faults, f.fits(prefix+f.Name, t)...)
		}
	}
	return faults
}

func (f *Field) fits(path string, t reflect.Type) []error {
	if t.Implements(reflect.TypeFor[json.Unmarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	t = pointee(t)
	kind := t.Kind()
	var ok bool
	switch f.Type {
	case TypeObject:
		if ok = kind == reflect.Struct && f.Object != nil; ok {
			return f.Object.checkInto(path+".", []reflect.Type{t})
		}
	case TypeList:
		if ok = kind == reflect.Slice && f.Items != nil; ok {
			return f.Items.fits(path+"[]", t.Elem())
		}
	case TypeBoolean:
		ok = kind == reflect.Bool
	case TypeInteger, TypeLocationID:
		ok = kind == reflect.Int64 || kind == reflect.Int
	default:
		ok = kind == reflect.String
	}
	if !ok {
		return []error{fmt.Errorf("%s: a %v cannot take it", path, t)}
	}
	return nil
}

func pointee(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
