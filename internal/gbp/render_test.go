package gbp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// now is 1 December 2026, 00:30 in Tokyo and still 30 November in UTC.
var now = time.Date(2026, 11, 30, 15, 30, 0, 0, time.UTC)

func shibuya() gbp.Location {
	return gbp.Location{
		ID: 8802, Name: "locations/1", Timezone: "Asia/Tokyo", Verified: true,
		Profile: gbp.Profile{Title: "こもれび珈琲 渋谷店", StoreCode: "SHIBUYA001", City: "渋谷区", PrimaryPhone: "03-1000-0000", WebsiteURL: "https://own.example/stores/shibuya001"},
	}
}

func standard(summary string) gbp.PostDraft {
	return gbp.PostDraft{TopicType: gbp.TopicStandard, Summary: summary}
}

func event(start, startTime, end, endTime string) *gbp.EventDraft {
	return &gbp.EventDraft{Title: "冬のフェア", StartDate: start, StartTime: startTime, EndDate: end, EndTime: endTime}
}

// broken gives "path rule" of each violation.
func broken(v []errs.Violation) []string {
	var out []string
	for _, x := range v {
		out = append(out, x.Path+" "+x.Rule)
	}
	return out
}

func codes(w []gbp.Warning) []string {
	var out []string
	for _, x := range w {
		out = append(out, x.Code)
	}
	return out
}

