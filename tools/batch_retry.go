package tools

import (
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

func retryDescription(environment string) string {
	return "Sends the failed stores of a finished batch again, exactly as they were accepted, on public Google Business Profiles (environment: " + environment + "): only items whose retry_possible is true, on all of its stores or on location_ids only. " +
		"Successful, unknown and refused stores are never sent again. It is a new batch: follow it with batch.status. Every call without dry_run writes; what it publishes becomes visible as with the original tool, and batch.undo takes it back. " +
		"Fix the cause first (for example reconnect Google); a store is retried once, and one idempotency_key has one effect. The server asks for confirmation as for the original tool, by the number of items, with CONFIRMATION_REQUIRED until confirm_token comes back. It needs the scope of the original tool."
}

type retryChange struct{ earlierBatch }

// References implements admission.Change.
func (c retryChange) References() admission.References {
	return admission.References{Batch: c.BatchID, Locations: c.LocationIDs, Continues: true}
}

// Sources implements admission.FileChange.
func (retryChange) Sources(t admission.Target) []gbp.Source {
	if p := t.Prior; p.Continued || !p.RetryPossible || p.TargetName != "" || p.Kind != gbp.KindPost && p.Kind != gbp.KindMedia {
		return nil
	}
	return gbp.SentSources(t.Prior.Kind, t.Prior.Payload)
}

// Plan implements admission.Change: the item as it was accepted.
func (c retryChange) Plan(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	p := t.Prior
	switch {
	case p.Continued:
		return leftAlone(t, errs.T("この対象はすでに再実行されたか、実行中です。", "This target was retried already, or is being retried."), l)
	case p.State == batch.ItemSucceeded:
		return admission.Draft{} // nobody expects it to be sent again
	case p.State != batch.ItemFailed && p.State != batch.ItemCancelled || !p.RetryPossible:
		return leftAlone(t, errs.T("この対象は再実行できません (retry_possible: false)。", "This target cannot be retried (retry_possible: false)."), l)
	case p.Operation == "post.create" && gbp.PublicationPassed(p.Payload, now):
		return leftAlone(t, errs.T("予約された公開日時を過ぎています。", "Its scheduled time has passed."), l)
	}
	if p.Operation == "location.update" {
		return retryLocationUpdate(t, now, l)
	}
	planned := admission.Planned{
		Location: t.Location, Operation: p.Operation, Kind: p.Kind, TargetName: p.TargetName, TargetID: p.TargetID, Expected: p.Expected,
		Payload: p.Payload, Mask: p.Mask, Fingerprint: p.Fingerprint, Before: standing(t), After: gbp.View(p.Payload), Origin: p.ID, Units: p.Units,
	}
	planned.Links, planned.Phones = gbp.SentContacts(p.Payload)
	if p.Operation == "review.reply" && planned.Before != nil {
		planned.Confirm = replacesReply
	}
	if p.TargetName == "" {
		planned.Sources = gbp.SentSources(p.Kind, p.Payload)
	}
	for _, s := range planned.Sources {
		if f := t.Files[s]; f.Refusal != nil {
			return leftAlone(t, unusable(*f.Refusal), l)
		}
	}
	if p.Operation == "media.delete" && t.Resource != nil {
		_, err := gbp.RecreatedMedia(t.Resource.Snapshot)
		planned.Irreversible = err != nil
	}
	if p.Operation == "post.create" {
		planned.SendBefore = gbp.PublicationTime(p.Payload)
	}
	return admission.Draft{Items: []admission.Planned{planned}}
}

// standing is what an edit that is sent again would change or take away now, as far as it is known; nil for what makes something new.
func standing(t admission.Target) gbp.View {
	if t.Resource == nil || t.Prior.TargetName == "" {
		return nil
	}
	switch t.Prior.Kind {
	case gbp.KindPost:
		if old, err := gbp.ParseRemotePost(t.Resource.Snapshot); err == nil && t.Prior.Operation == "post.update" {
			return gbp.View(old.Post.Only(t.Prior.Mask))
		} else if err == nil {
			return gbp.ViewOf(old.Post)
		}
	case gbp.KindMedia:
		if old, err := gbp.ParseRemoteMedia(t.Resource.Snapshot); err == nil {
			return gbp.ViewOf(shownMedia(old))
		}
	case gbp.KindReview:
		if old, err := gbp.ParseRemoteReview(t.Resource.Snapshot); err == nil && old.Reply != nil {
			return old.Reply.View()
		}
	default:
	}
	return nil
}

func batchRetry(s *Set) (Tool, error) {
	input := earlierBatchInput("whose failed stores are sent again")
	t := Tool{
		Name: "batch.retry", Title: "Retry failed stores of a batch", Destructive: true, OpenWorld: true,
		Description: retryDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Parse: parseEarlier(input, func(c earlierBatch) admission.Change { return retryChange{c} }),
		Requested: audit.RetryRequested, Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"as with the original tool"}},
		Ask: func(n int, stores, _ string) errs.Text {
			return errs.Tf("失敗した %[1]d 件 (%[2]s) を、受付時と同じ内容で再実行します。よろしいですか？", "This will send %[1]d failed item(s) on %[2]s again, as they were accepted. Go ahead?", n, stores)
		},
		Nothing: func(l errs.Locale) *errs.Error {
			return nothing(l, "batch_id", "nothing_to_retry", errs.T("再実行できる店舗がありません (retry_possible: true の項目がありません)。", "No store of this batch can be retried: no item has retry_possible true."))
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
