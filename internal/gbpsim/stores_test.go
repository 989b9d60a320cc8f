package gbpsim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

const (
	verifyHost  = "mybusinessverifications.googleapis.com"
	metricsHost = "businessprofileperformance.googleapis.com"
)

// firstStore is the first store of every bench.
var firstStore = string(gbpsim.JapaneseChain(1).Locations[0].Name)

// storeRefusals has at least one line per rule about store data that refuses.
func storeRefusals() []refusal {
	patch := func(rule gbpsim.RuleID, mask, body, field, word string) refusal {
		return refusal{rule: rule, method: http.MethodPatch, path: v1Host + "/v1/" + firstStore + "?updateMask=" + mask, body: body, field: field, word: word}
	}
	attribute := func(rule gbpsim.RuleID, mask, body, field, word string) refusal {
		return refusal{rule: rule, method: http.MethodPatch, path: v1Host + "/v1/" + firstStore + "/attributes?attributeMask=" + mask, body: `{"attributes":[` + body + `]}`, field: field, word: word}
	}
	get := func(rule gbpsim.RuleID, path, field string) refusal {
		return refusal{rule: rule, method: http.MethodGet, path: path, field: field}
	}
	week := func(periods string) string { return `{"regularHours":{"periods":[` + periods + `]}}` }
	period := func(from, open, to, shut string) string {
		return `{"openDay":"` + from + `","openTime":` + open + `,"closeDay":"` + to + `","closeTime":` + shut + `}`
	}
	special := func(list string) string { return `{"specialHours":{"specialHourPeriods":[` + list + `]}}` }
	const day31, open9, close18 = `"startDate":{"year":2026,"month":12,"day":31}`, `"openTime":{"hours":9}`, `"closeTime":{"hours":18}`
	const metrics, vom = metricsHost + "/v1/", "VoiceOfMerchantState"
	rng := func(y1, m1, d1, y2, m2, d2 int) string {
		return fmt.Sprintf("&dailyRange.startDate.year=%d&dailyRange.startDate.month=%d&dailyRange.startDate.day=%d&dailyRange.endDate.year=%d&dailyRange.endDate.month=%d&dailyRange.endDate.day=%d", y1, m1, d1, y2, m2, d2)
	}
	all := []refusal{
		// F058, F059
		patch("location.update_mask", "", `{"title":"x"}`, "update_mask", ""),
		patch("location.update_mask_path", "locationName", `{"title":"x"}`, "update_mask", ""),
		patch("location.update_mask_path", "primaryPhone", `{}`, "update_mask", ""),
		patch("location.update_mask_path", "title,", `{}`, "update_mask", ""),
		patch("location.update_mask_path", "profile.motto", `{}`, "update_mask", ""),
		patch("location.mask_repeated", "categories.additionalCategories.displayName", `{}`, "update_mask", "repeated"),
		patch("location.mask_repeated", "regularHours.periods.openDay", `{}`, "update_mask", "repeated"),
		patch("location.mask_whole_object", "phoneNumbers.primaryPhone", `{"phoneNumbers":{"primaryPhone":"03-1000-0009"}}`, "update_mask", "whole"),
		patch("location.mask_whole_object", "categories.primary_category", `{}`, "update_mask", "whole"),
		patch("location.immutable", "name", `{}`, "update_mask", ""),
		patch("location.immutable", "title,language_code", `{"title":"x"}`, "update_mask", ""),
		patch("location.output_only", "metadata", `{}`, "update_mask", ""),
		patch("location.output_only", "metadata.placeId", `{}`, "update_mask", ""),
		patch("location.output_only", "openInfo.canReopen", `{}`, "update_mask", ""),
		patch("location.field_not_simulated", "storefrontAddress", `{}`, "", "not simulated"),
		patch("location.latlng", "latlng", `{"latlng":{"latitude":1.5}}`, "", "LAT_LNG_UPDATES_NOT_PERMITTED"),
		patch("request.unknown_field", "title", `{"titel":"x"}`, "location", "Cannot find field"),
		patch("request.value_type", "openInfo", `{"openInfo":{"status":"SHUT"}}`, "location.open_info.status", ""),
		patch("request.value_type", "specialHours", special(`{`+day31+`,"closed":"yes"}`), "location.special_hours.special_hour_periods[0].closed", ""),
		patch("request.value_type", "title&validateOnly=maybe", `{"title":"x"}`, "validate_only", ""),

		patch("location.title", "title", `{}`, "", "REQUIRED_FIELD_MISSING_VALUE"),
		patch("location.title", "title", `{"title":"  "}`, "", `"field_mask": "title"`),
		patch("location.store_code", "storeCode", `{"storeCode":"SHINJUKU001"}`, "store_code", ""),
		patch("location.phone", "phoneNumbers", `{"phoneNumbers":{"primaryPhone":"call us"}}`, "", "INVALID_PHONE_NUMBER"),
		patch("location.phone", "phoneNumbers", `{"phoneNumbers":{"primaryPhone":"03-1000-0009","additionalPhones":["1"]}}`, "", "phone_numbers.additional_phones"),
		patch("location.phone_primary", "phoneNumbers", `{"phoneNumbers":{"additionalPhones":["03-1000-0009"]}}`, "", "MISSING_PRIMARY_PHONE_NUMBER"),
		patch("location.phone_count", "phoneNumbers", `{"phoneNumbers":{"primaryPhone":"03-1000-0009","additionalPhones":["03-1000-0001","03-1000-0002","03-1000-0003"]}}`, "", "TOO_MANY_ENTRIES"),
		patch("location.phone_or_website", "phoneNumbers,websiteUri", `{}`, "", "MISSING_BOTH_PHONE_AND_WEBSITE"),
		patch("location.website", "websiteUri", `{"websiteUri":"javascript:alert(1)"}`, "website_uri", ""),
		patch("location.category", "categories", `{"categories":{"additionalCategories":[{"name":"categories/gcid:cafe"}]}}`, "", "INVALID_CATEGORY"),
		patch("location.category", "categories", `{"categories":{"primaryCategory":{"name":"gcid:cafe"}}}`, "", "INVALID_CATEGORY"),
		patch("location.category", "categories", `{}`, "", "INVALID_CATEGORY"),
		patch("location.category_count", "categories", `{"categories":{"primaryCategory":{"name":"categories/gcid:z"},"additionalCategories":[`+strings.Repeat(`{"name":"categories/gcid:a"},`, 9)+`{"name":"categories/gcid:b"}]}}`, "", "TOO_MANY_ENTRIES"),

		patch("location.hours_value", "regularHours", week(period("MONDAY", `{"hours":26}`, "MONDAY", `{"hours":27}`)), "", "INVALID_HOURS_VALUE"),
		patch("location.hours_value", "regularHours", week(`{"openDay":"MONDAY","openTime":{"hours":9},"closeTime":{"hours":18}}`), "", "INVALID_HOURS_VALUE"),
		patch("location.hours_value", "regularHours", week(period("MONDAY", `{"hours":9}`, "MONDAY", `{"hours":24,"minutes":1}`)), "", "INVALID_HOURS_VALUE"),
		patch("location.hours_schedule", "regularHours", week(period("FRIDAY", `{"hours":18}`, "FRIDAY", `{"hours":2}`)), "", "INVALID_TIME_SCHEDULE"),
		patch("location.hours_schedule", "regularHours", week(period("MONDAY", `{}`, "MONDAY", `{}`)), "", "INVALID_TIME_SCHEDULE"),
		patch("location.hours_schedule", "regularHours", week(period("MONDAY", `{"hours":9}`, "MONDAY", `{"hours":12}`)+","+period("MONDAY", `{"hours":11}`, "MONDAY", `{"hours":13}`)), "", "INVALID_TIME_SCHEDULE"),
		patch("location.hours_schedule", "regularHours", week(period("MONDAY", `{"hours":1}`, "MONDAY", `{"hours":2}`)+","+period("SUNDAY", `{"hours":20}`, "MONDAY", `{"hours":3}`)), "", "INVALID_TIME_SCHEDULE"),
		patch("location.special_without_regular", "regularHours,specialHours", special(`{`+day31+`,"closed":true}`), "", "SPECIAL_HOURS_SET_WITHOUT_REGULAR_HOURS"),
		patch("location.special_overlap", "specialHours", special(`{`+day31+`,"closed":true},{`+day31+`,`+open9+`,`+close18+`}`), "", "OVERLAPPED_SPECIAL_HOURS"),
		patch("location.special_overlap", "specialHours", special(`{`+day31+`,`+open9+`,`+close18+`},{`+day31+`,"openTime":{"hours":17},"closeTime":{"hours":20}}`), "", "OVERLAPPED_SPECIAL_HOURS"),
		patch("location.special_value", "specialHours", special(`{`+day31+`,`+open9+`}`), "", "INVALID_HOURS_VALUE"),
		patch("location.special_value", "specialHours", special(`{`+open9+`,`+close18+`}`), "", "INVALID_HOURS_VALUE"),
		patch("location.special_value", "specialHours", special(`{"startDate":{"year":2026,"month":2,"day":30},"closed":true}`), "", "INVALID_HOURS_VALUE"),
		patch("location.special_value", "specialHours", special(`{`+day31+`,"openTime":{"hours":18},"endDate":{"year":2027,"month":1,"day":1},"closeTime":{"hours":12}}`), "", "INVALID_HOURS_VALUE"),
		patch("location.special_value", "specialHours", special(`{`+day31+`,"openTime":{"hours":18},"endDate":{"year":2027,"month":1,"day":2},"closeTime":{"hours":1}}`), "", "INVALID_HOURS_VALUE"),
		patch("location.special_value", "specialHours", special(`{`+day31+`,"openTime":{"hours":9},"endDate":{"year":2027,"month":1,"day":1},"closeTime":{"hours":9}}`), "", "INVALID_HOURS_VALUE"),
		patch("location.more_hours_type", "moreHours", `{"moreHours":[{"hoursTypeId":"ONLINE_SERVICE_HOURS","periods":[]}]}`, "", "INCOMPATIBLE_MORE_HOURS_TYPE_FOR_CATEGORY"),
		patch("location.hours_schedule", "moreHours", `{"moreHours":[{"hoursTypeId":"KITCHEN","periods":[`+period("FRIDAY", `{"hours":18}`, "FRIDAY", `{"hours":2}`)+`]}]}`, "", `"field_mask": "more_hours"`),

		patch("location.labels", "labels", `{"labels":["a",""]}`, "", "STRING_TOO_SHORT"),
		patch("location.labels", "labels", `{"labels":["`+strings.Repeat("あ", 256)+`"]}`, "", "STRING_TOO_LONG"),
		patch("location.open_status", "openInfo", `{}`, "", "REQUIRED_FIELD_MISSING_VALUE"),
		patch("location.open_status", "openInfo", `{"openInfo":{"openingDate":{"year":2020,"month":1}}}`, "", "open_info.status"),
		patch("location.opening_date_far", "openInfo", `{"openInfo":{"status":"OPEN","openingDate":{"year":2028,"month":1}}}`, "", "OPENING_DATE_TOO_FAR_IN_THE_FUTURE"),
		patch("location.opening_date_parts", "openInfo", `{"openInfo":{"status":"OPEN","openingDate":{"year":2020}}}`, "", "OPENING_DATE_MISSING_YEAR_OR_MONTH"),
		patch("location.opening_date_value", "openInfo", `{"openInfo":{"status":"OPEN","openingDate":{"year":2020,"month":2,"day":30}}}`, "", "INVALID_BUSINESS_OPENING_DATE"),
		patch("location.description", "profile", `{"profile":{}}`, "", "REQUIRED_FIELD_MISSING_VALUE"),
		patch("location.description", "profile.description", `{}`, "", "profile.description"),
		patch("location.description_url", "profile", `{"profile":{"description":"Visit https://example.com"}}`, "", "PROFILE_DESCRIPTION_CONTAINS_URL"),
		patch("location.description_length", "profile", `{"profile":{"description":"`+strings.Repeat("あ", 751)+`"}}`, "", "STRING_TOO_LONG"),

		attribute("attributes.mask", "", `{"name":"attributes/wi_fi","values":["free_wi_fi"]}`, "attribute_mask", ""),
		attribute("attributes.name", "wi_fi", ``, "", "INVALID_ATTRIBUTE_NAME"),
		attribute("attributes.name", "attributes/has_delivery", `{"name":"attributes/has_drone","values":[true]}`, "", "has_drone"),
		attribute("attributes.enum", "attributes/wi_fi", `{"name":"attributes/wi_fi","values":["slow"]}`, "", "ATTRIBUTE_INVALID_ENUM_VALUE"),
		attribute("attributes.enum", "attributes/pay_credit_card_types_accepted", `{"name":"attributes/pay_credit_card_types_accepted","repeatedEnumValue":{"unsetValues":["shells"]}}`, "", "ATTRIBUTE_INVALID_ENUM_VALUE"),
		attribute("attributes.type", "attributes/has_delivery", `{"name":"attributes/has_delivery","values":["true"]}`, "attributes.values", ""),
		attribute("attributes.type", "attributes/wi_fi", `{"name":"attributes/wi_fi","uriValues":[{"uri":"https://a.example"}]}`, "attributes.values", ""),
		attribute("attributes.type", "attributes/url_menu", `{"name":"attributes/url_menu","values":["https://a.example"]}`, "attributes.values", ""),
		attribute("attributes.repeated", "attributes/has_delivery", `{"name":"attributes/has_delivery","values":[true,false]}`, "", "ATTRIBUTE_CANNOT_BE_REPEATED"),
		attribute("attributes.url", "attributes/url_menu", `{"name":"attributes/url_menu","uriValues":[{"uri":"ftp://a.example"}]}`, "attributes.uri_values.uri", ""),
		attribute("request.unknown_field", "attributes/wi_fi", `{"name":"attributes/wi_fi","value":"x"}`, "attributes.attributes[0]", ""),

		get("catalogue.parameter", v1Host+"/v1/categories:batchGet?languageCode=ja&view=FULL", "names"),
		get("catalogue.parameter", v1Host+"/v1/categories:batchGet?names=categories/gcid:cafe&languageCode=ja", "view"),
		get("catalogue.parameter", v1Host+"/v1/categories?regionCode=JP&languageCode=ja&view=BIG", "view"),
		get("catalogue.parameter", v1Host+"/v1/attributes?regionCode=JP&languageCode=ja", "category_name"),
		get("metrics.daily_metrics", metrics+firstStore+":fetchMultiDailyMetricsTimeSeries?"+rng(2026, 11, 1, 2026, 11, 2)[1:], "daily_metrics"),
		get("metrics.daily_metrics", metrics+firstStore+":fetchMultiDailyMetricsTimeSeries?dailyMetrics=SALES"+rng(2026, 11, 1, 2026, 11, 2), "daily_metrics"),
		get("metrics.daily_range", metrics+firstStore+":fetchMultiDailyMetricsTimeSeries?dailyMetrics=CALL_CLICKS", "daily_range"),
		get("metrics.daily_range", metrics+firstStore+":fetchMultiDailyMetricsTimeSeries?dailyMetrics=CALL_CLICKS"+rng(2026, 11, 3, 2026, 11, 2), "daily_range"),
		get("metrics.daily_range", metrics+firstStore+":fetchMultiDailyMetricsTimeSeries?dailyMetrics=CALL_CLICKS"+rng(2026, 2, 30, 2026, 11, 2), "daily_range"),
		get("locations.read_mask", v1Host+"/v1/"+firstStore+":getGoogleUpdated", "read_mask"),
	}
	for _, path := range []string{v1Host + "/v1/" + string(strangerStore) + "/attributes", verifyHost + "/v1/" + string(strangerStore) + "/" + vom, v1Host + "/v1/" + string(strangerStore) + ":getGoogleUpdated?readMask=name"} {
		all = append(all, refusal{rule: "auth.no_access", method: http.MethodGet, path: path, status: 404})
	}
	stranger := patch("auth.no_access", "title", `{"title":"x"}`, "", "")
	stranger.path, stranger.status = v1Host+"/v1/"+string(strangerStore)+"?updateMask=title", 404
	denied := patch("auth.permission_denied", "title", `{"title":"x"}`, "", "PERMISSION_DENIED")
	denied.status, denied.before = 403, func(b *bench) { b.change(0, func(l *gbpsim.Location) { l.PermissionDenied = true }) }
	spent := patch("quota.edits_per_location", "title", `{"title":"x"}`, "", "RATE_LIMIT_EXCEEDED")
	spent.status, spent.knobs, spent.before = 429, gbpsim.Knobs{EditsPerMinute: 1}, func(b *bench) { b.created(0) }
	reopen := patch("location.reopen", "openInfo", `{"openInfo":{"status":"OPEN","canReopen":true}}`, "", "CANNOT_REOPEN")
	reopen.before = func(b *bench) {
		b.change(0, func(l *gbpsim.Location) { l.OpenInfo = json.RawMessage(`{"status":"CLOSED_PERMANENTLY"}`) })
	}
	return append(all, stranger, denied, spent, reopen)
}

