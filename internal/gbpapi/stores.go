package gbpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	businessinformation "google.golang.org/api/mybusinessbusinessinformation/v1"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// RemoteLocation is a location as Google returned it.
type RemoteLocation struct {
	// Location is what the mirror keeps of it, without our own id and zone.
	Location gbp.Location
	// Raw is the whole answer, members that this version does not know included: what snapshots are made of.
	Raw json.RawMessage
}

// ReadLocation reads one location with every field that the mirror keeps. A 404 (GBP_NOT_FOUND) is also Google's answer to an
// account that may not see it.
func (c *Client) ReadLocation(ctx context.Context, ref Ref, account gbp.AccountName, name gbp.LocationName) (RemoteLocation, error) {
	k := call{name: "locations.get", ref: ref, method: http.MethodGet}
	if failed := k.location(name); failed != nil {
		return RemoteLocation{}, failed
	}
	k.url = c.v1(string(name), url.Values{"readMask": {readMask}})
	at := c.now()
	a, failed := c.do(ctx, k)
	if failed != nil {
		return RemoteLocation{}, failed
	}
	return c.remote(k, ref, account, name, a, at)
}

// remote reads an answer, asked for at at, that has to be the named location.
func (c *Client) remote(k call, ref Ref, account gbp.AccountName, name gbp.LocationName, a answer, at time.Time) (RemoteLocation, error) {
	a.body = withoutNUL(a.body) // the same texts in both, or they would seem to differ
	var l businessinformation.Location
	if json.Unmarshal(a.body, &l) != nil || l.Name != string(name) {
		return RemoteLocation{}, k.unreadable(a)
	}
	loc, failed := c.location(k, ref, account, &l, at)
	if failed != nil {
		return RemoteLocation{}, failed
	}
	return RemoteLocation{Location: loc, Raw: bytes.Clone(a.body)}, nil
}

// Translate reads a whole location of Google's that did not come from one answer: what was read before an edit with the edit's
// result laid over it. The error is Ambiguous for what is no location.
func (c *Client) Translate(ref Ref, account gbp.AccountName, name gbp.LocationName, raw []byte) (RemoteLocation, error) {
	return c.remote(call{name: "locations.get", ref: ref}, ref, account, name, answer{body: raw}, c.now())
}

// PatchLocation edits the masked fields of a location; the body goes out byte for byte, and a masked field that it lacks is
// emptied. The answer is Google's, as it came: the merchant's view, which the public may see much later or never. With validateOnly
// Google only checks, and the answer is {}.
//
// The same patch twice has one effect and costs two edits. After an Ambiguous error read the location before sending again.
func (c *Client) PatchLocation(ctx context.Context, ref Ref, name gbp.LocationName, body []byte, mask []string, validateOnly bool) (json.RawMessage, error) {
	k := call{name: "locations.patch", ref: ref, write: !validateOnly, method: http.MethodPatch, body: body, argument: storeArgument}
	if failed := k.location(name); failed != nil {
		return nil, failed
	}
	if failed := k.masked(body, mask); failed != nil {
		return nil, failed
	}
	q := url.Values{"updateMask": {strings.Join(mask, ",")}}
	if validateOnly {
		q.Set("validateOnly", "true")
	}
	k.url = c.v1(string(name), q)
	a, failed := c.do(ctx, k)
	if failed != nil {
		return nil, failed
	}
	return k.confirmed(a, string(name), !validateOnly)
}

// confirmed checks that a success is one: an object, and after a write the one that was named.
func (k call) confirmed(a answer, name string, wantName bool) (json.RawMessage, error) {
	o := object(a.body)
	if o == nil || wantName && text(o["name"]) != name {
		return nil, k.odd(a, "a success without the resource that was written")
	}
	return bytes.Clone(withoutNUL(a.body)), nil
}

// masked refuses a body or mask that must never be sent: without a mask Google could update everything that is populated.
func (k call) masked(body []byte, mask []string) *Error {
	if object(body) == nil {
		return k.fail(Refused, errs.Internal, "the body of an edit is a JSON object", nil)
	}
	if len(mask) == 0 {
		return k.fail(Refused, errs.Internal, "an edit without a mask is never sent", nil)
	}
	for _, m := range mask {
		if m == "" || strings.Trim(m, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./") != "" {
			return k.fail(Refused, errs.Internal, "not a field of a mask", nil)
		}
	}
	return nil
}

