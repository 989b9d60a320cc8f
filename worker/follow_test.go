package worker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// followed is an executor of any operation whose effects are seen as scripted.
type followed struct {
	*rig
	operation string
	sees      worker.Effect
	err       error
	patience  time.Duration
}

func (f followed) Operation() string { return f.operation }

func (f followed) Follow(context.Context, authn.TenantID, batch.Item) (worker.Effect, error) {
	return f.sees, f.err
}

func (f followed) Patience(batch.Item) time.Duration { return f.patience }

// What becomes of an accepted item by one more look at Google, given how many odd looks there were before.
func TestFollowed(t *testing.T) {
	t.Parallel()
	notFound := failure(gbpapi.Refused, errs.GBPNotFound)
	replaced := worker.Effect{Publication: batch.Deleted, Doubtful: true, Version: "theirs", After: []byte(`{"theirs":true}`)}
	reverted := worker.Effect{Publication: batch.Rejected, Rejection: "REVERTED", Doubtful: true}
	for name, c := range map[string]struct {
		operation string
		kind      gbp.Kind
		pub       batch.Publication
		looks     int
		gone      bool
		sees      worker.Effect
		err       *gbpapi.Error
		patience  time.Duration
		// what is recorded
		state  batch.ItemState
		is     batch.Publication
		target bool
		again  bool
		odd    int
	}{
		"a reply is pending":                      {operation: "review.reply", kind: gbp.KindReview, pub: batch.PendingReview, sees: worker.Effect{Publication: batch.PendingReview}, again: true},
		"a reply reads as another one":            {operation: "review.reply", kind: gbp.KindReview, pub: batch.PendingReview, sees: replaced, again: true, odd: 1},
		"a reply is another one":                  {operation: "review.reply", kind: gbp.KindReview, pub: batch.PendingReview, looks: 3, sees: replaced, state: batch.ItemSucceeded, is: batch.Deleted},
		"a replaced reply says our text":          {operation: "review.reply", kind: gbp.KindReview, pub: batch.Deleted, looks: 4, sees: worker.Effect{Publication: batch.Live}, state: batch.ItemSucceeded, is: batch.Live},
		"a review is not found":                   {operation: "review.reply", kind: gbp.KindReview, pub: batch.PendingReview, err: notFound, again: true, odd: 1},
		"a review is gone":                        {operation: "review.reply", kind: gbp.KindReview, pub: batch.PendingReview, looks: 3, err: notFound, state: batch.ItemSucceeded, is: batch.Deleted, target: true},
		"a reply is deleted":                      {operation: "review.delete_reply", kind: gbp.KindReview, pub: batch.Deleted, sees: worker.Effect{Publication: batch.Deleted}},
		"a deleted reply still shows":             {operation: "review.delete_reply", kind: gbp.KindReview, pub: batch.Deleted, sees: worker.Effect{Publication: batch.Live}, again: true},
		"a post is deleted":                       {operation: "post.delete", kind: gbp.KindPost, pub: batch.Deleted, err: notFound},
		"a post is not found":                     {operation: "post.create", kind: gbp.KindPost, pub: batch.PendingReview, looks: 2, err: notFound, again: true, odd: 3},
		"a post is gone":                          {operation: "post.create", kind: gbp.KindPost, pub: batch.PendingReview, looks: 3, err: notFound, state: batch.ItemSucceeded, is: batch.Deleted, target: true},
		"a post that we deleted":                  {operation: "post.create", kind: gbp.KindPost, pub: batch.PendingReview, gone: true, err: notFound, state: batch.ItemSucceeded, is: batch.Deleted, target: true},
		"a photo does not show yet":               {operation: "media.upload", kind: gbp.KindMedia, pub: batch.Accepted, looks: 9, err: notFound, patience: time.Hour, again: true, odd: 10},
		"a store reads old":                       {operation: "location.update", kind: gbp.KindLocation, pub: batch.Accepted, sees: reverted, again: true, odd: 1},
		"a store stays old":                       {operation: "location.update", kind: gbp.KindLocation, pub: batch.Accepted, looks: 3, sees: reverted, state: batch.ItemFailed, is: batch.Rejected},
		"attributes read old for days":            {operation: "location.update", kind: gbp.KindLocation, pub: batch.Accepted, looks: 9, sees: reverted, patience: 72 * time.Hour, again: true, odd: 10},
		"google shows its own version of a store": {operation: "location.update", kind: gbp.KindLocation, pub: batch.PendingReview, sees: worker.Effect{Publication: batch.Rejected}, state: batch.ItemFailed, is: batch.Rejected},
		"a store is not found":                    {operation: "location.update", kind: gbp.KindLocation, pub: batch.Accepted, err: notFound, again: true, odd: 1},
		"a store cannot be read any more":         {operation: "location.update", kind: gbp.KindLocation, pub: batch.Accepted, looks: 3, err: notFound},
	} {
		r := newRig()
		x := followed{rig: r, operation: c.operation, sees: c.sees, patience: c.patience}
		if c.err != nil {
			x.err = c.err
		}
		r.due = []worker.Due{{
			Item: batch.Item{Operation: c.operation, Kind: c.kind, State: batch.ItemSucceeded, Publication: c.pub, TargetName: "x", FinishedAt: r.now},
			// other looks, which found what they should, prove nothing about this one
			Follows: 20, Attempt: batch.Attempt{ID: 1, Looks: c.looks}, Gone: c.gone,
		}}
		if c.operation == "review.delete_reply" {
			r.due[0].Follows = 0
		}
		w := worker.NewItemWorker(worker.Deps{
			Store: r, Slots: r, Executors: []worker.Executor{x}, Windows: worker.Windows{Call: time.Second, Follow: time.Minute}, Attempts: 4,
			Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler),
		})
		if err := w.Follow(t.Context(), "komorebi"); err != nil || len(r.settled) != 1 {
			t.Fatalf("%s: %v, %+v", name, err, r.settled)
		}
		o := r.settled[0]
		if o.State != c.state || c.state != "" && o.Publication != c.is || o.Gone != c.target || (o.Follow > 0) != c.again || o.Looks != c.odd {
			t.Errorf("%s: %+v", name, o)
		}
		if c.is == batch.Deleted && (o.Version != "" || o.After != nil) { // what somebody else wrote is not what the item left
			t.Errorf("%s: %+v", name, o)
		}
	}
}
