package gbpapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// review is the n-th review of the first store: 0 is answered, 1 holds an injection, 2 is open.
func (w *world) review(n int) gbp.ReviewName {
	first := w.sim.World().Locations[0].Name
	return gbp.ReviewName(w.sim.Reviews(first)[n].Name)
}

func (w *world) reply(t *testing.T, n int, comment string) (gbp.RemoteReply, error) {
	t.Helper()
	return w.UpdateReply(t.Context(), w.mine, w.review(n), gbp.ReplyBody(comment))
}

func (w *world) stands(t *testing.T, n int) string {
	t.Helper()
	r, err := w.GetReview(t.Context(), w.mine, w.review(n))
	if err != nil {
		t.Fatal(err)
	}
	if r.Reply == nil {
		return ""
	}
	return r.Reply.Comment
}

func (w *world) order(t *testing.T, f gbpsim.Fault) {
	t.Helper()
	if _, err := w.sim.AddFault(f); err != nil {
		t.Fatal(err)
	}
}

func (w *world) replies() []gbpsim.Entry {
	return w.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteReviewsReply, Effects: true})
}

func TestSimulatorReviews(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		w := newWorld(t, gbpsim.Knobs{EmptyPages: empty})
		first := w.sim.World().Locations[0].Name
		for range 110 {
			if _, err := w.sim.PutReview(gbpsim.Review{Location: first, ID: "bulk" + strings.Repeat("x", len(w.sim.Reviews(first))), Stars: 3}); err != nil {
				t.Fatal(err)
			}
		}
		all, err := w.AllReviews(t.Context(), w.mine, w.posts, 10)
		if err != nil || len(all.Reviews) != 113 || all.Truncated || all.Unreadable != 0 {
			t.Fatalf("%d reviews, %+v, %v", len(all.Reviews), all.Truncated, err)
		}
		if l, err := w.AllReviews(t.Context(), w.mine, w.posts, 2); err != nil || !l.Truncated {
			t.Errorf("bounded: %v, %v", l.Truncated, err)
		}
		worst, err := w.ListReviews(t.Context(), w.mine, w.posts, 10, "", gbpapi.WorstFirst)
		if err != nil || !empty && (worst.Total != 113 || worst.AverageRating < 3 || worst.Reviews[0].StarRating > 3) {
			t.Errorf("got %+v, %v", worst, err)
		}
		one, err := w.GetReview(t.Context(), w.mine, all.Reviews[112].Name)
		if err != nil || one.Version() != all.Reviews[112].Version() || one.Reviewer == "" || one.CreateTime.IsZero() {
			t.Errorf("got %+v, %v", one, err)
		}
		var names []gbp.LocationName
		want := 0
		for _, l := range w.sim.World().Locations[1:51] {
			names, want = append(names, gbp.LocationName(l.Name)), want+len(w.sim.Reviews(l.Name))
		}
		batch, err := w.BatchGetReviews(t.Context(), w.mine, gbp.AccountName(gbpsim.DemoGroup), names, 20)
		if err != nil || len(batch.Reviews) != want || batch.Truncated || batch.Unreadable != 0 {
			t.Errorf("%d reviews of 50 stores, want %d, %v", len(batch.Reviews), want, err)
		}
	}
}

// F045: the limit is in bytes, and the client sends what it is given.
func TestSimulatorF045(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	_, err := w.reply(t, 2, strings.Repeat("あ", 1366))
	public := errs.From(err)
	if public.Code != errs.GBPInvalidArgument || public.Details.Google == nil || len(public.Details.Google.Fields) != 1 || public.Details.Google.Fields[0].Argument != "comment" {
		t.Errorf("got %v with %+v", err, public.Details.Google)
	}
	if len(w.replies()) != 0 {
		t.Error("it was written")
	}
	if r, err := w.reply(t, 2, strings.Repeat("あ", 1365)); err != nil || r.State != gbp.ReplyApproved || len(r.Comment) != 4095 {
		t.Errorf("got %v", err)
	}
	if e := w.replies(); len(e) != 1 || e[0].Body != string(gbp.ReplyBody(strings.Repeat("あ", 1365))) || e[0].Resource != string(w.review(2)) {
		t.Errorf("journal %+v", e)
	}
}

