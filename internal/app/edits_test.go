package app_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// made publishes a post on the first n stores and gives the finished batch.
func (d *desk) made(n int, summary string) *tools.BatchView {
	d.t.Helper()
	args := stack.Post(d.IDs(n), summary)
	v := d.Finish(string(d.accepted("post.create", args).BatchID))
	if v.Status != batch.Done {
		d.t.Fatalf("%+v", v)
	}
	return v
}

// accepted makes a write, with the confirmation where one is asked for.
func (d *desk) accepted(tool string, args stack.Args) *admission.Accepted {
	d.t.Helper()
	a := d.call(tool, args)
	for range 4 {
		switch a.ErrorCode {
		case errs.ConfirmationRequired:
			args = args.With("confirm_token", a.Details.ConfirmToken)
			a = d.call(tool, args)
		case errs.Unavailable: // the machine is too busy for the deadline of a call
			a = d.call(tool, args)
		default:
		}
	}
	w := stack.Into[tools.Write](d.t, a)
	if w.Accepted == nil {
		d.t.Fatalf("%s not accepted: %+v", tool, w)
	}
	return w.Accepted
}

func (d *desk) done(tool string, args stack.Args) *tools.BatchView {
	d.t.Helper()
	return d.Finish(string(d.accepted(tool, args).BatchID))
}

// sentBodies are the bodies that reached Google on a route, with their queries.
func (d *desk) sentBodies(route gbpsim.Route) (out []gbpsim.Entry) {
	for _, e := range d.Sim.Journal() {
		if e.Route == route && e.Effect {
			out = append(out, e)
		}
	}
	return out
}

func postArgs(id, version string, more stack.Args) stack.Args {
	p := map[string]any{"post_id": id, "expected_version": version}
	maps.Copy(p, more)
	return stack.Args{"posts": []any{p}}
}

// F023: an edit names exactly its fields in the mask and leaves the rest alone; what is shown is what is sent.
func TestF023PostUpdateSendsItsFieldsOnly(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	args := stack.Args{"location_ids": d.IDs(1), "post": map[string]any{
		"summary": "Old words", "call_to_action": map[string]any{"action_type": "BOOK", "url": "https://komorebi-coffee.example/book"},
		"media": []any{map[string]any{"source_url": "https://komorebi-coffee.example/a.jpg"}},
	}}
	first := d.done("post.create", args).Items[0]
	change := postArgs(first.Target.ID, first.Version, stack.Args{"summary": "New words"})
	p := stack.Into[tools.Write](t, d.call("post.update", change.With("dry_run", true))).Preview
	if !p.WouldExecute || string(p.Changes[0].Before) != `{"summary":"Old words"}` || string(p.Changes[0].After) != `{"summary":"New words"}` || p.EstimatedGBPAPICalls != 2 {
		t.Fatalf("%+v", p)
	}
	v := d.done("post.update", change)
	if v.Status != batch.Done || v.Items[0].Version == first.Version || v.Items[0].Target.ID != first.Target.ID {
		t.Fatalf("%+v", v)
	}
	sent := d.sentBodies(gbpsim.RouteLocalPostsPatch)
	if len(sent) != 1 || sent[0].Body != string(p.Changes[0].After) || !strings.Contains(sent[0].Query, "updateMask=summary") || strings.Contains(sent[0].Query, "%2C") {
		t.Fatalf("%+v", sent)
	}
	got := d.Sim.Posts(gbpsim.LocationName(d.Locations[0].Name))[0]
	var w struct {
		CallToAction struct{ URL string }
		Media        []any
		Summary      string
	}
	if err := json.Unmarshal(got.Google, &w); err != nil || w.Summary != "New words" || w.CallToAction.URL == "" || len(w.Media) != 1 {
		t.Errorf("%s, %v", got.Google, err)
	}
	// The version of the answer is the one that the next edit passes; the old one is stale.
	d.mustRefuse(d.call("post.update", change.With("idempotency_key", "another-key")), errs.VersionConflict)
	next := postArgs(first.Target.ID, v.Items[0].Version, stack.Args{"clear": []string{"call_to_action"}})
	if v := d.done("post.update", next); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	if sent := d.sentBodies(gbpsim.RouteLocalPostsPatch); sent[1].Body != `{}` || !strings.Contains(sent[1].Query, "updateMask=callToAction") {
		t.Errorf("%+v", sent[1])
	}
}

