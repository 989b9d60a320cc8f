package worker

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// booked gives a context for calls of this run, n exchanges of which have their place in the quota already.
func (r *run) booked(ctx context.Context, n int) context.Context {
	return gbpapi.Booked(ctx, n, r.further)
}

// further books one more exchange for an item whose turn it is: the repeat after a 401, the second page of what is read back,
// the second reading of a target. It waits no longer than a slot may lie ahead.
func (r *run) further(ctx context.Context) error {
	read := r.slot
	read.Edit, read.Calls, read.Planned = false, 1, true
	_, err := slots.Await(ctx, r.Slots, read, slots.Horizon)
	if err == nil {
		r.unbooked++
	}
	return err
}
