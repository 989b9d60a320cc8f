package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Change is a change of a list: a plain list, or explicit operations. T is an entry, R is what names an entry that is to be
// removed. In JSON a plain list is an array, or {"change":[…]} where it stands beside operations; operations are an object with
// set, or with change, add and remove (removals come first). What a plain list does to entries that it does not name is decided
// per field, see the package.
type Change[T, R any] struct {
	// List is the plain list, called change beside operations.
	List []T
	// Set replaces the whole list.
	Set []T
	// Add and Remove change a list and leave the rest.
	Add    []T
	Remove []R
}

type operations[T, R any] struct {
	Change *[]T `json:"change,omitempty"`
	Set    *[]T `json:"set,omitempty"`
	Add    *[]T `json:"add,omitempty"`
	Remove *[]R `json:"remove,omitempty"`
}

// UnmarshalJSON reads an array or an object of operations. Unknown members are errors. What no change may be, such as an object
// without an operation or set beside another one, is kept as it is and refused by Apply, in the caller's language.
func (c *Change[T, R]) UnmarshalJSON(raw []byte) error {
	*c = Change[T, R]{}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		c.List = []T{}
		return strict(raw, &c.List)
	}
	var ops operations[T, R]
	if err := strict(raw, &ops); err != nil {
		return fmt.Errorf("want a list, or change, add, remove or set: %w", err)
	}
	if ops.Change != nil {
		c.List = filled(*ops.Change)
	}
	if ops.Set != nil {
		c.Set = filled(*ops.Set)
	}
	if ops.Add != nil {
		c.Add = filled(*ops.Add)
	}
	if ops.Remove != nil {
		c.Remove = filled(*ops.Remove)
	}
	return nil
}

// filled is a list that is not nil.
func filled[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (c Change[T, R]) MarshalJSON() ([]byte, error) {
	ops := operations[T, R]{}
	if c.List != nil {
		if c.Set == nil && c.Add == nil && c.Remove == nil {
			return marshal(c.List)
		}
		ops.Change = &c.List
	}
	if c.Set != nil {
		ops.Set = &c.Set
	}
	if c.Add != nil {
		ops.Add = &c.Add
	}
	if c.Remove != nil {
		ops.Remove = &c.Remove
	}
	return marshal(ops)
}

// entries are the lists of entries with the paths that they have under the field.
func (c Change[T, R]) entries() []named[T] {
	return []named[T]{{"", c.List}, {".set", c.Set}, {".add", c.Add}}
}

type named[T any] struct {
	path string
	list []T
}

// shape reports what no list of any field may be.
func (c Change[T, R]) shape(j *judge, at string) bool {
	sound := true
	empty := func(path string) {
		sound = false
		j.refuse(path, "empty_list", "", textEmptyList)
	}
	for _, e := range c.entries() {
		if e.list != nil && len(e.list) == 0 {
			empty(at + e.path)
		}
	}
	if c.Remove != nil && len(c.Remove) == 0 {
		empty(at + ".remove")
	}
	others := c.List != nil || c.Add != nil || c.Remove != nil
	switch {
	case c.Set == nil && !others:
		sound = false
		j.refuse(at, "required", "", textNoOperation)
	case c.Set != nil && others:
		sound = false
		j.refuse(at+".set", "contradiction", "", textSetAlone)
	}
	return sound
}

var _ json.Unmarshaler = (*Change[string, string])(nil)