// patch edits the first store.
func (b *bench) patch(mask, body string) answer {
	b.t.Helper()
	return b.do(http.MethodPatch, v1Host+"/v1/"+string(b.store[0])+"?updateMask="+url.QueryEscape(mask), body)
}

func (b *bench) store1() gbpsim.Store {
	b.t.Helper()
	return must(b.sim.Store(b.store[0]))
}

// F055, F056, F059: what a mask does to what the body has and lacks.
func TestPatchMasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mask, body, field, want string }{
		{"title", `{"title":"新店名","websiteUri":"https://ignored.example/"}`, "title", `"新店名"`},
		{"title", `{"title":"新店名","websiteUri":"https://ignored.example/"}`, "websiteUri", `"https://komorebi-coffee.example/stores/shibuya001"`},
		{"profile.description,websiteUri", `{"profile":{"description":"New"}}`, "websiteUri", ""},
		{"profile.description,website_uri", `{"profile":{"description":"New"}}`, "profile", `{"description":"New"}`},
		{"phoneNumbers", `{"phoneNumbers":{"primaryPhone":"03-1000-0009"}}`, "phoneNumbers", `{"primaryPhone":"03-1000-0009"}`},
		{"labels", `{"labels":[]}`, "labels", ""},
		{"storeCode", `{}`, "storeCode", ""},
		{"regularHours", `{"regularHours":{"periods":[{"openDay":"FRIDAY","openTime":{"hours":18,"minutes":0},"closeDay":"SATURDAY","closeTime":{"hours":"2"}}]}}`, "regularHours", `{"periods":[{"closeDay":"SATURDAY","closeTime":{"hours":2},"openDay":"FRIDAY","openTime":{"hours":18}}]}`},
		{"regularHours", `{"regularHours":{"periods":[{"openDay":"FRIDAY","openTime":{"hours":0},"closeDay":"FRIDAY","closeTime":{"hours":24}}]}}`, "regularHours", `{"periods":[{"closeDay":"FRIDAY","closeTime":{"hours":24},"openDay":"FRIDAY","openTime":{}}]}`},
		{"regularHours", `{"regularHours":{"periods":[]}}`, "regularHours", ""},
		{"categories", `{"categories":{"primaryCategory":{"name":"categories/gcid:bar","displayName":"nonsense"}}}`, "categories", `{"primaryCategory":{"name":"categories/gcid:bar","displayName":"バー"}}`},
		{"openInfo", `{"openInfo":{"status":"CLOSED_TEMPORARILY","canReopen":true}}`, "openInfo", `{"status":"CLOSED_TEMPORARILY"}`},
		{"specialHours", `{"specialHours":{"specialHourPeriods":[{"startDate":{"year":2026,"month":12,"day":31},"closed":true}]}}`, "specialHours", `{"specialHourPeriods":[{"closed":true,"startDate":{"day":31,"month":12,"year":2026}}]}`},
		{"moreHours", `{"moreHours":[{"hoursTypeId":"KITCHEN","periods":[{"openDay":"FRIDAY","openTime":{"hours":11},"closeDay":"FRIDAY","closeTime":{"hours":20}}]}]}`, "moreHours", `[{"hoursTypeId":"KITCHEN","periods":[{"closeDay":"FRIDAY","closeTime":{"hours":20},"openDay":"FRIDAY","openTime":{"hours":11}}]}]`},
	} {
		b := setup(t, gbpsim.Options{Strict: true})
		a := b.patch(c.mask, c.body)
		if a.status != 200 || a.text("name") != string(b.store[0]) {
			t.Errorf("%s %s: %d %s", c.mask, c.body, a.status, a.raw)
			continue
		}
		got := string(b.store1().Fields[c.field])
		if got != c.want {
			t.Errorf("%s %s: %s is %s, want %s", c.mask, c.body, c.field, got, c.want)
		}
		if e := b.last(); e.Location != b.store[0] || e.Body != c.body || !e.Effect || !e.Write || e.Route != gbpsim.RouteLocationsPatch {
			t.Errorf("journal %+v", e)
		}
		// The world that is shown, and that a reset or reseed starts from, is the edited one.
		for _, l := range b.sim.World().Locations {
			if l.Name == b.store[0] {
				if err := b.sim.Seed(gbpsim.World{Locations: []gbpsim.Location{l}}); err != nil {
					t.Error(err)
				}
			}
		}
		if got := string(b.store1().Fields[c.field]); got != c.want {
			t.Errorf("%s: reseeded with its own world, %s is %s", c.mask, c.field, got)
		}
	}
}

func TestValidateOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true, Knobs: gbpsim.Knobs{EditsPerMinute: 1}})
	for range 3 { // more often than the location may be edited
		a := b.do(http.MethodPatch, v1Host+"/v1/"+string(b.store[1])+"?updateMask=title&validateOnly=true", `{"title":"x"}`)
		if a.status != 200 || a.raw != "{}\n" || b.last().Effect {
			t.Errorf("%d %q", a.status, a.raw)
		}
	}
	if a := b.do(http.MethodPatch, v1Host+"/v1/"+string(b.store[1])+"?updateMask=title&validateOnly=true", `{}`); a.status != 400 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if s := must(b.sim.Store(b.store[1])); string(s.Fields["title"]) == `"x"` {
		t.Error("validateOnly changed something")
	}
}

// Edits under review: published or reverted over the clock.
func TestEditReview(t *testing.T) {
	t.Parallel()
	for _, reverted := range []bool{false, true} {
		for _, old := range []bool{false, true} {
			b := setup(t, gbpsim.Options{Strict: true, Knobs: gbpsim.Knobs{EditPendingSeconds: 3600, EditReadsOld: old, EditsReverted: reverted, TokenSeconds: 1e6}})
			before := string(b.store1().Fields["title"])
			if a := b.patch("title", `{"title":"新店名"}`); a.status != 200 || a.text("title") != "新店名" {
				t.Fatalf("%d %s", a.status, a.raw)
			}
			read := func() (title string, pending bool, mask, public string) {
				a := b.do(http.MethodGet, v1Host+"/v1/"+string(b.store[0])+"?readMask=title,metadata", "")
				m, _ := a.json["metadata"].(map[string]any)
				pending, _ = m["hasPendingEdits"].(bool)
				g := b.do(http.MethodGet, v1Host+"/v1/"+string(b.store[0])+":getGoogleUpdated?readMask=title", "")
				loc, _ := g.json["location"].(map[string]any)
				public, _ = loc["title"].(string)
				return a.text("title"), pending, g.text("pendingMask"), public
			}
			during := "新店名"
			if old {
				during = strings.Trim(before, `"`)
			}
			if title, pending, mask, public := read(); title != during || !pending || mask != "title" || public != strings.Trim(before, `"`) {
				t.Errorf("reverted %v old %v: during: %q %v %q %q", reverted, old, title, pending, mask, public)
			}
			b.sim.Advance(time.Hour)
			end := "新店名"
			if reverted {
				end = strings.Trim(before, `"`)
			}
			if title, pending, mask, public := read(); title != end || pending || mask != "" || public != end {
				t.Errorf("reverted %v old %v: after: %q %v %q %q", reverted, old, title, pending, mask, public)
			}
		}
	}
}

