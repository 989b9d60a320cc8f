package app_test

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// labelled is the simplest change.
func labelled(words ...string) stack.Args { return stack.Args{"labels": words} }

// An answer that is lost, broken or a 5xx, whether or not the edit is in: one final state, what was wanted is there, and nobody
// claims otherwise.
func TestLocationUnclearOutcomes(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 6, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{"location.update":50},`, 1)})
	for i, f := range []gbpsim.Fault{
		{Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset},
		{Effect: gbpsim.EffectNone, Answer: gbpsim.AnswerReset},
		{Answer: gbpsim.AnswerError, Status: 503},
		{Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerError, Status: 500},
		{Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerEmpty},
		{Answer: gbpsim.AnswerError, Status: 429},
	} {
		f.Route, f.Location, f.Count = gbpsim.RouteLocationsPatch, d.name(i), 1
		d.fault(f)
		f.Route = gbpsim.RouteLocationsUpdateAttributes
		d.fault(f)
	}
	change := stack.Args{"labels": []string{"夜営業"}, "attributes": []any{map[string]any{"name": "has_delivery", "bool": true}}}
	v := d.done("location.update", d.changeAll(6, change))
	if v.Status != batch.Done || v.TargetCount != 12 {
		t.Fatalf("%+v", v)
	}
	for i := range 6 {
		s, err := d.Sim.Store(d.name(i))
		if err != nil || d.google(i, "labels") != `["夜営業"]` || !strings.Contains(string(s.Attributes), "has_delivery") {
			t.Errorf("store %d: %s %s %v", i, d.google(i, "labels"), s.Attributes, err)
		}
		if got := d.store(i); !slices.Equal(got.Fields.Labels, []string{"夜営業"}) || len(got.Fields.Attributes) != 1 {
			t.Errorf("our copy of store %d: %+v", i, got.Fields)
		}
	}
	// Landed edits are not sent again.
	if n := len(d.sentBodies(gbpsim.RouteLocationsPatch)); n != 6 {
		t.Errorf("%d edits for six stores", n)
	}
	d.countersMatch()
}

// An unclear answer, and somebody changes the field before we can look: nobody can tell, and nothing is overwritten.
func TestLocationUnclearAndChanged(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, Config: func(c *config.Config) { c.Worker.GiveUp = time.Second }})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocationsPatch, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	a := d.accepted("location.update", one(d.change(0, labelled("ours"))))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := d.Sim.Await(ctx, gbpsim.EntryFilter{Route: gbpsim.RouteLocationsPatch}, func(es []gbpsim.Entry) bool { return len(es) == 1 && es[0].Effect }); err != nil {
		t.Fatal(err)
	}
	d.behind(0, "labels", `["theirs"]`)
	v := d.Finish(string(a.BatchID))
	if v.Status != batch.Partial || v.UnknownCount != 1 || v.Failures[0].ErrorCode != errs.GBPOutcomeUnknown || d.google(0, "labels") != `["theirs"]` {
		t.Errorf("%+v", v)
	}
	if n := len(d.sentBodies(gbpsim.RouteLocationsPatch)); n != 1 {
		t.Errorf("%d edits", n)
	}
}

// A store's fields and its attributes are two targets: what is said of one when it is left alone is not said of the store.
func TestUndoOfHalfAStore(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocationsUpdateAttributes, Answer: gbpsim.AnswerError, Status: 400, Count: 1})
	v := d.done("location.update", one(d.change(0, stack.Args{"labels": []string{"夜営業"}, "attributes": []any{map[string]any{"name": "has_delivery", "bool": true}}})))
	if v.Status != batch.Partial || v.SuccessCount != 1 {
		t.Fatalf("%+v", v)
	}
	undo := stack.Args{"batch_id": v.BatchID}
	p := d.previewOf("batch.undo", undo)
	if !p.WouldExecute || p.TargetCount != 1 || len(p.ValidationWarnings) != 1 || p.ValidationWarnings[0].Message != "Nothing was changed on this target." {
		t.Errorf("%+v", p.ValidationWarnings)
	}
	if u := d.done("batch.undo", undo); u.Status != batch.Done || slices.Contains(d.store(0).Fields.Labels, "夜営業") {
		t.Errorf("%+v", u)
	}
}

// One store's refusal is its own; the retryable ones can be sent again, once, and only while the store still is what it was.
func TestLocationPartialFailureAndRetry(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 5, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{"location.update":50},`, 1)})
	refusal := gbpsim.Fault{Route: gbpsim.RouteLocationsPatch, Answer: gbpsim.AnswerError, Count: 1}
	for i, status := range []int{0, 400, 403, 429, 429} {
		refusal.Location, refusal.Status = d.name(i), status
		if refusal.Count = 1; status == 429 {
			refusal.Count = 4
		}
		if status != 0 {
			d.fault(refusal)
		}
	}
	v := d.done("location.update", d.changeAll(5, labelled("夜営業")))
	if v.Status != batch.Partial || v.SuccessCount != 1 || v.FailureCount != 4 {
		t.Fatalf("%+v", v)
	}
	for i, code := range []errs.Code{errs.GBPInvalidArgument, errs.GBPPermissionDenied, errs.GBPRateLimited, errs.GBPRateLimited} {
		if f := v.Failures[i]; f.ErrorCode != code || f.RetryPossible != (i > 1) || f.Executed != errs.ExecutedNo {
			t.Errorf("%+v", f)
		}
	}
	d.behind(4, "labels", `["theirs"]`)
	d.Sync(stack.Tenant)
	p := d.previewOf("batch.retry", stack.Args{"batch_id": v.BatchID})
	if p.TargetCount != 1 || string(p.Changes[0].After) != `{"labels":["夜営業"]}` || !hasWarning(p.ValidationWarnings, "LEFT_ALONE") {
		t.Fatalf("%+v", p)
	}
	if r := d.done("batch.retry", stack.Args{"batch_id": v.BatchID}); r.Status != batch.Done || r.TargetCount != 1 || d.google(3, "labels") != `["夜営業"]` || d.google(4, "labels") != `["theirs"]` {
		t.Errorf("%+v", r)
	}
	d.mustRefuse(d.call("batch.retry", stack.Args{"batch_id": v.BatchID, "idempotency_key": "retry-again"}), errs.InvalidArgument)
	if u := d.done("batch.undo", stack.Args{"batch_id": v.BatchID}); u.Status != batch.Done || u.TargetCount != 1 {
		t.Errorf("%+v", u)
	}
	// on_failure: stop
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocationsPatch, Answer: gbpsim.AnswerError, Status: 400, Count: 5})
	s := d.done("location.update", d.changeAll(5, labelled("最後")).With("on_failure", "stop"))
	if s.SuccessCount != 0 || s.FailureCount+s.CancelledCount != 5 {
		t.Errorf("%+v", s)
	}
	d.countersMatch()
}

