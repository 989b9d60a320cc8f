package property

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// item is a row of ours as it ended.
type item struct {
	ID, Batch              string
	Operation, Location    string
	State                  batch.ItemState
	Executed               errs.Executed
	Already                bool
	Code                   string
	Payload                []byte
	Fingerprint            []byte
	Target, Made           string
	Attempts               int
	Created                time.Time
	Finished, FirstAttempt *time.Time
	AttemptStates          string
	// Ends are the events that tell of the item's end; Follows is true while it is being followed.
	Ends    string
	Follows bool
	// Waits is true while an older item with its content is unknown.
	Waits bool
}

// yes, no and maybe are what the books say about the effect.
func (i item) yes() bool   { return i.Executed == errs.ExecutedYes && !i.Already }
func (i item) maybe() bool { return i.Executed == errs.ExecutedUnknown }

// booked is a batch with its counters and its items counted anew.
type booked struct {
	ID                                                   string
	Status                                               batch.Status
	Started                                              bool
	OnFailure                                            batch.OnFailure
	Target, Success, Failure, Cancelled, Unknown         int
	Items, Succeeded, Failed, Cancels, Unknowns, Stopped int
	// Waits is how many of its items wait.
	Waits int
}

// start is an item_started event.
type start struct {
	Item string
	At   time.Time
}

// books are both sides of a sequence: what we say, and what Google saw.
type books struct {
	batches []booked
	items   []item
	starts  []start
	open    []string // attempts left undecided
	entries []gbpsim.Entry
	world   world
}

func (s *sequence) books(ctx context.Context) (b books, err error) {
	ids := s.locationIDs()
	b.items, err = rows[item](ctx, s, `
		SELECT i.item_id, i.batch_id, i.operation, i.google_location, i.state, i.executed, i.already, coalesce(i.error_code, ''), i.payload, i.fingerprint,
		       coalesce(i.target_name, ''), coalesce(i.resource_name, ''), i.attempts, i.created_at, i.finished_at,
		       (SELECT min(started_at) FROM mappy.attempt a WHERE a.tenant_id = i.tenant_id AND a.item_id = i.item_id),
		       coalesce((SELECT string_agg(a.state || ' (' || a.note || ')', ' ' ORDER BY attempt_id) FROM mappy.attempt a WHERE a.tenant_id = i.tenant_id AND a.item_id = i.item_id), ''),
		       (SELECT coalesce(string_agg(e.event, ' ' ORDER BY e.event_id), '') FROM mappy.audit_event e WHERE e.tenant_id = i.tenant_id AND e.batch_id = i.batch_id AND e.item_id = i.item_id
		          AND e.event IN ('item_succeeded', 'item_failed', 'item_unknown', 'item_cancelled', 'item_resolved')),
		       i.follow_at IS NOT NULL, `+waits+`
		FROM mappy.item i JOIN mappy.batch b USING (tenant_id, batch_id)
		WHERE i.tenant_id = $1 AND i.location_id = ANY ($2) AND i.created_at >= $3 ORDER BY i.item_id`, stack.Tenant, ids, s.began)
	if err != nil {
		return b, err
	}
	var batches []string
	for _, i := range b.items {
		if !slices.Contains(batches, i.Batch) {
			batches = append(batches, i.Batch)
		}
	}
	b.batches, err = rows[booked](ctx, s, `
		SELECT b.batch_id, b.status, b.started_at IS NOT NULL, b.on_failure, b.target_count, b.success_count, b.failure_count, b.cancelled_count, b.unknown_count,
		       count(*)::int, (count(*) FILTER (WHERE i.state = 'succeeded'))::int, (count(*) FILTER (WHERE i.state = 'failed'))::int,
		       (count(*) FILTER (WHERE i.state = 'cancelled'))::int, (count(*) FILTER (WHERE i.state = 'unknown'))::int, (count(*) FILTER (WHERE i.error_code = 'STOPPED_AFTER_FAILURE'))::int,
		       (count(*) FILTER (WHERE `+waits+`))::int
		FROM mappy.batch b JOIN mappy.item i USING (tenant_id, batch_id) WHERE b.tenant_id = $1 AND b.batch_id = ANY ($2) GROUP BY b.tenant_id, b.batch_id`, stack.Tenant, batches)
	if err != nil {
		return b, err
	}
	b.starts, err = rows[start](ctx, s, `SELECT item_id, occurred_at FROM mappy.audit_event WHERE tenant_id = $1 AND batch_id = ANY ($2) AND event = 'item_started' ORDER BY occurred_at`,
		stack.Tenant, batches)
	if err != nil {
		return b, err
	}
	type attempt struct{ Item, State, Of string }
	open, err := rows[attempt](ctx, s, `SELECT a.item_id, a.state, i.state FROM mappy.attempt a JOIN mappy.item i USING (tenant_id, item_id)
		WHERE i.tenant_id = $1 AND i.batch_id = ANY ($2) AND (a.state = 'open' OR a.state = 'unknown' AND i.state <> 'unknown')`, stack.Tenant, batches)
	if err != nil {
		return b, err
	}
	for _, a := range open {
		b.open = append(b.open, fmt.Sprintf("an attempt of %s item %s is left %s", a.Of, a.Item, a.State))
	}
	b.world = s.look()
	for _, l := range s.stores {
		b.entries = append(b.entries, s.Sim.Entries(gbpsim.EntryFilter{Location: gbpsim.LocationName(l.Name), After: s.since})...)
	}
	slices.SortFunc(b.entries, func(x, y gbpsim.Entry) int { return int(x.Seq - y.Seq) })
	return b, nil
}

