package gbpapi

import (
	"context"
	"sync"
)

// booking is what a context says about the quota of the calls that are made under it.
type booking struct {
	mu      sync.Mutex
	booked  int
	further func(context.Context) error
}

type bookingKey struct{}

// Booked gives a context under which n exchanges with Google have their place in the quota already. Before every exchange
// beyond them (the further pages of a list, the repeat after a 401, a second reading that only some targets need) further is
// called: it books one more and waits for its time, or says why not. The exchange is not made then, and its call fails as
// NotSent with further's error as the cause. Under a context without a booking nobody is asked. A booking inside another one
// counts alone. It is safe for calls at the same time.
func Booked(ctx context.Context, n int, further func(context.Context) error) context.Context {
	return context.WithValue(ctx, bookingKey{}, &booking{booked: n, further: further})
}

// spend takes a booked place, or asks for one more.
func spend(ctx context.Context) error {
	b, ok := ctx.Value(bookingKey{}).(*booking)
	if !ok {
		return nil
	}
	b.mu.Lock()
	booked := b.booked > 0
	if booked {
		b.booked--
	}
	b.mu.Unlock()
	if booked {
		return nil
	}
	return b.further(ctx)
}

// Metered makes a reading each of whose exchanges with Google, every page and the repeat after a 401 too, waits first. Where
// wait says no, that is the reading's error.
func Metered(ctx context.Context, wait, read func(context.Context) error) error {
	if err := wait(ctx); err != nil {
		return err
	}
	var full error
	err := read(Booked(ctx, 1, func(ctx context.Context) error {
		full = wait(ctx)
		return full
	}))
	if full != nil {
		return full
	}
	return err
}