// An edit on top of an edit under review is reverted to what the public saw, and a location without voice waits for ever.
func TestEditReviewTwiceAndUnverified(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{EditPendingSeconds: 60, EditsReverted: true}})
	before := string(b.store1().Fields["title"])
	b.patch("title", `{"title":"1"}`)
	b.sim.Advance(30 * time.Second)
	b.patch("title,labels", `{"title":"2"}`)
	b.sim.Advance(45 * time.Second)
	if s := b.store1(); string(s.Fields["title"]) != `"2"` || cmp.Diff([]string{"labels", "title"}, s.Pending) != "" {
		t.Errorf("%+v", s)
	}
	b.sim.Advance(time.Minute)
	if s := b.store1(); string(s.Fields["title"]) != before || len(s.Pending) > 0 || len(s.Fields["labels"]) == 0 {
		t.Errorf("%+v", s)
	}
	u := setup(t, gbpsim.Options{})
	u.change(0, func(l *gbpsim.Location) { l.Metadata = json.RawMessage(`{"placeId":"x"}`) })
	u.patch("title", `{"title":"1"}`)
	u.sim.Advance(1000 * time.Hour)
	if s := u.store1(); cmp.Diff([]string{"title"}, s.Pending) != "" {
		t.Errorf("%+v", s)
	}
}

