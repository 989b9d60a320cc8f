package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// nobody is an id that was never given out.
const nobody = "01HV5K3Q8Z7M2N4P6R8T0V2X4Z"

// reviewed is a review at Google and as tools gave it.
type reviewed struct {
	tools.Review
	name gbpsim.ReviewName
}

// reviews puts reviews at Google, at the first store unless they say otherwise, reads them with the tool and gives them back in
// the order given.
func (d *desk) reviews(list ...gbpsim.Review) []reviewed {
	d.t.Helper()
	out := make([]reviewed, len(list))
	for i, r := range list {
		if r.Location == "" {
			r.Location = gbpsim.LocationName(d.Locations[0].Name)
		}
		if r.Stars == 0 {
			r.Stars = 4
		}
		put, err := d.Sim.PutReview(r)
		if err != nil {
			d.t.Fatal(err)
		}
		out[i].name = put.Name
	}
	all := d.allReviews(stack.Args{})
	for i := range out {
		id := d.idOf(out[i].name)
		at := slices.IndexFunc(all, func(r tools.Review) bool { return r.ReviewID == id })
		if at < 0 {
			d.t.Fatalf("%s is not in the list", out[i].name)
		}
		out[i].Review = all[at]
	}
	return out
}

func (d *desk) allReviews(args stack.Args) (out []tools.Review) {
	d.t.Helper()
	for pages := 0; ; pages++ {
		p := stack.Into[tools.ReviewPage](d.t, d.call("review.list", args))
		out = append(out, p.Reviews...)
		if p.NextPageToken == "" {
			return out
		}
		if pages > 100 {
			d.t.Fatal("the pages do not end")
		}
		args = args.With("page_token", p.NextPageToken)
	}
}

func (d *desk) idOf(name gbpsim.ReviewName) (id string) {
	d.t.Helper()
	if err := d.DB.Owner().QueryRow(context.Background(), `SELECT resource_id FROM mappy.resource WHERE tenant_id = $1 AND google_name = $2`, stack.Tenant, string(name)).Scan(&id); err != nil {
		d.t.Fatal(err)
	}
	return id
}

// again reads a review as a server does that has kept nothing.
func (d *desk) again(id string) tools.ReviewDetail {
	d.t.Helper()
	a := d.on(context.Background(), d.replica(), d.principal(d.Token), "review.get", marshal(d.t, stack.Args{"review_id": id}))
	return stack.Into[tools.ReviewDetail](d.t, a)
}

// replyOf is the reply that stands at Google; "" without one.
func (d *desk) replyOf(name gbpsim.ReviewName) string {
	d.t.Helper()
	for _, r := range d.Sim.Reviews("") {
		if r.Name == name {
			if r.Reply == nil {
				return ""
			}
			return r.Reply.Comment
		}
	}
	d.t.Fatalf("there is no %s", name)
	return ""
}

func (d *desk) changeReview(name gbpsim.ReviewName, change func(*gbpsim.Review)) {
	d.t.Helper()
	if err := d.Sim.ChangeReview(name, change); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) dry(tool string, args stack.Args) *admission.Preview {
	d.t.Helper()
	w := stack.Into[tools.Write](d.t, d.call(tool, args.With("dry_run", true)))
	if w.Preview == nil {
		d.t.Fatalf("no preview: %+v", w)
	}
	return w.Preview
}

// one is the outcome of a batch of one item.
func (d *desk) one(b *admission.Accepted) tools.ItemView {
	d.t.Helper()
	v := d.Finish(string(b.BatchID))
	if len(v.Items) != 1 {
		d.t.Fatalf("%+v", v)
	}
	return v.Items[0]
}

func reply(id, comment string) stack.Args { return stack.Args{"review_id": id, "comment": comment} }

func answered(comment string) *gbpsim.ReviewReply {
	return &gbpsim.ReviewReply{Comment: comment, UpdateTime: time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)}
}