// F050: a review that was deleted, and a 404 for one that exists. The write's error is the same; reading tells them apart.
func TestSimulatorF050(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	w.order(t, gbpsim.Fault{Route: gbpsim.RouteReviewsReply, Count: 1, Answer: gbpsim.AnswerError, Status: 404})
	_, err := w.reply(t, 2, "a")
	if e, ok := errors.AsType[*gbpapi.Error](err); !ok || e.Class != gbpapi.Refused || e.Code != errs.GBPNotFound {
		t.Errorf("spurious: %v", err)
	}
	if w.stands(t, 2) != "" {
		t.Error("it was written")
	}
	if _, err := w.reply(t, 2, "a"); err != nil || w.stands(t, 2) != "a" {
		t.Errorf("again: %v", err)
	}
	gone := w.review(2)
	if err := w.sim.RemoveReview(gbpsim.ReviewName(gone)); err != nil {
		t.Fatal(err)
	}
	_, put := w.UpdateReply(t.Context(), w.mine, gone, gbp.ReplyBody("b"))
	_, get := w.GetReview(t.Context(), w.mine, gone)
	for _, err := range []error{put, get, w.DeleteReply(t.Context(), w.mine, gone)} {
		if errs.CodeOf(err) != errs.GBPNotFound {
			t.Errorf("deleted: %v", err)
		}
	}
}

// F051: of several reviews of one store, one answers 404 and one 403, and the others go through.
func TestSimulatorF051(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	w.order(t, gbpsim.Fault{Resource: string(w.review(0)), Answer: gbpsim.AnswerError, Status: 404, Count: 2})
	w.order(t, gbpsim.Fault{Resource: string(w.review(1)), Answer: gbpsim.AnswerError, Status: 403})
	var got []errs.Code
	for range 3 {
		for n := range 3 {
			_, err := w.reply(t, n, "a")
			got = append(got, errs.CodeOf(err))
		}
	}
	missing, denied, fine := errs.GBPNotFound, errs.GBPPermissionDenied, errs.CodeOf(nil)
	for i, want := range []errs.Code{missing, denied, fine, missing, denied, fine, fine, denied, fine} {
		if got[i] != want {
			t.Errorf("%d: got %q, want %q", i, got[i], want)
		}
	}
}

// F052: accepted is not public; the verdict comes with a later read.
func TestSimulatorF052(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{ReplyPendingSeconds: 3600})
	r, err := w.reply(t, 2, "詳しくは https://shop.example へ")
	if err != nil || r.State != gbp.ReplyPending || r.PolicyViolation != "" {
		t.Errorf("got %+v, %v", r, err)
	}
	before, err := w.GetReview(t.Context(), w.mine, w.review(2))
	if err != nil || before.Reply.State != gbp.ReplyPending {
		t.Errorf("got %+v, %v", before, err)
	}
	w.sim.Advance(time.Hour)
	after, err := w.GetReview(t.Context(), w.mine, w.review(2))
	if err != nil || after.Reply.State != gbp.ReplyRejected || after.Reply.PolicyViolation != "ADVERTISING_AND_SOLICITATION" || after.Version() != before.Version() {
		t.Errorf("got %+v, %v", after, err)
	}
	if len(w.replies()) != 1 {
		t.Error("it was sent again")
	}
}

// F053: an unverified location has an error of its own, whichever way Google says it.
func TestSimulatorF053(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 400, 403} {
		w := newWorld(t, gbpsim.Knobs{UnverifiedStatus: status})
		first := w.sim.World().Locations[0]
		first.Unverified = true
		if err := w.sim.Seed(gbpsim.World{Locations: []gbpsim.Location{first}}); err != nil {
			t.Fatal(err)
		}
		_, put := w.reply(t, 2, "a")
		_, get := w.GetReview(t.Context(), w.mine, w.review(2))
		_, list := w.AllReviews(t.Context(), w.mine, w.posts, 1)
		_, batch := w.BatchGetReviews(t.Context(), w.mine, gbp.AccountName(gbpsim.DemoGroup), []gbp.LocationName{gbp.LocationName(first.Name)}, 1)
		for i, err := range []error{put, get, list, batch, w.DeleteReply(t.Context(), w.mine, w.review(0))} {
			if e, ok := errors.AsType[*gbpapi.Error](err); !ok || e.Class != gbpapi.Refused || e.Code != errs.GBPLocationNotVerified {
				t.Errorf("%d, call %d: got %v", status, i, err)
			}
		}
		if l, err := w.ReadLocation(t.Context(), w.mine, gbp.AccountName(gbpsim.DemoGroup), gbp.LocationName(first.Name)); err != nil || l.Location.Verified {
			t.Errorf("the mirror takes it for verified: %v", err)
		}
	}
}

