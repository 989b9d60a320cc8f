package gbpsim_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

const batchPath = v4Host + "/v4/" + string(gbpsim.DemoGroup) + "/locations:batchGetReviews"

// reviewsOf is the address of a demo store's reviews.
func reviewsOf(store int) string {
	return v4Host + "/v4/" + string(gbpsim.DemoGroup) + "/" + string(gbpsim.JapaneseChain(4).Locations[store].Name) + "/reviews"
}

// reviewOf is the address of a demo store's n-th review. Review 0 of store 0 is answered, 1 holds the injection, 2 is open.
func reviewOf(store, n int) string {
	w := gbpsim.JapaneseChain(4)
	for _, r := range w.Reviews {
		if r.Location == w.Locations[store].Name {
			if n == 0 {
				return reviewsOf(store) + "/" + r.ID
			}
			n--
		}
	}
	panic("no such review")
}

func batchOf(stores ...int) string {
	var names []string
	for _, s := range stores {
		names = append(names, string(gbpsim.DemoGroup)+"/"+string(gbpsim.JapaneseChain(4).Locations[s].Name))
	}
	return `{"locationNames":` + string(must(json.Marshal(names))) + `}`
}

func (b *bench) reviews(store int) []gbpsim.Review { return b.sim.Reviews(b.store[store]) }

// reply is the reply that a get shows, nil without one.
func (b *bench) reply(address string) map[string]any {
	b.t.Helper()
	a := b.do("GET", address, "")
	if a.status != 200 {
		b.t.Fatalf("get: %d %s", a.status, a.raw)
	}
	r, _ := a.json["reviewReply"].(map[string]any)
	return r
}

func (b *bench) answer(address, comment string) answer {
	b.t.Helper()
	return b.do("PUT", address+"/reply", `{"comment":`+string(must(json.Marshal(comment)))+`}`)
}

func TestReviewOnTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	one := must(b.sim.PutReview(gbpsim.Review{
		Location: b.store[0], ID: "AbC-_1", Reviewer: "佐藤", Stars: 4, Comment: "A & <B>", CreateTime: start.Add(-time.Hour),
		Fields: map[string]json.RawMessage{"reviewMediaItems": json.RawMessage(`[{"thumbnailUrl":"https://a.example/t"}]`), "later": json.RawMessage(`{"x":1}`)},
	}))
	address := v4Host + "/v4/" + string(one.Name)
	b.sim.Advance(time.Second)
	put := b.answer(address, "C & <D>\nありがとう")
	wantReply := map[string]any{"comment": "C & <D>\nありがとう", "updateTime": "2026-11-30T03:00:01.000000Z", "reviewReplyState": "APPROVED"}
	if d := cmp.Diff(wantReply, put.json); d != "" || put.status != 200 {
		t.Errorf("updateReply answers %d (-want +got):\n%s", put.status, d)
	}
	want := map[string]any{
		"name": string(one.Name), "reviewId": "AbC-_1", "reviewer": map[string]any{"displayName": "佐藤", "profilePhotoUrl": "https://lh3.googleusercontent.com/a/AbC-_1"},
		"starRating": "FOUR", "comment": "A & <B>", "createTime": "2026-11-30T02:00:00.000000Z", "updateTime": "2026-11-30T02:00:00.000000Z",
		"reviewReply": wantReply, "later": map[string]any{"x": 1.}, "reviewMediaItems": []any{map[string]any{"thumbnailUrl": "https://a.example/t"}},
	}
	if d := cmp.Diff(want, b.do("GET", address, "").json); d != "" {
		t.Errorf("get (-want +got):\n%s", d)
	}
	effects := b.sim.Entries(gbpsim.EntryFilter{Effects: true})
	if len(effects) != 1 || effects[0].Resource != string(one.Name) || effects[0].Post != "" || !effects[0].Write || effects[0].Location != b.store[0] ||
		effects[0].Route != gbpsim.RouteReviewsReply || effects[0].Body != `{"comment":"C \u0026 \u003cD\u003e\nありがとう"}` || effects[0].Email != gbpsim.DemoEmail {
		t.Errorf("journal %+v", effects)
	}
	if r := b.reviews(0)[0]; r.Name != one.Name || r.Reply.Email != gbpsim.DemoEmail || r.Reply.Comment != "C & <D>\nありがとう" {
		t.Errorf("reviews %+v", r)
	}
	// A second one takes the place of the first, and of its time; a deleted one is gone.
	b.sim.Advance(time.Second)
	b.answer(address, "二通目")
	if r := b.reply(address); r["comment"] != "二通目" || r["updateTime"] != "2026-11-30T03:00:02.000000Z" {
		t.Errorf("replaced: %v", r)
	}
	if a := b.do("DELETE", address+"/reply", ""); a.status != 200 || strings.TrimSpace(a.raw) != "{}" {
		t.Errorf("deleteReply: %d %q", a.status, a.raw)
	}
	if r := b.reply(address); r != nil {
		t.Errorf("deleted: %v", r)
	}
	if a := b.do("DELETE", address+"/reply", ""); a.status != 404 {
		t.Errorf("deleteReply again: %d", a.status)
	}
	if err := b.sim.SetKnobs(gbpsim.Knobs{NoReplyStatus: 200}); err != nil {
		t.Fatal(err)
	}
	if a := b.do("DELETE", address+"/reply", ""); a.status != 200 || b.last().Effect {
		t.Errorf("deleteReply by the knob: %d", a.status)
	}
}

