package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// brittle panics for one store, with what River's tables could not take.
type brittle struct {
	worker.PostCreate
	at int64
}

func (b brittle) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (worker.Effect, error) {
	if int64(i.Location) == b.at {
		panic("poison \x00 \xff " + strings.Repeat("x", 100_000))
	}
	return b.PostCreate.Send(ctx, tenant, i)
}

// A panic fails its own item; siblings, queue and process go on, and the batch ends.
func TestPanicFailsAlone(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 6, NoServer: true, NoWorkers: true, Policy: stack.Roomy})
	w := s.Config.Worker
	items := worker.NewItemWorker(worker.Deps{
		Store: s.App.DB, Slots: s.App.Slots, Tokens: s.App.Tokens, Executors: []worker.Executor{brittle{worker.PostCreate{Google: s.App.Google}, s.IDs(3)[2]}},
		Windows:  worker.Windows{Send: 200 * time.Millisecond, Call: 2 * time.Second, Settle: 50 * time.Millisecond, GiveUp: w.GiveUp, Skew: w.ClockSkew},
		Attempts: 2, Backoff: time.Millisecond, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	o := s.App.PoolOptions()
	pool, err := worker.NewPool(s.App.DB.Pool(), items, s.App.DB, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := worker.Stop(context.Background(), pool, 10*time.Second); err != nil {
			t.Error(err)
		}
	}()
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(6), "一件だけ壊れる投稿です。"))
	v := s.Finish(string(accepted.BatchID))
	if v.Status != batch.Partial || v.SuccessCount != 5 || v.FailureCount != 1 || int64(v.Failures[0].LocationID) != s.IDs(3)[2] || v.Failures[0].Executed != "no" {
		t.Errorf("batch: %+v", v)
	}
	if n := s.CreatedTotal(); n != 5 {
		t.Errorf("%d posts", n)
	}
	// The other jobs were completed, and the next ones are worked.
	if v := s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(1), "壊れた後の投稿です。")).BatchID)); v.Status != batch.Done {
		t.Errorf("afterwards: %+v", v)
	}
}

// house fails for one tenant.
type house struct {
	worker.Housekeeper
	seen []authn.TenantID
}

func (h *house) Tenants(context.Context) ([]authn.TenantID, error) {
	return []authn.TenantID{"a", "broken", "c"}, nil
}

func (h *house) Seal(_ context.Context, t authn.TenantID) (int, error) {
	h.seen = append(h.seen, t)
	if t == "broken" {
		return 0, errors.New("\x00 password=SECRET")
	}
	return 1, nil
}

func (h *house) Sweep(ctx context.Context, t authn.TenantID) (int, error) { return h.Seal(ctx, t) }

// One tenant's trouble does not keep the others waiting, and is told safely.
func TestPeriodicJobsServeEveryTenant(t *testing.T) {
	t.Parallel()
	h := &house{}
	jobs := map[string]error{
		"seal":  (&worker.SealWorker{House: h}).Work(t.Context(), &river.Job[queue.SealArgs]{}),
		"sweep": (&worker.SweepWorker{House: h, Log: slog.New(slog.DiscardHandler)}).Work(t.Context(), &river.Job[queue.SweepArgs]{}),
	}
	for name, err := range jobs {
		if err == nil || !strings.Contains(err.Error(), "tenant broken") || strings.Contains(err.Error(), "SECRET") || strings.ContainsRune(err.Error(), 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := []authn.TenantID{"a", "broken", "c", "a", "broken", "c"}; !slices.Equal(h.seen, want) {
		t.Errorf("served %v", h.seen)
	}
}

// F157: every process that may lead knows every kind of job that is in use.
func TestF157EveryKindIsRegistered(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	o := s.App.PoolOptions()
	pool, err := worker.NewPool(s.App.DB.Pool(), s.App.Items(), s.App.DB, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []river.JobArgs{queue.ItemArgs{TenantID: "komorebi", ItemID: "x"}, queue.SealArgs{}, queue.SweepArgs{}, queue.SyncArgs{}} {
		if _, err := pool.Insert(t.Context(), args, &river.InsertOpts{Queue: queue.Maintenance, ScheduledAt: time.Now().Add(time.Hour)}); err != nil { // an unknown kind is refused here
			t.Errorf("%s: %v", args.Kind(), err)
		}
	}
}

// F153: the queue does not stand in for the item's row: a second job for one item is possible and harmless.
func TestF153SecondJobForOneItem(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true, Policy: stack.Roomy})
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "仕事が三つある投稿です。"))
	_, err := s.DB.Owner().Exec(t.Context(), `INSERT INTO river.river_job (kind, queue, args, max_attempts, state) SELECT kind, queue, args, max_attempts, state FROM river.river_job, generate_series(1, 2) WHERE kind = 'item'`)
	if err != nil {
		t.Fatal(err)
	}
	stop := s.Work()
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
	deadline := time.After(20 * time.Second)
	for left := 1; left > 0; {
		if err := s.DB.Owner().QueryRow(t.Context(), `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND state <> 'completed'`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("%d jobs never ended", left)
		}
	}
	stop()
	if n := s.CreatedTotal(); n != 1 {
		t.Errorf("%d posts", n)
	}
}
