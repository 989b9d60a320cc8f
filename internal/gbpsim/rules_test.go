package gbpsim_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

const (
	event    = `"event":{"title":"秋祭り","schedule":{"startDate":{"year":2026,"month":12,"day":1},"startTime":{"hours":10},"endDate":{"year":2026,"month":12,"day":2},"endTime":{}}}`
	standard = `"topicType":"STANDARD","summary":"s"`
)

func schedule(parts string) string {
	return `{"topicType":"EVENT","summary":"s","event":{"title":"t","schedule":{` + parts + `}}}`
}

// refusal is one request that a rule turns away.
type refusal struct {
	rule   gbpsim.RuleID
	method string // "" is POST
	path   string // "" is creating a post at the first store
	body   string
	knobs  gbpsim.Knobs
	header func(*http.Request)
	before func(*bench)
	// prepare makes the body, at the path, where they depend on what is there.
	prepare, at func(*bench) string
	status      int // 0 is 400
	field       string
	code        int
	word        string // something that the body must hold
}

// refusals has at least one line per rule that refuses; TestEveryRefusalIsTested sees to that.
func refusals() []refusal { return append(firstRefusals(), mediaRefusals()...) }

func firstRefusals() []refusal {
	day := func(field string, d int) string {
		return fmt.Sprintf(`"%s":{"year":2026,"month":12,"day":%d}`, field, d)
	}
	form := func(v url.Values) string { return v.Encode() }
	with := func(name, value string) url.Values {
		f := refreshForm(gbpsim.DemoRefreshToken)
		f.Set(name, value)
		return f
	}
	const token, post, locations = tokenHost + "/token", "POST", v1Host + "/v1/accounts/-/locations"
	long := strings.Repeat("あ", 1501)
	all := []refusal{
		{rule: "route.unknown", method: "GET", path: v4Host + "/v4/locations/1/localPosts", status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", method: "GET", path: v4Host + "/v4//accounts/1/locations/1/localPosts", status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", path: v4Host + "/v4/accounts/1/locations/1/localPosts:reportInsights", status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", method: "GET", path: v1Host + "/v1/locations/1:associate?readMask=name", status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", method: "PUT", status: 404, word: "<!DOCTYPE html>"},
		{rule: "request.json", body: `{"summary":`, word: "Invalid JSON payload received."},
		{rule: "request.json", body: `[]`},
		{rule: "request.json", body: plain + `{}`},
		{rule: "request.json", body: "{\"summary\":\"\xff\"}"},
		{rule: "request.unknown_field", body: `{"topicType":"STANDARD","summary":"s","colour":"red"}`, field: "local_post", word: `Unknown name \"colour\" at 'local_post': Cannot find field.`},
		{rule: "request.unknown_field", body: `{"TopicType":"STANDARD","summary":"s"}`, field: "local_post"},
		{rule: "request.unknown_field", body: `{"topic_Type":"STANDARD","summary":"s"}`, field: "local_post"},
		{rule: "request.unknown_field", body: `{` + standard + `,"callToAction":{"actionType":"BOOK","link":"https://a.example"}}`, field: "local_post.call_to_action"},
		{rule: "request.value_type", body: `{"topicType":"STANDARD","summary":5}`, field: "local_post.summary"},
		{rule: "request.value_type", body: `{"topicType":"SALE","summary":"s"}`, field: "local_post.topic_type"},
		{rule: "request.value_type", body: `{` + standard + `,"media":{}}`, field: "local_post.media"},
		{rule: "request.value_type", body: `{` + standard + `,"scheduledTime":"tomorrow"}`, field: "local_post.scheduled_time"},
		{rule: "request.value_type", body: schedule(`"startDate":{"year":2026.5}`), field: "local_post.event.schedule.start_date.year"},
		{rule: "request.unknown_parameter", method: "GET", path: "?size=5", word: `Unknown name \"size\"`},
		{rule: "request.page_size", method: "GET", path: "?pageSize=many", field: "page_size"},
		{rule: "request.page_size", method: "GET", path: "?pageSize=-1", field: "page_size"},
		{rule: "request.page_token", method: "GET", path: "?pageToken=abc", field: "page_token"},

		{rule: "auth.missing", body: plain, header: func(r *http.Request) { r.Header.Del("Authorization") }, status: 401, word: "CREDENTIALS_MISSING"},
		{rule: "auth.invalid", body: plain, header: func(r *http.Request) { r.Header.Set("Authorization", "Bearer ya29.unknown") }, status: 401, word: "UNAUTHENTICATED"},
		{rule: "auth.invalid", body: plain, before: func(b *bench) { b.sim.ExpireAccessTokens() }, status: 401},
		{rule: "auth.invalid", body: plain, before: func(b *bench) { b.sim.Advance(3599 * 1e9) }, status: 401},
		{rule: "auth.invalid", body: plain, before: func(b *bench) { _ = b.sim.Revoke(gbpsim.DemoEmail) }, status: 401},
		{rule: "auth.service_disabled", body: plain, knobs: gbpsim.Knobs{DisabledAPIs: []string{v4Host}}, status: 403, word: "activationUrl"},
		{rule: "auth.no_access", body: plain, path: v4Host + "/v4/" + string(strangerAccount) + "/" + string(strangerStore) + "/localPosts", status: 404, word: "NOT_FOUND"},
		{rule: "auth.no_access", body: plain, path: v4Host + "/v4/" + string(gbpsim.DemoGroup) + "/locations/5/localPosts", status: 404},
		{rule: "auth.no_access", body: plain, path: v4Host + "/v4/" + string(gbpsim.DemoGroup) + "/" + string(strangerStore) + "/localPosts", status: 404},
		{rule: "auth.no_access", body: plain, path: v4Host + "/v4/accounts/-/" + string(strangerStore) + "/localPosts", status: 404},
		{rule: "auth.no_access", method: "GET", path: v1Host + "/v1/" + string(strangerStore) + "?readMask=name", status: 404},
		{rule: "auth.no_access", method: "GET", path: v1Host + "/v1/" + string(strangerAccount) + "/locations?readMask=name", status: 404},
		{rule: "auth.no_access", method: "GET", path: acctHost + "/v1/" + string(strangerAccount), status: 404},
		{rule: "auth.permission_denied", body: plain, before: func(b *bench) { b.change(0, func(l *gbpsim.Location) { l.PermissionDenied = true }) }, status: 403, word: "PERMISSION_DENIED"},

		{rule: "oauth.invalid_grant", path: token, body: form(with("refresh_token", "1//0unknown")), word: `"error": "invalid_grant"`},
		{rule: "oauth.invalid_grant", path: token, body: form(refreshForm(gbpsim.DemoRefreshToken)), before: func(b *bench) { _ = b.sim.Revoke(gbpsim.DemoEmail) }, word: "expired or revoked"},
		{rule: "oauth.invalid_grant", path: tokenHost + "/revoke", body: "token=unknown", word: "invalid_token"},
		{rule: "oauth.invalid_client", path: token, body: form(with("client_secret", "wrong")), status: 401, word: `"error": "invalid_client"`},
		{rule: "oauth.invalid_client", path: token, body: form(with("client_id", "nobody")), status: 401, word: "not found"},
		{rule: "oauth.invalid_request", path: token, body: form(with("refresh_token", "")), word: "refresh_token"},
		{rule: "oauth.invalid_request", path: token, body: form(with("grant_type", "")), word: "grant_type"},
		{rule: "oauth.invalid_request", path: token, body: form(with("client_id", "")), word: "client ID"},
		{rule: "oauth.unsupported_grant_type", path: token, body: form(with("grant_type", "password")), word: "unsupported_grant_type"},

		{rule: "quota.per_minute", body: plain, knobs: gbpsim.Knobs{QuotaPerMinute: 1}, before: func(b *bench) { b.created(0) }, status: 429, word: `"quota_limit_value": "1"`},
		{rule: "quota.zero", body: plain, knobs: gbpsim.Knobs{QuotaZeroAPIs: []string{"*"}, NoQuotas: true}, status: 429, word: `"quota_limit_value": "0"`},
		{rule: "quota.edits_per_location", body: plain, knobs: gbpsim.Knobs{EditsPerMinute: 1}, before: func(b *bench) { b.created(0) }, status: 429, word: "RATE_LIMIT_EXCEEDED"},

		{rule: "locations.read_mask", method: "GET", path: locations, field: "read_mask"},
		{rule: "locations.read_mask_path", method: "GET", path: locations + "?readMask=name,colour", field: "read_mask"},
		{rule: "locations.order_by", method: "GET", path: locations + "?readMask=name&orderBy=city", field: "order_by"},
		{rule: "locations.filter", method: "GET", path: locations + "?readMask=name&filter=distance(latlng,geopoint(1,2))%3C5"},

		{rule: "post.topic_type", body: `{"summary":"s"}`, field: "topic_type", code: 2},
		{rule: "post.topic_type", body: ``, field: "topic_type", code: 2},
		{rule: "post.topic_type", body: `{"summary":"s","topicType":"LOCAL_POST_TOPIC_TYPE_UNSPECIFIED"}`, field: "topic_type", code: 2},
		{rule: "post.content", body: `{"topicType":"STANDARD","summary":" "}`, field: "summary", code: 2},
		{rule: "post.summary_length", body: `{"topicType":"STANDARD","summary":"` + long + `"}`, field: "summary", word: "1500"},
		{rule: "post.event_needed", body: `{"topicType":"EVENT","summary":"s"}`, field: "event", code: 2},
		{rule: "post.event_needed", body: `{"topicType":"OFFER","summary":"s","offer":{"couponCode":"A"}}`, field: "event", code: 2},
		{rule: "post.event_title", body: `{"topicType":"EVENT","summary":"s","event":{"schedule":{}}}`, field: "event.title"},
		{rule: "post.event_title_length", body: strings.Replace(`{"topicType":"EVENT","summary":"s",`+event+`}`, "秋祭り", strings.Repeat("祭", 59), 1), field: "event.title", word: "58"},
		{rule: "post.schedule_parts", body: `{"topicType":"EVENT","summary":"s","event":{"title":"t"}}`, field: "event.schedule"},
		{rule: "post.schedule_parts", body: schedule(day("startDate", 1) + `,"startTime":{},` + day("endDate", 2)), field: "event.schedule.end_time"},
		{rule: "post.schedule_parts", body: schedule(day("startDate", 1) + `,` + day("endDate", 2) + `,"endTime":{}`), field: "event.schedule.start_time"},
		{rule: "post.schedule_value", body: schedule(day("startDate", 32) + `,"startTime":{},` + day("endDate", 2) + `,"endTime":{}`), field: "event.schedule.start_date"},
		{rule: "post.schedule_value", body: schedule(day("startDate", 1) + `,"startTime":{},` + day("endDate", 2) + `,"endTime":{"hours":24,"minutes":1}`), field: "event.schedule.end_date"},
		{rule: "post.schedule_order", body: schedule(day("startDate", 3) + `,"startTime":{},` + day("endDate", 2) + `,"endTime":{}`), field: "event.schedule"},
		{rule: "post.offer_only", body: `{` + standard + `,"offer":{"couponCode":"A"}}`, field: "offer"},
		{rule: "post.offer_url", body: `{"topicType":"OFFER","summary":"s",` + event + `,"offer":{"redeemOnlineUrl":"komorebi"}}`, field: "offer.redeem_online_url"},
		{rule: "post.action_type", body: `{` + standard + `,"callToAction":{"url":"https://a.example"}}`, field: "call_to_action.action_type"},
		{rule: "post.get_offer", body: `{` + standard + `,"callToAction":{"actionType":"GET_OFFER","url":"https://a.example"}}`, field: "call_to_action.action_type"},
		{rule: "post.action_url", body: `{` + standard + `,"callToAction":{"actionType":"BOOK"}}`, field: "call_to_action.url", code: 2},
		{rule: "post.action_url_form", body: `{` + standard + `,"callToAction":{"actionType":"BOOK","url":"javascript:x"}}`, field: "call_to_action.url"},
		{rule: "post.call_url", body: `{` + standard + `,"callToAction":{"actionType":"CALL","url":"https://a.example"}}`, field: "call_to_action.url"},
		{rule: "post.alert", body: `{"topicType":"ALERT","summary":"s","alertType":"COVID_19"}`, field: "topic_type"},
		{rule: "post.alert_type", body: `{` + standard + `,"alertType":"COVID_19"}`, field: "alert_type"},
		{rule: "post.alert_type", body: `{"topicType":"ALERT","summary":"s"}`, knobs: gbpsim.Knobs{AllowAlerts: true}, field: "alert_type"},
		{rule: "post.media_fields", body: `{` + standard + `,"media":[{"mediaFormat":"PHOTO","dataRef":{"resourceName":"x"}}]}`, field: "media[0].data_ref"},
		{rule: "post.media_fields", body: `{` + standard + `,"media":[{"mediaFormat":"PHOTO","sourceUrl":"https://a.example/1.jpg","description":"x"}]}`, field: "media[0].description"},
		{rule: "post.media_format", body: `{` + standard + `,"media":[{"sourceUrl":"https://a.example/1.jpg"}]}`, field: "media[0].media_format", code: 2},
		{rule: "post.media_source", body: `{` + standard + `,"media":[{"mediaFormat":"PHOTO"}]}`, field: "media[0].source_url", code: 2},
		{rule: "post.media_video", body: `{` + standard + `,"media":[{"mediaFormat":"VIDEO","sourceUrl":"https://a.example/1.mp4"}]}`, status: 500, word: "INTERNAL"},
		{rule: "post.media_video", body: `{` + standard + `,"media":[{"mediaFormat":"VIDEO","sourceUrl":"https://a.example/1.mp4"}]}`, knobs: gbpsim.Knobs{VideoStatus: 400}, field: "media[0].media_format", word: "not supported"},
		{rule: "post.media_fetch", body: `{` + standard + `,"media":[{"mediaFormat":"PHOTO","sourceUrl":"https://gone.invalid/1.jpg"}]}`, field: "media[0].source_url", code: 1000},
		{rule: "post.media_fetch", body: `{` + standard + `,"media":[{"mediaFormat":"PHOTO","sourceUrl":"http://a.example/1.jpg"}]}`, field: "media[0].source_url", code: 1000},
		{rule: "post.media_fetch", body: `{` + standard + `,"media":[{"mediaFormat":"PHOTO","sourceUrl":"https://cdn.example/no/1.jpg"}]}`, knobs: gbpsim.Knobs{UnreachableURLs: []string{"https://cdn.example/no/"}}, code: 1000, field: "media[0].source_url"},
		{rule: "post.scheduled_time", body: `{` + standard + `,"scheduledTime":"2026-11-30T03:00:00Z"}`, field: "scheduled_time"},
		{rule: "post.disabled", body: plain, before: func(b *bench) { b.change(0, func(l *gbpsim.Location) { l.PostsDisabled = true }) }, word: "LOCATION_DISABLED_FOR_LOCAL_POST_API"},
		{rule: "post.patch_mask", method: "PATCH", path: "/1", body: `{"summary":"s"}`, word: "Request contains an invalid argument."},
		{rule: "post.patch_path", method: "PATCH", path: "/1?updateMask=colour", body: `{"summary":"s"}`, field: "update_mask"},
		{rule: "post.patch_fixed", method: "PATCH", path: "/1?updateMask=summary,topicType", body: `{"topicType":"EVENT"}`, field: "topic_type"},
		{rule: "post.patch_fixed", method: "PATCH", path: "/1?updateMask=media", body: `{"summary":"s"}`, field: "media"},
		{rule: "post.patch_output_only", method: "PATCH", path: "/1?update_mask=create_time", body: `{"summary":"s"}`, field: "create_time"},
		{rule: "post.not_found", method: "PATCH", path: "/1?updateMask=summary", body: `{"summary":"s"}`, status: 404, word: "NOT_FOUND"},
		{rule: "post.not_found", method: "GET", path: "/1", status: 404, word: "NOT_FOUND"},
		{rule: "post.not_found", method: "DELETE", path: "/1", status: 404},

		{rule: "review.verified_only", method: "GET", path: reviewsOf(0), before: unverified, word: "FAILED_PRECONDITION"},
		{rule: "review.verified_only", method: "GET", path: reviewOf(0, 0), before: unverified, knobs: gbpsim.Knobs{UnverifiedStatus: 403}, status: 403, word: "PERMISSION_DENIED"},
		{rule: "review.verified_only", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"comment":"a"}`, before: unverified, word: "FAILED_PRECONDITION"},
		{rule: "review.verified_only", method: "DELETE", path: reviewOf(0, 0) + "/reply", before: unverified, word: "FAILED_PRECONDITION"},
		{rule: "review.verified_only", path: batchPath, body: batchOf(1, 0), before: unverified, word: "FAILED_PRECONDITION"},
		{rule: "review.not_found", method: "GET", path: reviewsOf(0) + "/none", status: 404, word: "NOT_FOUND"},
		{rule: "review.not_found", method: "PUT", path: reviewsOf(0) + "/none/reply", body: `{"comment":"a"}`, status: 404},
		{rule: "review.not_found", method: "DELETE", path: reviewsOf(0) + "/none/reply", status: 404},
		{rule: "review.not_found", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"comment":"a"}`, before: func(b *bench) { _ = b.sim.RemoveReview(b.reviews(0)[0].Name) }, status: 404},
		{rule: "review.order_by", method: "GET", path: reviewsOf(0) + "?orderBy=updateTime", field: "order_by"},
		{rule: "review.order_by", method: "GET", path: reviewsOf(0) + "?orderBy=rating%20asc", field: "order_by"},
		{rule: "review.order_by", path: batchPath, body: strings.Replace(batchOf(0), "{", `{"orderBy":"stars",`, 1), field: "order_by"},
		{rule: "review.reply_text", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{}`, field: "comment", code: 2},
		{rule: "review.reply_text", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"comment":" \n"}`, field: "comment", code: 2},
		{rule: "review.reply_length", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"comment":"` + strings.Repeat("あ", 1366) + `"}`, field: "comment", word: "4096"},
		{rule: "review.reply_missing", method: "DELETE", path: reviewOf(0, 1) + "/reply", status: 404},
		{rule: "review.batch_locations", path: batchPath, body: `{}`, field: "location_names"},
		{rule: "review.batch_locations", path: batchPath, body: `{"locationNames":["` + strings.Repeat(`x","`, 50) + `x"]}`, field: "location_names", word: "50"},
		{rule: "review.batch_locations", path: batchPath, body: `{"locationNames":["` + string(gbpsim.JapaneseChain(1).Locations[0].Name) + `"]}`, field: "location_names[0]"},
		{rule: "review.batch_locations", path: batchPath, body: `{"locationNames":["` + string(strangerAccount) + "/" + string(strangerStore) + `"]}`, field: "location_names[0]"},
		{rule: "auth.no_access", path: batchPath, body: `{"locationNames":["` + string(gbpsim.DemoGroup) + "/" + string(strangerStore) + `"]}`, status: 404},
		{rule: "auth.no_access", path: v4Host + "/v4/" + string(strangerAccount) + "/locations:batchGetReviews", body: batchOf(0), status: 404},
		{rule: "auth.no_access", method: "GET", path: v4Host + "/v4/" + string(strangerAccount) + "/" + string(strangerStore) + "/reviews", status: 404},
		{rule: "auth.permission_denied", method: "GET", path: reviewsOf(0), before: func(b *bench) { b.change(0, func(l *gbpsim.Location) { l.PermissionDenied = true }) }, status: 403},
		{rule: "request.unknown_field", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"comment":"a","text":"b"}`, field: "reply"},
		{rule: "request.unknown_field", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"Comment":"a"}`, field: "reply"},
		{rule: "request.value_type", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"comment":["a"]}`, field: "reply.comment"},
		{rule: "request.value_type", path: batchPath, body: `{"ignoreRatingOnlyReviews":"yes"}`, field: "batch_get_reviews_request.ignore_rating_only_reviews"},
		{rule: "request.json", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `"a"`},
		{rule: "request.page_size", method: "GET", path: reviewsOf(0) + "?pageSize=x", field: "page_size"},
		{rule: "request.unknown_parameter", method: "GET", path: reviewsOf(0) + "?ignoreRatingOnlyReviews=true"},
		{rule: "route.unknown", method: "PATCH", path: reviewOf(0, 0) + "/reply", body: `{"comment":"a"}`, status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", method: "GET", path: reviewOf(0, 0) + "/reply", status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", method: "DELETE", path: reviewOf(0, 0), status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", method: "GET", path: v4Host + "/v4/" + string(gbpsim.JapaneseChain(1).Locations[0].Name) + "/reviews", status: 404, word: "<!DOCTYPE html>"},
		{rule: "quota.edits_per_location", method: "PUT", path: reviewOf(0, 0) + "/reply", body: `{"comment":"a"}`, knobs: gbpsim.Knobs{EditsPerMinute: 1}, before: func(b *bench) { b.created(0) }, status: 429},
		{rule: "quota.edits_per_location", method: "DELETE", path: reviewOf(0, 0) + "/reply", knobs: gbpsim.Knobs{EditsPerMinute: 1}, before: func(b *bench) { b.created(0) }, status: 429},
		{rule: "quota.zero", method: "GET", path: reviewsOf(0), knobs: gbpsim.Knobs{QuotaZeroAPIs: []string{v4Host}}, status: 429, word: `"quota_limit_value": "0"`},
	}
	all = append(all, storeRefusals()...)
	return all
}