func TestReplyOf4096Bytes(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	if a := b.answer(reviewOf(0, 0), strings.Repeat("あ", 1365)+"a"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestRatingOnlyAndAnonymous(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	one := must(b.sim.PutReview(gbpsim.Review{Location: b.store[0], Reviewer: "A Google User", Anonymous: true, Stars: 1}))
	a := b.do("GET", v4Host+"/v4/"+string(one.Name), "")
	if _, ok := a.json["comment"]; ok || a.text("starRating") != "ONE" || a.json["reviewer"].(map[string]any)["isAnonymous"] != true {
		t.Errorf("%s", a.raw)
	}
	if !regexp.MustCompile(`^AbFvOq[A-Za-z0-9_-]{22}$`).MatchString(one.ID) {
		t.Errorf("id %q", one.ID)
	}
}

func TestReviewLists(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{EmptyPages: empty}})
		for _, r := range b.reviews(3) {
			if err := b.sim.RemoveReview(r.Name); err != nil {
				t.Fatal(err)
			}
		}
		if a := b.do("GET", reviewsOf(3), ""); !empty && strings.TrimSpace(a.raw) != "{}" {
			t.Errorf("a location without reviews: %q", a.raw)
		}
		for i := range 60 {
			must(b.sim.PutReview(gbpsim.Review{Location: b.store[3], ID: "r" + string(rune('A'+i/26)) + string(rune('a'+i%26)), Stars: 1 + i%5, CreateTime: start.Add(-time.Duration(i) * time.Minute)}))
		}
		for order, want := range map[string][]string{
			"": {"rAa", "rAb", "rAc"}, "updateTime%20desc": {"rAa", "rAb", "rAc"}, "rating": {"rAa", "rAf", "rAk"}, "rating%20desc": {"rAe", "rAj", "rAo"},
		} {
			var got []string
			seen := map[string]bool{}
			sizes, query := []int{}, "?pageSize=1000&orderBy="+order
			for {
				a := b.do("GET", reviewsOf(3)+query, "")
				list, _ := a.json["reviews"].([]any)
				for _, r := range list {
					id := r.(map[string]any)["reviewId"].(string)
					got, seen[id] = append(got, id), true
				}
				if len(list) > 0 {
					sizes = append(sizes, len(list))
					if a.json["totalReviewCount"] != 60. || a.json["averageRating"] != 3. {
						t.Errorf("%q: totals of %s", order, a.raw)
					}
				}
				next := a.text("nextPageToken")
				if next == "" {
					break
				}
				query = "?pageSize=1000&orderBy=" + order + "&pageToken=" + next
			}
			if len(got) != 60 || len(seen) != 60 || !slices.Equal(got[:3], want) || !slices.Equal(sizes, []int{50, 10}) {
				t.Errorf("%q: %d reviews of %d, first %v, pages %v", order, len(got), len(seen), got[:3], sizes)
			}
		}
	}
}