// GoogleVersion is Google's own view of a location.
type GoogleVersion struct {
	// Raw is the live version of the fields.
	Raw json.RawMessage
	// Diff are field paths in which it differs from the merchant's, Pending those with a merchant's edit still in flight.
	Diff    []string
	Pending []string
}

// GetGoogleUpdated reads what the public sees of a location and how that differs.
func (c *Client) GetGoogleUpdated(ctx context.Context, ref Ref, name gbp.LocationName) (GoogleVersion, error) {
	k := call{name: "locations.getGoogleUpdated", ref: ref, method: http.MethodGet}
	if failed := k.location(name); failed != nil {
		return GoogleVersion{}, failed
	}
	k.url = c.v1(string(name)+":getGoogleUpdated", url.Values{"readMask": {readMask}})
	a, failed := c.do(ctx, k)
	if failed != nil {
		return GoogleVersion{}, failed
	}
	o := object(withoutNUL(a.body))
	if object(o["location"]) == nil {
		return GoogleVersion{}, k.unreadable(a)
	}
	return GoogleVersion{Raw: bytes.Clone(o["location"]), Diff: maskOf(o["diffMask"]), Pending: maskOf(o["pendingMask"])}, nil
}

func maskOf(raw json.RawMessage) []string {
	return strings.FieldsFunc(text(raw), func(r rune) bool { return r == ',' || r == ' ' })
}

// GetAttributes reads the attributes resource {name, attributes} of a location.
func (c *Client) GetAttributes(ctx context.Context, ref Ref, name gbp.LocationName) (json.RawMessage, error) {
	k := call{name: "locations.getAttributes", ref: ref, method: http.MethodGet}
	if failed := k.location(name); failed != nil {
		return nil, failed
	}
	k.url = c.v1(string(name)+"/attributes", nil)
	a, failed := c.do(ctx, k)
	if failed != nil {
		return nil, failed
	}
	return k.confirmed(a, string(name)+"/attributes", false)
}

// UpdateAttributes edits the masked attributes ("attributes/has_wifi") of a location; the body goes out byte for byte, and a masked
// attribute that it lacks is removed. The answer is the whole resource. For repeats see PatchLocation.
func (c *Client) UpdateAttributes(ctx context.Context, ref Ref, name gbp.LocationName, body []byte, mask []string) (json.RawMessage, error) {
	k := call{name: "locations.updateAttributes", ref: ref, write: true, method: http.MethodPatch, body: body, argument: storeArgument}
	if failed := k.location(name); failed != nil {
		return nil, failed
	}
	if failed := k.masked(body, mask); failed != nil {
		return nil, failed
	}
	k.url = c.v1(string(name)+"/attributes", url.Values{"attributeMask": {strings.Join(mask, ",")}})
	a, failed := c.do(ctx, k)
	if failed != nil {
		return nil, failed
	}
	return k.confirmed(a, string(name)+"/attributes", true)
}

// location refuses what is no v1 location name, before anything is sent: Google would answer with a 404 that looks like a
// missing location.
func (k call) location(name gbp.LocationName) *Error {
	a, n, err := gbp.ParseLocationName(string(name))
	if err != nil || a != "" || n != name || strings.Contains(string(n), ":") || strings.ContainsFunc(string(n), func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return k.fail(Refused, errs.Internal, "not a v1 location name; locations/{l} is needed", nil)
	}
	return nil
}

// v1 is the address of a resource of Business Information; its segments are escaped, a custom method behind a colon is not.
func (c *Client) v1(resource string, q url.Values) string {
	segments := strings.Split(resource, "/")
	for i, s := range segments {
		id, method, custom := strings.Cut(s, ":")
		segments[i] = url.PathEscape(id)
		if custom {
			segments[i] += ":" + method
		}
	}
	out := c.base.URL(endpoint.BusinessInformation) + "v1/" + strings.Join(segments, "/")
	if len(q) > 0 {
		out += "?" + q.Encode()
	}
	return out
}
