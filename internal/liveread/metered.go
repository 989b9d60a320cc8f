package liveread

import (
	"context"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// metered makes a reading each of whose exchanges with Google, every page and the repeat after a 401 too, waits for a slot of
// its own. When one of them gets none, the reading fails with what await gives.
func metered(ctx context.Context, sl Slots, api string, tenant authn.TenantID, name gbp.LocationName, read func(context.Context) error) error {
	if err := await(ctx, sl, api, tenant, name); err != nil {
		return err
	}
	var full error
	err := read(gbpapi.Booked(ctx, 1, func(ctx context.Context) error {
		full = await(ctx, sl, api, tenant, name)
		return full
	}))
	if full != nil {
		return full
	}
	return err
}

// await waits for a slot of low priority.
func await(ctx context.Context, sl Slots, api string, tenant authn.TenantID, name gbp.LocationName) error {
	left := patience
	for {
		a, err := sl.Reserve(ctx, slots.Request{API: api, Tenant: tenant, Location: name, Low: true, Patience: left})
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