// F024: what cannot be changed is refused with advice, before anything is sent.
func TestF024PostUpdateRefusesWhatCannotChange(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	first := d.made(1, "Words").Items[0]
	for _, more := range []stack.Args{
		{"topic_type": "EVENT"},
		{"media": []any{map[string]any{"source_url": "https://komorebi-coffee.example/b.jpg"}}},
		{"scheduled_time": "2099-01-01T00:00:00Z"},
		{"state": "LIVE"},
		{"event": map[string]any{"title": "x", "start_date": "2099-01-01", "end_date": "2099-01-02"}},
		{"summary": "Words"},
		{},
		{"clear": []string{"summary"}},
		{"clear": []string{"summary"}, "summary": "x"},
		{"summary": strings.Repeat("あ", 1501)},
		{"call_to_action": map[string]any{"action_type": "CALL", "url": "https://komorebi-coffee.example/"}},
	} {
		a := d.call("post.update", postArgs(first.Target.ID, first.Version, more))
		d.mustRefuse(a, errs.InvalidArgument)
		if v := a.Details.Violations[0]; !strings.HasPrefix(v.Path, "posts[0]") || v.Message == "" {
			t.Errorf("%v: %+v", more, v)
		}
	}
	a := d.call("post.update", postArgs(first.Target.ID, first.Version, stack.Args{"topic_type": "EVENT"}))
	if !strings.Contains(a.Details.Violations[0].Message, "create a new one") {
		t.Errorf("%+v", a.Details.Violations)
	}
	d.mustRefuse(d.call("post.update", postArgs("01HV5K3Q8Z7M2N4P6R8T0V2X4Z", "x", stack.Args{"summary": "y"})), errs.PostNotFound)
	if sent := d.sentBodies(gbpsim.RouteLocalPostsPatch); len(sent) != 0 {
		t.Errorf("%+v", sent)
	}
}

// Delete, undo, undo of the undo; and what somebody else changed meanwhile is left alone.
func TestPostDeleteAndUndo(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 4})
	made := d.made(4, "Campaign")
	at := func(store int) []gbpsim.Post { return d.Sim.Posts(gbpsim.LocationName(d.Locations[store].Name)) }
	live := func() (n int) {
		for i := range 4 {
			n += len(at(i))
		}
		return n
	}

	// Taking a campaign down on two of its stores.
	v := d.done("post.delete", stack.Args{"batch_id": made.BatchID, "location_ids": d.IDs(2)})
	if v.Status != batch.Done || v.TargetCount != 2 || v.Items[0].Publication != batch.Deleted || live() != 2 {
		t.Fatalf("%d live, %+v", live(), v)
	}
	// Again: nothing is left to do.
	again := d.accepted("post.delete", stack.Args{"batch_id": made.BatchID, "location_ids": d.IDs(2), "idempotency_key": "again-again"})
	if !again.Already {
		t.Errorf("%+v", again)
	}
	if v := d.Finish(string(again.BatchID)); v.Status != batch.Done || !v.Items[0].Already || len(d.sentBodies(gbpsim.RouteLocalPostsDelete)) != 2 {
		t.Errorf("%+v", v)
	}

	// Undo: the two are made anew.
	undone := d.done("batch.undo", stack.Args{"batch_id": v.BatchID})
	if undone.Status != batch.Done || undone.OriginBatchID != v.BatchID || undone.Items[0].Operation != "post.create" || live() != 4 || at(0)[0].Summary != "Campaign" {
		t.Fatalf("%d live, %+v", live(), undone)
	}
	// A second undo has nothing to do.
	d.mustRefuse(d.call("batch.undo", stack.Args{"batch_id": v.BatchID, "idempotency_key": "undo-again"}), errs.NothingToUndo)
	// Undo of the undo: they are deleted again.
	if v := d.done("batch.undo", stack.Args{"batch_id": undone.BatchID}); v.Status != batch.Done || v.Items[0].Operation != "post.delete" || live() != 2 {
		t.Fatalf("%d live, %+v", live(), v)
	}

	// Undo of the creation, after somebody else changed one store's post at Google: that one is skipped and reported.
	third := made.Items[2]
	if v := d.done("post.update", postArgs(third.Target.ID, third.Version, stack.Args{"summary": "Somebody else's words"})); v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	w := stack.Into[tools.Write](t, d.call("batch.undo", stack.Args{"batch_id": made.BatchID, "dry_run": true}))
	if p := w.Preview; !p.WouldExecute || p.TargetCount != 1 || len(p.ValidationWarnings) != 3 || p.Changes[0].Operation != "post.delete" {
		t.Fatalf("%+v", p)
	}
	if v := d.done("batch.undo", stack.Args{"batch_id": made.BatchID}); v.Status != batch.Done || v.TargetCount != 1 || live() != 1 || at(2)[0].Summary != "Somebody else's words" {
		t.Fatalf("%d live, %+v", live(), v)
	}
}

