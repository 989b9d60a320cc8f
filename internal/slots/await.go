package slots

import (
	"context"
	"errors"
	"time"
)

// shortestWait is the pause before a place is asked for again that just went to somebody else.
const shortestWait = 50 * time.Millisecond

// ErrNoRoom is why [Await] gave up.
var ErrNoRoom = errors.New("no room in Google's quota at the moment")

// Reserver is what [Await] needs of Slots.
type Reserver interface {
	Reserve(ctx context.Context, r Request) (Answer, error)
}

// Await reserves a slot and waits until it begins, for at most patience in all. Where none begins in that time it gives
// ErrNoRoom at once, books nothing, and says after which wait asking again may help. UNAVAILABLE while Redis is away.
func Await(ctx context.Context, s Reserver, r Request, patience time.Duration) (wait time.Duration, err error) {
	for left := patience; ; {
		r.Patience = left
		a, err := s.Reserve(ctx, r)
		if err != nil {
			return 0, err
		}
		if a.Verdict != Granted && a.Wait >= left {
			return a.Wait, ErrNoRoom
		}
		wait := a.Wait
		if a.Verdict != Granted {
			wait = max(wait, shortestWait)
		}
		if err := sleep(ctx, wait); err != nil || a.Verdict == Granted {
			return 0, err
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
