package tools

import (
	"encoding/json"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func reviewDeleteReplyDescription(environment string) string {
	return "Deletes the reply that the store gave to one review, on its public Google Business Profile (environment: " + environment + "). The review itself stays; whoever wrote the reply, it is gone. " +
		"Every call without dry_run writes; it is accepted as a batch and carried out in the background: follow it with batch.status. The reply disappears within minutes. batch.undo writes the same text again, with a new time, and Google reviews it anew. " +
		"A review that changed since it was last read, or that is no longer expected_version, is left alone with VERSION_CONFLICT. Deleting what is deleted, or calling twice with one idempotency_key, is success without a second effect. " +
		"Confirm with the user which reply; the server enforces it always: it refuses with CONFIRMATION_REQUIRED until confirm_token comes back with the same arguments."
}

func reviewDeleteReplyInput() schema.Object {
	return schema.Object{Fields: append([]schema.Field{reviewID(), expectedVersion("review.list or review.get")}, safety(false)...)}
}

type reviewDeleteReplyChange struct {
	ReviewID        string `json:"review_id"`
	ExpectedVersion string `json:"expected_version,omitempty"`
}

// Canonical implements admission.Change.
func (c reviewDeleteReplyChange) Canonical() []byte { return canonical(c) }

// References implements admission.Change.
func (c reviewDeleteReplyChange) References() admission.References {
	return admission.References{Kind: gbp.KindReview, Resources: []string{c.ReviewID}}
}

// Headline implements admission.Change.
func (reviewDeleteReplyChange) Headline() string { return "" }

// Plan implements admission.Change.
func (c reviewDeleteReplyChange) Plan(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	old, d := readReview(t, c.ExpectedVersion, l)
	if d != nil {
		return *d
	}
	p := plannedUnreply(t, old)
	d = &admission.Draft{}
	switch {
	case old.Reply != nil:
	case fresh(t, now):
		p.Already = true
	default: // Google is asked before anything is deleted; the person is told what is known
		why := errs.Tf("最後に読んだとき (%s) には返信がありませんでした。その後に付いた返信があれば削除します。", "There was no reply when the review was last read (%s); one that was written since is deleted.", stamp(t.Resource.SeenAt)).In(l)
		p.Line = t.Location.Profile.Title + " — " + why
		d.Warnings = []gbp.Warning{{LocationID: t.Location.ID, Code: "NO_REPLY_SEEN", Message: why}}
	}
	d.Items = []admission.Planned{p}
	return *d
}

// plannedUnreply deletes the reply of a review as we last read it.
func plannedUnreply(t admission.Target, old gbp.RemoteReview) admission.Planned {
	p := plannedReview(t, old, "review.delete_reply")
	p.Before = old.Reply.View()
	return p
}

func reviewDeleteReply(s *Set) (Tool, error) {
	input := reviewDeleteReplyInput()
	t := Tool{
		Name: "review.delete_reply", Title: "Delete the reply to a review", Scope: "reviews:delete", Destructive: true, Idempotent: true, OpenWorld: true,
		Description: reviewDeleteReplyDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope,
		Parse: func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
			var args struct {
				reviewDeleteReplyChange
				admission.Safety
			}
			if violations := decode(input, raw, &args, l); len(violations) > 0 {
				return nil, admission.Safety{}, violations
			}
			return args.reviewDeleteReplyChange, args.Safety, nil
		},
		Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"the time of the reply", "what people saw meanwhile"}},
		Ask: func(_ int, stores, _ string) errs.Text {
			return errs.Tf("%s のクチコミへの返信を削除します。よろしいですか？", "This will delete the reply to a review of %s. Go ahead?", stores)
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
