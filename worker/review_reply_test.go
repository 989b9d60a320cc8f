package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/worker"
)

const reviewHead = `{"name":"accounts/1/locations/2/reviews/3","starRating":"ONE","comment":"a stranger's words"`

// reviewsOf is a Google with one review.
type reviewsOf struct {
	review string
	reply  gbp.RemoteReply
	err    error
	sent   []byte
	at     gbp.ReviewName
	ref    gbpapi.Ref
}

func (g *reviewsOf) GetReview(_ context.Context, _ gbpapi.Ref, name gbp.ReviewName) (gbp.RemoteReview, error) {
	g.at = name
	if g.err != nil {
		return gbp.RemoteReview{}, g.err
	}
	return gbp.ParseRemoteReview([]byte(g.review))
}

func (g *reviewsOf) UpdateReply(_ context.Context, ref gbpapi.Ref, name gbp.ReviewName, body []byte) (gbp.RemoteReply, error) {
	g.ref, g.at, g.sent = ref, name, body
	return g.reply, g.err
}

func (g *reviewsOf) DeleteReply(_ context.Context, ref gbpapi.Ref, name gbp.ReviewName) error {
	g.ref, g.at = ref, name
	return g.err
}

func replyItem() batch.Item {
	return batch.Item{Connection: "google", Kind: gbp.KindReview, TargetName: "accounts/1/locations/2/reviews/3", Payload: []byte(`{"comment":"<Thanks> & bye"}`), Before: []byte(reviewHead + `}`)}
}

var (
	_ worker.Editor = worker.ReviewReply{}
	_ worker.Editor = worker.ReviewDeleteReply{}
)

func TestReviewReplySends(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]batch.Publication{"APPROVED": batch.Live, "PENDING": batch.PendingReview, "REJECTED": batch.Rejected, "": batch.Accepted, "NEW_WORD": batch.Accepted} {
		g := &reviewsOf{reply: gbp.RemoteReply{Comment: "<Thanks> & bye", State: state, PolicyViolation: "OFF_TOPIC"}}
		e, err := worker.ReviewReply{Google: g}.Send(t.Context(), "komorebi", replyItem())
		if err != nil || string(g.sent) != `{"comment":"<Thanks> & bye"}` || g.at != "accounts/1/locations/2/reviews/3" || g.ref != (gbpapi.Ref{Tenant: "komorebi", Connection: "google"}) {
			t.Fatalf("sent %s to %s for %+v, %v", g.sent, g.at, g.ref, err)
		}
		after, err := gbp.ParseRemoteReview(e.After)
		if err != nil || e.Publication != want || e.Name != "accounts/1/locations/2/reviews/3" || e.Version != after.Version() || !after.Says("<Thanks> & bye") || after.Comment != "a stranger's words" {
			t.Errorf("%s: %v, %+v", state, err, e)
		}
		if (e.Rejection == "OFF_TOPIC") != (want == batch.Rejected) || strings.Contains(string(e.AuditAfter), "stranger") || !strings.Contains(string(e.AuditAfter), "Thanks") {
			t.Errorf("%s: %q, %s", state, e.Rejection, e.AuditAfter)
		}
	}
	// A copy that cannot be read is left as it is: nothing claims that the review is gone.
	for _, before := range []string{"", `{"unreadable":true}`} {
		i := replyItem()
		i.Before = []byte(before)
		for _, x := range []worker.Executor{worker.ReviewReply{Google: &reviewsOf{}}, worker.ReviewDeleteReply{Google: &reviewsOf{}}} {
			if e, err := x.Send(t.Context(), "komorebi", i); err != nil || e.After != nil || e.Publication != batch.Accepted || e.Name != i.TargetName {
				t.Errorf("%s: %v, %+v", x.Operation(), err, e)
			}
		}
	}
}

func TestReviewDeleteReplySends(t *testing.T) {
	t.Parallel()
	i := replyItem()
	i.Before = []byte(reviewHead + `,"reviewReply":{"comment":"old"}}`)
	g := &reviewsOf{}
	e, err := worker.ReviewDeleteReply{Google: g}.Send(t.Context(), "komorebi", i)
	after, parseErr := gbp.ParseRemoteReview(e.After)
	if err != nil || parseErr != nil || g.at != "accounts/1/locations/2/reviews/3" || e.Publication != batch.Deleted || after.Reply != nil || after.Comment == "" || e.Version != after.Version() || e.AuditAfter != nil {
		t.Errorf("%v, %+v", err, e)
	}
	failed := errors.New("google")
	if _, err := (worker.ReviewDeleteReply{Google: &reviewsOf{err: failed}}).Send(t.Context(), "komorebi", i); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

// What counts as done, before the first attempt and after one.
func TestReviewLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of    func(*reviewsOf) worker.Editor
		reply string
		tried bool
		done  bool
	}{
		"no reply yet":              {wantsReply, ``, false, false},
		"another reply":             {wantsReply, `,"reviewReply":{"comment":"Other"}`, true, false},
		"the text":                  {wantsReply, `,"reviewReply":{"comment":"<Thanks> & bye\r\n","reviewReplyState":"PENDING"}`, false, true},
		"the text, rejected before": {wantsReply, `,"reviewReply":{"comment":"<Thanks> & bye","reviewReplyState":"REJECTED"}`, false, false},
		"the text, rejected of us":  {wantsReply, `,"reviewReply":{"comment":"<Thanks> & bye","reviewReplyState":"REJECTED"}`, true, true},
		"deletion: a reply":         {wantsNone, `,"reviewReply":{"comment":"x"}`, true, false},
		"deletion: none":            {wantsNone, ``, false, true},
		"deletion: an empty one":    {wantsNone, `,"reviewReply":{}`, false, true},
	} {
		i := replyItem()
		i.Tried = c.tried
		g := &reviewsOf{review: reviewHead + c.reply + `}`}
		s, err := c.of(g).Look(t.Context(), "komorebi", i)
		if err != nil || s.Done != c.done || string(s.Before) != g.review || s.Version == "" || s.Version != s.Effect.Version || string(s.Effect.After) != g.review || strings.Contains(string(s.AuditBefore), "stranger") {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
	failed := errors.New("google")
	for _, x := range []worker.Editor{wantsReply(&reviewsOf{err: failed}), wantsNone(&reviewsOf{err: failed})} {
		if _, err := x.Look(t.Context(), "komorebi", replyItem()); !errors.Is(err, failed) {
			t.Errorf("%v", err)
		}
	}
	i := replyItem()
	i.Payload = []byte("no JSON")
	if _, err := wantsReply(&reviewsOf{}).Look(t.Context(), "komorebi", i); err == nil {
		t.Error("a payload that is no JSON was read")
	}
}

func wantsReply(g *reviewsOf) worker.Editor {
	return worker.ReviewReply{Google: g}
}

func wantsNone(g *reviewsOf) worker.Editor {
	return worker.ReviewDeleteReply{Google: g}
}