// What is shown in the preview is what is stored and sent, byte for byte; the answer and later reads tell what Google makes of it.
func TestReviewReplyShowsWhatIsSent(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	texts := []string{
		"ありがとうございます。", "Tom & Jerry <3 \"quotes\" 'x' \\ / 🎄👨‍👩‍👧‍👦\n\n三行目\tタブ", "{{location.title}} ({{location.city}}) でお待ちしています", strings.Repeat("あ", 1365) + "a",
	}
	var list []gbpsim.Review
	for i := range texts {
		list = append(list, gbpsim.Review{ID: fmt.Sprint("shown-", i), Comment: "よい"})
	}
	for i, r := range d.reviews(list...) {
		args := reply(r.ReviewID, texts[i]).With("idempotency_key", fmt.Sprint("shown-key-", i)).With("expected_version", r.Version)
		p := d.dry("review.reply", args)
		after := string(p.Changes[0].After)
		var body struct {
			Comment string `json:"comment"`
		}
		if err := json.Unmarshal(p.Changes[0].After, &body); err != nil || !p.WouldExecute || p.Confirmation.Required || len(p.Changes) != 1 || p.Changes[0].CommentBytes != len(body.Comment) ||
			p.EstimatedGBPAPICalls != 2 || !p.Reversible.Possible || p.Changes[0].TargetIDs[0] != r.ReviewID || p.Changes[0].Before != nil {
			t.Fatalf("%v, %+v", err, p)
		}
		if len(d.sentBodies(gbpsim.RouteReviewsReply)) != i {
			t.Fatal("a preview wrote")
		}
		item := d.one(d.Accept("review.reply", args))
		sent := d.sentBodies(gbpsim.RouteReviewsReply)
		if len(sent) != i+1 || sent[i].Body != after || d.replyOf(r.name) != body.Comment || strings.Contains(after, "{{") {
			t.Fatalf("shown %s, sent %+v", after, sent)
		}
		var stored []byte
		if err := d.DB.Owner().QueryRow(t.Context(), `SELECT payload FROM mappy.item WHERE item_id = $1`, item.ItemID).Scan(&stored); err != nil || string(stored) != after {
			t.Errorf("%v, stored %s", err, stored)
		}
		if item.Publication != batch.Live || item.Target.ID != r.ReviewID || item.Target.Kind != "review" || item.State != batch.ItemSucceeded || item.Executed != errs.ExecutedYes {
			t.Errorf("%+v", item)
		}
		// Our copy has the whole review with the reply in it, under the version that the batch gave, and Google agrees.
		got := stack.Into[tools.ReviewDetail](t, d.call("review.get", stack.Args{"review_id": r.ReviewID}))
		if got.Reply == nil || got.Reply.State != "APPROVED" || got.Version != item.Version || got.Version == r.Version || got.Text != "よい" || got.Deleted {
			t.Errorf("%+v", got)
		}
		if fresh := d.again(r.ReviewID); fresh.Version != got.Version || *fresh.Reply != *got.Reply {
			t.Errorf("ours %+v, Google's %+v", got, fresh)
		}
	}
	if u := d.Sim.Unknown(); len(u) > 0 {
		t.Errorf("requests that Google does not know: %+v", u)
	}
}

