package gbp_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// TestV4Names: the three kinds of names are read by one rule: what could not be one of Google's has no location, so nothing
// is asked of Google with it.
func TestV4Names(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(string) gbp.LocationName{
		"localPosts": func(s string) gbp.LocationName { return gbp.PostName(s).Location() },
		"reviews":    func(s string) gbp.LocationName { return gbp.ReviewName(s).Location() },
		"media":      func(s string) gbp.LocationName { return gbp.MediaName(s).Location() },
	}
	for collection, location := range kinds {
		good := "accounts/1/locations/22/" + collection + "/AbFvOqk_x-9="
		if got := location(good); got != "locations/22" {
			t.Errorf("%s: %q", good, got)
		}
		for _, s := range []string{
			"", "accounts/1/locations/22", "accounts//locations/22/" + collection + "/a", "accounts/1/locations//" + collection + "/a", "accounts/1/locations/22/" + collection + "/",
			"accounts/1/locations/../" + collection + "/a", "accounts/1/locations/22/" + collection + "/..", "accounts/1/locations/22/" + collection + "/a/b",
			"accounts/1/locations/22/" + collection + "/a?x=1", "accounts/1/locations/22/" + collection + "/a%2fb", "accounts/1/locations/22/" + collection + "/a#b",
			"accounts/1/locations/22/" + collection + "/a b", "accounts/1/locations/22/" + collection + "/a\n", "accounts/1/locations/22/" + collection + "/\xff",
			"accounts/1/locations/22/" + collection + "/a:b", "accounts/1/locations/22/customers/a", "/" + good, good + "/", "Accounts/1/locations/22/" + collection + "/a",
		} {
			if got := location(s); got != "" {
				t.Errorf("%q: %q", s, got)
			}
		}
	}
	if gbp.PostName("accounts/1/locations/2/reviews/3").Valid() || !gbp.PostName("accounts/1/locations/2/localPosts/3").Valid() {
		t.Error("a post's name is one of localPosts")
	}
	if n := gbp.ReviewName("accounts/1/locations/2/reviews/a"); n.Account() != "accounts/1" || gbp.ReviewName("accounts/./locations/2/reviews/a").Account() != "" {
		t.Error(n.Account())
	}
}
