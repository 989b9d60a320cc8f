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

// maxPostPage is Google's page size limit of localPosts.list (v4 reference, read 2026-11).
const maxPostPage = 100

// CreateLocalPost publishes a post at a location given by its v4 name "accounts/{a}/locations/{l}". The body goes out byte
// for byte. A post that comes back is a fact; whether the public sees it is in its state (REJECTED comes with a success, too).
//
// Not idempotent: Google takes the same post twice. After an Ambiguous error look for the post before sending again.
func (c *Client) CreateLocalPost(ctx context.Context, ref Ref, parent string, body []byte) (gbp.RemotePost, error) {
	k := call{name: "localPosts.create", ref: ref, write: true, method: http.MethodPost, body: body, argument: postArgument}
	location, failed := k.parent(parent)
	if failed != nil {
		return gbp.RemotePost{}, failed
	}
	if len(body) == 0 {
		return gbp.RemotePost{}, k.fail(Refused, errs.Internal, "an empty body is never sent", nil)
	}
	k.url = c.v4(parent, "localPosts")
	a, failed := c.do(ctx, k)
	if failed != nil {
		return gbp.RemotePost{}, failed
	}
	p, ok := createdPost(a.body)
	if !ok || p.Name.Location() != location {
		return gbp.RemotePost{}, k.odd(a, "a success without the name of a post of this location")
	}
	return p, nil
}

// createdPost reads the answer to a create. A name is enough: a field of an unexpected shape does not unmake the post.
func createdPost(raw []byte) (gbp.RemotePost, bool) {
	if p, err := gbp.ParseRemotePost(raw); err == nil {
		return p, p.Name.Valid()
	}
	o := object(raw)
	p := gbp.RemotePost{Name: gbp.PostName(text(o["name"])), State: text(o["state"]), Raw: append(json.RawMessage(nil), raw...)}
	return p, p.Name.Valid()
}

// GetLocalPost reads one post. A 404 (GBP_NOT_FOUND) is also Google's answer to an account that may not see it.
func (c *Client) GetLocalPost(ctx context.Context, ref Ref, name gbp.PostName) (gbp.RemotePost, error) {
	k := call{name: "localPosts.get", ref: ref, method: http.MethodGet}
	if failed := k.post(name); failed != nil {
		return gbp.RemotePost{}, failed
	}
	k.url = c.v4(string(name))
	return get(ctx, c, k, gbp.ParseRemotePost)
}

// DeleteLocalPost removes a post. Any complete 2xx is a success. On a repeat GBP_NOT_FOUND means that it is gone; on a first
// attempt that the target was wrong: the caller knows which it is.
func (c *Client) DeleteLocalPost(ctx context.Context, ref Ref, name gbp.PostName) error {
	k := call{name: "localPosts.delete", ref: ref, write: true, method: http.MethodDelete}
	if failed := k.post(name); failed != nil {
		return failed
	}
	k.url = c.v4(string(name))
	return c.remove(ctx, k)
}

// PostPage is one page of a location's posts.
type PostPage struct {
	Posts []gbp.RemotePost
	// Unreadable counts entries that could not be read; with any, the absence of a post proves nothing.
	Unreadable int
	// NextPageToken is "" on the last page. An empty page is not the last one while it has a token.
	NextPageToken string
}

// ListLocalPosts reads one page. pageSize is cut to Google's 1 to 100; 0 is 100. The order is not promised by Google.
func (c *Client) ListLocalPosts(ctx context.Context, ref Ref, parent string, pageSize int, pageToken string) (PostPage, error) {
	k := call{name: "localPosts.list", ref: ref, method: http.MethodGet}
	if _, failed := k.parent(parent); failed != nil {
		return PostPage{}, failed
	}
	if pageSize <= 0 || pageSize > maxPostPage {
		pageSize = maxPostPage
	}
	q := url.Values{"pageSize": {strconv.Itoa(pageSize)}}
	if pageToken != "" {
		q.Set("pageToken", pageToken)
	}
	k.url = c.v4(parent, "localPosts") + "?" + q.Encode()
	a, failed := c.do(ctx, k)
	if failed != nil {
		return PostPage{}, failed
	}
	var page struct {
		LocalPosts    []json.RawMessage `json:"localPosts"`
		NextPageToken string            `json:"nextPageToken"`
	}
	if json.Unmarshal(a.body, &page) != nil {
		return PostPage{}, k.unreadable(a)
	}
	out := PostPage{NextPageToken: page.NextPageToken}
	out.Posts, out.Unreadable = readable(page.LocalPosts, gbp.ParseRemotePost)
	return out, nil
}

// PostList are a location's posts over several pages, each post once.
type PostList struct {
	Posts      []gbp.RemotePost
	Unreadable int
	// Truncated is true when more pages exist than were read; then the absence of a post proves nothing.
	Truncated bool
}

// AllLocalPosts reads up to maxPages pages of 100.
func (c *Client) AllLocalPosts(ctx context.Context, ref Ref, parent string, maxPages int) (PostList, error) {
	var out PostList
	var err error
	seen := map[gbp.PostName]bool{}
	out.Truncated, err = pages(maxPages, func(token string) (string, error) {
		p, err := c.ListLocalPosts(ctx, ref, parent, maxPostPage, token)
		if err != nil {
			return "", err
		}
		out.Posts = fresh(out.Posts, p.Posts, seen, func(p gbp.RemotePost) gbp.PostName { return p.Name })
		out.Unreadable += p.Unreadable
		return p.NextPageToken, nil
	})
	if err != nil {
		return PostList{}, err
	}
	return out, nil
}

func (k call) post(n gbp.PostName) *Error {
	if !n.Valid() {
		return k.fail(Refused, errs.Internal, "not the name of a post", nil)
	}
	parent, _, _ := strings.Cut(string(n), "/localPosts/")
	_, failed := k.parent(parent)
	return failed
}
