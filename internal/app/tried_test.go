package app_test

import (
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// An attempt that certainly had no effect is no evidence: what somebody else then wrote to the same field, under review and not
// to be read yet, is not taken for ours, and ours is sent.
func TestAttemptWithoutEffectProvesNothing(t *testing.T) {
	t.Parallel()
	states := []batch.AttemptState{batch.AttemptRefused, batch.AttemptNotSent, batch.AttemptAbsent}
	d := openDesk(t, stack.Options{Stores: len(states), NoWorkers: true, Sim: func(o *gbpsim.Options) { o.Knobs.EditPendingSeconds, o.Knobs.EditReadsOld = 86400, true }})
	var ids []batch.ID
	for n, state := range states {
		accepted := d.accepted("location.update", one(d.change(n, labelled("ours"))))
		ids = append(ids, accepted.BatchID)
		item := onlyItem(t, d.Stack, accepted.BatchID)
		l, google := d.Locations[n], gbpapi.Ref{Tenant: stack.Tenant, Connection: d.Locations[n].ConnectionID}
		before, err := d.App.Google.ReadLocation(t.Context(), google, l.Account, l.Name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.App.DB.Begin(t.Context(), stack.Tenant, item, windowsOf(d.Stack), worker.Turn{Slot: true, Before: before.Raw}, keepJob)
		if err != nil || b.Decision.Step != batch.StepSend {
			t.Fatalf("%+v, %v", b.Decision, err)
		}
		if p, err := d.App.DB.Peek(t.Context(), stack.Tenant, item); err != nil || !p.Item.Tried {
			t.Errorf("an open attempt counts for nothing: %v", err)
		}
		if err := d.App.DB.Finish(t.Context(), stack.Tenant, b, worker.Outcome{Attempt: state}, keepJob); err != nil {
			t.Fatal(err)
		}
		if p, err := d.App.DB.Peek(t.Context(), stack.Tenant, item); err != nil || p.Item.Tried {
			t.Errorf("%s: counts as evidence, %v", state, err)
		}
		if _, err := d.App.Google.PatchLocation(t.Context(), google, l.Name, []byte(`{"labels":["the owner's"]}`), []string{"labels"}, false); err != nil {
			t.Fatal(err)
		}
	}
	d.Work()
	for n, id := range ids {
		v := d.Finish(string(id))
		if i := v.Items[0]; i.State != batch.ItemSucceeded || i.Already {
			t.Errorf("after %s: %+v", states[n], i)
		}
	}
	d.Sim.Advance(48 * time.Hour)
	for n := range states {
		if got := d.google(n, "labels"); got != `["ours"]` {
			t.Errorf("after %s: %s stands at Google", states[n], got)
		}
	}
	d.countersMatch()
}
