package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// ends is what an item has to come to, with the number of calls that write and of effects at Google.
type ends struct {
	state    batch.ItemState
	code     errs.Code
	executed errs.Executed
	retry    bool
	calls    int
	effects  int
	// attempts are the states of the attempts in order.
	attempts string
}

func succeeds(calls int, attempts string) ends {
	return ends{batch.ItemSucceeded, "", errs.ExecutedYes, false, calls, 1, attempts}
}

func fails(code errs.Code, retry bool, calls int, attempts string) ends {
	return ends{batch.ItemFailed, code, errs.ExecutedNo, retry, calls, 0, attempts}
}

// fact is a row: what Google answers to the write, and how creates and edits end.
type fact struct {
	name    string
	fault   gbpsim.Fault
	creates ends
	edits   ends
}

// both is a row whose end is the same for every operation.
func both(name string, f gbpsim.Fault, e ends) fact { return fact{name, f, e, e} }

func errorOf(status int, word string, count int) gbpsim.Fault {
	return gbpsim.Fault{Answer: gbpsim.AnswerError, Status: status, Word: word, Message: "as the table says", Count: count}
}

func reasonOf(f gbpsim.Fault, reason string, metadata map[string]string) gbpsim.Fault {
	f.Reason, f.Metadata = reason, metadata
	return f
}

func after(f gbpsim.Fault, e gbpsim.EffectMode) gbpsim.Fault {
	f.Effect = e
	return f
}

// errorTable is Google's error model: HTTP status and what it means, with what is done about it.
func errorTable() []fact {
	perProfile := map[string]string{"quota_limit": "EditsPerMinutePerProfile", "quota_limit_value": "10", "quota_unit": "1/min/{profile}"}
	zero := map[string]string{"quota_limit": "DefaultRequestsPerMinutePerProject", "quota_limit_value": "0", "quota_unit": "1/min/{project}"}
	limited := func(count int, wait string) gbpsim.Fault {
		f := reasonOf(errorOf(429, "RESOURCE_EXHAUSTED", count), "RATE_LIMIT_EXCEEDED", perProfile)
		f.RetryAfter = wait
		return f
	}
	page := func(status, count int) gbpsim.Fault {
		return gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: status, Count: count}
	}
	const again, four = "refused succeeded", "refused refused refused refused"
	const absent4 = "absent absent absent absent"
	rows := []fact{
		both("400 INVALID_ARGUMENT", errorOf(400, "INVALID_ARGUMENT", 0), fails(errs.GBPInvalidArgument, false, 1, "refused")),
		both("400 FAILED_PRECONDITION", errorOf(400, "FAILED_PRECONDITION", 0), fails(errs.GBPLocationNotVerified, true, 1, "refused")),
		both("401 once: with a new token", errorOf(401, "UNAUTHENTICATED", 1), succeeds(2, "succeeded")),
		both("401 that lasts: reconnect", errorOf(401, "UNAUTHENTICATED", 0), fails(errs.GoogleReconnectRequired, true, 2, "refused")),
		both("403 PERMISSION_DENIED", errorOf(403, "PERMISSION_DENIED", 0), fails(errs.GBPPermissionDenied, false, 1, "refused")),
		both("403 SERVICE_DISABLED", reasonOf(errorOf(403, "PERMISSION_DENIED", 0), "SERVICE_DISABLED", nil), fails(errs.GBPAPIDisabled, false, 1, "refused")),
		{
			"404 JSON", errorOf(404, "NOT_FOUND", 0), fails(errs.GBPNotFound, false, 1, "refused"),
			fails(errs.GBPNotFound, false, 4, four), // the target was read just before: looked at again as often as it is tried
		},
		{"404 JSON once", errorOf(404, "NOT_FOUND", 1), fails(errs.GBPNotFound, false, 1, "refused"), succeeds(2, again)},
		both("404 HTML: our fault", page(404, 0), fails(errs.Internal, false, 1, "refused")),
		both("408 once", errorOf(408, "", 1), succeeds(2, again)),
		both("409 ABORTED once", errorOf(409, "ABORTED", 1), succeeds(2, again)),
		both("409 ALREADY_EXISTS", errorOf(409, "ALREADY_EXISTS", 0), fails(errs.GBPInvalidArgument, false, 1, "refused")),
		both("412", errorOf(412, "FAILED_PRECONDITION", 0), fails(errs.GBPLocationNotVerified, true, 1, "refused")),
		both("429 once", limited(1, "1"), succeeds(2, again)),
		both("429 that lasts", limited(0, "1"), fails(errs.GBPRateLimited, true, 4, four)),
		both("429 of a quota of 0", reasonOf(errorOf(429, "RESOURCE_EXHAUSTED", 0), "RATE_LIMIT_EXCEEDED", zero), fails(errs.GBPNotApproved, false, 1, "refused")),
		both("501: a retired API", errorOf(501, "UNIMPLEMENTED", 0), fails(errs.Internal, false, 1, "refused")),
		both("502 HTML once", page(502, 1), succeeds(2, "absent succeeded")),
		both("502 HTML once, after the effect", after(page(502, 1), gbpsim.EffectCommit), succeeds(1, "found")),
		both("a reset without effect", gbpsim.Fault{Answer: gbpsim.AnswerReset, Count: 1}, succeeds(2, "absent succeeded")),
		both("a reset after the effect", gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit, Count: 1}, succeeds(1, "found")),
		both("no answer in time, after the effect", gbpsim.Fault{LatencyAfterMS: 2500, Count: 1}, succeeds(1, "found")),
		both("an effect that comes after the reset", gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectLater, DelaySeconds: 0.1, Count: 1}, succeeds(1, "found")),
	}
	for _, status := range []int{500, 503, 504} {
		name, f := http.StatusText(status), errorOf(status, "", 1)
		rows = append(rows,
			both(name+" once", f, succeeds(2, "absent succeeded")),
			both(name+" after the effect", after(f, gbpsim.EffectCommit), succeeds(1, "found")),
			both(name+" that lasts", errorOf(status, "", 0), fails(errs.GBPUnavailable, true, 4, absent4)),
		)
	}
	return rows
}

