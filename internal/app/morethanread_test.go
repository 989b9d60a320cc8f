package app_test

import (
	"fmt"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// A store with more posts and photos than are read: the lists say so, and what was not read is not called deleted.
func TestMoreThanIsRead(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	oldest := d.made(1, "いちばん古い投稿です。").Items[0].Target.ID
	store := d.Locations[0]
	for n := range tools.MostListed + 1 {
		body := fmt.Appendf(nil, `{"topicType":"STANDARD","languageCode":"ja","summary":"よそで作られた投稿 %d"}`, n)
		if _, err := d.App.Google.CreateLocalPost(t.Context(), gbpapi.Ref{Tenant: stack.Tenant, Connection: store.ConnectionID}, store.Name.V4(store.Account), body); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Sim.AddMedia(d.name(1), gbpsim.MediaSeed{Category: "INTERIOR", Format: "PHOTO", SourceURL: fmt.Sprintf("https://example.com/%d.jpg", n)}); err != nil {
			t.Fatal(err)
		}
	}
	posts, photos, more := 0, 0, map[int64]int{}
	for args := (stack.Args{"page_size": 200}); ; {
		p := stack.Into[tools.PostPage](t, d.call("post.list", args))
		posts += len(p.Posts)
		for _, l := range p.MoreNotRead {
			more[int64(l)]++
		}
		if args = args.With("page_token", p.NextPageToken); p.NextPageToken == "" {
			break
		}
	}
	if posts != tools.MostListed || len(more) != 1 || more[d.IDs(1)[0]] == 0 {
		t.Errorf("%d posts, more at %v", posts, more)
	}
	if p := stack.Into[tools.PostDetail](t, d.call("post.get", stack.Args{"post_id": oldest})); p.Deleted || p.Content.Summary != "いちばん古い投稿です。" {
		t.Errorf("%+v", p)
	}
	clear(more)
	for args := (stack.Args{"page_size": 200}); ; {
		p := stack.Into[tools.MediaPage](t, d.call("media.list", args))
		for _, m := range p.Media {
			if int64(m.LocationID) == d.IDs(2)[1] {
				photos++
			}
		}
		for _, l := range p.MoreNotRead {
			more[int64(l)]++
		}
		if args = args.With("page_token", p.NextPageToken); p.NextPageToken == "" {
			break
		}
	}
	if photos != tools.MostListed || len(more) != 1 || more[d.IDs(2)[1]] == 0 {
		t.Errorf("%d photos, more at %v", photos, more)
	}
}