// Keys: the same again is the first answer, other input a conflict; a derived key stops matching after a later write.
func TestLocationKeysAndCancel(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, NoWorkers: true})
	args := one(d.change(0, labelled("a"))).With("idempotency_key", "store-key-1")
	first := d.accepted("location.update", args)
	if again := d.accepted("location.update", args); again.BatchID != first.BatchID || again.Idempotency.Outcome != "replayed" {
		t.Errorf("%+v", again)
	}
	// A list and an object that say the same are the same call.
	change := d.change(0, stack.Args{"labels": stack.Args{"set": []string{"a"}}})
	if same := d.accepted("location.update", one(change).With("idempotency_key", "store-key-1")); same.BatchID != first.BatchID {
		t.Errorf("%+v", same)
	}
	d.mustRefuse(d.call("location.update", one(d.change(0, labelled("b"))).With("idempotency_key", "store-key-1")), errs.IdempotencyConflict)
	if c := d.call("batch.cancel", stack.Args{"batch_id": first.BatchID}); c.IsError {
		t.Errorf("%s", c.Text)
	}
	kept := d.accepted("location.update", one(d.change(1, labelled("b"))))
	if again := d.accepted("location.update", one(d.change(1, labelled("b")))); again.BatchID != kept.BatchID || again.Idempotency.Source != "derived" {
		t.Errorf("%+v", again)
	}
	d.Work()
	if v := d.Finish(string(first.BatchID)); v.Status != batch.Cancelled {
		t.Errorf("%+v", v)
	}
	if v := d.Finish(string(kept.BatchID)); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	if n := len(d.sentBodies(gbpsim.RouteLocationsPatch)); n != 1 || d.google(0, "labels") == `["a"]` {
		t.Errorf("%d edits", n)
	}
}

