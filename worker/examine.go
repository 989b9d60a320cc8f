package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// looksNeeded is how often reading back has to find nothing, a settle time apart, until a write counts as absent.
const looksNeeded = 2

// examine decides an attempt whose outcome nobody knows, by reading Google back. Found: the effect is adopted. Absent
// twice: it may be sent again. Neither within the time to give up: the item is unknown, and nothing sends it again by itself.
func (r *run) examine(ctx context.Context, x Executor, b Begun) (time.Duration, error) {
	if wait := r.awaitRead(ctx); wait > 0 {
		return wait, nil
	}
	ctx = r.booked(ctx, 1)
	r.Fault("worker.before_look")
	switch x := x.(type) {
	case Editor:
		return r.examineEdit(ctx, x, b)
	case Creator:
		return r.examineCreate(ctx, x, b)
	}
	return 0, fmt.Errorf("executor of %q can neither find nor look", b.Item.Operation)
}

func (r *run) examineCreate(ctx context.Context, x Creator, b Begun) (time.Duration, error) {
	effects, err := x.Find(ctx, r.tenant, b.Item, b.Attempt.StartedAt.Add(-r.Windows.Skew))
	if err != nil {
		return r.cannotLook(ctx, b, err, batch.AttemptUnknown)
	}
	effect, others, err := r.unclaimed(ctx, effects, b)
	if errors.Is(err, errIncomplete) {
		return r.cannotLook(ctx, b, err, batch.AttemptUnknown)
	}
	if err != nil {
		return 0, err
	}
	if effect != nil {
		o := effect.outcome(batch.AttemptFound)
		o.Note = "adopted after reading back"
		if others > 0 {
			o.Note = fmt.Sprintf("adopted after reading back; %d more with the same content", others)
		}
		o.GoogleCalls = 2
		return r.finish(ctx, b, o)
	}
	if looks := b.Attempt.Looks + 1; looks < looksNeeded {
		return r.Windows.Settle, r.Store.Postpone(ctx, r.tenant, b.Attempt.ID, r.Windows.Settle, looks, "read back: not there yet")
	}
	return r.finish(ctx, b, r.absent(b, looksNeeded))
}

// absent is what follows when reading back showed that a write had no effect: another attempt, or the end of the last one.
func (r *run) absent(b Begun, looks int) Outcome {
	o := Outcome{
		Attempt: batch.AttemptAbsent, State: batch.ItemFailed, Code: errs.GBPUnavailable, Executed: errs.ExecutedNo, RetryPossible: true,
		Error: &batch.ItemError{JA: absentText.JA, EN: absentText.EN}, GoogleCalls: 1 + looks, Note: "read back: absent",
	}
	if b.Attempt.No < r.Attempts {
		o = r.again(b, o, 0)
	}
	return o
}

var absentText = errs.T("Google が応答しない状態が続きました。読み返して確認したところ、何も公開されていません。",
	"Google stayed unavailable. Reading it back showed that nothing was published.")

func (r *run) awaitRead(ctx context.Context) time.Duration {
	read := r.slot
	read.Edit, read.Calls = false, 1
	a, err := r.Slots.Reserve(ctx, read)
	switch {
	case err != nil:
		return redisAway
	case a.Verdict != slots.Granted:
		return max(a.Wait, 100*time.Millisecond)
	}
	if r.sleep(ctx, a.Wait) != nil {
		return time.Second
	}
	return 0
}

func (r *run) cannotLook(ctx context.Context, b Begun, err error, give batch.AttemptState) (time.Duration, error) {
	note := redact.Text(err.Error())
	f, ok := errors.AsType[*gbpapi.Error](err)
	if ok {
		r.slowDown(ctx, f)
	}
	if r.Now().Sub(b.Attempt.StartedAt) < r.Windows.GiveUp {
		wait := r.Windows.Settle
		if ok && f.RetryAfter > wait {
			wait = f.RetryAfter
		}
		return wait, r.Store.Postpone(ctx, r.tenant, b.Attempt.ID, wait, b.Attempt.Looks, "cannot read back: "+note)
	}
	return r.finish(ctx, b, Outcome{
		Attempt: give, State: batch.ItemUnknown, Code: errs.GBPOutcomeUnknown, Executed: errs.ExecutedUnknown, GoogleCalls: 1, Note: note,
		Error: &batch.ItemError{
			JA: "書き込まれた可能性がありますが、Google を読み返しても確認できませんでした。再送せず、プロフィールを確認してください。",
			EN: "It may have been written, and reading Google back could not tell. Do not send it again; look at the profile.",
		},
	})
}

// unclaimed picks the oldest effect that can be this attempt's: not bound to another item, and not known before.
func (r *run) unclaimed(ctx context.Context, effects []Effect, b Begun) (*Effect, int, error) {
	if len(effects) == 0 {
		return nil, 0, nil
	}
	names := make([]string, len(effects))
	byName := make(map[string]*Effect, len(effects))
	for i := range effects {
		names[i] = effects[i].Name
		byName[names[i]] = &effects[i]
	}
	free, err := r.Store.Unclaimed(ctx, r.tenant, names, b.Attempt.StartedAt)
	if err != nil || len(free) == 0 {
		return nil, 0, err
	}
	first := byName[free[0]]
	if first.Perhaps {
		other, err := r.Store.Undecided(ctx, r.tenant, b.Item.LocationName, b.Item.ID)
		if err != nil {
			return nil, 0, err
		}
		if other || len(free) > 1 {
			return nil, 0, errSeveral
		}
	}
	return first, len(free) - 1, nil
}

// errSeveral keeps an item from being given somebody else's effect.
var errSeveral = fmt.Errorf("several could be meant: %w", errIncomplete)
