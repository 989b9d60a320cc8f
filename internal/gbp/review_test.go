package gbp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

const reviewName = "accounts/118063792240987654323/locations/1234567890123456789/reviews/AbFvOq_-1"

func parsed(t *testing.T, fields string) gbp.RemoteReview {
	t.Helper()
	r, err := gbp.ParseRemoteReview(json.RawMessage(`{"name":"` + reviewName + `"` + fields + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseRemoteReview(t *testing.T) {
	t.Parallel()
	const fields = `,"reviewId":"AbFvOq_-1","reviewer":{"displayName":"佐藤","profilePhotoUrl":"https://a.example/p","isAnonymous":true},"starRating":"FOUR","comment":"A & B",` +
		`"createTime":"2026-11-01T02:03:04.123456Z","updateTime":"2026-11-02T02:03:04Z","reviewMediaItems":[{"thumbnailUrl":"u"}],"later":{"x":1},` +
		`"reviewReply":{"comment":"ありがとう","updateTime":"2026-11-03T00:00:00Z","reviewReplyState":"REJECTED","policyViolation":"OFF_TOPIC"}`
	want := gbp.RemoteReview{
		Name: reviewName, Reviewer: "佐藤", Anonymous: true, StarRating: 4, Comment: "A & B",
		CreateTime: time.Date(2026, 11, 1, 2, 3, 4, 123456000, time.UTC), UpdateTime: time.Date(2026, 11, 2, 2, 3, 4, 0, time.UTC),
		Reply: &gbp.RemoteReply{Comment: "ありがとう", UpdateTime: time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), State: gbp.ReplyRejected, PolicyViolation: "OFF_TOPIC"},
		Raw:   json.RawMessage(`{"name":"` + reviewName + `"` + fields + `}`),
	}
	if d := cmp.Diff(want, parsed(t, fields)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	bare := parsed(t, "")
	if bare.Reply != nil || bare.StarRating != 0 || bare.Comment != "" || bare.Name.Account() != "accounts/118063792240987654323" || bare.Name.Location() != "locations/1234567890123456789" {
		t.Errorf("bare: %+v", bare)
	}
	// Values that came after this program: words, and numbers where Google's JSON knows no word.
	later := parsed(t, `,"starRating":"SIX","reviewReply":{"comment":"x","reviewReplyState":"UNDER_HUMAN_REVIEW","policyViolation":77}`)
	if later.StarRating != 0 || later.Reply.State != "UNDER_HUMAN_REVIEW" || later.Reply.PolicyViolation != "77" || !strings.Contains(string(later.Raw), "SIX") {
		t.Errorf("later: %+v", later)
	}
	if r := parsed(t, `,"reviewReply":{}`); r.Reply != nil {
		t.Errorf("an empty reply is one: %+v", r.Reply)
	}
	for i, stars := range []string{"STAR_RATING_UNSPECIFIED", "ONE", "TWO", "THREE", "FOUR", "FIVE"} {
		if r := parsed(t, `,"starRating":"`+stars+`"`); r.StarRating != i {
			t.Errorf("%s is %d", stars, r.StarRating)
		}
	}
	for _, bad := range []string{"", "[]", `{}`, `{"name":7}`, `{"name":"locations/1/reviews/2"}`, `{"name":"accounts/1/locations/2/reviews/"}`, `{"name":"` + reviewName + `","comment":7}`, `{"name":"` + reviewName + `","createTime":"yesterday"}`} {
		if r, err := gbp.ParseRemoteReview(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was read as %+v", bad, r)
		}
	}
}

func TestReviewNames(t *testing.T) {
	t.Parallel()
	if !gbp.ReviewName(reviewName).Valid() {
		t.Errorf("%s is not valid", reviewName)
	}
	for _, n := range []gbp.ReviewName{
		"", "x", "accounts/1/locations/2", "accounts/1/locations/2/localPosts/3", "accounts/1/locations/2/reviews/", "accounts//locations/2/reviews/3", "accounts/1/locations//reviews/3",
		"accounts/1/locations/2/reviews/..", "accounts/1/locations/2/reviews/3/reply", "accounts/1/locations/2/reviews/3?x", "accounts/1/locations/2/reviews/a b",
		"accounts/1/locations/2/reviews/a\x00", "accounts/1/locations/2/reviews/a\n", "accounts/1/locations/2\x7f/reviews/a", "accounts/1/locations/2/reviews/\xff", "accounts/1/locations/2/reviews/%2e%2e",
	} {
		if n.Valid() {
			t.Errorf("%q is valid", n)
		}
	}
	for _, n := range []gbp.PostName{"accounts/1/locations/2/localPosts/3\x00", "accounts/1\x00/locations/2/localPosts/3", "accounts/1/locations/2/localPosts/3\u0085", "accounts/1/locations/2/reviews/3"} {
		if n.Valid() {
			t.Errorf("%q is valid", n)
		}
	}
	if _, _, err := gbp.ParseLocationName("locations/1\x00"); err == nil {
		t.Error("a location's name with NUL was taken")
	}
}

// Whatever a person who answers has read changes the version, and nothing else does.
func TestReviewVersion(t *testing.T) {
	t.Parallel()
	base := parsed(t, `,"starRating":"FOUR","comment":"よい","reviewReply":{"comment":"a","reviewReplyState":"PENDING"}`).Version()
	for fields, same := range map[string]bool{
		`,"starRating":"FOUR","comment":"よい","reviewReply":{"comment":"a","reviewReplyState":"PENDING"}`:                                              true,
		`,"starRating":"FOUR","comment":"よい\r\n","reviewReply":{"comment":"a","reviewReplyState":"REJECTED","policyViolation":"X"},"updateTime":null`: true,
		`,"starRating":"FIVE","comment":"よい","reviewReply":{"comment":"a"}`:                                                                           false,
		`,"starRating":"FOUR","comment":"わるい","reviewReply":{"comment":"a"}`:                                                                          false,
		`,"starRating":"FOUR","comment":"よい","reviewReply":{"comment":"b"}`:                                                                           false,
		`,"starRating":"FOUR","comment":"よい"`:                                                                                                         false,
		`,"starRating":"SIX","comment":"よい","reviewReply":{"comment":"a"}`:                                                                            false,
	} {
		if got := parsed(t, fields).Version(); (got == base) != same || len(got) != 32 {
			t.Errorf("%s: %s beside %s", fields, got, base)
		}
	}
	if parsed(t, `,"starRating":"SIX"`).Version() == parsed(t, `,"starRating":"SEVEN"`).Version() {
		t.Error("two unknown ratings have one version")
	}
	if parsed(t, `,"comment":"a"`).Version() == parsed(t, `,"reviewReply":{"comment":"a"}`).Version() {
		t.Error("a review and a reply have one version")
	}
}

func TestReviewSays(t *testing.T) {
	t.Parallel()
	r := parsed(t, `,"reviewReply":{"comment":"a\r\nb "}`)
	if !r.Says("a\nb") || r.Says("a b") || parsed(t, "").Says("") {
		t.Error("the standing reply is not recognised")
	}
}

func TestParseRemoteReply(t *testing.T) {
	t.Parallel()
	r, err := gbp.ParseRemoteReply(json.RawMessage(`{"comment":"a","updateTime":"2026-11-03T00:00:00Z","reviewReplyState":"PENDING"}`))
	if err != nil || r.State != gbp.ReplyPending || r.Comment != "a" || r.UpdateTime.IsZero() {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{"", "null", "{}", "[]", `{"comment":""}`, `{"comment":7}`, `{"reviewReplyState":"APPROVED"}`} {
		if r, err := gbp.ParseRemoteReply(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was read as %+v", bad, r)
		}
	}
}

func FuzzParseRemoteReview(f *testing.F) {
	for _, s := range []string{`{}`, `{"name":"` + reviewName + `"}`, `{"name":"` + reviewName + `","starRating":5,"reviewReply":null}`, `{"name":"` + reviewName + `","reviewReply":{"reviewReplyState":[]}}`, "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := gbp.ParseRemoteReview(json.RawMessage(s))
		if err != nil {
			return
		}
		if !r.Name.Valid() || r.Name.Location() == "" || r.StarRating < 0 || r.StarRating > 5 || string(r.Raw) != s || r.Version() == "" {
			t.Fatalf("%+v", r)
		}
	})
}
