package postgres

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/pgtest"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"plain":            {`{"a":1,"b":[true,null,"x"],"c":{"d":1.5e3}}`, `{"a":1,"b":[true,null,"x"],"c":{"d":1.5e3}}`},
		"markup stays":     {`{"a":"<b>&"}`, `{"a":"<b>&"}`},
		"escaped NUL":      {`{"a":"x\u0000y"}`, `{"a":"xy"}`},
		"NUL in a name":    {`{"a\u0000":1}`, `{"a":1}`},
		"a written escape": {`{"a":"\\u0000"}`, `{"a":"\\u0000"}`},
		"invalid UTF-8":    {"{\"a\":\"x\xffy\"}", "{\"a\":\"x\ufffdy\"}"},
		"lone surrogate":   {`{"a":"\ud800"}`, "{\"a\":\"\ufffd\"}"},
		"big numbers":      {`[1e999,-1e999999,1e-999999,12345678901234567890,0.0,0e5]`, `["1e999","-1e999999","1e-999999",12345678901234567890,0.0,0e5]`},
		"unreadable":       {`{"a":`, `{"unreadable":true}`},
	} {
		if got := string(snapshot(json.RawMessage(c[0]))); got != c[1] {
			t.Errorf("%s: %s, want %s", name, got, c[1])
		}
	}
	if snapshot(nil) != nil {
		t.Error("nothing became something")
	}
}

// Whatever comes, PostgreSQL takes what is made of it.
func TestSnapshotIsStorable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).App()
	pieces := []string{
		`{`, `}`, `[`, `]`, `"`, `:`, `,`, `\u0000`, `\ud800`, `\udc00`, `\`, "\x00", "\xff", `1e400`, `1e-70000`, `-0`, strings.Repeat("9", 400), `null`, `true`, `"a"`, `{"a":`, `"長"`, ` `,
	}
	inputs := []string{strings.Repeat("[", 9000) + strings.Repeat("]", 9000), strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)}
	for range 3000 {
		var b strings.Builder
		for range 1 + rand.IntN(8) {
			b.WriteString(pieces[rand.IntN(len(pieces))])
		}
		inputs = append(inputs, b.String(), `{"x":["`+b.String()+`"]}`, `[`+b.String()+`]`)
	}
	batch := make([]string, len(inputs))
	for i, in := range inputs {
		batch[i] = string(snapshot(json.RawMessage(in)))
	}
	var n int
	if err := db.QueryRow(t.Context(), `SELECT count(x::jsonb) FROM unnest($1::text[]) AS u (x)`, batch).Scan(&n); err != nil || n != len(batch) {
		t.Fatalf("%d of %d: %v", n, len(batch), err)
	}
}
