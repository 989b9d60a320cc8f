package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// Follower is an Executor whose accepted writes can be asked about.
type Follower interface {
	// Follow reads what the item made or changed. Google's GBP_NOT_FOUND comes back as it is.
	Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error)
}

// Patient is a Follower whose writes Google shows late: for so long after acceptance it says nothing that an item's is not found,
// or that what was before is read.
type Patient interface {
	Patience(i batch.Item) time.Duration
}

// Bounds of following: how many items of a tenant one run looks at, how long one is held by the run, the longest pause
// between two looks, and how often one is looked at at all. With the first pause of two minutes the last look is about a
// week after acceptance; reviews by Google take minutes to days.
const (
	followBatch = 20
	followLease = 2 // times what a run may take
	followMost  = 6 * time.Hour
	followTimes = 36
)

// followUp is when Google is asked what became of a write that was accepted and is not public yet, or whose outcome is not
// known; 0 is never.
func (w Windows) followUp(o Outcome) time.Duration {
	if o.State == batch.ItemUnknown || o.State == batch.ItemSucceeded && !o.Already && unsettled(o.Publication) {
		return w.Follow
	}
	return 0
}

// unsettled tells whether Google may still make something else of a write. A deletion is confirmed by one look.
func unsettled(p batch.Publication) bool {
	return p == batch.Accepted || p == batch.PendingReview || p == batch.Scheduled || p == batch.Deleted
}

// next is the pause after the n-th look, n from 0.
func (w Windows) next(n int) time.Duration {
	if n+1 >= followTimes {
		return 0
	}
	return min(followMost, w.Follow<<min(n+1, 12))
}

// FollowWorker follows accepted writes until they are live or rejected, confirms deletions, and looks again at items whose
// outcome is unknown. It only reads, and only with quota that nobody else wants at the moment. Nothing is ever sent again.
type FollowWorker struct {
	river.WorkerDefaults[queue.FollowArgs]
	House Housekeeper
	Items *ItemWorker
}

// Work implements river.Worker.
func (w *FollowWorker) Work(ctx context.Context, _ *river.Job[queue.FollowArgs]) error {
	return eachTenant(ctx, w.House, func(t authn.TenantID) error { return w.Items.Follow(ctx, t) })
}

// Follow looks once at each of the tenant's items that are due, as long as Google's quota has room.
func (w *ItemWorker) Follow(ctx context.Context, tenant authn.TenantID) error {
	due, err := w.Store.DueFollows(ctx, tenant, followBatch, followLease*w.timeout)
	if err != nil {
		return err
	}
	var faults []error
	for _, d := range due {
		x, ok := w.executors[d.Item.Operation]
		if !ok {
			continue
		}
		if !w.roomToRead(ctx, x, tenant, d.Item) {
			break // what was taken comes back when its lease is over
		}
		further := func(ctx context.Context) error {
			if !w.roomToRead(ctx, x, tenant, d.Item) {
				return slots.ErrNoRoom
			}
			return nil
		}
		if err := w.followOne(gbpapi.Booked(ctx, 1, further), x, tenant, d); err != nil && !errors.Is(err, ErrFenced) {
			faults = append(faults, fmt.Errorf("item %s: %w", d.Item.ID, err))
		}
	}
	return errors.Join(faults...)
}

