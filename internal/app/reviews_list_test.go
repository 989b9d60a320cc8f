package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Filters combine; what is malformed is refused by name.
func TestReviewListFilters(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	day := func(n int) time.Time { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC) }
	list := d.reviews(
		gbpsim.Review{ID: "f-0", Stars: 1, Comment: "bad", CreateTime: day(1)},
		gbpsim.Review{ID: "f-1", Stars: 5, Comment: "good", CreateTime: day(2), Reply: answered("Thanks")},
		gbpsim.Review{ID: "f-2", Stars: 2, CreateTime: day(3), Anonymous: true, Reviewer: "A Google User"},
		gbpsim.Review{ID: "f-3", Stars: 1, Comment: "edited", CreateTime: day(1), UpdateTime: day(5), Reply: &gbpsim.ReviewReply{Comment: "x", State: "REJECTED", PolicyViolation: "OFF_TOPIC"}},
		gbpsim.Review{ID: "f-4", Comment: "rating of the future", CreateTime: day(4), Fields: map[string]json.RawMessage{"starRating": json.RawMessage(`"SIX"`)}},
	)
	mine := func(args stack.Args) (out []int) {
		var all []string
		for _, r := range d.allReviews(args.With("location_ids", d.IDs(1))) {
			all = append(all, r.ReviewID)
		}
		for i, r := range list {
			if slices.Contains(all, r.ReviewID) {
				out = append(out, i)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		args stack.Args
		want []int
	}{
		"all":                {stack.Args{}, []int{0, 1, 2, 3, 4}},
		"one rating":         {stack.Args{"rating": []int{1}}, []int{0, 3}},
		"two ratings":        {stack.Args{"rating": []int{2, 5}}, []int{1, 2}},
		"unanswered":         {stack.Args{"unanswered": true}, []int{0, 2, 4}},
		"false means all":    {stack.Args{"unanswered": false}, []int{0, 1, 2, 3, 4}},
		"since an edit":      {stack.Args{"since": "2026-10-04T00:00:00Z"}, []int{3, 4}},
		"since is inclusive": {stack.Args{"since": "2026-10-05T09:00:00+09:00"}, []int{3}},
		"together":           {stack.Args{"rating": []int{1, 2}, "unanswered": true, "since": "2026-10-02T00:00:00Z"}, []int{2}},
		"nothing":            {stack.Args{"rating": []int{3}, "since": "2099-01-01T00:00:00Z"}, nil},
	} {
		if got := mine(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if r := list[1]; r.Rating != 5 || r.Text != "good" || r.Reply.Comment != "Thanks" || r.Reply.State != "APPROVED" || r.Reply.UpdatedAt != "2026-11-02T03:04:05Z" || r.CreatedAt != "2026-10-02T00:00:00Z" || r.Version == "" {
		t.Errorf("%+v", r)
	}
	if list[2].Reviewer != "" || list[2].Text != "" || list[3].Reply.PolicyViolation != "OFF_TOPIC" || list[3].UpdatedAt != "2026-10-05T00:00:00Z" || list[4].Rating != 0 {
		t.Errorf("%+v", list)
	}
	for name, args := range map[string]stack.Args{
		"rating 0": {"rating": []int{0}}, "rating 6": {"rating": []int{6}}, "a lone rating": {"rating": 5}, "rating twice": {"rating": []int{1, 1}}, "unanswered": {"unanswered": "yes"},
		"since": {"since": "yesterday"}, "stars": {"stars": 1}, "token": {"page_token": "!"}, "size": {"page_size": 0},
	} {
		if a := d.call("review.list", args); a.ErrorCode != errs.InvalidArgument || len(a.Details.Violations) != 1 {
			t.Errorf("%s: %s", name, a.Text)
		}
	}
}

// Every review is on exactly one page, whatever the size of pages and of texts; older ones than are read are told of, and can
// still be read and answered.
func TestReviewListPages(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 12})
	at := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	old := gbpsim.Review{Location: gbpsim.LocationName(d.Locations[1].Name), ID: "pages-old", Stars: 3, Comment: "old", CreateTime: at.AddDate(-1, 0, 0)}
	first := d.reviews(old)[0]
	names := map[string]bool{}
	for store, n := range []int{60, 210} {
		for i := range n {
			r, err := d.Sim.PutReview(gbpsim.Review{
				Location: gbpsim.LocationName(d.Locations[store].Name), ID: fmt.Sprintf("pages-%d-%03d", store, i), Stars: 3, Comment: strings.Repeat("長", 600*(i%2)), CreateTime: at.Add(time.Duration(i) * time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
			names[string(r.Name)] = true
		}
	}
	set := d.replica() // it has kept nothing
	for _, size := range []int{7, 200} {
		seen := map[string]int{}
		var older []int64
		args := stack.Args{"page_size": size}
		for pages := 0; ; pages++ {
			p := stack.Into[tools.ReviewPage](t, d.on(t.Context(), set, d.principal(d.Token), "review.list", marshal(t, args)))
			if len(p.Reviews) > size || pages > 200 {
				t.Fatalf("page_size %d: page %d has %d reviews", size, pages, len(p.Reviews))
			}
			for _, r := range p.Reviews {
				seen[r.ReviewID]++
			}
			for _, l := range p.MoreNotRead {
				older = append(older, int64(l))
			}
			if p.NextPageToken == "" {
				break
			}
			args = args.With("page_token", p.NextPageToken)
		}
		slices.Sort(older)
		if older = slices.Compact(older); !slices.Equal(older, d.IDs(2)[1:]) {
			t.Errorf("older ones of %v are told of", older)
		}
		perStore := map[int64]int{}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("page_size %d: %s is on %d pages", size, id, n)
			}
			perStore[int64(d.count(`SELECT location_id FROM mappy.resource WHERE resource_id = $1`, id))]++
		}
		if len(perStore) != 12 || perStore[d.IDs(2)[0]] < 60 || perStore[d.IDs(2)[1]] != tools.NewestReviews || seen[first.ReviewID] != 0 {
			t.Errorf("page_size %d: %v", size, perStore)
		}
	}
	got := stack.Into[tools.ReviewDetail](t, d.on(t.Context(), set, d.principal(d.Token), "review.get", marshal(t, stack.Args{"review_id": first.ReviewID})))
	if got.Deleted || got.Text != "old" || got.Version != first.Version {
		t.Errorf("%+v", got)
	}
	if v := d.done("review.reply", reply(first.ReviewID, "Late, but thanks")); v.SuccessCount != 1 || d.replyOf(first.name) != "Late, but thanks" {
		t.Errorf("%+v", v)
	}
}

// While a store cannot be read the others are, and reading one review of it says why.
func TestReviewListUnreadableStore(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	r := d.reviews(some("unreadable", 1, nil)...)[0]
	d.fault(gbpsim.Fault{Route: gbpsim.RouteReviewsList, Location: gbpsim.LocationName(d.Locations[0].Name), Answer: gbpsim.AnswerError, Status: 403})
	set := d.replica()
	p := stack.Into[tools.ReviewPage](t, d.on(t.Context(), set, d.principal(d.Token), "review.list", marshal(t, stack.Args{})))
	if len(p.Unreadable) != 1 || p.Unreadable[0].ErrorCode != errs.GBPPermissionDenied || int64(p.Unreadable[0].LocationID) != d.IDs(1)[0] || len(p.Reviews) == 0 {
		t.Errorf("%+v", p)
	}
	if a := d.on(t.Context(), set, d.principal(d.Token), "review.get", marshal(t, stack.Args{"review_id": r.ReviewID})); a.ErrorCode != errs.GBPPermissionDenied {
		t.Errorf("%s", a.Text)
	}
}
