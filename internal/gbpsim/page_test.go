package gbpsim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// page loads an address of the page; tag is an ETag that the browser has.
func (b *bench) page(path, tag string) (status int, text string, header http.Header) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Header
}

func (b *bench) shows(text string, want ...string) {
	b.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			b.t.Errorf("the page lacks %q", w)
		}
	}
}

// storeOf is the part of a page that is one store's.
func storeOf(t *testing.T, page, title string) string {
	t.Helper()
	for part := range strings.SplitSeq(page, `<details class="store`) {
		if strings.Contains(part, ">"+title+"</span>") {
			return part
		}
	}
	t.Fatalf("no store %q", title)
	return ""
}

// What a profile holds is there in words, and a write is seen in it, in the store's requests and above all stores.
func TestPageShowsWrites(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	_, before, _ := b.page("/", "")
	b.shows(before, "Nobody has written anything yet", "5 of 5", "Mon–Sun 7:00–20:00", "東京都", "カフェ・喫茶", "テラス席", "カウンター席", "front.jpg")
	if strings.Contains(before, `class="pill new"`) {
		t.Error("a world that nobody has touched has news")
	}
	b.patch("regularHours,specialHours,phoneNumbers", `{"phoneNumbers":{"primaryPhone":"03-1000-7777"},
		"regularHours":{"periods":[{"openDay":"MONDAY","openTime":{"hours":8},"closeDay":"MONDAY","closeTime":{"hours":20,"minutes":30}},{"openDay":"TUESDAY","openTime":{"hours":8},"closeDay":"TUESDAY","closeTime":{"hours":20,"minutes":30}},
			{"openDay":"SATURDAY","openTime":{"hours":10},"closeDay":"SUNDAY","closeTime":{"hours":2}},{"openDay":"FRIDAY","openTime":{},"closeDay":"FRIDAY","closeTime":{"hours":24}}]},
		"specialHours":{"specialHourPeriods":[{"startDate":{"year":2026,"month":12,"day":31},"endDate":{"year":2027,"month":1,"day":1},"closed":true},{"startDate":{"year":2027,"month":1,"day":2},"openTime":{"hours":10},"closeTime":{"hours":15,"minutes":5}}]}}`)
	b.do(http.MethodPatch, v1Host+"/v1/"+string(b.store[0])+"/attributes?attributeMask=attributes/has_takeout,attributes/pay_credit_card_types_accepted",
		`{"name":"`+string(b.store[0])+`/attributes","attributes":[{"name":"attributes/has_takeout","valueType":"BOOL","values":[false]},{"name":"attributes/pay_credit_card_types_accepted","valueType":"REPEATED_ENUM","repeatedEnumValue":{"setValues":["jcb"],"unsetValues":["visa"]}}]}`)
	b.create(0, `{"topicType":"EVENT","summary":"秋フェスの日","event":{"title":"Fes","schedule":{"startDate":{"year":2027,"month":1,"day":2},"startTime":{"hours":9},"endDate":{"year":2027,"month":1,"day":3},"endTime":{"hours":18}}},"callToAction":{"actionType":"BOOK","url":"https://x.example/b"}}`)
	b.fault(gbpsim.Fault{ID: "cut", Route: gbpsim.RouteLocalPostsCreate, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	if _, err := b.try("POST", b.posts(0), plain); err == nil {
		t.Error("the connection was not dropped")
	}
	b.create(0, `{"topicType":"STANDARD"}`) // refused
	status, page, _ := b.page("/", "")
	one := storeOf(t, page, "こもれび珈琲 渋谷店")
	b.shows(one, "03-1000-7777", "Mon–Tue 8:00–20:30", "Wed–Thu closed", "Fri 24 hours", "Sat 10:00–2:00 (until Sun)", "Sun closed", "2026-12-31 to 2027-01-01 closed", "2027-01-02 10:00–15:05",
		"has_takeout: no", "pay_credit_card_types_accepted: jcb, not visa", "秋フェスの日", "Fes 2027-01-02 9:00 to 2027-01-03 18:00", "button BOOK https://x.example/b",
		"edit the store: regularHours, specialHours, phoneNumbers", "edit attributes: has_takeout, pay_credit_card_types_accepted", "publish a post", "200, took effect",
		"connection dropped, took effect, ordered fault cut", "refused 400, rule post.content", `<div class="fresh" data-key="f-regularHours">`, `<div class="" data-key="f-title">`, " open>")
	b.shows(page, "Latest writes", `<a href="#s-`+strings.TrimPrefix(string(b.store[0]), "locations/")+`">こもれび珈琲 渋谷店</a>`)
	if other := storeOf(t, page, "こもれび珈琲 新宿店"); status != 200 || strings.Contains(other, "fresh") || strings.Contains(other, " open>") || strings.Contains(other, "data-written") {
		t.Errorf("%d, another store is touched: %s", status, other)
	}
	// What only Google has decided.
	closed := gbpsim.StoreChange{Fields: map[string]json.RawMessage{"openInfo": json.RawMessage(`{"status":"CLOSED_TEMPORARILY"}`)}}
	if err := b.sim.ChangeStore(b.store[1], closed); err != nil {
		t.Fatal(err)
	}
	if err := b.sim.SetGoogleVersion(b.store[1], gbpsim.StoreChange{Fields: map[string]json.RawMessage{"title": json.RawMessage(`"Theirs"`)}}); err != nil {
		t.Fatal(err)
	}
	if err := b.sim.SetKnobs(gbpsim.Knobs{EditPendingSeconds: 3600}); err != nil {
		t.Fatal(err)
	}
	b.patch("websiteUri", `{"websiteUri":"https://new.example/"}`)
	_, page, _ = b.page("/", "")
	b.shows(storeOf(t, page, "こもれび珈琲 新宿店"), "temporarily closed", "Google shows instead", "Theirs")
	b.shows(storeOf(t, page, "こもれび珈琲 渋谷店"), "edit under review", "under review at Google", "https://new.example/")
	// The marks of news go.
	b.sim.Advance(3 * time.Minute)
	if _, page, _ = b.page("/", ""); strings.Contains(page, `class="pill new"`) || !strings.Contains(page, "data-written") {
		t.Error("old writes are marked as new, or forgotten")
	}
}

// A post that Google has rejected is nothing that the public sees: it is counted apart, its store has a mark, and its write is no
// success. One of anything is one.
func TestPageShowsRejections(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.create(0, plain)
	b.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, State: "REJECTED", Count: 1})
	b.create(1, plain)
	_, page, _ := b.page("/", "")
	b.shows(page, "<title>Google simulator: 5 stores, 1 post</title>", `<b>1</b> post <span class="small">1 more rejected</span>`, " UTC</time>")
	b.shows(storeOf(t, page, "こもれび珈琲 渋谷店"), ">1 post · ", `<li class="done" data-key`, "200, took effect")
	other := storeOf(t, page, "こもれび珈琲 新宿店")
	b.shows(other, ">0 posts · ", "1 post rejected</b>", `<li class="refused" data-key`, "; Google rejected it", `Posts <span class="small">0, 1 more rejected</span>`)
	if strings.Contains(page, "1 posts") || strings.Contains(other, `class="done"`) {
		t.Error(other)
	}
}

