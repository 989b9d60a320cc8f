package worker

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// shortWait is what a runner sleeps itself, all in all; anything longer is slept in the queue, where it occupies no worker.
const shortWait = time.Second

// redisAway is how long an item waits while no slot can be granted: workers never call Google unmetered.
const redisAway = 5 * time.Second

// metadata is what a job remembers between its runs.
type metadata struct {
	Planned bool `json:"mappy_planned"`
}

// awaitTurn takes the item's turn and slot. A positive wait means to come back after it; zero means that the slot is held and
// now, or that the grant is dead and no slot is needed.
func (r *run) awaitTurn(ctx context.Context, p Peek) (time.Duration, error) {
	if wait, dead, err := r.warmToken(ctx, p); err != nil || dead || wait > 0 {
		return wait, err
	}
	var m metadata
	if err := json.Unmarshal(r.meta, &m); err != nil {
		m = metadata{} // a turn lost is only a later turn
	}
	r.slot.Planned = m.Planned
	for slept := time.Duration(0); ; {
		a, err := r.Slots.Reserve(ctx, r.slot)
		if err != nil { // while Redis is away items wait and spend nothing
			r.Log.WarnContext(ctx, "no slot can be reserved", "item", r.item, "error", err)
			return redisAway, nil
		}
		switch a.Verdict {
		case slots.Granted:
			r.holds, r.due = true, r.Now().Add(a.Wait)
			return 0, r.sleep(ctx, a.Wait)
		case slots.Later:
			r.slot.Planned = true
			a.Wait -= slots.Lead
		case slots.Requeue:
			r.slot.Planned = false
		case slots.Retry:
		}
		if slept += max(0, a.Wait); slept <= shortWait {
			if err := r.sleep(ctx, a.Wait); err != nil {
				return 0, err
			}
			continue
		}
		if a.Verdict == slots.Retry { // somebody else's call holds the place: no use in asking every moment
			a.Wait = max(a.Wait, shortWait)
		}
		return a.Wait, river.MetadataSet(ctx, "mappy_planned", r.slot.Planned)
	}
}

func (r *run) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		r.release(ctx)
		return ctx.Err()
	}
}

// release frees the location and the user's share; what cannot be freed lapses.
func (r *run) release(ctx context.Context) {
	if !r.holds {
		return
	}
	r.holds = false
	if err := r.Slots.Release(context.WithoutCancel(ctx), r.slot); err != nil {
		r.Log.WarnContext(ctx, "slot not released", "item", r.item, "error", err)
	}
}

// tokenAway is how long an item waits while no access token can be had.
const tokenAway = 5 * time.Second

// warmToken has a usable access token before anything is spent. A dead grant is no matter of waiting: the item goes on, without
// a turn, and finds its connection dead. Trouble with the token endpoint is: nothing is sent, and no attempt is spent.
func (r *run) warmToken(ctx context.Context, p Peek) (wait time.Duration, dead bool, err error) {
	_, err = r.Tokens.Token(ctx, r.tenant, p.Item.Connection)
	e, ok := errors.AsType[*gtoken.Error](err)
	switch {
	case err == nil:
		return 0, false, nil
	case ok && e.Class == gtoken.NeedsReconnect:
		return 0, true, nil
	case ok:
		r.Log.WarnContext(ctx, "no access token", "tenant", r.tenant, "connection", p.Item.Connection, "class", string(e.Class), "reason", e.Reason)
		return tokenAway, false, nil
	}
	return 0, false, err
}
