package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"golang.org/x/text/unicode/norm"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `"{}"`, `[]`, `{"dry_run":"true","dry_run":false}`, `{"post":"{\"summary\":\"a\"}"}`,
		`{"location_ids":[1.0,"2",3e2],"post":{"summary":"あ\r\n\u0301","event":{"title":"X","start_date":"2028-02-29","end_time":"24:00"}}}`,
		`{"post":{"call_to_action":{"action_type":"BOOK","url":"https://e.com/画 像?q=%zz#x"},"scheduled_time":"2026-12-31T09:00:00.123+09:00"}}`,
		`{"overrides":[{"location_id":"9007199254740992","summary":"\ud83d\ude00"}],"offset":-0.0e5,"idempotency_key":"12345678"}`,
		`{"labels":"[\"a\",\"b\"]","query":"\ud800","comment":"a\u202e"}`, `{"post":{"call_to_action":{"action_type":"CALL","url":"{{location.website}}/{{ a b }}"}}}`,
		`{"offset":1e99999999999,"page_size":"","comment":" \u3000\n","confirm_token":"tok"}`, `{"comment":"辻\udb40\udd00 ❤\ufe0f\u200d🔥"}`,
	} {
		f.Add([]byte(seed), uint8(0))
	}
	properties := newProperties(f)
	f.Fuzz(properties.check)
}

// FuzzDocument builds documents out of the declaration, so that most of them are nearly right.
func FuzzDocument(f *testing.F) {
	for i := range 8 {
		seed := make([]byte, 64)
		for j := range seed {
			seed[j] = byte((i + 1) * (j + 3) * 37)
		}
		f.Add(seed, uint8(i))
	}
	properties := newProperties(f)
	f.Fuzz(func(t *testing.T, entropy []byte, at uint8) {
		g := generator{entropy: entropy}
		properties.check(t, g.object(nil, properties.object, 0), at)
	})
}

// properties are what holds for the decoder whatever comes in.
type properties struct {
	object   schema.Object
	contract *jsonschema.Resolved
}

