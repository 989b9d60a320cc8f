package gbpsim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The media methods.
const (
	RouteMediaCreate        Route = "media.create"
	RouteMediaList          Route = "media.list"
	RouteMediaGet           Route = "media.get"
	RouteMediaPatch         Route = "media.patch"
	RouteMediaDelete        Route = "media.delete"
	RouteMediaStartUpload   Route = "media.startUpload"
	RouteMediaUpload        Route = "media.upload"
	RouteMediaCustomersList Route = "media.customers.list"
	RouteMediaCustomersGet  Route = "media.customers.get"
)

func mediaRoutes() []*route {
	paging := []string{"pageSize", "pageToken"}
	const media = "v4/accounts/*/locations/*/media"
	return []*route{
		{name: RouteMediaCreate, host: hostMyBusiness, method: http.MethodPost, pattern: media, write: true, handle: (*call).createMedia},
		{name: RouteMediaList, host: hostMyBusiness, method: http.MethodGet, pattern: media, parameters: paging, handle: (*call).listMedia},
		{name: RouteMediaCustomersList, host: hostMyBusiness, method: http.MethodGet, pattern: media + "/customers", parameters: paging, handle: (*call).listCustomerMedia},
		{name: RouteMediaCustomersGet, host: hostMyBusiness, method: http.MethodGet, pattern: media + "/customers/*", handle: (*call).getMedia},
		{name: RouteMediaGet, host: hostMyBusiness, method: http.MethodGet, pattern: media + "/*", handle: (*call).getMedia},
		{name: RouteMediaPatch, host: hostMyBusiness, method: http.MethodPatch, pattern: media + "/*", parameters: []string{"updateMask"}, write: true, handle: (*call).patchMedia},
		{name: RouteMediaDelete, host: hostMyBusiness, method: http.MethodDelete, pattern: media + "/*", write: true, handle: (*call).deleteMedia},
		{name: RouteMediaStartUpload, host: hostMyBusiness, method: http.MethodPost, pattern: media + ":startUpload", handle: (*call).startUpload},
		{name: RouteMediaUpload, host: hostMyBusiness, method: http.MethodPost, pattern: "upload/v1/media/*", parameters: []string{"uploadType"}, raw: true, handle: (*call).uploadBytes},
	}
}

// mediaName reads the last star of a media route as a name, or as the resource name of an upload.
func (r *route) mediaName(account AccountName, location LocationName, args []string) MediaName {
	switch r.name {
	case RouteMediaGet, RouteMediaPatch, RouteMediaDelete:
		return MediaName(string(account) + "/" + string(location) + "/media/" + args[2])
	case RouteMediaCustomersGet:
		return MediaName(string(account) + "/" + string(location) + "/media/customers/" + args[2])
	case RouteMediaUpload:
		return MediaName(args[0])
	default:
		return ""
	}
}

// createMedia is POST .../media.
func (c *call) createMedia() (reply, effect) {
	body, refusal := readMediaItem(c.body)
	if refusal != nil {
		return *refusal, nil
	}
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	size, refusal := c.judgeMedia(l, body)
	if refusal != nil {
		return *refusal, nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		if body.DataRef != nil {
			c.sim.uploads[body.DataRef.ResourceName].used = true
		}
		m := c.storeMedia(l, body, size)
		r := answer(m.wire(!c.sim.knobs.HideMediaSources))
		r.effect, r.media = true, m.name
		return r
	}
}

// storeMedia makes an item out of an accepted body at c.now; the old cover or profile picture goes.
func (c *call) storeMedia(l *location, body mediaItemBody, size dimensions) *mediaItem {
	now := c.now.Truncate(time.Microsecond)
	if category := body.LocationAssociation.Category; category == categoryCover || category == categoryProfile {
		for _, old := range l.media {
			if old.exists(now) && old.customer == "" && old.category() == category {
				old.died, old.goneFromLists, old.goneGets = now, now, now
			}
		}
	}
	m := c.sim.newMedia(l, body, "", "", c.grant.email, size, now)
	visible := now.Add(seconds(c.sim.knobs.MediaLagSeconds))
	m.inLists, m.inGets = visible, visible
	c.hide(now, &m.inLists, &m.inGets)
	return m
}