// F045, F054: what breaks the rules of a reply is refused by the live call and told by the dry run, before anything is sent;
// what a person will mind is pointed at.
func TestF045F054RepliesThatAreRefusedOrDoubtful(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	r := d.reviews(gbpsim.Review{ID: "rules", Comment: "よい"})[0]
	for text, want := range map[string]string{
		strings.Repeat("あ", 1366): "comment max_bytes", strings.Repeat("🎄", 1025): "comment max_bytes", strings.Repeat("あ", 1361) + "{{location.title}}": "comment max_bytes",
		"": "comment required", "   ": "comment required", "　\n\t": "comment required", "Hi {{reviewer_name}}, thanks": "comment unknown_variable",
	} {
		a := d.call("review.reply", reply(r.ReviewID, text))
		d.mustRefuse(a, errs.InvalidArgument)
		if got := rules(a); !slices.Equal(got, []string{want}) {
			t.Errorf("%.20q: %q", text, got)
		}
		if strings.HasPrefix(text, "ああ") && utf8Of(text) == 1366 && !strings.Contains(a.Text, "4,098 of 4,096 bytes") {
			t.Errorf("F045: %s", a.Text)
		}
		dry := d.call("review.reply", reply(r.ReviewID, text).With("dry_run", true))
		if !dry.IsError { // the decoder's refusals answer a dry run as well
			p := stack.Into[tools.Write](t, dry).Preview
			if p.WouldExecute || p.WouldRefuse.ErrorCode != errs.InvalidArgument || p.Confirmation.ConfirmToken != "" || p.ValidationErrors[0].Path+" "+p.ValidationErrors[0].Rule != want {
				t.Errorf("%.20q: %+v", text, p)
			}
		} else if got := rules(dry); !slices.Equal(got, []string{want}) {
			t.Errorf("%.20q dry: %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"Dear [Customer Name], thanks": "PLACEHOLDER_IN_TEXT", "[お客様名] 様": "PLACEHOLDER_IN_TEXT", "Sure! Here is a reply: thanks": "MODEL_CHATTER_IN_TEXT",
		"Ben &amp; Co": "MARKUP_IN_TEXT", "a\\nb": "ESCAPED_LINE_BREAK",
	} {
		p := d.dry("review.reply", reply(r.ReviewID, text))
		if !p.WouldExecute || len(p.ValidationWarnings) != 1 || p.ValidationWarnings[0].Code != want || p.ValidationWarnings[0].Span == "" {
			t.Errorf("%q: %+v", text, p.ValidationWarnings)
		}
	}
	// The limit is that of the text with its variables filled in, also where it is longer before.
	full := strings.Repeat("a", 4096-len(d.Locations[0].Profile.StoreCode)) + "{{location.store_code}}"
	if p := d.dry("review.reply", reply(r.ReviewID, full)); !p.WouldExecute || p.Changes[0].CommentBytes != 4096 {
		t.Errorf("%+v", p.ValidationErrors)
	}
	if d.batches() != 0 || len(d.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteReviewsReply})) != 0 {
		t.Error("something was accepted or sent")
	}
}

func utf8Of(s string) int { return len([]rune(s)) }