func TestBatchGetReviews(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	must(b.sim.PutReview(gbpsim.Review{Location: b.store[1], Stars: 5}))
	fetchAll := func(fields string) (names []string) {
		token := ""
		for {
			body := strings.Replace(batchOf(1, 0), "{", `{"pageSize":4,"pageToken":"`+token+`",`+fields, 1)
			a := b.do("POST", batchPath, body)
			if a.status != 200 {
				t.Fatalf("%d %s", a.status, a.raw)
			}
			list, _ := a.json["locationReviews"].([]any)
			for _, e := range list {
				m := e.(map[string]any)
				name := m["review"].(map[string]any)["name"].(string)
				if !strings.HasPrefix(name, m["name"].(string)+"/reviews/") {
					t.Errorf("%s of %s", name, m["name"])
				}
				names = append(names, name)
			}
			if token = a.text("nextPageToken"); token == "" {
				return names
			}
		}
	}
	var want, texts []string
	for _, r := range append(b.reviews(1), b.reviews(0)...) {
		want = append(want, string(r.Name))
		if r.Comment != "" {
			texts = append(texts, string(r.Name))
		}
	}
	if got := fetchAll(""); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := fetchAll(`"ignore_rating_only_reviews":true,`); !slices.Equal(got, texts) || len(texts) == len(want) {
		t.Errorf("with text: got %v, want %v of %v", got, texts, want)
	}
	if e := b.last(); e.Write || e.Account != gbpsim.DemoGroup || e.Effect {
		t.Errorf("journal %+v", e)
	}
}

// F052: an accepted reply is moderated later, by the clock.
func TestReplyModeration(t *testing.T) {
	t.Parallel()
	type state struct{ at, policy string }
	for name, c := range map[string]struct {
		comment string
		knobs   gbpsim.Knobs
		fault   *gbpsim.Fault
		want    [3]state // in the answer, after 30 s, after 60 s
	}{
		"at once":         {"ありがとう", gbpsim.Knobs{}, nil, [3]state{{"APPROVED", ""}, {"APPROVED", ""}, {"APPROVED", ""}}},
		"pending":         {"ありがとう", gbpsim.Knobs{ReplyPendingSeconds: 60}, nil, [3]state{{"PENDING", ""}, {"PENDING", ""}, {"APPROVED", ""}}},
		"advert":          {"予約は www.evil.example へ", gbpsim.Knobs{ReplyPendingSeconds: 60}, nil, [3]state{{"PENDING", ""}, {"PENDING", ""}, {"REJECTED", "ADVERTISING_AND_SOLICITATION"}}},
		"number":          {"03-1234-5678 まで", gbpsim.Knobs{}, nil, [3]state{{"REJECTED", "ADVERTISING_AND_SOLICITATION"}, {"REJECTED", "ADVERTISING_AND_SOLICITATION"}, {"REJECTED", "ADVERTISING_AND_SOLICITATION"}}},
		"ordered refusal": {"ありがとう", gbpsim.Knobs{}, &gbpsim.Fault{State: "REJECTED", PolicyViolation: "OFF_TOPIC"}, [3]state{{"REJECTED", "OFF_TOPIC"}, {"REJECTED", "OFF_TOPIC"}, {"REJECTED", "OFF_TOPIC"}}},
		"ordered verdict": {"ありがとう", gbpsim.Knobs{}, &gbpsim.Fault{State: "PENDING", SettleSeconds: 60, SettleState: "REJECTED"}, [3]state{{"PENDING", ""}, {"PENDING", ""}, {"REJECTED", "GENERIC_VIOLATION"}}},
		"never":           {"ありがとう", gbpsim.Knobs{}, &gbpsim.Fault{State: "PENDING"}, [3]state{{"PENDING", ""}, {"PENDING", ""}, {"PENDING", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{Knobs: c.knobs})
			if c.fault != nil {
				b.fault(*c.fault)
			}
			address := reviewOf(0, 2)
			a := b.answer(address, c.comment)
			b.sim.Advance(30 * time.Second)
			half := b.reply(address)
			b.sim.Advance(30 * time.Second)
			whole := b.reply(address)
			for i, m := range []map[string]any{a.json, half, whole} {
				policy, _ := m["policyViolation"].(string)
				if got := (state{m["reviewReplyState"].(string), policy}); got != c.want[i] {
					t.Errorf("%d: got %v, want %v", i, got, c.want[i])
				}
			}
		})
	}
}

