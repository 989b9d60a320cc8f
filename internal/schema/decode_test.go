package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func TestDecodeTakes(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"empty", ``, `{}`},
		{"blank", " \n", `{}`},
		{"F094 null arguments", `null`, `{}`},
		{"F094 null fields", `{"dry_run":null,"page_size":null,"post":null,"labels":null,"batch_id":null,"confirm_token":null,"query":null}`, `{}`},
		{"whole arguments as a string", `"{\"query\":\"x\"}"`, `{"query":"x"}`},
		{"F090 array as a string", `{"labels":"[\"a\", \"b\"]"}`, `{"labels":["a","b"]}`},
		{"F090 object as a string", `{"post":"{\"event\":{\"title\":\"X\",\"start_date\":\"2026-12-01\"}}"}`, `{"post":{"event":{"title":"X","start_date":"2026-12-01"}}}`},
		{"F090 a string in an object in a string", `{"post":"{\"media\":\"[{\\\"source_url\\\":\\\"https://e.com/a\\\"}]\"}"}`, `{"post":{"media":[{"source_url":"https://e.com/a"}]}}`},
		{"F092 digits", `{"page_size":"20","location_ids":["8801",8802]}`, `{"location_ids":[8801,8802],"page_size":20}`},
		{"F092 negative digits", `{"offset":"-7"}`, `{"offset":-7}`},
		{"F137 integral numbers", `{"location_ids":[1.0,1e2,20e-1,0.3e1],"offset":-0}`, `{"location_ids":[1,100,2,3],"offset":0}`},
		{"F096 the greatest and least", `{"offset":9007199254740992}`, `{"offset":9007199254740992}`},
		{"F096 the least", `{"offset":"-9007199254740992"}`, `{"offset":-9007199254740992}`},
		{"F096 many digits, small value", `{"offset":0.90071992547409920e16}`, `{"offset":9007199254740992}`},
		{"booleans", `{"dry_run":true}`, `{"dry_run":true}`},
		{"booleans as words", `{"dry_run":"false"}`, `{"dry_run":false}`},
		{"empty strings of optional fields", `{"query":"","batch_id":"","comment":" \n　","page_size":"","post":{"summary":"","scheduled_time":"","topic_type":""},"labels":""}`, `{"post":{}}`},
		{"blank query is not text", `{"query":" "}`, `{"query":" "}`},
		{"empty list", `{"labels":[]}`, `{"labels":[]}`},
		{"order of declaration", `{"dry_run":true,"query":"q","batch_id":"b"}`, `{"batch_id":"b","query":"q","dry_run":true}`},
		{"F137 escapes and spaces", "{ \"query\" :\t\"\\u3042\\/<&>\\\"\\\\\" }", `{"query":"あ/<&>\"\\"}`},
		{"F137 escaped name", `{"dry\u005frun":true}`, `{"dry_run":true}`},
		{"surrogate pair", `{"query":"\ud83d\ude00"}`, `{"query":"😀"}`},
		{"F014 line breaks", `{"comment":"a\r\nb\rc\nd\\n\t \n\n\n"}`, `{"comment":"a\nb\nc\nd\\n"}`},
		{"NFC", `{"comment":"か\u3099e\u0301"}`, `{"comment":"がé"}`},
		{"leap day", `{"post":{"event":{"title":"t","start_date":"2028-02-29","start_time":"23:59","end_time":"24:00"}}}`, `{"post":{"event":{"title":"t","start_date":"2028-02-29","start_time":"23:59","end_time":"24:00"}}}`},
		{"date-time", `{"post":{"scheduled_time":"2026-12-31T09:00:00.5+09:00"}}`, `{"post":{"scheduled_time":"2026-12-31T09:00:00.5+09:00"}}`},
		{"template in a URL", `{"post":{"call_to_action":{"action_type":"BOOK","url":"{{location.website}}?a=b c"}}}`, `{"post":{"call_to_action":{"action_type":"BOOK","url":"{{location.website}}?a=b%20c"}}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := decoded(t, optional(), c.in); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, path, rule, message string }{
		{"not JSON", `{"query":}`, "query", schema.RuleJSON, ""},
		{"cut off", `{"query":"a`, "query", schema.RuleJSON, ""},
		{"trailing bytes", `{} {}`, "$", schema.RuleJSON, ""},
		{"trailing NUL", "{}\x00", "$", schema.RuleJSON, ""},
		{"trailing comma", `{"query":"a",}`, "$", schema.RuleJSON, ""},
		{"trailing comma in a list", `{"labels":["a",]}`, "labels[1]", schema.RuleJSON, ""},
		{"leading zero", `{"page_size":020}`, "$", schema.RuleJSON, ""},
		{"plus", `{"page_size":+20}`, "page_size", schema.RuleJSON, ""},
		{"bare line break", "{\"comment\":\"a\nb\"}", "comment", schema.RuleJSON, ""},
		{"bad escape", `{"comment":"\x"}`, "comment", schema.RuleJSON, ""},
		{"array as arguments", `[1]`, "$", schema.RuleType, "object"},
		{"number as arguments", `7`, "$", schema.RuleType, "object"},
		{"other string as arguments", `"x"`, "$", schema.RuleType, "exactly one JSON object"},
		{"empty string as arguments", `""`, "$", schema.RuleType, ""},
		{"null in a string as arguments", `"null"`, "$", schema.RuleType, ""},
		{"arguments encoded twice", `"\"{}\""`, "$", schema.RuleType, ""},

		{"F100 camel case", `{"dryRun":true}`, "dryRun", schema.RuleUnknown, "did you mean dry_run?"},
		{"F100 typing error", `{"post":{"summery":"x","summary":"y"}}`, "post.summery", schema.RuleUnknown, "did you mean summary?"},
		{"F100 at the wrong depth", `{"summary":"x"}`, "summary", schema.RuleUnknown, "did you mean post.summary / overrides[].summary?"},
		{"F100 of the root, further in", `{"post":{"dryRun":true}}`, "post.dryRun", schema.RuleUnknown, "did you mean dry_run?"},
		{"F100 typing error at the wrong depth", `{"titel":"x"}`, "titel", schema.RuleUnknown, "did you mean post.event.title?"},
		{"F100 inside a list", `{"overrides":[{"location_id":1,"locationid":2}]}`, "overrides[0].locationid", schema.RuleUnknown, "did you mean location_id?"},
		{"F100 inside a string", `{"post":"{\"sumary\":1}"}`, "post.sumary", schema.RuleUnknown, "did you mean summary?"},
		{"F100 nothing near", `{"post":{"approved_by_admin":true}}`, "post.approved_by_admin", schema.RuleUnknown, "known here: topic_type, summary,"},
		{"F100 a null does not excuse it", `{"tenant":null}`, "tenant", schema.RuleUnknown, ""},
		{"F100 other case", `{"Dry_Run":true}`, "Dry_Run", schema.RuleUnknown, "did you mean dry_run?"},
		{"hostile name", `{"a\u202e\u0000b":1}`, `"a\u{202e}\u{0}b"`, schema.RuleUnknown, ""},

		{"F098 twice", `{"dry_run":true,"dry_run":false}`, "dry_run", schema.RuleDuplicate, ""},
		{"F098 twice, once null", `{"dry_run":null,"dry_run":true}`, "dry_run", schema.RuleDuplicate, ""},
		{"F098 twice by escape", `{"dry_run":true,"dry\u005frun":true}`, "dry_run", schema.RuleDuplicate, ""},
		{"F098 case only", `{"dry_run":true,"DRY_RUN":false}`, "DRY_RUN", schema.RuleDuplicate, "dry_run"},
		{"F098 nested", `{"post":{"summary":"a","summary":"b"}}`, "post.summary", schema.RuleDuplicate, ""},
		{"F098 inside a string", `{"post":"{\"summary\":\"a\",\"summary\":\"b\"}"}`, "post.summary", schema.RuleDuplicate, ""},
		{"F098 inside a list", `{"overrides":[{"location_id":1,"location_id":1}]}`, "overrides[0].location_id", schema.RuleDuplicate, ""},

		{"F090 encoded twice", `{"labels":"\"[]\""}`, "labels", schema.RuleType, "encoded once"},
		{"F090 not JSON", `{"labels":"[\"a\""}`, "labels", schema.RuleType, ""},
		{"F090 two values", `{"labels":"[] []"}`, "labels", schema.RuleType, ""},
		{"F090 the other kind", `{"labels":"{}"}`, "labels", schema.RuleType, ""},
		{"F090 broken behind a violation", `{"post":"{\"nope\":1,"}`, "post", schema.RuleType, ""},
		{"F090 broken behind another violation", `{"post":"{\"summary\":1,"}`, "post", schema.RuleType, ""},
		{"lone value for a list", `{"location_ids":8801}`, "location_ids", schema.RuleType, "[value]"},
		{"lone string for a list", `{"labels":"a"}`, "labels", schema.RuleType, ""},
		{"object for a list", `{"labels":{}}`, "labels", schema.RuleType, ""},
		{"list for an object", `{"post":[]}`, "post", schema.RuleType, ""},
		{"null inside a list", `{"labels":["a",null]}`, "labels[1]", schema.RuleType, ""},
		{"empty inside a list", `{"labels":[""]}`, "labels[0]", schema.RuleEmpty, ""},

		{"F092 exponent in a string", `{"page_size":"1e3"}`, "page_size", schema.RuleType, "decimal digits"},
		{"F092 text behind", `{"page_size":"20abc"}`, "page_size", schema.RuleType, ""},
		{"F092 spaces", `{"page_size":" 20 "}`, "page_size", schema.RuleType, ""},
		{"F092 plus", `{"page_size":"+5"}`, "page_size", schema.RuleType, ""},
		{"F092 hexadecimal", `{"page_size":"0x10"}`, "page_size", schema.RuleType, ""},
		{"F092 leading zeros", `{"page_size":"007"}`, "page_size", schema.RuleType, ""},
		{"F092 fraction in a string", `{"page_size":"1.0"}`, "page_size", schema.RuleType, ""},
		{"F092 negative zero in a string", `{"offset":"-0"}`, "offset", schema.RuleType, ""},
		{"F092 full-width digits", `{"page_size":"２０"}`, "page_size", schema.RuleType, ""},
		{"fraction", `{"page_size":1.5}`, "page_size", schema.RuleType, "fraction"},
		{"tiny fraction", `{"offset":1.00000000000000000000000000000001}`, "offset", schema.RuleType, "fraction"},
		{"fraction by exponent", `{"offset":15e-1}`, "offset", schema.RuleType, "fraction"},
		{"F096 beyond", `{"offset":9007199254740993}`, "offset", schema.RuleMaximum, "2^53"},
		{"F096 beyond in a string", `{"offset":"-9007199254740993"}`, "offset", schema.RuleMaximum, "2^53"},
		{"F096 far beyond", `{"offset":1e400}`, "offset", schema.RuleMaximum, "2^53"},
		{"F096 a power of ten that wraps to 0 in 64 bits", `{"offset":1e64}`, "offset", schema.RuleMaximum, "2^53"},
		{"F096 2^64+1", `{"offset":18446744073709551617}`, "offset", schema.RuleMaximum, "2^53"},
		{"F096 exponent bomb", `{"offset":1e99999999999999999999999}`, "offset", schema.RuleMaximum, "2^53"},
		{"F096 number as an id", `{"batch_id":12301955069276590370}`, "batch_id", schema.RuleType, "as a string"},
		{"below", `{"page_size":0}`, "page_size", schema.RuleMinimum, "at least 1"},
		{"above", `{"page_size":201}`, "page_size", schema.RuleMaximum, "at most 200"},
		{"location 0", `{"location_ids":[0]}`, "location_ids[0]", schema.RuleMinimum, ""},
		{"boolean as a number", `{"page_size":true}`, "page_size", schema.RuleType, ""},
		{"number as a string", `{"query":7}`, "query", schema.RuleType, "quotes"},
		{"boolean as a string", `{"query":false}`, "query", schema.RuleType, ""},
		{"object as a string", `{"query":{"a":[1,{"b":null}]}}`, "query", schema.RuleType, ""},

		{"dry_run empty", `{"dry_run":""}`, "dry_run", schema.RuleType, ""},
		{"dry_run yes", `{"dry_run":"yes"}`, "dry_run", schema.RuleType, "true and false"},
		{"dry_run True", `{"dry_run":"True"}`, "dry_run", schema.RuleType, ""},
		{"dry_run with a space", `{"dry_run":"true "}`, "dry_run", schema.RuleType, ""},
		{"dry_run 1", `{"dry_run":1}`, "dry_run", schema.RuleType, ""},
		{"dry_run list", `{"dry_run":[]}`, "dry_run", schema.RuleType, ""},
		{"dry_run object", `{"dry_run":{}}`, "dry_run", schema.RuleType, ""},
		{"confirm_token empty", `{"confirm_token":""}`, "confirm_token", schema.RuleEmpty, ""},
		{"confirm_token number", `{"confirm_token":1}`, "confirm_token", schema.RuleType, ""},
		{"idempotency_key empty", `{"idempotency_key":""}`, "idempotency_key", schema.RuleEmpty, ""},
		{"idempotency_key short", `{"idempotency_key":"1234567"}`, "idempotency_key", schema.RuleMinLength, "at least 8"},
		{"idempotency_key with a space", `{"idempotency_key":"1234 5678"}`, "idempotency_key", schema.RulePattern, ""},

		{"word of no enum", `{"post":{"topic_type":"event"}}`, "post.topic_type", schema.RuleEnum, "did you mean EVENT?"},
		{"list too short", `{"location_ids":[]}`, "location_ids", schema.RuleMinItems, ""},
		{"same store twice", `{"location_ids":[1,"2",1.0]}`, "location_ids[2]", schema.RuleUnique, "[0]"},
		{"id with a space", `{"batch_id":"a b"}`, "batch_id", schema.RuleFormat, ""},
		{"id not ASCII", `{"batch_id":"あ"}`, "batch_id", schema.RuleFormat, ""},
		{"id too long", `{"batch_id":"` + strings.Repeat("a", 129) + `"}`, "batch_id", schema.RuleMaxLength, "129 of 128"},
		{"no such day", `{"post":{"event":{"title":"t","start_date":"2026-02-30"}}}`, "post.event.start_date", schema.RuleFormat, ""},
		{"no leap year", `{"post":{"event":{"title":"t","start_date":"2100-02-29"}}}`, "post.event.start_date", schema.RuleFormat, ""},
		{"year zero", `{"post":{"event":{"title":"t","start_date":"0000-12-31"}}}`, "post.event.start_date", schema.RuleFormat, ""},
		{"signed year", `{"post":{"event":{"title":"t","start_date":"+026-12-31"}}}`, "post.event.start_date", schema.RuleFormat, ""},
		{"month 13", `{"post":{"event":{"title":"t","start_date":"2026-13-01"}}}`, "post.event.start_date", schema.RuleFormat, ""},
		{"more than a date", `{"post":{"event":{"title":"t","start_date":"2026-12-31T"}}}`, "post.event.start_date", schema.RuleFormat, ""},
		{"short date", `{"post":{"event":{"title":"t","start_date":"2026-2-3"}}}`, "post.event.start_date", schema.RuleFormat, ""},
		{"24:00", `{"post":{"event":{"title":"t","start_date":"2026-02-03","start_time":"24:00"}}}`, "post.event.start_time", schema.RuleFormat, ""},
		{"24:01", `{"post":{"event":{"title":"t","start_date":"2026-02-03","end_time":"24:01"}}}`, "post.event.end_time", schema.RuleFormat, "24:00"},
		{"9:00", `{"post":{"event":{"title":"t","start_date":"2026-02-03","start_time":"9:00"}}}`, "post.event.start_time", schema.RuleFormat, ""},
		{"date-time without an offset", `{"post":{"scheduled_time":"2026-12-31T09:00:00"}}`, "post.scheduled_time", schema.RuleFormat, "offset"},
		{"date-time without seconds", `{"post":{"scheduled_time":"2026-12-31T09:00Z"}}`, "post.scheduled_time", schema.RuleFormat, ""},
		{"date-time with a bare dot", `{"post":{"scheduled_time":"2026-12-31T09:00:00.Z"}}`, "post.scheduled_time", schema.RuleFormat, ""},
		{"blank date", `{"post":{"scheduled_time":" "}}`, "post.scheduled_time", schema.RuleFormat, ""},
		{"required and empty", `{"post":{"call_to_action":{"action_type":""}}}`, "post.call_to_action.action_type", schema.RuleRequired, "must not be empty"},
		{"required and null", `{"post":{"call_to_action":{"action_type":null}}}`, "post.call_to_action.action_type", schema.RuleRequired, ""},
		{"required and blank", `{"post":{"event":{"title":" ","start_date":"2026-02-03"}}}`, "post.event.title", schema.RuleRequired, ""},
		{"required and missing", `{"overrides":[{"location_id":1},{"summary":"x"}]}`, "overrides[1].location_id", schema.RuleRequired, ""},
		{"line break in a title", `{"post":{"event":{"title":"a\nb","start_date":"2026-02-03"}}}`, "post.event.title", schema.RuleCharacters, "one line"},
		{"tab in a query", `{"query":"a\tb"}`, "query", schema.RuleCharacters, ""},
		{"F011 too long", `{"post":{"summary":"` + strings.Repeat("あ", 1501) + `"}}`, "post.summary", schema.RuleMaxLength, "1,501 of 1,500 characters"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := only(t, optional(), c.in, c.path, c.rule)
			if !strings.Contains(v.Message, c.message) {
				t.Errorf("message %q lacks %q", v.Message, c.message)
			}
		})
	}
}