// Each rule of a post, by what a caller gets wrong. F002, F004, F007, F011, F025, F026 and their siblings.
func TestRenderPostRefuses(t *testing.T) {
	t.Parallel()
	topic := func(topic string, change func(*gbp.PostDraft)) gbp.PostDraft {
		d := gbp.PostDraft{TopicType: topic, Summary: "x"}
		if topic != gbp.TopicStandard {
			d.Event = event("2026-12-24", "10:00", "2026-12-25", "20:00")
		}
		change(&d)
		return d
	}
	media := func(urls ...string) func(*gbp.PostDraft) {
		return func(d *gbp.PostDraft) {
			for _, u := range urls {
				d.Media = append(d.Media, gbp.MediaSource{SourceURL: u})
			}
		}
	}
	action := func(kind, url string) func(*gbp.PostDraft) {
		return func(d *gbp.PostDraft) { d.CallToAction = &gbp.ActionDraft{ActionType: kind, URL: url} }
	}
	for name, c := range map[string]struct {
		draft gbp.PostDraft
		want  string
	}{
		"nothing to show":           {standard(""), "post.summary required"},
		"F002 offer without event":  {topic("OFFER", func(d *gbp.PostDraft) { d.Event = nil }), "post.event.title required|post.event.start_date required"},
		"F002 event without event":  {topic("EVENT", func(d *gbp.PostDraft) { d.Event = nil }), "post.event.title required|post.event.start_date required"},
		"event on a standard post":  {topic("STANDARD", func(d *gbp.PostDraft) { d.Event = event("2026-12-24", "10:00", "2026-12-24", "11:00") }), "post.event not_allowed"},
		"offer on an event":         {topic("EVENT", func(d *gbp.PostDraft) { d.Offer = &gbp.OfferDraft{CouponCode: "A"} }), "post.offer not_allowed"},
		"alert":                     {topic("ALERT", func(d *gbp.PostDraft) { d.Event = nil }), "post.topic_type enum"},
		"F004 call with a page":     {topic("STANDARD", action("CALL", "https://own.example/call")), "post.call_to_action.url not_allowed"},
		"F004 call with a number":   {topic("STANDARD", action("CALL", "tel:+81312345678")), "post.call_to_action.url not_allowed"},
		"button without url":        {topic("STANDARD", action("BOOK", "")), "post.call_to_action.url required"},
		"button on an offer":        {topic("OFFER", action("BOOK", "https://own.example/")), "post.call_to_action not_allowed"},
		"button to javascript":      {topic("STANDARD", action("BOOK", "javascript:alert(1)")), "post.call_to_action.url url"},
		"button with credentials":   {topic("STANDARD", action("BOOK", "https://own.example@evil.example/")), "post.call_to_action.url url"},
		"button to loopback":        {topic("STANDARD", action("BOOK", "http://127.0.0.1/")), "post.call_to_action.url url"},
		"button to a short address": {topic("STANDARD", action("BOOK", "http://127.1/")), "post.call_to_action.url url"},
		"button to a decimal host":  {topic("STANDARD", action("BOOK", "http://2130706433/")), "post.call_to_action.url url"},
		"button to v6":              {topic("STANDARD", action("BOOK", "http://[::1]/")), "post.call_to_action.url url"},
		"button to localhost":       {topic("STANDARD", action("BOOK", "http://localhost/")), "post.call_to_action.url url"},
		"button with a space":       {topic("STANDARD", action("BOOK", "https://own.example/a b")), "post.call_to_action.url url"},
		"F007 end before start":     {topic("EVENT", func(d *gbp.PostDraft) { d.Event = event("2026-12-25", "10:00", "2026-12-24", "18:00") }), "post.event.end_date before_start"},
		"F007 end before, same day": {topic("EVENT", func(d *gbp.PostDraft) { d.Event = event("2026-12-25", "10:00", "2026-12-25", "09:59") }), "post.event.end_date before_start"},
		"no such day":               {topic("EVENT", func(d *gbp.PostDraft) { d.Event = event("2026-02-29", "10:00", "2026-03-01", "09:59") }), "post.event.start_date date"},
		"F006 an instant":           {topic("EVENT", func(d *gbp.PostDraft) { d.Event = event("2026-12-24T22:00:00Z", "10:00", "2026-12-25", "18:00") }), "post.event.start_date date"},
		"long title":                {topic("EVENT", func(d *gbp.PostDraft) { d.Event.Title = strings.Repeat("冬", 59) }), "post.event.title max_length"},
		"two photos":                {topic("STANDARD", media("https://own.example/a.jpg", "https://own.example/b.jpg")), "post.media max_items"},
		"photo over http":           {topic("STANDARD", media("http://own.example/a.jpg")), "post.media[0].source_url https"},
		"F026 drive share page":     {topic("STANDARD", media("https://drive.google.com/file/d/abc/view")), "post.media[0].source_url viewer_page"},
		"F026 dropbox share page":   {topic("STANDARD", media("https://www.dropbox.com/s/abc/a.jpg?dl=0")), "post.media[0].source_url viewer_page"},
		"video":                     {topic("STANDARD", media("https://own.example/a.MP4")), "post.media[0].source_url video"},
		"photo on loopback":         {topic("STANDARD", media("https://127.0.0.1/a.jpg")), "post.media[0].source_url url"},
		"photo of an unknown store": {topic("STANDARD", media("https://own.example/{{location.id}}.jpg")), "post.media[0].source_url unknown_variable"},
		"scheduled in the past":     {topic("STANDARD", func(d *gbp.PostDraft) { d.ScheduledTime = "2026-12-01T00:29:59+09:00" }), "post.scheduled_time in_past"},
		"scheduled now":             {topic("STANDARD", func(d *gbp.PostDraft) { d.ScheduledTime = "2026-11-30T15:30:00Z" }), "post.scheduled_time in_past"},
		"F011 1501 characters":      {standard(strings.Repeat("あ", 1501)), "post.summary max_length"},
		"too long once rendered":    {standard(strings.Repeat("あ", 1491) + "{{location.title}}"), "post.summary max_length"},
		"unknown variable":          {standard("{{location.name}}"), "post.summary unknown_variable"},
		"misspelt variable":         {standard("{{ Location.Title }}"), "post.summary unknown_variable"},
		"empty braces":              {standard("{{}}"), "post.summary unknown_variable"},
		"unclosed braces":           {standard("a {{location.title"), "post.summary unknown_variable"},
		"three braces":              {standard("{{{location.title}}}"), "post.summary unknown_variable"},
		"three behind":              {standard("{{location.title}}}"), "post.summary unknown_variable"},
		"braces that only close":    {standard("location.title}} へ"), "post.summary unknown_variable"},
		"three braces in a url":     {topic("STANDARD", action("BOOK", "https://own.example/{{{location.store_code}}}")), "post.call_to_action.url unknown_variable"},
		"variable in a coupon code": {topic("OFFER", func(d *gbp.PostDraft) { d.Offer = &gbp.OfferDraft{CouponCode: "{{ code }}"} }), "post.offer.coupon_code unknown_variable"},
		"fine: braces with a space": {standard("{ {{location.title}} }"), ""},
		"several at once": {topic("OFFER", func(d *gbp.PostDraft) {
			d.Event, d.Summary, d.ScheduledTime = nil, strings.Repeat("a", 1501), "2020-01-01T00:00:00Z"
		}), "post.summary max_length|post.event.title required|post.event.start_date required|post.scheduled_time in_past"},
		"fine: 1500 kana":            {standard(strings.Repeat("あ", 1500)), ""},
		"fine: 1499 and an emoji":    {standard(strings.Repeat("a", 1499) + "🎄"), ""},
		"fine: photo without text":   {topic("STANDARD", func(d *gbp.PostDraft) { d.Summary = ""; media("https://own.example/a.jpg")(d) }), ""},
		"fine: one minute":           {topic("EVENT", func(d *gbp.PostDraft) { d.Event = event("2026-12-25", "10:00", "2026-12-25", "10:00") }), ""},
		"fine: leap day":             {topic("EVENT", func(d *gbp.PostDraft) { d.Event = event("2028-02-29", "10:00", "2028-02-29", "10:00") }), ""},
		"fine: drive file":           {topic("STANDARD", media("https://drive.google.com/uc?id=abc")), ""},
		"fine: signed photo":         {topic("STANDARD", media("https://own.example/a.jpg?X-Amz-Signature=abc&X-Amz-Expires=60")), ""},
		"fine: a minute from now":    {topic("STANDARD", func(d *gbp.PostDraft) { d.ScheduledTime = "2026-12-01T00:30:01+09:00" }), ""},
		"fine: 58 characters title":  {topic("EVENT", func(d *gbp.PostDraft) { d.Event.Title = strings.Repeat("冬", 58) }), ""},
		"fine: button with template": {topic("STANDARD", action("BOOK", "{{location.website}}?from=post")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, l := range []errs.Locale{errs.English, errs.Japanese} {
				r, v, _ := gbp.RenderPost(nil, c.draft, shibuya(), now, l)
				if got := strings.Join(broken(v), "|"); got != c.want {
					t.Fatalf("got %q, want %q", got, c.want)
				}
				if (r.Payload != nil) == (c.want != "") {
					t.Fatalf("payload %s beside %q", r.Payload, c.want)
				}
				for _, x := range v {
					if x.Message == "" || x.LocationID != 8802 {
						t.Fatalf("violation %+v", x)
					}
				}
			}
		})
	}
}

