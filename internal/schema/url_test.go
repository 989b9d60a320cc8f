package schema_test

import (
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func TestNormalizeURLTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "https://example.com", "https://example.com"},
		{"scheme in capitals, spaces around", "  HTTPS://Example.com/A ", "https://Example.com/A"},
		{"F028 signed query", "https://bucket.example.com/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&X-Amz-Expires=3600", "https://bucket.example.com/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&X-Amz-Expires=3600"},
		{"F028 order and odd percent of a query", "https://example.com/?b=2&a=1&a=+%zz%", "https://example.com/?b=2&a=1&a=+%zz%"},
		{"F030 raw path", "https://cdn.example.com/画像 1.jpg", "https://cdn.example.com/%E7%94%BB%E5%83%8F%201.jpg"},
		{"F030 encoded path", "https://cdn.example.com/%E7%94%BB%e5%83%8f%201.jpg", "https://cdn.example.com/%E7%94%BB%e5%83%8f%201.jpg"},
		{"F030 fragment stays", "https://cdn.example.com/a.jpg#top", "https://cdn.example.com/a.jpg#top"},
		{"raw query", "https://example.com?q=寿司 a", "https://example.com?q=%E5%AF%BF%E5%8F%B8%20a"},
		{"port", "http://example.com:8080/", "http://example.com:8080/"},
		{"dotted address", "http://127.0.0.1:9000/a", "http://127.0.0.1:9000/a"},
		{"bracketed address", "http://[2001:db8::1]:80/a", "http://[2001:db8::1]:80/a"},
		{"host that looks numeric", "https://1.2.3.example/", "https://1.2.3.example/"},
		{"at sign in the path", "https://example.com/@mappy", "https://example.com/@mappy"},
		{"punycode", "https://xn--wgv71a.jp/", "https://xn--wgv71a.jp/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, problem, ok := schema.NormalizeURL(c.in)
			if !ok || got != c.want {
				t.Fatalf("got %q (%s), want %q", got, problem.EN, c.want)
			}
			if again, _, ok := schema.NormalizeURL(got); !ok || again != got {
				t.Errorf("a second pass gives %q", again)
			}
		})
	}
}

func TestNormalizeURLRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"F043 decimal": "http://2130706433/", "F043 octal": "http://0177.0.0.1/", "F043 short": "http://127.1/",
		"F043 hexadecimal": "http://0x7f000001/", "F043 hexadecimal part": "http://127.0.0.0x1/", "F043 five parts": "http://1.2.3.4.5/", "F043 bare 0x": "http://127.0.0.0x/",
		"F043 too large": "http://256.0.0.1/", "F043 file": "file:///etc/passwd", "F043 ftp": "ftp://example.com/a.jpg",
		"F043 credentials": "http://user:pass@example.com/a.jpg", "F043 host as user": "http://example.com@127.0.0.1/",
		"no scheme": "example.com/a", "relative": "//example.com", "one slash": "https:/example.com", "script": "javascript:alert(1)",
		"no host": "https:///a", "empty": "", "backslash": `https://example.com\@evil.example/`, "backslash in the path": `https://example.com/a\b`, "control": "https://example.com/\x00",
		"line break": "https://example.com/a\nb", "invisible": "https://exa\u200bmple.com/", "override in the path": "https://example.com/\u202egpj",
		"space in the host": "https://exa mple.com/", "percent in the host": "https://example%2ecom/", "wide dot": "https://127。0。0。1/",
		"wide digits": "https://１２７.0.0.1/", "international host": "https://日本語.jp/", "empty label": "https://example..com/", "trailing dot": "https://127.0.0.1./",
		"port 0": "https://example.com:0/", "port 65536": "https://example.com:65536/", "no port": "https://example.com:/", "two ports": "https://example.com:1:2/",
		"zone": "http://[fe80::1%25eth0]/", "open bracket": "http://[::1/", "text behind a bracket": "http://[::1]x/", "address in brackets": "http://[127.0.0.1]/",
		"percent": "https://example.com/50%off", "percent behind a question mark in a fragment": "https://example.com/#a?%", "percent at the end": "https://example.com/50%", "long label": "https://" + strings.Repeat("a", 64) + ".com/",
		"variable": "{{location.website}}", "variable as host": "https://{{location.website}}/", "not UTF-8": "https://example.com/\xff",
	} {
		if got, problem, ok := schema.NormalizeURL(in); ok || problem.EN == "" || problem.JA == "" {
			t.Errorf("%s: %q taken as %q", name, in, got)
		}
	}
}

func TestNormalizeURLSaysWhy(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://user:pass@example.com/": "user name or password", "http://0177.0.0.1/": "octal", "ftp://example.com": "https://", "https://日本語.jp": "xn--",
	} {
		if _, problem, _ := schema.NormalizeURL(in); !strings.Contains(problem.EN, want) {
			t.Errorf("%s: %q", in, problem.EN)
		}
	}
}

func TestURLFields(t *testing.T) {
	t.Parallel()
	cta := func(url string) string {
		return `{"post":{"call_to_action":{"action_type":"BOOK","url":"` + url + `"}}}`
	}
	for in, want := range map[string]string{
		"{{location.website}}":                            "{{location.website}}",
		"https://example.com/{{ location.store_code }}/寿": "https://example.com/{{ location.store_code }}/%E5%AF%BF",
	} {
		if got := decoded(t, optional(), cta(in)); got != cta(want) {
			t.Errorf("got %s, want %s", got, cta(want))
		}
	}
	const path = "post.call_to_action.url"
	only(t, optional(), cta("https://{{location.website}}/"), path, schema.RuleFormat)
	only(t, optional(), cta("https://example.com/{{location.website"), path, schema.RuleFormat)
	only(t, optional(), cta("https://example.com/"+strings.Repeat("a", 2029)), path, schema.RuleMaxLength)
	decoded(t, optional(), cta("https://example.com/"+strings.Repeat("a", 2028)))
	only(t, optional(), cta("https://example.com/"+strings.Repeat("あ", 300)), path, schema.RuleMaxLength)
}