// Whatever stored text holds, it stays text: in the page, and for what browsers make of it.
func TestPageEscapesEverything(t *testing.T) {
	t.Parallel()
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(2)></details>{{.Now}}`
	quoted := string(must(json.Marshal(evil)))
	raw := json.RawMessage(quoted)
	b := setup(t, gbpsim.Options{})
	b.create(0, `{"topicType":"STANDARD","summary":`+quoted+`}`)
	change := gbpsim.StoreChange{
		Fields: map[string]json.RawMessage{
			"title": raw, "storeCode": raw, "labels": json.RawMessage(`[` + quoted + `]`), "profile": json.RawMessage(`{"description":` + quoted + `}`), "phoneNumbers": json.RawMessage(`{"primaryPhone":` + quoted + `}`),
			"storefrontAddress": json.RawMessage(`{"locality":` + quoted + `}`), "serviceArea": json.RawMessage(`{"x":` + quoted + `}`), "websiteUri": json.RawMessage(`"javascript:alert(3)"`),
		},
		Attributes: json.RawMessage(`[{"name":"attributes/url_menu","uriValues":[{"uri":` + quoted + `}]}]`),
	}
	if err := b.sim.ChangeStore(b.store[0], change); err != nil {
		t.Fatal(err)
	}
	if _, err := b.sim.PutReview(gbpsim.Review{Location: b.store[0], Reviewer: evil, Comment: evil, Stars: 1, Reply: &gbpsim.ReviewReply{Comment: evil, State: "REJECTED", PolicyViolation: evil}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.sim.AddMedia(b.store[0], gbpsim.MediaSeed{Description: evil, SourceURL: `javascript:alert(4)`, Customer: evil}); err != nil {
		t.Fatal(err)
	}
	status, page, header := b.page("/?q="+"%22%3E%3Cscript%3E", "")
	if status != 200 || !strings.Contains(page, `value="&#34;&gt;&lt;script&gt;"`) {
		t.Errorf("%d: the filter is not shown as text", status)
	}
	_, page, _ = b.page("/", "")
	for _, bad := range []string{"<script>alert", "<img src=x", "onerror=alert(2)></details>", `href="javascript:`, `src="javascript:`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(page, "&lt;script&gt;alert(1)&lt;/script&gt;"); n < 13 {
		t.Errorf("%d of the texts are there", n)
	}
	if stores, opened, closed := strings.Count(page, `<details class="store`), strings.Count(page, "<details"), strings.Count(page, "</details>"); stores != 5 || opened != 5 || closed != 5 {
		t.Errorf("%d stores, %d details, %d ends", stores, opened, closed)
	}
	policy := header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self'") {
		t.Errorf("policy %q", policy)
	}
}