func TestLengthCountsCharactersAfterNormalisation(t *testing.T) {
	t.Parallel()
	family := "👨\u200d👩\u200d👧\u200d👦" // 7 code points, 25 bytes
	for name, summary := range map[string]string{
		"F011 1,500 kana":                strings.Repeat("あ", 1500),
		"F011 1,499 ASCII and one emoji": strings.Repeat("a", 1499) + "😀",
		"F012 emoji of 7 code points":    strings.Repeat("a", 1430) + strings.Repeat(family, 10),
		"decomposed letters":             strings.Repeat("か\u3099", 1500),
		"CRLF counts once":               "a" + strings.Repeat("\r\n", 1498) + "b",
		"trailing blank lines":           strings.Repeat("a", 1500) + "\n\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decoded(t, optional(), fmt.Sprintf(`{"post":{"summary":"%s"}}`, strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(summary)))
		})
	}
	v := only(t, optional(), fmt.Sprintf(`{"post":{"summary":"%s"}}`, strings.Repeat("a", 1490)+strings.Repeat(family, 10)), "post.summary", schema.RuleMaxLength)
	if !strings.Contains(v.Message, "1,560 of 1,500") {
		t.Errorf("F012: message %q", v.Message)
	}
}

// Of a text with variables only what it is at least can be measured before they are filled in: the rendering measures the rest.
func TestLengthOfATemplateIsThatOfItsText(t *testing.T) {
	t.Parallel()
	summary := func(s string) string { return `{"post":{"summary":"` + s + `"}}` }
	const variable = "{{location.store_code}}"
	for name, s := range map[string]string{
		"F011 1,499 kana and a variable": strings.Repeat("あ", 1499) + variable,
		"several":                        strings.Repeat("あ", 1400) + strings.Repeat(variable, 20),
		"short":                          variable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decoded(t, optional(), summary(s))
		})
	}
	for name, s := range map[string]string{
		"1,500 kana and a variable": strings.Repeat("あ", 1500) + variable,
		"no variable":               strings.Repeat("あ", 1499) + "{{location",
		"nothing but variables":     strings.Repeat(variable, 1500),
		"one endless variable":      "{{" + strings.Repeat("a", 10_000) + "}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			only(t, optional(), summary(s), "post.summary", schema.RuleMaxLength)
		})
	}
	only(t, optional(), `{"comment":"`+strings.Repeat("a", 4090)+variable+`"}`, "comment", schema.RuleMaxLength) // not declared to hold any
	if got := *sample().JSONSchema().Properties["post"].Properties["summary"].MaxLength; got < 1499+len(variable) {
		t.Errorf("clients are told at most %d characters", got)
	}
}

