package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Values are the arguments of a call, normalised. The zero value is the empty arguments.
type Values struct {
	object *Object
	doc    []byte
}

// Canonical is the document as compact JSON: fields in the order of declaration, absent ones left out, strings and
// numbers in one spelling. Two calls that mean the same have the same bytes. The caller must not change them.
func (v Values) Canonical() []byte {
	if v.doc == nil {
		return []byte("{}")
	}
	return v.doc
}

// Into decodes the document into a struct with json tags. A value for which the struct has no place is an error, and so is
// one of another type: a mistyped tag never drops an argument silently. A type that unmarshals itself sees to that itself.
func (v Values) Into(target any) error {
	d := json.NewDecoder(bytes.NewReader(v.Canonical()))
	d.DisallowUnknownFields()
	if err := d.Decode(target); err != nil {
		return fmt.Errorf("arguments into %T: %w", target, err)
	}
	return nil
}

// WithDefaults is a copy in which declared defaults stand for what is absent, in every object that is present.
func (v Values) WithDefaults() Values {
	if v.object == nil {
		return v
	}
	d := decoder{root: v.object, fill: true, scanner: scanner{in: v.Canonical()}}
	d.arguments()
	return Values{object: v.object, doc: d.out}
}