// F047: a reply that stands is never overwritten unless the caller says so and a person agrees.
func TestF047ReplacingAReply(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	r := d.reviews(gbpsim.Review{ID: "f047", Comment: "great", Reply: answered("Thank you – the owner")})[0]
	args := reply(r.ReviewID, "Thanks!")
	a := d.call("review.reply", args)
	d.mustRefuse(a, errs.InvalidArgument)
	v := a.Details.Violations[0]
	if v.Path != "replace_existing" || v.Rule != "already_replied" || v.Value != "Thank you – the owner" || !strings.Contains(v.Message, "2026-11-02T03:04:05Z") || !strings.Contains(v.Message, "replace_existing: true") && !strings.Contains(v.Message, "replace_existing true") {
		t.Errorf("%+v", v)
	}
	if p := d.dry("review.reply", args); p.WouldExecute || p.ValidationErrors[0].Rule != "already_replied" || p.Confirmation.ConfirmToken != "" {
		t.Errorf("%+v", p)
	}
	for _, strange := range []any{"yes", 1, "", []bool{true}} {
		d.mustRefuse(d.call("review.reply", args.With("replace_existing", strange)), errs.InvalidArgument)
	}
	args = args.With("replace_existing", true)
	p := d.dry("review.reply", args)
	if !p.WouldExecute || p.Confirmation.Reason != "replaces_reply" || p.Confirmation.ConfirmToken == "" || !hasWarning(p.ValidationWarnings, "REPLY_EXISTS") ||
		string(p.Changes[0].Before) != `{"comment":"Thank you – the owner"}` || string(p.Changes[0].After) != `{"comment":"Thanks!"}` {
		t.Fatalf("%+v", p)
	}
	need := d.call("review.reply", args)
	d.mustRefuse(need, errs.ConfirmationRequired)
	if need.Details.Reason != "replaces_reply" || !strings.Contains(need.Details.HumanReadableMessage, "Thanks!") {
		t.Errorf("%+v", need.Details)
	}
	d.mustRefuse(d.call("review.reply", args.With("comment", "Other").With("confirm_token", p.Confirmation.ConfirmToken)), errs.ConfirmTokenMismatch)
	if d.replyOf(r.name) != "Thank you – the owner" || d.batches() != 0 {
		t.Fatal("it was overwritten")
	}
	accepted := d.Accept("review.reply", args.With("confirm_token", p.Confirmation.ConfirmToken))
	if len(accepted.Warnings) != 1 || accepted.Warnings[0].Code != "REPLY_EXISTS" {
		t.Errorf("%+v", accepted.Warnings)
	}
	if i := d.one(accepted); i.State != batch.ItemSucceeded || d.replyOf(r.name) != "Thanks!" {
		t.Errorf("%+v", i)
	}

	// A token shows what stands there: another reply meanwhile, read by anybody, makes it worthless.
	args = reply(r.ReviewID, "Third").With("replace_existing", true)
	token := d.dry("review.reply", args).Confirmation.ConfirmToken
	d.changeReview(r.name, func(r *gbpsim.Review) { r.Reply = answered("From the app") })
	d.again(r.ReviewID)
	d.mustRefuse(d.call("review.reply", args.With("confirm_token", token)), errs.VersionConflict)
}

// F048: two calls for one review: the later one waits for the earlier, and then leaves alone what it has not seen.
func TestF048TwoCallsForOneReview(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	r := d.reviews(gbpsim.Review{ID: "f048", Comment: "great"})[0]
	first, second := d.Accept("review.reply", reply(r.ReviewID, "One")), d.Accept("review.reply", reply(r.ReviewID, "Two"))
	third := d.Accept("review.reply", reply(r.ReviewID, "One").With("idempotency_key", "f048-same-text"))
	d.Work()
	if i := d.one(first); i.State != batch.ItemSucceeded {
		t.Errorf("%+v", i)
	}
	if i := d.one(second); i.State != batch.ItemFailed || i.ErrorCode != errs.VersionConflict || i.Executed != errs.ExecutedNo || i.RetryPossible {
		t.Errorf("%+v", i)
	}
	if i := d.one(third); i.State != batch.ItemSucceeded || !i.Already {
		t.Errorf("%+v", i)
	}
	if sent := d.sentBodies(gbpsim.RouteReviewsReply); len(sent) != 1 || d.replyOf(r.name) != "One" {
		t.Errorf("%+v", sent)
	}
}

