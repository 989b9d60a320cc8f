// Package hint wakes those who wait for a batch when something about it was committed, over Redis pub/sub.
//
// A hint carries no state: who is woken reads PostgreSQL. Nothing relies on one, so whoever waits polls as well: a hint
// that is lost, comes twice or comes for nothing costs one look. While Redis is away there are none.
//
// A process has one subscription for all its waiters, made when the first one comes. Channels are named
// "hint:{tenant}:batches", so that a cluster keeps them with the tenant's other keys; a plain PUBLISH reaches every node
// of a cluster and every database number, and ids of batches are unique everywhere.
package hint

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
)

const (
	prefix  = "hint:{"
	suffix  = "}:batches"
	pattern = prefix + "*" + suffix
)

// Hints sends and receives hints. It is safe for use from many goroutines; a process has one.
type Hints struct {
	rdb *redis.Client
	log *slog.Logger

	mu      sync.Mutex
	sub     *redis.PubSub
	ended   chan struct{}
	closed  bool
	waiting map[topic]map[chan struct{}]bool
}

// topic is what a waiter waits for: another tenant's batch of the same id is another one.
type topic struct {
	tenant authn.TenantID
	batch  batch.ID
}

// New works on a connection of redisdb.Open. It does not connect.
func New(rdb *redis.Client, log *slog.Logger) *Hints {
	return &Hints{rdb: rdb, log: log, waiting: map[topic]map[chan struct{}]bool{}}
}

// Announce tells all processes that the batch has changed. Call it after the commit. A hint that cannot be sent is dropped:
// it takes as long as one exchange with Redis may, and no error comes back.
func (h *Hints) Announce(ctx context.Context, tenant authn.TenantID, id batch.ID) {
	ctx, cancel := redisdb.Bound(context.WithoutCancel(ctx))
	defer cancel()
	if err := h.rdb.Publish(ctx, prefix+string(tenant)+suffix, string(id)).Err(); err != nil {
		h.log.DebugContext(ctx, "hint not sent", "tenant", tenant, "batch", id, "error", err)
	}
}

// Watch gives a channel that receives after the batch may have changed, and what ends the watching. Hints that nobody
// has received yet are one. It also receives when the subscription begins or begins again, since hints before that went by.
func (h *Hints) Watch(tenant authn.TenantID, id batch.ID) (changed <-chan struct{}, stop func()) {
	k, c := topic{tenant, id}, make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return c, func() {}
	}
	if h.sub == nil {
		h.subscribe()
	}
	if h.waiting[k] == nil {
		h.waiting[k] = map[chan struct{}]bool{}
	}
	h.waiting[k][c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting[k], c)
		if len(h.waiting[k]) == 0 {
			delete(h.waiting, k)
		}
	}
}

// Close ends the subscription and waits for its goroutine. Waiters are left to their poll.
func (h *Hints) Close() error {
	h.mu.Lock()
	sub, ended := h.sub, h.ended
	h.closed, h.sub = true, nil
	h.mu.Unlock()
	if sub == nil {
		return nil
	}
	err := sub.Close()
	<-ended
	return err
}

// subscribe starts receiving in the background: nobody waits for Redis here. The library pings the connection, and
// connects and subscribes again by itself for as long as it takes.
func (h *Hints) subscribe() {
	sub, ended := h.rdb.PSubscribe(context.Background()), make(chan struct{})
	h.sub, h.ended = sub, ended
	go func() {
		defer close(ended)
		// What fails here is remembered by the library, which subscribes when it has connected.
		if err := sub.PSubscribe(context.Background(), pattern); err != nil {
			h.log.Debug("hints not subscribed yet", "error", err)
		}
		for m := range sub.ChannelWithSubscriptions() {
			switch m := m.(type) {
			case *redis.Subscription:
				h.wakeAll()
			case *redis.Message:
				name, ok := strings.CutPrefix(m.Channel, prefix)
				tenant, ok2 := strings.CutSuffix(name, suffix)
				if ok && ok2 {
					h.wake(topic{authn.TenantID(tenant), batch.ID(m.Payload)})
				}
			}
		}
	}()
}

func (h *Hints) wake(k topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wake(h.waiting[k])
}

func (h *Hints) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, waiters := range h.waiting {
		wake(waiters)
	}
}

func wake(waiters map[chan struct{}]bool) {
	for c := range waiters {
		select {
		case c <- struct{}{}:
		default: // it has one that it has not looked at
		}
	}
}