// A hundred stores in one call, not one more; a store that says it already is left alone, and named.
func TestLocationNumbers(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 101})
	list := stack.Into[tools.LocationPage](t, d.call("location.list", stack.Args{"page_size": 200}))
	versions := map[int64]string{}
	for token := list.NextPageToken; ; {
		for _, l := range list.Locations {
			versions[int64(l.LocationID)] = l.Version
		}
		if token == "" {
			break
		}
		list = stack.Into[tools.LocationPage](t, d.call("location.list", stack.Args{"page_size": 200, "page_token": token}))
		token = list.NextPageToken
	}
	var updates []any
	for _, id := range d.IDs(101) {
		updates = append(updates, map[string]any{"location_id": id, "expected_version": versions[id], "changes": labelled("夜営業")})
	}
	d.mustRefuse(d.call("location.update", stack.Args{"updates": updates}), errs.TooManyTargets)
	v := d.done("location.update", stack.Args{"updates": updates[:100]})
	if v.Status != batch.Done || v.SuccessCount != 100 {
		t.Fatalf("%s %d", v.Status, v.SuccessCount)
	}
	mixed := stack.Args{"updates": []any{d.change(0, labelled("夜営業")), d.change(1, labelled("昼営業"))}}
	p := d.previewOf("location.update", mixed)
	if p.TargetCount != 1 || !hasWarning(p.ValidationWarnings, "LEFT_ALONE") || !p.WouldExecute {
		t.Errorf("%+v", p)
	}
	nothing := stack.Args{"updates": []any{d.change(0, labelled("夜営業")), d.change(1, labelled("夜営業"))}}
	for _, args := range []stack.Args{nothing, one(d.change(0, labelled("夜営業")))} {
		a := d.call("location.update", args)
		d.mustRefuse(a, errs.InvalidArgument)
		if a.Details.Violations[0].Rule != "nothing_changes" {
			t.Errorf("%s", a.Text)
		}
	}
	if a := d.call("location.update", nothing); a.Retry.Possible || a.Retry.SameKey { // its advice is not to send it again
		t.Errorf("%+v", a.Retry)
	}
	if a := d.call("batch.retry", stack.Args{"batch_id": v.BatchID}); a.Details.Violations[0].Rule != "nothing_to_retry" || a.Retry.Possible || a.Retry.SameKey {
		t.Errorf("%s", a.Text)
	}
}

