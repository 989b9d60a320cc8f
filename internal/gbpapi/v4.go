package gbpapi

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// get makes a call that reads one thing.
func get[T any](ctx context.Context, c *Client, k call, parse func(json.RawMessage) (T, error)) (none T, err error) {
	a, failed := c.do(ctx, k)
	if failed != nil {
		return none, failed
	}
	thing, err := parse(a.body)
	if err != nil {
		return none, k.unreadable(a)
	}
	return thing, nil
}

// remove makes a call that deletes. Any complete 2xx is a success.
func (c *Client) remove(ctx context.Context, k call) error {
	if _, failed := c.do(ctx, k); failed != nil {
		return failed
	}
	return nil
}

// readable are the entries of a page that can be read, and how many cannot.
func readable[T any](page []json.RawMessage, parse func(json.RawMessage) (T, error)) (out []T, unreadable int) {
	for _, raw := range page {
		thing, err := parse(raw)
		if err != nil {
			unreadable++
			continue
		}
		out = append(out, thing)
	}
	return out, unreadable
}

// fresh appends what an earlier page did not hold: what is made while a list is read pushes others onto the next page.
func fresh[T any, N comparable](to, page []T, seen map[N]bool, name func(T) N) []T {
	for _, thing := range page {
		if n := name(thing); !seen[n] {
			seen[n] = true
			to = append(to, thing)
		}
	}
	return to
}

// pages reads page after page until there is no token, whatever the pages hold. It stops as truncated at the limit and when
// a token repeats, which would never end.
func pages(limit int, read func(token string) (next string, err error)) (truncated bool, err error) {
	seen := map[string]bool{}
	token := ""
	for range limit {
		if token, err = read(token); err != nil || token == "" {
			return false, err
		}
		if seen[token] {
			return true, nil
		}
		seen[token] = true
	}
	return true, nil
}

// v4 is the address of a v4 resource; the parts are names whose segments are escaped.
func (c *Client) v4(parts ...string) string {
	var segments []string
	for _, p := range parts {
		for s := range strings.SplitSeq(p, "/") {
			segments = append(segments, url.PathEscape(s))
		}
	}
	return c.base.URL(endpoint.MyBusiness) + "v4/" + strings.Join(segments, "/")
}

// parent refuses what is no v4 location name, before anything is sent: Google would answer with a 404 that looks like a
// missing location.
func (k call) parent(s string) (gbp.LocationName, *Error) {
	account, location, err := gbp.ParseLocationName(s)
	if err != nil || account == "" || account == "accounts/-" {
		return "", k.fail(Refused, errs.Internal, "not a v4 location name; accounts/{a}/locations/{l} is needed", nil)
	}
	return location, nil
}

// unreadable is a read's 2xx answer that is not what it should be.
func (k call) unreadable(a answer) *Error { return k.odd(a, "the answer cannot be read") }

// odd is a complete 2xx answer that does not say what it should.
func (k call) odd(a answer, note string) *Error {
	e := k.unclear(note, nil)
	e.Fault.HTTPStatus = a.status
	return e
}
