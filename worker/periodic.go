package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// Housekeeper is what the periodic jobs need of PostgreSQL. All catch up with whatever has gathered since the last run: a
// missed run loses nothing.
type Housekeeper interface {
	Tenants(ctx context.Context) ([]authn.TenantID, error)
	// Seal chains the tenant's audit events up to the point below which none can appear any more.
	Seal(ctx context.Context, tenant authn.TenantID) (sealed int, err error)
	// PrepareAudit makes the audit's partitions of the coming months.
	PrepareAudit(ctx context.Context) error
	// Sweep gives items whose job was lost a new one, and removes expired idempotency rows.
	Sweep(ctx context.Context, tenant authn.TenantID) (requeued int, err error)
	// Dead are the tenant's connections whose grant is dead.
	Dead(ctx context.Context, tenant authn.TenantID) (connections []string, err error)
}

// SealWorker seals the audit chains of all tenants.
type SealWorker struct {
	river.WorkerDefaults[queue.SealArgs]
	House Housekeeper
}

// Work implements river.Worker.
func (w *SealWorker) Work(ctx context.Context, _ *river.Job[queue.SealArgs]) error {
	return eachTenant(ctx, w.House, func(t authn.TenantID) error {
		_, err := w.House.Seal(ctx, t)
		return err
	})
}

// SweepWorker looks after lost jobs, expired rows and what waits for dead connections of all tenants: their grants may have been
// found dead outside a worker, or by one that died. It also keeps the audit's partitions ahead of time.
type SweepWorker struct {
	river.WorkerDefaults[queue.SweepArgs]
	House Housekeeper
	Items *ItemWorker
	Log   *slog.Logger
}

// Work implements river.Worker.
func (w *SweepWorker) Work(ctx context.Context, _ *river.Job[queue.SweepArgs]) error {
	prepared := redact.Error(w.House.PrepareAudit(ctx))
	return errors.Join(prepared, eachTenant(ctx, w.House, func(t authn.TenantID) error {
		n, err := w.House.Sweep(ctx, t)
		if n > 0 {
			w.Log.WarnContext(ctx, "items without a job got a new one", "tenant", t, "items", n)
		}
		dead, failed := w.House.Dead(ctx, t)
		err = errors.Join(err, failed)
		for _, c := range dead {
			err = errors.Join(err, w.Items.EndWaiting(ctx, t, c))
		}
		return err
	}))
}

func eachTenant(ctx context.Context, h Housekeeper, fn func(authn.TenantID) error) error {
	return eachOf(ctx, h.Tenants, fn)
}

// eachOf runs fn for every tenant; one tenant's failure does not keep the others waiting. It begins anywhere and goes round, so that
// the time which one run has for all is not always over before the same tenants' turn.
func eachOf(ctx context.Context, list func(context.Context) ([]authn.TenantID, error), fn func(authn.TenantID) error) error {
	tenants, err := list(ctx)
	if err != nil {
		return redact.Error(err)
	}
	var failed []error
	if len(tenants) > 1 {
		first := rand.IntN(len(tenants)) //nolint:gosec // a turn needs no secrecy
		tenants = slices.Concat(tenants[first:], tenants[:first])
	}
	for _, t := range tenants {
		if err := fn(t); err != nil {
			failed = append(failed, fmt.Errorf("tenant %s: %w", t, err))
		}
	}
	if len(failed) > 0 {
		return redact.Error(errors.Join(failed...))
	}
	return nil
}

// periodicJobs are the jobs that the leading worker enqueues by itself.
func periodicJobs(sealEvery, sweepEvery, followEvery time.Duration) []*river.PeriodicJob {
	start := &river.PeriodicJobOpts{RunOnStart: true}
	opts := &river.InsertOpts{Queue: queue.Maintenance, MaxAttempts: 1}
	return []*river.PeriodicJob{
		river.NewPeriodicJob(river.PeriodicInterval(sealEvery), func() (river.JobArgs, *river.InsertOpts) { return queue.SealArgs{}, opts }, start),
		river.NewPeriodicJob(river.PeriodicInterval(followEvery), func() (river.JobArgs, *river.InsertOpts) { return queue.FollowArgs{}, opts }, start),
		river.NewPeriodicJob(river.PeriodicInterval(sweepEvery), func() (river.JobArgs, *river.InsertOpts) { return queue.SweepArgs{}, opts }, start),
	}
}
