package bench

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

// bareArgs is a job that completes itself in a transaction with one more row: the least that River can do for us.
type bareArgs struct {
	N int `json:"n"`
}

// Kind implements river.JobArgs.
func (bareArgs) Kind() string { return "bare" }

type bareWorker struct {
	river.WorkerDefaults[bareArgs]
	x *bed
}

// Work implements river.Worker.
func (w *bareWorker) Work(ctx context.Context, job *river.Job[bareArgs]) error {
	return pgx.BeginFunc(ctx, w.x.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO public.bench (body) VALUES ('x')`); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

const backlogItems = 1000

// BenchmarkItems is our items per second, with a simulator that answers at once and no quotas, over River's jobs per second.
func BenchmarkItems(b *testing.B) {
	x := newBed(b, stack.Options{Stores: 100, NoServer: true, Config: func(c *config.Config) {
		c.Google.RequestsPerMinute, c.Google.EditsPerMinute, c.Google.UserItems = 60_000_000, 1_000_000, 10_000
		c.Worker.SealEvery, c.Worker.SweepEvery = time.Hour, time.Hour
	}})
	var ratios []float64
	var rate float64
	for round := range 3 {
		bare := x.bareRate(b)
		rate = x.itemRate(b, round)
		ratios = append(ratios, rate/bare)
	}
	b.ReportMetric(median(ratios), "items-ratio")
	b.ReportMetric(rate, "items/s")
	b.ReportMetric(float64(len(x.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate})))/float64(3*backlogItems), "google-calls/item")
	b.ReportMetric(0, "ns/op")
}

func (x *bed) bareRate(b *testing.B) float64 {
	b.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, &bareWorker{x: x})
	c, err := river.NewClient(riverpgxv5.New(x.owner), &river.Config{
		Schema: migrations.RiverSchema, Queues: map[string]river.QueueConfig{"bare": {MaxWorkers: 30}}, Workers: workers,
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 200 * time.Millisecond, ReindexerSchedule: river.NeverSchedule(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	params := make([]river.InsertManyParams, backlogItems)
	for i := range params {
		params[i] = river.InsertManyParams{Args: bareArgs{i}, InsertOpts: &river.InsertOpts{Queue: "bare"}}
	}
	if _, err := c.InsertMany(b.Context(), params); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if err := c.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	x.drain(b, `SELECT count(*) FROM river.river_job WHERE kind = 'bare' AND state <> 'completed'`)
	took := time.Since(start)
	if err := c.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	return backlogItems / took.Seconds()
}

func (x *bed) itemRate(b *testing.B, round int) float64 {
	b.Helper()
	for i := range backlogItems / 100 {
		x.Accept("post.create", stack.Post(x.IDs(100), fmt.Sprintf("おすすめ %d-%d", round, i)))
	}
	start := time.Now()
	stop := x.Work()
	x.drain(b, `SELECT count(*) FROM mappy.item WHERE state IN ('queued', 'processing')`)
	took := time.Since(start)
	stop()
	return backlogItems / took.Seconds()
}

func (x *bed) drain(b *testing.B, count string) {
	b.Helper()
	for left := 1; left > 0; time.Sleep(20 * time.Millisecond) {
		if err := x.owner.QueryRow(b.Context(), count).Scan(&left); err != nil {
			b.Fatal(err)
		}
	}
}

// quotaScale makes Google's minute a few seconds long.
const quotaScale = 10

// BenchmarkQuota is the share of Google's quota that a backlog of 300 items uses, with the quota ten times as fast, and how
// many avoidable 429 answers it gets.
func BenchmarkQuota(b *testing.B) {
	x := newBed(b, stack.Options{
		Stores: 100, NoServer: true,
		Sim:    func(o *gbpsim.Options) { o.Knobs.TimeScale = quotaScale },
		Config: func(c *config.Config) { c.Google.RequestsPerMinute, c.Google.EditsPerMinute = 297*quotaScale, 1000 },
	})
	for i := range 3 {
		x.Accept("post.create", stack.Post(x.IDs(100), fmt.Sprintf("おすすめ %d", i)))
	}
	stop := x.Work()
	x.drain(b, `SELECT count(*) FROM mappy.item WHERE state IN ('queued', 'processing')`)
	stop()
	sent := x.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate})
	refused := 0
	for _, e := range sent {
		if e.Status == 429 {
			refused++
		}
	}
	took := sent[len(sent)-1].Time.Sub(sent[0].Time)
	possible := took.Seconds() / 60 * 300 * quotaScale
	b.ReportMetric(float64(len(sent)-1)/possible, "quota-share")
	b.ReportMetric(float64(refused), "429s")
	b.ReportMetric(float64(len(sent))/300, "google-calls/item")
	b.ReportMetric(0, "ns/op")
}
