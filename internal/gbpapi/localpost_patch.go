package gbpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// PatchLocalPost changes the masked fields of a post; the mask is in Google's lowerCamel spelling. A masked field that the
// body lacks is cleared. Google answers a missing mask with a bare "invalid argument" (v4 reference, read 2026-11), so an
// empty one is refused here. Repeating it leaves the same post.
func (c *Client) PatchLocalPost(ctx context.Context, ref Ref, name gbp.PostName, body []byte, mask []string) (gbp.RemotePost, error) {
	k := call{name: "localPosts.patch", ref: ref, write: true, method: http.MethodPatch, body: body, argument: postArgument}
	if failed := k.post(name); failed != nil {
		return gbp.RemotePost{}, failed
	}
	if len(mask) == 0 || len(body) == 0 {
		return gbp.RemotePost{}, k.fail(Refused, errs.Internal, "a patch needs a mask and a body", nil)
	}
	k.url = c.v4(string(name)) + "?" + url.Values{"updateMask": {strings.Join(mask, ",")}}.Encode()
	a, failed := c.do(ctx, k)
	if failed != nil {
		return gbp.RemotePost{}, failed
	}
	p, ok := createdPost(a.body)
	if !ok || p.Name != name {
		return gbp.RemotePost{}, k.odd(a, "a success without the post that was changed")
	}
	return p, nil
}