// The page costs nothing while nothing changes, and comes whole when something does; the clock alone is no change.
func TestPageUpdatesItself(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	_, _, h := b.page("/", "")
	tag := h.Get("Etag")
	b.sim.Advance(time.Minute)
	status, text, h := b.page("/", tag)
	if status != http.StatusNotModified || text != "" || h.Get("Gbpsim-Now") == "" {
		t.Errorf("%d %q", status, text)
	}
	for name, change := range map[string]func() error{
		"a post": func() error { b.created(1); return nil },
		"somebody else's edit": func() error {
			return b.sim.ChangeStore(b.store[2], gbpsim.StoreChange{Fields: map[string]json.RawMessage{"title": json.RawMessage(`"x"`)}})
		},
		"a photo": func() error { _, err := b.sim.AddMedia(b.store[2], gbpsim.MediaSeed{}); return err },
	} {
		_, _, h := b.page("/", "")
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if status, text, _ := b.page("/", h.Get("Etag")); status != 200 || !strings.Contains(text, "<!DOCTYPE html>") {
			t.Errorf("%s: %d", name, status)
		}
	}
	n := len(b.sim.Journal())
	for path, kind := range map[string]string{"/page.css": "text/css; charset=utf-8", "/page.js": "text/javascript; charset=utf-8"} {
		status, text, h := b.page(path, "")
		if status != 200 || h.Get("Content-Type") != kind || text == "" {
			t.Errorf("%s: %d %s", path, status, h.Get("Content-Type"))
		}
	}
	if status, _, _ := b.page("/favicon.ico", ""); status != http.StatusNoContent || len(b.sim.Journal()) != n {
		t.Errorf("a browser's own request is %d, and counts", status)
	}
	for _, file := range []string{"page.html", "page.css", "page.js"} {
		if raw := must(os.ReadFile(file)); strings.Contains(string(raw), "://") {
			t.Errorf("%s names something elsewhere", file)
		}
	}
}

// The filter works without the script too, and many stores written to at once are not opened all together.
func TestPageFilters(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true}})
	chain := gbpsim.JapaneseChain(120)
	if err := b.sim.Seed(chain); err != nil {
		t.Fatal(err)
	}
	b.store = nil
	for i, l := range chain.Locations {
		if b.store = append(b.store, l.Name); i < 6 {
			b.created(i)
		}
	}
	for path, want := range map[string]string{
		"/": "121 of 121", "/?q=shibuya": "3 of 121", "/?q=%20%E5%A4%A7%E9%98%AA%E5%B8%82": "12 of 121", "/?written=1": "6 of 121", "/?q=ikebukuro&written=1": "1 of 121", "/?q=nowhere": "0 of 121",
	} {
		status, page, _ := b.page(path, "")
		if status != 200 || !strings.Contains(page, ">"+want+"<") || strings.Contains(page, " open>") {
			t.Errorf("%s: %d, no %q, or stores are open", path, status, want)
		}
	}
}

// A sample picture of this simulator is shown; a file elsewhere is named and never loaded.
func TestPageShowsOwnPicturesOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	for _, source := range []string{b.base + "/pictures/a%20b.jpg", "https://evil.example/pictures/c.jpg", "https://evil.example/x.jpg"} {
		if _, err := b.sim.AddMedia(b.store[0], gbpsim.MediaSeed{Category: "MENU", SourceURL: source}); err != nil {
			t.Fatal(err)
		}
	}
	_, page, _ := b.page("/", "")
	if n := strings.Count(page, "<img "); n != 1 || !strings.Contains(page, `<img src="/pictures/a%20b.jpg"`) || !strings.Contains(page, "https://evil.example/pictures/c.jpg") {
		t.Errorf("%d pictures", n)
	}
}