// Fields that a user may not change are refused by name, also in an undo and a retry, and after the right was taken away.
func TestFieldRights(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, NoWorkers: true})
	hoursOnly := d.AddUser(stack.Tenant, "jiro", authn.Grants{All: true, Fields: []string{"regular_hours", "special_hours", "open_status"}}, stack.Scopes(), stack.Roomy)
	noTitle := d.AddUser(stack.Tenant, "saburo", authn.Grants{All: true, DeniedFields: []string{"title", "categories"}}, stack.Scopes(), stack.Roomy)
	none := d.AddUser(stack.Tenant, "shiro", authn.Grants{All: true, Fields: []string{}}, stack.Scopes(), stack.Roomy)
	week := stack.Args{"regular_hours": []any{hours("monday", "10:00", "16:00")}}
	for _, c := range []struct {
		token   string
		changes stack.Args
		denied  []string
	}{
		{hoursOnly, week, nil},
		{hoursOnly, stack.Args{"title": "別の店"}, []string{"title"}},
		{hoursOnly, stack.Args{"labels": []string{"x"}, "regular_hours": week["regular_hours"], "clear": []string{"website_url"}}, []string{"website_url", "labels"}},
		{hoursOnly, stack.Args{"opening_date": "2020-01"}, []string{"opening_date"}},
		{hoursOnly, stack.Args{"attributes": []any{map[string]any{"name": "has_delivery", "bool": true}}}, []string{"attributes"}},
		{noTitle, stack.Args{"labels": []string{"x"}}, nil},
		{noTitle, stack.Args{"title": "別の店", "categories": stack.Args{"primary": "gcid:bar"}}, []string{"title", "categories"}},
		{none, week, []string{"regular_hours"}},
	} {
		a := d.callAs(c.token, "location.update", one(d.change(0, c.changes)).With("dry_run", true))
		if c.denied == nil {
			if a.IsError {
				t.Errorf("%v: %s", c.changes, a.Text)
			}
			continue
		}
		d.mustRefuse(a, errs.InsufficientScope)
		var named []string
		for _, v := range a.Details.Violations {
			named = append(named, strings.TrimPrefix(v.Path, "updates[0].changes."))
		}
		if !slices.Equal(named, c.denied) || a.Details.LiftedBy == "" || a.Details.RequiredScope != "" {
			t.Errorf("%v: %v, %s", c.changes, named, a.Text)
		}
	}
	limits := stack.Into[tools.LimitsView](t, d.callAs(hoursOnly, "limits.get", stack.Args{}))
	if !slices.Equal(limits.Fields, []string{"regular_hours", "special_hours", "open_status"}) {
		t.Errorf("%v", limits.Fields)
	}
	if err := d.App.DB.Save(t.Context(), postgres.Setup{ID: stack.Tenant, Name: "x", Locale: errs.English, Timezone: "Asia/Tokyo", Users: []postgres.SetupUser{{ID: "x", Grants: authn.Grants{Fields: []string{"hours"}}}}}, "op"); err == nil {
		t.Error("a field that does not exist can be granted")
	}
	// A right that is taken away after acceptance stops what has not been sent.
	a := stack.Into[tools.Write](t, d.callAs(hoursOnly, "location.update", one(d.change(0, week)))).Accepted
	open := d.callAs(hoursOnly, "location.update", one(d.change(1, stack.Args{"open_status": "CLOSED_TEMPORARILY"})))
	b := stack.Into[tools.Write](t, d.callAs(hoursOnly, "location.update", one(d.change(1, stack.Args{"open_status": "CLOSED_TEMPORARILY"})).With("confirm_token", open.Details.ConfirmToken))).Accepted
	d.AddUser(stack.Tenant, "jiro", authn.Grants{All: true, Fields: []string{"open_status"}}, stack.Scopes(), stack.Roomy)
	d.Work()
	if v := d.Finish(string(a.BatchID)); v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.LocationAccessRevoked {
		t.Errorf("%+v", v)
	}
	if v := d.Finish(string(b.BatchID)); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	// Undoing needs the right to the field as well.
	made := d.done("location.update", one(d.change(0, stack.Args{"title": "道玄坂店"})))
	d.exec(`UPDATE mappy.batch SET user_id = 'saburo' WHERE batch_id = $1`, string(made.BatchID))
	if u := d.callAs(noTitle, "batch.undo", stack.Args{"batch_id": made.BatchID}); u.ErrorCode != errs.InsufficientScope || u.Details.Violations[0].Path != "title" {
		t.Errorf("%s", u.Text)
	}
}

