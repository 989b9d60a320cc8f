package property

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/migrations"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// lane is one running product that many sequences share, each on stores of its own.
type lane struct {
	*stack.Stack
	name      string
	principal *authn.Principal
	jobs      *river.Client[pgx.Tx] // only inserts
	// door lets writes in to admission.
	door chan struct{}
	// quotas is true where Google allows ten edits a minute of one profile.
	quotas bool

	mu     sync.Mutex
	free   []gbp.Location // used least lately first
	freed  *sync.Cond
	owners map[gbp.LocationName]*sequence
	known  int // batches that sequences found

	pool     *river.Client[pgx.Tx]
	restarts atomic.Int64
	turn     sync.Mutex // of who restarts the workers
}

func openLane(t *testing.T, name string, stores int, quotas bool) *lane {
	t.Helper()
	s := stack.New(t, stack.Options{
		Stores: stores, NoServer: true, NoWorkers: true, Policy: stack.Roomy,
		Sim: func(o *gbpsim.Options) {
			o.Knobs = gbpsim.Knobs{NoQuotas: !quotas, QuotaPerMinute: 1_000_000}
		},
		Config: func(c *config.Config) {
			w := &c.Worker
			w.SendWindow, w.CallTimeout, w.Settle, w.GiveUp, w.ClockSkew, w.Follow = sendWindow, callTimeout, settle, giveUp, time.Second, 100*time.Millisecond
			w.Interactive, w.Bulk = 24, 32
			c.Google.UserItems, c.DatabaseConnections = 1000, 30
			if quotas {
				c.Google.EditsPerMinute = 10
			}
		},
	})
	l := &lane{Stack: s, name: name, quotas: quotas, door: make(chan struct{}, 6), free: append([]gbp.Location(nil), s.Locations...), owners: map[gbp.LocationName]*sequence{}}
	l.freed = sync.NewCond(&l.mu)
	var err error
	if l.principal, err = s.App.DB.Authenticate(t.Context(), s.Token); err != nil {
		t.Fatal(err)
	}
	if l.jobs, err = river.NewClient(riverpgxv5.New(s.App.DB.Pool()), &river.Config{Schema: migrations.RiverSchema}); err != nil {
		t.Fatal(err)
	}
	// A Redis that has just come up is given half of each profile's edits for a minute; this one has been up for longer.
	if err := s.App.Redis.Set(t.Context(), "slot:{g:"+s.Config.Google.Project+"}:since", time.Now().Add(-time.Hour).UnixMilli(), 0).Err(); err != nil {
		t.Fatal(err)
	}
	l.tidy(t)
	if err := l.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.stop(10 * time.Second); err != nil {
			t.Errorf("lane %s: stop: %v", name, err)
		}
	})
	return l
}

// tidy does what autovacuum does elsewhere, which the servers of tests leave out: thousands of histories leave rows behind.
func (l *lane) tidy(t *testing.T) {
	owner := l.DB.Owner() // opened here, so that it is closed after the check
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_, err := owner.Exec(ctx, `VACUUM (ANALYZE) river.river_job, mappy.batch, mappy.item, mappy.attempt, mappy.resource, mappy.idempotency`)
			if err != nil && ctx.Err() == nil {
				t.Errorf("lane %s: vacuum: %v", l.name, err)
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// start runs the product's own workers, with its store wrapped so that runners can be held up and lost.
func (l *lane) start() error {
	d := l.App.Items().Deps
	d.Store, d.Windows.Call = clumsy{d.Store, l}, callWindow
	pool, err := worker.NewPool(l.App.DB.Pool(), worker.NewItemWorker(d), l.App.DB, l.App.PoolOptions())
	if err != nil {
		return err
	}
	l.pool = pool
	return pool.Start(context.Background())
}

func (l *lane) stop(grace time.Duration) error {
	return worker.Stop(context.Background(), l.pool, grace)
}

// restart stops the workers in the middle of whatever they do and starts new ones.
func (l *lane) restart(hard bool) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	grace := 5 * time.Second
	if hard {
		grace = 10 * time.Millisecond
	}
	l.restarts.Add(1)
	return errors.Join(l.stop(grace), l.start())
}

// take gives a sequence stores of its own, those that were unused longest.
func (l *lane) take(s *sequence, n int) []gbp.Location {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.free) < n {
		l.freed.Wait()
	}
	taken := l.free[:n:n]
	l.free = l.free[n:]
	for _, x := range taken {
		l.owners[x.Name] = s
	}
	return taken
}

func (l *lane) giveBack(s *sequence, batches int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range s.stores {
		delete(l.owners, x.Name)
	}
	if l.known += batches; !s.spent {
		l.free = append(l.free, s.stores...)
	}
	l.freed.Broadcast()
}

// seen is the last entry of the journal at these stores.
func (l *lane) seen(stores []gbp.Location) (last int64) {
	for _, x := range stores {
		if e := l.Sim.Entries(gbpsim.EntryFilter{Location: gbpsim.LocationName(x.Name)}); len(e) > 0 {
			last = max(last, e[len(e)-1].Seq)
		}
	}
	return last
}

func (l *lane) owner(name gbp.LocationName) *sequence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owners[name]
}

// deliver gives an item's job to the queue a second time.
func (l *lane) deliver(ctx context.Context, tenant authn.TenantID, item batch.ItemID) error {
	_, err := l.jobs.Insert(context.WithoutCancel(ctx), queue.ItemArgs{TenantID: string(tenant), ItemID: string(item)}, &river.InsertOpts{Queue: queue.Interactive})
	return err
}

// clumsy is the real store between runners to whom things happen.
type clumsy struct {
	worker.Store
	lane *lane
}

var errDied = errors.New("the runner died")

// Begin implements worker.Store.
func (c clumsy) Begin(ctx context.Context, tenant authn.TenantID, id batch.ItemID, w worker.Windows, t worker.Turn, complete func(pgx.Tx) error) (worker.Begun, error) {
	b, err := c.Store.Begin(ctx, tenant, id, w, t, complete)
	if err != nil || b.Decision.Step != batch.StepSend {
		return b, err
	}
	m, err := c.befall(ctx, tenant, b.Item, begun)
	if err == nil && m.Die {
		err = errDied
	}
	return b, err
}

// Finish implements worker.Store.
func (c clumsy) Finish(ctx context.Context, tenant authn.TenantID, b worker.Begun, o worker.Outcome, complete func(pgx.Tx) error) error {
	m, err := c.befall(ctx, tenant, b.Item, finishes)
	switch {
	case err != nil:
		return err
	case m.Die:
		return errDied
	}
	if m.Stall > callTimeout { // recording has its own time limit, which a paused process does not notice
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
	}
	if err := c.Store.Finish(ctx, tenant, b, o, complete); err != nil {
		return err
	}
	if m.Lost {
		return fmt.Errorf("the commit's answer is lost: %w", errDied)
	}
	return nil
}

func (c clumsy) befall(ctx context.Context, tenant authn.TenantID, i batch.Item, at point) (mishap, error) {
	s := c.lane.owner(i.LocationName)
	if s == nil {
		return mishap{}, nil
	}
	m := s.next(i.LocationName, at)
	if m.Twice {
		if err := c.lane.deliver(ctx, tenant, i.ID); err != nil {
			return m, err
		}
	}
	if m.Stall > 0 {
		t := time.NewTimer(m.Stall)
		defer t.Stop()
		<-t.C // a stalled process does not hear that it is being stopped
	}
	return m, nil
}
