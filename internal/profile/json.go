package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// marshal is JSON without the escapes that exist for HTML pages.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encode marshals words and Google's own JSON, which always marshal.
func encode(v any) json.RawMessage {
	b, err := marshal(v)
	if err != nil {
		panic("profile: words always marshal: " + err.Error())
	}
	return b
}

// strict decodes one JSON value and refuses unknown members.
func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode: more than one value")
	}
	return nil
}

// object reads a JSON object member by member; absent is empty.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return map[string]json.RawMessage{}, true
	}
	m := map[string]json.RawMessage{}
	return m, json.Unmarshal(raw, &m) == nil
}

// with is an object of Google's with one member replaced; a nil value removes it.
func with(raw json.RawMessage, member string, value json.RawMessage) json.RawMessage {
	m, ok := object(raw)
	if !ok {
		m = map[string]json.RawMessage{}
	}
	if value == nil {
		delete(m, member)
	} else {
		m[member] = value
	}
	return encode(m)
}

func without(raw json.RawMessage, members ...string) json.RawMessage {
	m, ok := object(raw)
	if !ok {
		return raw
	}
	for _, n := range members {
		delete(m, n)
	}
	return encode(m)
}

var errNotObject = errors.New("it is null")

func orNotObject(err error) error {
	if err == nil {
		return errNotObject
	}
	return err
}
