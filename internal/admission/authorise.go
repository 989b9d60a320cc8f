package admission

import (
	"context"
	"slices"
	"strconv"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// authorise checks every reference of the call. A location that does not exist and one that is somebody else's give the
// same answer from the same query.
func (a *Admission) authorise(ctx context.Context, c *Call) error {
	ids := c.change.LocationIDs()
	found, dead, err := a.Store.Targets(ctx, c.Principal.TenantID, ids)
	if err != nil {
		return err
	}
	c.dead = dead
	c.locations = make([]gbp.Location, 0, len(ids))
	var missing []string
	for _, id := range ids {
		i := slices.IndexFunc(found, func(l gbp.Location) bool { return l.ID == id })
		if i < 0 || !c.Principal.Grants.Cover(int64(id), found[i].Profile.Labels) {
			missing = append(missing, strconv.FormatInt(int64(id), 10))
			continue
		}
		c.locations = append(c.locations, found[i])
	}
	if missing != nil {
		return errs.New(errs.LocationNotFound, errs.Tf("店舗 %v が見つかりません。何も実行されていません。", "Location(s) %v not found; nothing was executed.", missing)).
			With(errs.Details{NotFound: missing})
	}
	return nil
}
