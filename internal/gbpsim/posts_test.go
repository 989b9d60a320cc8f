package gbpsim_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

func TestCreatedPostOnTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Now: func() time.Time { return start.Add(123456789 * time.Nanosecond) }})
	a := b.create(0, `{"topicType":"EVENT","summary":"A & <B>","callToAction":{"actionType":"LEARN_MORE","url":"https://a.example/?x=1&y=2"},`+event+
		`,"media":[{"mediaFormat":"PHOTO","sourceUrl":"https://a.example/1.jpg"}],"scheduledTime":"2026-12-01T09:00:00+09:00"}`)
	if a.status != 200 || a.header.Get("Content-Type") != "application/json; charset=UTF-8" {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	name, media := a.text("name"), a.json["media"].([]any)[0].(map[string]any)
	want := map[string]any{
		"name": name, "languageCode": "ja", "summary": "A & <B>", "state": "SCHEDULED", "topicType": "EVENT",
		"createTime": "2026-11-30T03:00:00.123456Z", "updateTime": "2026-11-30T03:00:00.123456Z", "scheduledTime": "2026-12-01T00:00:00Z",
		"callToAction": map[string]any{"actionType": "LEARN_MORE", "url": "https://a.example/?x=1&y=2"},
		"event": map[string]any{"title": "秋祭り", "schedule": map[string]any{
			"startDate": map[string]any{"year": 2026., "month": 12., "day": 1.}, "startTime": map[string]any{"hours": 10.},
			"endDate": map[string]any{"year": 2026., "month": 12., "day": 2.}, "endTime": map[string]any{},
		}},
		"media":     []any{map[string]any{"name": media["name"], "mediaFormat": "PHOTO", "googleUrl": media["googleUrl"]}},
		"searchUrl": a.text("searchUrl"),
	}
	if d := cmp.Diff(want, a.json); d != "" {
		t.Errorf("post (-want +got):\n%s", d)
	}
	for what, form := range map[string]string{
		name: `^accounts/\d{21}/locations/\d{19}/localPosts/\d{19}$`, media["name"].(string): `^accounts/\d{21}/locations/\d{19}/media/localPosts/AF1Qip`,
		media["googleUrl"].(string): `^https://lh3\.googleusercontent\.com/`, a.text("searchUrl"): `^https://local\.google\.com/place\?id=\d+&use=posts&lpsid=\d+$`,
	} {
		if !regexp.MustCompile(form).MatchString(what) {
			t.Errorf("%q does not match %s", what, form)
		}
	}
	got := b.do("GET", v4Host+"/v4/"+name, "")
	if d := cmp.Diff(want, got.json); d != "" {
		t.Errorf("get (-create +get):\n%s", d)
	}
	posts := b.sim.Posts(b.store[0])
	if len(posts) != 1 || !slices.Equal(posts[0].SourceURLs, []string{"https://a.example/1.jpg"}) || posts[0].Email != gbpsim.DemoEmail {
		t.Errorf("posts: %+v", posts)
	}
	effects := b.sim.Entries(gbpsim.EntryFilter{Effects: true})
	if len(effects) != 1 || string(effects[0].Post) != name || effects[0].Location != b.store[0] || effects[0].Account != gbpsim.DemoGroup ||
		effects[0].Route != gbpsim.RouteLocalPostsCreate || !strings.Contains(effects[0].Body, "A & <B>") {
		t.Errorf("journal: %+v", effects)
	}
}

func TestOfferComesBackWithoutItsAction(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	a := b.create(0, `{"topicType":"OFFER","summary":"s",`+event+`,"offer":{"couponCode":"A"},"callToAction":{"actionType":"BOOK","url":"https://a.example"}}`)
	if a.status != 200 || a.json["callToAction"] != nil || a.json["offer"] == nil {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestIdenticalPostsAreTwoPosts(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	one, two := b.created(0), b.created(0)
	names, _ := b.listed(0, "")
	if one == two || !slices.Equal(names, []string{two, one}) {
		t.Errorf("created %s and %s, listed %v", one, two, names)
	}
}

func TestDeleteOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	name := b.created(0)
	first, second, get := b.do("DELETE", v4Host+"/v4/"+name, ""), b.do("DELETE", v4Host+"/v4/"+name, ""), b.do("GET", v4Host+"/v4/"+name, "")
	if first.status != 200 || strings.TrimSpace(first.raw) != "{}" || second.status != 404 || get.status != 404 {
		t.Errorf("delete %d %q, again %d, get %d", first.status, first.raw, second.status, get.status)
	}
	if a := b.do("GET", b.posts(0), ""); strings.TrimSpace(a.raw) != "{}" {
		t.Errorf("list of a location without posts: %q", a.raw)
	}
	if n := len(b.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsDelete, Effects: true})); n != 1 {
		t.Errorf("%d deletions in the journal, want 1", n)
	}
}

