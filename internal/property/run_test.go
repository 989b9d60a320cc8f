package property

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// patience is how long a sequence may take to come to rest; beyond it something is lost or stuck. One that plays alone is faster.
const (
	patience      = 3 * time.Minute
	patienceAlone = 25 * time.Second
)

// sequence is a plan being played on stores of a lane.
type sequence struct {
	*lane
	plan   plan
	run    string // makes its texts and keys its own
	wait   time.Duration
	stores []gbp.Location
	since  int64 // the journal's last entry before it
	before world
	// spent is true when something at the stores is still being followed.
	spent  bool
	began  time.Time
	faults []gbpsim.FaultID

	mu       sync.Mutex
	mishaps  map[gbp.LocationName]map[point]int // how often each point was passed
	steps    [][]batch.ID                       // the batches of each step
	apart    map[batch.ID]int                   // batches whose calls ran at the same time, by step
	answered map[string]batch.ID                // by idempotency key
	log      []string
	broken   []string
}

// play runs a plan and gives everything that is wrong afterwards; none is how it should be.
func (l *lane) play(ctx context.Context, p plan, run string, wait time.Duration) *sequence {
	s := &sequence{
		lane: l, plan: p, run: run, wait: wait, mishaps: map[gbp.LocationName]map[point]int{}, steps: make([][]batch.ID, len(p.Steps)), apart: map[batch.ID]int{}, answered: map[string]batch.ID{},
	}
	s.stores = l.take(s, p.Stores)
	batches := 0
	defer func() { l.giveBack(s, batches) }()
	s.furnish()
	s.began, s.since, s.before = time.Now(), l.seen(s.stores), s.look()
	for _, f := range p.Faults {
		f.Location = gbpsim.LocationName(s.stores[f.Store].Name)
		id, err := l.Sim.AddFault(f.Fault)
		if err != nil {
			s.wrong("fault: %v", err)
			continue
		}
		s.faults = append(s.faults, id)
	}
	var restarted sync.WaitGroup
	for i, st := range p.Steps {
		if p.Restart && i == len(p.Steps)-1 {
			restarted.Go(func() {
				if err := l.restart(p.Hard); err != nil {
					s.wrong("restart: %v", err)
				}
			})
		}
		s.step(i, st)
	}
	restarted.Wait()
	if err := s.rest(ctx); err != nil {
		s.wrong("no rest: %v", err)
	}
	for _, id := range s.faults {
		if err := l.Sim.RemoveFault(id); err != nil {
			s.wrong("%v", err)
		}
	}
	b, err := s.books(ctx)
	if err != nil {
		s.wrong("books: %v", err)
		return s
	}
	batches = len(b.batches)
	s.spent = slices.ContainsFunc(b.items, func(i item) bool { return i.Follows })
	s.judge(b)
	if len(s.broken) > 0 {
		s.describe(b)
	}
	s.clear()
	return s
}

