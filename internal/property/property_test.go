package property

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

var (
	sequences = flag.Int("sequences", 24, "how many random histories to play")
	seed      = flag.Uint64("seed", 1, "seed of the first history, the next ones count on; 0 draws one from the clock")
	width     = flag.Int("width", 14, "how many histories are played at the same time on each of the two stacks")
)

// shown is how many failing histories are described and made smaller.
const shown = 2

// Random faults over random batches: afterwards nothing happened twice, nothing is lost, and every book agrees.
func TestProperty(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seeds %d to %d: go test ./internal/property -seed %d -sequences %d", first, first+uint64(*sequences)-1, first, *sequences)
	lanes := []*lane{openLane(t, "free", 400, false), openLane(t, "quotas", 900, true)}
	todo := make(chan uint64)
	var mu sync.Mutex
	var failed []*sequence
	var work sync.WaitGroup
	began := time.Now()
	for _, l := range lanes {
		for range min(*width, *sequences) {
			work.Go(func() {
				for n := range todo {
					s := l.play(t.Context(), draw(n), fmt.Sprintf("run%d", n), patience)
					if len(s.broken) > 0 {
						mu.Lock()
						failed = append(failed, s)
						mu.Unlock()
					}
				}
			})
		}
	}
	for n := range uint64(*sequences) {
		mu.Lock()
		enough := len(failed) >= 10
		mu.Unlock()
		if enough { // the rest would only say it again
			break
		}
		todo <- first + n
	}
	close(todo)
	work.Wait()
	t.Logf("%d sequences in %s", *sequences, time.Since(began).Round(time.Second))
	for _, l := range lanes {
		l.judge(t)
	}
	slices.SortFunc(failed, func(a, b *sequence) int { return int(a.plan.Seed) - int(b.plan.Seed) })
	for n, s := range failed {
		if n >= shown {
			t.Errorf("seed %d (lane %s): %s", s.plan.Seed, s.name, strings.Join(s.broken, "\n  "))
			continue
		}
		small, again := s.shrink(t.Context())
		t.Errorf("%s", s.report("as it was played among others"))
		if again == nil {
			t.Errorf("seed %d did not fail again when it was played alone", s.plan.Seed)
			continue
		}
		again.plan = small
		t.Errorf("%s", again.report("made smaller, alone"))
	}
}

func (s *sequence) report(how string) string {
	return fmt.Sprintf("%s (lane %s):\n%s  WRONG: %s\n  %s\n", how, s.name, s.plan, strings.Join(s.broken, "\n  WRONG: "), strings.Join(s.log, "\n  "))
}

// shrinking is how long one failing history is made smaller.
const shrinking = time.Minute

// shrink plays a failing plan alone, and then without each of its parts as long as it goes on failing. The sequence is the
// last failing play; nil when it does not fail alone.
func (s *sequence) shrink(ctx context.Context) (plan, *sequence) {
	deadline := time.Now().Add(shrinking)
	n := 0
	fails := func(p plan) *sequence {
		for range 2 {
			n++
			if x := s.play(ctx, p, fmt.Sprintf("%s-again%d", s.run, n), patienceAlone); len(x.broken) > 0 {
				return x
			}
			if time.Now().After(deadline) {
				break
			}
		}
		return nil
	}
	best, failing := s.plan, fails(s.plan)
	if failing == nil {
		return best, nil
	}
	for smaller := true; smaller && time.Now().Before(deadline); {
		smaller = false
		for _, p := range best.without() {
			if time.Now().After(deadline) {
				break
			}
			if x := fails(p); x != nil {
				best, failing, smaller = p, x, true
				break
			}
		}
	}
	return best, failing
}

