package liveread

import (
	"context"
	"errors"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// metered makes a reading each of whose exchanges with Google waits for a slot of low priority.
func metered(ctx context.Context, sl Slots, api string, tenant authn.TenantID, name gbp.LocationName, read func(context.Context) error) error {
	return gbpapi.Metered(ctx, func(ctx context.Context) error {
		wait, err := slots.Await(ctx, sl, slots.Request{API: api, Tenant: tenant, Location: name, Low: true}, patience)
		if errors.Is(err, slots.ErrNoRoom) {
			return errs.New(errs.RateLimited, errs.T("Google の割当を書き込みが使っています。少し待ってください。", "Writes are using Google's quota at the moment; wait a little.")).
				With(errs.Details{Scope: "google_reads"}).After(wait)
		}
		return err
	}, read)
}
