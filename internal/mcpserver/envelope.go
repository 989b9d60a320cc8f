package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// envelope is what the front needs to know of a JSON-RPC message before the protocol library decodes it.
type envelope struct {
	// id is the raw id for an answer; nil for a notification, or when it is no string or number of a reasonable size.
	id     json.RawMessage
	method string
	// call is true for a request that wants an answer; notifications and answers of the client are none.
	call bool
}

// envelopeError is why a message is refused; code is JSON-RPC's.
type envelopeError struct {
	id      json.RawMessage
	code    int
	message string
}

func (e *envelopeError) Error() string { return e.message }

const (
	codeParse   = -32700
	codeInvalid = -32600
)

// readEnvelope looks at one message. It refuses what is not exactly one JSON object, and members that appear twice in
// the message or in its params: of two "arguments" a gateway or a log may have seen the other one. Members deeper
// inside are the business of whoever decodes them; their bytes are not touched.
func readEnvelope(body []byte) (envelope, error) {
	body = bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(body) == 0:
		return envelope{}, &envelopeError{code: codeParse, message: "The body is empty; send one JSON-RPC message."}
	case !json.Valid(body):
		return envelope{}, &envelopeError{code: codeParse, message: "The body is not exactly one JSON value."}
	case body[0] == '[':
		return envelope{}, &envelopeError{code: codeInvalid, message: "JSON-RPC arrays are not accepted; send each message in a request of its own."}
	case body[0] != '{':
		return envelope{}, &envelopeError{code: codeInvalid, message: "The body is not a JSON-RPC message."}
	}
	var e envelope
	var params []byte
	name, twice := eachMember(body, func(name string, value []byte) {
		switch name {
		case "id":
			e.id = echoableID(value)
			e.call = string(value) != "null"
		case "method":
			_ = json.Unmarshal(value, &e.method)
		case "params":
			params = value
		}
	})
	if !twice && len(params) > 0 && params[0] == '{' {
		name, twice = eachMember(params, func(string, []byte) {})
	}
	if twice {
		return envelope{}, &envelopeError{id: e.id, code: codeInvalid, message: fmt.Sprintf("The member %q appears more than once; send it once.", clip(name))}
	}
	e.call = e.call && e.method != ""
	return e, nil
}

// echoableID is the id as it may stand in an answer.
func echoableID(v []byte) json.RawMessage {
	const longest = 256
	if len(v) > longest || (v[0] != '"' && v[0] != '-' && (v[0] < '0' || v[0] > '9')) {
		return nil
	}
	return json.RawMessage(v)
}

// eachMember visits the members of the object at the beginning of data, which must be valid JSON. It stops at the first
// member that appears twice, comparing names after their escapes are resolved, and gives its name.
func eachMember(data []byte, visit func(name string, value []byte)) (name string, twice bool) {
	seen := map[string]struct{}{}
	i := skipSpace(data, 1)
	for data[i] != '}' {
		end := skipValue(data, i)
		name = unquote(data[i:end])
		if _, ok := seen[name]; ok {
			return name, true
		}
		seen[name] = struct{}{}
		i = skipSpace(data, end)
		i = skipSpace(data, i+1) // the colon
		end = skipValue(data, i)
		visit(name, data[i:end])
		i = skipSpace(data, end)
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return "", false
}

func unquote(s []byte) string {
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s[1 : len(s)-1])
	}
	var name string
	_ = json.Unmarshal(s, &name)
	return name
}

func skipSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n' {
		i++
	}
	return i
}

// skipValue gives the index after the value that begins at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if end := skipScalar(data, i); end > i {
				i = end - 1
			} else {
				continue // space, comma or colon inside
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// skipScalar passes a number, true, false or null.
func skipScalar(data []byte, i int) int {
	for i < len(data) {
		switch data[i] {
		case ' ', '\t', '\r', '\n', ',', ':', '}', ']':
			return i
		}
		i++
	}
	return i
}