// without gives the plan without each of its faults, mishaps and last step, and each step without what surrounds it.
func (p plan) without() (out []plan) {
	for i := range p.Faults {
		q := p
		q.Faults = slices.Delete(slices.Clone(p.Faults), i, i+1)
		out = append(out, q)
	}
	for i := range p.Mishaps {
		q := p
		q.Mishaps = slices.Delete(slices.Clone(p.Mishaps), i, i+1)
		out = append(out, q)
	}
	if p.Restart {
		q := p
		q.Restart = false
		out = append(out, q)
	}
	if n := len(p.Steps); n > 1 {
		q := p
		q.Steps = slices.Clone(p.Steps[:n-1])
		out = append(out, q)
	}
	for i, st := range p.Steps {
		plain := step{Tool: st.Tool, Stores: st.Stores, Of: st.Of, Text: st.Text, By: st.By}
		for _, change := range []func(*step){func(x *step) { *x = plain }, func(x *step) { x.Replays = 0 }, func(x *step) { x.Twin = false }, func(x *step) { x.Cancel = false }} {
			q := p
			q.Steps = slices.Clone(p.Steps)
			change(&q.Steps[i])
			if fmt.Sprint(q.Steps[i]) != fmt.Sprint(st) {
				out = append(out, q)
			}
		}
	}
	return out
}

// judge checks what belongs to the whole lane: the audit chain, batches that nobody knows, deadlocks, and Google's limit.
func (l *lane) judge(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	if report, err := l.App.DB.VerifyAudit(ctx, stack.Tenant); err != nil || !report.Valid {
		t.Errorf("lane %s: audit: %+v, %v", l.name, report, err)
	} else {
		t.Logf("lane %s: %d batches, audit valid: %d events sealed, %d not yet; %d restarts", l.name, l.known, report.Sealed, report.Unsealed, l.restarts.Load())
	}
	var batches, deadlocks, lost int
	err := l.DB.Owner().QueryRow(ctx, `SELECT (SELECT count(*) FROM mappy.batch), (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()),
		(SELECT count(*) FROM river.river_job WHERE kind = 'item' AND state IN ('cancelled', 'discarded'))`).Scan(&batches, &deadlocks, &lost)
	if err != nil {
		t.Fatal(err)
	}
	if batches != l.known || deadlocks > 0 || lost > 0 {
		t.Errorf("lane %s: %d batches, the sequences know %d; %d deadlocks; %d jobs discarded", l.name, batches, l.known, deadlocks, lost)
	}
	l.tell(t)
	if !l.quotas {
		return
	}
	edits := map[gbpsim.LocationName][]time.Time{}
	for _, e := range l.Sim.Journal() {
		if !e.Write || e.Status == 401 {
			continue
		}
		at := append(edits[e.Location], e.Time)
		edits[e.Location] = at
		if n := len(at); n > 10 && at[n-1].Sub(at[n-11]) < time.Minute {
			t.Errorf("lane %s: request %d is the eleventh edit of %s within %s", l.name, e.Seq, e.Location, at[n-1].Sub(at[n-11]))
		}
	}
}

// tell says what was played, so that one sees what the verdict is worth.
func (l *lane) tell(t *testing.T) {
	t.Helper()
	rows, err := l.DB.Owner().Query(context.Background(), `
		SELECT format('%s: %s items, %s succeeded (%s already), %s failed, %s cancelled, %s unknown (%s for a while); attempts: %s', operation, count(*), count(*) FILTER (WHERE state = 'succeeded'),
			count(*) FILTER (WHERE already), count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'cancelled'), count(*) FILTER (WHERE state = 'unknown'),
			(SELECT count(*) FROM mappy.audit_event e JOIN mappy.item x USING (tenant_id, batch_id, item_id) WHERE e.event = 'item_unknown' AND x.operation = i.operation),
			(SELECT string_agg(state || ' ' || n, ', ' ORDER BY state) FROM (SELECT a.state, count(*) AS n FROM mappy.attempt a JOIN mappy.item x USING (tenant_id, item_id) WHERE x.operation = i.operation GROUP BY a.state) AS per))
		FROM mappy.item i GROUP BY operation ORDER BY operation`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("lane %s:\n  %s", l.name, strings.Join(lines, "\n  "))
}
