package batch_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// fresh is an item that nothing stops.
func fresh() batch.Snapshot {
	return batch.Snapshot{State: batch.ItemQueued, Allowed: true, Client: "agent", Operations: []string{"post.create"}}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	type change = func(*batch.Snapshot)
	open := func(after time.Duration) change {
		return func(s *batch.Snapshot) {
			s.Open = &batch.Attempt{ID: 1, No: 1, State: batch.AttemptOpen, ExamineAfter: after}
		}
	}
	kill := func(kind, target string) change {
		return func(s *batch.Snapshot) { s.Kill = append(s.Kill, authn.KillSwitch{Kind: kind, Target: target}) }
	}
	everything := func(s *batch.Snapshot) { // all that can stop an item at once
		s.CancelRequested, s.Stopped, s.Overdue, s.Allowed, s.ConnectionDead, s.Earlier, s.NotBefore = true, true, true, false, true, true, time.Hour
		kill("all", "")(s)
	}
	end := func(s batch.ItemState, c errs.Code) batch.Decision {
		return batch.Decision{Step: batch.StepEnd, State: s, Code: c}
	}
	wait := func(d time.Duration) batch.Decision { return batch.Decision{Step: batch.StepWait, Wait: d} }
	for name, c := range map[string]struct {
		changes []change
		want    batch.Decision
	}{
		"nothing in the way":                     {nil, batch.Decision{Step: batch.StepSend}},
		"a retry":                                {[]change{func(s *batch.Snapshot) { s.State = batch.ItemProcessing }}, batch.Decision{Step: batch.StepSend}},
		"cancelled batch":                        {[]change{func(s *batch.Snapshot) { s.CancelRequested = true }}, end(batch.ItemCancelled, errs.Cancelled)},
		"stopped batch":                          {[]change{func(s *batch.Snapshot) { s.Stopped = true }}, end(batch.ItemCancelled, errs.StoppedAfterFailure)},
		"kill switch for all":                    {[]change{kill("all", "")}, end(batch.ItemFailed, errs.WritesDisabled)},
		"kill switch for the tenant":             {[]change{kill("tenant", "")}, end(batch.ItemFailed, errs.WritesDisabled)},
		"kill switch for the client":             {[]change{kill("client", "agent")}, end(batch.ItemFailed, errs.WritesDisabled)},
		"kill switch for the tool":               {[]change{kill("tool", "x"), kill("tool", "post.create")}, end(batch.ItemFailed, errs.WritesDisabled)},
		"kill switches for others":               {[]change{kill("client", "other"), kill("tool", "post.delete")}, batch.Decision{Step: batch.StepSend}},
		"access revoked":                         {[]change{func(s *batch.Snapshot) { s.Allowed = false }}, end(batch.ItemFailed, errs.LocationAccessRevoked)},
		"connection dead":                        {[]change{func(s *batch.Snapshot) { s.ConnectionDead = true }}, end(batch.ItemFailed, errs.GoogleReconnectRequired)},
		"past the deadline":                      {[]change{func(s *batch.Snapshot) { s.Overdue = true }}, end(batch.ItemFailed, errs.ExpiredNotSent)},
		"past the deadline, waiting for another": {[]change{func(s *batch.Snapshot) { s.Overdue, s.Earlier = true, true }}, end(batch.ItemFailed, errs.ExpiredNotSent)},
		"retry not due":                          {[]change{func(s *batch.Snapshot) { s.NotBefore = 3 * time.Second }}, wait(3 * time.Second)},
		"retry due":                              {[]change{func(s *batch.Snapshot) { s.NotBefore = -time.Second }}, batch.Decision{Step: batch.StepSend}},
		"the same content is undecided":          {[]change{func(s *batch.Snapshot) { s.Earlier = true }}, wait(2 * time.Second)},
		"an open attempt, not to be touched yet": {[]change{open(time.Minute)}, wait(time.Minute)},
		"an open attempt, to be examined":        {[]change{open(0)}, batch.Decision{Step: batch.StepExamine}},
		"an open attempt goes before everything": {[]change{open(-time.Second), everything}, batch.Decision{Step: batch.StepExamine}},
		"… also while it may not be examined":    {[]change{open(time.Second), everything}, wait(time.Second)},
		"everything at once":                     {[]change{everything}, end(batch.ItemCancelled, errs.Cancelled)},
		"everything but a cancellation":          {[]change{everything, func(s *batch.Snapshot) { s.CancelRequested = false }}, end(batch.ItemCancelled, errs.StoppedAfterFailure)},
		"succeeded":                              {[]change{everything, func(s *batch.Snapshot) { s.State = batch.ItemSucceeded }}, batch.Decision{Step: batch.StepDone}},
		"failed":                                 {[]change{func(s *batch.Snapshot) { s.State = batch.ItemFailed }}, batch.Decision{Step: batch.StepDone}},
		"cancelled":                              {[]change{func(s *batch.Snapshot) { s.State = batch.ItemCancelled }}, batch.Decision{Step: batch.StepDone}},
		"unknown is not sent again":              {[]change{func(s *batch.Snapshot) { s.State = batch.ItemUnknown }}, batch.Decision{Step: batch.StepDone}},
	} {
		s := fresh()
		for _, f := range c.changes {
			f(&s)
		}
		if got := batch.Decide(s); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// world plays what surrounds one item: a runner that follows Decide, and people and stores that change things at random.
type world struct {
	s       batch.Snapshot
	effects int
	// mayHave is true while the outcome of a call is not known.
	mayHave bool
}

func (w *world) disturb() {
	switch rand.IntN(14) {
	case 0:
		w.s.CancelRequested = true
	case 1:
		w.s.Stopped = true
	case 2:
		w.s.Overdue = true
	case 3:
		w.s.Allowed = !w.s.Allowed
	case 4:
		w.s.ConnectionDead = !w.s.ConnectionDead
	case 5:
		w.s.Earlier = !w.s.Earlier
	case 6:
		w.s.NotBefore = time.Duration(rand.IntN(3)-1) * time.Second
	case 7:
		w.s.Kill = []authn.KillSwitch{{Kind: []string{"all", "tenant", "client", "tool"}[rand.IntN(4)], Target: []string{"agent", "post.create", ""}[rand.IntN(3)]}}
	case 8:
		w.s.Kill = nil
	case 9, 10:
		if w.s.Open != nil {
			w.s.Open.ExamineAfter = 0
		}
	}
}

// step lets the runner act; found tells whether reading back shows the effect.
func (w *world) step(t *testing.T) {
	t.Helper()
	before := w.s
	d := batch.Decide(w.s)
	switch d.Step {
	case batch.StepSend:
		if w.mayHave || before.State.Final() || !before.Allowed || before.CancelRequested || before.Stopped || before.Overdue || before.ConnectionDead || before.Earlier {
			t.Fatalf("sent: %+v", before)
		}
		w.s.State = batch.ItemProcessing
		w.s.Open = &batch.Attempt{State: batch.AttemptOpen, ExamineAfter: time.Second}
		switch rand.IntN(4) { // how the call goes
		case 0: // answered
			w.effects++
			w.s.State, w.s.Open = batch.ItemSucceeded, nil
		case 1: // refused for now
			w.s.Open = nil
		case 2: // it had its effect, and the runner died
			w.effects++
			w.mayHave = true
		case 3: // it had none, and the runner died
			w.mayHave = true
		}
	case batch.StepExamine:
		if w.s.Open == nil || w.s.Open.ExamineAfter > 0 {
			t.Fatalf("examined: %+v", before)
		}
		w.mayHave, w.s.Open = false, nil
		if w.effects > 0 {
			w.s.State = batch.ItemSucceeded
		}
	case batch.StepEnd:
		if w.s.Open != nil || w.effects > 0 || d.Code == "" || !d.State.Final() {
			t.Fatalf("ended as unsent: %+v, %d effects", before, w.effects)
		}
		w.s.State = d.State
	case batch.StepDone:
		if !w.s.State.Final() {
			t.Fatalf("done: %+v", before)
		}
	case batch.StepWait:
		if d.Wait <= 0 {
			t.Fatalf("waits for nothing: %+v", before)
		}
	}
}

// Whatever happens in whatever order: at most one effect, nothing is sent while an outcome is open, and what ends as
// unsent had no effect.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	ends := map[batch.ItemState]int{}
	for range 20_000 {
		w := world{s: fresh()}
		for range 40 {
			if rand.IntN(3) > 0 {
				w.disturb()
			}
			w.step(t)
			if w.effects > 1 {
				t.Fatalf("%d effects: %+v", w.effects, w.s)
			}
			if w.s.State == batch.ItemSucceeded && w.effects != 1 || (w.s.State == batch.ItemFailed || w.s.State == batch.ItemCancelled) && w.effects != 0 {
				t.Fatalf("%s with %d effects", w.s.State, w.effects)
			}
		}
		ends[w.s.State]++
	}
	for _, s := range []batch.ItemState{batch.ItemSucceeded, batch.ItemFailed, batch.ItemCancelled, batch.ItemProcessing} {
		if ends[s] == 0 {
			t.Errorf("no life ended %s: %v", s, ends)
		}
	}
}

// The status by counts, for every split of up to five items.
func TestStatusOfCounts(t *testing.T) {
	t.Parallel()
	for target := 1; target <= 5; target++ {
		for n := range 6 * 6 * 6 * 6 {
			c := batch.Counts{Target: target, Success: n % 6, Failure: n / 6 % 6, Cancelled: n / 36 % 6, Unknown: n / 216}
			if c.Pending() < 0 {
				continue
			}
			want := batch.Partial
			switch target {
			case c.Success:
				want = batch.Done
			case c.Failure:
				want = batch.Failed
			case c.Cancelled:
				want = batch.Cancelled
			}
			if c.Pending() > 0 {
				want = batch.Processing
			}
			if got := c.Status(); got != want || got.Final() != (c.Pending() == 0) {
				t.Errorf("%+v: %s, want %s", c, got, want)
			}
			p := c.Public()
			if p.Success+p.Failure+p.Cancelled+p.Unknown+p.Pending != target {
				t.Errorf("%+v does not add up: %+v", c, p)
			}
		}
	}
}

func TestPublicationOf(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]batch.Publication{
		"LIVE": batch.Live, "RECURRING": batch.Live, "SCHEDULED": batch.Scheduled, "PROCESSING": batch.PendingReview, "REJECTED": batch.Rejected,
		"": batch.Accepted, "SOMETHING_NEW": batch.Accepted, "live": batch.Accepted,
	} {
		if got := batch.PublicationOf(state); got != want {
			t.Errorf("%q: %s, want %s", state, got, want)
		}
	}
}

