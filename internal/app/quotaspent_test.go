package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/locsync"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// countable is a quota that is out of the way and whose calls are counted.
func countable(c *config.Config) { c.Google.RequestsPerMinute = 6000 }

// spent compares the requests to an API that Google has seen with the slots that were booked for it.
func (d *desk) spent(what, api, host string, want int) {
	d.t.Helper()
	seen := 0
	for _, e := range d.Sim.Journal() {
		if e.Host == host {
			seen++
		}
	}
	booked, err := d.App.Redis.ZCard(d.t.Context(), "slot:{g:"+d.Config.Google.Project+"}:"+api+":calls").Result()
	if err != nil {
		d.t.Fatal(err)
	}
	if seen != want || booked != int64(want) {
		d.t.Errorf("%s: %d requests with %d slots, want %d", what, seen, booked, want)
	}
}

const storesHost = "mybusinessbusinessinformation.googleapis.com"

// No request goes to Google without a slot of its own: neither the further pages of a list, nor what is repeated after a 401.
func TestEveryReadHasItsSlot(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 120, NoWorkers: true, Config: countable})
	d.Sim.ClearJournal() // the stack's own sync is not metered
	sync := func() {
		t.Helper()
		if _, err := locsync.Tenant(t.Context(), locsync.Metered(d.App.Google, d.App.Slots), d.App.DB, stack.Tenant, "test"); err != nil {
			t.Fatal(err)
		}
	}
	sync()
	d.spent("two pages of stores, and one of an account without any", gbp.APIBusinessInformation, storesHost, 3)
	have := len(d.Sim.Reviews(place(d.Stack, 0)))
	at := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for i := range 160 - have {
		r := gbpsim.Review{Location: place(d.Stack, 0), ID: fmt.Sprintf("slot-%03d", i), Stars: 3, Comment: "ok", CreateTime: at.Add(time.Duration(i) * time.Hour)}
		if _, err := d.Sim.PutReview(r); err != nil {
			t.Fatal(err)
		}
	}
	have = len(d.Sim.Media(place(d.Stack, 0)))
	for i := range 250 - have {
		m := gbpsim.MediaSeed{Category: "EXTERIOR", SourceURL: fmt.Sprintf("https://komorebi-coffee.example/%d.jpg", i)}
		if _, err := d.Sim.AddMedia(place(d.Stack, 0), m); err != nil {
			t.Fatal(err)
		}
	}
	d.Sim.ExpireAccessTokens()
	args := stack.Args{"location_ids": d.IDs(1)}
	stack.Into[tools.ReviewPage](t, d.call("review.list", args))
	d.spent("a 401 and four pages of reviews", gbp.APIMyBusiness, v4Host, 5)
	stack.Into[tools.MediaPage](t, d.call("media.list", args))
	d.spent("three pages of media", gbp.APIMyBusiness, v4Host, 8)
	stack.Into[tools.LocationDetail](t, d.call("location.get", stack.Args{"location_id": d.IDs(1)[0]}))
	d.spent("attributes", gbp.APIBusinessInformation, storesHost, 4)
}

// The same for writes: what a turn has booked is for its look and its write, and a repeat books its own.
func TestEveryWriteHasItsSlot(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(d *desk) tools.ItemView{
		"a reply: look, repeat, write": func(d *desk) tools.ItemView {
			r := d.reviews(gbpsim.Review{ID: "slot", Comment: "great"})[0] // two stores are read
			d.Sim.ExpireAccessTokens()
			return d.one(d.Accept("review.reply", reply(r.ReviewID, "Thanks!")))
		},
		"a post: write, repeat, and two stores' posts and one store's reviews": func(d *desk) tools.ItemView {
			d.Sim.ExpireAccessTokens()
			i := d.one(d.Accept("post.create", stack.Post(d.IDs(1), "Hello")))
			stack.Into[tools.ReviewPage](d.t, d.call("review.list", stack.Args{"location_ids": d.IDs(1)}))
			stack.Into[tools.PostPage](d.t, d.call("post.list", stack.Args{"location_ids": d.IDs(2)}))
			return i
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, stack.Options{Stores: 2, Config: countable})
			if i := write(d); i.State != batch.ItemSucceeded {
				t.Fatalf("%+v", i)
			}
			d.spent(name, gbp.APIMyBusiness, v4Host, 5)
		})
	}
}

// A store that keeps answering 401 costs one refresh, not one for each of its items, and each of them one call.
func TestF082RefusingStoreCostsOneRefresh(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 2})
	const items = 20
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 0), Answer: gbpsim.AnswerError, Status: 401})
	before, began := refreshes(s), time.Now()
	var batches []string
	for i := range items {
		batches = append(batches, string(s.Accept("post.create", stack.Post(s.IDs(1), fmt.Sprintf("Refused for ever %d", i))).BatchID))
	}
	for _, id := range batches {
		if v := s.Finish(id); v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.GoogleReconnectRequired {
			t.Errorf("%+v", v)
		}
	}
	if n := refreshes(s) - before; n < 1 || n > 1+int(time.Since(began)/(10*time.Second)) { // one in ten seconds
		t.Errorf("%d refreshes in %s", n, time.Since(began))
	}
	// Those that were under way together with the first one were repeated with its token.
	if n := len(creates(s)); n < items+1 || n > 2*items {
		t.Errorf("%d calls", n)
	}
	v := s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(2)[1:], "A sibling")).BatchID))
	if v.Status != batch.Done {
		t.Errorf("a sibling: %+v", v)
	}
}