// F006: dates are the store's wall clock and reach Google as they were written, whatever the zone of store, server or clock.
func TestF006WallClock(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati", "UTC", "", "No/Such"} {
		loc := shibuya()
		loc.Timezone = zone
		d := gbp.PostDraft{TopicType: gbp.TopicEvent, Summary: "x", Event: event("2026-12-25", "07:00", "2026-12-31", "23:59")}
		r, v, _ := gbp.RenderPost(nil, d, loc, now, errs.English)
		if v != nil {
			t.Fatal(v)
		}
		s := r.Post.Event.Schedule
		if got := fmt.Sprint(s.StartDate, s.StartTime, s.EndDate, s.EndTime); got != "{2026 12 25} {7 0 0 0} {2026 12 31} {23 59 0 0}" {
			t.Errorf("%q: %s", zone, got)
		}
	}
}

// F007: "already over" is decided by the store's own clock, to the minute.
func TestF007EventInPast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, end, at string
		past          bool
	}{
		{"Asia/Tokyo", "2026-11-30", "23:59", true}, // it is 1 December there
		{"UTC", "2026-11-30", "23:59", false},
		{"America/Los_Angeles", "2026-11-30", "07:29", true}, // 07:30 there
		{"America/Los_Angeles", "2026-11-30", "07:30", false},
		{"Asia/Tokyo", "2026-12-01", "00:30", false},
		{"Asia/Tokyo", "2026-12-01", "00:29", true},
	} {
		loc := shibuya()
		loc.Timezone = c.zone
		d := gbp.PostDraft{TopicType: gbp.TopicEvent, Summary: "x", Event: event("2026-11-01", "00:00", c.end, c.at)}
		_, v, w := gbp.RenderPost(nil, d, loc, now, errs.English)
		if got := slices.Contains(codes(w), "EVENT_IN_PAST"); got != c.past || v != nil {
			t.Errorf("%+v: past %v, %v", c, got, v)
		}
	}
}