func TestOneLineHasNoSpacesAroundIt(t *testing.T) {
	t.Parallel()
	const bare = `{"post":{"summary":"  a","event":{"title":"冬のフェア","start_date":"2026-02-03"}}}`
	for _, around := range []string{"  ", `\t`, "\u3000", "\u00a0 "} {
		in := strings.NewReplacer("冬のフェア", around+"冬のフェア"+around, `  a"`, `  a`+around+`"`).Replace(bare)
		if got, want := decoded(t, optional(), in), decoded(t, optional(), bare); got != want {
			t.Errorf("%q:\n got %s\nwant %s", around, got, want)
		}
	}
}

func TestAllViolationsAtOnce(t *testing.T) {
	t.Parallel()
	in := `{"post":{"topic_type":"X","event":{"start_time":"25:00"},"media":[{"source_url":"ftp://e.com"},{}]},"overrides":[{"location_id":"x"}],"dryRun":1,"dry_run":"no"}`
	_, violations := sample().Decode([]byte(in), errs.English)
	got := map[string]string{}
	for _, v := range violations {
		got[v.Path] = v.Rule
	}
	want := map[string]string{
		"post.topic_type": schema.RuleEnum, "post.event.start_time": schema.RuleFormat, "post.event.title": schema.RuleRequired,
		"post.event.start_date": schema.RuleRequired, "post.media[0].source_url": schema.RuleFormat, "post.media[1].source_url": schema.RuleRequired,
		"overrides[0].location_id": schema.RuleType, "dryRun": schema.RuleUnknown, "dry_run": schema.RuleType, "location_ids": schema.RuleRequired,
	}
	if len(violations) != len(want) {
		t.Errorf("%d violations, want %d: %+v", len(violations), len(want), violations)
	}
	for path, rule := range want {
		if got[path] != rule {
			t.Errorf("%s: got %q, want %q", path, got[path], rule)
		}
	}
}

