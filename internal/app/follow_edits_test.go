package app_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// followed waits until nothing of a batch is followed any longer.
func (d *desk) followed(id batch.ID) {
	d.t.Helper()
	d.await(func() bool {
		return d.count(`SELECT count(*) FROM mappy.item WHERE batch_id = $1 AND (follow_at IS NOT NULL OR follows = 0)`, id) == 0
	}, "the end of following")
}

// A reply that was deleted is deleted, also when another one is written before anybody has looked: by our undo, in the same
// words, or by somebody in Google's own app.
func TestFollowDeletedReplyThatWasWrittenAnew(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	put := func(i int) gbpsim.Review {
		return gbpsim.Review{Location: place(d.Stack, i), Reply: answered("ありがとうございました。")}
	}
	deleted := d.reviews(put(0), put(1))
	var deletions []batch.ID
	for i, anew := range []func(r reviewed, deletion batch.ID){
		func(_ reviewed, deletion batch.ID) { d.done("batch.undo", stack.Args{"batch_id": deletion}) },
		func(r reviewed, _ batch.ID) {
			d.changeReview(r.name, func(x *gbpsim.Review) {
				x.Reply = &gbpsim.ReviewReply{Comment: "またのご来店をお待ちしております。"}
			})
		},
	} {
		deletion := d.done("review.delete_reply", stack.Args{"review_id": deleted[i].ReviewID}).BatchID
		anew(deleted[i], deletion)
		deletions = append(deletions, deletion)
	}
	for i, id := range deletions {
		d.followed(id)
		if v := d.Finish(string(id)); v.Status != batch.Done || v.Items[0].State != batch.ItemSucceeded || v.Items[0].Publication != batch.Deleted || v.Items[0].Executed != errs.ExecutedYes {
			t.Errorf("deletion %d: %+v", i, v.Items)
		}
	}
	d.countersMatch()
}

// A reply under review that somebody replaces in Google's own app is no longer there, after several looks that say so. The review is:
// it can be answered again, and an undo leaves what stands there now alone.
func TestFollowReplyThatSomebodyReplaced(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	r := d.reviews(gbpsim.Review{})[0]
	d.fault(gbpsim.Fault{Route: gbpsim.RouteReviewsReply, State: "PENDING", Count: 1})
	sent := d.done("review.reply", reply(r.ReviewID, "ありがとうございました。"))
	if sent.Items[0].Publication != batch.PendingReview {
		t.Fatalf("%+v", sent.Items)
	}
	d.changeReview(r.name, func(x *gbpsim.Review) {
		x.Reply = &gbpsim.ReviewReply{Comment: "またのご来店をお待ちしております。"}
	})
	d.followed(sent.BatchID)
	v := d.Finish(string(sent.BatchID))
	if i := v.Items[0]; v.Status != batch.Done || i.Publication != batch.Deleted || i.Executed != errs.ExecutedYes {
		t.Errorf("%+v", i)
	}
	if n := d.count(`SELECT follows FROM mappy.item WHERE batch_id = $1`, sent.BatchID); n < d.Config.Worker.Attempts {
		t.Errorf("believed after %d looks", n)
	}
	if n := d.count(`SELECT count(*) FROM mappy.resource WHERE resource_id = $1 AND deleted_at IS NULL AND snapshot #>> '{reviewReply,comment}' = 'またのご来店をお待ちしております。'`, r.ReviewID); n != 1 {
		t.Error("our row says that the review is gone, or has another reply")
	}
	if a := d.call("batch.undo", stack.Args{"batch_id": sent.BatchID}); a.ErrorCode != errs.NothingToUndo {
		t.Errorf("an undo of what somebody replaced: %s", a.Text)
	}
	if again := d.again(r.ReviewID); again.Reply == nil || again.Reply.Comment != "またのご来店をお待ちしております。" {
		t.Errorf("%+v", again)
	}
	if v := d.done("review.reply", reply(r.ReviewID, "いつもありがとうございます。").With("replace_existing", true)); v.Status != batch.Done || d.replyOf(r.name) != "いつもありがとうございます。" {
		t.Errorf("%+v", v)
	}
	d.countersMatch()
}

// A store that Google does not show us any more, because access to it ended, tells nothing about an edit of it.
func TestFollowStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, Sim: func(o *gbpsim.Options) { o.Knobs.EditPendingSeconds = 86400 }})
	v := d.done("location.update", one(d.change(0, labelled("first"))))
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocationsGetGoogleUpdated, Answer: gbpsim.AnswerError, Status: 404})
	d.followed(v.BatchID)
	if got := d.Finish(string(v.BatchID)); got.Status != batch.Done || got.Items[0].Publication != v.Items[0].Publication || v.Items[0].Publication != batch.PendingReview {
		t.Errorf("%+v", got.Items)
	}
	d.countersMatch()
}

// A photo that we deleted ourselves is gone at the first look; Google's two days until a photo shows are not waited for.
func TestFollowPhotoThatWeDeleted(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	added := d.done("media.upload", upload(d.IDs(1), item("https://www.example.com/front.jpg", "EXTERIOR")))
	d.done("batch.undo", stack.Args{"batch_id": added.BatchID})
	d.followed(added.BatchID)
	if v := d.Finish(string(added.BatchID)); v.Status != batch.Done || v.Items[0].Publication != batch.Deleted {
		t.Errorf("%+v", v.Items)
	}
	d.countersMatch()
}

// There is no reply to delete when the deletion is accepted, and one is on its way: the deletion does not say that it is done
// while a reply stands there in the end.
func TestDeletionOfAReplyThatIsOnItsWay(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, NoWorkers: true})
	r := d.reviews(gbpsim.Review{})[0]
	sent := d.accepted("review.reply", reply(r.ReviewID, "ありがとうございました。"))
	deletion := d.accepted("review.delete_reply", stack.Args{"review_id": r.ReviewID})
	d.Work()
	if v := d.Finish(string(sent.BatchID)); v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	v := d.Finish(string(deletion.BatchID))
	if i := v.Items[0]; i.State != batch.ItemFailed || i.ErrorCode != errs.VersionConflict || i.Executed != errs.ExecutedNo || d.replyOf(r.name) == "" {
		t.Errorf("%+v", i)
	}
	d.countersMatch()
}