// hide moves the instants at which an effect shows, when a fault says so.
func (c *call) hide(now time.Time, lists, gets *time.Time) {
	f := c.fault
	if f == nil || f.HiddenSeconds <= 0 {
		return
	}
	until := now.Add(seconds(f.HiddenSeconds))
	if f.HiddenIn != "get" {
		*lists = until
	}
	if f.HiddenIn != "list" {
		*gets = until
	}
}

// findMedia is the item of a path, if the caller may see it and it shows.
func (c *call) findMedia() (*mediaItem, *reply) {
	if _, refusal := c.findLocation(); refusal != nil {
		return nil, refusal
	}
	m := c.sim.media[c.media]
	if m == nil || !m.visibleInGets(c.now) {
		r := notFound(ruleGalleryNotFound)
		return nil, &r
	}
	return m, nil
}

// getMedia is GET .../media/{k} and .../media/customers/{k}.
func (c *call) getMedia() (reply, effect) {
	m, refusal := c.findMedia()
	if refusal != nil {
		return *refusal, nil
	}
	return answer(m.wire(!c.sim.knobs.HideMediaSources)), nil
}

// mediaPage is the answer to both lists.
type mediaPage struct {
	MediaItems          []wireMediaItem `json:"mediaItems,omitempty"`
	TotalMediaItemCount int             `json:"totalMediaItemCount,omitempty"`
	NextPageToken       string          `json:"nextPageToken,omitempty"`
}

// listMedia is GET .../media.
func (c *call) listMedia() (reply, effect) {
	return c.mediaItems(2500, func(m *mediaItem) bool { return m.customer == "" })
}

// listCustomerMedia is GET .../media/customers.
func (c *call) listCustomerMedia() (reply, effect) {
	return c.mediaItems(200, func(m *mediaItem) bool { return m.customer != "" })
}

// mediaItems lists newest first; a page continues behind the last item of the previous one.
func (c *call) mediaItems(most int, which func(*mediaItem) bool) (reply, effect) {
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	p, refusal := c.page(100, most)
	if refusal != nil {
		return *refusal, nil
	}
	var out mediaPage
	if p.empty {
		out.NextPageToken = c.next(p.after, true)
		return answer(out), nil
	}
	last := parseMediaCursor(p.after)
	var previous *mediaItem
	for _, m := range slices.Backward(l.media) {
		if !which(m) || !m.visibleInLists(c.now) {
			continue
		}
		out.TotalMediaItemCount++
		if last != nil && m.compare(last) >= 0 {
			continue
		}
		if len(out.MediaItems) == p.size {
			if out.NextPageToken == "" {
				out.NextPageToken = c.next(previous.cursor(), false)
			}
			continue
		}
		out.MediaItems = append(out.MediaItems, m.wire(!c.sim.knobs.HideMediaSources))
		previous = m
	}
	return answer(out), nil
}

// patchMedia is PATCH .../media/{k}: the category or the price list item.
func (c *call) patchMedia() (reply, effect) {
	body, refusal := readMediaItem(c.body)
	if refusal != nil {
		return *refusal, nil
	}
	m, refusal := c.findMedia()
	if refusal != nil {
		return *refusal, nil
	}
	for path := range strings.SplitSeq(c.parameter("updateMask"), ",") {
		path = lowerCamel(strings.TrimSpace(path))
		if path != "" && path != "locationAssociation" && !strings.HasPrefix(path, "locationAssociation.") {
			r := invalidArgument(ruleGalleryMask, "update_mask", "Only location_association can be updated.")
			return r, nil
		}
	}
	a := body.LocationAssociation
	if a == nil || (a.Category == "") == (a.PriceListItemID == "") {
		return *invalid(ruleGalleryAssociation, missingValue, "media_item.location_association", "A location association is required.", ""), nil
	}
	if a.Category == categoryCover || a.Category == categoryProfile {
		return *invalid(ruleGalleryPatchCover, unsupportedValue, "media_item.location_association.category", "The category cannot be changed to this value.", a.Category), nil
	}
	l := c.sim.byName[c.location]
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		m.sent.LocationAssociation = a
		r := answer(m.wire(!c.sim.knobs.HideMediaSources))
		r.effect, r.media = true, m.name
		return r
	}
}

