package hint_test

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/hint"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

func open(t *testing.T, url string) *hint.Hints {
	t.Helper()
	rdb, err := redisdb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	h := hint.New(rdb, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		_ = h.Close() // some tests close it themselves
		_ = rdb.Close()
	})
	return h
}

func received(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing came", what)
	}
}

// watch waits until the subscription stands: its beginning wakes everybody who waits.
func watch(t *testing.T, h *hint.Hints, tenant authn.TenantID, id batch.ID) (changed <-chan struct{}, stop func()) {
	t.Helper()
	first, stopFirst := h.Watch("any", "any")
	defer stopFirst()
	changed, stop = h.Watch(tenant, id)
	received(t, first, "the subscription")
	received(t, changed, "the subscription")
	return changed, stop
}

// A hint of one process reaches every waiter of another process, for the batch and tenant that it names only.
func TestHintReachesItsWaiters(t *testing.T) {
	t.Parallel()
	url := redistest.Own(t).URL()
	from, to := open(t, url), open(t, url)
	first, stop := watch(t, to, "komorebi", "B1")
	second, stopSecond := to.Watch("komorebi", "B1")
	defer stopSecond()
	foreign, stopForeign := to.Watch("other", "B1")
	defer stopForeign()
	sibling, stopSibling := to.Watch("komorebi", "B2")
	defer stopSibling()
	for range 3 {
		from.Announce(t.Context(), "komorebi", "B1")
	}
	received(t, first, "the first waiter")
	received(t, second, "the second waiter")
	stop()
	from.Announce(t.Context(), "komorebi", "B2") // one connection keeps the order: what came for B1 is through
	received(t, sibling, "the sibling")
	select {
	case <-foreign:
		t.Error("a hint crossed tenants")
	default:
	}
}

// A Redis that is away costs no error; when it is back the subscription is as well, and says so.
func TestSubscriptionComesBack(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	h := open(t, own.URL())
	changed, stop := watch(t, h, "komorebi", "B1")
	defer stop()
	own.Stop()
	h.Announce(t.Context(), "komorebi", "B1")
	own.Start()
	received(t, changed, "the new subscription")
	h.Announce(t.Context(), "komorebi", "B1")
	received(t, changed, "a hint after it")
}

// Redis may be away when the first waiter comes.
func TestWatchingBeforeRedisIsThere(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	h := open(t, own.URL())
	own.Stop()
	changed, stop := h.Watch("komorebi", "B1")
	defer stop()
	own.Start()
	received(t, changed, "the subscription")
}

func TestCloseWhileWatching(t *testing.T) {
	t.Parallel()
	h := open(t, redistest.New(t).URL())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, stop := h.Watch("komorebi", "B1")
			h.Announce(t.Context(), "komorebi", "B1")
			stop()
			stop() // twice does no harm
		})
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	changed, stop := h.Watch("komorebi", "B1")
	defer stop()
	h.Announce(t.Context(), "komorebi", "B1")
	select {
	case <-changed:
		t.Error("a closed subscription gave a hint")
	default:
	}
}
