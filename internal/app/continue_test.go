package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Many calls continue one batch at the same moment, each with a key of its own: one of them does, and every other one is told.
func TestContinuedOnce(t *testing.T) {
	t.Parallel()
	const calls = 6
	for tool, prepare := range map[string]func(d *desk) (batch.ID, gbpsim.Route){
		"batch.retry": func(d *desk) (batch.ID, gbpsim.Route) {
			fault := d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 503})
			v := d.done("post.create", stack.Post(d.IDs(2), "一度だけ再実行されます。"))
			if v.Status != batch.Failed || !v.Failures[0].RetryPossible {
				t.Fatalf("%+v", v)
			}
			if err := d.Sim.RemoveFault(fault); err != nil {
				t.Fatal(err)
			}
			return v.BatchID, gbpsim.RouteLocalPostsCreate
		},
		"batch.undo": func(d *desk) (batch.ID, gbpsim.Route) {
			made := d.made(2, "一度だけ作り直されます。")
			v := d.done("post.delete", stack.Args{"batch_id": made.BatchID})
			if v.Status != batch.Done {
				t.Fatalf("%+v", v)
			}
			return v.BatchID, gbpsim.RouteLocalPostsCreate
		},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, stack.Options{Stores: 2, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{},"user_concurrency":50,`, 1)})
			id, route := prepare(d)
			before := effects(d, route)
			p := d.principal(d.Token)
			answers := make([]stack.Answer, calls)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() {
					answers[i] = d.as(context.Background(), p, tool, marshal(t, stack.Args{"batch_id": id, "idempotency_key": fmt.Sprintf("continue-%d", i)}))
				})
			}
			all.Wait()
			var accepted []batch.ID
			for _, a := range answers {
				switch {
				case !a.IsError:
					accepted = append(accepted, stack.Into[tools.Write](t, a).Accepted.BatchID)
				case a.ErrorCode == errs.VersionConflict: // the race
					if a.Executed != errs.ExecutedNo || len(a.Details.Changed) != 2 {
						t.Errorf("%s", a.Text)
					}
				case a.ErrorCode != errs.NothingToUndo && (a.ErrorCode != errs.InvalidArgument || a.Details.Violations[0].Rule != "nothing_to_retry"): // it read after the winner
					t.Errorf("%s: %s", a.ErrorCode, a.Text)
				}
			}
			if len(accepted) != 1 {
				t.Fatalf("%d calls were accepted", len(accepted))
			}
			if v := d.Finish(string(accepted[0])); v.Status != batch.Done {
				t.Errorf("%+v", v)
			}
			if n := effects(d, route) - before; n != 2 {
				t.Errorf("%d posts were made on two stores", n)
			}
			d.countersMatch()
		})
	}
}

func effects(d *desk, route gbpsim.Route) (n int) {
	for _, e := range d.Sim.Entries(gbpsim.EntryFilter{Route: route}) {
		if e.Effect {
			n++
		}
	}
	return n
}

// A store that has left since does not keep the others of its batch from being taken back, and is named.
func TestContinuedWithoutAStoreThatLeft(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{},`, 1)})
	made := d.made(3, "一店舗は閉店します。")
	d.exec(`UPDATE mappy.location SET gone_at = now() WHERE location_id = $1`, d.IDs(3)[1])
	for tool, args := range map[string]stack.Args{"batch.undo": {"batch_id": made.BatchID}, "post.delete": {"batch_id": made.BatchID}} {
		w := stack.Into[tools.Write](t, d.call(tool, args.With("dry_run", true)))
		if p := w.Preview; p == nil || !p.WouldExecute || p.TargetCount != 2 || !hasWarning(p.ValidationWarnings, "LEFT_ALONE") {
			t.Errorf("%s: %+v", tool, w.Preview)
		}
	}
	if v := d.done("batch.undo", stack.Args{"batch_id": made.BatchID}); v.Status != batch.Done || v.TargetCount != 2 {
		t.Errorf("%+v", v)
	}
	a := d.call("batch.undo", stack.Args{"batch_id": made.BatchID, "location_ids": d.IDs(3)[1:2]})
	d.mustRefuse(a, errs.NothingToUndo)
}

