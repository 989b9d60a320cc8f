// Package liveread reads a location's posts, reviews and media at Google for people and agents, and keeps what it read for a
// minute, so that looking twice does not spend the quota that writes need. What our own writes did meanwhile is seen at once:
// the rows of what was read are taken from PostgreSQL each time. So is what stood in the way of a write that ended as a conflict.
package liveread

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// Kept is how long a reading is used again; patience is how long a reader waits for a slot: beyond it writes need the quota
// more. Writes book up to slots.Horizon ahead, which a reader of few stores waits for.
const (
	Kept     = time.Minute
	patience = slots.Horizon + time.Second
)

// List, Store and Slots are what a Reader works with.
type (
	// List reads the things of one kind at a location given by its v4 name, a bounded number of pages of them. Where that is
	// not all, gbp.ErrMore comes with them.
	List func(ctx context.Context, ref gbpapi.Ref, parent string) ([]gbp.Seen, error)
	// Store gives our rows for what was seen.
	Store interface {
		// Saw stores a reading that began at began.
		Saw(ctx context.Context, tenant authn.TenantID, loc gbp.LocationID, kind gbp.Kind, things []gbp.Seen, began time.Time) ([]gbp.Resource, error)
		// Known gives what a reading found as our rows are now, in that order, and before it what was made since.
		Known(ctx context.Context, tenant authn.TenantID, loc gbp.LocationID, kind gbp.Kind, ids []string, since time.Time) ([]gbp.Resource, error)
	}
	// Slots share Google's quota.
	Slots interface {
		Reserve(ctx context.Context, r slots.Request) (slots.Answer, error)
	}
)

// Reader reads things. It is safe for use from many goroutines.
type Reader struct {
	lists map[gbp.Kind]List
	store Store
	slots Slots
	now   func() time.Time

	mu   sync.Mutex
	kept map[key]reading
}

type key struct {
	tenant authn.TenantID
	loc    gbp.LocationID
	kind   gbp.Kind
}

type reading struct {
	ids []string
	at  time.Time
	// more is gbp.ErrMore when Google's list goes on.
	more error
}

// New makes a reader of the kinds that lists has.
func New(lists map[gbp.Kind]List, st Store, sl Slots, now func() time.Time) *Reader {
	return &Reader{lists: lists, store: st, slots: sl, now: now, kept: map[key]reading{}}
}

// Read gives a location's things of one kind in Google's order, and when they were read. It gives RATE_LIMITED while the
// quota is booked by writes, UNAVAILABLE while Redis or PostgreSQL is away, and what Google answered otherwise. gbp.ErrMore
// comes with what was read, when Google's list goes on.
func (r *Reader) Read(ctx context.Context, tenant authn.TenantID, loc gbp.Location, kind gbp.Kind) ([]gbp.Resource, time.Time, error) {
	list, ok := r.lists[kind]
	if !ok {
		return nil, time.Time{}, fmt.Errorf("liveread: no list of kind %q", kind)
	}
	k := key{tenant, loc.ID, kind}
	if kept, ok := r.recall(k); ok {
		things, err := r.store.Known(ctx, tenant, loc.ID, kind, kept.ids, kept.at)
		if err == nil {
			err = kept.more
		}
		return things, kept.at, err
	}
	var at time.Time
	var seen []gbp.Seen
	err := metered(ctx, r.slots, gbp.APIMyBusiness, tenant, loc.Name, func(ctx context.Context) (err error) {
		at = r.now()
		seen, err = list(ctx, gbpapi.Ref{Tenant: tenant, Connection: loc.ConnectionID}, loc.Name.V4(loc.Account))
		return err
	})
	var more error
	if errors.Is(err, gbp.ErrMore) {
		more = gbp.ErrMore
	} else if err != nil {
		return nil, time.Time{}, err
	}
	things, err := r.store.Saw(ctx, tenant, loc.ID, kind, seen, at)
	if err != nil {
		return nil, time.Time{}, err
	}
	ids := make([]string, len(things))
	for i, t := range things {
		ids[i] = t.ID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[k] = reading{ids, at, more}
	return things, at, more
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