// roomToRead takes a read from the quota when there is one to be had now.
func (w *ItemWorker) roomToRead(ctx context.Context, x Executor, tenant authn.TenantID, i batch.Item) bool {
	a, err := w.Slots.Reserve(ctx, slots.Request{API: x.API(), Tenant: tenant, Location: i.LocationName, Member: string(i.ID), Low: true, Patience: shortWait})
	if err != nil || a.Verdict != slots.Granted {
		return false
	}
	t := time.NewTimer(a.Wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *ItemWorker) followOne(ctx context.Context, x Executor, tenant authn.TenantID, d Due) error {
	o, err := w.followed(ctx, x, tenant, d)
	if err != nil {
		if _, ok := errors.AsType[*gbpapi.Error](err); !ok && !errors.Is(err, errIncomplete) {
			return err
		}
		o = Outcome{Note: redact.Text("cannot be read: " + err.Error()), Follow: w.Windows.next(d.Follows)}
	}
	if err := w.Store.Followed(ctx, tenant, d, o); err != nil {
		return err
	}
	if o.State != "" && o.State != d.Item.State {
		w.Observe(d.Item.Operation, o.State, string(o.Code))
	}
	return nil
}

// followed says what Google has made of the item by now. An outcome without a state changes nothing.
func (w *ItemWorker) followed(ctx context.Context, x Executor, tenant authn.TenantID, d Due) (Outcome, error) {
	if d.Item.State == batch.ItemUnknown {
		return w.reexamine(ctx, x, tenant, d)
	}
	f, ok := x.(Follower)
	if !ok {
		return Outcome{}, nil
	}
	e, err := f.Follow(ctx, tenant, d.Item)
	gone := errs.CodeOf(err) == errs.GBPNotFound
	if err != nil && !gone {
		return Outcome{}, err
	}
	if d.Item.Removes() && d.Item.Publication == batch.Deleted {
		if gone || e.Publication == batch.Deleted { // what is deleted of a review is its reply
			return Outcome{Note: "the deletion is confirmed"}, nil
		}
		return w.stillThere(d), nil
	}
	if gone && d.Gone {
		return takenDown("we deleted it"), nil
	}
	if odd := d.Attempt.Looks + 1; (gone || e.Doubtful) && (odd < w.Attempts || w.early(f, d.Item)) { // single answers of that kind are wrong now and then
		return Outcome{Looks: odd, Note: "not as it was left; looked at again", Follow: w.Windows.next(d.Follows)}, nil
	}
	switch {
	case gone && d.Item.Kind == gbp.KindLocation: // nobody deletes a store's field with it: the account may not see the store any more
		return Outcome{Note: "the store cannot be read any more"}, nil
	case gone:
		return takenDown("somebody took it down"), nil
	case e.Publication == batch.Deleted && !d.Item.Removes(): // what the item left stays its version: what stands there now is somebody else's
		return Outcome{State: batch.ItemSucceeded, Publication: batch.Deleted, Executed: errs.ExecutedYes, Found: e.After, Note: "somebody replaced or removed it"}, nil
	}
	o := e.outcome("")
	o.Follow = 0
	if unsettled(e.Publication) {
		o.Follow = w.Windows.next(d.Follows)
		if e.Publication == d.Item.Publication {
			o.State = ""
		}
	}
	return o, nil
}

// takenDown is an item whose effect is no longer at Google.
func takenDown(note string) Outcome {
	return Outcome{State: batch.ItemSucceeded, Publication: batch.Deleted, Executed: errs.ExecutedYes, Gone: true, Note: note}
}

// early tells whether Google may still be on its way to showing an item. It ends with the last look.
func (w *ItemWorker) early(f Follower, i batch.Item) bool {
	p, ok := f.(Patient)
	return ok && w.Now().Sub(i.FinishedAt) < p.Patience(i)
}

// stillThere is a deletion that Google answered and does not show. After some looks it counts as failed.
func (w *ItemWorker) stillThere(d Due) Outcome {
	if d.Follows+1 < w.Attempts {
		return Outcome{Note: "still there after its deletion", Follow: w.Windows.next(d.Follows)}
	}
	return Outcome{
		State: batch.ItemFailed, Code: errs.GBPUnavailable, Executed: errs.ExecutedUnknown, RetryPossible: true, Publication: batch.Live, Note: "still there after its deletion",
		Error: &batch.ItemError{JA: "Google は削除を受け付けましたが、まだ公開されています。", EN: "Google took the deletion, and still shows it."},
	}
}

// reexamine looks again for an effect whose outcome is unknown. Found: the item succeeded after all. Absent in two complete
// looks, hours or at least a pause apart: it did not happen.
func (w *ItemWorker) reexamine(ctx context.Context, x Executor, tenant authn.TenantID, d Due) (Outcome, error) {
	r := &run{ItemWorker: w, tenant: tenant, item: d.Item.ID}
	b := Begun{Item: d.Item, Batch: d.Batch, Attempt: d.Attempt}
	seen, absent := (*Effect)(nil), false
	switch x := x.(type) {
	case Creator:
		effects, err := x.Find(ctx, tenant, d.Item, d.Attempt.StartedAt.Add(-w.Windows.Skew))
		if err != nil {
			return Outcome{}, err
		}
		if seen, _, err = r.unclaimed(ctx, effects, b); err != nil {
			return Outcome{}, err
		}
		absent = len(effects) == 0
	case Editor:
		s, err := x.Look(ctx, tenant, d.Item)
		switch {
		case errs.CodeOf(err) == errs.GBPNotFound && x.Deletes():
			seen = &Effect{Name: d.Item.TargetName, Publication: batch.Deleted}
		case err != nil:
			return Outcome{}, err
		case s.Done:
			seen = &s.Effect
		default:
			absent = s.Version == d.Item.Expected
		}
	}
	switch {
	case seen != nil:
		o := seen.outcome(batch.AttemptFound)
		o.Note, o.Follow = "found later", w.Windows.followUp(o)
		return o, nil
	case absent && d.Attempt.Looks+1 >= looksNeeded:
		return Outcome{
			Attempt: batch.AttemptAbsent, State: batch.ItemFailed, Code: errs.GBPUnavailable, Executed: errs.ExecutedNo, RetryPossible: true, Note: "looked for again: absent",
			Error: &batch.ItemError{JA: absentText.JA, EN: absentText.EN}, GoogleCalls: 1,
		}, nil
	case absent:
		return Outcome{Looks: d.Attempt.Looks + 1, Note: "looked for again: not there", Follow: w.Windows.next(d.Follows)}, nil
	}
	return Outcome{Note: "looked for again: cannot be told", Follow: w.Windows.next(d.Follows)}, nil
}
