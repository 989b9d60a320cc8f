package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// A list that narrows a call down and is empty, as after a search that found nothing, never means everything.
func TestEmptyListIsNotEverything(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	made := d.made(2, "二店舗の投稿です。")
	for tool, c := range map[string]struct {
		args stack.Args
		path string
	}{
		"batch.undo":    {stack.Args{"batch_id": made.BatchID, "location_ids": []int64{}}, "location_ids"},
		"batch.retry":   {stack.Args{"batch_id": made.BatchID, "location_ids": []int64{}}, "location_ids"},
		"post.delete":   {stack.Args{"batch_id": made.BatchID, "location_ids": []int64{}}, "location_ids"},
		"post.list":     {stack.Args{"location_ids": []int64{}}, "location_ids"},
		"review.list":   {stack.Args{"location_ids": []int64{}}, "location_ids"},
		"media.list":    {stack.Args{"location_ids": []int64{}}, "location_ids"},
		"location.list": {stack.Args{"location_ids": []int64{}}, "location_ids"},
	} {
		a := d.call(tool, c.args)
		d.mustRefuse(a, errs.InvalidArgument)
		if v := a.Details.Violations; len(v) != 1 || v[0].Path != c.path || v[0].Rule != "min_items" {
			t.Errorf("%s: %+v", tool, v)
		}
	}
	both := d.call("post.delete", stack.Args{"batch_id": made.BatchID, "post_ids": []string{}})
	d.mustRefuse(both, errs.InvalidArgument)
	override := stack.Post(d.IDs(2), "写真付き").With("overrides", []any{stack.Args{"location_id": d.IDs(1)[0], "media": []any{}}})
	d.mustRefuse(d.call("post.create", override), errs.InvalidArgument)
	if n := d.count(`SELECT count(*) FROM mappy.batch`); n != 1 {
		t.Errorf("%d batches", n)
	}
}

// Two stores of one call cannot get one store code.
func TestOneStoreCodeForTwoStores(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, NoWorkers: true})
	var updates []any
	for i := range 2 {
		updates = append(updates, d.change(i, stack.Args{"store_code": "SAME-1"}))
	}
	a := d.call("location.update", stack.Args{"updates": updates, "dry_run": true})
	d.mustRefuse(a, errs.InvalidArgument)
	if v := a.Details.Violations; len(v) != 1 || v[0].Path != "updates[1].changes.store_code" || v[0].Rule != "duplicate" {
		t.Errorf("%+v", v)
	}
}

// What no undo brings back for certain is confirmed and said, whatever the number of stores.
func TestIrreversibleIsConfirmed(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	for tool, args := range map[string]stack.Args{
		"location.update": one(d.change(0, stack.Args{"open_status": "CLOSED_PERMANENTLY"})),
		"media.upload":    {"location_ids": d.IDs(1), "media": []any{stack.Args{"source_url": "https://www.example.com/cover.jpg", "category": "COVER"}}},
	} {
		p := d.previewOf(tool, args)
		if p.Reversible.Possible || !p.Confirmation.Required || p.Confirmation.Reason != "irreversible" {
			t.Errorf("%s: %+v %+v", tool, p.Reversible, p.Confirmation)
		}
		d.mustRefuse(d.call(tool, args), errs.ConfirmationRequired)
	}
	closed := d.done("location.update", one(d.change(0, stack.Args{"open_status": "CLOSED_PERMANENTLY"})))
	undo := d.previewOf("batch.undo", stack.Args{"batch_id": closed.BatchID})
	if !hasWarning(undo.ValidationWarnings, "MAY_NOT_REOPEN") {
		t.Errorf("%+v", undo.ValidationWarnings)
	}
}

// A part of an offer or an event that is left out of a change stays, and only clear empties one.
func TestPostUpdateKeepsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, Policy: strings.Replace(stack.Roomy, "{", `{"allowed_link_domains":["www.example.com"],`, 1)})
	made := d.done("post.create", stack.Args{"location_ids": d.IDs(1), "post": stack.Args{
		"summary": "冬の特典です。", "topic_type": "OFFER", "event": stack.Args{"title": "冬", "start_date": "2030-12-01", "start_time": "10:00", "end_date": "2030-12-24", "end_time": "15:00"},
		"offer": stack.Args{"coupon_code": "W10", "redeem_url": "https://www.example.com/r", "terms": "旧条件"},
	}})
	id := made.Items[0].Target.ID
	read := func() tools.PostDetail {
		t.Helper()
		return stack.Into[tools.PostDetail](t, d.call("post.get", stack.Args{"post_id": id}))
	}
	change := func(more stack.Args) {
		t.Helper()
		if v := d.done("post.update", postArgs(id, read().Version, more)); v.SuccessCount != 1 {
			t.Fatalf("%+v", v)
		}
	}
	change(stack.Args{"offer": stack.Args{"terms": "新条件"}})
	if o := read().Content.Offer; o.CouponCode != "W10" || o.RedeemOnlineURL != "https://www.example.com/r" || o.TermsConditions != "新条件" {
		t.Errorf("%+v", o)
	}
	change(stack.Args{"event": stack.Args{"title": "冬の感謝", "start_date": "2030-12-02", "end_date": "2030-12-24"}})
	if e := read().Content.Event; e.Title != "冬の感謝" || e.Schedule.StartTime.Hours != 10 || e.Schedule.EndTime.Hours != 15 || e.Schedule.StartDate.Day != 2 {
		t.Errorf("%+v", e)
	}
	change(stack.Args{"clear": []string{"offer.coupon_code"}})
	if o := read().Content.Offer; o.CouponCode != "" || o.TermsConditions != "新条件" {
		t.Errorf("%+v", o)
	}
	a := d.call("post.update", postArgs(id, read().Version, stack.Args{"offer": stack.Args{}}))
	d.mustRefuse(a, errs.InvalidArgument)
	if !slices.ContainsFunc(rules(a), func(r string) bool { return strings.HasSuffix(r, " nothing_changes") }) {
		t.Errorf("%q", rules(a))
	}
}