// deleteMedia is DELETE .../media/{k}; the second one answers 404.
func (c *call) deleteMedia() (reply, effect) {
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	m := c.sim.media[c.media]
	if m == nil || !m.exists(c.now) {
		return notFound(ruleGalleryNotFound), nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		m.died, m.goneFromLists, m.goneGets = c.now, c.now, c.now
		c.hide(c.now, &m.goneFromLists, &m.goneGets)
		r := answer(struct{}{})
		r.effect, r.media = true, m.name
		return r
	}
}

// startUpload is POST .../media:startUpload.
func (c *call) startUpload() (reply, effect) {
	if _, bad := decodeBody(c.body, messageOf(nil), "start_upload_media_item_data_request"); bad != nil {
		return badRequest(bad.rule, bad.field, bad.words), nil
	}
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		name := "GoogleUpload_" + randomText(24)
		if c.sim.uploads == nil {
			c.sim.uploads = map[string]*upload{}
		}
		c.sim.uploads[name] = &upload{location: l.Name}
		return answer(dataRef{ResourceName: name})
	}
}

// uploadBytes is POST /upload/v1/media/{resourceName}: the raw bytes, answered by 200 without a body.
func (c *call) uploadBytes() (reply, effect) {
	u := c.sim.uploads[string(c.media)]
	if u == nil || !c.visible(c.sim.byName[u.location].Account) {
		return notFound(ruleUploadName), nil
	}
	if kind := c.parameter("uploadType"); kind != "media" {
		r := invalidArgument(ruleUploadType, "upload_type", "Only the upload type media is supported.")
		return r, nil
	}
	if len(c.body) == 0 {
		return *invalid(ruleUploadEmpty, missingValue, "media", "There are no bytes.", ""), nil
	}
	return reply{}, func(c *call) reply {
		u.content, u.used = c.body, false
		return reply{status: http.StatusOK}
	}
}

// readMediaItem decodes a create or patch body.
func readMediaItem(body []byte) (mediaItemBody, *reply) {
	canonical, bad := decodeBody(body, mediaItemShape(), "media_item")
	if bad != nil {
		r := badRequest(bad.rule, bad.field, bad.words)
		return mediaItemBody{}, &r
	}
	var m mediaItemBody
	if err := json.Unmarshal(canonical, &m); err != nil {
		panic("gbpsim: a body that fits its shape always decodes: " + err.Error())
	}
	return m, nil
}

// mediaItemShape is the v4 MediaItem of Google's reference (2026-09), output-only fields included; those are ignored.
func mediaItemShape() shape {
	str, num := shape{kind: text}, shape{kind: integer}
	return messageOf(map[string]shape{
		"name": str, "mediaFormat": enumOf("MediaItem.MediaFormat", "MEDIA_FORMAT_UNSPECIFIED", formatPhoto, formatVideo),
		"locationAssociation": messageOf(map[string]shape{
			"category":        enumOf("MediaItem.LocationAssociation.Category", append([]string{"CATEGORY_UNSPECIFIED"}, mediaCategories()...)...),
			"priceListItemId": str,
		}),
		"googleUrl": str, "thumbnailUrl": str, "createTime": {kind: timestamp}, "description": str, "sourceUrl": str,
		"dimensions":  messageOf(map[string]shape{"widthPixels": num, "heightPixels": num}),
		"insights":    messageOf(map[string]shape{"viewCount": num}),
		"attribution": messageOf(map[string]shape{"profileName": str, "profilePhotoUrl": str, "takedownUrl": str, "profileUrl": str}),
		"dataRef":     messageOf(map[string]shape{"resourceName": str}),
	})
}
