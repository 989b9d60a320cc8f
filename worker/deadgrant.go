package worker

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Ended is how many items of a batch ended without being sent.
type Ended struct {
	Batch     batch.ID
	Operation string
	Items     int
}

// endWaiting ends what else waits for a connection whose grant is dead, in all batches and at once instead of each at its
// turn. It has its own transactions, after the commit of what found the grant dead; when it fails, the sweeper does it.
func (r *run) endWaiting(ctx context.Context, connection string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	ended, err := r.Store.EndWaiting(ctx, r.tenant, connection)
	if err != nil {
		r.Log.WarnContext(ctx, "items of a dead connection not ended yet", "tenant", r.tenant, "connection", connection, "error", err)
	}
	for _, e := range ended {
		for range e.Items {
			r.Observe(e.Operation, batch.ItemFailed, string(errs.GoogleReconnectRequired))
		}
	}
}
