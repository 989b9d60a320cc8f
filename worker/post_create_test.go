package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// google lists what it is given.
type google struct {
	list gbpapi.PostList
	err  error
	sent []byte
	worker.Posts
	ref gbpapi.Ref
	at  string
}

func (g *google) CreateLocalPost(_ context.Context, ref gbpapi.Ref, parent string, body []byte) (gbp.RemotePost, error) {
	g.sent, g.ref, g.at = body, ref, parent
	return gbp.RemotePost{Name: "accounts/1/locations/2/localPosts/3", State: "LIVE", Post: gbp.LocalPost{Summary: "x"}, Raw: []byte(`{"name":"n"}`)}, g.err
}

func (g *google) AllLocalPosts(context.Context, gbpapi.Ref, string, int) (gbpapi.PostList, error) {
	return g.list, g.err
}

func TestPostCreateSendsTheStoredBytes(t *testing.T) {
	t.Parallel()
	g := &google{}
	i := batch.Item{Connection: "google", Account: "accounts/1", LocationName: "locations/2", Payload: []byte(`{"summary":"<b>&"}`)}
	e, err := worker.PostCreate{Google: g}.Send(t.Context(), "komorebi", i)
	if err != nil || string(g.sent) != string(i.Payload) || g.at != "accounts/1/locations/2" || g.ref != (gbpapi.Ref{Tenant: "komorebi", Connection: "google"}) {
		t.Errorf("sent %s to %s for %+v, %v", g.sent, g.at, g.ref, err)
	}
	if e.Publication != batch.Live || e.Version == "" || string(e.After) != `{"name":"n"}` {
		t.Errorf("%+v", e)
	}
}

func TestPostCreateFind(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	mine := gbp.LocalPost{TopicType: "STANDARD", Summary: "本日開店"}
	post := func(name string, p gbp.LocalPost, at time.Duration) gbp.RemotePost {
		return gbp.RemotePost{Name: gbp.PostName(name), Post: p, CreateTime: since.Add(at), State: "LIVE"}
	}
	other := mine
	other.Summary = "別の文"
	spaced := mine
	spaced.Summary = " 本日開店\r\n" // as Google may give it back
	for name, c := range map[string]struct {
		list gbpapi.PostList
		err  error
		want []string
		fail bool
	}{
		"nothing":                  {gbpapi.PostList{}, nil, nil, false},
		"mine":                     {gbpapi.PostList{Posts: []gbp.RemotePost{post("a", mine, 0)}}, nil, []string{"a"}, false},
		"oldest first":             {gbpapi.PostList{Posts: []gbp.RemotePost{post("new", mine, time.Hour), post("old", mine, time.Minute)}}, nil, []string{"old", "new"}, false},
		"made before":              {gbpapi.PostList{Posts: []gbp.RemotePost{post("a", mine, -time.Microsecond)}}, nil, nil, false},
		"other content":            {gbpapi.PostList{Posts: []gbp.RemotePost{post("a", other, time.Minute)}}, nil, nil, false},
		"normalised content":       {gbpapi.PostList{Posts: []gbp.RemotePost{post("a", spaced, time.Minute)}}, nil, []string{"a"}, false},
		"absent from a cut list":   {gbpapi.PostList{Truncated: true, Posts: []gbp.RemotePost{post("a", other, time.Minute)}}, nil, nil, true},
		"absent beside unreadable": {gbpapi.PostList{Unreadable: 1}, nil, nil, true},
		"found in a cut list":      {gbpapi.PostList{Truncated: true, Unreadable: 3, Posts: []gbp.RemotePost{post("a", mine, time.Minute)}}, nil, []string{"a"}, false},
		"Google away":              {gbpapi.PostList{}, errors.New("away"), nil, true},
	} {
		got, err := worker.PostCreate{Google: &google{list: c.list, err: c.err}}.Find(t.Context(), "komorebi", batch.Item{Fingerprint: mine.Fingerprint(), Account: "accounts/1", LocationName: "locations/2"}, since)
		if (err != nil) != c.fail || len(got) != len(c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		for i := range got {
			if got[i].Name != c.want[i] {
				t.Errorf("%s: %s at %d, want %s", name, got[i].Name, i, c.want[i])
			}
		}
	}
}