func TestNullIsEmptyForRequiredFields(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `null`, `{}`, `"{}"`, `{"location_ids":null,"post":null}`, `{"location_ids":"","post":""}`} {
		_, violations := sample().Decode([]byte(in), errs.English)
		if len(violations) != 2 || violations[0].Rule != schema.RuleRequired || violations[1].Rule != schema.RuleRequired {
			t.Errorf("%q: %+v", in, violations)
		}
	}
}

func TestViolationsAreCapped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `"%sargument_%d":1,`, strings.Repeat("x", i%90), i)
	}
	start := time.Now()
	_, violations := sample().Decode([]byte(`{`+b.String()+`"overrides":[{},{},{}]}`), errs.English)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if len(violations) != schema.MaxViolations+1 {
		t.Fatalf("%d violations", len(violations))
	}
	last := violations[schema.MaxViolations]
	if last.Rule != schema.RuleMore || last.Path != "$" || !strings.Contains(last.Message, "4,955") { // 5,000 + 3 + 2 - 50
		t.Errorf("note %+v", last)
	}
}

func TestBoundsOnInput(t *testing.T) {
	t.Parallel()
	o := optional()
	only(t, o, `{"query":"`+strings.Repeat("a", 1<<20)+`"}`, "$", schema.RuleTooLarge)
	for name, in := range map[string]string{
		"declared list":  `{"labels":` + strings.Repeat("[", 500_000),
		"unknown field":  `{"nope":` + strings.Repeat(`[`, 500_000),
		"unknown object": `{"nope":` + strings.Repeat(`{"a":`, 200_000),
		"root":           strings.Repeat("[", 500_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, violations := o.Decode([]byte(in), errs.English)
			if len(violations) != 1 || violations[0].Rule != schema.RuleDepth {
				t.Errorf("%+v", violations)
			}
		})
	}
	t.Run("strings within strings", func(t *testing.T) {
		t.Parallel()
		in := strings.Repeat("[", 40)
		_, violations := o.Decode([]byte(`{"post":"{\"media\":\"`+in+`\"}"}`), errs.English)
		if len(violations) != 1 || violations[0].Rule != schema.RuleDepth {
			t.Errorf("%+v", violations)
		}
	})
	t.Run("long list", func(t *testing.T) {
		t.Parallel()
		v := only(t, o, `{"overrides":[`+strings.Repeat(`{"location_id":1},`, 9999)+`{"x":1}]}`, "overrides", schema.RuleMaxItems)
		if !strings.Contains(v.Message, "10,000 of 100") {
			t.Errorf("message %q", v.Message)
		}
	})
}