// F006: a wrong year is a date like any other; a period that is far away is pointed at.
func TestEventFarOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		start, end string
		far        bool
	}{
		{"2026-12-24", "2026-12-25", false},
		{"2025-12-24", "2027-12-25", false},
		{"2028-02-28", "2028-02-29", true},
		{"2126-12-24", "2126-12-25", true},
		{"0026-12-24", "2026-12-25", true},
	} {
		d := gbp.PostDraft{TopicType: gbp.TopicEvent, Summary: "x", Event: event(c.start, "10:00", c.end, "20:00")}
		_, v, w := gbp.RenderPost(nil, d, shibuya(), now, errs.English)
		if got := slices.Contains(codes(w), "DATE_FAR_OFF"); got != c.far || v != nil {
			t.Errorf("%+v: %v, %v", c, got, v)
		}
	}
}

// F009, F014, F015, F054: what people regret on a public page is pointed at, with the part that is meant, and never rewritten.
func TestSuspicions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ご予約は 03-1234-5678 まで":             "PHONE_NUMBER_IN_TEXT 03-1234-5678",
		`Line1\nLine2`:                     `ESCAPED_LINE_BREAK \n`,
		`Line1\r\nLine2`:                   `ESCAPED_LINE_BREAK \r`,
		"Ben &amp; Co&#8217;s <b>sale</b>": "MARKUP_IN_TEXT &amp;",
		"<br/>":                            "MARKUP_IN_TEXT <br/>",
		"</p>":                             "MARKUP_IN_TEXT </p>",
		"&#x27;":                           "MARKUP_IN_TEXT &#x27;",
		"[店名]へようこそ":                        "PLACEHOLDER_IN_TEXT [店名]",
		"Visit [Your Store Name] today":    "PLACEHOLDER_IN_TEXT [Your Store Name]",
		"Hi ${name}":                       "PLACEHOLDER_IN_TEXT ${name}",
		"｛｛location.title｝｝へ":              "PLACEHOLDER_IN_TEXT ｛｛location.title｝｝",
		"<<STORE>>":                        "PLACEHOLDER_IN_TEXT <<STORE>>",
		"〇〇店でお待ちしています":                     "PLACEHOLDER_IN_TEXT 〇〇",
		"Lorem ipsum dolor":                "PLACEHOLDER_IN_TEXT Lorem ipsum",
		"Sure! Here is the post you asked for:\nNew latte": "MODEL_CHATTER_IN_TEXT Sure! Here is the post you asked for:",
		"以下が投稿文です。\n新作ラテ":                                  "MODEL_CHATTER_IN_TEXT 以下が投稿文です",
		"As an AI language model, I":                       "MODEL_CHATTER_IN_TEXT As an AI language model",
		"[ご予約はこちら](https://own.example/x)":                 "MARKUP_IN_TEXT [ご予約はこちら](https://own.example/x)", "## 新メニュー\n抹茶": "MARKUP_IN_TEXT ## 新メニュー", "[b]セール[/b]": "MARKUP_IN_TEXT [/b]",
		"<!-- wp:paragraph -->新作": "MARKUP_IN_TEXT <!--", `\u65b0\u4f5c`: `MARKUP_IN_TEXT \u65b0`, `\"新作\"です`: `MARKUP_IN_TEXT \"`, "#抹茶 #新作": "", "C# 入門": "", "[新作]（税込）": "", `\(^o^)/`: "",
		"{% if open %}": "PLACEHOLDER_IN_TEXT {% if open %}", "<%= name %> 様": "PLACEHOLDER_IN_TEXT <%= name %>", "#{title}": "PLACEHOLDER_IN_TEXT #{title}", "{0}名様": "PLACEHOLDER_IN_TEXT {0}",
		"undefined様、ようこそ": "PLACEHOLDER_IN_TEXT undefined様", "Dear null, thanks": "PLACEHOLDER_IN_TEXT Dear null", "NaN円": "PLACEHOLDER_IN_TEXT NaN円", "[object Object]": "PLACEHOLDER_IN_TEXT [object Object]",
		"○月○日まで": "PLACEHOLDER_IN_TEXT ○月○日", "XX%OFF": "PLACEHOLDER_IN_TEXT XX%", "○%引き": "PLACEHOLDER_IN_TEXT ○%", "YYYY年MM月DD日から": "PLACEHOLDER_IN_TEXT YYYY年MM", "【URLをここに貼る】": "PLACEHOLDER_IN_TEXT 【URLをここに貼る】", "ダミーテキスト": "PLACEHOLDER_IN_TEXT ダミーテキスト",
		"二〇月": "", "頭金〇円": "", "午前〇時": "", "MMK": "", "null and void": "", "Nobody can undefine us": "", "○×クイズ": "", "（シールを貼るだけ）": "", "100% {happy}": "",
		"新作\ufffdです": "GARBLED_TEXT \ufffd", "新作\ue63eです": "GARBLED_TEXT \ue63e", "譁ｰ菴懊繧ｳ繝ｼ繝偵繝ｼ": "GARBLED_TEXT 繧ｳ繝ｼ", "ã‚³ãƒ¼": "GARBLED_TEXT ã‚³", "It’s CafÃ©": "GARBLED_TEXT Ã©", "donâ€™t": "GARBLED_TEXT â€™", "繧り言、SÃO PAULO、Café": "",
		"A & B < C":                    "",
		"Line1\nLine2":                 "",
		`C:\temp`:                      `ESCAPED_LINE_BREAK \t`,
		"[新作] ラテ":                      "",
		"Here is where coffee begins.": "",
		"AT&T;":                        "",
		"10% off & more;":              "",
	} {
		r, v, w := gbp.RenderPost(nil, standard(text), shibuya(), now, errs.English)
		got := ""
		if len(w) > 0 {
			got = w[0].Code + " " + w[0].Span
		}
		if got != want || v != nil {
			t.Errorf("%q: %q (%v), want %q", text, got, codes(w), want)
		}
		if r.Post.Summary != text {
			t.Errorf("%q was rewritten to %q", text, r.Post.Summary)
		}
	}
}