func TestPollAfterSeconds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  batch.Status
		targets int
		want    int
	}{
		{batch.Queued, 1, 5},
		{batch.Queued, 100, 5},
		{batch.Processing, 5, 5},
		{batch.Processing, 6, 10},
		{batch.AwaitingApproval, 3, 30},
		{batch.Done, 1, 0},
		{batch.Partial, 9, 0},
		{batch.Failed, 1, 0},
		{batch.Cancelled, 1, 0},
	} {
		got := 0
		if p := batch.PollAfterSeconds(c.status, c.targets); p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s with %d targets: %d, want %d", c.status, c.targets, got, c.want)
		}
	}
}

// What may be run again is what was never sent for a passing reason; nothing that may have an effect is.
func TestRetryPossible(t *testing.T) {
	t.Parallel()
	yes := map[errs.Code]bool{
		errs.ExpiredNotSent: true, errs.WritesDisabled: true, errs.StoppedAfterFailure: true, errs.GoogleReconnectRequired: true,
		errs.GBPRateLimited: true, errs.GBPUnavailable: true, errs.GBPLocationNotVerified: true,
	}
	for _, info := range errs.Catalogue() {
		c := info.Code
		if got := batch.RetryPossible(c); got != yes[c] {
			t.Errorf("%s: %v", c, got)
		}
		if text := batch.EndText(c); text.JA == "" || text.EN == "" {
			t.Errorf("%s has no words", c)
		}
	}
}