func TestValuesInViolationsAreSafe(t *testing.T) {
	t.Parallel()
	o := optional()
	v := only(t, o, `{"batch_id":"\u001b[31m\u202e`+strings.Repeat("あ", 200)+`"}`, "batch_id", schema.RuleCharacters)
	if want := `\u{1b}[31m\u{202e}` + strings.Repeat("あ", 41) + "…"; v.Value != want {
		t.Errorf("value %q, want %q", v.Value, want)
	}
	if n := len([]rune(v.Value)); n > 60 {
		t.Errorf("%d characters", n)
	}
	if v = only(t, o, `{"page_size":"`+strings.Repeat("x", 60)+`"}`, "page_size", schema.RuleType); v.Value != strings.Repeat("x", 60) {
		t.Errorf("60 characters were cut: %q", v.Value)
	}

	if v = only(t, o, `{"page_size":"`+strings.Repeat("x", 61)+`"}`, "page_size", schema.RuleType); v.Value != strings.Repeat("x", 59)+"…" {
		t.Errorf("61 characters became %q", v.Value)
	}
	if v = only(t, o, `{"labels":{"a":1}}`, "labels", schema.RuleType); v.Value != `{"a":1}` {
		t.Errorf("value %q", v.Value)
	}
	nested := schema.Object{Fields: []schema.Field{schema.List("safety", "d", schema.Nested("", "d",
		schema.Object{Fields: []schema.Field{schema.String("confirm_token", "d", schema.Secret())}}))}}
	if v = only(t, nested, `{"safety":{"confirm_token":"t"}}`, "safety", schema.RuleType); v.Value != "" {
		t.Errorf("a nested secret is shown: %q", v.Value)
	}

	const secret = "tok-12345-secret"
	for _, in := range []string{
		`{"confirm_token":"tok-12345-secret\u0000"}`,
		`{"confirm_token":["tok-12345-secret"]}`,
		`{"confirm_token":"tok-12345-secret","confirm_token":"tok-12345-secret"}`,
		`{"confirmToken":"tok-12345-secret"}`,
		`["tok-12345-secret"]`,
		`"{\"confirm_token\":\"tok-12345-secret\""`,
		`{"confirm_token":"` + strings.Repeat(secret, 20) + `"}`,
	} {
		_, violations := o.Decode([]byte(in), errs.Japanese)
		if len(violations) == 0 {
			t.Errorf("%s: no violation", in)
		}
		for _, v := range violations {
			if strings.Contains(v.Value+v.Message+v.Path, secret) {
				t.Errorf("%s: the secret is shown: %+v", in, v)
			}
		}
	}
}

