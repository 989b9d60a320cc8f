package slots_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

func low(patience time.Duration) slots.Request {
	return slots.Request{API: api, Tenant: "t", Location: "locations/a", Low: true, Patience: patience}
}

// Reads for people have a page's worth in a row, then a fifth of the rate, or what nobody has booked.
func TestLowReadsHaveAShare(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute = 600 })) // one slot in 100 ms
	for range 10 {
		b.want(low(time.Minute), slots.Granted)
	}
	if a := b.want(low(time.Minute), slots.Retry); a.Wait < 300*time.Millisecond || a.Wait > 500*time.Millisecond {
		t.Errorf("the eleventh may come back after %s", a.Wait)
	}
	if a := b.want(edit("t", "u", "a", "w"), slots.Granted); a.Wait > 1100*time.Millisecond {
		t.Errorf("a write waits %s behind ten reads", a.Wait)
	}
	idle := slots.Request{API: "idle.v1", Tenant: "t", Low: true, Patience: time.Minute}
	for n, start := 0, time.Now(); n < 25; n++ { // nobody else wants anything: reads go at the whole rate
		a := b.reserve(idle)
		<-time.After(a.Wait)
		if a.Verdict != slots.Granted {
			n--
		}
		if time.Since(start) > 4*time.Second {
			t.Fatalf("%d reads of an idle API took %s", n, time.Since(start))
		}
	}
	other := low(time.Minute)
	other.API = "businessinformation.v1"
	b.want(other, slots.Granted)
}

// A read that would not wait for its slot books none.
func TestImpatientReadsBookNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute = 60 })) // one slot in a second
	for n := range 3 {
		b.want(edit("t"+strconv.Itoa(n), "u", strconv.Itoa(n), strconv.Itoa(n)), slots.Granted)
	}
	for range 5 {
		if a := b.want(low(time.Second), slots.Retry); a.Wait < time.Second || a.Wait > 2*time.Second {
			t.Errorf("come back after %s", a.Wait)
		}
	}
	if a := b.want(edit("t4", "u", "4", "4"), slots.Granted); a.Wait > 3100*time.Millisecond {
		t.Errorf("reads that were not made cost a write %s", a.Wait)
	}
}

// pauses reports a refusal by Google that paused next to nothing, as its own incident.
func (b bench) pauses(window time.Duration) {
	b.t.Helper()
	<-time.After(window / 100)
	if err := b.Pause(b.t.Context(), edit("t", "u", "a", "1"), false, time.Millisecond); err != nil {
		b.t.Fatal(err)
	}
	<-time.After(5 * time.Millisecond)
}

// spacing is how far apart the API's slots are at the moment.
func (b bench) spacing() time.Duration {
	b.t.Helper()
	one, err := b.Estimate(b.t.Context(), api, "x", 1, "", 0)
	if err != nil {
		b.t.Fatal(err)
	}
	many, err := b.Estimate(b.t.Context(), api, "x", 1001, "", 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return (many - one) / 1000
}

// One 429 is an accident; more within the window slow the API down, to a tenth at least, and the pace grows back.
func TestRepeatedRefusalsSlowDown(t *testing.T) {
	t.Parallel()
	const window, full = 2 * time.Second, 10 * time.Millisecond
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute, l.Window = int(time.Minute/full), window }))
	b.pauses(window)
	if got := b.spacing(); got != full {
		t.Errorf("after one refusal: %s", got)
	}
	b.pauses(window)
	slow := b.spacing()
	if slow < full*13/10 || slow > full*15/10 {
		t.Errorf("after two: %s", slow)
	}
	for range 3 { // refused together: one incident
		if err := b.Pause(t.Context(), edit("t", "u", "a", "1"), false, time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		b.pauses(window)
	}
	if got := b.spacing(); got < full*5 || got > full*10 {
		t.Errorf("after fourteen: %s", got)
	}
	first, second := b.want(edit("p", "u", "p1", "p1"), slots.Granted), b.want(edit("q", "u", "q1", "q1"), slots.Granted)
	if d := second.Wait - first.Wait; d < full*4 {
		t.Errorf("slots are %s apart", d)
	}
	deadline := time.After(30 * time.Second)
	for before := b.spacing(); before > full; {
		select {
		case <-time.After(window / 4):
		case <-deadline:
			t.Fatalf("the pace never came back: %s", before)
		}
		now := b.spacing()
		if now > before {
			t.Errorf("without a refusal it went from %s to %s", before, now)
		}
		before = now
	}
}

// Calls that were held up stand together with those that follow; the window counts them where they arrived.
func TestLateCallsCount(t *testing.T) {
	t.Parallel()
	const window = 3 * time.Second
	b := setup(t, limits(func(l *slots.Limits) {
		l.RequestsPerMinute, l.Window, l.UserItems = 600, window, 1000 // 30 calls per window, one in 100 ms
	}))
	const calls = 30
	var held []slots.Request
	for n := range 15 {
		r := edit("t"+strconv.Itoa(n), "u", strconv.Itoa(n), strconv.Itoa(n))
		b.want(r, slots.Granted)
		held = append(held, r)
	}
	<-time.After(2 * time.Second) // all processes stall
	for _, r := range held {
		r.Late = 2 * time.Second
		b.release(r)
	}
	start := time.Now()
	granted := 0
	for n := 0; ; n++ {
		r := edit("u"+strconv.Itoa(n), "u", "l"+strconv.Itoa(n), "m"+strconv.Itoa(n))
		r.Planned = true
		a := b.reserve(r)
		if a.Verdict != slots.Granted {
			break
		}
		if arrives := time.Since(start) + a.Wait; arrives < window-time.Second {
			granted++
		}
		if n > 100 {
			t.Fatal("no end")
		}
	}
	if granted > calls-15 {
		t.Errorf("%d calls more within a window of %d in which 15 arrived", granted, calls)
	}
	if granted < 10 {
		t.Errorf("only %d calls: more is held back than what arrived", granted)
	}
}

// A limit per day stops edits and leaves reads.
func TestPauseOfEdits(t *testing.T) {
	t.Parallel()
	b := setup(t, app.SlotLimits(config.Default()))
	if err := b.PauseEdits(t.Context(), edit("t", "u", "a", "1"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if a := b.want(edit("t", "u", "b", "2"), slots.Retry); a.Wait < 59*time.Minute {
		t.Errorf("an edit waits %s", a.Wait)
	}
	b.want(low(time.Minute), slots.Granted)
	b.want(slots.Request{API: api, Tenant: "t", Member: "r"}, slots.Granted)
	if d, err := b.Estimate(t.Context(), api, "t", 1, "", 0); err != nil || d < 59*time.Minute {
		t.Errorf("the estimate forgets it: %s, %v", d, err)
	}
}

// A Redis that forgets what was booked does not make a process exceed the rate.
func TestAProcessRemembersWhatItWasGranted(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute, l.UserItems = 300, 1000 })) // one slot in 200 ms
	last := time.Duration(0)
	for n := range 40 {
		if n%10 == 0 {
			b.rdb.FlushDB(t.Context())
		}
		if a := b.reserve(edit("t"+strconv.Itoa(n), "u", strconv.Itoa(n), strconv.Itoa(n))); a.Verdict == slots.Granted {
			last = max(last, a.Wait)
		}
	}
	if least := (40 - 11) * 200 * time.Millisecond; last < least {
		t.Errorf("40 calls within %s of three flushes, want %s at least", last, least)
	}
}