// Each row of the error table, for each operation, over the whole product: how the item ends, what it says about its effect
// and about trying again, how often Google was called and what it then has.
func TestFactsOfErrors(t *testing.T) {
	t.Parallel()
	for _, o := range factOperations() {
		t.Run(o.tool, func(t *testing.T) {
			t.Parallel()
			rows := errorTable()
			d := factDesk(t, len(rows))
			about := o.targets(d, upTo(len(rows)))
			plays := make([]played, len(rows))
			for i, r := range rows {
				r.fault.Route, r.fault.Location = o.route, place(d.Stack, i)
				d.fault(r.fault)
				plays[i] = d.play(o, about[i])
			}
			for i, r := range rows {
				want := r.edits
				if o.creates {
					want = r.creates
				}
				plays[i].endsAs(t, d, r.name, want)
			}
			d.countersMatch()
		})
	}
}

func factDesk(t *testing.T, stores int) *desk {
	t.Helper()
	return openDesk(t, stack.Options{Stores: stores, Config: func(c *config.Config) {
		w := &c.Worker
		w.CallTimeout, w.Interactive, w.Bulk = 2*time.Second, stores, stores
	}})
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// played is a write of one item that was accepted, and how far Google's journal had come then.
type played struct {
	factOperation
	about factTarget
	batch batch.ID
	since int64
}

func (d *desk) play(o factOperation, about factTarget) played {
	d.t.Helper()
	args := o.args(d, about)
	p := played{factOperation: o, about: about}
	if j := d.Sim.Journal(); len(j) > 0 {
		p.since = j[len(j)-1].Seq
	}
	p.batch = d.accepted(o.tool, args).BatchID
	return p
}

// calls are the requests on a route at the write's store since it was accepted.
func (p played) calls(d *desk, route gbpsim.Route) []gbpsim.Entry {
	return d.Sim.Entries(gbpsim.EntryFilter{Route: route, Location: place(d.Stack, p.about.store), After: p.since})
}

// endsAs compares an item with what it has to come to.
func (p played) endsAs(t *testing.T, d *desk, row string, want ends) {
	t.Helper()
	d.Finish(string(p.batch))
	i := itemAt(t, d.Stack, p.batch, d.ids(p.about.store)[0])
	got := ends{i.State, i.Code, i.Executed, i.Retry, 0, 0, i.Closed}
	for _, e := range p.calls(d, p.route) {
		got.calls++
		if e.Effect {
			got.effects++
		}
	}
	if got != want {
		t.Errorf("%s, %s:\n got %+v\nwant %+v\n%s", p.tool, row, got, want, i.Notes)
	}
}

// The table of retries: what Google asks to wait for is waited for, and an unclear write is looked for twice at least
// before it is sent again.
func TestFactsOfWaiting(t *testing.T) {
	t.Parallel()
	all := factOperations()
	d := factDesk(t, 2*len(all))
	var waits, looks []played
	for n, o := range all {
		about := o.targets(d, []int{2 * n, 2*n + 1})
		limited := errorOf(429, "RESOURCE_EXHAUSTED", 1)
		limited.Route, limited.Location, limited.RetryAfter = o.route, place(d.Stack, 2*n), "2"
		d.fault(reasonOf(limited, "RATE_LIMIT_EXCEEDED", map[string]string{"quota_limit": "EditsPerMinutePerProfile", "quota_limit_value": "10"}))
		unclear := errorOf(503, "", 1)
		unclear.Route, unclear.Location = o.route, place(d.Stack, 2*n+1)
		d.fault(unclear)
		waits, looks = append(waits, d.play(o, about[0])), append(looks, d.play(o, about[1]))
	}
	for _, p := range waits {
		d.Finish(string(p.batch))
		if calls := p.calls(d, p.route); len(calls) != 2 || calls[1].Time.Sub(calls[0].Time) < 2*time.Second {
			t.Errorf("%s: Retry-After: 2 was not honoured: %+v", p.tool, calls)
		}
	}
	for _, p := range looks {
		d.Finish(string(p.batch))
		calls, between := p.calls(d, p.route), 0
		for _, e := range p.calls(d, p.look) {
			if len(calls) == 2 && e.Seq > calls[0].Seq && e.Seq < calls[1].Seq {
				between++
			}
		}
		if len(calls) != 2 || between < 2 { // an edit: once to decide, once just before it is sent again, and anew where the machine was too slow to send
			t.Errorf("%s: %d looks between %d calls", p.tool, between, len(calls))
		}
	}
}

// unclearRow is a row of the table of ambiguous outcomes: how the world was before and after the call.
type unclearRow struct {
	name string
	tool string
	// spoil changes the world behind our back before the write is sent.
	spoil func(d *desk, at gbpsim.LocationName) error
	fault gbpsim.Fault
	// blind hides the target from reading.
	blind gbpsim.Fault
	want  ends
}

// unclearTable holds the rows that are the same for all operations of a kind, and those that one alone has.
func unclearTable() (rows []unclearRow) {
	unclear := func(e gbpsim.EffectMode) gbpsim.Fault {
		return gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: e, Count: 1}
	}
	late := unclear(gbpsim.EffectCommit)
	late.HiddenSeconds = 0.2
	missed := gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 404, Count: 1}
	for _, o := range factOperations() {
		add := func(name string, spoil func(*desk, gbpsim.LocationName) error, fault, blind gbpsim.Fault, want ends) {
			rows = append(rows, unclearRow{name, o.tool, spoil, fault, blind, want})
		}
		add("what is there is adopted", nil, unclear(gbpsim.EffectCommit), gbpsim.Fault{}, succeeds(1, "found"))
		add("what shows late is adopted", nil, late, gbpsim.Fault{}, succeeds(1, "found"))
		add("what is certainly absent is sent again", nil, unclear(gbpsim.EffectNone), gbpsim.Fault{}, succeeds(2, "absent succeeded"))
		if o.creates {
			add("a list that fails once is no absence", nil, unclear(gbpsim.EffectCommit), missed, succeeds(1, "found"))
			continue
		}
		add("one 404 of a read is no proof", nil, gbpsim.Fault{}, missed, succeeds(1, "succeeded"))
		if o.changed != nil {
			add("what somebody else changed is left alone", o.changed, gbpsim.Fault{}, gbpsim.Fault{}, fails(errs.VersionConflict, false, 0, ""))
		}
		if o.gone != nil {
			add("what is gone is reported", o.gone, gbpsim.Fault{}, gbpsim.Fault{}, fails(errs.GBPNotFound, false, 0, ""))
		}
	}
	already := ends{batch.ItemSucceeded, "", errs.ExecutedYes, false, 0, 0, ""}
	review := unclear(gbpsim.EffectCommit)
	review.State, review.SettleState, review.SettleSeconds = "PROCESSING", "LIVE", 3600
	return append(rows,
		unclearRow{"somebody wrote the same", "review.reply", sameReplies, gbpsim.Fault{}, gbpsim.Fault{}, already},
		unclearRow{"somebody took the reply back", "review.delete_reply", noReplies, gbpsim.Fault{}, gbpsim.Fault{}, already},
		unclearRow{"somebody changed it to the same", "location.update", sameDescriptions, gbpsim.Fault{}, gbpsim.Fault{}, already},
		unclearRow{"somebody changed another field", "location.update", otherTitles, gbpsim.Fault{}, gbpsim.Fault{}, succeeds(1, "succeeded")},
		unclearRow{"what is under review is there, whatever a read says", "location.update", nil, review, gbpsim.Fault{}, succeeds(1, "found")},
	)
}

