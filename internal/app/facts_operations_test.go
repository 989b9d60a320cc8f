package app_test

import (
	"encoding/json"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// factTarget is what a write is about: a store, and our id and version of a thing there.
type factTarget struct {
	store       int
	id, version string
}

// factOperation is one kind of write that the tables of facts are played with: an entry here plays them all.
type factOperation struct {
	tool  string
	route gbpsim.Route
	// look is what decides it when an answer was unclear.
	look gbpsim.Route
	// creates is true when a repetition makes a second thing.
	creates bool
	// before puts what the write is about at these stores; nil when that is the store itself.
	before func(d *desk, stores []int) []factTarget
	args   func(d *desk, at factTarget) stack.Args
	// gone and changed are what somebody else may do to the target before the write is sent; changed does not give it what the
	// write wants.
	gone, changed func(d *desk, at gbpsim.LocationName) error
}

func factOperations() []factOperation {
	return []factOperation{
		{
			tool: "post.create", route: gbpsim.RouteLocalPostsCreate, look: gbpsim.RouteLocalPostsList, creates: true,
			args: func(d *desk, at factTarget) stack.Args { return stack.Post(d.ids(at.store), "お知らせです。") },
		},
		{
			tool: "post.update", route: gbpsim.RouteLocalPostsPatch, look: gbpsim.RouteLocalPostsGet, before: factPosts, gone: noPosts, changed: otherPosts,
			args: func(_ *desk, at factTarget) stack.Args {
				return postArgs(at.id, at.version, stack.Args{"summary": "変更しました。"})
			},
		},
		{
			tool: "post.delete", route: gbpsim.RouteLocalPostsDelete, look: gbpsim.RouteLocalPostsGet, before: factPosts, gone: noPosts, changed: otherPosts,
			args: func(_ *desk, at factTarget) stack.Args { return stack.Args{"post_ids": []string{at.id}} },
		},
		{
			tool: "media.upload", route: gbpsim.RouteMediaCreate, look: gbpsim.RouteMediaList, creates: true,
			args: func(d *desk, at factTarget) stack.Args {
				return upload(d.ids(at.store), item("https://www.example.com/counter.jpg", "INTERIOR"))
			},
		},
		{
			tool: "media.delete", route: gbpsim.RouteMediaDelete, look: gbpsim.RouteMediaGet, before: factMedia, gone: noMedia,
			args: func(_ *desk, at factTarget) stack.Args { return stack.Args{"media_ids": []string{at.id}} },
		},
		{
			tool: "review.reply", route: gbpsim.RouteReviewsReply, look: gbpsim.RouteReviewsGet, before: factReviews(nil), gone: noReviews, changed: otherReplies,
			args: func(_ *desk, at factTarget) stack.Args { return reply(at.id, "ありがとうございました。") },
		},
		{
			tool: "review.delete_reply", route: gbpsim.RouteReviewsUnreply, look: gbpsim.RouteReviewsGet, before: factReviews(answered("ご来店ありがとうございます。")), gone: noReviews, changed: otherReplies,
			args: func(_ *desk, at factTarget) stack.Args { return stack.Args{"review_id": at.id} },
		},
		{
			tool: "location.update", route: gbpsim.RouteLocationsPatch, look: gbpsim.RouteLocationsGet, changed: otherDescriptions,
			args: func(d *desk, at factTarget) stack.Args {
				return one(d.change(at.store, stack.Args{"description": "駅前の珈琲店です。"}))
			},
		},
	}
}

func factOperationOf(tool string) factOperation {
	all := factOperations()
	return all[slices.IndexFunc(all, func(o factOperation) bool { return o.tool == tool })]
}

// targets are what an operation is about, one per store.
func (o factOperation) targets(d *desk, stores []int) []factTarget {
	d.t.Helper()
	if o.before != nil {
		return o.before(d, stores)
	}
	out := make([]factTarget, len(stores))
	for i, n := range stores {
		out[i].store = n
	}
	return out
}

// ids are the ids of single stores, by number.
func (d *desk) ids(stores ...int) []int64 {
	out := make([]int64, len(stores))
	for i, n := range stores {
		out[i] = int64(d.Locations[n].ID)
	}
	return out
}

func factPosts(d *desk, stores []int) []factTarget {
	return d.factsMade(stores, "post.create", stack.Post(d.ids(stores...), "最初の文です。"))
}

func factMedia(d *desk, stores []int) []factTarget {
	return d.factsMade(stores, "media.upload", upload(d.ids(stores...), item("https://www.example.com/front.jpg", "EXTERIOR")))
}

// factsMade publishes one thing at each of the stores.
func (d *desk) factsMade(stores []int, tool string, args stack.Args) []factTarget {
	d.t.Helper()
	v := d.done(tool, args)
	if v.Status != batch.Done || len(v.Items) != len(stores) {
		d.t.Fatalf("%s: %+v", tool, v)
	}
	out := make([]factTarget, len(stores))
	for i, n := range stores {
		at := slices.IndexFunc(v.Items, func(x tools.ItemView) bool { return int64(x.LocationID) == d.ids(n)[0] })
		out[i] = factTarget{n, v.Items[at].Target.ID, v.Items[at].Version}
	}
	return out
}

func factReviews(with *gbpsim.ReviewReply) func(d *desk, stores []int) []factTarget {
	return func(d *desk, stores []int) []factTarget {
		d.t.Helper()
		for _, n := range stores {
			if err := noReviews(d, place(d.Stack, n)); err != nil {
				d.t.Fatal(err)
			}
			if _, err := d.Sim.PutReview(gbpsim.Review{Location: place(d.Stack, n), Stars: 4, Comment: "おいしかったです。", Reply: with}); err != nil {
				d.t.Fatal(err)
			}
		}
		listed := d.allReviews(stack.Args{"location_ids": d.ids(stores...)}) // these stores only: what was read of others is kept
		if len(listed) != len(stores) {
			d.t.Fatalf("%d reviews of %d stores", len(listed), len(stores))
		}
		out := make([]factTarget, len(stores))
		for i, n := range stores {
			at := slices.IndexFunc(listed, func(r tools.Review) bool { return int64(r.LocationID) == d.ids(n)[0] })
			out[i] = factTarget{n, listed[at].ReviewID, listed[at].Version}
		}
		return out
	}
}

func noPosts(d *desk, at gbpsim.LocationName) error {
	for _, p := range d.Sim.Posts(at) {
		if err := d.Sim.RemovePost(p.Name); err != nil {
			return err
		}
	}
	return nil
}

func otherPosts(d *desk, at gbpsim.LocationName) error {
	for _, p := range d.Sim.Posts(at) {
		summary := "よその人が変えました。"
		if err := d.Sim.ChangePost(gbpsim.PostChange{Name: p.Name, Summary: &summary}); err != nil {
			return err
		}
	}
	return nil
}

func noMedia(d *desk, at gbpsim.LocationName) error {
	for _, m := range d.Sim.Media(at) {
		if err := d.Sim.RemoveMedia(m.Name); err != nil {
			return err
		}
	}
	return nil
}

func noReviews(d *desk, at gbpsim.LocationName) error {
	for _, r := range d.Sim.Reviews(at) {
		if err := d.Sim.RemoveReview(r.Name); err != nil {
			return err
		}
	}
	return nil
}

func otherReplies(d *desk, at gbpsim.LocationName) error {
	return replies(d, at, answered("よその人が返信しました。"))
}

// noReplies takes the replies back as somebody does in Google's own app.
func noReplies(d *desk, at gbpsim.LocationName) error { return replies(d, at, nil) }

func sameReplies(d *desk, at gbpsim.LocationName) error {
	return replies(d, at, answered("ありがとうございました。"))
}

func replies(d *desk, at gbpsim.LocationName, to *gbpsim.ReviewReply) error {
	for _, r := range d.Sim.Reviews(at) {
		if err := d.Sim.ChangeReview(r.Name, func(x *gbpsim.Review) { x.Reply = to }); err != nil {
			return err
		}
	}
	return nil
}

func otherDescriptions(d *desk, at gbpsim.LocationName) error {
	return descriptions(d, at, "よその人が変えました。")
}

func sameDescriptions(d *desk, at gbpsim.LocationName) error {
	return descriptions(d, at, "駅前の珈琲店です。")
}

func otherTitles(d *desk, at gbpsim.LocationName) error {
	return d.Sim.ChangeStore(at, gbpsim.StoreChange{Fields: map[string]json.RawMessage{"title": json.RawMessage(`"別の名前"`)}})
}

func descriptions(d *desk, at gbpsim.LocationName, to string) error {
	return d.Sim.ChangeStore(at, gbpsim.StoreChange{Fields: map[string]json.RawMessage{"profile": json.RawMessage(`{"description":"` + to + `"}`)}})
}
