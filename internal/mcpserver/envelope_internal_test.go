package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadEnvelope(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, id, method string
		call             bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "1", "ping", true},
		{" \r\n\t{ \"id\" : \"a\\\"b\" , \"method\" : \"p\\u0069ng\" , \"params\" : { } } ", `"a\"b"`, "ping", true},
		{`{"method":"notifications/x","params":{"a":[{"a":1},{"a":1}],"b":{"a":1,"c":"}]\"{"}}}`, "", "notifications/x", false},
		{`{"id":1,"result":{}}`, "1", "", false},
		{`{"id":null,"method":"ping"}`, "", "ping", false},
		{`{"id":-1.5e3,"method":"ping","params":[1,2]}`, "-1.5e3", "ping", true},
		{`{"id":{"a":1},"method":"ping","params":null}`, "", "ping", true},
		{`{"id":1,"method":7}`, "1", "", false},
		{`{}`, "", "", false},
		// Members deeper inside are not the envelope's business.
		{`{"id":1,"method":"tools/call","params":{"arguments":{"a":1,"a":2},"_meta":{"x":1,"x":2}}}`, "1", "tools/call", true},
	} {
		e, err := readEnvelope([]byte(c.body))
		if err != nil || string(e.id) != c.id || e.method != c.method || e.call != c.call {
			t.Errorf("%s: %+v %v", c.body, e, err)
		}
	}
	for body, code := range map[string]int{
		"": codeParse, "  ": codeParse, "{": codeParse, "{}{}": codeParse, "nope": codeParse,
		"[]": codeInvalid, "1": codeInvalid, `"x"`: codeInvalid, "null": codeInvalid,
		`{"a":1,"a":1}`: codeInvalid, `{"params":{"x":1,"y":2,"x":3}}`: codeInvalid, `{"p\u0061rams":1,"params":2}`: codeInvalid,
		`{"":"","":{}}`: codeInvalid, "{\"a\xff\":1,\"a\xfe\":2}": codeInvalid, `{"\udc00\ud800":1,"\ufffd\ufffd":2}`: codeInvalid,
	} {
		_, err := readEnvelope([]byte(body))
		if bad, ok := errors.AsType[*envelopeError](err); !ok || bad.code != code {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// FuzzReadEnvelope compares what the front sees with the standard decoder's view of the same bytes.
func FuzzReadEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"\\\"}"},"arguments":1}}`,
		`{"id":"é\u0000","method":"m","params":{"a":[1,[2,{}],"]"],"b":-1.0e+5}}`, `[{}]`, `{"a":{"b":"\\"},"a":1}`, ` { } `,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := readEnvelope(body)
		if !json.Valid(body) || bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
			if err == nil {
				t.Fatalf("accepted %q", body)
			}
			return
		}
		var message map[string]json.RawMessage
		if jsonErr := json.Unmarshal(body, &message); jsonErr != nil {
			t.Skip("deeper than the standard decoder goes")
		}
		twice := repeats(t, body)
		if params, ok := message["params"]; ok && !twice && params[0] == '{' {
			twice = repeats(t, params)
		}
		if twice != (err != nil) {
			t.Fatalf("%q: repeated %v, but %v", body, twice, err)
		}
		if err != nil {
			return
		}
		var method string
		_ = json.Unmarshal(message["method"], &method)
		if e.method != method || (e.id != nil && !bytes.Equal(e.id, message["id"])) {
			t.Fatalf("%q: %+v", body, e)
		}
	})
}

// repeats tells with the standard tokenizer whether a name appears twice in an object.
func repeats(t *testing.T, object []byte) bool {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		s, ok := name.(string)
		if !ok {
			t.Fatal(name)
		}
		if seen[s] {
			return true
		}
		seen[s] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	return false
}

func BenchmarkReadEnvelope(b *testing.B) {
	for name, size := range map[string]int{"small": 0, "4 KiB": 4 << 10, "1 MiB": 1 << 20} {
		body := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"post.create","arguments":{"post":{"summary":"` + strings.Repeat("あ\\n", size/5) + `"},"location_ids":[1,2,3]},"_meta":{"progressToken":"x"}}}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readEnvelope(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