// The same text again goes through moderation again.
func TestReplyAgainIsModeratedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{ReplyPendingSeconds: 10}})
	address := reviewOf(0, 2)
	b.answer(address, "a")
	b.sim.Advance(10 * time.Second)
	if r := b.reply(address); r["reviewReplyState"] != "APPROVED" {
		t.Errorf("%v", r)
	}
	if a := b.answer(address, "a"); a.text("reviewReplyState") != "PENDING" {
		t.Errorf("%s", a.raw)
	}
}

// Faults do to replies what they do to posts.
func TestReplyFaults(t *testing.T) {
	t.Parallel()
	const route = gbpsim.RouteReviewsReply
	for name, c := range map[string]struct {
		fault  gbpsim.Fault
		status int // 0: the connection was dropped
		stands bool
	}{
		"commit then reset":   {gbpsim.Fault{Route: route, Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit}, 0, true},
		"reset before commit": {gbpsim.Fault{Route: route, Answer: gbpsim.AnswerReset}, 0, false},
		"spurious 404":        {gbpsim.Fault{Route: route, Answer: gbpsim.AnswerError, Status: 404}, 404, false},
		"forbidden":           {gbpsim.Fault{Route: route, Answer: gbpsim.AnswerError, Status: 403}, 403, false},
		"503 after commit":    {gbpsim.Fault{Route: route, Answer: gbpsim.AnswerError, Effect: gbpsim.EffectCommit}, 503, true},
		"another review":      {gbpsim.Fault{Resource: strings.TrimPrefix(reviewOf(0, 1), v4Host+"/v4/"), Answer: gbpsim.AnswerReset}, 200, true},
		"this review":         {gbpsim.Fault{Resource: strings.TrimPrefix(reviewOf(0, 2), v4Host+"/v4/"), Answer: gbpsim.AnswerError, Status: 403, Count: 1}, 403, false},
		"hidden":              {gbpsim.Fault{Route: route, HiddenSeconds: 60}, 200, false},
		"hidden in lists":     {gbpsim.Fault{Route: route, HiddenSeconds: 60, HiddenIn: "list"}, 200, true},
		"later":               {gbpsim.Fault{Route: route, Effect: gbpsim.EffectLater, DelaySeconds: 60}, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, gbpsim.Options{})
			b.fault(c.fault)
			address := reviewOf(0, 2)
			a, err := b.try("PUT", address+"/reply", `{"comment":"a"}`)
			if (err != nil) != (c.status == 0) || a.status != c.status {
				t.Errorf("status %d, error %v", a.status, err)
			}
			if got := b.reply(address) != nil; got != c.stands {
				t.Errorf("the reply stands: %v", got)
			}
			if strings.HasPrefix(name, "hidden") || name == "later" {
				listed := b.do("GET", reviewsOf(0), "").json["reviews"].([]any)[2].(map[string]any)
				if listed["reviewReply"] != nil {
					t.Errorf("listed at once: %v", listed)
				}
				b.sim.Advance(time.Minute)
				if b.reply(address) == nil {
					t.Error("it never came")
				}
			}
		})
	}
	// A deleted reply that readers still see.
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Route: gbpsim.RouteReviewsUnreply, HiddenSeconds: 60})
	if a := b.do("DELETE", reviewOf(0, 0)+"/reply", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if b.reply(reviewOf(0, 0)) == nil || b.reviews(0)[0].Reply != nil {
		t.Error("the deletion is not hidden, or did not happen")
	}
	b.sim.Advance(time.Minute)
	if b.reply(reviewOf(0, 0)) != nil {
		t.Error("the deletion stays hidden")
	}
}

