package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

// PoolOptions size a process's share of the work.
type PoolOptions struct {
	// Interactive and Bulk are how many single effects and how many items of larger batches this process works at a time.
	Interactive, Bulk int
	// RescueAfter is when a job that runs without an end is taken from its worker; at least the job's timeout.
	RescueAfter time.Duration
	SealEvery   time.Duration
	SweepEvery  time.Duration
	// Sync reads locations from Google, and SyncEvery is how old they may become. Without Sync this process reads none.
	Sync      *SyncWorker
	SyncEvery time.Duration
	// PollOnly works behind a connection pooler in transaction mode, which carries no notifications.
	PollOnly bool
	Log      *slog.Logger
}

// fetchCooldown and fetchPoll set how soon a job starts. With them ten workers start up to about 900 jobs a second; with
// River's own defaults each takes ten. Google takes five in all.
const (
	fetchCooldown = 10 * time.Millisecond
	fetchPoll     = 200 * time.Millisecond
)

// NewPool makes a River client that works everything. Every process registers every kind: the leader discards kinds that
// it does not know.
func NewPool(db *pgxpool.Pool, items *ItemWorker, house Housekeeper, o PoolOptions) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, items)
	river.AddWorker(workers, &SealWorker{House: house})
	river.AddWorker(workers, &FollowWorker{House: house, Items: items})
	river.AddWorker(workers, &SweepWorker{House: house, Items: items, Log: o.Log})
	queues := map[string]river.QueueConfig{
		queue.Interactive: {MaxWorkers: o.Interactive},
		queue.Bulk:        {MaxWorkers: o.Bulk},
		queue.Maintenance: {MaxWorkers: 2},
	}
	periodic := periodicJobs(o.SealEvery, o.SweepEvery, followEvery(items.Windows))
	if o.Sync != nil {
		river.AddWorker(workers, o.Sync)
		queues[queue.Sync] = river.QueueConfig{MaxWorkers: 1}
		periodic = append(periodic, periodicSync(o.SyncEvery))
	}
	c, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		Schema:               migrations.RiverSchema,
		Queues:               queues,
		Workers:              workers,
		PeriodicJobs:         periodic,
		FetchCooldown:        fetchCooldown,
		FetchPollInterval:    fetchPoll,
		JobTimeout:           items.timeout,
		RescueStuckJobsAfter: max(o.RescueAfter, items.timeout),
		ReindexerSchedule:    river.NeverSchedule(),
		PollOnly:             o.PollOnly,
		Logger:               quiet(o.Log),
	})
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return c, nil
}

// Stop ends a pool: nothing new starts, running calls finish and are recorded within grace; what is still waiting then
// goes back to the queue without losing an attempt.
func Stop(ctx context.Context, c *river.Client[pgx.Tx], grace time.Duration) error {
	soft, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := c.Stop(soft); err == nil {
		return nil
	}
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return c.StopAndCancel(hard)
}

// followEvery is how often due follow-ups are looked for: a fraction of the first pause, and not more than twice a second.
func followEvery(w Windows) time.Duration { return max(w.Follow/4, 500*time.Millisecond) }