// A review that changed before or after the write was accepted is left alone.
func TestReviewChangedMeanwhile(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	list := d.reviews(gbpsim.Review{ID: "v-0", Comment: "a"}, gbpsim.Review{ID: "v-1", Comment: "b"}, gbpsim.Review{ID: "v-2", Comment: "c", Reply: answered("old")}, gbpsim.Review{ID: "v-3", Comment: "d", Reply: answered("old")})

	// The caller saw less than we have read since.
	d.changeReview(list[0].name, func(r *gbpsim.Review) { r.Comment, r.Stars = "changed my mind", 1 })
	now := d.again(list[0].ReviewID)
	a := d.call("review.reply", reply(list[0].ReviewID, "x").With("expected_version", list[0].Version))
	d.mustRefuse(a, errs.VersionConflict)
	if a.Details.CurrentVersion != now.Version || a.Details.Changed[0].TargetID != list[0].ReviewID {
		t.Errorf("%+v", a.Details)
	}
	d.mustRefuse(d.call("review.delete_reply", stack.Args{"review_id": list[0].ReviewID, "expected_version": list[0].Version}), errs.VersionConflict)
	if p := d.dry("review.reply", reply(list[0].ReviewID, "x").With("expected_version", list[0].Version)); p.WouldExecute || p.WouldRefuse.ErrorCode != errs.VersionConflict {
		t.Errorf("%+v", p)
	}

	// Behind our back, before the worker looks: the author edits, somebody answers, somebody changes the reply.
	var bs []*admission.Accepted
	bs = append(bs, d.accepted("review.reply", reply(list[1].ReviewID, "x").With("expected_version", list[1].Version)))
	d.changeReview(list[1].name, func(r *gbpsim.Review) { r.Reply = answered("A colleague was faster") })
	bs = append(bs, d.accepted("review.reply", reply(list[2].ReviewID, "x").With("replace_existing", true)))
	d.changeReview(list[2].name, func(r *gbpsim.Review) { r.Comment = "one more thing" })
	bs = append(bs, d.accepted("review.delete_reply", stack.Args{"review_id": list[3].ReviewID}))
	d.changeReview(list[3].name, func(r *gbpsim.Review) { r.Reply.Comment = "improved" })
	d.Work()
	for n, b := range bs {
		if i := d.one(b); i.State != batch.ItemFailed || i.ErrorCode != errs.VersionConflict || i.Executed != errs.ExecutedNo || i.Version == "" {
			t.Errorf("%d: %+v", n, i)
		}
	}
	if len(d.sentBodies(gbpsim.RouteReviewsReply))+len(d.sentBodies(gbpsim.RouteReviewsUnreply)) != 0 {
		t.Error("something was sent")
	}
}

// What is absent and what is somebody else's is the same answer; a thing of another kind is no review.
func TestReviewOfNobody(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	r := d.reviews(gbpsim.Review{ID: "mine", Comment: "a", Reply: answered("old")})[0]
	post := d.made(1, "A post").Items[0].Target.ID
	stranger, _ := d.tenant("stranger", stack.Roomy)
	narrow := d.AddUser(stack.Tenant, "narrow", authn.Grants{LocationIDs: d.IDs(2)[1:]}, stack.Scopes(), stack.Roomy)
	for _, c := range []struct{ token, id string }{{d.Token, nobody}, {d.Token, post}, {d.Token, "accounts/1/locations/2/reviews/3"}, {stranger, r.ReviewID}, {narrow, r.ReviewID}} {
		for tool, args := range map[string]stack.Args{
			"review.get": {}, "review.reply": {"comment": "x", "replace_existing": true}, "review.delete_reply": {},
		} {
			for _, dry := range []bool{false, true} {
				args := args.With("review_id", c.id)
				if tool != "review.get" {
					args = args.With("dry_run", dry)
				}
				a := d.callAs(c.token, tool, args)
				d.mustRefuse(a, errs.ReviewNotFound)
				if a.Details.NotFound[0] != c.id || strings.Contains(a.Text, "old") {
					t.Errorf("%s: %s", tool, a.Text)
				}
			}
		}
	}
	if got := stack.Into[tools.ReviewPage](t, d.callAs(narrow, "review.list", stack.Args{})); slices.ContainsFunc(got.Reviews, func(x tools.Review) bool { return int64(x.LocationID) == d.IDs(1)[0] }) || len(got.Reviews) == 0 {
		t.Errorf("%+v", got)
	}
	for _, id := range []any{12, "", nil, []string{r.ReviewID}} {
		d.mustRefuse(d.call("review.reply", stack.Args{"review_id": id, "comment": "x"}), errs.InvalidArgument)
	}
	if d.batches() != 1 {
		t.Error("something was accepted")
	}
}