// Somebody else answers, edits and deletes, through the admin API of another process.
func TestReviewAdmin(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{ReplyPendingSeconds: 60}})
	c, ctx := gbpsim.Client{BaseURL: b.base}, t.Context()
	all := must(c.Reviews(ctx, b.store[0]))
	if d := cmp.Diff(b.reviews(0), all); d != "" || len(all) != 3 {
		t.Fatalf("%d reviews (-sim +client):\n%s", len(all), d)
	}
	b.sim.Advance(time.Second)
	open, address := all[2], reviewOf(0, 2)
	b.answer(address, "私たちの返信")
	// The author edits: moderation of our reply goes on.
	edited := must(c.PutReview(ctx, gbpsim.Review{Name: open.Name, Location: open.Location, Stars: 1}))
	if edited.Stars != 1 || edited.Comment != open.Comment || edited.Reply == nil || edited.Reply.State != "PENDING" || !edited.UpdateTime.Equal(start.Add(time.Second)) {
		t.Errorf("edited: %+v", edited)
	}
	b.sim.Advance(time.Minute)
	if r := b.reply(address); r["reviewReplyState"] != "APPROVED" {
		t.Errorf("after the edit: %v", r)
	}
	answered := must(c.PutReview(ctx, gbpsim.Review{Name: open.Name, Location: open.Location, Reply: &gbpsim.ReviewReply{Comment: "店長より", State: "UNDER_HUMAN_REVIEW"}}))
	if r := b.reply(address); r["comment"] != "店長より" || r["reviewReplyState"] != "UNDER_HUMAN_REVIEW" || answered.Reply.Email != "" {
		t.Errorf("answered meanwhile: %v, %+v", r, answered.Reply)
	}
	if status, body := fetch(t, http.MethodPost, b.base+"/admin/reviews", `{"name":"`+string(open.Name)+`","reply":null}`); status != 200 || b.reply(address) != nil {
		t.Errorf("reply removed: %d %s", status, body)
	}
	added := must(c.PutReview(ctx, gbpsim.Review{Location: b.store[0], Stars: 2, Comment: "新着"}))
	if first := b.reviews(0)[0]; first.Name != added.Name || !first.CreateTime.Equal(start.Add(61*time.Second)) {
		t.Errorf("added: %+v", first)
	}
	if err := c.RemoveReview(ctx, added.Name); err != nil || len(b.reviews(0)) != 3 {
		t.Errorf("removed: %v, %d", err, len(b.reviews(0)))
	}
	if err := c.RemoveReview(ctx, added.Name); err == nil {
		t.Error("removed twice")
	}
	before := b.sim.Reviews("")
	for _, bad := range []string{
		`{}`, `{"location":"locations/5","stars":1}`, `{"location":"` + string(b.store[0]) + `","stars":6}`, `{"location":"` + string(b.store[0]) + `","id":"a/b"}`, `{"name":7}`, `{"name":"x","stars":1}`,
		`{"name":"` + string(open.Name) + `","stars":-1}`, `{"name":"` + string(open.Name) + `","colour":1}`, `{"name":"` + string(open.Name) + `","reply":{"comment":""}}`, `{"location":"` + string(b.store[0]) + `","reply":{}}`,
	} {
		if status, body := fetch(t, http.MethodPost, b.base+"/admin/reviews", bad); status != 400 && status != 404 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	if d := cmp.Diff(before, b.sim.Reviews("")); d != "" {
		t.Errorf("mistakes changed reviews:\n%s", d)
	}
	if err := b.sim.ChangeReview("x", func(*gbpsim.Review) {}); err == nil {
		t.Error("changed what is not there")
	}
	status, page := fetch(t, http.MethodGet, b.base+"/", "")
	if status != 200 || !strings.Contains(page, "★★★★★") || !strings.Contains(page, "unanswered") || !strings.Contains(page, "ignore previous instructions") {
		t.Errorf("page: %d", status)
	}
	b.sim.Reset()
	if d := cmp.Diff(all, b.reviews(0)); d != "" {
		t.Errorf("reset (-want +got):\n%s", d)
	}
}