func TestMessagesHaveBothLanguages(t *testing.T) {
	t.Parallel()
	in := []byte(`{"dryRun":true,"page_size":0,"post":{"summary":"` + strings.Repeat("a", 1501) + `"}}`)
	_, ja := sample().Decode(in, errs.Japanese)
	_, en := sample().Decode(in, errs.English)
	if len(ja) != len(en) || len(ja) != 4 {
		t.Fatalf("%+v\n%+v", ja, en)
	}
	for i := range ja {
		if ja[i].Path != en[i].Path || ja[i].Rule != en[i].Rule || ja[i].Message == en[i].Message {
			t.Errorf("%+v\n%+v", ja[i], en[i])
		}
	}
	if _, v := sample().Decode([]byte(`{"dryRun":true}`), errs.Japanese); !strings.Contains(v[0].Message, "もしかして dry_run") {
		t.Errorf("%+v", v)
	}
}

// F137: the same call in other spellings has the same bytes.
func TestF137CanonicalBytes(t *testing.T) {
	t.Parallel()
	want := `{"location_ids":[8801,8802],"post":{"summary":"あ 1","event":{"title":"X","start_date":"2026-12-01"}},"dry_run":true}`
	for _, in := range []string{
		want,
		"{\n \"dry_run\" : \"true\", \"post\": {\"event\":{\"start_date\":\"2026-12-01\",\"title\":\"X\"}, \"summary\":\"\\u3042 1\\r\\n\"}, \"location_ids\": [8801.0, \"8802\"]}",
		`{"post":"{\"summary\":\"あ 1\",\"event\":\"{\\\"title\\\":\\\"X\\\",\\\"start_date\\\":\\\"2026-12-01\\\"}\"}","location_ids":"[8801,8802]","dry_run":true,"query":"","labels":null}`,
	} {
		if got := decoded(t, sample(), in); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// An array in the place of an object with a shorthand is that object's list, also inside a string; nothing else is.
func TestShorthand(t *testing.T) {
	t.Parallel()
	texts := func(name string) schema.Field {
		return schema.List(name, "Words.", schema.String("", "A word.", schema.MaxLength(5)), schema.MaxItems(2))
	}
	o := schema.Object{Fields: []schema.Field{
		schema.Nested("labels", "Labels.", schema.Object{Fields: []schema.Field{texts("set"), texts("add")}}, schema.Shorthand("set")),
		schema.Nested("plain", "No shorthand.", schema.Object{Fields: []schema.Field{texts("set")}}),
	}}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"labels":["a","b"]}`:             `{"labels":{"set":["a","b"]}}`,
		`{"labels":{"set":["a","b"]}}`:     `{"labels":{"set":["a","b"]}}`,
		`{"labels":{"add":["a"]}}`:         `{"labels":{"add":["a"]}}`,
		`{"labels":" [\"a\"]"}`:            `{"labels":{"set":["a"]}}`,
		`{"labels":"{\"add\":[\"a\"]}"}`:   `{"labels":{"add":["a"]}}`,
		`{"labels":[]}`:                    `{"labels":{"set":[]}}`,
		`{"labels":null}`:                  `{}`,
		`{"labels":""}`:                    `{}`,
		`{"labels":["a","b","c"]}`:         "labels max_items",
		`{"labels":["a",7]}`:               "labels[1] type",
		`{"labels":["toolong"]}`:           "labels[0] max_length",
		`{"labels":[null]}`:                "labels[0] type",
		`{"labels":"[\"a\"] x"}`:           "labels type",
		`{"labels":"[\"[]\""}`:             "labels type",
		`{"labels":"a"}`:                   "labels type",
		`{"labels":{"set":{"set":["a"]}}}`: "labels.set type",
		`{"plain":["a"]}`:                  "plain type",
		`{"labels":["a"`:                   "labels json",
	} {
		v, violations := o.Decode([]byte(in), errs.English)
		got := string(v.Canonical())
		if len(violations) > 0 {
			got = violations[0].Path + " " + violations[0].Rule
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if s := o.JSONSchema().Properties["labels"]; s.Type != "object" || len(s.AnyOf)+len(s.OneOf) > 0 {
		t.Errorf("the schema shows more than the object: %+v", s)
	}
	if err := (schema.Object{Fields: []schema.Field{schema.Nested("x", "X.", schema.Object{Fields: []schema.Field{schema.String("set", "S.", schema.MaxLength(1))}}, schema.Shorthand("set"))}}).Check(); err == nil {
		t.Error("a shorthand for what is no list passes")
	}
}