// The table of idempotency: what a repetition would do, and how an unclear outcome is decided.
func TestFactsOfIdempotency(t *testing.T) {
	t.Parallel()
	rows := unclearTable()
	d := openDesk(t, stack.Options{
		Stores: len(rows), NoWorkers: true,
		Sim: func(o *gbpsim.Options) { o.Knobs.EditReadsOld = true },
		Config: func(c *config.Config) {
			c.Worker.CallTimeout, c.Worker.Interactive, c.Worker.Bulk = 2*time.Second, len(rows), len(rows)
		},
	})
	stop := d.Work()
	stores := map[string][]int{}
	for i, r := range rows {
		stores[r.tool] = append(stores[r.tool], i)
	}
	about := make([]factTarget, len(rows))
	for tool, at := range stores {
		for _, x := range factOperationOf(tool).targets(d, at) {
			about[x.store] = x
		}
	}
	stop()
	plays := make([]played, len(rows))
	for i, r := range rows {
		o := factOperationOf(r.tool)
		if r.fault.Count > 0 {
			r.fault.Route, r.fault.Location = o.route, place(d.Stack, i)
			d.fault(r.fault)
		}
		plays[i] = d.play(o, about[i])
		if r.blind.Count > 0 { // after its acceptance, which may read as well
			r.blind.Route, r.blind.Location = o.look, place(d.Stack, i)
			d.fault(r.blind)
		}
		if r.spoil != nil {
			if err := r.spoil(d, place(d.Stack, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.Work()
	for i, r := range rows {
		plays[i].endsAs(t, d, r.name, r.want)
	}
	d.countersMatch()
}
