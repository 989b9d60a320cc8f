package app_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// writeTool is what the matrix needs to know of a write tool.
type writeTool struct {
	name string
	// route is the call to Google that carries it out; undo is the one that takes it back.
	route, undo gbpsim.Route
	// alone: a call has one target. creates: there is nothing yet that could have changed. fixed: nobody can change the target
	// at Google, only remove it, and Google's lists lag: one that lacks it proves nothing.
	alone, creates, fixed bool
	// asks is the number of targets from which a person is asked; 0 is never by number.
	asks     int
	notFound errs.Code
	// ready puts targets on the first n stores; nil for a tool that needs none.
	ready func(m *matrix, n int)
	// args writes word on the stores' targets.
	args func(m *matrix, stores []int, word string) stack.Args
	// foreign is the id in arguments of the target of store 0, as a token's owner sees it.
	foreign func(m *matrix, token string) any
	// now is what stands at Google for a store's target.
	now func(m *matrix, store int) string
	// other changes a store's target, and what the write left there, as somebody else would; know makes the product read it.
	other, know func(m *matrix, store int)
}

// writeTools is the matrix' list of tools. A new one is one more entry here.
func writeTools() []writeTool {
	posts := func(m *matrix, store int) string { return fmt.Sprint(m.postsAt(store)) }
	makePosts := func(m *matrix, n int) {
		for from := 0; from < n; from += 100 {
			ids := m.IDs(n)[from:min(n, from+100)]
			v := m.done("post.create", stack.Post(ids, "Words of before"))
			for i, item := range v.Items {
				m.ids[from+i] = item.Target.ID
			}
			if v.Status != batch.Done {
				m.t.Fatalf("%+v", v)
			}
		}
	}
	otherPost := func(m *matrix, store int) {
		theirs := "theirs"
		for _, p := range m.Sim.Posts(m.name(store)) {
			if err := m.Sim.ChangePost(gbpsim.PostChange{Name: p.Name, Summary: &theirs}); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	replyNow := func(m *matrix, store int) string { return m.replyOf(m.reviewNames[store]) }
	otherReply := func(m *matrix, store int) {
		m.changeReview(m.reviewNames[store], func(r *gbpsim.Review) { r.Reply = answered("theirs") })
	}
	makeReviews := func(reply *gbpsim.ReviewReply) func(*matrix, int) {
		return func(m *matrix, n int) {
			var list []gbpsim.Review
			for i := range n {
				list = append(list, gbpsim.Review{Location: m.name(i), ID: fmt.Sprint("matrix-", i), Comment: "Nice", Reply: reply})
			}
			for i, r := range m.reviews(list...) {
				m.ids[i], m.reviewNames[i] = r.ReviewID, r.name
			}
		}
	}
	photos := func(m *matrix, store int) string {
		var out []string
		for _, p := range m.Sim.Media(m.name(store)) {
			if strings.HasPrefix(p.SourceURL, m.web.URL("/")) {
				out = append(out, p.Category+" "+p.SourceURL)
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	otherPhoto := func(m *matrix, store int) {
		for _, p := range m.Sim.Media(m.name(store)) {
			if strings.HasPrefix(p.SourceURL, m.web.URL("/")) {
				if err := m.Sim.RemoveMedia(p.Name); err != nil {
					m.t.Fatal(err)
				}
			}
		}
	}
	locationOfToken := func(m *matrix, token string) any {
		return float64(stack.Into[tools.LocationPage](m.t, m.callAs(token, "location.list", stack.Args{})).Locations[0].LocationID)
	}
	return []writeTool{
		{
			name: "post.create", route: gbpsim.RouteLocalPostsCreate, undo: gbpsim.RouteLocalPostsDelete, creates: true, asks: 5, notFound: errs.LocationNotFound,
			args: func(m *matrix, stores []int, word string) stack.Args {
				return stack.Post(m.storeIDs(stores), word+" {{location.title}} & <b>")
			},
			foreign: locationOfToken, now: posts, other: otherPost, know: func(m *matrix, store int) { m.read("post.list", store) },
		},
		{
			name: "post.update", route: gbpsim.RouteLocalPostsPatch, undo: gbpsim.RouteLocalPostsPatch, asks: 5, notFound: errs.PostNotFound, ready: makePosts,
			args: func(m *matrix, stores []int, word string) stack.Args {
				var list []any
				for _, i := range stores {
					p := stack.Into[tools.PostDetail](m.t, m.call("post.get", stack.Args{"post_id": m.ids[i]}))
					list = append(list, map[string]any{"post_id": m.ids[i], "expected_version": p.Version, "summary": word + " {{location.title}} & <b>"})
				}
				return stack.Args{"posts": list}
			},
			foreign: func(m *matrix, token string) any { return m.firstOf(token, "post.list", "post_id") }, now: posts, other: otherPost,
			know: func(m *matrix, store int) { m.read("post.list", store) },
		},
		{
			name: "post.delete", route: gbpsim.RouteLocalPostsDelete, undo: gbpsim.RouteLocalPostsCreate, asks: 3, notFound: errs.PostNotFound, ready: makePosts,
			args: func(m *matrix, stores []int, _ string) stack.Args {
				return stack.Args{"post_ids": m.targetsOf(stores)}
			},
			foreign: func(m *matrix, token string) any { return m.firstOf(token, "post.list", "post_id") }, now: posts, other: otherPost,
			know: func(m *matrix, store int) { m.read("post.list", store) },
		},
		{
			name: "review.reply", route: gbpsim.RouteReviewsReply, undo: gbpsim.RouteReviewsUnreply, alone: true, notFound: errs.ReviewNotFound, ready: makeReviews(nil),
			args: func(m *matrix, stores []int, word string) stack.Args {
				r := stack.Into[tools.ReviewDetail](m.t, m.call("review.get", stack.Args{"review_id": m.ids[stores[0]]}))
				return stack.Args{"review_id": r.ReviewID, "expected_version": r.Version, "comment": word + " {{location.title}} & <b>", "replace_existing": r.Reply != nil}
			},
			foreign: func(m *matrix, token string) any { return m.firstOf(token, "review.list", "review_id") }, now: replyNow, other: otherReply,
			know: func(m *matrix, store int) { m.read("review.list", store) },
		},
		{
			name: "review.delete_reply", route: gbpsim.RouteReviewsUnreply, undo: gbpsim.RouteReviewsReply, alone: true, asks: 1, notFound: errs.ReviewNotFound, ready: makeReviews(answered("Thanks & <b>")),
			args: func(m *matrix, stores []int, _ string) stack.Args {
				r := stack.Into[tools.ReviewDetail](m.t, m.call("review.get", stack.Args{"review_id": m.ids[stores[0]]}))
				return stack.Args{"review_id": r.ReviewID, "expected_version": r.Version}
			},
			foreign: func(m *matrix, token string) any { return m.firstOf(token, "review.list", "review_id") }, now: replyNow, other: otherReply,
			know: func(m *matrix, store int) { m.read("review.list", store) },
		},
		{
			name: "media.upload", route: gbpsim.RouteMediaCreate, undo: gbpsim.RouteMediaDelete, creates: true, fixed: true, asks: 5, notFound: errs.LocationNotFound,
			args: func(m *matrix, stores []int, word string) stack.Args {
				media := item(photo(m.web, "/"+word+".jpg"), "INTERIOR")
				media["description"] = "{{location.title}} & <b>"
				return upload(m.storeIDs(stores), media)
			},
			foreign: locationOfToken, now: photos, other: otherPhoto, know: func(m *matrix, store int) { m.read("media.list", store) },
		},
		{
			name: "media.delete", route: gbpsim.RouteMediaDelete, undo: gbpsim.RouteMediaCreate, fixed: true, asks: 5, notFound: errs.MediaNotFound,
			ready: func(m *matrix, n int) {
				address := photo(m.web, "/seed.jpg")
				for i := range n {
					name, err := m.Sim.AddMedia(m.name(i), gbpsim.MediaSeed{Category: "TEAMS", SourceURL: address, Width: 800, Height: 600})
					if err != nil {
						m.t.Fatal(err)
					}
					m.mediaNames[string(name)] = i
				}
				for _, x := range m.gallery(stack.Args{"category": "TEAMS"}) {
					if i, ok := m.mediaNames[x.GoogleName]; ok {
						m.ids[i] = x.MediaID
					}
				}
			},
			args: func(m *matrix, stores []int, _ string) stack.Args {
				return stack.Args{"media_ids": m.targetsOf(stores)}
			},
			foreign: func(m *matrix, token string) any { return m.firstOf(token, "media.list", "media_id") }, now: photos, other: otherPhoto,
			know: func(m *matrix, store int) { m.read("media.list", store) },
		},
		{
			name: "location.update", route: gbpsim.RouteLocationsPatch, undo: gbpsim.RouteLocationsPatch, asks: 3, notFound: errs.LocationNotFound,
			args: func(m *matrix, stores []int, word string) stack.Args {
				var list []any
				for _, i := range stores {
					list = append(list, m.change(i, stack.Args{"description": word + " {{location.title}} & 席"}))
				}
				return stack.Args{"updates": list}
			},
			foreign: locationOfToken, now: func(m *matrix, store int) string { return m.google(store, "profile") },
			other: func(m *matrix, store int) { m.behind(store, "profile", `{"description":"theirs"}`) },
			know:  func(m *matrix, _ int) { m.Sync(stack.Tenant) },
		},
	}
}