func (s *sequence) wrong(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

func (s *sequence) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// next counts a passage of a point and gives what happens at it.
func (s *sequence) next(at gbp.LocationName, p point) (m mishap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mishaps[at] == nil {
		s.mishaps[at] = map[point]int{}
	}
	s.mishaps[at][p]++
	for _, x := range s.plan.Mishaps {
		if s.stores[x.Store].Name == at && x.At == p && x.Nth == s.mishaps[at][p] {
			return x
		}
	}
	return mishap{}
}

func (s *sequence) text(n int) string { return fmt.Sprintf("お知らせ %s の %d", s.run, n) }

func (s *sequence) ids(of []int) []int64 {
	out := make([]int64, len(of))
	for i, x := range of {
		out[i] = int64(s.stores[x].ID)
	}
	return out
}

// step makes a step's calls. What cannot be called for want of an earlier result is left out.
func (s *sequence) step(n int, st step) {
	if n > 0 && !st.Race {
		for _, earlier := range s.steps[:n] {
			for _, id := range earlier {
				s.final(id)
			}
		}
	}
	args, ok := s.arguments(n, st)
	if !ok {
		s.note("step %d: %s has nothing to be about", n, st.Tool)
		return
	}
	if st.Stop {
		args = args.With("on_failure", "stop")
	}
	var calls sync.WaitGroup
	one := func(twin int) {
		keyed := args.With("idempotency_key", fmt.Sprintf("%s-%d-%d", s.run, n, twin))
		var replays sync.WaitGroup
		for range 1 + st.Replays {
			replays.Go(func() { s.call(n, st, keyed) })
		}
		replays.Wait()
	}
	switch {
	case !st.Twin:
		one(0)
	case st.Together:
		calls.Go(func() { one(0) })
		calls.Go(func() { one(1) })
		calls.Wait()
		s.mu.Lock()
		for _, id := range s.steps[n] {
			s.apart[id] = n + 1
		}
		s.mu.Unlock()
	default:
		one(0)
		one(1)
	}
}

// arguments are a step's; false without anything that it could be about.
func (s *sequence) arguments(n int, st step) (stack.Args, bool) {
	if o, ok := operationOf(st.Tool); ok {
		return o.arguments(s, n, st)
	}
	s.mu.Lock() // undo and retry
	defer s.mu.Unlock()
	if len(s.steps[st.Of]) == 0 {
		return nil, false
	}
	return stack.Args{"batch_id": s.steps[st.Of][0]}, true
}

// call makes a write with the confirmation that it needs, and notes its batch.
func (s *sequence) call(n int, st step, args stack.Args) {
	key, _ := args["idempotency_key"].(string)
	a := s.write(st.Tool, args)
	for range 200 { // being admitted by a call at the same time, or a busy machine: both say to come back with the same key
		if a.ErrorCode == errs.ConfirmationRequired && a.Details != nil && a.Details.ConfirmToken != "" {
			args = args.With("confirm_token", a.Details.ConfirmToken)
		} else if a.ErrorCode == errs.IdempotencyInProgress || a.ErrorCode == errs.Unavailable {
			s.note("step %d: %s %s: %s", n, st.Tool, key, a.ErrorCode)
			<-time.After(100 * time.Millisecond)
		} else {
			break
		}
		a = s.write(st.Tool, args)
	}
	if a.IsError {
		s.note("step %d: %s %s: %s", n, st.Tool, key, a.Text)
		if a.ErrorCode == errs.Internal || a.ErrorCode == errs.Unavailable || a.ErrorCode == errs.IdempotencyInProgress {
			s.wrong("%s answers %s in the end", st.Tool, a.Text)
		}
		return
	}
	var w tools.Write
	if err := json.Unmarshal(a.Data, &w); err != nil || w.Accepted == nil {
		s.wrong("%s is neither refused nor accepted: %s", st.Tool, a.Data)
		return
	}
	id := w.Accepted.BatchID
	s.note("step %d: %s %s: %s %s", n, st.Tool, key, w.Accepted.Idempotency.Outcome, id)
	s.mu.Lock()
	if old := s.answered[key]; old != "" && old != id {
		s.broken = append(s.broken, fmt.Sprintf("one key, two batches: %s, %s", old, id))
	}
	s.answered[key] = id
	if !slices.Contains(s.steps[n], id) {
		s.steps[n] = append(s.steps[n], id)
	}
	s.mu.Unlock()
	if st.Cancel && w.Accepted.Idempotency.Outcome == "executed" {
		c := s.tool("batch.cancel", stack.Args{"batch_id": id})
		s.note("step %d: batch.cancel %s: %s", n, id, strings.SplitN(c.Text, "\n", 2)[0])
	}
}

// write is a call that writes; only some are admitted at a time, so that a busy machine stays within admission's two seconds.
func (s *sequence) write(name string, args stack.Args) stack.Answer {
	s.door <- struct{}{}
	defer func() { <-s.door }()
	return s.tool(name, args)
}

func (s *sequence) tool(name string, args stack.Args) stack.Answer {
	raw, err := json.Marshal(args)
	if err != nil {
		s.wrong("%v", err)
	}
	return s.CallPrincipal(s.principal, name, raw)
}

func (s *sequence) status(id batch.ID) (v tools.BatchView) {
	a := s.tool("batch.status", stack.Args{"batch_id": id, "items": "all", "page_size": 100})
	if err := json.Unmarshal(a.Data, &v); a.IsError || err != nil {
		s.wrong("batch.status: %s %v", a.Text, err)
	}
	return v
}

// waits tells whether item i rightly waits: an older one with its content is unknown, and stays so after some looks.
const waits = `(i.state = 'queued' AND EXISTS (SELECT 1 FROM mappy.item o WHERE o.tenant_id = i.tenant_id AND o.google_location = i.google_location AND o.fingerprint = i.fingerprint
	AND o.item_id < i.item_id AND o.state = 'unknown' AND o.target_name IS NULL AND o.follows >= 5))`

// onlyWaits tells whether all undecided items of a batch wait.
func (s *sequence) onlyWaits(id batch.ID) (only bool) {
	err := s.DB.Owner().QueryRow(context.Background(), `SELECT NOT EXISTS (SELECT 1 FROM mappy.item i WHERE i.tenant_id = $1 AND i.batch_id = $2 AND i.state IN ('queued', 'processing') AND NOT `+waits+`)`,
		stack.Tenant, id).Scan(&only)
	if err != nil {
		s.wrong("%v", err)
	}
	return only
}

// final waits for a batch as a client does.
func (s *sequence) final(id batch.ID) {
	for deadline := time.Now().Add(s.wait); time.Now().Before(deadline); {
		var v tools.BatchView
		a := s.tool("batch.status", stack.Args{"batch_id": id, "wait_seconds": 10, "items": "none"})
		if a.IsError || json.Unmarshal(a.Data, &v) != nil {
			s.note("batch.status: %s", a.Text)
			<-time.After(100 * time.Millisecond)
			continue
		}
		if v.Status.Final() || s.onlyWaits(id) {
			return
		}
	}
	s.wrong("batch %s is not final after %s", id, s.wait)
}

// rest waits until nothing more happens by itself: all items and batches are decided, no follow-up is due, no job is left.
// An item that stays unknown, or that cannot be read, is looked at all week; it is at rest after some looks, and so is one that
// waits for it.
func (s *sequence) rest(ctx context.Context) error {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(s.wait)
	for {
		var left string
		err := s.DB.Owner().QueryRow(ctx, `
			SELECT coalesce(string_agg(i.item_id || ' ' || i.state || coalesce(' follow at ' || i.follow_at, '') || coalesce(' job ' || j.id || ' of ' || j.queue || ' ' || j.state || ' attempt ' || j.attempt || ' from ' || j.scheduled_at, ''), '; '), '')
			FROM mappy.item i JOIN mappy.batch b USING (tenant_id, batch_id)
			LEFT JOIN river.river_job j ON j.id = i.river_job_id AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
			WHERE i.tenant_id = $1 AND i.location_id = ANY ($2) AND NOT `+waits+` AND (i.state IN ('queued', 'processing') OR i.follow_at IS NOT NULL AND i.follows < 5 OR j.id IS NOT NULL
				OR b.finished_at IS NULL AND NOT EXISTS (SELECT 1 FROM mappy.item w WHERE w.tenant_id = b.tenant_id AND w.batch_id = b.batch_id AND w.state = 'queued'))`,
			stack.Tenant, s.locationIDs()).Scan(&left)
		if err != nil || left == "" {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New(left)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *sequence) locationIDs() []int64 {
	out := make([]int64, len(s.stores))
	for i, x := range s.stores {
		out[i] = int64(x.ID)
	}
	return out
}

// rows reads rows as the owner, who sees every tenant's.
func rows[T any](ctx context.Context, s *sequence, sql string, args ...any) ([]T, error) {
	r, err := s.DB.Owner().Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(r, pgx.RowToStructByPos[T])
}
