package gbpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

const reviewName = parent + "/reviews/AbFvOq_-1"

// What is no review's name never reaches Google.
func TestReviewNamesAreChecked(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, `{}`), nil)
	for _, name := range []gbp.ReviewName{
		"", "AbFvOq", parent, parent + "/reviews/", parent + "/reviews/..", parent + "/reviews/1/reply", parent + "/reviews/1?x", parent + "/reviews/a b", parent + "/localPosts/1",
		parent + "/reviews/1\x00", parent + "/reviews/1\r\nX: y", location + "/reviews/1", "accounts//" + location + "/reviews/1", "accounts/-/" + location + "/reviews/1", parent + "/reviews/\xff",
	} {
		_, get := b.GetReview(t.Context(), ref, name)
		_, put := b.UpdateReply(t.Context(), ref, name, []byte(`{"comment":"a"}`))
		for _, err := range []error{get, put, b.DeleteReply(t.Context(), ref, name)} {
			if e := asError(t, err); e.Class != Refused || e.Code != errs.Internal || e.Sent {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for _, name := range []string{"", location, "accounts/-/" + location, parent + "\x00"} {
		if _, err := b.ListReviews(t.Context(), ref, name, 0, "", ""); asError(t, err).Sent {
			t.Errorf("%q: %v", name, err)
		}
	}
	for what, c := range map[string]struct {
		account   gbp.AccountName
		locations []gbp.LocationName
	}{
		"none":       {account, nil},
		"51":         {account, make([]gbp.LocationName, 51)},
		"a v4 name":  {account, []gbp.LocationName{parent}},
		"no account": {"", []gbp.LocationName{location}},
		"wildcard":   {"accounts/-", []gbp.LocationName{location}},
		"one is bad": {account, []gbp.LocationName{location, "locations/\x00"}},
	} {
		if _, err := b.BatchGetReviews(t.Context(), ref, c.account, c.locations, 1); asError(t, err).Class != Refused {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := b.UpdateReply(t.Context(), ref, reviewName, nil); asError(t, err).Class != Refused {
		t.Errorf("an empty body: %v", err)
	}
	if r := b.requests(); len(r) != 0 {
		t.Errorf("sent %+v", r)
	}
}

func TestReplyCalls(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			jsonAnswer(200, `{"comment":"a","updateTime":"2026-12-01T09:00:00Z","reviewReplyState":"UNDER_HUMAN_REVIEW"}`)(w, r)
		case http.MethodDelete:
			jsonAnswer(200, `{}`)(w, r)
		default:
			jsonAnswer(200, `{"name":"`+reviewName+`","starRating":"ELEVEN","reviewReply":{"comment":"a","reviewReplyState":9}}`)(w, r)
		}
	}, nil)
	body := gbp.ReplyBody("A & B <3\u2028\n「ありがとう」\t👍")
	r, err := b.UpdateReply(t.Context(), ref, reviewName, body)
	if err != nil || r.State != "UNDER_HUMAN_REVIEW" || r.Comment != "a" {
		t.Errorf("got %+v, %v", r, err)
	}
	got, err := b.GetReview(t.Context(), ref, reviewName)
	if err != nil || got.StarRating != 0 || got.Reply.State != "9" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := b.DeleteReply(t.Context(), ref, reviewName); err != nil {
		t.Error(err)
	}
	want := []string{"PUT /mybusiness.googleapis.com/v4/" + reviewName + "/reply " + string(body), "GET /mybusiness.googleapis.com/v4/" + reviewName + " ", "DELETE /mybusiness.googleapis.com/v4/" + reviewName + "/reply "}
	var sent []string
	for _, r := range b.requests() {
		sent = append(sent, r.method+" "+r.path+" "+string(r.body))
	}
	if d := cmp.Diff(want, sent); d != "" {
		t.Errorf("sent (-want +got)\n%s", d)
	}
}

// A success that does not say what was done is not taken for one, and a redirect is not followed.
func TestReplyAnswersThatProveNothing(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"empty": answering(200, "", ""), "empty object": jsonAnswer(200, `{}`), "no text": jsonAnswer(200, `{"reviewReplyState":"APPROVED"}`), "HTML": answering(200, "text/html", "<html>"),
		"cut": jsonAnswer(200, `{"comment":"a`), "redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		b := serve(t, h, nil)
		_, err := b.UpdateReply(t.Context(), ref, reviewName, []byte(`{"comment":"a"}`))
		if e := asError(t, err); e.Class != Ambiguous || e.Code != errs.GBPOutcomeUnknown || !e.Sent || e.Fault.HTTPStatus == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.GetReview(t.Context(), ref, reviewName); asError(t, err).Class != NotSent {
			t.Errorf("%s: reading gives %v", name, err)
		}
		if n := len(b.requests()); n != 2 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

func TestListReviews(t *testing.T) {
	t.Parallel()
	one := func(id string) string { return `{"name":"` + parent + `/reviews/` + id + `"}` }
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("pageToken") {
		case "":
			jsonAnswer(200, `{"reviews":[`+one("a")+`,`+one("b")+`,{"starRating":"ONE"}],"averageRating":4.2,"totalReviewCount":3,"nextPageToken":"a/b+c="}`)(w, r)
		case "a/b+c=":
			jsonAnswer(200, `{"nextPageToken":"last"}`)(w, r)
		default:
			jsonAnswer(200, `{"reviews":[`+one("b")+`,`+one("c")+`]}`)(w, r) // b moved while we read
		}
	}, nil)
	page, err := b.ListReviews(t.Context(), ref, parent, 7, "", WorstFirst)
	if err != nil || len(page.Reviews) != 2 || page.Unreadable != 1 || page.AverageRating != 4.2 || page.Total != 3 || page.NextPageToken != "a/b+c=" {
		t.Errorf("got %+v, %v", page, err)
	}
	if q, _ := url.ParseQuery(b.requests()[0].query); q.Get("pageSize") != "7" || q.Get("orderBy") != "rating" || q.Has("pageToken") {
		t.Errorf("query %v", q)
	}
	all, err := b.AllReviews(t.Context(), ref, parent, 5)
	if err != nil || len(all.Reviews) != 3 || all.Unreadable != 1 || all.Truncated {
		t.Errorf("got %+v, %v", all, err)
	}
	some, err := b.AllReviews(t.Context(), ref, parent, 1)
	if err != nil || len(some.Reviews) != 2 || !some.Truncated {
		t.Errorf("got %+v, %v", some, err)
	}
	var sizes []string
	for _, n := range []int{0, 1, 50, 51, 200, -1} {
		if _, err := b.ListReviews(t.Context(), ref, parent, n, "x", ""); err != nil {
			t.Fatal(err)
		}
		q, _ := url.ParseQuery(b.requests()[len(b.requests())-1].query)
		sizes = append(sizes, q.Get("pageSize"))
	}
	if got := strings.Join(sizes, " "); got != "50 1 50 50 50 50" {
		t.Errorf("page sizes %s", got)
	}
	turning := serve(t, jsonAnswer(200, `{"nextPageToken":"again"}`), nil)
	if l, err := turning.AllReviews(t.Context(), ref, parent, 100); err != nil || !l.Truncated || len(turning.requests()) > 3 {
		t.Errorf("a token that repeats: %+v, %v, %d requests", l, err, len(turning.requests()))
	}
	failing := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("pageToken") {
			jsonAnswer(503, envelope(503, "UNAVAILABLE", ""))(w, r)
			return
		}
		jsonAnswer(200, `{"reviews":[`+one("a")+`],"nextPageToken":"x"}`)(w, r)
	}, nil)
	if l, err := failing.AllReviews(t.Context(), ref, parent, 5); asError(t, err).Class != NotSent || len(l.Reviews) != 0 {
		t.Errorf("half a list: %+v, %v", l, err)
	}
}

