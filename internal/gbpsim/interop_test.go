//go:build interop

package gbpsim_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/npm"
)

// googlePlay is what play.mjs prints.
type googlePlay struct {
	Accounts  []struct{ Name, Type, AccountName string }
	Account   struct{ Name, Role string }
	Locations []struct{ Name, Title, StoreCode string }
	Patched   struct{ Labels []string }
	Checked   int
	Read      struct {
		Title        string
		Labels       []string
		SpecialHours json.RawMessage
		RegularHours json.RawMessage
		Metadata     struct{ PlaceID string }
	}
	Updated    struct{ Location struct{ Title string } }
	Attributes struct{ Attributes []struct{ Name string } }
	Known      int
	Categories []struct{ Name, DisplayName string }
	Metrics    struct{ MultiDailyMetricTimeSeries []json.RawMessage }
	Post       struct{ Name, State, Summary string }
	Changed    struct{ Name, Summary string }
	Posts      []struct{ Name, Summary string }
	Reviews    []struct{ Name string }
	Reply      struct{ Comment string }
	Answered   struct {
		Name        string
		ReviewReply struct{ Comment string }
	}
	Photo                             struct{ Name, GoogleURL string }
	Deleted                           json.RawMessage
	NoMask, NoPost, BadPost, BadField struct {
		Status        int
		Word, Message string
		Unexpected    json.RawMessage
	}
	Renewed string
	Another bool
}

// Google's own client packages, which know nothing of a simulator and send to Google's addresses, read and write a store here.
func TestInteropGoogleClients(t *testing.T) {
	t.Parallel()
	box := npm.New(t, os.DirFS("testdata/interop/google"))
	b := setup(t, gbpsim.Options{Strict: true})
	argument := must(json.Marshal(map[string]string{"client": "client", "secret": "hush", "refresh": gbpsim.DemoRefreshToken, "category": "categories/gcid:cafe"}))
	r := box.Run(t, []string{"GBPSIM_URL=" + b.base}, "--import", "./divert.mjs", "play.mjs", string(argument))
	if r.Code != 0 {
		t.Fatalf("play.mjs: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	var got googlePlay
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatalf("play.mjs: %v\n%s", err, r.Stdout)
	}
	want := must(b.sim.Store(b.store[0]))
	title := strings.Trim(string(want.Fields["title"]), `"`)
	for what, ok := range map[string]bool{
		"accounts":             len(got.Accounts) == 2 && got.Account.Name == string(gbpsim.DemoGroup),
		"locations by pages":   len(got.Locations) == 4 && got.Locations[0].Name == string(b.store[0]) && got.Locations[0].Title == title && got.Locations[0].StoreCode != "",
		"an edit":              slices.Equal(got.Patched.Labels, []string{"年末", "Terrace"}) && slices.Equal(got.Read.Labels, got.Patched.Labels) && string(want.Fields["labels"]) == `["年末","Terrace"]`,
		"a check only":         got.Checked == 200 && got.Read.Title == title && got.Updated.Location.Title == title,
		"hours":                strings.Contains(string(got.Read.SpecialHours), `"closed":true`) && len(got.Read.RegularHours) > 0 && got.Read.Metadata.PlaceID != "",
		"attributes":           len(got.Attributes.Attributes) == 1 && got.Attributes.Attributes[0].Name == "attributes/has_takeout" && got.Known > 3,
		"categories":           len(got.Categories) == 1 && got.Categories[0].DisplayName != "",
		"metrics":              len(got.Metrics.MultiDailyMetricTimeSeries) == 1,
		"a post":               got.Post.State == "LIVE" && got.Changed.Summary == "書き直した投稿です。" && len(got.Posts) == 1 && got.Posts[0] == got.Changed,
		"a reply":              got.Reply.Comment == "ありがとうございます。" && got.Answered.ReviewReply.Comment == got.Reply.Comment,
		"a photo":              strings.HasPrefix(got.Photo.Name, string(gbpsim.DemoGroup)+"/"+string(b.store[0])+"/media/") && got.Photo.GoogleURL != "",
		"a deletion":           string(got.Deleted) == `{}`,
		"an edit without mask": got.NoMask.Status == 400 && got.NoMask.Word == "INVALID_ARGUMENT",
		"a lost post":          got.NoPost.Status == 404 && got.NoPost.Word == "NOT_FOUND",
		"a long post":          got.BadPost.Status == 400 && got.BadPost.Word == "INVALID_ARGUMENT",
		"a strange field":      got.BadField.Status == 400 && strings.Contains(got.BadField.Message, "name2"),
		"another token":        got.Renewed == title && got.Another,
	} {
		if !ok {
			t.Errorf("%s: %s", what, r.Stdout)
		}
	}
	if posts := b.sim.Posts(b.store[0]); len(posts) != 1 || string(posts[0].Name) != got.Changed.Name || posts[0].Summary != "書き直した投稿です。" {
		t.Errorf("posts: %+v", posts)
	}
	effects := map[gbpsim.Route]int{}
	for _, e := range b.sim.Entries(gbpsim.EntryFilter{Effects: true}) {
		effects[e.Route]++
	}
	for route, n := range map[gbpsim.Route]int{
		gbpsim.RouteLocationsPatch: 1, gbpsim.RouteLocationsUpdateAttributes: 1, gbpsim.RouteLocalPostsCreate: 2, gbpsim.RouteLocalPostsPatch: 1, gbpsim.RouteLocalPostsDelete: 1,
		gbpsim.RouteReviewsReply: 1, gbpsim.RouteMediaCreate: 1,
	} {
		if effects[route] != n {
			t.Errorf("%s: %d effects, want %d", route, effects[route], n)
		}
	}
	if n := len(b.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteToken})); n != 2 {
		t.Errorf("%d refreshes", n)
	}
}
