package app_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// After a worker's VERSION_CONFLICT the next reading shows what stands in the way, whatever was kept of an earlier one, and a
// write that names that version goes through.
func TestConflictIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("review", func(t *testing.T) {
		t.Parallel()
		d := quiet(t)
		r := d.reviews(gbpsim.Review{ID: "conflict", Comment: "great"})[0]
		args := stack.Args{"location_ids": d.IDs(1)}
		d.allReviews(args) // kept from here on
		b := d.Accept("review.reply", reply(r.ReviewID, "Ours"))
		d.changeReview(r.name, func(r *gbpsim.Review) { r.Comment = "On second thoughts: bad" })
		d.Work()
		i := d.one(b)
		if i.ErrorCode != errs.VersionConflict {
			t.Fatalf("%+v", i)
		}
		lists := len(d.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteReviewsList}))
		for _, seen := range d.allReviews(args) {
			if seen.ReviewID == r.ReviewID && (seen.Version != i.Version || seen.Version == r.Version || seen.Text != "On second thoughts: bad") {
				t.Errorf("%+v after %+v", seen, i)
			}
		}
		if got := stack.Into[tools.ReviewDetail](t, d.call("review.get", stack.Args{"review_id": r.ReviewID})); got.Version != i.Version {
			t.Errorf("%+v", got)
		}
		if n := len(d.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteReviewsList})); n != lists {
			t.Errorf("%d more readings", n-lists)
		}
		again := d.one(d.Accept("review.reply", reply(r.ReviewID, "Sorry").With("expected_version", i.Version)))
		if again.State != batch.ItemSucceeded || d.replyOf(r.name) != "Sorry" {
			t.Errorf("%+v", again)
		}
	})
	t.Run("post", func(t *testing.T) {
		t.Parallel()
		d := openDesk(t, stack.Options{Stores: 2})
		made := d.made(1, "Old words").Items[0]
		args := stack.Args{"location_ids": d.IDs(1)}
		list := func() tools.Post {
			p := stack.Into[tools.PostPage](t, d.call("post.list", args))
			if len(p.Posts) != 1 {
				t.Fatalf("%+v", p)
			}
			return p.Posts[0]
		}
		kept := list()
		theirs := "Their words"
		if err := d.Sim.ChangePost(gbpsim.PostChange{Name: d.Sim.Posts("")[0].Name, Summary: &theirs}); err != nil {
			t.Fatal(err)
		}
		v := d.done("post.update", postArgs(made.Target.ID, kept.Version, stack.Args{"summary": "New words"}))
		if v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.VersionConflict {
			t.Fatalf("%+v", v)
		}
		now := list()
		if now.Version == kept.Version || now.Content.Summary != theirs {
			t.Errorf("%+v", now)
		}
		v = d.done("post.update", postArgs(made.Target.ID, now.Version, stack.Args{"summary": "New words"}))
		if v.Status != batch.Done {
			t.Errorf("%+v", v)
		}
	})
}
