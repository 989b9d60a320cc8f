package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// asText decodes a text that people read: what is taken for it, or what is wrong with it.
func asText(text string) (taken, problem string, ok bool) {
	in := []byte(`{"comment":"`)
	for _, c := range []byte(text) { // byte by byte: what is not UTF-8 has to stay so
		if c < ' ' || c == '"' || c == '\\' {
			in = fmt.Appendf(in, `\u%04x`, c)
		} else {
			in = append(in, c)
		}
	}
	var args struct {
		Comment string `json:"comment"`
	}
	o := schema.Object{Fields: []schema.Field{schema.Text("comment", "A text, in characters.", schema.MaxLength(4096))}}
	v, violations := o.Decode(append(in, `"}`...), errs.English)
	if len(violations) > 0 {
		return "", violations[0].Message, false
	}
	if err := v.Into(&args); err != nil {
		return "", err.Error(), false
	}
	return args.Comment, "", true
}

func TestPublicTextCharacters(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		"newline and tab":       "a\n\tb",
		"emoji with joiners":    "👩\u200d❤\ufe0f\u200d👨 🏳\ufe0f\u200d🌈",
		"keycap":                "1\ufe0f\u20e3",
		"copyright as an emoji": "©\ufe0f",
		"kanji variant":         "辻\U000E0100さん",
		"Persian":               "می\u200cخواهم",
		"Devanagari":            "क्\u200dष",
		"Thai":                  "ที่นี่",
		"Hebrew with points":    "בְּרֵאשִׁית",
		"NBSP and wide space":   "a\u00a0b\u3000c",
		"Hangul":                "한글",
		"private use":           "\ue63e",
	}
	for name, text := range allowed {
		if _, problem, ok := asText(text); !ok {
			t.Errorf("%s: refused: %s", name, problem)
		}
	}
	refused := map[string]string{
		"NUL": "a\x00", "escape": "\x1b[0m", "vertical tab": "a\vb", "form feed at the end": "a\f", "delete": "a\x7f", "C1": "a\u0085",
		"embedding": "a\u202ab", "override": "a\u202eb", "pop": "a\u202c", "isolate": "\u2066a\u2069", "pop isolate": "a\u2069",
		"mark": "a\u200fb", "zero width space": "a\u200bb", "word joiner": "a\u2060b", "BOM": "\ufeffa",
		"soft hyphen": "a\u00adb", "tag": "🏴\U000E0067\U000E007F", "language tag": "a\U000E0001", "Hangul filler": "a\u3164b",
		"halfwidth filler": "\uffa0", "line separator": "a\u2028b", "noncharacter": "a\uffff", "annotation": "\ufff9a",
		"grapheme joiner": "a\u034fb", "two joiners": "👩\u200d\u200d👨", "joiner at the start": "\u200da", "joiner after a space": "a \u200cb",
		"selector at the start": "\ufe0fa", "selector behind a letter": "a\ufe01b", "two selectors": "❤\ufe0f\ufe01",
		"plane 14 selector behind a symbol": "❤\U000E0101", "many marks": "a" + strings.Repeat("\u0301", 18),
		"very many marks": "a" + strings.Repeat("\u0316\u0301", 60), "not UTF-8": "a\xff",
	}
	for name, text := range refused {
		if out, problem, ok := asText(text); ok || problem == "" {
			t.Errorf("%s: taken as %q", name, out)
		}
	}
}

func TestBrokenUnicodeInArguments(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"high surrogate":        `{"comment":"a\ud800"}`,
		"low surrogate":         `{"comment":"\udc00a"}`,
		"two high surrogates":   `{"comment":"\ud800\ud800"}`,
		"surrogate and text":    `{"comment":"\ud83dx"}`,
		"surrogate in a string": `{"comment":"\ud83d\\ude00"}`,
		"raw byte":              "{\"comment\":\"a\xff\"}",
		"raw byte and escape":   "{\"comment\":\"\\na\xc3\"}",
		"encoded surrogate":     "{\"comment\":\"\xed\xa0\x80\"}",
		"overlong":              "{\"comment\":\"\xc0\x80\"}",
		"escaped NUL":           `{"comment":"a\u0000b"}`,
		"escaped override":      `{"comment":"a\u202eb"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := only(t, optional(), in, "comment", schema.RuleCharacters)
			if _, err := json.Marshal(v); err != nil {
				t.Error(err)
			}
		})
	}
	only(t, optional(), `{"labels":["ok","a\u200bb"]}`, "labels[1]", schema.RuleCharacters)
	only(t, optional(), "{\"post\":\"{\\\"summary\\\":\\\"a\xff\\\"}\"}", "post.summary", schema.RuleCharacters)
}

func TestForbiddenCharacterIsNamed(t *testing.T) {
	t.Parallel()
	v := only(t, optional(), `{"comment":"あい\u202eう"}`, "comment", schema.RuleCharacters)
	if !strings.Contains(v.Message, "U+202E at character 3") {
		t.Errorf("message %q", v.Message)
	}
}
