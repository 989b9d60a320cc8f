package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func mediaUploadDescription(environment string) string {
	return "Adds photos or videos to the galleries of stores' public Google Business Profiles (environment: " + environment + "): each item of media to each store of location_ids, at most 100 in all. " +
		"Google fetches each file from source_url; before anything is accepted the server looks at it and refuses what Google would not take. " +
		"Every call without dry_run writes; it is accepted as a batch and carried out in the background: follow it with batch.status. A file becomes visible within minutes to two days; Google does not say when. " +
		"COVER and PROFILE replace the photo that is there, for good. batch.undo deletes what was added. The same idempotency_key and arguments twice have one effect. " +
		"Confirm with the user which stores and files; the server enforces it: from 5 stores or 50,000,000 bytes of files on it refuses with CONFIRMATION_REQUIRED until confirm_token comes back with the same arguments. " +
		"URLs and descriptions may hold the same {{location.…}} variables as post.create."
}

// categories are Google's, as words of the contract.
func categories() []string {
	var out []string
	for _, c := range gbp.MediaCategories() {
		out = append(out, string(c))
	}
	return out
}

func mediaUploadInput() schema.Object {
	item := []schema.Field{
		schema.URL("source_url", "Public https address of the file; no share pages. Photo: JPEG or PNG, 250x250 px or more, 10 KB to 5 MB. Video (not as COVER, PROFILE or LOGO): MP4 or MOV, 720p or more, 1 to 30 s, at most 25 MiB.",
			schema.Required(), schema.Templated(), schema.Example("https://www.example.com/photos/front.jpg")),
		schema.Enum("category", "What it shows. COVER and PROFILE replace the photo that is there.", categories(), schema.Required()),
		schema.Text("description", "Words under it, at most 1000 characters; not for COVER.", schema.MaxLength(gbp.MediaDescriptionMax), schema.Templated(), schema.Example("カウンター席")),
	}
	fields := []schema.Field{
		schema.List("location_ids", "Stores that get the media, 1 to 100, from location.list.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.Required(), schema.Items(1, 100)),
		schema.List("media", "Photos and videos, each for every store; stores times media is at most 100.", schema.Nested("", "One photo or video.", schema.Object{Fields: item}), schema.Required(), schema.Items(1, 100)),
	}
	return schema.Object{Fields: append(fields, safety(true)...)}
}

// mediaUploadChange is a media.upload as admission sees it.
type mediaUploadChange struct{ gbp.MediaUpload }

// References implements admission.Change.
func (c mediaUploadChange) References() admission.References {
	return admission.References{Locations: c.LocationIDs, PerLocation: len(c.Media)}
}

// Headline implements admission.Change.
func (c mediaUploadChange) Headline() string {
	for _, m := range c.Media {
		if m.Description != "" {
			return m.Description
		}
	}
	return ""
}

// Sources implements admission.FileChange.
func (c mediaUploadChange) Sources(t admission.Target) []gbp.Source {
	return gbp.MediaSources(c.Media, t.Location)
}

// Plan implements admission.Change: one item per file. Two of the same address and category, and two that replace each other,
// are nobody's intent.
func (c mediaUploadChange) Plan(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	var d admission.Draft
	var seen []gbp.RenderedMedia
	for i, m := range c.Media {
		at := fmt.Sprintf("media[%d]", i)
		r, violations, warnings := gbp.RenderMedia(m, t.Location, t.Files, at, l)
		d.Warnings = append(d.Warnings, warnings...)
		if violations != nil {
			d.Violations = append(d.Violations, violations...)
			continue
		}
		category := r.Item.LocationAssociation.Category
		same := func(o gbp.RenderedMedia) bool {
			return o.Item.LocationAssociation.Category == category && (o.Item.SourceURL == r.Item.SourceURL || category.Replaces())
		}
		if slices.ContainsFunc(seen, same) {
			d.Violations = append(d.Violations, mediaTwice(t, at, category, l))
			continue
		}
		seen = append(seen, r)
		d.Items = append(d.Items, plannedUpload(t, r.Item, at, r))
	}
	return d
}

func mediaTwice(t admission.Target, at string, category gbp.MediaCategory, l errs.Locale) errs.Violation {
	if category.Replaces() {
		return errs.Violation{Path: at + ".category", Rule: "one_per_store", Value: string(category), LocationID: int64(t.Location.ID), Message: errs.Tf(
			"1 つの店舗の %s は 1 枚だけです。", "A store has one %s photo; the second would replace the first.", category).In(l)}
	}
	v := twice(at+".source_url", "", l)
	v.LocationID = int64(t.Location.ID)
	return v
}

func plannedUpload(t admission.Target, item gbp.MediaItem, at string, r gbp.RenderedMedia) admission.Planned {
	payload := item.Encode()
	return admission.Planned{
		Location: t.Location, Operation: "media.upload", Kind: gbp.KindMedia, At: at, Payload: payload, Fingerprint: item.Fingerprint(), After: gbp.View(payload),
		Links: r.Links, Phones: r.Phones, Sources: []gbp.Source{r.Source}, Irreversible: item.LocationAssociation.Category.Replaces(),
	}
}

func parseMediaUpload(input schema.Object) func(json.RawMessage, errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
	return func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
		var args struct {
			gbp.MediaUpload
			admission.Safety
		}
		if violations := decode(input, raw, &args, l); len(violations) > 0 {
			return nil, admission.Safety{}, violations
		}
		change := args.Normalise()
		violations := pageTokenViolations(args.Safety, l)
		for i, m := range change.Media {
			violations = append(violations, m.Violations(l, fmt.Sprintf("media[%d]", i))...)
		}
		return mediaUploadChange{change}, args.Safety, violations
	}
}

func askMediaUpload(n int, stores, headline string) errs.Text {
	t := errs.Tf("%[1]d 件の写真・動画を店舗 (%[2]s) のギャラリーに追加します。よろしいですか？", "This will add %[1]d photo(s) or video(s) to the galleries of %[2]s. Go ahead?", n, stores)
	if headline == "" {
		return t
	}
	return errs.T(t.JA+"\n「"+headline+"」", t.EN+"\n\""+headline+"\"")
}

func mediaUpload(s *Set) (Tool, error) {
	input := mediaUploadInput()
	t := Tool{
		Name: "media.upload", Title: "Add photos and videos to stores", Scope: "media:write", OpenWorld: true,
		Description: mediaUploadDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope, Parse: parseMediaUpload(input), Ask: askMediaUpload, CountStores: true,
		Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"media id", "upload time", "a cover or profile photo that was replaced"}},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
