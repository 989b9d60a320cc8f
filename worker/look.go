package worker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
)

// look reads an edit's target just before it is sent, and says how its turn goes on: the target is as it was when the write
// was accepted, and the write is sent; or there is nothing to send, and why. A positive wait means to come back after it.
func (r *run) look(ctx context.Context, x Editor, i batch.Item) (t Turn, wait time.Duration, err error) {
	s, err := x.Look(ctx, r.tenant, i)
	if err != nil {
		return r.blind(ctx, x, i, err)
	}
	r.sight = s
	switch {
	case s.Done:
		o := s.Effect.outcome("")
		o.Already, o.AuditBefore = !i.Tried, s.AuditBefore
		return r.end(o), 0, nil
	case s.Version != i.Expected:
		return r.end(conflict(s)), 0, nil
	}
	return Turn{Before: s.Before, GoogleCalls: 1 + r.takeUnbooked()}, 0, nil
}

func (r *run) end(o Outcome) Turn {
	o.Follow = r.Windows.followUp(o)
	o.GoogleCalls += r.takeUnbooked()
	return Turn{End: &o}
}

// blind decides about an edit whose target could not be read. Passing trouble, and a target that Google does not know, are
// tried again as often as a write is; absence is what was wanted after an attempt to delete that may have had its effect, ours or another item's.
func (r *run) blind(ctx context.Context, x Editor, i batch.Item, err error) (Turn, time.Duration, error) {
	f, ok := errors.AsType[*gbpapi.Error](err)
	if !ok {
		return Turn{}, 0, err
	}
	r.slowDown(ctx, f)
	gone := f.Code == errs.GBPNotFound
	if gone && x.Deletes() && (i.Tried || r.gone) {
		o := deleted(i)
		o.Already = !i.Tried
		return r.end(o), 0, nil
	}
	if spentForToday(f) {
		return Turn{}, dayPause, r.Store.Retreat(ctx, r.tenant, r.item, dayPause, false)
	}
	passing := gone || f.Class == gbpapi.NotSent || f.Class == gbpapi.Throttled || f.Class == gbpapi.Ambiguous
	if passing && i.Looks+1 < r.Attempts {
		wait := max(f.RetryAfter, r.backoff(i.Looks+1))
		return Turn{}, max(wait, 50*time.Millisecond), r.Store.Retreat(ctx, r.tenant, r.item, wait, true)
	}
	o := refused(f)
	o.Attempt = ""
	return r.end(o), 0, nil
}

func deleted(i batch.Item) Outcome {
	return Outcome{State: batch.ItemSucceeded, Executed: errs.ExecutedYes, Publication: batch.Deleted, Gone: true, ResourceName: i.TargetName, GoogleCalls: 1, Note: "found deleted"}
}

// conflict ends an edit whose target is no longer what it was when the write was accepted.
func conflict(s Sight) Outcome {
	return Outcome{
		State: batch.ItemFailed, Code: errs.VersionConflict, Executed: errs.ExecutedNo, GoogleCalls: 1, Version: cmp.Or(s.Effect.Version, s.Version), Note: "changed since acceptance",
		Mirror: s.Effect.Mirror, Attributes: s.Effect.Attributes, Found: s.Before, // what was read, so that reading it again shows what has changed
		AuditBefore: s.AuditBefore, Error: &batch.ItemError{
			JA: "受付の後に Google 側で対象が変わったため、上書きしていません。読み直して、変更を人に見せてから送り直してください。",
			EN: "The target changed at Google after this was accepted, so nothing was overwritten. Read it again, show the change to the person, and send anew.",
		},
	}
}

// examineEdit decides an edit whose outcome nobody knows, by reading its target. As wanted: done. As before: it may be sent
// again. Anything else: somebody changed it too, and whether ours was there for a while cannot be told.
func (r *run) examineEdit(ctx context.Context, x Editor, b Begun) (time.Duration, error) {
	s, err := x.Look(ctx, r.tenant, b.Item)
	f, ok := errors.AsType[*gbpapi.Error](err)
	switch {
	case ok && f.Code == errs.GBPNotFound && x.Deletes():
		o := deleted(b.Item)
		o.Attempt = batch.AttemptFound
		return r.finish(ctx, b, o)
	case err != nil:
		return r.cannotLook(ctx, b, err, batch.AttemptGivenUp)
	case s.Done:
		o := s.Effect.outcome(batch.AttemptFound)
		o.Note, o.GoogleCalls = "found when reading back", 2
		return r.finish(ctx, b, o)
	case s.Version == b.Item.Expected:
		return r.finish(ctx, b, r.absent(b, 1))
	}
	return r.finish(ctx, b, Outcome{
		Attempt: batch.AttemptGivenUp, State: batch.ItemUnknown, Code: errs.GBPOutcomeUnknown, Executed: errs.ExecutedUnknown, GoogleCalls: 2, Version: s.Version,
		Mirror: s.Effect.Mirror, Attributes: s.Effect.Attributes, Found: s.Before,
		Note: "read back: neither as before nor as wanted", Error: &batch.ItemError{
			JA: "書き込みの結果を確認できません。対象は依頼の前とも依頼の内容とも違う状態です。プロフィールを確認してください。",
			EN: "The outcome cannot be told: the target is neither as it was nor as it was to be. Look at the profile.",
		},
	})
}