func unverified(b *bench) { b.change(0, func(l *gbpsim.Location) { l.Unverified = true }) }

// change edits a seeded store.
func (b *bench) change(store int, edit func(*gbpsim.Location)) {
	for _, l := range b.sim.World().Locations {
		if l.Name == b.store[store] {
			edit(&l)
			if err := b.sim.Seed(gbpsim.World{Locations: []gbpsim.Location{l}}); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for i, c := range refusals() {
		t.Run(fmt.Sprintf("%s/%d", c.rule, i), func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{Knobs: c.knobs})
			if c.before != nil {
				c.before(b)
			}
			if c.prepare != nil {
				c.body = c.prepare(b)
			}
			if c.at != nil {
				c.path = c.at(b)
			}
			before := len(b.sim.Posts("")) + len(b.sim.Media(""))
			reviewed := b.sim.Reviews("")
			method, path, status := c.method, c.path, c.status
			if method == "" {
				method = "POST"
			}
			if path == "" || strings.HasPrefix(path, "?") || strings.HasPrefix(path, "/") {
				path = b.posts(0) + path
			}
			if status == 0 {
				status = 400
			}
			var change []func(*http.Request)
			if c.header != nil {
				change = append(change, c.header)
			}
			a := b.do(method, path, c.body, change...)
			field, code := a.violation()
			if a.status != status || c.field != field || c.code != 0 && c.code != code || !strings.Contains(a.raw, c.word) {
				t.Errorf("got %d field %q code %d, want %d %q %d with %q\n%s", a.status, field, code, status, c.field, c.code, c.word, a.raw)
			}
			if e := b.last(); e.Rule != c.rule || e.Status != status || e.Effect || e.Outcome != gbpsim.Answered {
				t.Errorf("journal: rule %q status %d effect %v outcome %q", e.Rule, e.Status, e.Effect, e.Outcome)
			}
			if n := len(b.sim.Posts("")) + len(b.sim.Media("")); n != before {
				t.Errorf("a refused request changed the number of posts and media from %d to %d", before, n)
			}
			if d := cmp.Diff(reviewed, b.sim.Reviews("")); d != "" {
				t.Errorf("a refused request changed reviews:\n%s", d)
			}
			if strings.Contains(a.raw, string(c.rule)) {
				t.Errorf("the rule's id is on the wire:\n%s", a.raw)
			}
		})
	}
}