// Another tenant's store, no scope, a switch, a read-only server, a dead connection: refused, and location.list says so.
func TestLocationWhoMay(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3})
	other := d.AddUser("other", "taro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	args := one(d.change(0, labelled("x")))
	d.mustRefuse(d.callAs(other, "location.update", args), errs.LocationNotFound)
	some := d.AddUser(stack.Tenant, "jiro", authn.Grants{LocationIDs: d.IDs(1)}, stack.Scopes(), stack.Roomy)
	d.mustRefuse(d.callAs(some, "location.update", stack.Args{"updates": []any{d.change(0, labelled("x")), d.change(1, labelled("x"))}}), errs.LocationNotFound)
	reader := d.AddUser(stack.Tenant, "saburo", authn.Grants{All: true}, []string{"locations:read"}, stack.Roomy)
	d.mustRefuse(d.callAs(reader, "location.update", args), errs.InsufficientScope)
	reason := func(token string) string {
		page := stack.Into[tools.LocationPage](t, d.callAs(token, "location.list", stack.Args{"location_ids": d.IDs(1)}))
		if page.Locations[0].Writable != (page.Locations[0].NotWritableBy == "") {
			t.Errorf("%+v", page.Locations[0])
		}
		return page.Locations[0].NotWritableBy
	}
	if r := reason(reader); r != "missing_scope" {
		t.Errorf("%q", r)
	}
	if r := reason(d.Token); r != "" {
		t.Errorf("%q", r)
	}
	kill := authn.KillSwitch{Kind: "tool", Target: "location.update", Reason: "drill"}
	if err := d.App.DB.SetKill(t.Context(), stack.Tenant, kill, true, "op"); err != nil {
		t.Fatal(err)
	}
	d.mustRefuse(d.call("location.update", args), errs.WritesDisabled)
	if err := d.App.DB.SetKill(t.Context(), stack.Tenant, kill, false, "op"); err != nil {
		t.Fatal(err)
	}
	d.exec(`UPDATE mappy.connection SET state = 'dead', dead_reason = 'invalid_grant' WHERE tenant_id = $1`, string(stack.Tenant))
	if r := reason(d.Token); r != "google_reconnect_required" {
		t.Errorf("%q", r)
	}
	d.mustRefuse(d.call("location.update", args), errs.GoogleReconnectRequired)
	if s := d.store(0); s.AttributesNote == "" && s.AttributesAt == "" {
		t.Errorf("%+v", s)
	}
}

// F068: Google's own version is named; a change of another field leaves it alone, one of the field itself needs a decision.
func TestF068GooglesOwnVersion(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	own := gbpsim.StoreChange{Fields: map[string]json.RawMessage{"phoneNumbers": json.RawMessage(`{"primaryPhone":"03-7777-7777"}`)}}
	if err := d.Sim.SetGoogleVersion(d.name(0), own); err != nil {
		t.Fatal(err)
	}
	d.Sync(stack.Tenant)
	s := d.store(0)
	if !s.PendingGoogleEdit || len(s.GoogleShows) != 1 || s.GoogleShows[0].Field != "phone_numbers" || !strings.Contains(s.GoogleShows[0].Value, "03-7777-7777") {
		t.Fatalf("%+v", s)
	}
	week := one(d.change(0, stack.Args{"regular_hours": []any{hours("monday", "10:00", "16:00")}}))
	p := d.previewOf("location.update", week)
	if !hasWarning(p.ValidationWarnings, "PENDING_GOOGLE_EDIT") || p.Confirmation.Required || len(p.ValidationWarnings) != 1 || !strings.Contains(p.ValidationWarnings[0].Message, "03-7777-7777") {
		t.Fatalf("%+v", p)
	}
	if v := d.done("location.update", week); v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	if g, err := d.Sim.Store(d.name(0)); err != nil || g.Google["phoneNumbers"] == nil {
		t.Errorf("google's version is gone: %+v, %v", g, err)
	}
	d.Sync(stack.Tenant)
	a := d.call("location.update", one(d.change(0, stack.Args{"phone_numbers": stack.Args{"primary": "03-1000-0001"}})))
	d.mustRefuse(a, errs.ConfirmationRequired)
	if a.Details.Reason != "overrides_google" {
		t.Errorf("%s", a.Text)
	}
	if v := d.done("location.update", one(d.change(0, stack.Args{"phone_numbers": stack.Args{"primary": "03-1000-0001"}}))); v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	if g, err := d.Sim.Store(d.name(0)); err != nil || g.Google["phoneNumbers"] != nil {
		t.Errorf("google's version stays: %+v, %v", g, err)
	}
}

