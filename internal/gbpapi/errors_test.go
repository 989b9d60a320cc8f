package gbpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
)

func envelope(code int, status, details string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":"Google says no.","status":%q,"details":[%s]}}`, code, status, details)
}

func info(reason, metadata string) string {
	return fmt.Sprintf(`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"domain":"googleapis.com","metadata":{%s}}`, reason, metadata)
}

func validation(entries string) string {
	return `{"@type":"type.googleapis.com/google.mybusiness.v4.ValidationError","errorDetails":[` + entries + `]}`
}

const htmlPage = `<!DOCTYPE html>
<html lang=en><meta charset=utf-8><title>Error 404 (Not Found)!!1</title><style>*{margin:0}</style>
<p><b>404.</b> <ins>That's an error.</ins> The requested URL <code>/v4/locations/1/localPosts</code> was not found on this server.`

// One row for every row of the error table: what Google answers to a create, and what it means.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	rateMeta := `"service":"mybusiness.googleapis.com","quota_metric":"mybusiness.googleapis.com/default_requests","quota_limit":"DefaultRequestsPerMinutePerProject","quota_unit":"1/min/{project}","quota_location":"global","consumer":"projects/1","quota_limit_value":`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		class  Class
		code   errs.Code
		check  func(t *testing.T, e *Error)
	}{
		"400 v4 validation": {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(`{"code":2,"field":"topic_type","message":"The field is required."}`))), Refused, errs.GBPInvalidArgument, func(t *testing.T, e *Error) {
			if e.Fault.Status != "INVALID_ARGUMENT" || len(e.Fault.Fields) != 1 || e.Fault.Fields[0] != (errs.GoogleField{Field: "topic_type", Argument: "post.topic_type", Code: 2, Message: "The field is required."}) {
				t.Errorf("%+v", e.Fault)
			}
		}},
		"400 v1 BadRequest": {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", `{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"callToAction.url","description":"bad"},{"description":"no field"}]}`)), Refused, errs.GBPInvalidArgument, func(t *testing.T, e *Error) {
			if len(e.Fault.Fields) != 2 || e.Fault.Fields[0].Argument != "post.call_to_action.url" || e.Fault.Fields[1].Message != "no field" {
				t.Errorf("%+v", e.Fault)
			}
		}},
		"400 v1 ErrorInfo": {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", info("STRING_TOO_LONG", `"field_mask":"summary, event.title"`))), Refused, errs.GBPInvalidArgument, func(t *testing.T, e *Error) {
			if e.Fault.Reason != "STRING_TOO_LONG" || len(e.Fault.Fields) != 2 || e.Fault.Fields[1].Argument != "post.event.title" {
				t.Errorf("%+v", e.Fault)
			}
		}},
		"400 without details":       {jsonAnswer(400, `{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}`), Refused, errs.GBPInvalidArgument, nil},
		"400 old spelling":          {jsonAnswer(400, `{"error":{"code":400,"message":"m","errors":[{"message":"m","domain":"global","reason":"badRequest"}]}}`), Refused, errs.GBPInvalidArgument, func(t *testing.T, e *Error) { wantReason(t, e, "badRequest") }},
		"400 HTML":                  {answering(400, "text/html", "<html><title>Error 400 (Bad Request)!!1</title>"), Refused, errs.Internal, nil},
		"400 photo":                 {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(`{"code":1000,"field":"media.source_url","fieldIndex":0,"message":"Failed to fetch photo."}`))), Refused, errs.GBPMediaRejected, func(t *testing.T, e *Error) { wantArgument(t, e, "post.media[0].source_url") }},
		"400 photo too large":       {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(`{"code":10,"message":"Fetched media is too large."}`))), Refused, errs.GBPMediaRejected, nil},
		"400 text too large":        {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(`{"code":10,"field":"summary","message":"Too long."}`))), Refused, errs.GBPInvalidArgument, nil},
		"400 photo and text":        {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(`{"code":1000,"message":"a"},{"code":3,"field":"summary","message":"b"}`))), Refused, errs.GBPInvalidArgument, nil},
		"400 precondition":          {jsonAnswer(400, envelope(400, "FAILED_PRECONDITION", "")), Refused, errs.GBPLocationNotVerified, nil},
		"400 posts disabled":        {jsonAnswer(400, envelope(400, "FAILED_PRECONDITION", validation(`{"code":1305,"message":"LOCATION_DISABLED_FOR_LOCAL_POST_API"}`))), Refused, errs.GBPInvalidArgument, nil},
		"403 posts disabled reason": {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", info("LOCATION_DISABLED_FOR_LOCAL_POST_API", ""))), Refused, errs.GBPInvalidArgument, func(t *testing.T, e *Error) { wantReason(t, e, "LOCATION_DISABLED_FOR_LOCAL_POST_API") }},
		"400 THROTTLED":             {jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", info("THROTTLED", ""))), Throttled, errs.GBPRateLimited, nil},
		"401":                       {jsonAnswer(401, envelope(401, "UNAUTHENTICATED", info("ACCESS_TOKEN_EXPIRED", ""))), Refused, errs.GoogleReconnectRequired, nil},
		"403":                       {jsonAnswer(403, envelope(403, "PERMISSION_DENIED", "")), Refused, errs.GBPPermissionDenied, nil},
		"403 unverified":            {jsonAnswer(403, `{"error":{"code":403,"message":"The location is not verified.","status":"PERMISSION_DENIED"}}`), Refused, errs.GBPLocationNotVerified, nil},
		"403 scope":                 {jsonAnswer(403, envelope(403, "PERMISSION_DENIED", info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", ""))), Dead, errs.GoogleReconnectRequired, nil},
		"403 API disabled": {jsonAnswer(403, envelope(403, "PERMISSION_DENIED", info("SERVICE_DISABLED", `"service":"mybusiness.googleapis.com","consumer":"projects/1"`))), Operator, errs.GBPAPIDisabled, func(t *testing.T, e *Error) {
			if e.Fault.Service != "mybusiness.googleapis.com" {
				t.Errorf("%+v", e.Fault)
			}
		}},
		"403 API disabled, old spelling": {jsonAnswer(403, `{"error":{"code":403,"message":"m","errors":[{"reason":"accessNotConfigured"}]}}`), Operator, errs.GBPAPIDisabled, nil},
		"403 rate, old spelling":         {jsonAnswer(403, `{"error":{"code":403,"message":"m","errors":[{"reason":"rateLimitExceeded"}]}}`), Throttled, errs.GBPRateLimited, nil},
		"404 JSON":                       {jsonAnswer(404, envelope(404, "NOT_FOUND", "")), Refused, errs.GBPNotFound, nil},
		"404 HTML":                       {answering(404, "text/html; charset=UTF-8", htmlPage), Refused, errs.Internal, nil},
		"404 other JSON":                 {jsonAnswer(404, `{"detail":"no route"}`), Refused, errs.Internal, nil},
		"408":                            {jsonAnswer(408, ""), Throttled, errs.GBPUnavailable, nil},
		"409":                            {jsonAnswer(409, envelope(409, "ABORTED", "")), NotSent, errs.GBPUnavailable, nil},
		"413 HTML":                       {answering(413, "text/html", "<html>too large"), Refused, errs.Internal, nil},
		"429": {jsonAnswer(429, envelope(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED", rateMeta+`"300"`))), Throttled, errs.GBPRateLimited, func(t *testing.T, e *Error) {
			if e.Quota != (Quota{Metric: "mybusiness.googleapis.com/default_requests", Limit: "DefaultRequestsPerMinutePerProject"}) {
				t.Errorf("%+v", e.Quota)
			}
		}},
		"429 quota 0": {jsonAnswer(429, envelope(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED", rateMeta+`"0"`))), Operator, errs.GBPNotApproved, func(t *testing.T, e *Error) {
			if !e.Quota.Zero {
				t.Errorf("%+v", e.Quota)
			}
		}},
		"429 quota 0 as a number": {jsonAnswer(429, envelope(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED", rateMeta+`0`))), Operator, errs.GBPNotApproved, nil},
		"429 daily": {jsonAnswer(429, envelope(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED", `"quota_limit":"UpdateLocationPerDayPerProject","quota_unit":"1/d/{project}","quota_limit_value":"10000"`))), Throttled, errs.GBPRateLimited, func(t *testing.T, e *Error) {
			if !e.Quota.Daily || e.Quota.PerLocation {
				t.Errorf("%+v", e.Quota)
			}
		}},
		"429 edits of a profile": {jsonAnswer(429, envelope(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED", `"quota_limit":"EditsPerMinutePerLocation","quota_limit_value":"10"`))), Throttled, errs.GBPRateLimited, func(t *testing.T, e *Error) {
			if !e.Quota.PerLocation || e.Quota.Daily {
				t.Errorf("%+v", e.Quota)
			}
		}},
		"429 HTML":         {answering(429, "text/html", "<html><title>Sorry...</title>"), Throttled, errs.GBPRateLimited, nil},
		"499":              {jsonAnswer(499, envelope(499, "CANCELLED", "")), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"500":              {jsonAnswer(500, envelope(500, "INTERNAL", "")), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"501":              {jsonAnswer(501, envelope(501, "UNIMPLEMENTED", "")), Refused, errs.Internal, nil},
		"502 HTML":         {answering(502, "text/html", "<html><h1>502 Bad Gateway</h1>"), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"503":              {jsonAnswer(503, envelope(503, "UNAVAILABLE", "")), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"504 empty":        {jsonAnswer(504, ""), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"200 empty":        {jsonAnswer(200, ""), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"200 broken":       {jsonAnswer(200, `{"name":"`+postName), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"200 without name": {jsonAnswer(200, `{"state":"LIVE"}`), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"200 HTML":         {answering(200, "text/html", "<html>login"), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"200 elsewhere":    {jsonAnswer(200, `{"name":"accounts/1/locations/2/localPosts/3"}`), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"200 half a name":  {jsonAnswer(200, `{"name":"`+parent+`/localPosts/"}`), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"200 huge":         {jsonAnswer(200, `{"name":"`+postName+`","summary":"`+strings.Repeat("x", maxWriteAnswer)+`"}`), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"204":              {answering(204, "", ""), Ambiguous, errs.GBPOutcomeUnknown, nil},
		"302":              {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, Ambiguous, errs.GBPOutcomeUnknown, nil},
		"307": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, Ambiguous, errs.GBPOutcomeUnknown, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, c.answer, nil)
			_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{"topicType":"STANDARD"}`))
			e := asError(t, err)
			if e.Class != c.class || e.Code != c.code || !e.Sent || e.Fault.HTTPStatus == 0 || e.Call != "localPosts.create" {
				t.Fatalf("got %s %s sent=%v status=%d: %v", e.Class, e.Code, e.Sent, e.Fault.HTTPStatus, err)
			}
			if n := len(b.requests()); n != 1 && (name != "401" || n != 2) {
				t.Errorf("%d requests", n)
			}
			public := errs.From(fmt.Errorf("creating: %w", err))
			if public.Code != c.code || public.Message.JA == "" || public.Details.Google == nil || (public.Executed == errs.ExecutedUnknown) != (c.class == Ambiguous) {
				t.Errorf("catalogued as %+v", public)
			}
			if c.check != nil {
				c.check(t, e)
			}
			if last := b.saw[len(b.saw)-1]; last.Call != "localPosts.create" || last.Status != e.Fault.HTTPStatus {
				t.Errorf("observed %+v", last)
			}
		})
	}
}

func TestHugePageOfARead(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, `{"x":"`+strings.Repeat("x", maxReadAnswer)+`"}`), nil)
	_, err := b.ListLocalPosts(t.Context(), ref, parent, 10, "")
	if e := asError(t, err); e.Class != Refused || e.Code != errs.Internal || e.Fault.HTTPStatus != 200 {
		t.Errorf("got %v", err)
	}
}

func wantReason(t *testing.T, e *Error, want string) {
	t.Helper()
	if e.Fault.Reason != want {
		t.Errorf("reason %q, want %q", e.Fault.Reason, want)
	}
}

func wantArgument(t *testing.T, e *Error, want string) {
	t.Helper()
	if len(e.Fault.Fields) == 0 || e.Fault.Fields[0].Argument != want {
		t.Errorf("fields %+v, want %q", e.Fault.Fields, want)
	}
}

// Reads have no effect to be unsure about: what is ambiguous for a write is passing trouble for a read.
func TestErrorTableOfReads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		class  Class
		code   errs.Code
	}{
		"500":       {jsonAnswer(500, envelope(500, "INTERNAL", "")), NotSent, errs.GBPUnavailable},
		"502 HTML":  {answering(502, "text/html", "<html>x"), NotSent, errs.GBPUnavailable},
		"200 HTML":  {answering(200, "text/html", "<html>x"), NotSent, errs.GBPUnavailable},
		"200 empty": {jsonAnswer(200, ""), NotSent, errs.GBPUnavailable},
		"302":       {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, NotSent, errs.GBPUnavailable},
		"403":       {jsonAnswer(403, envelope(403, "PERMISSION_DENIED", "")), Refused, errs.GBPPermissionDenied},
		"404":       {jsonAnswer(404, envelope(404, "NOT_FOUND", "")), Refused, errs.GBPNotFound},
		"404 HTML":  {answering(404, "text/html", htmlPage), Refused, errs.Internal},
		"429 zero":  {jsonAnswer(429, envelope(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED", `"quota_limit_value":"0"`))), Operator, errs.GBPNotApproved},
		"disabled":  {jsonAnswer(403, envelope(403, "PERMISSION_DENIED", info("SERVICE_DISABLED", `"service":"x.googleapis.com"`))), Operator, errs.GBPAPIDisabled},
		"401":       {jsonAnswer(401, envelope(401, "UNAUTHENTICATED", "")), Refused, errs.GoogleReconnectRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, c.answer, nil)
			_, get := b.GetLocalPost(t.Context(), ref, postName)
			_, list := b.ListLocalPosts(t.Context(), ref, parent, 10, "")
			_, accounts := b.ListAccounts(t.Context(), ref)
			_, locations := b.ListLocations(t.Context(), ref, account, nil)
			_, one := b.ReadLocation(t.Context(), ref, account, location)
			for call, err := range map[string]error{"localPosts.get": get, "localPosts.list": list, "accounts.list": accounts, "locations.list": locations, "locations.get": one} {
				if e := asError(t, err); e.Class != c.class || e.Code != c.code || e.Call != call {
					t.Errorf("%s: got %s %s: %v", call, e.Class, e.Code, err)
				}
			}
		})
	}
}

// F018: a page is a typed error with a few of its words, never a JSON parse error and never the page.
func TestF018Pages(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		htmlPage: "Error 404 (Not Found)!!1",
		`<html><head><script>var secret=1</script></head><body><h1>502</h1> Bad&nbsp;Gateway &lt;b&gt;</body>`: "502 Bad Gateway b",
		"plain text": "plain text",
		"":           "",
	} {
		b := serve(t, answering(404, "text/html", body), nil)
		_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
		e := asError(t, err)
		if got := strings.ReplaceAll(e.Fault.Message, "\u00a0", " "); got != want || strings.ContainsAny(err.Error(), "<>") || strings.Contains(err.Error(), "invalid character") {
			t.Errorf("got %q in %v", got, err)
		}
	}
}

// F020: all entries arrive, under our names, and a flood is cut.
func TestF020AllFields(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(
		`{"code":2,"field":"topic_type","message":"a"},{"code":3,"field":"call_to_action.url","message":"b"},{"code":7,"field":"event.schedule.start_date.year","message":"c"},{"code":"9","field":"unheard_of","message":"d"}`))), nil)
	_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	var got []string
	for _, f := range asError(t, err).Fault.Fields {
		got = append(got, fmt.Sprintf("%s=%s:%d:%s", f.Field, f.Argument, f.Code, f.Message))
	}
	if want := "topic_type=post.topic_type:2:a call_to_action.url=post.call_to_action.url:3:b event.schedule.start_date.year=post.event.start_date:7:c unheard_of=:9:d"; strings.Join(got, " ") != want {
		t.Errorf("got %s", got)
	}
	entry := `{"code":2,"field":"` + strings.Repeat("f", 500) + `","message":"` + strings.Repeat("あ", 500) + `"}`
	b = serve(t, jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(strings.Repeat(entry+",", 99)+entry))), nil)
	_, err = b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	total := 0
	fields := asError(t, err).Fault.Fields
	for _, f := range fields {
		total += len(f.Field) + len(f.Message)
	}
	if len(fields) == 0 || len(fields) > maxFields || total > maxFieldsText || len(err.Error()) > 500 {
		t.Errorf("%d fields of %d bytes, text of %d", len(fields), total, len(err.Error()))
	}
}

func TestPostArgument(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"summary": "post.summary", "topicType": "post.topic_type", "local_post.summary": "post.summary", "localPost.callToAction.url": "post.call_to_action.url",
		"media[2].source_url": "post.media[2].source_url", "media": "post.media", "offer.redeemOnlineUrl": "post.offer.redeem_url", "offer.terms_conditions": "post.offer.terms",
		"event.schedule": "post.event", "event.schedule.end_time.hours": "post.event.end_time", "scheduledTime": "post.scheduled_time", "": "", "x.summary": "", ".": "",
	} {
		if got := postArgument(field); got != want {
			t.Errorf("%q: got %q, want %q", field, got, want)
		}
	}
}

// F075: every spelling of Retry-After.
func TestF075RetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"3": 3 * time.Second, " 7 ": 7 * time.Second, "0": 0, "-1": 0, "99999999999": 0, "99999999999999999999999": 0, "18446744075": 0 /* wraps to a second */, "soon": 0, "": 0, "1.5": 0,
		"3600": time.Hour, "7200": time.Hour,
		now.Add(90 * time.Second).Format(http.TimeFormat):  90 * time.Second, // the clock stands at .5 s, the date has no fraction: 89.5 s, rounded up
		now.Add(-90 * time.Second).Format(http.TimeFormat): 0,
		now.Add(5 * time.Hour).Format(http.TimeFormat):     time.Hour,
		now.AddDate(3, 0, 0).Format(http.TimeFormat):       0,
	} {
		b := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			jsonAnswer(429, envelope(429, "RESOURCE_EXHAUSTED", ""))(w, r)
		}, nil)
		_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
		e := asError(t, err)
		if e.RetryAfter != want || e.Catalogued().RetryAfter != want {
			t.Errorf("%q: %v, want %v", header, e.RetryAfter, want)
		}
	}
}

// F085, F171, F150: nothing secret and nothing poisonous from a body reaches a text.
func TestF085NothingLeaks(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"message": `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"%AUTH% ya29.SECRET 1//0SECRET https://b.s3.amazonaws.com/x.jpg?X-Amz-Signature=SECRETSIG \u0000 mappy_production_SECRETSECRETSECRET_01234567"}}`,
		"fields":  `{"error":{"code":400,"message":"m","status":"ya29.SECRET","details":[{"errorDetails":[{"field":"ya29.SECRET\u0000","message":"Authorization: %AUTH% access_token=SECRET"}]},{"reason":"Bearer SECRET","metadata":{"service":"ya29.SECRET","quota_metric":"access_token=SECRET"}}]}}`,
		"page":    "<html><title>%AUTH% refresh_token=SECRET \x00\xff</title>",
	} {
		for _, status := range []int{400, 401, 403, 404, 429, 500} {
			b := serve(t, func(w http.ResponseWriter, r *http.Request) {
				answering(status, "text/html", strings.ReplaceAll(body, "%AUTH%", r.Header.Get("Authorization")))(w, r)
			}, nil)
			_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
			e := asError(t, err)
			said := fmt.Sprintf("%v %+v %+v %+v", err, e.Fault, e.Quota, *e.Catalogued().Details.Google)
			if strings.Contains(said, "SECRET") || strings.Contains(said, "opaque.t1") || strings.Contains(said, "\x00") {
				t.Errorf("%s %d: leaks in %s", name, status, said)
			}
		}
	}
}

// A token of no known shape is removed by value.
func TestEchoedTokenOfAnyShape(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tok := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		jsonAnswer(400, `{"error":{"message":"you sent `+tok+`","details":[{"fieldViolations":[{"field":"`+tok+`","description":"`+tok+`"}]}]}}`)(w, r)
	}, nil)
	_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	if e := asError(t, err); strings.Contains(fmt.Sprintf("%v %+v", e, e.Fault), "opaque.t1") || !strings.Contains(e.Fault.Message, "you sent") {
		t.Errorf("%v %+v", e, e.Fault)
	}
}

func TestTokenErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		class Class
		code  errs.Code
	}{
		"dead":       {&gtoken.Error{Class: gtoken.NeedsReconnect, Reason: "invalid_grant"}, Dead, errs.GoogleReconnectRequired},
		"transient":  {fmt.Errorf("x: %w", &gtoken.Error{Class: gtoken.Transient, Reason: "timeout"}), NotSent, errs.GBPUnavailable},
		"operator":   {&gtoken.Error{Class: gtoken.Operator, Reason: "invalid_client"}, Operator, errs.Internal},
		"catalogued": {errs.New(errs.GoogleReconnectRequired, errs.T("x", "x")), Dead, errs.GoogleReconnectRequired},
		"other":      {errors.New("x"), NotSent, errs.GBPUnavailable},
	} {
		b := serve(t, created(), nil)
		b.tokens.err = c.err
		_, write := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
		_, read := b.ListAccounts(t.Context(), ref)
		for _, err := range []error{write, read} {
			if e := asError(t, err); e.Class != c.class || e.Code != c.code || e.Sent || !errors.Is(err, c.err) {
				t.Errorf("%s: got %s %s sent=%v", name, e.Class, e.Code, e.Sent)
			}
		}
		if n := len(b.requests()); n != 0 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}