func TestEveryRefusalIsTested(t *testing.T) {
	t.Parallel()
	tested := map[gbpsim.RuleID]bool{}
	for _, c := range refusals() {
		tested[c.rule] = true
	}
	known := map[gbpsim.RuleID]bool{}
	for _, r := range gbpsim.Rules() {
		if known[r.ID] {
			t.Errorf("rule %s is there twice", r.ID)
		}
		known[r.ID] = true
		switch r.Evidence {
		case gbpsim.Documented, gbpsim.Captured, gbpsim.Probed, gbpsim.Assumed:
		default:
			t.Errorf("rule %s: evidence %q", r.ID, r.Evidence)
		}
		if r.Text == "" {
			t.Errorf("rule %s says nothing", r.ID)
		}
		if r.Refuses != tested[r.ID] {
			t.Errorf("rule %s: refuses %v, tested %v", r.ID, r.Refuses, tested[r.ID])
		}
	}
	for id := range tested {
		if !known[id] {
			t.Errorf("rule %s is not in the table", id)
		}
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true, AllowAlerts: true}})
	for name, body := range map[string]string{
		"summary of 1500":         `{"topicType":"STANDARD","summary":"` + strings.Repeat("あ", 1500) + `"}`,
		"title of 58":             strings.Replace(`{"topicType":"EVENT","summary":"s",`+event+`}`, "秋祭り", strings.Repeat("祭", 58), 1),
		"media without summary":   `{"topicType":"STANDARD","media":[{"mediaFormat":"PHOTO","sourceUrl":"https://a.example/1.jpg"}]}`,
		"call without url":        `{` + standard + `,"callToAction":{"actionType":"CALL"}}`,
		"book with url":           `{` + standard + `,"callToAction":{"actionType":"BOOK","url":"https://a.example/?a=1&b=2"}}`,
		"offer":                   `{"topicType":"OFFER","summary":"s",` + event + `,"offer":{"couponCode":"A","redeemOnlineUrl":"https://a.example","termsConditions":"店内のみ"}}`,
		"alert":                   `{"topicType":"ALERT","summary":"s","alertType":"COVID_19"}`,
		"snake_case and strings":  `{"topic_type":"EVENT","summary":"s","event":{"title":"t","schedule":{"start_date":{"year":"2026","month":12.0,"day":1},"startTime":{},"endDate":{"year":2026,"month":12,"day":1},"endTime":{"hours":24}}}}`,
		"null and output only":    `{` + standard + `,"event":null,"state":"LIVE","name":"x","createTime":"2020-01-01T00:00:00Z"}`,
		"recurrence":              `{"topicType":"EVENT","summary":"s",` + strings.Replace(event, `"title"`, `"recurrenceInfo":{"weeklyPattern":{"daysOfWeek":["MONDAY"]}},"title"`, 1) + `}`,
		"scheduled in the future": `{` + standard + `,"scheduledTime":"2026-12-01T09:00:00+09:00"}`,
		"action of an offer":      `{"topicType":"OFFER","summary":"s",` + event + `,"callToAction":{"actionType":"BOOK"}}`,
		"language and a CRLF":     `{"topicType":"STANDARD","languageCode":"en","summary":"a\r\nb"}`,
	} {
		if a := b.create(0, body); a.status != 200 {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
}

func TestSystemParametersAreAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	q := "?alt=json&prettyPrint=false&fields=*&key=k&quotaUser=u&callback=c&$.xgafv=2&uploadType=x&upload_protocol=raw&access_token=" + b.token
	a := b.do("GET", b.posts(0)+q, "", func(r *http.Request) { r.Header.Del("Authorization") })
	if a.status != 200 || a.raw != "{}" {
		t.Fatalf("got %d %q", a.status, a.raw)
	}
	if e := b.last(); strings.Contains(e.Query, b.token) || e.Email != gbpsim.DemoEmail {
		t.Errorf("journal: query %q, email %q", e.Query, e.Email)
	}
}
