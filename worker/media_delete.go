package worker

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// MediaDelete removes an item from a store's gallery. Google keeps nothing of it.
type MediaDelete struct{ Google Media }

// Operation implements Executor.
func (MediaDelete) Operation() string { return "media.delete" }

// API implements Executor.
func (MediaDelete) API() string { return gbp.APIMyBusiness }

// Deletes implements Editor.
func (MediaDelete) Deletes() bool { return true }

// Look implements Editor.
func (x MediaDelete) Look(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error) {
	e, err := followMedia(ctx, x.Google, tenant, i, i.TargetName)
	if err != nil {
		return Sight{}, err
	}
	return Sight{Version: e.Version, Effect: e, Before: e.After, AuditBefore: e.AuditAfter}, nil
}

// Send implements Executor.
func (x MediaDelete) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	if err := x.Google.DeleteMedia(ctx, ref(tenant, i), gbp.MediaName(i.TargetName)); err != nil {
		return Effect{}, err
	}
	return Effect{Name: i.TargetName, Publication: batch.Deleted}, nil
}

// Follow implements Follower.
func (x MediaDelete) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	return followMedia(ctx, x.Google, tenant, i, i.TargetName)
}
