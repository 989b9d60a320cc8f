// Package postread reads a location's posts at Google for people and agents, and keeps them for a minute, so that looking
// twice does not spend the quota that writes need.
package postread

import (
	"context"
	"sync"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// Kept is how long a reading is used again; pages bounds one location's list to 500 posts; patience is how long a reader
// waits for a slot: beyond it writes need the quota more. Writes book up to slots.Horizon ahead, which a reader of few stores waits for.
const (
	Kept     = time.Minute
	pages    = 5
	patience = slots.Horizon + time.Second
)

// Google, Store and Slots are what a Reader works with.
type (
	// Google lists posts.
	Google interface {
		AllLocalPosts(ctx context.Context, ref gbpapi.Ref, parent string, maxPages int) (gbpapi.PostList, error)
	}
	// Store gives our ids for what was seen.
	Store interface {
		SeenPosts(ctx context.Context, tenant authn.TenantID, loc gbp.LocationID, posts []gbp.RemotePost) ([]gbp.Resource, error)
	}
	// Slots share Google's quota.
	Slots interface {
		Reserve(ctx context.Context, r slots.Request) (slots.Answer, error)
	}
)

// Reader reads posts. It is safe for use from many goroutines.
type Reader struct {
	google Google
	store  Store
	slots  Slots
	now    func() time.Time

	mu   sync.Mutex
	kept map[key]reading
}

type key struct {
	tenant authn.TenantID
	loc    gbp.LocationID
}

type reading struct {
	posts []gbp.Resource
	at    time.Time
}

// New makes a reader.
func New(g Google, st Store, sl Slots, now func() time.Time) *Reader {
	return &Reader{google: g, store: st, slots: sl, now: now, kept: map[key]reading{}}
}

// Posts gives a location's posts, newest first, and when they were read. It gives RATE_LIMITED while the quota is booked by
// writes, UNAVAILABLE while Redis or PostgreSQL is away, and what Google answered otherwise.
func (r *Reader) Posts(ctx context.Context, tenant authn.TenantID, loc gbp.Location) ([]gbp.Resource, time.Time, error) {
	k := key{tenant, loc.ID}
	if kept, ok := r.recall(k); ok {
		return kept.posts, kept.at, nil
	}
	if err := r.await(ctx, tenant, loc); err != nil {
		return nil, time.Time{}, err
	}
	at := r.now()
	list, err := r.google.AllLocalPosts(ctx, gbpapi.Ref{Tenant: tenant, Connection: loc.ConnectionID}, loc.Name.V4(loc.Account), pages)
	if err != nil {
		return nil, time.Time{}, err
	}
	posts, err := r.store.SeenPosts(ctx, tenant, loc.ID, list.Posts)
	if err != nil {
		return nil, time.Time{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[k] = reading{posts, at}
	return posts, at, nil
}

func (r *Reader) recall(k key) (reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, kept := range r.kept { // few entries: a minute's reads
		if r.now().Sub(kept.at) > Kept {
			delete(r.kept, other)
		}
	}
	kept, ok := r.kept[k]
	return kept, ok
}

func (r *Reader) await(ctx context.Context, tenant authn.TenantID, loc gbp.Location) error {
	left := patience
	for {
		a, err := r.slots.Reserve(ctx, slots.Request{API: gbp.APIMyBusiness, Tenant: tenant, Location: loc.Name, Low: true, Patience: left})
		if err != nil {
			return err
		}
		if a.Verdict != slots.Granted && a.Wait >= left {
			return errs.New(errs.RateLimited, errs.T("Google の割当を書き込みが使っています。少し待ってください。", "Writes are using Google's quota at the moment; wait a little.")).
				With(errs.Details{Scope: "google_reads"}).After(a.Wait)
		}
		wait := a.Wait
		if a.Verdict != slots.Granted {
			wait = max(wait, 50*time.Millisecond) // a place that just went to somebody else
		}
		if err := sleep(ctx, wait); err != nil || a.Verdict == slots.Granted {
			return err
		}
		left -= wait
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