func newProperties(tb testing.TB) properties {
	tb.Helper()
	o := optional()
	contract, err := o.JSONSchema().Resolve(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return properties{o, contract}
}

func (p properties) check(t *testing.T, raw []byte, at uint8) {
	t.Helper()
	v, violations := p.object.Decode(raw, errs.English)
	if len(violations) > 0 {
		checkViolations(t, violations)
		return
	}
	if len(bytes.Trim(raw, " \t\r\n")) > 0 && !json.Valid(raw) {
		t.Fatalf("%q is not JSON, yet taken as %s", raw, v.Canonical())
	}
	same := func(what string, in []byte) {
		t.Helper()
		w, violations := p.object.Decode(in, errs.English)
		if len(violations) > 0 || !bytes.Equal(w.Canonical(), v.Canonical()) {
			t.Fatalf("%s of %q\nis %s\ngave %s %+v\nwant %s", what, raw, in, w.Canonical(), violations, v.Canonical())
		}
	}
	canonical := v.Canonical()
	same("canonical form", canonical)
	checkContract(t, p.contract, canonical)
	extra := withUnknown(t, generic(t, canonical), int(at))
	if _, violations := p.object.Decode(extra, errs.English); !slices.ContainsFunc(violations, func(v errs.Violation) bool { return v.Rule == schema.RuleUnknown }) {
		t.Fatalf("%s: the unknown name was not refused: %+v", extra, violations)
	}
	if json.Valid(raw) {
		same("other spelling", respell(nil, generic(t, raw)))
	}
	quoted, err := json.Marshal(string(canonical))
	if err != nil {
		t.Fatal(err)
	}
	same("string", quoted)
	if w := v.WithDefaults(); !json.Valid(w.Canonical()) {
		t.Fatalf("with defaults: %s", w.Canonical())
	}
}

// generator turns entropy into a document of the declaration; without entropy, values are plain.
type generator struct{ entropy []byte }

func (g *generator) below(n int) int {
	if len(g.entropy) == 0 {
		return 0
	}
	b := g.entropy[0]
	g.entropy = g.entropy[1:]
	return int(b) % n
}

func (g *generator) object(out []byte, o schema.Object, depth int) []byte {
	out = append(out, '{')
	first := true
	for i := range o.Fields {
		f := &o.Fields[len(o.Fields)-1-i]
		if !f.Required && g.below(3) == 0 {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = fmt.Appendf(out, "%q:", f.Name)
		out = g.value(out, f, depth+1)
	}
	return append(out, '}')
}

func (g *generator) value(out []byte, f *schema.Field, depth int) []byte {
	odd := g.below(40)
	if odd == 1 {
		return append(out, []string{`null`, `""`, `0`, `[]`, `{}`, `"x"`, `1.5`, `true`}[g.below(8)]...)
	}
	pick := func(words ...string) []byte { return append(out, words[g.below(len(words))]...) }
	switch f.Type {
	case schema.TypeObject, schema.TypeList:
		var inner []byte
		if f.Type == schema.TypeObject {
			inner = g.object(nil, *f.Object, depth)
		} else {
			inner = append(inner, '[')
			for i := range g.below(4) {
				if i > 0 {
					inner = append(inner, ',')
				}
				inner = g.value(inner, f.Items, depth+1)
			}
			inner = append(inner, ']')
		}
		if g.below(4) == 1 {
			inner, _ = json.Marshal(string(inner))
		}
		return append(out, inner...)
	case schema.TypeInteger, schema.TypeLocationID:
		return pick("1", `"20"`, "1.0", "1e2", "0.07e3", "200", "-0", `"9007199254740992"`, fmt.Sprint(g.below(256)))
	case schema.TypeBoolean:
		return pick("true", "false", `"true"`, `"false"`)
	case schema.TypeDate:
		return pick(`"2026-12-01"`, `"2028-02-29"`, `"0001-01-01"`)
	case schema.TypeTimeOfDay:
		return pick(`"00:00"`, `"23:59"`, `"24:00"`)
	case schema.TypeDateTime:
		return pick(`"2026-12-01T00:00:00Z"`, `"2026-12-01T00:00:00.25-03:30"`)
	case schema.TypeURL:
		return pick(`"https://example.com/"`, `"http://Ex_a.com:1/画 像?a=%zz b#c"`, `"{{location.website}}?a=あ"`, `"https://[::1]"`)
	}
	if len(f.Enum) > 0 {
		return pick(`"`+f.Enum[0]+`"`, `"`+f.Enum[len(f.Enum)-1]+`"`)
	}
	var text []byte
	for range 8 + g.below(8) {
		text = append(text, alphabet[g.below(len(alphabet))]...)
	}
	raw, _ := json.Marshal(string(text))
	return append(out, raw...)
}

// alphabet is mostly made of what normalisation and the character rules care about.
var alphabet = []string{
	"a", "b", "1", " ", "\n", "\r", "\r\n", "\t", "あ", "か", "\u3099", "\u309a", "e", "\u0301", "\u0316", "é", "Å", "ﬀ", "豈", "가", "\u11a8", "क", "\u0958", "्",
	"辻", "\U000E0100", "❤", "\ufe0f", "\u200d", "\u200c", "👩", "\u3000", "\u00a0", "\"", "\\", "<", "{{x}}", "\u2000", "\u0344", "שּׁ", "\U0001D15E",
}

// FuzzText: what is taken is stable, and free of what Unicode calls control or format characters but for the two joiners.
func FuzzText(f *testing.F) {
	f.Add("a\r\n\u0301 \n")
	f.Add("か\u3099👩\u200d❤\ufe0f\u200d👨辻\U000E0100")
	for _, s := range alphabet {
		f.Add("か" + s + s)
	}
	f.Fuzz(checkText)
}

func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		if r < 0x20000 || r >= 0xE0000 && r < 0xE1000 || r&0xFFFF >= 0xFFF0 { // beyond: Han and private use
			checkText(t, "か"+string(r)+"a")
		}
	}
}