// A batch says that it can be undone as long as an undo would find something to take back, whatever part of it is shown.
func TestUndoPossible(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{},`, 1)})
	possible := func(id batch.ID) bool {
		t.Helper()
		shown := stack.Into[tools.BatchView](t, d.call("batch.status", stack.Args{"batch_id": id, "items": "none"}))
		for _, b := range stack.Into[tools.BatchPage](t, d.call("batch.list", stack.Args{})).Batches {
			if b.BatchID == id && b.Undo.Possible != shown.Undo.Possible {
				t.Errorf("batch.list says %t, batch.status %t", b.Undo.Possible, shown.Undo.Possible)
			}
		}
		return shown.Undo.Possible
	}
	made := d.made(2, "元に戻せます。")
	if !possible(made.BatchID) {
		t.Error("a new batch cannot be undone")
	}
	undone := d.done("batch.undo", stack.Args{"batch_id": made.BatchID})
	if possible(made.BatchID) || !possible(undone.BatchID) {
		t.Error("an undone batch can be undone, or its undo cannot")
	}
	if report := d.done("report.create", reportArgs(d.IDs(1))); possible(report.BatchID) {
		t.Error("a report can be undone")
	}
	d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 400})
	if failed := d.done("post.create", stack.Post(d.IDs(1), "失敗します。")); possible(failed.BatchID) {
		t.Error("a failed batch can be undone")
	}
}

// A retried report is billed, capped and readable like the first one.
func TestRetriedReport(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2, Policy: strings.Replace(stack.Roomy, "{", `{"report_units_per_month":3,`, 1)})
	broken := d.fault(gbpsim.Fault{Route: gbpsim.RouteDailyMetrics, Answer: gbpsim.AnswerError, Status: 503})
	v := d.done("report.create", reportArgs(d.IDs(1)))
	if v.Status != batch.Failed {
		t.Fatalf("%+v", v)
	}
	if err := d.Sim.RemoveFault(broken); err != nil {
		t.Fatal(err)
	}
	if p := stack.Into[tools.Write](t, d.call("batch.retry", stack.Args{"batch_id": v.BatchID, "dry_run": true})).Preview; p.Reversible.Possible || !p.WouldExecute {
		t.Errorf("%+v", p)
	}
	a := d.accepted("batch.retry", stack.Args{"batch_id": v.BatchID})
	again := d.Finish(string(a.BatchID))
	if a.EstimatedUnits != 2 || again.Status != batch.Done {
		t.Fatalf("%+v, %+v", a, again)
	}
	text, err := d.App.Tools.ReadReport(t.Context(), &tools.Call{Principal: d.principal(d.Token), RequestID: "r"}, a.BatchID, false)
	var r tools.Report
	if err != nil || json.Unmarshal([]byte(text), &r) != nil || r.BilledUnits != 2 {
		t.Errorf("%v %s", err, text)
	}
	over := d.call("report.create", reportArgs(d.IDs(2)[1:])) // two more do not fit beside two of three
	d.mustRefuse(over, errs.RateLimited)
	if over.Retry.AfterSeconds < 60 && over.Details.RetryAfterSeconds < 60 {
		t.Errorf("a limit of the month opens after %d s", over.Retry.AfterSeconds)
	}
	limits := stack.Into[tools.LimitsView](t, d.call("limits.get", stack.Args{})).Limits
	if at := limits[len(limits)-1]; at.Scope != "report_units_per_month" || at.Limit != 3 || at.Remaining != 1 {
		t.Errorf("%+v", limits)
	}
}

// What is sent again is shown as it was the first time: what it takes away, and links that are not the tenant's own.
func TestRetryShowsWhatItDoes(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_at":{},`, 1)})
	failing := func(tool string, route gbpsim.Route, args stack.Args) batch.ID {
		t.Helper()
		fault := d.fault(gbpsim.Fault{Route: route, Answer: gbpsim.AnswerError, Status: 503})
		v := d.done(tool, args)
		if v.Status != batch.Failed {
			t.Fatalf("%+v", v)
		}
		if err := d.Sim.RemoveFault(fault); err != nil {
			t.Fatal(err)
		}
		return v.BatchID
	}
	made := d.made(1, "削除される投稿です。")
	deletion := failing("post.delete", gbpsim.RouteLocalPostsDelete, stack.Args{"batch_id": made.BatchID})
	p := stack.Into[tools.Write](t, d.call("batch.retry", stack.Args{"batch_id": deletion, "dry_run": true})).Preview
	if !strings.Contains(string(p.Changes[0].Before), "削除される投稿です。") {
		t.Errorf("%+v", p.Changes)
	}
	link := stack.Args{"location_ids": d.IDs(1), "post": stack.Args{"summary": "詳しくはこちら。", "call_to_action": stack.Args{"action_type": "LEARN_MORE", "url": "https://elsewhere.example/x"}}}
	linked := failing("post.create", gbpsim.RouteLocalPostsCreate, link)
	p = stack.Into[tools.Write](t, d.call("batch.retry", stack.Args{"batch_id": linked, "dry_run": true})).Preview
	if !p.Confirmation.Required || p.Confirmation.Reason != "unknown_link" || !hasWarning(p.ValidationWarnings, "UNKNOWN_LINK") {
		t.Errorf("%+v", p)
	}
}
