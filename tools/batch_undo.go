package tools

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func undoDescription(environment string) string {
	return "Restores what a finished batch changed on stores' public Google Business Profiles (environment: " + environment + "): created posts and photos are deleted, deleted posts are made anew (new id and date), replies, texts and store data get back what they were. " +
		"All of the batch's successful stores, or location_ids only. A target that somebody changed since is left alone and named in the warnings. Possible for 30 days. " +
		"Every call without dry_run writes; the undo is a batch of its own: follow it with batch.status, and it can itself be undone. People may have seen what is undone, and Google takes minutes to days to show the restored state. " +
		"Undoing twice changes nothing more. Preview with dry_run true and confirm with the user; the server enforces it as for the tool that it stands for, by the number of items. It needs that tool's scope: undoing a create needs the scope to delete."
}

func earlierBatchInput(what string) schema.Object {
	fields := []schema.Field{
		schema.ID("batch_id", "ULID of the batch "+what+", from the accepted write, batch.list or batch.status.", schema.Required(), schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
		schema.List("location_ids", "Only these of its stores; all when left out.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.Items(1, 100)),
	}
	return schema.Object{Fields: append(fields, safety(true)...)}
}

// earlierBatch is a change that is about the items of an earlier batch.
type earlierBatch struct {
	BatchID     batch.ID         `json:"batch_id"`
	LocationIDs []gbp.LocationID `json:"location_ids,omitempty"`
}

// Canonical implements admission.Change.
func (c earlierBatch) Canonical() []byte { return canonical(c) }

// Headline implements admission.Change.
func (earlierBatch) Headline() string { return "" }

func parseEarlier(input schema.Object, make func(earlierBatch) admission.Change) func(json.RawMessage, errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
	return func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
		var args struct {
			earlierBatch
			admission.Safety
		}
		if violations := decode(input, raw, &args, l); len(violations) > 0 {
			return nil, admission.Safety{}, violations
		}
		args.LocationIDs = distinct(args.LocationIDs)
		return make(args.earlierBatch), args.Safety, pageTokenViolations(args.Safety, l)
	}
}

type undoChange struct{ earlierBatch }

// References implements admission.Change.
func (c undoChange) References() admission.References {
	return admission.References{Batch: c.BatchID, Locations: c.LocationIDs, Continues: true, Undoes: true}
}

// Sources implements admission.FileChange.
func (undoChange) Sources(t admission.Target) []gbp.Source {
	if p := t.Prior; p.Continued || p.Already || p.State != batch.ItemSucceeded {
		return nil
	}
	return priorSources(t)
}

// Plan implements admission.Change: what takes one item back, if what it left is still there.
func (c undoChange) Plan(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	p := t.Prior
	switch {
	case p.Continued:
		return leftAlone(t, errs.T("この対象はすでに元に戻されたか、戻している途中です。", "This target was undone already, or is being undone."), l)
	case p.State == batch.ItemUnknown:
		return leftAlone(t, errs.T("結果が不明のため、元に戻す対象になりません。", "Its outcome is unknown, so there is nothing certain to take back."), l)
	case p.State != batch.ItemSucceeded && p.Executed != errs.ExecutedYes: // what Google rejected is there, in the place of what was
		return leftAlone(t, errs.T("この対象では何も変更されていません。", "Nothing was changed on this target."), l)
	case p.Already:
		return leftAlone(t, errs.T("このバッチの前からこの状態でした。", "It was like this before the batch."), l)
	}
	inverse, ok := inverses()[p.Operation]
	if !ok {
		return leftAlone(t, errs.T("この操作は元に戻せません。", "This cannot be undone."), l)
	}
	d := inverse(t, now, l)
	if slices.ContainsFunc(d.Violations, func(v errs.Violation) bool { return v.Rule == "unreadable" }) {
		return leftAlone(t, errs.T("Google からまだ読み取れていません。1 分ほど待ってからもう一度試してください。", "It has not been read from Google yet; wait a minute and try again."), l)
	}
	if d.Stale != nil || len(d.Violations) > 0 {
		return leftAlone(t, errs.T("このバッチの後に変更されたため、そのままにします。", "It was changed after the batch and is left as it is."), l)
	}
	for i := range d.Items {
		d.Items[i].Origin = p.ID
	}
	return d
}

// inverses plan what takes an effect back, by effect. Each binds what the effect left.
func inverses() map[string]func(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	return map[string]func(admission.Target, time.Time, errs.Locale) admission.Draft{
		"post.create": undoPostCreate,
		"post.update": undoPostUpdate,
		"post.delete": undoPostDelete,

		"review.reply":        undoReply,
		"review.delete_reply": undoReply,
		"location.update":     undoLocationUpdate,
		"media.upload":        undoMediaUpload,
		"media.delete":        undoMediaDelete,
	}
}

func undoPostCreate(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	switch {
	case t.Resource == nil:
		return nameless(t, l)
	case t.Resource.DeletedAt != nil:
		return leftAlone(t, errs.T("この投稿はもうありません。", "The post is gone already."), l)
	}
	return planPostDelete(t, t.Prior.Version, l)
}

// nameless is what an operator settled as made without knowing its name at Google.
func nameless(t admission.Target, l errs.Locale) admission.Draft {
	return leftAlone(t, errs.T("運用担当が手動で確定した項目で、Google での名前が分からないため、元に戻せません。プロフィール上で手作業で削除してください。",
		"An operator settled it by hand and its name at Google is not known, so it cannot be taken back here. Delete it by hand on the profile."), l)
}

func undoPostUpdate(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	if t.Resource == nil {
		return leftAlone(t, errs.T("この投稿はもうありません。", "The post is gone already."), l)
	}
	live, d := readPost(t, t.Prior.Version, l)
	if d != nil {
		return *d
	}
	before, err := gbp.ParseRemotePost(t.Prior.Before)
	if err != nil {
		return leftAlone(t, errs.T("以前の内容が残っていません。", "What it was before is not kept."), l)
	}
	mask := t.Prior.Mask
	p := plannedPost(t, live, "post.update")
	p.Payload, p.Mask, p.Before, p.After = before.Post.Only(mask), mask, gbp.View(live.Post.Only(mask)), gbp.View(before.Post.Only(mask))
	return admission.Draft{Items: []admission.Planned{p}}
}

func undoPostDelete(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	if t.Resource != nil && t.Resource.DeletedAt == nil {
		return leftAlone(t, errs.T("この投稿は公開されています。", "The post is there."), l)
	}
	post, err := gbp.Recreated(t.Prior.Before, now)
	if err != nil {
		return leftAlone(t, errs.T("以前の内容が残っていません。", "What it was before is not kept."), l)
	}
	payload := post.Encode()
	d := admission.Draft{
		Items: []admission.Planned{{
			Location: t.Location, Operation: "post.create", Kind: gbp.KindPost, Payload: payload, Fingerprint: post.Fingerprint(), After: gbp.View(payload), Sources: gbp.SentSources(gbp.KindPost, payload),
		}},
		Warnings: []gbp.Warning{{LocationID: t.Location.ID, Code: "NEW_ID", Message: errs.T("作り直した投稿は、新しい ID と公開日時になります。", "The post that is made anew has a new id and publication time.").In(l)}},
	}
	for _, s := range d.Items[0].Sources { // Google's own copy of the photo: Google decides, a person is told
		if f := t.Files[s]; f.Refusal != nil {
			d.Warnings = append(d.Warnings, gbp.Warning{LocationID: t.Location.ID, Code: "MEDIA_SUSPECT", Message: unusable(*f.Refusal).In(l)})
		}
	}
	return d
}

func batchUndo(s *Set) (Tool, error) {
	input := earlierBatchInput("to take back")
	t := Tool{
		Name: "batch.undo", Title: "Undo a batch", Destructive: true, Idempotent: true, OpenWorld: true,
		Description: undoDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Parse: parseEarlier(input, func(c earlierBatch) admission.Change { return undoChange{c} }),
		Requested: audit.UndoRequested, Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"ids and dates of what is made anew", "what people saw meanwhile"}},
		Ask: func(n int, stores, _ string) errs.Text {
			return errs.Tf("%[1]d 件の変更 (%[2]s) を元に戻します。よろしいですか？", "This will take back %[1]d change(s) on %[2]s. Go ahead?", n, stores)
		},
		Nothing: func(errs.Locale) *errs.Error {
			return errs.New(errs.NothingToUndo, errs.T("元に戻せる変更がありません。", "There is nothing that can be taken back."))
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