func checkText(t *testing.T, in string) {
	t.Helper()
	out, _, ok := asText(in)
	if !ok {
		return
	}
	if again, problem, ok := asText(out); !ok || again != out {
		t.Fatalf("%q became %q, then %q %s", in, out, again, problem)
	}
	if !norm.NFC.IsNormalString(out) {
		t.Fatalf("%q is not NFC", out)
	}
	for _, r := range out {
		visibleFormat := unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r == 0x200c || r == 0x200d || r >= 0x13430 && r <= 0x1343f
		if r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) && !visibleFormat) {
			t.Fatalf("%q holds %U", out, r)
		}
	}
}

func checkViolations(t *testing.T, violations []errs.Violation) {
	t.Helper()
	if len(violations) > schema.MaxViolations+1 {
		t.Fatalf("%d violations", len(violations))
	}
	for _, v := range violations {
		if v.Path == "" || v.Rule == "" || v.Message == "" || !utf8.ValidString(v.Path+v.Message+v.Value) {
			t.Fatalf("%+v", v)
		}
		if utf8.RuneCountInString(v.Value) > 60 || strings.ContainsFunc(v.Path+v.Value, func(r rune) bool { return r < ' ' || r >= 0x202a && r <= 0x202e }) {
			t.Fatalf("unsafe to show: %+v", v)
		}
	}
}

func checkContract(t *testing.T, contract *jsonschema.Resolved, doc []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	if err := contract.Validate(v); err != nil {
		t.Fatalf("%s was taken against the published schema: %v", doc, err)
	}
}

func generic(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return v
}

// respell writes the same value with names reversed, spaces everywhere and every character escaped.
func respell(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		slices.Reverse(names)
		out = append(out, " {\r\n"...)
		for i, name := range names {
			if i > 0 {
				out = append(out, " ,"...)
			}
			out = append(respell(out, name), " :\t"...)
			out = respell(out, v[name])
		}
		return append(out, " } "...)
	case []any:
		out = append(out, "[ "...)
		for i, e := range v {
			if i > 0 {
				out = append(out, ",\n"...)
			}
			out = respell(out, e)
		}
		return append(out, " ]"...)
	case string:
		out = append(out, '"')
		for _, u := range utf16.Encode([]rune(v)) {
			out = fmt.Appendf(out, `\u%04X`, u)
		}
		return append(out, '"')
	case json.Number:
		return append(out, v...)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(out, raw...)
}

// withUnknown adds an undeclared member to one of the document's objects, chosen by at.
func withUnknown(t *testing.T, doc any, at int) []byte {
	t.Helper()
	var objects []map[string]any
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			objects = append(objects, v)
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc)
	objects[at%len(objects)]["zz_unknown"] = nil
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// FuzzNormalizeURL: what is taken is stable, and net/url reads the same host in it, without credentials.
func FuzzNormalizeURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/a b?c=d e#f", "http://[::1]:80/", "http://0x7f.1/", "https://a@b/", "https://example.com/%41%", "HTTP://A_b.c:1?", "https://e.com/画像.jpg",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, _, ok := schema.NormalizeURL(in)
		if !ok {
			return
		}
		if again, problem, ok := schema.NormalizeURL(out); !ok || again != out {
			t.Fatalf("%q became %q, then %q %s", in, out, again, problem.EN)
		}
		u, err := url.Parse(out)
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		authority := out[len(u.Scheme)+3:]
		if end := strings.IndexAny(authority, "/?#"); end >= 0 {
			authority = authority[:end]
		}
		if u.User != nil || u.Host != authority || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
			t.Fatalf("%q reads as %#v", out, u)
		}
		for _, c := range []byte(out) {
			if c <= ' ' || c >= 0x7f || c == '\\' {
				t.Fatalf("%q holds %q", out, c)
			}
		}
	})
}