// F068: Google's own version.
func TestGoogleVersion(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	client := gbpsim.Client{BaseURL: b.base}
	if err := client.SetGoogleVersion(t.Context(), b.store[0], gbpsim.StoreChange{Fields: map[string]json.RawMessage{"phoneNumbers": json.RawMessage(`{"primaryPhone":"03-1000-7777"}`)}}); err != nil {
		t.Fatal(err)
	}
	look := func() (updated bool, diff, phone, own string) {
		a := b.do(http.MethodGet, v1Host+"/v1/"+string(b.store[0])+"?readMask=phoneNumbers,metadata", "")
		m, _ := a.json["metadata"].(map[string]any)
		updated, _ = m["hasGoogleUpdated"].(bool)
		p, _ := a.json["phoneNumbers"].(map[string]any)
		own, _ = p["primaryPhone"].(string)
		g := b.do(http.MethodGet, v1Host+"/v1/"+string(b.store[0])+":getGoogleUpdated?readMask=phoneNumbers", "")
		loc, _ := g.json["location"].(map[string]any)
		p, _ = loc["phoneNumbers"].(map[string]any)
		phone, _ = p["primaryPhone"].(string)
		return updated, g.text("diffMask"), phone, own
	}
	if u, d, p, own := look(); !u || d != "phoneNumbers" || p != "03-1000-7777" || own != "03-1000-0000" {
		t.Errorf("%v %q %q %q", u, d, p, own)
	}
	b.patch("labels", `{"labels":["x"]}`)
	if u, d, _, _ := look(); !u || d != "phoneNumbers" {
		t.Error("an edit of another field touched Google's version")
	}
	b.patch("phoneNumbers", `{"phoneNumbers":{"primaryPhone":"03-1000-0009"}}`)
	if u, d, p, own := look(); u || d != "" || p != own || own != "03-1000-0009" {
		t.Errorf("%v %q %q %q", u, d, p, own)
	}
	for _, bad := range []gbpsim.StoreChange{{Fields: map[string]json.RawMessage{"colour": json.RawMessage(`1`)}}, {Fields: map[string]json.RawMessage{"title": json.RawMessage(`1`)}}, {Attributes: json.RawMessage(`[]`)}} {
		if err := client.SetGoogleVersion(t.Context(), b.store[0], bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if err := client.ChangeStore(t.Context(), "locations/5", gbpsim.StoreChange{}); err == nil {
		t.Error("a location that does not exist was changed")
	}
}

// Somebody else edits the store: no journal entry, no budget.
func TestChangeStore(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	client := gbpsim.Client{BaseURL: b.base}
	if err := client.ChangeStore(t.Context(), b.store[0], gbpsim.StoreChange{Fields: map[string]json.RawMessage{"title": json.RawMessage(`"別の名前"`), "labels": json.RawMessage(`null`)}, Attributes: json.RawMessage(`[{"name":"attributes/wi_fi","values":["free_wi_fi"],"valueType":"ENUM"}]`)}); err != nil {
		t.Fatal(err)
	}
	s, err := client.Store(t.Context(), "accounts/1/"+b.store[0])
	if err != nil || string(s.Fields["title"]) != `"別の名前"` || s.Fields["labels"] != nil || !strings.Contains(string(s.Attributes), "free_wi_fi") {
		t.Errorf("%+v %v", s, err)
	}
	if n := len(b.sim.Journal()); n != 0 {
		t.Errorf("%d journal entries", n)
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	path := v1Host + "/v1/" + string(b.store[0]) + "/attributes"
	update := func(mask, body string) answer {
		return b.do(http.MethodPatch, path+"?prettyPrint=false&attributeMask="+url.QueryEscape(mask), body)
	}
	if a := b.do(http.MethodGet, path, ""); a.status != 200 || a.text("name") != string(b.store[0])+"/attributes" || a.json["attributes"] != nil {
		t.Errorf("%d %s", a.status, a.raw)
	}
	a := update("attributes/wi_fi,attributes/has_delivery", `{"name":"`+string(b.store[0])+`/attributes","attributes":[{"name":"attributes/wi_fi","values":["free_wi_fi"]},{"name":"attributes/has_delivery","values":[false]},{"name":"attributes/has_takeout","values":[true]}]}`)
	if a.status != 200 || !strings.Contains(a.raw, `"values":[false]`) || !strings.Contains(a.raw, `"valueType":"ENUM"`) || strings.Contains(a.raw, "has_takeout") {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if e := b.last(); !e.Effect || e.Location != b.store[0] {
		t.Errorf("%+v", e)
	}
	if a = update("attributes/wi_fi", `{}`); a.status != 200 || strings.Contains(a.raw, "wi_fi") || !strings.Contains(a.raw, "has_delivery") {
		t.Errorf("masked and absent: %d %s", a.status, a.raw)
	}
}

func TestListFilter(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	for filter, want := range map[string][]string{
		`storeCode="GINZA001"`: {"GINZA001"},
		`title:"銀座"`:           {"GINZA001"},
		`title="こもれび珈琲"`:       {"SHIBUYA001", "SHINJUKU001", "IKEBUKURO001", "GINZA001"},
		`labels="テラス席"`:        {"SHIBUYA001"},
		`storefront_address.locality="新宿区" OR storefront_address.locality="中央区"`: {"SHINJUKU001", "GINZA001"},
		`categories="cafe" AND (storeCode="GINZA001" OR storeCode="SHIBUYA001")`: {"SHIBUYA001", "GINZA001"},
		`openInfo.status="CLOSED_PERMANENTLY"`:                                   nil,
		`title="x AND y"`:                                                        nil,
	} {
		a := b.do(http.MethodGet, v1Host+"/v1/accounts/-/locations?readMask=storeCode&filter="+url.QueryEscape(filter), "")
		list, _ := a.json["locations"].([]any)
		var got []string
		for _, l := range list {
			got = append(got, l.(map[string]any)["storeCode"].(string))
		}
		total, _ := a.json["totalSize"].(float64)
		if a.status != 200 || cmp.Diff(want, got) != "" || int(total) != len(want) {
			t.Errorf("%s: %d %v total %v\n%s", filter, a.status, got, total, a.raw)
		}
	}
}

// Faults work on edits as on posts.
func TestEditFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault gbpsim.Fault
		title string
		later string
		err   bool
	}{
		"reset before":      {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset}, title: "old", later: "old", err: true},
		"commit then reset": {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit}, title: "new", later: "new", err: true},
		"later":             {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Effect: gbpsim.EffectLater, DelaySeconds: 30}, title: "old", later: "new"},
		"reverted":          {fault: gbpsim.Fault{State: "PROCESSING", SettleState: "REJECTED", SettleSeconds: 30}, title: "new", later: "old"},
		"refused at once":   {fault: gbpsim.Fault{State: "REJECTED"}, title: "old", later: "old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{})
			b.patch("title", `{"title":"old"}`)
			c.fault.Route, c.fault.Location = gbpsim.RouteLocationsPatch, b.store[0]
			b.fault(c.fault)
			_, err := b.try(http.MethodPatch, v1Host+"/v1/"+string(b.store[0])+"?updateMask=title", `{"title":"new"}`)
			if (err != nil) != c.err {
				t.Fatal(err)
			}
			if got := string(b.store1().Fields["title"]); got != `"`+c.title+`"` {
				t.Errorf("title %s, want %s", got, c.title)
			}
			b.sim.Advance(time.Minute)
			if got := string(b.store1().Fields["title"]); got != `"`+c.later+`"` {
				t.Errorf("later: title %s, want %s", got, c.later)
			}
		})
	}
	b := setup(t, gbpsim.Options{})
	attrs := v1Host + "/v1/" + string(b.store[0]) + "/attributes?attributeMask=attributes/wi_fi"
	b.fault(gbpsim.Fault{Route: gbpsim.RouteLocationsUpdateAttributes, Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit})
	if _, err := b.try(http.MethodPatch, attrs, `{"attributes":[{"name":"attributes/wi_fi","values":["paid_wi_fi"]}]}`); err == nil {
		t.Error("no reset")
	}
	if s := b.store1(); !strings.Contains(string(s.Attributes), "paid_wi_fi") {
		t.Errorf("%s", s.Attributes)
	}
}