// TestPagesHoldStill pages through a list while posts arrive: nothing is missed and nothing comes twice.
func TestPagesHoldStill(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		t.Run(fmt.Sprintf("empty pages %v", empty), func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true, EmptyPages: empty}})
			var want []string
			for range 45 {
				want = append(want, b.created(0))
				b.sim.Advance(time.Millisecond)
			}
			slices.Reverse(want)
			var got []string
			query, pages, empties := "", 0, 0
			for {
				names, next := b.listed(0, query)
				got = append(got, names...)
				pages++
				if len(names) == 0 {
					empties++
				}
				if next == "" {
					break
				}
				if len(got) > 0 { // before the first post was given, a new one belongs into the list
					b.created(0)
				}
				query = "?pageToken=" + next
			}
			wantPages, wantEmpties := 3, 0
			if empty {
				wantPages, wantEmpties = 6, 3
			}
			if d := cmp.Diff(want, got); d != "" || pages != wantPages || empties != wantEmpties {
				t.Errorf("%d pages, %d empty, difference:\n%s", pages, empties, d)
			}
		})
	}
}

func TestPageSizes(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true}})
	for range 105 {
		b.created(0)
	}
	for query, want := range map[string]int{"": 20, "?pageSize=0": 20, "?pageSize=7": 7, "?page_size=7": 7, "?pageSize=1000": 100} {
		if names, next := b.listed(0, query); len(names) != want || next == "" {
			t.Errorf("%q: %d posts, next %q, want %d", query, len(names), next, want)
		}
	}
}

func TestStatesFollowTheClock(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{ProcessingSeconds: 60}})
	plainPost := b.create(0, plain)
	phone := b.create(0, `{"topicType":"STANDARD","summary":"ご予約は０３−１２３４−５６７８まで"}`)
	later := b.create(0, `{`+standard+`,"scheduledTime":"2026-11-30T04:00:00Z"}`)
	recurring := b.create(0, `{"topicType":"EVENT","summary":"s",`+strings.Replace(event, `"title"`, `"recurrenceInfo":{"dailyPattern":{}},"title"`, 1)+`}`)
	state := func(a answer) string { return b.do("GET", v4Host+"/v4/"+a.text("name"), "").text("state") }
	check := func(when string, want ...string) {
		t.Helper()
		got := []string{state(plainPost), state(phone), state(later), state(recurring)}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	if phone.text("state") != "REJECTED" {
		t.Errorf("a phone number was answered with %s", phone.text("state"))
	}
	check("at once", "PROCESSING", "REJECTED", "PROCESSING", "PROCESSING")
	b.sim.Advance(59 * time.Second)
	check("after 59 s", "PROCESSING", "REJECTED", "PROCESSING", "PROCESSING")
	b.sim.Advance(time.Second)
	check("after 60 s", "LIVE", "REJECTED", "SCHEDULED", "RECURRING")
	b.sim.Advance(59 * time.Minute)
	b.token = must(b.sim.AccessToken(gbpsim.DemoEmail))
	check("at the scheduled time", "LIVE", "REJECTED", "LIVE", "RECURRING")
}

func TestLagKnobs(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{ListLagSeconds: 30, GetLagSeconds: 10}})
	name := b.created(0)
	look := func() (inList bool, getStatus int) {
		names, _ := b.listed(0, "")
		return slices.Contains(names, name), b.do("GET", v4Host+"/v4/"+name, "").status
	}
	if in, get := look(); in || get != 404 || len(b.sim.Posts(b.store[0])) != 1 {
		t.Errorf("at once: listed %v, get %d", in, get)
	}
	b.sim.Advance(10 * time.Second)
	if in, get := look(); in || get != 200 {
		t.Errorf("after 10 s: listed %v, get %d", in, get)
	}
	b.sim.Advance(20 * time.Second)
	if in, get := look(); !in || get != 200 {
		t.Errorf("after 30 s: listed %v, get %d", in, get)
	}
}

func TestReachableOption(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Reachable: func(u string) bool { return u == "http://127.0.0.1/a.jpg" }})
	for source, want := range map[string]int{"http://127.0.0.1/a.jpg": 200, "https://a.example/a.jpg": 400} {
		raw, _ := json.Marshal(source)
		if a := b.create(0, `{`+standard+`,"media":[{"mediaFormat":"PHOTO","sourceUrl":`+string(raw)+`}]}`); a.status != want {
			t.Errorf("%s: %d, want %d", source, a.status, want)
		}
	}
}
