package worker

import (
	"context"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
)

// refused is the end of an item by a failure that certainly had no effect.
func refused(f *gbpapi.Error) Outcome {
	text := faultText(f)
	return Outcome{
		Attempt: batch.AttemptRefused, State: batch.ItemFailed, Code: f.Code, Executed: errs.ExecutedNo, RetryPossible: batch.RetryPossible(f.Code),
		Error: &batch.ItemError{JA: text.JA, EN: text.EN, Google: &f.Fault}, GoogleCalls: 1, GoogleStatus: f.Fault.HTTPStatus, Note: f.Error(),
		StopsBatch: f.Class == gbpapi.Operator,
	}
}

// verdict turns a failure that certainly had no effect into the item's fate. A target that Google does not know after all is
// looked at again: single answers of that kind are wrong now and then.
func (r *run) verdict(x Executor, b Begun, f *gbpapi.Error) Outcome {
	if spentForToday(f) {
		o := r.again(b, refused(f), dayPause)
		o.Free = true
		return o
	}
	_, edits := x.(Editor)
	passing := f.Class == gbpapi.NotSent || f.Class == gbpapi.Throttled || edits && f.Code == errs.GBPNotFound
	if passing && b.Attempt.No < r.Attempts {
		return r.again(b, refused(f), f.RetryAfter)
	}
	return refused(f)
}

// pauseDefault is how long a bucket rests after a 429 that named no time; pauseMax bounds what a strange answer can ask for.
const (
	pauseDefault = 2 * time.Second
	pauseMax     = time.Minute
)

// dayPause is how long edits rest when a limit per day is spent, until one of them asks again. Google begins a new day at
// midnight Pacific time (Google's limits page, 2026), which is not relied on.
const dayPause = 30 * time.Minute

// spentForToday tells whether a limit per day is spent. Waiting for it is no failure, however often, and spends nothing: the send
// deadline ends it.
func spentForToday(f *gbpapi.Error) bool { return f.Class == gbpapi.Throttled && f.Quota.Daily }

// slowDown rests the bucket that Google said is exhausted, for all workers. A "not now" about one location or one request (408,
// STALE_DATA, THROTTLED) rests nothing: its item backs off by itself.
func (r *run) slowDown(ctx context.Context, f *gbpapi.Error) {
	if f.Class != gbpapi.Throttled || f.Code != errs.GBPRateLimited || f.Fault.Reason == "THROTTLED" {
		return
	}
	if f.Quota.Daily {
		if err := r.Slots.PauseEdits(context.WithoutCancel(ctx), r.slot, dayPause); err != nil {
			r.Log.WarnContext(ctx, "edits not paused", "item", r.item, "error", err)
		}
		return
	}
	d := f.RetryAfter
	if d <= 0 {
		d = pauseDefault
	}
	if err := r.Slots.Pause(context.WithoutCancel(ctx), r.slot, f.Quota.PerLocation, min(d, pauseMax)); err != nil {
		r.Log.WarnContext(ctx, "quota not paused", "item", r.item, "error", err)
	}
}

// faultText is what people are told about a failed item: what it means, then Google's own words.
func faultText(f *gbpapi.Error) errs.Text {
	t := f.Catalogued().Message
	if said := f.Fault.Message; said != "" {
		return errs.T(t.JA+" Google の応答: "+said, t.EN+" Google said: "+said)
	}
	return t
}
