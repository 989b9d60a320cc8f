package gbp_test

import (
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// TestURLVariables: what a store is called must not change where a link leads; it is escaped as its place in the address
// demands, everywhere that an address is taken.
func TestURLVariables(t *testing.T) {
	t.Parallel()
	loc := shibuya()
	loc.Profile = gbp.Profile{Title: "A&b=c#d / 1+1? 100%", StoreCode: "S-1", City: "渋谷", PrimaryPhone: "+81 3-1000-0001", WebsiteURL: "https://own.example/s?a=1&b=2"}
	const title = "A%26b%3Dc%23d%20%2F%201%2B1%3F%20100%25"
	for in, want := range map[string]string{
		"https://x.example/?q={{location.title}}":                           "https://x.example/?q=" + title,
		"https://x.example?q={{ location.title }}&r=1":                      "https://x.example?q=" + title + "&r=1",
		"https://x.example/{{location.title}}/menu":                         "https://x.example/A&b=c%23d%20%2F%201+1%3F%20100%25/menu",
		"https://x.example/a#{{location.title}}":                            "https://x.example/a#" + title,
		"https://x.example/{{location.city}}?t={{location.phone}}":          "https://x.example/%E6%B8%8B%E8%B0%B7?t=%2B81%203-1000-0001",
		"https://x.example/go?to={{location.website}}":                      "https://x.example/go?to=https%3A%2F%2Fown.example%2Fs%3Fa%3D1%26b%3D2",
		"{{location.website}}":                                              "https://own.example/s?a=1&b=2",
		"{{location.website}}&from={{location.title}}":                      "https://own.example/s?a=1&b=2&from=" + title,
		"https://{{location.store_code}}.x.example/":                        "https://S-1.x.example/",
		"https://x.example/{{location.store_code}}.jpg":                     "https://x.example/S-1.jpg",
		"https://{{location.title}}.x.example/":                             "! variable_characters",
		"https://{{location.website}}/":                                     "! variable_characters",
		"{{location.title}}":                                                "! url",
		"https://x.example/{{location.color}}":                              "! unknown_variable",
		"https://x.example/a b":                                             "! url",
		"https://x.example/?q={{location.title}}&x={{":                      "! unknown_variable",
		"https://x.example/{{location.store_code}}/{{location.store_code}}": "https://x.example/S-1/S-1",
	} {
		got := gbp.FillStoreURL("website_url", in, loc, errs.English)
		s := got.Text
		if len(got.Violations) > 0 {
			s = "!"
			for _, v := range got.Violations {
				s += " " + v.Rule
			}
		}
		if s != want {
			t.Errorf("%s:\n got %s\nwant %s", in, s, want)
		}
	}
	d := standard("x")
	d.CallToAction = &gbp.ActionDraft{ActionType: "BOOK", URL: "https://own.example/?q={{location.title}}"}
	d.Media = []gbp.MediaSource{{SourceURL: "https://own.example/{{location.city}}.jpg?t={{location.title}}"}}
	r, v, _ := gbp.RenderPost(nil, d, loc, now, errs.English)
	if v != nil {
		t.Fatal(v)
	}
	shown := string(r.Payload) // what the preview shows
	for _, want := range []string{"https://own.example/?q=" + title, "https://own.example/%E6%B8%8B%E8%B0%B7.jpg?t=" + title} {
		if !strings.Contains(shown, `"`+want+`"`) {
			t.Errorf("%s is not in %s", want, shown)
		}
	}
	if s := gbp.PostSources(d, loc); len(s) != 1 || s[0].URL != r.Post.Media[0].SourceURL {
		t.Errorf("the media check looks at %v, and %s is sent", s, r.Post.Media[0].SourceURL)
	}
}
