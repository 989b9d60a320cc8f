package gbpsim

import (
	"strconv"
)

// The rules of the gallery.
const (
	ruleGalleryFormat      RuleID = "media.format"
	ruleGalleryAssociation RuleID = "media.association"
	ruleGallerySource      RuleID = "media.source"
	ruleGalleryDescription RuleID = "media.cover_description"
	ruleGalleryFetch       RuleID = "media.fetch"
	ruleGalleryTooLarge    RuleID = "media.too_large"
	ruleGalleryContent     RuleID = "media.content"
	ruleGalleryFull        RuleID = "media.too_many"
	ruleGalleryEcho        RuleID = "media.source_echo"
	ruleGalleryReplace     RuleID = "media.one_cover"
	ruleGalleryNotFound    RuleID = "media.not_found"
	ruleGalleryOrder       RuleID = "media.newest_first"
	ruleGalleryMask        RuleID = "media.update_mask"
	ruleGalleryPatchCover  RuleID = "media.patch_cover"
	ruleGalleryDuplicates  RuleID = "media.no_deduplication"
	ruleGalleryLag         RuleID = "media.lag"
	ruleGalleryBudget      RuleID = "media.edit_budget"
	ruleUploadName         RuleID = "media.upload_name"
	ruleUploadType         RuleID = "media.upload_type"
	ruleUploadEmpty        RuleID = "media.upload_empty"
	ruleUploadAnswer       RuleID = "media.upload_answer"
	ruleUploadRef          RuleID = "media.data_ref"
)

func mediaRuleTable() []Rule {
	return []Rule{
		{ruleGalleryFormat, Assumed, "A media item needs mediaFormat.", true},
		{ruleGalleryAssociation, Documented, "locationAssociation is required on create and holds a category or a priceListItemId; the refusal is code 2.", true},
		{ruleGallerySource, Documented, "Exactly one of sourceUrl and dataRef; a missing one is code 2, both are refused (assumed).", true},
		{ruleGalleryDescription, Documented, "A cover photo takes no description; that it is refused is assumed.", true},
		{ruleGalleryFetch, Captured, "A sourceUrl that cannot be fetched: 400 ValidationError code 1000 at once.", true},
		{ruleGalleryTooLarge, Captured, "A file that is too large to fetch: 400 ValidationError code 10. The number for video (26,214,400 bytes) is captured, that for photos is the help centre's 5 MB. Judged only where files are fetched.", true},
		{ruleGalleryContent, Documented, "Photos are JPEG or PNG with 250 px on the short edge and 10240 bytes, except COVER and PROFILE; no several frames (third-party). The refusal's number is assumed. Judged only where files are fetched or uploaded.", true},
		{ruleGalleryFull, Documented, "About 100 items can be added per location through the API; that the 101st is refused is assumed.", true},
		{ruleGalleryEcho, Documented, "sourceUrl is given back for items that were created by URL (not seen in captures; a knob hides it); dataRef never.", false},
		{ruleGalleryReplace, Assumed, "A new COVER or PROFILE takes the place of the old one.", false},
		{ruleGalleryNotFound, Documented, "An item that does not exist or is deleted: JSON 404.", true},
		{ruleGalleryOrder, Assumed, "Lists are newest first; totalMediaItemCount counts all pages; customers' items are listed apart.", false},
		{ruleGalleryMask, Documented, "Only the category or the price list item can be patched; no mask is a full update of those.", true},
		{ruleGalleryPatchCover, Documented, "A category cannot be patched to COVER or PROFILE.", true},
		{ruleGalleryDuplicates, Documented, "Identical items are accepted as often as they are sent: there is no idempotency key.", false},
		{ruleGalleryLag, Assumed, "Optional: a new item is missing from lists and gets for a while.", false},
		{ruleGalleryBudget, Assumed, "Creating, patching and deleting draw on the 10 edits per minute; starting an upload and its bytes do not.", false},
		{ruleUploadName, Assumed, "Bytes for a resource name that Google did not give: 404.", true},
		{ruleUploadType, Documented, "Bytes are sent with upload_type=media; that others are refused is assumed.", true},
		{ruleUploadEmpty, Assumed, "No bytes: 400.", true},
		{ruleUploadAnswer, Captured, "Bytes are answered by 200 without a body.", false},
		{ruleUploadRef, Assumed, "A dataRef that is unknown, belongs to another location, has no bytes or was used before: 400 in the range of photo faults.", true},
	}
}

