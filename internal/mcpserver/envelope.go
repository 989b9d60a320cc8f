package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
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
	var params gjson.Result
	name, twice := eachMember(gjson.ParseBytes(body), func(name string, value gjson.Result) {
		switch name {
		case "id":
			e.id = echoableID(value.Raw)
			e.call = value.Type != gjson.Null
		case "method":
			if value.Type == gjson.String {
				e.method = unquote(value.Raw)
			}
		case "params":
			params = value
		}
	})
	if !twice && params.IsObject() {
		name, twice = eachMember(params, func(string, gjson.Result) {})
	}
	if twice {
		return envelope{}, &envelopeError{id: e.id, code: codeInvalid, message: fmt.Sprintf("The member %q appears more than once; send it once.", clip(name))}
	}
	e.call = e.call && e.method != ""
	return e, nil
}

// echoableID is the id as it may stand in an answer.
func echoableID(v string) json.RawMessage {
	const longest = 256
	if len(v) > longest || (v[0] != '"' && v[0] != '-' && (v[0] < '0' || v[0] > '9')) {
		return nil
	}
	return json.RawMessage(v)
}

// eachMember visits the members of an object, which must be valid JSON. It stops at the first member that appears twice, and
// gives its name. (A json.Decoder would copy the whole message several times.)
func eachMember(object gjson.Result, visit func(name string, value gjson.Result)) (name string, twice bool) {
	seen := map[string]bool{}
	object.ForEach(func(key, value gjson.Result) bool {
		name = unquote(key.Raw)
		twice = seen[name]
		seen[name] = true
		if !twice {
			visit(name, value)
		}
		return !twice
	})
	return name, twice
}

// unquote reads a string as encoding/json does, so that names which are one name to a later reader are one here.
func unquote(raw string) string {
	if !strings.Contains(raw, `\`) && utf8.ValidString(raw) {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s)
	return s
}
