package schema

import (
	"encoding/json"
	"errors"
	"fmt"
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