// One key, one effect; another input under it is a conflict; and what a later write took away may be said again.
func TestReviewReplyIdempotency(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	list := d.reviews(gbpsim.Review{ID: "k-0", Comment: "a"}, gbpsim.Review{ID: "k-1", Comment: "b"}, gbpsim.Review{ID: "k-2", Comment: "c"})

	// At the same time, with one key.
	p := d.principal(d.Token)
	raw := marshal(t, reply(list[0].ReviewID, "Once").With("idempotency_key", "review-key-1"))
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() { d.as(t.Context(), p, "review.reply", raw) })
	}
	wg.Wait()
	again := d.Accept("review.reply", reply(list[0].ReviewID, "Once \n\n").With("idempotency_key", "review-key-1"))
	if again.Idempotency.Outcome != admission.Replayed || d.batches() != 1 || d.one(again).State != batch.ItemSucceeded {
		t.Errorf("%+v, %d batches", again, d.batches())
	}
	for _, other := range []stack.Args{reply(list[0].ReviewID, "Twice"), reply(list[1].ReviewID, "Once"), reply(list[0].ReviewID, "Once").With("replace_existing", true)} {
		a := d.call("review.reply", other.With("idempotency_key", "review-key-1"))
		d.mustRefuse(a, errs.IdempotencyConflict)
		if a.Details.BatchID != string(again.BatchID) || len(a.Details.Differs) == 0 {
			t.Errorf("%+v", a.Details)
		}
	}

	// Without a key: a blind re-send is caught; reply, delete, reply again is three effects.
	first := d.Accept("review.reply", reply(list[1].ReviewID, "Thanks"))
	if b := d.Accept("review.reply", reply(list[1].ReviewID, "Thanks")); b.BatchID != first.BatchID {
		t.Errorf("%+v", b)
	}
	d.Finish(string(first.BatchID))
	gone := d.accepted("review.delete_reply", stack.Args{"review_id": list[1].ReviewID})
	d.Finish(string(gone.BatchID))
	if d.replyOf(list[1].name) != "" {
		t.Fatal("the reply is still there")
	}
	second := d.Accept("review.reply", reply(list[1].ReviewID, "Thanks"))
	if second.BatchID == first.BatchID || second.Idempotency.Outcome != admission.Executed || d.one(second).State != batch.ItemSucceeded || d.replyOf(list[1].name) != "Thanks" {
		t.Errorf("%+v", second)
	}
	if b := d.Accept("review.reply", reply(list[1].ReviewID, "Thanks")); b.BatchID != second.BatchID {
		t.Errorf("%+v", b)
	}
	if n := len(d.sentBodies(gbpsim.RouteReviewsReply)); n != 3 {
		t.Errorf("%d replies were written", n)
	}
}

