package property

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// operation is all that is known of one kind of write: an entry here puts it into the sequences, their faults and their books.
type operation struct {
	tool string
	kind gbp.Kind
	// write is the route whose effect is counted, reads are those that the worker decides by.
	write gbpsim.Route
	reads []gbpsim.Route
	// creates is true when a repetition makes a second thing.
	creates bool
	// bare is true when Google's success has no content, so that an empty 200 is one.
	bare bool
	// states and settled are what Google's review makes of it at first and in the end; none without a review.
	states, settled []string
	// hides is true when its effect may show late although Google has answered it. A reply that is read as it was before looks
	// like one that somebody took back, so replies show late only after an unclear answer.
	hides bool
	// arguments are a step's; false without anything that it could be about.
	arguments func(s *sequence, n int, st step) (stack.Args, bool)
	// leaves is what the item's effect leaves of its target, "" for nothing.
	leaves func(payload []byte) string
}

func operations() []operation {
	post, media, review := []gbpsim.Route{gbpsim.RouteLocalPostsGet}, []gbpsim.Route{gbpsim.RouteMediaGet}, []gbpsim.Route{gbpsim.RouteReviewsGet}
	const processing, pending, live, approved, rejected = "PROCESSING", "PENDING", "LIVE", "APPROVED", "REJECTED"
	return []operation{
		{
			tool: "post.create", kind: gbp.KindPost, write: gbpsim.RouteLocalPostsCreate, reads: []gbpsim.Route{gbpsim.RouteLocalPostsList}, creates: true, hides: true,
			states: []string{processing, rejected}, settled: []string{live, rejected}, arguments: createArguments, leaves: member("summary"),
		},
		{tool: "post.update", kind: gbp.KindPost, write: gbpsim.RouteLocalPostsPatch, reads: post, arguments: updateArguments, leaves: member("summary")},
		{tool: "post.delete", kind: gbp.KindPost, write: gbpsim.RouteLocalPostsDelete, reads: post, bare: true, hides: true, arguments: deleteArguments, leaves: nothing},
		{
			tool: "media.upload", kind: gbp.KindMedia, write: gbpsim.RouteMediaCreate, reads: []gbpsim.Route{gbpsim.RouteMediaList}, creates: true, hides: true,
			arguments: uploadArguments, leaves: member("sourceUrl"),
		},
		{tool: "media.delete", kind: gbp.KindMedia, write: gbpsim.RouteMediaDelete, reads: media, bare: true, hides: true, arguments: mediaDeleteArguments, leaves: nothing},
		{
			tool: "review.reply", kind: gbp.KindReview, write: gbpsim.RouteReviewsReply, reads: review,
			states: []string{pending, rejected}, settled: []string{approved, rejected}, arguments: replyArguments, leaves: member("comment"),
		},
		{tool: "review.delete_reply", kind: gbp.KindReview, write: gbpsim.RouteReviewsUnreply, reads: review, bare: true, arguments: unreplyArguments, leaves: nothing},
		{
			tool: "location.update", kind: gbp.KindLocation, write: gbpsim.RouteLocationsPatch, reads: []gbpsim.Route{gbpsim.RouteLocationsGet, gbpsim.RouteLocationsGetGoogleUpdated},
			states: []string{processing}, settled: []string{live, rejected}, arguments: locationArguments, leaves: member("profile", "description"),
		},
	}
}

func operationOf(tool string) (operation, bool) {
	all := operations()
	at := slices.IndexFunc(all, func(o operation) bool { return o.tool == tool })
	if at < 0 {
		return operation{}, false
	}
	return all[at], true
}

// of is the operation of an item, which always has one.
func (i item) of() operation {
	o, ok := operationOf(i.Operation)
	if !ok {
		panic("property: nothing is known of " + i.Operation)
	}
	return o
}

// key groups what is the same write to Google: creates of one content at one store, changes of one target by one body.
func (i item) key() string {
	at := i.Target
	if i.of().creates {
		at = i.Location
	}
	return i.Operation + " " + at + " " + string(i.Payload)
}

// keyOf is the same of a request in the journal; "" for one that writes nothing.
func keyOf(e gbpsim.Entry) string {
	for _, o := range operations() {
		switch {
		case o.write != e.Route:
		case o.creates, o.kind == gbp.KindLocation:
			return o.tool + " " + string(e.Location) + " " + e.Body
		default:
			return o.tool + " " + e.Resource + " " + e.Body
		}
	}
	return ""
}

