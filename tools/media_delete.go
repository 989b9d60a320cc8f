package tools

import (
	"encoding/json"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func mediaDeleteDescription(environment string) string {
	return "Deletes 1 to 100 photos or videos from the galleries of stores' public Google Business Profiles (environment: " + environment + "). Google keeps no copy; customers' photos and those of posts cannot be deleted. " +
		"Every call without dry_run writes; it is accepted as a batch and carried out in the background: follow it with batch.status. Files disappear within minutes to a day. " +
		"batch.undo adds a file again from the address that it came from, with a new id, while that address still works; what was uploaded without one cannot be brought back, which the preview says. " +
		"An item that changed since it was last read is left alone with VERSION_CONFLICT. Deleting what is deleted, or calling twice with one idempotency_key, is success without a second effect. " +
		"Confirm with the user which files; the server enforces it: from 5 items on, and whatever the number for what cannot be brought back, it refuses with CONFIRMATION_REQUIRED until confirm_token comes back with the same arguments."
}

func mediaDeleteInput() schema.Object {
	fields := []schema.Field{
		schema.List("media_ids", "Photos and videos to delete, 1 to 100, from media.list or batch.status.", schema.ID("", "Our id of one item.", schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")), schema.Required(), schema.Items(1, 100)),
	}
	return schema.Object{Fields: append(fields, safety(true)...)}
}

type mediaDeleteChange struct {
	MediaIDs []string `json:"media_ids"`
}

// Canonical implements admission.Change.
func (c mediaDeleteChange) Canonical() []byte { return canonical(c) }

// References implements admission.Change.
func (c mediaDeleteChange) References() admission.References {
	return admission.References{Kind: gbp.KindMedia, Resources: c.MediaIDs}
}

// Headline implements admission.Change.
func (mediaDeleteChange) Headline() string { return "" }

// Plan implements admission.Change.
func (mediaDeleteChange) Plan(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	return planMediaDelete(t, "", l)
}

// planMediaDelete deletes an item as we last read it. expected "" binds what that reading was.
func planMediaDelete(t admission.Target, expected string, l errs.Locale) admission.Draft {
	p := admission.Planned{
		Location: t.Location, Operation: "media.delete", Kind: gbp.KindMedia, TargetName: t.Resource.GoogleName, TargetID: t.Resource.ID,
		Fingerprint: gbp.TargetFingerprint(t.Resource.GoogleName),
	}
	if t.Resource.DeletedAt != nil {
		p.Already = true
		return admission.Draft{Items: []admission.Planned{p}}
	}
	refuse := func(rule string, why errs.Text) admission.Draft {
		return admission.Draft{Violations: []errs.Violation{{Path: "$", Rule: rule, Value: t.Resource.ID, LocationID: int64(t.Location.ID), Message: why.In(l)}}}
	}
	old, err := gbp.ParseRemoteMedia(t.Resource.Snapshot)
	switch {
	case err != nil:
		return refuse("unreadable", errs.T("この写真・動画を読めていません。media.list で読み直してください。", "This item has not been read properly; read it again with media.list."))
	case old.Customer() != "":
		return refuse("not_own", errs.T("お客様が投稿した写真・動画は、オーナーには削除できません。", "It was added by a customer; owners cannot delete those."))
	}
	p.Expected, p.Before = old.Version(), gbp.ViewOf(shownMedia(old))
	if expected != "" && p.Expected != expected {
		return admission.Draft{Stale: &errs.ChangedTarget{LocationID: int64(t.Location.ID), TargetID: t.Resource.ID, Fields: []string{"version"}, CurrentVersion: p.Expected}}
	}
	d := admission.Draft{}
	if _, err := old.Recreated(); err != nil {
		p.Irreversible = true
		d.Warnings = []gbp.Warning{{LocationID: t.Location.ID, Code: "CANNOT_BE_UNDONE", Span: t.Resource.ID, Message: whyLost(err).In(l)}}
	}
	d.Items = []admission.Planned{p}
	return d
}

// shownMedia is an item in Google's words, without what Google alone can say of it.
func shownMedia(m gbp.RemoteMedia) gbp.MediaItem {
	return gbp.MediaItem{MediaFormat: m.Format, LocationAssociation: gbp.MediaAssociation{Category: m.Category}, SourceURL: m.SourceURL, Description: m.Description}
}

func mediaDelete(s *Set) (Tool, error) {
	input := mediaDeleteInput()
	t := Tool{
		Name: "media.delete", Title: "Delete photos and videos", Scope: "media:delete", Destructive: true, Idempotent: true, OpenWorld: true,
		Description: mediaDeleteDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope,
		Parse: func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
			var args struct {
				mediaDeleteChange
				admission.Safety
			}
			if violations := decode(input, raw, &args, l); len(violations) > 0 {
				return nil, admission.Safety{}, violations
			}
			return mediaDeleteChange{distinct(args.MediaIDs)}, args.Safety, pageTokenViolations(args.Safety, l)
		},
		Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"media id", "upload time", "views"}},
		Ask: func(n int, stores, _ string) errs.Text {
			return errs.Tf("%[1]d 件の写真・動画 (%[2]s) を削除します。よろしいですか？", "This will delete %[1]d photo(s) or video(s) of %[2]s. Go ahead?", n, stores)
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
