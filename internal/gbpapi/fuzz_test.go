package gbpapi

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// Whatever a body holds, the error is classified, bounded, printable and without the token.
func FuzzErrorBody(f *testing.F) {
	for _, body := range []string{
		"", "null", "[]", `{"error":null}`, `{"error":[]}`, `{"error":"invalid_token","error_description":"x"}`, `[{"error":{"code":400}}]`, htmlPage, "\x00\xff",
		envelope(400, "INVALID_ARGUMENT", validation(`{"code":1000,"field":"media.source_url","fieldIndex":0,"message":"m"}`)),
		envelope(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED", `"quota_limit_value":"0"`)),
		`{"error":{"code":"x","message":7,"status":{},"details":{"a":1},"errors":"y"}}`,
		`{"error":{"details":[null,1,"x",{"errorDetails":[{"code":1e99,"fieldIndex":-3,"message":["x"]}],"metadata":[1],"reason":"R"}]}}`,
	} {
		for _, status := range []uint16{302, 400, 403, 404, 429, 500} {
			f.Add(status, "application/json", body)
		}
	}
	const token = "opaque~token~17"
	f.Fuzz(func(t *testing.T, n uint16, contentType, body string) {
		status := 100 + int(n)%500
		h := make(map[string][]string)
		h["Content-Type"] = []string{contentType}
		h["Retry-After"] = []string{contentType}
		for _, write := range []bool{true, false} {
			e := call{name: "x.y", write: write, argument: postArgument}.classify(answer{status: status, header: h, body: []byte(body + token)}, now, token)
			if e.Class == "" || !e.Code.Known() || e.Code == "" || e.RetryAfter < 0 || e.RetryAfter > maxRetryAfter {
				t.Fatalf("%+v", e)
			}
			if !write && e.Class == Ambiguous {
				t.Fatalf("an ambiguous read: %+v", e)
			}
			if status >= 500 && status != 501 && write && e.Class != Ambiguous {
				t.Fatalf("%d is certain: %+v", status, e)
			}
			size := 0
			for _, x := range e.Fault.Fields {
				size += len(x.Field) + len(x.Argument) + len(x.Message)
			}
			if len(e.Fault.Fields) > maxFields || size > maxFieldsText || len(e.Fault.Message) > redact.MaxBytes {
				t.Fatalf("unbounded: %+v", e.Fault)
			}
			for _, s := range []string{e.Error(), errs.From(e).Error(), fmt.Sprint(e.Fault), fmt.Sprint(e.Quota)} {
				if !utf8.ValidString(s) || strings.Contains(s, "\x00") || strings.Contains(s, token) {
					t.Fatalf("unsafe: %q", s)
				}
			}
			if len(e.Error()) > redact.MaxBytes {
				t.Fatalf("long: %d", len(e.Error()))
			}
		}
	})
}