// member reads a text out of a body, "" where it has none.
func member(path ...string) func([]byte) string {
	return func(body []byte) string {
		for _, name := range path {
			var m map[string]json.RawMessage
			if json.Unmarshal(body, &m) != nil {
				return ""
			}
			body = m[name]
		}
		var text string
		if json.Unmarshal(body, &text) != nil {
			return ""
		}
		return text
	}
}

func nothing([]byte) string { return "" }

// about are the items that a step goes on from: those of the kind that are known at Google, of the step that it names, or of
// the first one that has any.
func (s *sequence) about(kind gbp.Kind, st step) (batch.ID, []tools.ItemView) {
	s.mu.Lock()
	steps := slices.Concat(s.steps[st.Of:st.Of+1], s.steps)
	s.mu.Unlock()
	for _, batches := range steps {
		if len(batches) == 0 {
			continue
		}
		items := slices.DeleteFunc(s.status(batches[0]).Items, func(i tools.ItemView) bool { return i.Target.Kind != kind || i.Target.ID == "" })
		if len(items) > 0 {
			return batches[0], items
		}
	}
	return "", nil
}

func createArguments(s *sequence, _ int, st step) (stack.Args, bool) {
	return stack.Post(s.ids(st.Stores), s.text(st.Text)), true
}

func updateArguments(s *sequence, n int, st step) (stack.Args, bool) {
	_, items := s.about(gbp.KindPost, st)
	var posts []any
	for _, i := range items {
		if i.State == batch.ItemSucceeded && i.Version != "" {
			posts = append(posts, map[string]any{"post_id": i.Target.ID, "expected_version": i.Version, "summary": s.text(n)})
		}
	}
	return stack.Args{"posts": posts}, len(posts) > 0
}

func deleteArguments(s *sequence, _ int, st step) (stack.Args, bool) {
	of, items := s.about(gbp.KindPost, st)
	if st.By == "batch" {
		return stack.Args{"batch_id": of}, of != ""
	}
	return stack.Args{"post_ids": targets(items)}, len(items) > 0
}

func targets(items []tools.ItemView) (out []string) {
	for _, i := range items {
		out = append(out, i.Target.ID)
	}
	return out
}

func uploadArguments(s *sequence, _ int, st step) (stack.Args, bool) {
	photo := func(n int) map[string]any {
		return map[string]any{"source_url": fmt.Sprintf("https://www.example.com/%s/%d-%d.jpg", s.run, st.Text, n), "category": "INTERIOR"}
	}
	media := []any{photo(0)}
	if st.By == "batch" && len(st.Stores) < 4 {
		media = append(media, photo(1))
	}
	return stack.Args{"location_ids": s.ids(st.Stores), "media": media}, true
}

func mediaDeleteArguments(s *sequence, _ int, st step) (stack.Args, bool) {
	_, items := s.about(gbp.KindMedia, st)
	return stack.Args{"media_ids": targets(items)}, len(items) > 0
}

// review is our id of the review of the step's first store.
func (s *sequence) review(st step) (string, bool) {
	id := s.ids(st.Stores[:1])[0]
	a := s.tool("review.list", stack.Args{"location_ids": []int64{id}})
	var p tools.ReviewPage
	if a.IsError || json.Unmarshal(a.Data, &p) != nil || len(p.Reviews) == 0 { // what was read of the store within the last minute did not have it
		return "", false
	}
	return p.Reviews[0].ReviewID, true
}

func replyArguments(s *sequence, _ int, st step) (stack.Args, bool) {
	id, ok := s.review(st)
	return stack.Args{"review_id": id, "comment": s.text(st.Text), "replace_existing": st.By == "batch"}, ok
}

func unreplyArguments(s *sequence, _ int, st step) (stack.Args, bool) {
	id, ok := s.review(st)
	return stack.Args{"review_id": id}, ok
}

func locationArguments(s *sequence, _ int, st step) (stack.Args, bool) {
	var updates []any
	for _, id := range s.ids(st.Stores) {
		var d tools.LocationDetail
		if a := s.tool("location.get", stack.Args{"location_id": id}); a.IsError || json.Unmarshal(a.Data, &d) != nil {
			s.wrong("location.get: %s", a.Text)
			continue
		}
		updates = append(updates, map[string]any{"location_id": id, "expected_version": d.Version, "changes": map[string]any{"description": s.text(st.Text)}})
	}
	return stack.Args{"updates": updates}, len(updates) > 0
}
