package slots_test

import (
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// An edit that reads before it writes books both calls at once: booked one by one, what waits for the second would let the
// first lapse, and a batch of them would book the quota without ever writing.
func TestReadAndWriteAreBookedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute = 120 }))
	pair := func(member string) slots.Request {
		r := edit("a", "u", member, member)
		r.Calls, r.Planned = 2, true
		return r
	}
	first, second := b.reserve(pair("1")), b.reserve(pair("2"))
	if first.Verdict != slots.Granted || first.Wait > 100*time.Millisecond {
		t.Errorf("%+v", first)
	}
	if second.Verdict != slots.Granted || second.Wait < 700*time.Millisecond || second.Wait > 1100*time.Millisecond {
		t.Errorf("%+v", second)
	}
	single := edit("b", "v", "3", "3")
	single.Planned = true
	if a := b.reserve(single); a.Verdict != slots.Requeue || a.Wait < 200*time.Millisecond { // both calls of both stand before it
		t.Errorf("%+v", a)
	}
}
