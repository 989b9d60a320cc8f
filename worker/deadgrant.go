package worker

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
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
	if err := r.EndWaiting(ctx, r.tenant, connection); err != nil {
		r.Log.WarnContext(ctx, "items of a dead connection not ended yet", "tenant", r.tenant, "connection", connection, "error", err)
	}
}

// EndWaiting ends what waits for a connection of the tenant's, if that is dead, announces their batches, and counts them.
func (w *ItemWorker) EndWaiting(ctx context.Context, tenant authn.TenantID, connection string) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	ended, err := w.Store.EndWaiting(ctx, tenant, connection)
	for _, e := range ended {
		for range e.Items {
			w.Observe(e.Operation, batch.ItemFailed, string(errs.GoogleReconnectRequired))
		}
	}
	return err
}