// Numbers of media faults; only photoFetchFailed and tooLarge have been seen.
const (
	photoUploadFailed = 1001
	photoUnsuitable   = 1002
	tooManyItems      = 5
)

// judgeMedia applies the content rules of media.create and tells the dimensions of the file where it was looked into.
func (c *call) judgeMedia(l *location, m mediaItemBody) (dimensions, *reply) {
	if m.MediaFormat == "" || m.MediaFormat == "MEDIA_FORMAT_UNSPECIFIED" {
		return dimensions{}, invalid(ruleGalleryFormat, missingValue, "media_item.media_format", "A media format is required.", "")
	}
	a := m.LocationAssociation
	if a == nil || (a.Category == "" || a.Category == "CATEGORY_UNSPECIFIED") == (a.PriceListItemID == "") {
		return dimensions{}, invalid(ruleGalleryAssociation, missingValue, "media_item.location_association", "A location association is required.", "")
	}
	hasRef := m.DataRef != nil && m.DataRef.ResourceName != ""
	switch {
	case m.SourceURL == "" && !hasRef:
		return dimensions{}, invalid(ruleGallerySource, missingValue, "media_item.source_url", "A source is required.", "")
	case m.SourceURL != "" && hasRef:
		return dimensions{}, invalid(ruleGallerySource, invalidValue, "media_item.data_ref", "Only one source is allowed.", "")
	case a.Category == categoryCover && m.Description != "":
		return dimensions{}, invalid(ruleGalleryDescription, unsupportedValue, "media_item.description", "A description is not allowed for a cover photo.", "")
	}
	if c.sim.galleryFull(l) {
		return dimensions{}, invalid(ruleGalleryFull, tooManyItems, "media_item", "The location has too many media items.", strconv.Itoa(c.sim.knobs.mediaLimit()))
	}
	if hasRef {
		return c.judgeUpload(l, m)
	}
	if !c.sim.fetchable(m.SourceURL) {
		return dimensions{}, invalid(ruleGalleryFetch, photoFetchFailed, "media_item.source_url", "Failed to fetch the media from the source URL.", m.SourceURL)
	}
	if !c.sim.knobs.FetchMedia {
		return unknownSize(), nil
	}
	got := c.fetched[m.SourceURL]
	if got.failed {
		return dimensions{}, invalid(ruleGalleryFetch, photoFetchFailed, "media_item.source_url", "Failed to fetch the media from the source URL.", m.SourceURL)
	}
	return got.judge(m, "media_item.source_url")
}

func (c *call) judgeUpload(l *location, m mediaItemBody) (dimensions, *reply) {
	u := c.sim.uploads[m.DataRef.ResourceName]
	if u == nil || u.location != l.Name || len(u.content) == 0 || u.used {
		return dimensions{}, invalid(ruleUploadRef, photoUploadFailed, "media_item.data_ref.resource_name", "The data reference is not usable.", m.DataRef.ResourceName)
	}
	return lookInto(u.content, int64(len(u.content))).judge(m, "media_item.data_ref")
}

// galleryFull counts what was added through the API.
func (s *Sim) galleryFull(l *location) bool {
	n := 0
	for _, m := range l.media {
		if m.email != "" && (m.died.IsZero() || s.Now().Before(m.died)) {
			n++
		}
	}
	return n >= s.knobs.mediaLimit()
}

func (k Knobs) mediaLimit() int {
	if k.MediaLimit == 0 {
		return 100
	}
	return k.MediaLimit
}

// unsuitable is the refusal of post media whose file was fetched and is not suitable.
func (c *call) unsuitable(m mediaBody, field string) *reply {
	if !c.sim.knobs.FetchMedia {
		return nil
	}
	got := c.fetched[m.text("sourceUrl")]
	if got.failed {
		return invalid(ruleMediaFetch, photoFetchFailed, field, "Failed to fetch the photo from the source URL.", m.text("sourceUrl"))
	}
	_, refusal := got.judge(mediaItemBody{MediaFormat: formatPhoto}, field)
	return refusal
}
