package locsync

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// Periodic syncs the connections whose mirror is older than Every. It is safe to run in many processes at the same time.
type Periodic struct {
	Google Google
	Store  Store
	Leases Leases
	// Every is the age at which a mirror is read again, give or take a tenth of it, so that connections made together do not
	// stay together.
	Every time.Duration
	Now   func() time.Time
	NewID func() string
	Log   *slog.Logger
}

// bound is how long one connection may take: ten thousand stores are a hundred pages, which wait for low slots.
const bound = 5 * time.Minute

// SyncDue syncs the tenant's connections that are due and that no other process is at, and gives how many. A connection that
// fails is left alone for a quarter of Every and does not stop the others.
func (p Periodic) SyncDue(ctx context.Context, tenant authn.TenantID) (synced int, err error) {
	list, err := p.Store.ListConnections(ctx, tenant)
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, c := range list {
		if c.State != "alive" || c.SyncedAt != nil && p.Now().Sub(*c.SyncedAt) < p.dueAfter(tenant, c.ID) {
			continue
		}
		done, err := p.one(ctx, tenant, c.ID)
		if err != nil {
			failed = append(failed, fmt.Errorf("connection %s: %w", c.ID, err))
		}
		if done {
			synced++
		}
	}
	return synced, errors.Join(failed...)
}

func (p Periodic) one(ctx context.Context, tenant authn.TenantID, id string) (bool, error) {
	nonce := p.NewID()
	ours, err := p.Leases.Take(ctx, tenant, id, nonce, bound+time.Minute)
	if err != nil || !ours {
		return false, err
	}
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	r, err := Connection(bounded, p.Google, p.Store, tenant, id, "")
	rest := time.Duration(0)
	if err != nil {
		rest = p.Every / 4
	} else {
		p.Log.InfoContext(ctx, "locations synced", "tenant", tenant, "connection", id, "found", r.Found, "added", r.Added, "changed", r.Changed, "gone", r.Gone, "truncated", r.Truncated)
	}
	if kept := p.Leases.Keep(ctx, tenant, id, nonce, rest); kept != nil {
		p.Log.WarnContext(ctx, "sync lease not ended", "tenant", tenant, "connection", id, "error", redact.Error(kept))
	}
	return err == nil, err
}

// dueAfter is Every, 10 % more or less, the same for one connection always.
func (p Periodic) dueAfter(tenant authn.TenantID, id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(string(tenant) + "/" + id)) // never fails
	return p.Every*9/10 + time.Duration(int64(p.Every)/5/1000*int64(h.Sum32()%1000))
}
