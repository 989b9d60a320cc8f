package locsync

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// versionsMost bounds how many stores one sync asks Google's own version of: those that Google says it holds one for, which are
// few. What is beyond is known as "Google holds one" only, and is asked in a later sync if there are fewer then.
const versionsMost = 100

// versions reads what Google shows in the place of the merchant's data, where a listed location says that there is something. A
// store whose version cannot be read stays without one: the mirror itself is more important.
func versions(ctx context.Context, g Google, ref gbpapi.Ref, found []gbp.Location) {
	asked := 0
	for i := range found {
		l := &found[i]
		if !l.PendingGoogleEdit || asked == versionsMost || ctx.Err() != nil {
			continue
		}
		asked++
		v, err := g.GetGoogleUpdated(ctx, ref, l.Name)
		if err != nil {
			continue
		}
		l.GoogleVersion = &gbp.GoogleVersion{Diff: v.Diff, Pending: v.Pending, Live: differing(v)}
	}
}

// differing are the fields of Google's version that are edited here and that it shows differently; the others are the merchant's.
func differing(v gbpapi.GoogleVersion) json.RawMessage {
	var fields []string
	for _, f := range profile.GoogleFields() {
		if profile.Names(v.Diff, f) {
			fields = append(fields, f)
		}
	}
	return profile.Only(v.Raw, fields)
}

// GetGoogleUpdated implements Google.
func (m metered) GetGoogleUpdated(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName) (v gbpapi.GoogleVersion, err error) {
	err = m.booked(ctx, gbp.APIBusinessInformation, ref.Tenant, func(ctx context.Context) (err error) {
		v, err = m.Google.GetGoogleUpdated(ctx, ref, name)
		return err
	})
	if err != nil {
		return v, fmt.Errorf("google's version of %s: %w", name, err)
	}
	return v, nil
}
