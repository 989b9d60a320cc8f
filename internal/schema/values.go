package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// Into decodes the document into a struct with json tags. [Object.CheckInto] proves beforehand that nothing gets lost.
func (v Values) Into(target any) error {
	if err := json.Unmarshal(v.Canonical(), target); err != nil {
		return fmt.Errorf("arguments into %T: %w", target, err)
	}
	return nil
}

// Has tells whether the path, such as "post.event.title" or "overrides[2].summary", was given a value.
func (v Values) Has(path string) bool {
	s := scanner{in: v.Canonical()}
	for path != "" {
		switch path[0] {
		case '[':
			end := strings.IndexByte(path, ']')
			if end < 0 || !s.toElement(path[1:end]) {
				return false
			}
			path = path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			if !s.toMember(path[:end]) {
				return false
			}
			path = path[end:]
		}
		if strings.HasPrefix(path, ".") && len(path) > 1 && path[1] != '[' {
			path = path[1:]
		}
	}
	return true
}

// Without is Canonical without some members of the root, for a digest that has to leave them out.
func (v Values) Without(names ...string) []byte {
	s := scanner{in: v.Canonical()}
	out := []byte{'{'}
	s.take('{')
	for s.peek() == '"' {
		start := s.pos
		name, _, _ := s.str()
		s.take(':')
		s.over()
		if !slices.Contains(names, string(name)) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, s.in[start:s.pos]...)
		}
		s.take(',')
	}
	return append(out, '}')
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

// toMember moves to the value of a member. Like everything below, it is for canonical documents only.
func (s *scanner) toMember(name string) bool {
	if !s.take('{') {
		return false
	}
	for s.peek() == '"' {
		n, _, _ := s.str()
		s.take(':')
		if string(n) == name {
			return true
		}
		s.over()
		s.take(',')
	}
	return false
}

func (s *scanner) toElement(index string) bool {
	n, ok := digits([]byte(index))
	if !ok || index == "" || !s.take('[') {
		return false
	}
	for ; s.peek() != ']'; n-- {
		if n == 0 {
			return true
		}
		s.over()
		s.take(',')
	}
	return false
}

// over passes one value.
func (s *scanner) over() {
	for depth := 0; s.pos < len(s.in); {
		switch s.in[s.pos] {
		case '"':
			s.str()
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			s.pos++
			continue
		default:
			for s.pos < len(s.in) && strings.IndexByte(",]}", s.in[s.pos]) < 0 {
				s.pos++
			}
		}
		if depth == 0 {
			return
		}
	}
}
