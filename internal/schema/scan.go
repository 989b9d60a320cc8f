package schema

import (
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON tokens from one input. Its methods return false at the first byte that is not JSON; the position
// is then meaningless.
type scanner struct {
	in  []byte
	pos int
}

// flaw is what is wrong with a string that is well formed JSON.
type flaw int

const (
	flawNone flaw = iota
	flawUTF8
	flawSurrogate
)

// peek skips white space and gives the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.in) {
		switch c := s.in[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// take consumes c when it is the next byte.
func (s *scanner) take(c byte) bool {
	if s.peek() != c || c == 0 || s.pos >= len(s.in) {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) word(w string) bool {
	if len(s.in)-s.pos < len(w) || string(s.in[s.pos:s.pos+len(w)]) != w {
		return false
	}
	s.pos += len(w)
	return true
}

// str reads a string. The result aliases the input unless escapes had to be resolved. Invalid UTF-8 and lone surrogates
// are reported as a flaw and stand as they came or as U+FFFD.
func (s *scanner) str() (v []byte, f flaw, ok bool) {
	s.pos++ // the quote
	start := s.pos
	high := byte(0)
	for s.pos < len(s.in) {
		c := s.in[s.pos]
		switch {
		case c == '"':
			v = s.in[start:s.pos]
			s.pos++
			if high >= utf8.RuneSelf && !utf8.Valid(v) {
				f = flawUTF8
			}
			return v, f, true
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return nil, 0, false
		}
		high |= c
		s.pos++
	}
	return nil, 0, false
}

// escaped continues str at its first backslash.
func (s *scanner) escaped(start int) (v []byte, f flaw, ok bool) {
	v = append(make([]byte, 0, s.pos-start+64), s.in[start:s.pos]...)
	for s.pos < len(s.in) {
		c := s.in[s.pos]
		s.pos++
		switch {
		case c == '"':
			if f == flawNone && !utf8.Valid(v) {
				f = flawUTF8
			}
			return v, f, true
		case c < ' ':
			return nil, 0, false
		case c != '\\':
			v = append(v, c)
			continue
		}
		if s.pos >= len(s.in) {
			return nil, 0, false
		}
		c = s.in[s.pos]
		s.pos++
		switch c {
		case '"', '\\', '/':
			v = append(v, c)
		case 'b':
			v = append(v, '\b')
		case 'f':
			v = append(v, '\f')
		case 'n':
			v = append(v, '\n')
		case 'r':
			v = append(v, '\r')
		case 't':
			v = append(v, '\t')
		case 'u':
			r, ok := s.hex4()
			if !ok {
				return nil, 0, false
			}
			if utf16.IsSurrogate(r) {
				r = s.lowSurrogate(r)
				if r == utf8.RuneError {
					f = flawSurrogate
				}
			}
			v = utf8.AppendRune(v, r)
		default:
			return nil, 0, false
		}
	}
	return nil, 0, false
}

// lowSurrogate joins high with the escape that follows, or gives U+FFFD and consumes nothing.
func (s *scanner) lowSurrogate(high rune) rune {
	mark := s.pos
	if s.word(`\u`) {
		if low, ok := s.hex4(); ok {
			if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
				return r
			}
		}
	}
	s.pos = mark
	return utf8.RuneError
}

func (s *scanner) hex4() (rune, bool) {
	if len(s.in)-s.pos < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s.in[s.pos : s.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.pos += 4
	return r, true
}

// number reads a number by JSON's grammar.
func (s *scanner) number() (v []byte, ok bool) {
	start := s.pos
	s.one('-')
	switch {
	case s.one('0'):
	case s.digits() > 0:
	default:
		return nil, false
	}
	if s.one('.') && s.digits() == 0 {
		return nil, false
	}
	if s.one('e') || s.one('E') {
		if !s.one('+') {
			s.one('-')
		}
		if s.digits() == 0 {
			return nil, false
		}
	}
	return s.in[start:s.pos], true
}

func (s *scanner) one(c byte) bool {
	if s.pos < len(s.in) && s.in[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.in) && s.in[s.pos] >= '0' && s.in[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// appendString writes v as a JSON string with the fewest escapes. v is valid UTF-8.
func appendString(dst, v []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i, c := range v {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, v[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, v[start:]...)
	return append(dst, '"')
}
