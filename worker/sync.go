package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
)

// Syncer reads a tenant's locations from Google where they are due.
type Syncer interface {
	SyncDue(ctx context.Context, tenant authn.TenantID) (synced int, err error)
}

// SyncWorker keeps the mirrors of all tenants' locations young. Runs may overlap: a connection is synced by one of them.
type SyncWorker struct {
	river.WorkerDefaults[queue.SyncArgs]
	Tenants func(ctx context.Context) ([]authn.TenantID, error)
	Syncer  Syncer
}

// syncTimeout bounds one run over all tenants; what it does not reach is due in the next.
const syncTimeout = 15 * time.Minute

// Timeout implements river.Worker.
func (*SyncWorker) Timeout(*river.Job[queue.SyncArgs]) time.Duration { return syncTimeout }

// Work implements river.Worker.
func (w *SyncWorker) Work(ctx context.Context, _ *river.Job[queue.SyncArgs]) error {
	return eachOf(ctx, w.Tenants, func(t authn.TenantID) error {
		_, err := w.Syncer.SyncDue(ctx, t)
		return err
	})
}

// Bounds of how often is looked which connections are due.
const (
	syncLookMin = time.Second
	syncLookMax = 5 * time.Minute
)

// periodicSync looks ten times as often as a mirror is renewed. It does not look at the start: a deployment that restarts
// often would read Google as often.
func periodicSync(every time.Duration) *river.PeriodicJob {
	look := min(max(every/10, syncLookMin), syncLookMax)
	opts := &river.InsertOpts{Queue: queue.Sync, MaxAttempts: 1}
	return river.NewPeriodicJob(river.PeriodicInterval(look), func() (river.JobArgs, *river.InsertOpts) { return queue.SyncArgs{}, opts }, nil)
}