func TestVoiceAndMetricsAreStable(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	vom := func() string {
		return b.do(http.MethodGet, verifyHost+"/v1/"+string(b.store[0])+"/VoiceOfMerchantState?prettyPrint=false", "").raw
	}
	if got := vom(); got != `{"hasVoiceOfMerchant":true,"hasBusinessAuthority":true}` {
		t.Error(got)
	}
	b.change(0, func(l *gbpsim.Location) {
		l.VoiceOfMerchant = json.RawMessage(`{"complyWithGuidelines":{"recommendationReason":"BUSINESS_LOCATION_SUSPENDED"}}`)
	})
	if got := vom(); !strings.Contains(got, "SUSPENDED") {
		t.Error(got)
	}
	read := func() string {
		return b.do(http.MethodGet, metricsHost+"/v1/"+string(b.store[1])+":fetchMultiDailyMetricsTimeSeries?prettyPrint=false&dailyMetrics=CALL_CLICKS&dailyMetrics=WEBSITE_CLICKS&dailyRange.startDate.year=2026&dailyRange.startDate.month=11&dailyRange.startDate.day=26&dailyRange.endDate.year=2026&dailyRange.endDate.month=11&dailyRange.endDate.day=30", "").raw
	}
	first := read()
	if first != read() || strings.Count(first, `"date"`) != 10 || !strings.Contains(first, `"value":"`) || !strings.HasSuffix(first, `{"date":{"year":2026,"month":11,"day":30}}]}}]}]}`) {
		t.Error(first)
	}
	if !slices.Contains(gbpsim.Routes(), gbpsim.RouteDailyMetrics) {
		t.Error("faults cannot name the route")
	}
}