// F083: a reply goes out with the token of the connection that it belongs to, and no other connection sees the review.
func TestSimulatorF083Replies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	theirs, err := w.sim.PutReview(gbpsim.Review{Location: "locations/70", ID: "theirs", Stars: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.UpdateReply(t.Context(), w.other, w.review(2), gbp.ReplyBody("a")); errs.CodeOf(err) != errs.GBPNotFound {
		t.Errorf("a foreign review: %v", err)
	}
	if _, err := w.UpdateReply(t.Context(), w.other, gbp.ReviewName(theirs.Name), gbp.ReplyBody("a")); err != nil {
		t.Error(err)
	}
	if _, err := w.reply(t, 2, "a"); err != nil {
		t.Error(err)
	}
	for _, e := range w.replies() {
		if want := map[gbpsim.AccountName]string{"accounts/7": "stranger@example.com", gbpsim.DemoGroup: gbpsim.DemoEmail}[e.Account]; e.Email != want {
			t.Errorf("%s was written by %s", e.Account, e.Email)
		}
	}
}

// The error table, for the writes of reviews: what Google answers, what it means, and what stands afterwards.
func TestSimulatorReplyErrors(t *testing.T) {
	t.Parallel()
	answered := func(status int, word, reason string) gbpsim.Fault {
		return gbpsim.Fault{Answer: gbpsim.AnswerError, Status: status, Word: word, Reason: reason, Message: "no"}
	}
	host := []string{"mybusiness.googleapis.com"}
	for name, c := range map[string]struct {
		knobs gbpsim.Knobs
		fault gbpsim.Fault
		class gbpapi.Class
		code  errs.Code
		done  bool
	}{
		"400":                   {fault: answered(400, "", ""), class: gbpapi.Refused, code: errs.GBPInvalidArgument},
		"400 precondition":      {fault: answered(400, "FAILED_PRECONDITION", ""), class: gbpapi.Refused, code: errs.GBPLocationNotVerified},
		"401 twice":             {fault: answered(401, "", ""), class: gbpapi.Refused, code: errs.GoogleReconnectRequired},
		"403":                   {fault: answered(403, "", ""), class: gbpapi.Refused, code: errs.GBPPermissionDenied},
		"F019 403 API disabled": {knobs: gbpsim.Knobs{DisabledAPIs: host}, class: gbpapi.Operator, code: errs.GBPAPIDisabled},
		"403 scope":             {fault: answered(403, "", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"), class: gbpapi.Dead, code: errs.GoogleReconnectRequired},
		"404":                   {fault: answered(404, "", ""), class: gbpapi.Refused, code: errs.GBPNotFound},
		"F018 404 HTML":         {fault: gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: 404}, class: gbpapi.Refused, code: errs.Internal},
		"409":                   {fault: answered(409, "", ""), class: gbpapi.NotSent, code: errs.GBPUnavailable},
		"429 project":           {fault: answered(429, "", "RATE_LIMIT_EXCEEDED"), class: gbpapi.Throttled, code: errs.GBPRateLimited},
		"429 quota 0":           {knobs: gbpsim.Knobs{QuotaZeroAPIs: host}, class: gbpapi.Operator, code: errs.GBPNotApproved},
		"500":                   {fault: answered(500, "", ""), class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"501":                   {fault: answered(501, "", ""), class: gbpapi.Refused, code: errs.Internal},
		"502 HTML":              {fault: gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: 502}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"503":                   {fault: answered(503, "", ""), class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"commit then 503":       {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Effect: gbpsim.EffectCommit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, done: true},
		"504":                   {fault: answered(504, "", ""), class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"reset":                 {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"commit then reset":     {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, done: true},
		"revoked grant":         {fault: gbpsim.Fault{Revoke: true}, class: gbpapi.Dead, code: errs.GoogleReconnectRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, route := range []gbpsim.Route{gbpsim.RouteReviewsReply, gbpsim.RouteReviewsUnreply} {
				w := newWorld(t, c.knobs)
				if c.fault.Answer != "" || c.fault.Revoke {
					f := c.fault
					f.Route = route
					w.order(t, f)
				}
				was := w.sim.Reviews(w.sim.World().Locations[0].Name)[0].Reply.Comment
				var err error
				if route == gbpsim.RouteReviewsReply {
					_, err = w.reply(t, 0, "新しい返信")
				} else {
					err = w.DeleteReply(t.Context(), w.mine, w.review(0))
				}
				if e, ok := errors.AsType[*gbpapi.Error](err); !ok || e.Class != c.class || e.Code != c.code {
					t.Errorf("%s: got %v", route, err)
				}
				after := w.sim.Reviews(w.sim.World().Locations[0].Name)[0].Reply
				if done := after == nil || after.Comment != was; done != c.done {
					t.Errorf("%s: done %v, want %v", route, done, c.done)
				}
			}
		})
	}
}

// An answer that never comes, while the caller goes away: the write is finished or unknown, never aborted half way.
func TestSimulatorSlowReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	id, err := w.sim.AddFault(gbpsim.Fault{Route: gbpsim.RouteReviewsReply, Hold: gbpsim.HoldAfter})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	name, done := w.review(2), make(chan error, 1)
	go func() {
		_, err := w.UpdateReply(ctx, w.mine, name, gbp.ReplyBody("a"))
		done <- err
	}()
	if err := w.sim.AwaitHeld(t.Context(), id, 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.sim.Release(id); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("a finished write came back as %v", err)
	}
	if w.stands(t, 2) != "a" {
		t.Error("it does not stand")
	}
}

// What the idempotency table says of replies: again is the same end state, and reading tells what an unknown outcome was.
func TestSimulatorRepliesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{NoReplyStatus: 200})
	for range 2 {
		if _, err := w.reply(t, 2, "a"); err != nil || w.stands(t, 2) != "a" {
			t.Errorf("reply: %v", err)
		}
	}
	w.order(t, gbpsim.Fault{Route: gbpsim.RouteReviewsReply, Count: 1, Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit})
	if _, err := w.reply(t, 2, "b\r\n"); errs.CodeOf(err) != errs.GBPOutcomeUnknown {
		t.Errorf("got %v", err)
	}
	if r, err := w.GetReview(t.Context(), w.mine, w.review(2)); err != nil || !r.Says("b") || r.Says("a") {
		t.Errorf("got %+v, %v", r, err)
	}
	// A human answers in between: what stands is not ours.
	if err := w.sim.ChangeReview(gbpsim.ReviewName(w.review(2)), func(r *gbpsim.Review) { r.Reply.Comment = "店長より" }); err != nil {
		t.Fatal(err)
	}
	if r, err := w.GetReview(t.Context(), w.mine, w.review(2)); err != nil || r.Says("b") {
		t.Errorf("got %+v, %v", r, err)
	}
	for range 2 {
		if err := w.DeleteReply(t.Context(), w.mine, w.review(2)); err != nil || w.stands(t, 2) != "" {
			t.Errorf("delete: %v", err)
		}
	}
	if err := w.sim.SetKnobs(gbpsim.Knobs{}); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteReply(t.Context(), w.mine, w.review(2)); errs.CodeOf(err) != errs.GBPNotFound {
		t.Errorf("nothing to delete: %v", err)
	}
}

// The edits of a location are one budget, whatever is edited.
func TestSimulatorReplyEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{EditsPerMinute: 2})
	if _, err := w.create(t); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reply(t, 2, "a"); err != nil {
		t.Fatal(err)
	}
	_, err := w.reply(t, 2, "b")
	if e, ok := errors.AsType[*gbpapi.Error](err); !ok || e.Class != gbpapi.Throttled || !e.Quota.PerLocation {
		t.Errorf("got %v", err)
	}
	w.sim.Advance(time.Minute)
	if err := w.DeleteReply(t.Context(), w.mine, w.review(2)); err != nil {
		t.Error(err)
	}
}
