package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

func BenchmarkDecode(b *testing.B) {
	japanese := strings.Repeat("本日のおすすめは桜鯛です。", 40)
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprint(8800+i))
	}
	for name, in := range map[string]string{
		"read":        `{"location_ids":[8801],"page_size":20}`,
		"create":      `{"location_ids":[8801,8802,8803,8804],"post":{"topic_type":"EVENT","summary":"` + japanese + `","call_to_action":{"action_type":"BOOK","url":"https://example.com/reserve?a=1"},"event":{"title":"桜まつり","start_date":"2026-12-01"}},"dry_run":true,"idempotency_key":"0b5ac9f2-1a5e-4f0e-8f1b-3f7c3b7f8a01"}`,
		"hundred ids": `{"location_ids":[` + strings.Join(ids, ",") + `],"dry_run":true}`,
	} {
		b.Run(name, func(b *testing.B) {
			o, raw := optional(), []byte(in)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, violations := o.Decode(raw, errs.Japanese); len(violations) > 0 {
					b.Fatal(violations)
				}
			}
		})
	}
	b.Run("refusal", func(b *testing.B) {
		o, raw := optional(), []byte(`{"dryRun":true,"post":{"summery":"x"},"page_size":"many"}`)
		b.ReportAllocs()
		for b.Loop() {
			if _, violations := o.Decode(raw, errs.Japanese); len(violations) != 3 {
				b.Fatal(violations)
			}
		}
	})
}
