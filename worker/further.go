package worker

import (
	"context"
	"errors"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// shortestWait is the pause before a place is asked for again that just went to somebody else.
const shortestWait = 50 * time.Millisecond

// errNoRoom is why an exchange with Google beyond those that an item's turn has booked is not made: its call counts as not sent.
var errNoRoom = errors.New("no room in Google's quota at the moment")

// booked gives a context for calls of this run, n exchanges of which have their place in the quota already.
func (r *run) booked(ctx context.Context, n int) context.Context {
	return gbpapi.Booked(ctx, n, r.further)
}

// further books one more exchange for an item whose turn it is: the repeat after a 401, the second page of what is read back,
// the second reading of a target. It waits no longer than a slot may lie ahead.
func (r *run) further(ctx context.Context) error {
	read := r.slot
	read.Edit, read.Calls, read.Planned = false, 1, true
	for left := slots.Horizon; ; {
		a, err := r.Slots.Reserve(ctx, read)
		switch {
		case err != nil:
			return err
		case a.Verdict != slots.Granted && a.Wait >= left:
			return errNoRoom
		}
		wait := a.Wait
		if a.Verdict != slots.Granted {
			wait = max(wait, shortestWait)
		}
		if err := r.sleep(ctx, wait); err != nil || a.Verdict == slots.Granted {
			return err
		}
		left -= wait
	}
}
