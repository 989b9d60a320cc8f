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
	"github.com/mappy-dev/mappy-mcp/internal/slots"
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

// ending is a call that is under way when the process is stopped hard, and answers then.
type ending struct {
	worker.PostCreate
	sent chan struct{}
}

func (e ending) Send(ctx context.Context, _ authn.TenantID, _ batch.Item) (worker.Effect, error) {
	close(e.sent)
	<-ctx.Done()
	return worker.Effect{Name: "accounts/1/locations/1/localPosts/made", Publication: batch.Live}, nil
}

// What was made is recorded although the job's context has ended, at a hard stop as at the job's timeout.
func TestHardStopRecordsWhatWasMade(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true, Policy: stack.Roomy})
	x := ending{sent: make(chan struct{})}
	items := worker.NewItemWorker(worker.Deps{
		Store: s.App.DB, Slots: s.App.Slots, Tokens: s.App.Tokens, Executors: []worker.Executor{x}, Windows: windows, Attempts: 2, Backoff: time.Millisecond,
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if got := items.Timeout(nil); got < 2*windows.Call+windows.Send+slots.Horizon {
		t.Errorf("a look and a write do not fit into %s", got)
	}
	pool, err := worker.NewPool(s.App.DB.Pool(), items, s.App.DB, s.App.PoolOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "停止の間際に作られます。"))
	<-x.sent
	if err := worker.Stop(t.Context(), pool, 0); err != nil {
		t.Fatal(err)
	}
	var state, job string
	err = s.DB.Owner().QueryRow(t.Context(), `SELECT i.state, j.state::text FROM mappy.item i JOIN river.river_job j ON j.id = i.river_job_id WHERE i.batch_id = $1`, string(accepted.BatchID)).Scan(&state, &job)
	if err != nil || state != string(batch.ItemSucceeded) || job != "completed" {
		t.Errorf("item %s, job %s, %v", state, job, err)
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

func (h *house) PrepareAudit(context.Context) error { return errors.New("no partition") }

func (h *house) Dead(_ context.Context, t authn.TenantID) ([]string, error) {
	return []string{"dead at " + string(t)}, nil
}

// One tenant's trouble does not keep the others waiting, and is told safely.
func TestPeriodicJobsServeEveryTenant(t *testing.T) {
	t.Parallel()
	h, r := &house{}, newRig()
	jobs := map[string]error{
		"seal":  (&worker.SealWorker{House: h}).Work(t.Context(), &river.Job[queue.SealArgs]{}),
		"sweep": (&worker.SweepWorker{House: h, Items: r.worker(), Log: slog.New(slog.DiscardHandler)}).Work(t.Context(), &river.Job[queue.SweepArgs]{}),
	}
	for name, err := range jobs {
		if err == nil || !strings.Contains(err.Error(), "tenant broken") || strings.Contains(err.Error(), "SECRET") || strings.ContainsRune(err.Error(), 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
	slices.Sort(h.seen)
	if want := []authn.TenantID{"a", "a", "broken", "broken", "c", "c"}; !slices.Equal(h.seen, want) {
		t.Errorf("served %v", h.seen)
	}
	slices.Sort(r.trace)
	r.did(t, "end dead at a, end dead at broken, end dead at c")
	if err := jobs["sweep"]; !strings.Contains(err.Error(), "no partition") {
		t.Errorf("%v", err)
	}
}

// Whoever the time of a run is over before, it is not the same tenants each time.
func TestPeriodicJobsBeginAnywhere(t *testing.T) {
	t.Parallel()
	first := map[authn.TenantID]bool{}
	for range 200 {
		h := &house{}
		_ = (&worker.SealWorker{House: h}).Work(t.Context(), &river.Job[queue.SealArgs]{}) // one tenant is broken
		first[h.seen[0]] = true
		if next := map[authn.TenantID]authn.TenantID{"a": "broken", "broken": "c", "c": "a"}; len(h.seen) != 3 || h.seen[1] != next[h.seen[0]] || h.seen[2] != next[h.seen[1]] {
			t.Fatalf("served %v", h.seen)
		}
	}
	if len(first) != 3 {
		t.Errorf("begins with %v only", first)
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