// What is published beside the summary is looked at as well: titles, terms and coupon codes can carry a stranger's link or number.
func TestSuspicionsEverywhere(t *testing.T) {
	t.Parallel()
	base := func() gbp.PostDraft {
		return gbp.PostDraft{TopicType: gbp.TopicOffer, Summary: "x", Event: event("2026-12-24", "10:00", "2026-12-25", "20:00"), Offer: &gbp.OfferDraft{CouponCode: "A"}}
	}
	for name, put := range map[string]func(*gbp.PostDraft, string){
		"summary": func(d *gbp.PostDraft, s string) { d.Summary = s },
		"title":   func(d *gbp.PostDraft, s string) { d.Event.Title = s },
		"coupon":  func(d *gbp.PostDraft, s string) { d.Offer.CouponCode = s },
		"terms":   func(d *gbp.PostDraft, s string) { d.Offer.Terms = s },
	} {
		for _, s := range []string{"evil.com", "https://evil.com/x"} {
			d := base()
			put(&d, s)
			r, v, _ := gbp.RenderPost(nil, d, shibuya(), now, errs.English)
			if v != nil || len(r.Links) != 1 || gbp.Domain(r.Links[0]) != "evil.com" {
				t.Errorf("%s %q: links %q, %v", name, s, r.Links, v)
			}
		}
		d := base()
		put(&d, "090-1234-5678")
		r, _, w := gbp.RenderPost(nil, d, shibuya(), now, errs.English)
		if len(r.Phones) != 1 || !slices.Contains(codes(w), "PHONE_NUMBER_IN_TEXT") {
			t.Errorf("%s: phones %q, %v", name, r.Phones, codes(w))
		}
	}
	d := base()
	d.Offer.RedeemURL = "https://evil.com/redeem"
	if r, _, _ := gbp.RenderPost(nil, d, shibuya(), now, errs.English); !slices.Equal(r.Links, []string{"https://evil.com/redeem"}) {
		t.Errorf("redeem_url: %q", r.Links)
	}
	d.Offer.RedeemURL = "https://own.example/{store}/redeem"
	if _, v, w := gbp.RenderPost(nil, d, shibuya(), now, errs.English); v != nil || len(w) != 1 || w[0].Code != "PLACEHOLDER_IN_TEXT" || w[0].Span != "{store}" {
		t.Errorf("redeem_url: %v %+v", v, w)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	d := standard("{{location.title}}|{{ location.store_code }}|{{location.city}}|{{location.phone}}|{{location.website}}")
	d.CallToAction = &gbp.ActionDraft{ActionType: "BOOK", URL: "https://own.example/{{location.store_code}}?city={{location.city}}"}
	d.Media = []gbp.MediaSource{{SourceURL: "https://own.example/{{location.store_code}}.jpg"}}
	r, v, _ := gbp.RenderPost(nil, d, shibuya(), now, errs.English)
	if v != nil {
		t.Fatal(v)
	}
	if r.Post.Summary != "こもれび珈琲 渋谷店|SHIBUYA001|渋谷区|03-1000-0000|https://own.example/stores/shibuya001" {
		t.Errorf("summary %q", r.Post.Summary)
	}
	d.TopicType, d.CallToAction, d.Event = gbp.TopicOffer, nil, event("2026-12-24", "10:00", "2026-12-25", "20:00")
	d.Offer = &gbp.OfferDraft{CouponCode: "{{location.store_code}}-10"}
	if r, v, w := gbp.RenderPost(nil, d, shibuya(), now, errs.English); v != nil || r.Post.Offer.CouponCode != "SHIBUYA001-10" || slices.Contains(codes(w), "PLACEHOLDER_IN_TEXT") {
		t.Errorf("coupon code: %+v %v %v", r.Post.Offer, v, w)
	}
	if r.Post.CallToAction.URL != "https://own.example/SHIBUYA001?city=%E6%B8%8B%E8%B0%B7%E5%8C%BA" || r.Post.Media[0].SourceURL != "https://own.example/SHIBUYA001.jpg" {
		t.Errorf("urls %q %q", r.Post.CallToAction.URL, r.Post.Media[0].SourceURL)
	}
	for name, c := range map[string]struct {
		change func(*gbp.Profile)
		text   string
		want   string
	}{
		"empty":         {func(p *gbp.Profile) { p.PrimaryPhone = "" }, "{{location.phone}}", "post.summary empty_variable"},
		"blank":         {func(p *gbp.Profile) { p.City = " 　" }, "{{location.city}}", "post.summary empty_variable"},
		"braces inside": {func(p *gbp.Profile) { p.Title = "{{location.title}}" }, "{{location.title}}", "post.summary unknown_variable"},
		"reordering":    {func(p *gbp.Profile) { p.Title = "a\u202eb" }, "{{location.title}}", "post.summary variable_characters"},
		"control":       {func(p *gbp.Profile) { p.Title = "a\x00b" }, "{{location.title}}", "post.summary variable_characters"},
		"unused":        {func(p *gbp.Profile) { *p = gbp.Profile{} }, "no variables", ""},
		"single braces": {func(p *gbp.Profile) { *p = gbp.Profile{} }, "{location.title}", ""},
	} {
		loc := shibuya()
		c.change(&loc.Profile)
		_, v, _ := gbp.RenderPost(nil, standard(c.text), loc, now, errs.English)
		if got := strings.Join(broken(v), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// F015: the bytes that are stored, shown and sent hold the text as it is, and are valid JSON of exactly the known fields.
func TestF015EncodeKeepsText(t *testing.T) {
	t.Parallel()
	const text = "A & B < C > \"D\" \\ 改行\n🎄\u2028"
	b := gbp.LocalPost{TopicType: "STANDARD", Summary: text}.Encode()
	for _, escaped := range []string{`\u0026`, `\u003c`, `\u003e`} {
		if bytes.Contains(b, []byte(escaped)) {
			t.Errorf("%s in %s", escaped, b)
		}
	}
	var back gbp.LocalPost
	if err := json.Unmarshal(b, &back); err != nil || back.Summary != text {
		t.Errorf("%q, %v", back.Summary, err)
	}
}

// The fingerprint is the same for what Google gives back of one post, and another for another content.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := func() gbp.LocalPost {
		return gbp.LocalPost{
			TopicType: "EVENT", Summary: "カフェ\nラテ", LanguageCode: "ja", CallToAction: &gbp.CallToAction{ActionType: "BOOK", URL: "https://own.example/"},
			Event: &gbp.LocalPostEvent{Title: "冬", Schedule: gbp.TimeInterval{StartDate: gbp.Date{Year: 2026, Month: 12, Day: 24}, EndDate: gbp.Date{Year: 2026, Month: 12, Day: 25}, EndTime: gbp.TimeOfDay{Hours: 20}}},
			Media: []gbp.PostMedia{{MediaFormat: "PHOTO", SourceURL: "https://own.example/a.jpg"}}, ScheduledTime: "2026-12-24T00:00:00Z",
		}
	}
	want := base().Fingerprint()
	for name, c := range map[string]struct {
		change func(*gbp.LocalPost)
		same   bool
	}{
		"language detected":   {func(p *gbp.LocalPost) { p.LanguageCode = "" }, true},
		"photo rewritten":     {func(p *gbp.LocalPost) { p.Media[0] = gbp.PostMedia{MediaFormat: "PHOTO"} }, true},
		"decomposed":          {func(p *gbp.LocalPost) { p.Summary = "カフェ\nラテ" }, true},
		"CRLF":                {func(p *gbp.LocalPost) { p.Summary = "カフェ\r\nラテ" }, true},
		"trailing lines":      {func(p *gbp.LocalPost) { p.Summary += "\n\n " }, true},
		"time in another way": {func(p *gbp.LocalPost) { p.ScheduledTime = "2026-12-24T09:00:00+09:00" }, true},
		"other text":          {func(p *gbp.LocalPost) { p.Summary += "!" }, false},
		"line break gone":     {func(p *gbp.LocalPost) { p.Summary = "カフェ ラテ" }, false},
		"other button":        {func(p *gbp.LocalPost) { p.CallToAction.URL = "https://own.example/2" }, false},
		"no button":           {func(p *gbp.LocalPost) { p.CallToAction = nil }, false},
		"other day":           {func(p *gbp.LocalPost) { p.Event.Schedule.EndDate.Day = 26 }, false},
		"other hour":          {func(p *gbp.LocalPost) { p.Event.Schedule.EndTime.Hours = 21 }, false},
		"no photo":            {func(p *gbp.LocalPost) { p.Media = nil }, false},
		"other topic":         {func(p *gbp.LocalPost) { p.TopicType = "OFFER" }, false},
		"coupon":              {func(p *gbp.LocalPost) { p.Offer = &gbp.LocalPostOffer{CouponCode: "A"} }, false},
		"not scheduled":       {func(p *gbp.LocalPost) { p.ScheduledTime = "" }, false},
	} {
		p := base()
		c.change(&p)
		if got := bytes.Equal(p.Fingerprint(), want); got != c.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
	raw := json.RawMessage(`{"name":"accounts/1/locations/2/localPosts/3","state":"LIVE","languageCode":"ja","summary":"カフェ\nラテ","topicType":"EVENT",
		"callToAction":{"actionType":"BOOK","url":"https://own.example/"},"createTime":"2026-12-01T00:00:00Z","updateTime":"2026-12-01T00:00:00Z","scheduledTime":"2026-12-24T00:00:00Z",
		"event":{"title":"冬","schedule":{"startDate":{"year":2026,"month":12,"day":24},"startTime":{},"endDate":{"year":2026,"month":12,"day":25},"endTime":{"hours":20}}},
		"media":[{"name":"accounts/1/locations/2/media/localPosts/x","mediaFormat":"PHOTO","googleUrl":"https://lh3.example/x"}],"searchUrl":"https://local.example"}`)
	r, err := gbp.ParseRemotePost(raw)
	if err != nil || !bytes.Equal(r.Post.Fingerprint(), want) {
		t.Errorf("Google's own form of the post is not recognised (%v)", err)
	}
}

// F021: three spellings name one location, and nothing else does.
func TestF021LocationNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"12301955069276590370": " locations/12301955069276590370", "locations/1": " locations/1", "accounts/2/locations/1": "accounts/2 locations/1",
		"": "", "locations/": "", "accounts/2": "", "accounts//locations/1": "", "locations/1/": "", "/locations/1": "", "locations/../1": "", "..": "",
		"accounts/2/locations/1/localPosts/3": "", "locations/1?x": "", "locations/1#x": "", "location/1": "", "locations/1%2f2": "", "locations/1 2": "",
	} {
		a, l, err := gbp.ParseLocationName(in)
		got := ""
		if err == nil {
			got = string(a) + " " + string(l)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if n := gbp.LocationName("locations/1").V4("accounts/2"); n != "accounts/2/locations/1" {
		t.Error(n)
	}
	for in, want := range map[gbp.PostName]gbp.LocationName{
		"accounts/1/locations/2/localPosts/3": "locations/2", "locations/2/localPosts/3": "", "accounts/1/locations/2/media/3": "", "": "",
	} {
		if got := in.Location(); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// Normalise: one canonical form for what means the same.
func TestCanonical(t *testing.T) {
	t.Parallel()
	same := []gbp.PostCreate{
		{LocationIDs: []gbp.LocationID{2, 1}, Post: gbp.PostDraft{Summary: "x"}},
		{LocationIDs: []gbp.LocationID{2, 1, 2, 1}, Post: gbp.PostDraft{Summary: "x", TopicType: "STANDARD"}},
		{LocationIDs: []gbp.LocationID{2, 1}, Post: gbp.PostDraft{Summary: "x", Media: []gbp.MediaSource{}}, Overrides: []gbp.PostOverride{}},
	}
	want := string(same[0].Normalise().Canonical())
	for i, c := range same {
		if got := string(c.Normalise().Canonical()); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	e := gbp.PostCreate{LocationIDs: []gbp.LocationID{1}, Post: gbp.PostDraft{TopicType: "EVENT", Event: &gbp.EventDraft{Title: "x", StartDate: "2026-12-24", EndDate: "2026-12-24"}}}
	if n := e.Normalise(); n.Post.Event.StartTime != "00:00" || n.Post.Event.EndTime != "23:59" || e.Post.Event.StartTime != "" {
		t.Errorf("%+v from %+v", n.Post.Event, e.Post.Event)
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	c := gbp.PostCreate{
		LocationIDs: []gbp.LocationID{1, 2, 3}, Post: gbp.PostDraft{TopicType: "STANDARD", Summary: "common", CallToAction: &gbp.ActionDraft{ActionType: "CALL"}},
		Overrides: []gbp.PostOverride{{LocationID: 2, Summary: "own"}, {LocationID: 9}, {LocationID: 2}, {LocationID: 3, CallToAction: &gbp.ActionDraft{ActionType: "BOOK", URL: "https://own.example/"}}},
	}
	if got := broken(c.OverrideViolations(errs.English)); !slices.Equal(got, []string{"overrides[1].location_id not_a_target", "overrides[2].location_id duplicate"}) {
		t.Errorf("%q", got)
	}
	if d := c.For(1); d.Summary != "common" || d.CallToAction.ActionType != "CALL" {
		t.Errorf("%+v", d)
	}
	if d := c.For(2); d.Summary != "own" || d.CallToAction.ActionType != "CALL" {
		t.Errorf("%+v", d)
	}
	if d := c.For(3); d.Summary != "common" || d.CallToAction.ActionType != "BOOK" {
		t.Errorf("%+v", d)
	}
}

// FuzzRenderPost holds what must be true of any draft: refused or a payload, never both; no variable, no control and no text
// beyond Google's bound in what is sent; and the payload reads back as what was shown.
func FuzzRenderPost(f *testing.F) {
	f.Add("新作です {{location.title}}", "https://own.example/{{location.store_code}}", "2026-12-24", "10:00", "https://own.example/a.jpg", uint8(0))
	f.Add("{{location.phone}}{{", "javascript:", "2026-02-30", "24:00", "https://drive.google.com/x", uint8(1))
	f.Add(strings.Repeat("あ", 1501), "", "", "", "", uint8(2))
	f.Add("\xff\x00&amp;\\n", "http://0x7f.1/", "0000-00-00", "99:99", "https://a.example/%zz", uint8(7))
	f.Fuzz(func(t *testing.T, summary, url, date, clock, photo string, shape uint8) {
		d := gbp.PostDraft{TopicType: []string{"STANDARD", "EVENT", "OFFER", "ALERT"}[shape%4], Summary: summary, ScheduledTime: date + "T" + clock + ":00Z"}
		if shape&4 != 0 {
			d.ScheduledTime = ""
		}
		if url != "" {
			d.CallToAction = &gbp.ActionDraft{ActionType: "BOOK", URL: url}
		}
		if d.TopicType != "STANDARD" {
			d.Event = &gbp.EventDraft{Title: "t", StartDate: date, StartTime: clock, EndDate: date, EndTime: clock}
		}
		if photo != "" {
			d.Media = []gbp.MediaSource{{SourceURL: photo}}
		}
		r, v, _ := gbp.RenderPost(nil, d, shibuya(), now, errs.English)
		if (len(v) > 0) == (len(r.Payload) > 0) {
			t.Fatalf("violations %v beside payload %s", v, r.Payload)
		}
		if len(v) > 0 {
			return
		}
		if utf8.RuneCountInString(r.Post.Summary) > gbp.SummaryMax || strings.Contains(r.Post.Summary, "{{") {
			t.Fatalf("summary %q", r.Post.Summary)
		}
		var back gbp.LocalPost
		if err := json.Unmarshal(r.Payload, &back); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(summary) && !bytes.Equal(back.Encode(), r.Payload) {
			t.Fatalf("%s reads back as %s", r.Payload, back.Encode())
		}
	})
}