// Repeating what is done is success without a call; and what we only believe to be done is looked at before it is called done.
func TestReviewRepliesThatAreDone(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	list := d.reviews(gbpsim.Review{ID: "d-0", Comment: "a", Reply: answered("Thanks")}, gbpsim.Review{ID: "d-1", Comment: "b"},
		gbpsim.Review{ID: "d-2", Comment: "c", Reply: answered("Thanks")}, gbpsim.Review{ID: "d-3", Comment: "d"}, gbpsim.Review{ID: "d-4", Comment: "e", Reply: answered("Thanks")})
	same := reply(list[0].ReviewID, "Thanks\n")
	if p := d.dry("review.reply", same); !p.WouldExecute || !p.Changes[0].Already || p.EstimatedGBPAPICalls != 0 || p.Confirmation.Required {
		t.Errorf("%+v", p)
	}
	looks := func() int { return len(d.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteReviewsGet})) }
	before := looks()
	a := d.Accept("review.reply", same)
	if i := d.one(a); !a.Already || i.State != batch.ItemSucceeded || !i.Already || i.Version != list[0].Version || i.Publication == batch.Deleted {
		t.Errorf("%+v, %+v", a, i)
	}
	a = d.Accept("review.delete_reply", stack.Args{"review_id": list[1].ReviewID})
	if i := d.one(a); !a.Already || i.State != batch.ItemSucceeded || !i.Already || i.Publication != batch.Deleted {
		t.Errorf("%+v, %+v", a, i)
	}
	if looks() != before {
		t.Error("Google was called")
	}
	for _, r := range list[:2] { // the reviews themselves are still there
		if got := stack.Into[tools.ReviewDetail](t, d.call("review.get", stack.Args{"review_id": r.ReviewID})); got.Deleted || got.Version != r.Version {
			t.Errorf("%+v", got)
		}
	}
	if n := d.count(`SELECT count(*) FROM mappy.resource WHERE deleted_at IS NOT NULL`); n != 0 {
		t.Errorf("%d reviews count as deleted", n)
	}

	// Read long ago: Google is asked. Still so: done, without a write. No longer so: left alone.
	d.exec(`UPDATE mappy.resource SET seen_at = seen_at - interval '1 hour'`)
	if a = d.Accept("review.reply", reply(list[2].ReviewID, "Thanks")); a.Already {
		t.Errorf("%+v", a)
	}
	if i := d.one(a); i.State != batch.ItemSucceeded || !i.Already || i.Publication != batch.Live {
		t.Errorf("%+v", i)
	}
	if i := d.one(d.accepted("review.delete_reply", stack.Args{"review_id": list[3].ReviewID})); i.State != batch.ItemSucceeded || !i.Already || i.Publication != batch.Deleted {
		t.Errorf("%+v", i)
	}
	d.changeReview(list[4].name, func(r *gbpsim.Review) { r.Reply = nil })
	if i := d.one(d.Accept("review.reply", reply(list[4].ReviewID, "Thanks"))); i.ErrorCode != errs.VersionConflict {
		t.Errorf("%+v", i)
	}
	if len(d.sentBodies(gbpsim.RouteReviewsReply))+len(d.sentBodies(gbpsim.RouteReviewsUnreply)) != 0 {
		t.Error("something was written")
	}
}

// A reply is deleted only after a person agreed, and the review stays.
func TestReviewDeleteReply(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	r := d.reviews(gbpsim.Review{ID: "unreply", Comment: "a", Reply: answered("Thanks")})[0]
	args := stack.Args{"review_id": r.ReviewID, "expected_version": r.Version}
	p := d.dry("review.delete_reply", args)
	if !p.WouldExecute || p.Confirmation.Reason != "target_count" || string(p.Changes[0].Before) != `{"comment":"Thanks"}` || p.Changes[0].After != nil || p.EstimatedGBPAPICalls != 2 {
		t.Errorf("%+v", p)
	}
	d.mustRefuse(d.call("review.delete_reply", args), errs.ConfirmationRequired)
	i := d.one(d.Confirmed("review.delete_reply", args))
	if i.State != batch.ItemSucceeded || i.Publication != batch.Deleted || i.StateAfter != "{}" || d.replyOf(r.name) != "" {
		t.Errorf("%+v", i)
	}
	got := stack.Into[tools.ReviewDetail](t, d.call("review.get", stack.Args{"review_id": r.ReviewID}))
	if got.Deleted || got.Reply != nil || got.Version != i.Version || got.Text != "a" || d.again(r.ReviewID).Version != i.Version {
		t.Errorf("%+v", got)
	}
	// Again with a new key: nothing is left to do.
	if a := d.Accept("review.delete_reply", stack.Args{"review_id": r.ReviewID, "idempotency_key": "unreply-again"}); !a.Already {
		t.Errorf("%+v", a)
	}
	if sent := d.sentBodies(gbpsim.RouteReviewsUnreply); len(sent) != 1 || sent[0].Body != "" {
		t.Errorf("%+v", sent)
	}
}
