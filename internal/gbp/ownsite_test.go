package gbp_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// A store's website makes its whole domain the tenant's own, but of a host that many businesses share its page alone.
func TestOwnSite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		site, link string
		own        bool
	}{
		{"https://www.komorebi.example/shibuya", "https://order.komorebi.example/x", true},
		{"https://www.komorebi.example", "https://komorebi.example.evil.example/", false},
		{"https://www.facebook.com/komorebi", "https://facebook.com/Komorebi/posts/1", true},
		{"https://www.facebook.com/komorebi", "https://facebook.com/attacker", false},
		{"https://www.facebook.com/komorebi", "https://facebook.com/komorebi-evil", false},
		{"https://www.facebook.com/komorebi", "https://m.facebook.com/attacker", false},
		{"https://www.facebook.com/profile.php?id=1", "https://www.facebook.com/profile.php?id=1", true},
		{"https://www.facebook.com/profile.php?id=1", "https://www.facebook.com/profile.php?id=2", false},
		{"https://lin.ee/AbC", "https://lin.ee/xyz", false},
		{"https://www.instagram.com/", "https://www.instagram.com/anybody", false},
		{"https://ja-jp.facebook.com/komorebi", "https://ja-jp.facebook.com/attacker", false},
		{"https://page.line.me/komorebi", "https://page.line.me/attacker", false},
		{"https://sites.google.com/view/komorebi", "https://sites.google.com/view/komorebi/menu", true},
		{"https://sites.google.com/view/komorebi", "https://sites.google.com/view/attacker", false},
		{"https://sites.google.com/view/komorebi", "https://sites.google.com/view/komorebi/../attacker", false},
		{"https://tabelog.com/tokyo/A1303/A130301/13000001/", "https://tabelog.com/tokyo/A1303/A130301/13000001/dtlmenu/", true},
		{"https://tabelog.com/tokyo/A1303/A130301/13000001/", "https://tabelog.com/tokyo/A1303/A130301/13000002/", false},
		{"https://www.youtube.com/channel/UCa", "https://www.youtube.com/channel/UCb", false},
		{"https://www.facebook.com/pages/komorebi/1", "https://www.facebook.com/pages/attacker/2", false},
		{"https://www.google.com/maps?cid=1", "https://www.google.com/maps?cid=2", false},
		{"https://www.instagram.com/komorebi.coffee/?hl=ja", "https://www.instagram.com/komorebi.coffee/p/1", true},
		{"https://lin.ee/AbC", "https://lin.ee/aBC", false},
		{"https://www.facebook.com/komorebi/about", "https://facebook.com/komorebi/posts/1", true},
		{"https://komorebi.jimdofree.com/", "https://komorebi.jimdofree.com/menu", true},
		{"https://komorebi.jimdofree.com/", "https://evil.jimdofree.com/menu", false},
	} {
		if got := gbp.DomainAllowed(c.link, []string{gbp.OwnSite(c.site)}); got != c.own {
			t.Errorf("%s of %s: %t", c.link, c.site, got)
		}
	}
	if !gbp.DomainAllowed("https://facebook.com/anything", []string{"facebook.com"}) {
		t.Error("a host that the policy names is allowed as a whole")
	}
	if own := []string{"Facebook.com/Own"}; !gbp.DomainAllowed("https://www.facebook.com/own/posts/1", own) || gbp.DomainAllowed("https://www.facebook.com/owner", own) {
		t.Error("a page that the policy names is allowed however it is written, and no other")
	}
}
