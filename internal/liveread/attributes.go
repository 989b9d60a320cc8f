package liveread

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// attributesPatience bounds one reading of attributes, slot and call: a store is shown without them rather than late.
const attributesPatience = 5 * time.Second

// AttributeReader and AttributeStore are what Attributes works with.
type (
	// AttributeReader reads the attributes resource of a location.
	AttributeReader func(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName) (json.RawMessage, error)
	// AttributeStore keeps them with the store.
	AttributeStore interface {
		SaveAttributes(ctx context.Context, tenant authn.TenantID, id gbp.LocationID, list json.RawMessage) error
	}
)

// Attributes reads stores' attributes, which the list of locations does not hold and which cost a call per store. What was read
// within the last minute, or left by a write, is used again.
type Attributes struct {
	read  AttributeReader
	store AttributeStore
	slots Slots
	now   func() time.Time
}

// NewAttributes makes a reader.
func NewAttributes(read AttributeReader, st AttributeStore, sl Slots, now func() time.Time) *Attributes {
	return &Attributes{read, st, sl, now}
}

// Read gives a store's attributes as the list of Google's resource, and when they were read. The errors are those of
// Reader.Read.
func (a *Attributes) Read(ctx context.Context, tenant authn.TenantID, loc gbp.Location) (json.RawMessage, time.Time, error) {
	if len(loc.Attributes) > 0 && a.now().Sub(loc.AttributesAt) < Kept {
		return loc.Attributes, loc.AttributesAt, nil
	}
	ctx, cancel := context.WithTimeout(ctx, attributesPatience)
	defer cancel()
	var at time.Time
	var raw json.RawMessage
	err := metered(ctx, a.slots, gbp.APIBusinessInformation, tenant, loc.Name, func(ctx context.Context) (err error) {
		at = a.now()
		raw, err = a.read(ctx, gbpapi.Ref{Tenant: tenant, Connection: loc.ConnectionID}, loc.Name)
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	s, err := profile.Snapshot{}.WithAttributes(raw)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("attributes of location %d: %w", loc.ID, err)
	}
	return s.Attributes, at, a.store.SaveAttributes(ctx, tenant, loc.ID, s.Attributes)
}
