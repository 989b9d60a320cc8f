package tools

import (
	"encoding/json"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func postDeleteDescription(environment string) string {
	return "Takes 1 to 100 posts down from stores' public Google Business Profiles (environment: " + environment + "): those named in post_ids, or those that the batch in batch_id created, on all of its stores or on location_ids only. " +
		"Every call without dry_run writes; it is accepted as a batch and carried out in the background: follow it with batch.status. The posts disappear within minutes. batch.undo makes new posts with the same content; their ids, publication times and statistics are lost. " +
		"A post that changed since it was last read is left alone with VERSION_CONFLICT. Deleting what is deleted, or calling twice with one idempotency_key, is success without a second effect. " +
		"Confirm with the user which posts; the server enforces it: from 3 posts on it refuses with CONFIRMATION_REQUIRED until confirm_token comes back with the same arguments."
}

func postDeleteInput() schema.Object {
	fields := []schema.Field{
		schema.List("post_ids", "Posts to delete, from post.list or batch.status. Give either these or batch_id.", schema.ID("", "Our id of one post.", schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")), schema.Items(1, 100)),
		schema.ID("batch_id", "Delete what this batch created, instead of post_ids.", schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
		schema.List("location_ids", "With batch_id: only on these stores.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.Items(1, 100)),
	}
	return schema.Object{Fields: append(fields, safety(true)...)}
}

type postDeleteChange struct {
	PostIDs     []string         `json:"post_ids,omitempty"`
	BatchID     batch.ID         `json:"batch_id,omitempty"`
	LocationIDs []gbp.LocationID `json:"location_ids,omitempty"`
}

// Canonical implements admission.Change.
func (c postDeleteChange) Canonical() []byte { return canonical(c) }

// References implements admission.Change.
func (c postDeleteChange) References() admission.References {
	if c.BatchID != "" {
		return admission.References{Batch: c.BatchID, Locations: c.LocationIDs}
	}
	return admission.References{Kind: gbp.KindPost, Resources: c.PostIDs}
}

// Headline implements admission.Change.
func (postDeleteChange) Headline() string { return "" }

// Plan implements admission.Change.
func (c postDeleteChange) Plan(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	if p := t.Prior; p != nil && (p.Operation != "post.create" || t.Resource == nil) {
		return leftAlone(t, errs.T("この店舗では、このバッチは投稿を作成していません。", "The batch made no post on this store."), l)
	}
	return planPostDelete(t, "", l)
}

// planPostDelete deletes a post as we last read it. expected "" binds what that reading was.
func planPostDelete(t admission.Target, expected string, l errs.Locale) admission.Draft {
	if t.Resource.DeletedAt != nil {
		return admission.Draft{Items: []admission.Planned{{
			Location: t.Location, Operation: "post.delete", Kind: gbp.KindPost, TargetName: t.Resource.GoogleName, TargetID: t.Resource.ID,
			Fingerprint: gbp.TargetFingerprint(t.Resource.GoogleName), Already: true,
		}}}
	}
	old, d := readPost(t, expected, l)
	if d != nil {
		return *d
	}
	p := plannedPost(t, old, "post.delete")
	p.Before = gbp.ViewOf(old.Post)
	return admission.Draft{Items: []admission.Planned{p}}
}

// leftAlone is a target of the batch in question that nothing is done to, and why.
func leftAlone(t admission.Target, why errs.Text, l errs.Locale) admission.Draft {
	return admission.Draft{Warnings: []gbp.Warning{{LocationID: t.Location.ID, Code: admission.LeftAlone, Message: why.In(l)}}}
}

// nothing is the refusal of a write that came to no target.
func nothing(l errs.Locale, path, rule string, why errs.Text) *errs.Error {
	e := errs.New(errs.InvalidArgument, why).With(errs.Details{Violations: []errs.Violation{{Path: path, Rule: rule, Message: why.In(l)}}})
	e.Final = true
	e.How = errs.T("この呼び出しでできることはありません。理由は violations と、プレビュー (dry_run: true) の validation_warnings にあります。同じ内容を送り直さないでください。",
		"There is nothing that this call could do; violations say why, and store by store the validation_warnings of a preview (dry_run true). Do not send the same again.")
	return e
}

func postDelete(s *Set) (Tool, error) {
	input := postDeleteInput()
	t := Tool{
		Name: "post.delete", Title: "Take posts down", Scope: "posts:delete", Destructive: true, Idempotent: true, OpenWorld: true,
		Description: postDeleteDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope,
		Parse: func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
			var args struct {
				postDeleteChange
				admission.Safety
			}
			if violations := decode(input, raw, &args, l); len(violations) > 0 {
				return nil, admission.Safety{}, violations
			}
			c := args.postDeleteChange
			violations := pageTokenViolations(args.Safety, l)
			switch {
			case len(c.PostIDs) > 0 && c.BatchID != "":
				violations = append(violations, errs.Violation{Path: "batch_id", Rule: "contradiction", Message: errs.T("post_ids と batch_id はどちらか一方だけを指定してください。", "Give either post_ids or batch_id, not both.").In(l)})
			case len(c.PostIDs) == 0 && c.BatchID == "":
				violations = append(violations, errs.Violation{Path: "post_ids", Rule: "required", Message: errs.T("post_ids か batch_id のどちらかが必要です。", "Either post_ids or batch_id is required.").In(l)})
			case len(c.LocationIDs) > 0 && c.BatchID == "":
				violations = append(violations, errs.Violation{Path: "location_ids", Rule: "not_allowed", Message: errs.T("location_ids は batch_id と一緒に使います。", "location_ids goes with batch_id only.").In(l)})
			}
			c.PostIDs, c.LocationIDs = distinct(c.PostIDs), distinct(c.LocationIDs)
			return c, args.Safety, violations
		},
		Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"post id", "publication time", "statistics"}},
		Ask: func(n int, stores, _ string) errs.Text {
			return errs.Tf("%[1]d 件の投稿 (%[2]s) を削除します。よろしいですか？", "This will delete %[1]d post(s) on %[2]s. Go ahead?", n, stores)
		},
		Nothing: func(l errs.Locale) *errs.Error {
			return nothing(l, "batch_id", "nothing_created", errs.T("このバッチが作成した投稿はありません。", "The batch created no posts."))
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
