package app

import (
	"context"
	"errors"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// validator asks Google with validateOnly, one call per change, at the low priority of reads. Attributes have no such check.
type validator struct {
	google *gbpapi.Client
	slots  *slots.Slots
}

// validatePatience is how long one change waits for a slot.
const validatePatience = 3 * time.Second

// Validate implements admission.Validator.
func (v validator) Validate(ctx context.Context, tenant authn.TenantID, p admission.Planned) error {
	if profile.IsAttributes(p.Mask) {
		return nil
	}
	slot := func(ctx context.Context) error { return v.slot(ctx, tenant, p.Location.Name) }
	if err := slot(ctx); err != nil {
		return err
	}
	_, err := v.google.PatchLocation(gbpapi.Booked(ctx, 1, slot), gbpapi.Ref{Tenant: tenant, Connection: p.Location.ConnectionID}, p.Location.Name, p.Payload, p.Mask, true)
	if f, ok := errors.AsType[*gbpapi.Error](err); ok && f.Class == gbpapi.Refused && f.Fault.HTTPStatus == 400 {
		return &admission.RefusalError{Fault: f.Fault}
	}
	return err
}

func (v validator) slot(ctx context.Context, tenant authn.TenantID, name gbp.LocationName) error {
	_, err := slots.Await(ctx, v.slots, slots.Request{API: gbp.APIBusinessInformation, Tenant: tenant, Location: name, Low: true}, validatePatience)
	return err
}
