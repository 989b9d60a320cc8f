package gbp_test

import (
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

func TestFindLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"詳しくは https://own.example/menu をご覧ください。": "own.example",
		"詳しくはhttps://own.exampleをご覧ください":         "own.example",
		"https://own.example、または店頭で":             "own.example",
		"see https://own.example.":               "own.example",
		"see https://own.example, or ask":        "own.example",
		"(https://own.example/a?b=1)":            "own.example",
		"HTTPS://OWN.EXAMPLE/":                   "own.example",
		"www.own.example/sale":                   "own.example",
		"own.example/sale":                       "own.example",
		"詳細はown.exampleへ":                        "own.example",
		"ｗｗｗ．ｅｖｉｌ．ｃｏｍ":                           "evil.com",
		"ｈｔｔｐｓ：／／ｅｖｉｌ．ｃｏｍ／ａ":                     "evil.com",
		"evil.com":                                     "evil.com",
		"win at evil-prize.net!":                       "evil-prize.net",
		"bit.ly/3abc":                                  "bit.ly",
		"t.me/joinchat":                                "t.me",
		"youtu.be/abc":                                 "youtu.be",
		"write to prize@evil.com":                      "evil.com",
		"https:/evil.com":                              "evil.com",
		"https:///evil.com":                            "evil.com",
		"https://own.example@evil.com/":                "evil.com",
		"https://own.example.evil.com/":                "own.example.evil.com",
		"https://evilown.example/":                     "evilown.example",
		"https://own.example\u0430.evil.com":           "own.example\u0430.evil.com",
		"e\u200bvil.com":                               "evil.com",
		"悪い店.com":                                      "悪い店.com",
		"https://悪い店.example/x":                        "悪い店.example",
		"http://a.example https://b.example c.example": "a.example b.example c.example",
	} {
		var got []string
		for _, l := range gbp.FindLinks(text) {
			got = append(got, gbp.Domain(l))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q (%q)", text, s, want, gbp.FindLinks(text))
		}
	}
	for _, text := range []string{
		"", "新作の抹茶ラテ", "No.1 の人気", "Come in.To order, ask.", "3.5割引", "a.m. / p.m.", "e.g. latte", "Mr.Smith", "St.Marc", "v2.0.1", "10.30-12.30", "ラテ。コーヒー",
		"R8.12.24", "Co.,Ltd.", "U.S.A.", "http だけ", "https://", "and/or",
	} {
		if got := gbp.FindLinks(text); got != nil {
			t.Errorf("%q: taken for a link: %q", text, got)
		}
	}
}

func TestDomainAllowed(t *testing.T) {
	t.Parallel()
	own := []string{"own.example", "www.shop.example", ""}
	for link, want := range map[string]bool{
		"https://own.example/": true, "https://www.own.example": true, "http://m.own.example/x": true, "https://OWN.example.": true, "https://shop.example/": true,
		"https://own.example:8443/": true, "https://evilown.example/": false, "https://own.example.evil.com/": false, "https://own.example@evil.com/": false,
		"https://example/": false, "https://evil.com/own.example": false, "https://evil.com?own.example": false, "https://evil.com#.own.example": false,
		"https://evil.com\\.own.example/": false, "": false, "own.example": false, "https://": false, "mailto:a@own.example": false,
	} {
		if got := gbp.DomainAllowed(link, own); got != want {
			t.Errorf("%q: %v, want %v", link, got, want)
		}
	}
}