// judge holds both sides against each other.
func (s *sequence) judge(b books) {
	s.judgeBatches(b)
	for _, a := range b.open {
		s.wrong("%s", a)
	}
	for _, i := range b.items {
		if !i.State.Final() && !i.Waits {
			s.wrong("item %s is lost: %s", i.ID, i.State)
		}
	}
	s.judgeSends(b)
	s.judgeEffects(b)
	s.judgeWorld(b)
	s.judgeOrder(b)
}

// judgeBatches: every batch is final and known, its counters are its items', and its status is what the counters say.
func (s *sequence) judgeBatches(b books) {
	known := slices.Concat(s.steps...)
	for _, x := range b.batches {
		counts := batch.Counts{Target: x.Target, Success: x.Success, Failure: x.Failure, Cancelled: x.Cancelled, Unknown: x.Unknown}
		real := batch.Counts{Target: x.Items, Success: x.Succeeded, Failure: x.Failed, Cancelled: x.Cancels, Unknown: x.Unknowns}
		if counts != real {
			s.wrong("batch %s: counters %+v, items %+v", x.ID, counts, real)
		}
		if x.Waits == 0 && (!x.Status.Final() || x.Status != real.Status()) {
			s.wrong("batch %s is %s, its items make it %s", x.ID, x.Status, real.Status())
		}
		if !slices.Contains(known, batch.ID(x.ID)) {
			s.wrong("batch %s was made and nobody was told", x.ID)
		}
		if x.Stopped > 0 && (x.OnFailure != batch.OnFailureStop || x.Failed+x.Unknowns == 0) {
			s.wrong("batch %s: %d items stopped after a failure, %s, %d failed", x.ID, x.Stopped, x.OnFailure, x.Failed)
		}
	}
	if len(b.batches) < len(slices.Compact(slices.Sorted(slices.Values(known)))) {
		s.wrong("%d batches were accepted, %d exist", len(known), len(b.batches))
	}
}

// slack is what two clocks' roundings may differ by.
const slack = time.Millisecond

// judgeSends: every request that writes was announced by an item_started of its own before it was sent.
func (s *sequence) judgeSends(b books) {
	items, starts := map[string]string{}, map[string][]time.Time{}
	attempts := map[string]int{}
	for _, i := range b.items {
		items[i.ID] = i.key()
	}
	for _, x := range b.starts {
		starts[items[x.Item]] = append(starts[items[x.Item]], x.At)
		attempts[x.Item]++
	}
	for _, i := range b.items {
		if unsent := strings.Count(i.AttemptStates, string(batch.AttemptNotSent)+" ("); attempts[i.ID] != i.Attempts+unsent {
			s.wrong("item %s has %d attempts, %d not sent, and %d item_started events", i.ID, i.Attempts, unsent, attempts[i.ID])
		}
		if last := "item_" + string(i.State); i.State.Final() && !told(i.Ends, last) {
			s.wrong("item %s is %s and its ends in the audit are %q", i.ID, i.State, i.Ends)
		}
		if i.State == batch.ItemCancelled && i.Executed != errs.ExecutedNo {
			s.wrong("cancelled item %s executed %s", i.ID, i.Executed)
		}
	}
	sent := map[string]int{}
	for _, e := range b.entries {
		k := keyOf(e)
		if k == "" || e.Status == http.StatusUnauthorized { // the client repeats that by itself with a new token
			continue
		}
		n := sent[k]
		sent[k]++
		switch at := starts[k]; {
		case n >= len(at):
			s.wrong("request %d (%s) was sent without an attempt of its own", e.Seq, short(k))
		case e.Time.Add(slack).Before(at[n]):
			s.wrong("request %d (%s) was sent before its attempt was written", e.Seq, short(k))
		}
	}
}

// told: one event tells of the item's end; Google's later refusal is one more, and so is what became of an unknown one.
func told(ends, last string) bool {
	return slices.Contains([]string{last, "item_succeeded item_failed", "item_unknown item_resolved", "item_unknown item_resolved item_failed"}, ends)
}