func TestBatchGetReviews(t *testing.T) {
	t.Parallel()
	var bodies []string
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := len(bodies)
		jsonAnswer(200, fmt.Sprintf(`{"locationReviews":[{"name":%q,"review":{"name":"%s/reviews/r%d"}},{"review":7}],"nextPageToken":%q}`, parent, parent, n, map[int]string{0: "t1"}[n]))(w, r)
		bodies = append(bodies, "")
	}, nil)
	l, err := b.BatchGetReviews(t.Context(), ref, account, []gbp.LocationName{location, "locations/2"}, 5)
	if err != nil || len(l.Reviews) != 2 || l.Unreadable != 2 || l.Truncated {
		t.Errorf("got %+v, %v", l, err)
	}
	for i, want := range []string{`{"locationNames":["` + parent + `","` + account + `/locations/2"],"pageSize":50}`, `{"locationNames":["` + parent + `","` + account + `/locations/2"],"pageSize":50,"pageToken":"t1"}`} {
		r := b.requests()[i]
		if string(r.body) != want || r.method != http.MethodPost || r.path != "/mybusiness.googleapis.com/v4/"+account+"/locations:batchGetReviews" || !json.Valid(r.body) {
			t.Errorf("sent %s %s %s", r.method, r.path, r.body)
		}
	}
	// It is a read although it is a POST: a failure leaves nothing behind.
	away := serve(t, jsonAnswer(503, envelope(503, "UNAVAILABLE", "")), nil)
	if _, err := away.BatchGetReviews(t.Context(), ref, account, []gbp.LocationName{location}, 5); asError(t, err).Class != NotSent {
		t.Errorf("got %v", err)
	}
}

func TestReviewArgument(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{"comment": "comment", "reply.comment": "comment", "review_reply.comment": "comment", "reviewReply.comment": "comment", "": "", "name": "", "reply": "", "location_names[0]": "", "summary": ""} {
		if got := reviewArgument(field); got != want {
			t.Errorf("%q is %q, want %q", field, got, want)
		}
	}
}

// Code 10 was seen for a photo too large to fetch; without a field it must not make a picture out of a reply.
func TestTooLargeReplyIsNoPicture(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(400, envelope(400, "INVALID_ARGUMENT", validation(`{"code":10,"message":"Too large."}`))), nil)
	if _, err := b.UpdateReply(t.Context(), ref, reviewName, []byte(`{"comment":"a"}`)); asError(t, err).Code != errs.GBPInvalidArgument {
		t.Errorf("got %v", err)
	}
}
