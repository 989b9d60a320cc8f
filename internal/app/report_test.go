package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

func reportArgs(ids []int64) stack.Args {
	return stack.Args{"location_ids": ids, "from": "2026-01-01", "to": "2026-02-15", "metrics": []string{"CALL_CLICKS", "WEBSITE_CLICKS"}}
}

// A report is a batch whose figures are a resource; it is billed per store that succeeded.
func TestReport(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 4})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteDailyMetrics, Location: gbpsim.LocationName(d.Locations[2].Name), Answer: gbpsim.AnswerError, Status: 403})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteDailyMetrics, Location: gbpsim.LocationName(d.Locations[1].Name), Answer: gbpsim.AnswerError, Status: 503, Count: 1})
	a := d.accepted("report.create", reportArgs(d.IDs(3)))
	if a.EstimatedUnits != 6 { // 46 days are two units a store
		t.Errorf("%+v", a)
	}
	v := d.Finish(string(a.BatchID))
	if v.Status != batch.Partial || v.SuccessCount != 2 || v.Failures[0].ErrorCode != errs.GBPPermissionDenied || v.Items[0].StateAfter != "" {
		t.Fatalf("%+v", v)
	}
	call := &tools.Call{Principal: d.principal(d.Token), RequestID: "r"}
	text, err := d.App.Tools.ReadReport(t.Context(), call, v.BatchID, false)
	if err != nil {
		t.Fatal(err)
	}
	var r tools.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.BilledUnits != 4 || len(r.Stores) != 3 || len(r.Stores[0].Series) != 2 || len(r.Stores[0].Series[0].Days) == 0 || len(r.Stores[2].Series) != 0 {
		t.Fatalf("%v, %s", err, text)
	}
	lines, err := d.App.Tools.ReadReport(t.Context(), call, v.BatchID, true)
	if err != nil || !strings.HasPrefix(lines, "location_id,title,metric,date,count\n1,こもれび珈琲 渋谷店,CALL_CLICKS,2026-01-0") {
		t.Fatalf("%v, %.200s", err, lines)
	}
	if e := d.events(stack.Tenant, audit.ReportBilled); len(e) != 2 || e[0].Details.Units != 2 {
		t.Errorf("%+v", e)
	}
	// The same call again is the same report, billed once.
	if again := stack.Into[tools.Write](t, d.call("report.create", reportArgs(d.IDs(3)))).Accepted; again.BatchID != a.BatchID {
		t.Errorf("%+v", again)
	}
	other := d.AddUser(stack.Tenant, "jiro", authn.Grants{LocationIDs: d.IDs(1)}, stack.Scopes(), stack.Roomy)
	for what, id := range map[string]batch.ID{"other stores": v.BatchID, "no report": d.made(1, "x").BatchID} {
		call := &tools.Call{Principal: d.principal(other), RequestID: "r"}
		if _, err := d.App.Tools.ReadReport(t.Context(), call, id, false); errs.CodeOf(err) != errs.BatchNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, e := range d.Sim.Journal() {
		if e.Effect && e.Route != gbpsim.RouteLocalPostsCreate {
			t.Errorf("a report wrote: %+v", e)
		}
	}
}

// What a report refuses: a preview, nonsense, and more than a tenant's month allows.
func TestReportRefusals(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(stack.Roomy, "{", `{"report_units_per_month":5,"report_confirm_units":3,`, 1)
	d := openDesk(t, stack.Options{Stores: 4, Policy: policy})
	for what, c := range map[string]struct {
		args stack.Args
		path string
	}{
		"dry_run":        {reportArgs(d.IDs(1)).With("dry_run", true), "dry_run"},
		"backwards":      {reportArgs(d.IDs(1)).With("from", "2026-03-01"), "to"},
		"future":         {reportArgs(d.IDs(1)).With("to", "2099-01-01"), "to"},
		"too long":       {reportArgs(d.IDs(1)).With("from", "2020-01-01"), "from"},
		"no such day":    {reportArgs(d.IDs(1)).With("from", "2026-02-30"), "from"},
		"no such metric": {reportArgs(d.IDs(1)).With("metrics", []string{"LIKES"}), "metrics[0]"},
	} {
		a := d.call("report.create", c.args)
		d.mustRefuse(a, errs.InvalidArgument)
		if a.Details.Violations[0].Path != c.path {
			t.Errorf("%s: %+v", what, a.Details.Violations)
		}
	}
	d.mustRefuse(d.call("report.create", reportArgs([]int64{999})), errs.LocationNotFound)
	a := d.call("report.create", reportArgs(d.IDs(2)))
	d.mustRefuse(a, errs.ConfirmationRequired)
	if a.Details.Reason != "report_units" {
		t.Errorf("%+v", a.Details)
	}
	if v := d.done("report.create", reportArgs(d.IDs(2))); v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	over := d.call("report.create", reportArgs(d.IDs(1)).With("to", "2026-02-14")) // two more do not fit beside four of five
	d.mustRefuse(over, errs.RateLimited)
	if over.Details.Scope != "report_units_per_month" || over.Details.Limit != 5 {
		t.Errorf("%+v", over.Details)
	}
	if v := d.done("report.create", reportArgs(d.IDs(1)).With("to", "2026-01-02")); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
}
