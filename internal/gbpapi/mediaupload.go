package gbpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// Media without a public address takes three calls: StartUpload names a place, UploadBytes fills it, CreateMedia makes an item
// of it. The first two leave nothing that anybody sees, so they fail like reads and may be made again; only the third is a
// write. What they left behind unused, Google forgets.

// StartUpload asks for the name of a place for bytes. The place belongs to the location.
func (c *Client) StartUpload(ctx context.Context, ref Ref, parent string) (resourceName string, err error) {
	k := call{name: "media.startUpload", ref: ref, method: http.MethodPost, body: []byte("{}")}
	if _, failed := k.parent(parent); failed != nil {
		return "", failed
	}
	k.url = c.v4(parent, "media") + ":startUpload"
	a, failed := c.do(ctx, k)
	if failed != nil {
		return "", failed
	}
	var out gbp.MediaDataRef
	if json.Unmarshal(a.body, &out) != nil || !uploadName(out.ResourceName) {
		return "", k.unreadable(a)
	}
	return out.ResourceName, nil
}

// UploadBytes sends the content as it is, under its own type. Google answers 200 with an empty body; that is the success, and
// it makes no item yet.
func (c *Client) UploadBytes(ctx context.Context, ref Ref, resourceName string, content []byte, contentType string) error {
	k := call{
		name: "media.upload", ref: ref, method: http.MethodPost, body: content,
		header: http.Header{"Content-Type": {contentType}},
	}
	switch {
	case !uploadName(resourceName):
		return k.fail(Refused, errs.Internal, "not the name of an upload", nil)
	case len(content) == 0:
		return k.fail(Refused, errs.Internal, "an empty file is never sent", nil)
	case contentType == "" || strings.ContainsFunc(contentType, func(r rune) bool { return r < ' ' || r >= 0x7f }):
		return k.fail(Refused, errs.Internal, "no content type", nil)
	}
	segments := strings.Split(resourceName, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	k.url = c.base.URL(endpoint.MyBusiness) + "upload/v1/media/" + strings.Join(segments, "/") + "?upload_type=media"
	if _, failed := c.do(ctx, k); failed != nil {
		return failed
	}
	return nil
}

// uploadName tells whether a name can stand in a path: it is Google's and opaque.
func uploadName(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return false
		}
	}
	return len(s) <= 4096
}

// Upload is how far the three calls for one item have come. Its zero value is the start. Keep it with the work: a later attempt
// goes on from there.
type Upload struct {
	// ResourceName is set once the place is known.
	ResourceName string `json:"resource_name,omitempty"`
	// Sent is true once the bytes are there.
	Sent bool `json:"sent,omitempty"`
}

// CreateMediaFromBytes makes the calls that are still to be made and moves progress on after each. After a failure call it again
// with the same progress: it goes on from the call that failed. A refusal for good sets progress back to the start, because the
// place may be what was refused. An Ambiguous error comes from the last call only; look for the item then before calling again.
// item has neither SourceURL nor DataRef.
func (c *Client) CreateMediaFromBytes(ctx context.Context, ref Ref, parent string, item gbp.MediaItem, content []byte, contentType string, progress *Upload) (gbp.RemoteMedia, error) {
	m, err := c.createFromBytes(ctx, ref, parent, item, content, contentType, progress)
	if e, ok := errors.AsType[*Error](err); ok && e.Class == Refused {
		*progress = Upload{}
	}
	return m, err
}

func (c *Client) createFromBytes(ctx context.Context, ref Ref, parent string, item gbp.MediaItem, content []byte, contentType string, progress *Upload) (gbp.RemoteMedia, error) {
	if progress.ResourceName == "" {
		name, err := c.StartUpload(ctx, ref, parent)
		if err != nil {
			return gbp.RemoteMedia{}, err
		}
		*progress = Upload{ResourceName: name}
	}
	if !progress.Sent {
		if err := c.UploadBytes(ctx, ref, progress.ResourceName, content, contentType); err != nil {
			return gbp.RemoteMedia{}, err
		}
		progress.Sent = true
	}
	item.SourceURL, item.DataRef = "", &gbp.MediaDataRef{ResourceName: progress.ResourceName}
	return c.CreateMedia(ctx, ref, parent, item.Encode())
}
