package gbpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Google's page sizes of media.list (v4 reference, read 2026-11): 100 by default, at most 2500.
const (
	mediaPage    = 100
	maxMediaPage = 2500
)

// CreateMedia adds an item to the gallery of a location given by its v4 name. The body (gbp.MediaItem.Encode) goes out byte for
// byte. An item that comes back is accepted, never more: Google has no state for media, may show it a day later or not at all.
// A file that Google could not fetch or does not take is GBP_MEDIA_REJECTED.
//
// Not idempotent: Google takes the same item twice. After an Ambiguous error look for the item before sending again.
func (c *Client) CreateMedia(ctx context.Context, ref Ref, parent string, body []byte) (gbp.RemoteMedia, error) {
	k := call{name: "media.create", ref: ref, write: true, method: http.MethodPost, body: body, argument: mediaArgument}
	location, failed := k.parent(parent)
	if failed != nil {
		return gbp.RemoteMedia{}, failed
	}
	if len(body) == 0 {
		return gbp.RemoteMedia{}, k.fail(Refused, errs.Internal, "an empty body is never sent", nil)
	}
	k.url = c.v4(parent, "media")
	a, failed := c.do(ctx, k)
	if failed != nil {
		return gbp.RemoteMedia{}, failed
	}
	m := createdMedia(a.body)
	if m.Name.Location() != location {
		return gbp.RemoteMedia{}, k.odd(a, "a success without the name of a media item of this location")
	}
	return m, nil
}

// createdMedia reads the answer to a create. A name is enough: a field of an unexpected shape does not unmake the item.
func createdMedia(raw []byte) gbp.RemoteMedia {
	if m, err := gbp.ParseRemoteMedia(raw); err == nil {
		return m
	}
	o := object(raw)
	return gbp.RemoteMedia{Name: gbp.MediaName(text(o["name"])), Format: gbp.MediaFormat(text(o["mediaFormat"])), Raw: append(json.RawMessage(nil), raw...)}
}

// GetMedia reads one item. A 404 (GBP_NOT_FOUND) is also Google's answer to an account that may not see it, and to an item that
// does not show yet.
func (c *Client) GetMedia(ctx context.Context, ref Ref, name gbp.MediaName) (gbp.RemoteMedia, error) {
	k := call{name: "media.get", ref: ref, method: http.MethodGet}
	if failed := k.media(name); failed != nil {
		return gbp.RemoteMedia{}, failed
	}
	k.url = c.v4(string(name))
	return get(ctx, c, k, gbp.ParseRemoteMedia)
}

// DeleteMedia removes an item for good. Any complete 2xx is a success. On a repeat GBP_NOT_FOUND means that it is gone; on a
// first attempt that the target was wrong: the caller knows which it is.
func (c *Client) DeleteMedia(ctx context.Context, ref Ref, name gbp.MediaName) error {
	k := call{name: "media.delete", ref: ref, write: true, method: http.MethodDelete}
	if failed := k.media(name); failed != nil {
		return failed
	}
	k.url = c.v4(string(name))
	return c.remove(ctx, k)
}

// MediaPage is one page of a location's gallery.
type MediaPage struct {
	Items []gbp.RemoteMedia
	// Unreadable counts entries that could not be read; with any, the absence of an item proves nothing.
	Unreadable int
	// Total is Google's count over all pages, 0 where it does not tell.
	Total int
	// NextPageToken is "" on the last page. An empty page is not the last one while it has a token.
	NextPageToken string
}

// ListMedia reads one page of the location's own media. pageSize is cut to Google's 1 to 2500; 0 is 100. The order is not
// promised by Google, and a new item may be missing for a while.
func (c *Client) ListMedia(ctx context.Context, ref Ref, parent string, pageSize int, pageToken string) (MediaPage, error) {
	k := call{name: "media.list", ref: ref, method: http.MethodGet}
	if _, failed := k.parent(parent); failed != nil {
		return MediaPage{}, failed
	}
	if pageSize <= 0 {
		pageSize = mediaPage
	}
	q := url.Values{"pageSize": {strconv.Itoa(min(pageSize, maxMediaPage))}}
	if pageToken != "" {
		q.Set("pageToken", pageToken)
	}
	k.url = c.v4(parent, "media") + "?" + q.Encode()
	a, failed := c.do(ctx, k)
	if failed != nil {
		return MediaPage{}, failed
	}
	var page struct {
		MediaItems          []json.RawMessage `json:"mediaItems"`
		TotalMediaItemCount json.RawMessage   `json:"totalMediaItemCount"`
		NextPageToken       string            `json:"nextPageToken"`
	}
	if json.Unmarshal(a.body, &page) != nil {
		return MediaPage{}, k.unreadable(a)
	}
	out := MediaPage{Total: number(page.TotalMediaItemCount), NextPageToken: page.NextPageToken}
	out.Items, out.Unreadable = readable(page.MediaItems, gbp.ParseRemoteMedia)
	return out, nil
}

// MediaList is a location's gallery over several pages, each item once.
type MediaList struct {
	Items      []gbp.RemoteMedia
	Unreadable int
	// Total is Google's count as the last page told it.
	Total int
	// Truncated is true when more pages exist than were read; then the absence of an item proves nothing.
	Truncated bool
}

// AllMedia reads up to maxPages pages of 100.
func (c *Client) AllMedia(ctx context.Context, ref Ref, parent string, maxPages int) (MediaList, error) {
	var out MediaList
	var err error
	seen := map[gbp.MediaName]bool{}
	out.Truncated, err = pages(maxPages, func(token string) (string, error) {
		p, err := c.ListMedia(ctx, ref, parent, mediaPage, token)
		if err != nil {
			return "", err
		}
		out.Items = fresh(out.Items, p.Items, seen, func(m gbp.RemoteMedia) gbp.MediaName { return m.Name })
		out.Unreadable += p.Unreadable
		out.Total = max(out.Total, p.Total)
		return p.NextPageToken, nil
	})
	if err != nil {
		return MediaList{}, err
	}
	return out, nil
}

func (k call) media(n gbp.MediaName) *Error {
	parent, _, ok := strings.Cut(string(n), "/media/")
	if !ok || n.Location() == "" {
		return k.fail(Refused, errs.Internal, "not the name of a media item", nil)
	}
	_, failed := k.parent(parent)
	return failed
}

// mediaArgument is our name for a field of Google's MediaItem.
func mediaArgument(field string) string {
	f := strings.ToLower(camel.ReplaceAllString(field, "${1}_${2}"))
	f = strings.TrimPrefix(strings.TrimPrefix(f, "media_item."), "media.")
	f = subscript.ReplaceAllString(f, "")
	switch head, _, _ := strings.Cut(f, "."); head {
	case "location_association":
		return "media.category"
	case "source_url", "media_format", "dimensions", "data_ref":
		return "media.source_url"
	case "description":
		return "media.description"
	}
	return ""
}