// What Google makes of an edit is followed: live after its review, or reverted, which makes the item a failure. An edit that was
// undone meanwhile is no rejected one.
func TestLocationFollow(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 4, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{"location.update":50},`, 1)})
	under := gbpsim.Fault{Route: gbpsim.RouteLocationsPatch, State: "PENDING", SettleSeconds: 3600, Count: 1}
	for i, settle := range []string{"LIVE", "REJECTED"} {
		under.Location, under.SettleState = d.name(i), settle
		d.fault(under)
	}
	v := d.done("location.update", d.changeAll(4, labelled("夜営業")))
	if v.Status != batch.Done || v.Items[0].Publication != batch.PendingReview || v.Items[1].Publication != batch.PendingReview {
		t.Fatalf("%+v", v.Items)
	}
	if p := d.previewOf("location.update", one(d.change(0, stack.Args{"store_code": "X1"}))); !hasWarning(p.ValidationWarnings, "PENDING_GOOGLE_EDIT") {
		t.Errorf("%+v", p.ValidationWarnings)
	}
	// The fourth store goes back at once.
	undone := d.done("batch.undo", stack.Args{"batch_id": v.BatchID, "location_ids": d.IDs(4)[3:]})
	if undone.Status != batch.Done {
		t.Fatalf("%+v", undone)
	}
	d.Sim.Advance(2 * time.Hour)
	got := d.until(v.BatchID, "a verdict of Google's", func(v tools.BatchView) bool {
		return v.Items[0].Publication == batch.Live && v.Items[1].Publication == batch.Rejected && v.Items[2].Publication == batch.Live
	})
	if got.Status != batch.Partial || got.SuccessCount != 3 || got.Items[1].ErrorCode != errs.GBPContentRejected || !strings.Contains(got.Items[1].Message, "REVERTED") {
		t.Fatalf("%+v", got)
	}
	if s := d.store(1); slices.Contains(s.Fields.Labels, "夜営業") || s.Version == v.Items[1].Version {
		t.Errorf("our copy still has what Google took back: %+v", s.Fields.Labels)
	}
	d.await(func() bool { return d.count(`SELECT count(*) FROM mappy.item WHERE follow_at IS NOT NULL`) == 0 }, "everything is settled")
	if s := stack.Into[tools.BatchView](t, d.call("batch.status", stack.Args{"batch_id": v.BatchID, "items": "all"})); s.Items[3].State != batch.ItemSucceeded {
		t.Errorf("an undone edit counts as %s", s.Items[3].State)
	}
	if len(d.events(stack.Tenant, audit.PublicationChanged)) == 0 {
		t.Error("no publication_changed")
	}
	d.countersMatch()
}

// While Google reviews an edit, reads may show the old value: neither a later edit of the field nor its undo is misled by that.
func TestLocationReadsOldWhileReviewed(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, Sim: func(o *gbpsim.Options) { o.Knobs.EditPendingSeconds, o.Knobs.EditReadsOld = 86400, true }})
	was := d.google(0, "labels")
	v := d.done("location.update", one(d.change(0, labelled("first"))))
	if v.Status != batch.Done || d.google(0, "labels") != was {
		t.Fatalf("%+v, %s", v, d.google(0, "labels"))
	}
	second := stack.Args{"updates": []any{map[string]any{"location_id": d.IDs(1)[0], "expected_version": v.Items[0].Version, "changes": labelled("second")}}}
	if v := d.done("location.update", second); v.Status != batch.Done || v.Items[0].Already {
		t.Errorf("%+v", v)
	}
	w := d.done("location.update", one(d.change(1, labelled("夜営業"))))
	u := d.done("batch.undo", stack.Args{"batch_id": w.BatchID})
	if u.Status != batch.Done || u.Items[0].Already {
		t.Errorf("%+v", u)
	}
	if n := len(d.sentBodies(gbpsim.RouteLocationsPatch)); n != 4 {
		t.Errorf("%d edits", n)
	}
	// An edit whose answer is lost is found among those under review, and not sent again.
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocationsPatch, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	d.Sim.Advance(48 * time.Hour)
	d.Sync(stack.Tenant)
	lost := d.done("location.update", one(d.change(1, labelled("昼営業"))))
	if lost.Status != batch.Done || len(d.sentBodies(gbpsim.RouteLocationsPatch)) != 5 || lost.Items[0].Publication == batch.Live {
		t.Errorf("%+v", lost)
	}
	d.Sim.Advance(48 * time.Hour)
	if d.google(1, "labels") != `["昼営業"]` || d.google(0, "labels") != `["second"]` {
		t.Errorf("%s %s", d.google(0, "labels"), d.google(1, "labels"))
	}
}

// A preview asks Google where the tenant wants that: what Google would refuse refuses, what cannot be asked is a warning, and
// nothing is written.
func TestLocationValidateOnly(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, Policy: strings.Replace(stack.Roomy, "{", `{"validate_only":true,`, 1)})
	asked := func() (n int) {
		for _, e := range d.Sim.Journal() {
			if q, err := url.ParseQuery(e.Query); err == nil && e.Route == gbpsim.RouteLocationsPatch && q.Get("validateOnly") == "true" && !e.Effect {
				n++
			}
		}
		return n
	}
	good := one(d.change(0, labelled("x")))
	if p := d.previewOf("location.update", good); !p.WouldExecute || asked() != 1 || hasWarning(p.ValidationWarnings, "GOOGLE_NOT_ASKED") {
		t.Errorf("%d asked: %+v", asked(), p)
	}
	// The store code is another store's, which only Google knows for certain.
	taken := one(d.change(0, stack.Args{"store_code": d.Locations[1].Profile.StoreCode}))
	p := d.previewOf("location.update", taken)
	if p.WouldExecute || p.WouldRefuse.ErrorCode != errs.InvalidArgument || len(p.ValidationErrors) != 1 || p.ValidationErrors[0].Rule != "google_refuses" || p.ValidationErrors[0].Path != "updates[0].changes.store_code" || p.Confirmation.ConfirmToken != "" {
		t.Errorf("%+v", p)
	}
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocationsPatch, Answer: gbpsim.AnswerError, Status: 503, Count: 1})
	if p := d.previewOf("location.update", good); !p.WouldExecute || !hasWarning(p.ValidationWarnings, "GOOGLE_NOT_ASKED") {
		t.Errorf("%+v", p)
	}
	if n := len(d.sentBodies(gbpsim.RouteLocationsPatch)); n != 0 {
		t.Errorf("%d edits by previews", n)
	}
	// A preview that is beyond its budget asks nobody.
	d.exec(`UPDATE mappy.tenant SET policy = policy || '{"preview_per_minute": 1}', policy_version = policy_version + 1`)
	before := asked()
	for range 3 {
		d.mustRefuse(d.call("location.update", good.With("dry_run", true)), errs.RateLimited)
	}
	if asked() != before {
		t.Errorf("%d asked beyond the budget", asked()-before)
	}
	// Without the policy nobody is asked.
	quiet := openDesk(t, stack.Options{Stores: 1})
	quiet.previewOf("location.update", one(quiet.change(0, labelled("x"))))
	for _, e := range quiet.Sim.Journal() {
		if e.Route == gbpsim.RouteLocationsPatch {
			t.Errorf("%+v", e)
		}
	}
}

// Attributes that nobody has read yet can be changed by name; a whole replacement needs to know them, and somebody's change of
// another attribute is kept.
func TestLocationAttributes(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	set := func(list string) {
		t.Helper()
		if err := d.Sim.ChangeStore(d.name(0), gbpsim.StoreChange{Attributes: json.RawMessage(list)}); err != nil {
			t.Fatal(err)
		}
	}
	at := func() string {
		s, err := d.Sim.Store(d.name(0))
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Attributes)
	}
	set(`[{"name":"attributes/has_takeout","valueType":"BOOL","values":[true]}]`)
	version := func() string {
		return stack.Into[tools.LocationPage](t, d.call("location.list", stack.Args{})).Locations[0].Version
	}
	update := func(changes stack.Args) stack.Args {
		return stack.Args{"updates": []any{map[string]any{"location_id": d.IDs(1)[0], "expected_version": version(), "changes": changes}}}
	}
	replace := update(stack.Args{"attributes": stack.Args{"set": []any{map[string]any{"name": "has_delivery", "bool": true}}}})
	a := d.call("location.update", replace)
	d.mustRefuse(a, errs.InvalidArgument)
	if a.Details.Violations[0].Rule != "current_unknown" {
		t.Errorf("%s", a.Text)
	}
	v := d.done("location.update", update(stack.Args{"attributes": []any{map[string]any{"name": "has_delivery", "bool": true}}}))
	if v.Status != batch.Done || v.Items[0].Version != version() || !strings.Contains(at(), "has_takeout") || !strings.Contains(at(), "has_delivery") {
		t.Fatalf("%+v: %s", v, at())
	}
	if sent := d.sentBodies(gbpsim.RouteLocationsUpdateAttributes); len(sent) != 1 || sent[0].Query != "attributeMask=attributes%2Fhas_delivery" {
		t.Errorf("%+v", sent)
	}
	p := d.previewOf("location.update", replace) // now they are known
	if !p.WouldExecute || !strings.Contains(string(p.Changes[0].Before), "has_takeout") {
		t.Errorf("%+v", p)
	}
	if w := d.done("location.update", replace); w.Status != batch.Done || strings.Contains(at(), "has_takeout") {
		t.Errorf("%+v: %s", w, at())
	} else if u := d.done("batch.undo", stack.Args{"batch_id": w.BatchID}); u.Status != batch.Done || !strings.Contains(at(), "has_takeout") {
		t.Errorf("%+v: %s", u, at())
	}
	// Somebody changes another attribute: kept. The same one: not overwritten.
	set(`[{"name":"attributes/has_delivery","valueType":"BOOL","values":[true]},{"name":"attributes/wi_fi","valueType":"ENUM","values":["free_wi_fi"]}]`)
	if w := d.done("location.update", update(stack.Args{"attributes": stack.Args{"remove": []string{"has_delivery"}}})); w.Status != batch.Done || strings.Contains(at(), "has_delivery") || !strings.Contains(at(), "wi_fi") {
		t.Errorf("%+v: %s", w, at())
	}
	set(`[{"name":"attributes/wi_fi","valueType":"ENUM","values":["paid_wi_fi"]}]`)
	w := d.done("location.update", update(stack.Args{"attributes": stack.Args{"remove": []string{"wi_fi"}}}))
	if w.Status != batch.Failed || w.Failures[0].ErrorCode != errs.VersionConflict || !strings.Contains(at(), "paid_wi_fi") {
		t.Errorf("%+v: %s", w, at())
	}
	if bad := d.done("location.update", update(stack.Args{"attributes": []any{map[string]any{"name": "has_dragons", "bool": true}}})); bad.Failures[0].ErrorCode != errs.GBPInvalidArgument || bad.Failures[0].Google.Fields == nil && bad.Failures[0].Google.Reason == "" {
		t.Errorf("%+v", bad)
	}
}

// F071: posts and store data of one profile share its ten edits a minute; Google never has to say no. A Redis that has just begun
// takes half of them as spent, so five go through here.
func TestF071PostsAndStoreDataTogether(t *testing.T) {
	t.Parallel()
	const per, now = 10, 5
	d := openDesk(t, stack.Options{Stores: 2, NoWorkers: true, Config: func(c *config.Config) { c.Google.EditsPerMinute = per }, Sim: func(o *gbpsim.Options) {
		o.Knobs.NoQuotas, o.Knobs.EditsPerMinute = false, now
	}})
	for i, changes := range []stack.Args{labelled("a"), {"store_code": "A1"}, {"regular_hours": []any{hours("monday", "10:00", "16:00")}}} {
		d.accepted("post.create", stack.Post(d.IDs(1), strings.Repeat("x", i+1)))
		d.accepted("location.update", one(d.change(0, changes)))
	}
	free := d.accepted("location.update", one(d.change(1, labelled("b"))))
	d.Work()
	if v := d.Finish(string(free.BatchID)); v.Status != batch.Done { // another store is not held up
		t.Errorf("%+v", v)
	}
	done := func() int {
		return d.count(`SELECT count(*) FROM mappy.item WHERE state = 'succeeded' AND location_id = $1`, d.IDs(1)[0])
	}
	d.await(func() bool { return done() == now }, "five edits of one store")
	for _, e := range d.Sim.Journal() {
		if e.Status == 429 {
			t.Errorf("google refused %+v", e)
		}
	}
	if n := d.count(`SELECT count(*) FROM mappy.item WHERE state IN ('queued', 'processing')`); n != 1 || done() != now {
		t.Errorf("%d edits wait, %d are done", n, done())
	}
}