// An edit whose target changed at Google behind our back writes nothing.
func TestEditMeetsAChangedTarget(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, NoWorkers: true})
	stop := d.Work()
	first := d.made(1, "Words").Items[0]
	stop()
	b := d.accepted("post.update", postArgs(first.Target.ID, first.Version, stack.Args{"summary": "Mine"}))
	other := d.accepted("post.update", postArgs(first.Target.ID, first.Version, stack.Args{"summary": "Later"}))
	d.Work()
	if v := d.Finish(string(b.BatchID)); v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	v := d.Finish(string(other.BatchID)) // accepted while the post was still what it expected, sent when it no longer was
	if v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.VersionConflict || v.Failures[0].Executed != errs.ExecutedNo {
		t.Fatalf("%+v", v)
	}
	if sent := d.sentBodies(gbpsim.RouteLocalPostsPatch); len(sent) != 1 {
		t.Errorf("%+v", sent)
	}
}

// batch.retry sends only what failed and may be sent again.
func TestRetryOfTheRetryable(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 4, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{"post.create":50},`, 1)})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(d.Locations[1].Name), Answer: gbpsim.AnswerError, Status: 429, Count: 4})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(d.Locations[2].Name), Answer: gbpsim.AnswerError, Status: 403, Count: 1})
	v := d.Finish(string(d.accepted("post.create", stack.Post(d.IDs(4), "News")).BatchID))
	if v.Status != batch.Partial || v.SuccessCount != 2 || v.FailureCount != 2 {
		t.Fatalf("%+v", v)
	}
	p := stack.Into[tools.Write](t, d.call("batch.retry", stack.Args{"batch_id": v.BatchID, "dry_run": true})).Preview
	if p.TargetCount != 1 || p.Changes[0].LocationIDs[0] != d.IDs(4)[1] || len(p.ValidationWarnings) == 0 {
		t.Fatalf("%+v", p)
	}
	r := d.done("batch.retry", stack.Args{"batch_id": v.BatchID})
	if r.Status != batch.Done || r.TargetCount != 1 || r.Operation != "batch.retry" || r.Items[0].Operation != "post.create" || r.OriginBatchID != v.BatchID {
		t.Fatalf("%+v", r)
	}
	d.mustRefuse(d.call("batch.retry", stack.Args{"batch_id": v.BatchID, "idempotency_key": "retry-again"}), errs.InvalidArgument)
	if n := d.CreatedTotal(); n != 3 {
		t.Errorf("%d posts", n)
	}
}