// Somebody else changes and deletes a post.
func TestPostAdmin(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	c, ctx := gbpsim.Client{BaseURL: b.base}, t.Context()
	name := gbpsim.PostName(b.created(0))
	b.sim.Advance(time.Second)
	text, state := "別の本文", "REJECTED"
	if err := c.ChangePost(ctx, gbpsim.PostChange{Name: name, Summary: &text, State: &state}); err != nil {
		t.Fatal(err)
	}
	if a := b.do("GET", v4Host+"/v4/"+string(name), ""); a.text("summary") != text || a.text("state") != state || a.text("updateTime") != "2026-11-30T03:00:01.000000Z" || a.text("createTime") != "2026-11-30T03:00:00.000000Z" {
		t.Errorf("%s", a.raw)
	}
	wrong := "GONE"
	if err := c.ChangePost(ctx, gbpsim.PostChange{Name: name, State: &wrong}); err == nil {
		t.Error("a state that does not exist was taken")
	}
	if err := errors.Join(c.RemovePost(ctx, name)); err != nil || len(b.sim.Posts("")) != 0 {
		t.Errorf("%v, %d posts", err, len(b.sim.Posts("")))
	}
	if c.RemovePost(ctx, name) == nil || c.ChangePost(ctx, gbpsim.PostChange{Name: name}) == nil {
		t.Error("a deleted post was changed")
	}
	if names, _ := b.listed(0, ""); len(names) != 0 {
		t.Errorf("listed: %v", names)
	}
}

func TestReviewSeeds(t *testing.T) {
	t.Parallel()
	w := gbpsim.JapaneseChain(2)
	w.Reviews = append(w.Reviews, gbpsim.Review{Location: "locations/5", Stars: 9, ID: "a b"}, gbpsim.Review{Location: w.Locations[0].Name, Reply: &gbpsim.ReviewReply{}, Fields: map[string]json.RawMessage{"x": json.RawMessage("{")}})
	_, err := gbpsim.New(gbpsim.Options{Seed: w})
	for _, part := range []string{"locations/5", "stars 9", `"a b"`, "comment is needed", "x is not JSON"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("want %q in %v", part, err)
		}
	}
	for _, k := range []gbpsim.Knobs{{ReplyPendingSeconds: -1}, {UnverifiedStatus: 404}, {NoReplyStatus: 403}} {
		if _, err := gbpsim.New(gbpsim.Options{Knobs: k}); err == nil {
			t.Errorf("knobs %+v were taken", k)
		}
	}
}

func TestDemoReviews(t *testing.T) {
	t.Parallel()
	w := gbpsim.JapaneseChain(200)
	perStore, seen := map[gbpsim.LocationName]int{}, map[string]bool{}
	ratings, open, injected := map[int]int{}, 0, 0
	for _, r := range w.Reviews {
		perStore[r.Location]++
		if seen[r.ID] {
			t.Errorf("id %s is there twice", r.ID)
		}
		seen[r.ID] = true
		ratings[r.Stars]++
		if r.Reply == nil {
			open++
		}
		if strings.Contains(r.Comment, "http://evil.example") {
			injected++
		}
	}
	for _, l := range w.Locations {
		if n := perStore[l.Name]; n < 3 || n > 5 {
			t.Errorf("%s has %d reviews", l.Name, n)
		}
	}
	if len(ratings) != 5 || open < len(w.Reviews)/3 || open == len(w.Reviews) || injected != 40 || w.Reviews[1].Comment != gbpsim.DemoInjection {
		t.Errorf("ratings %v, %d of %d open, %d injected", ratings, open, len(w.Reviews), injected)
	}
	small := gbpsim.JapaneseChain(20)
	if d := cmp.Diff(small.Reviews, w.Reviews[:len(small.Reviews)]); d != "" {
		t.Errorf("a smaller chain has other reviews:\n%s", d)
	}
}

// A reply that Google carries out late lands on top of one that was sent after it.
func TestLateReplyWins(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.fault(gbpsim.Fault{Route: gbpsim.RouteReviewsReply, Count: 1, Effect: gbpsim.EffectLater, DelaySeconds: 60, Answer: gbpsim.AnswerReset})
	address := reviewOf(0, 2)
	if _, err := b.try("PUT", address+"/reply", `{"comment":"late"}`); err == nil {
		t.Fatal("the connection was not dropped")
	}
	b.answer(address, "second")
	if r := b.reply(address); r["comment"] != "second" {
		t.Errorf("at once: %v", r)
	}
	b.sim.Advance(time.Minute)
	if r := b.reply(address); r["comment"] != "late" {
		t.Errorf("later: %v", r)
	}
	if r := b.reviews(0)[2].Reply; r == nil || r.Comment != "late" {
		t.Errorf("in fact: %+v", r)
	}
}
