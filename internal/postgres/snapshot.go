package postgres

import (
	"bytes"
	"encoding/json"
	"strings"
)

// snapshotDepth and snapshotDigits bound what is kept of Google's JSON; its real posts nest five deep.
const (
	snapshotDepth  = 64
	snapshotDigits = 64
)

// snapshot is Google's JSON as jsonb takes it: NUL, invalid UTF-8 and lone surrogates are dropped from texts, numbers beyond
// jsonb's range become texts, and what nests too deep becomes null. An answer that PostgreSQL refuses would keep its item
// from ever being decided. Empty gives nil.
func snapshot(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any // Google's fields are an open set
	if d.Decode(&v) != nil {
		return []byte(`{"unreadable":true}`)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(storable(v, snapshotDepth)); err != nil {
		panic("postgres: what was decoded encodes again: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func storable(v any, depth int) any {
	if depth == 0 {
		return nil
	}
	switch v := v.(type) {
	case string:
		return withoutNUL(v)
	case json.Number:
		f, err := v.Float64()
		vanished := f == 0 && strings.ContainsAny(strings.FieldsFunc(string(v), isExponent)[0], "123456789")
		if err != nil || vanished || len(v) > snapshotDigits {
			return string(v)
		}
		return v
	case []any:
		for i := range v {
			v[i] = storable(v[i], depth-1)
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[withoutNUL(k)] = storable(x, depth-1)
		}
		return out
	}
	return v
}

func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

func isExponent(c rune) bool { return c == 'e' || c == 'E' }