// judgeEffects: as many effects as items that say yes, and at most as many more as say unknown.
func (s *sequence) judgeEffects(b books) {
	groups := map[string][]item{}
	for _, i := range b.items {
		groups[i.key()] = append(groups[i.key()], i)
	}
	effects := map[string][]gbpsim.Entry{}
	for _, e := range b.entries {
		if k := keyOf(e); k != "" && e.Effect {
			effects[k] = append(effects[k], e)
			if groups[k] == nil {
				s.wrong("effect %d (%s) belongs to no item", e.Seq, short(k))
			}
		}
	}
	for k, group := range groups {
		yes, maybe, attempts := 0, 0, 0
		for _, i := range group {
			attempts += i.Attempts
			switch {
			case i.yes():
				yes++
			case i.maybe():
				maybe++
			}
			if i.Executed == errs.ExecutedUnknown != (i.State == batch.ItemUnknown) && !s.misled(i) {
				s.wrong("item %s is %s and executed %s", i.ID, i.State, i.Executed)
			}
			if i.State == batch.ItemSucceeded && i.Executed != errs.ExecutedYes {
				s.wrong("item %s succeeded and executed %s", i.ID, i.Executed)
			}
		}
		n := len(effects[k])
		switch group[0].of().creates {
		case true:
			if n < yes || n > yes+maybe {
				s.wrong("%d effects of %s; %d items say yes, %d unknown", n, short(k), yes, maybe)
			}
		case false: // a repeated edit leaves the same
			if n > attempts || n == 0 && yes > 0 || n > 0 && yes+maybe == 0 {
				s.wrong("%d effects of %s; %d items say yes, %d unknown, %d attempts", n, short(k), yes, maybe, attempts)
			}
		}
	}
	made := map[string]bool{}
	for _, e := range b.entries {
		if (e.Route == gbpsim.RouteLocalPostsCreate || e.Route == gbpsim.RouteMediaCreate) && e.Effect {
			made[e.Resource] = true
		}
	}
	for _, i := range b.items {
		if i.of().creates && i.Executed == errs.ExecutedYes && i.Made == "" {
			s.wrong("item %s says that it made something and does not know which", i.ID)
		}
		if i.Made != "" && !made[i.Made] {
			s.wrong("item %s claims %s, which Google never made, or another item has", i.ID, i.Made)
		}
		delete(made, i.Made)
	}
}

// judgeOrder: of two items with the same content or target at one store the later one starts after the earlier one's end.
func (s *sequence) judgeOrder(b books) {
	for n, later := range b.items {
		if later.FirstAttempt == nil {
			continue
		}
		for _, earlier := range b.items[:n] {
			if earlier.Location != later.Location || string(earlier.Fingerprint) != string(later.Fingerprint) {
				continue
			}
			if at := s.apart[batch.ID(later.Batch)]; at != 0 && at == s.apart[batch.ID(earlier.Batch)] {
				continue // accepted at the same moment: either may be first
			}
			if earlier.Finished == nil || later.FirstAttempt.Before(*earlier.Finished) {
				s.wrong("item %s started before %s, with the same content or target and made earlier, was decided", later.ID, earlier.ID)
			}
			if earlier.State == batch.ItemUnknown && earlier.of().creates {
				s.wrong("item %s was sent although %s with the same content is unknown", later.ID, earlier.ID)
			}
		}
	}
}

// misled: a read that said falsely that a thing is gone makes its deletion succeed, until following finds the thing there.
func (s *sequence) misled(i item) bool {
	return i.of().bare && slices.ContainsFunc(s.plan.Faults, func(f ordered) bool {
		return f.Status == http.StatusNotFound && slices.Contains(i.of().reads, f.Route)
	})
}

// short is a key for people.
func short(k string) string {
	op, rest, _ := strings.Cut(k, " ")
	if len(rest) > 160 {
		rest = rest[:160]
	}
	return op + " " + rest
}

// describe notes everything that one needs to see what happened.
func (s *sequence) describe(b books) {
	for _, x := range b.batches {
		s.note("batch %+v", x)
	}
	for _, i := range b.items {
		s.note("item %s of %s: %s at %s: %s executed %s %s, made %q, target %q, %d attempts: %s", i.ID, i.Batch, i.Operation, i.Location, i.State, i.Executed, i.Code, i.Made, i.Target, i.Attempts, i.AttemptStates)
	}
	for _, e := range b.entries {
		effect := ""
		if e.Effect {
			effect = " EFFECT " + e.Resource + " at " + e.EffectTime.Format("05.000")
		}
		s.note("google %d %s %s %s %s: %s %d%s %s", e.Seq, e.Time.Format("05.000"), e.Route, e.Location, e.Fault, e.Outcome, e.Status, effect, e.Body)
	}
}
