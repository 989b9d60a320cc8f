package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
)

// PostUpdate changes fields of a local post; the others survive, because only masked fields are sent.
type PostUpdate struct{ Google Posts }

// Operation implements Executor.
func (PostUpdate) Operation() string { return "post.update" }

// API implements Executor.
func (PostUpdate) API() string { return gbp.APIMyBusiness }

// Deletes implements Editor.
func (PostUpdate) Deletes() bool { return false }

// Look implements Editor.
func (x PostUpdate) Look(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error) {
	p, err := x.Google.GetLocalPost(ctx, ref(tenant, i), gbp.PostName(i.TargetName))
	if err != nil {
		return Sight{}, err
	}
	s := sightOfPost(p)
	var want gbp.LocalPost
	if err := json.Unmarshal(i.Payload, &want); err != nil {
		return Sight{}, fmt.Errorf("payload of item %s: %w", i.ID, err)
	}
	s.Done = bytes.Equal(p.Post.With(want, i.Mask).Fingerprint(), p.Post.Fingerprint())
	return s, nil
}

// Send implements Executor.
func (x PostUpdate) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	p, err := x.Google.PatchLocalPost(ctx, ref(tenant, i), gbp.PostName(i.TargetName), i.Payload, i.Mask)
	if err != nil {
		return Effect{}, err
	}
	return postEffect(p), nil
}

// Follow implements Follower.
func (x PostUpdate) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	return followPost(ctx, x.Google, tenant, i, i.TargetName)
}

// PostDelete takes a local post down.
type PostDelete struct{ Google Posts }

// Operation implements Executor.
func (PostDelete) Operation() string { return "post.delete" }

// API implements Executor.
func (PostDelete) API() string { return gbp.APIMyBusiness }

// Deletes implements Editor.
func (PostDelete) Deletes() bool { return true }

// Look implements Editor.
func (x PostDelete) Look(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error) {
	p, err := x.Google.GetLocalPost(ctx, ref(tenant, i), gbp.PostName(i.TargetName))
	if err != nil {
		return Sight{}, err
	}
	return sightOfPost(p), nil
}

// Send implements Executor.
func (x PostDelete) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	if err := x.Google.DeleteLocalPost(ctx, ref(tenant, i), gbp.PostName(i.TargetName)); err != nil {
		return Effect{}, err
	}
	return Effect{Name: i.TargetName, Publication: batch.Deleted}, nil
}

// Follow implements Follower.
func (x PostDelete) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	return followPost(ctx, x.Google, tenant, i, i.TargetName)
}

func sightOfPost(p gbp.RemotePost) Sight {
	e := postEffect(p)
	return Sight{Version: p.Version(), Effect: e, Before: p.Raw, AuditBefore: e.AuditAfter}
}

func ref(tenant authn.TenantID, i batch.Item) gbpapi.Ref {
	return gbpapi.Ref{Tenant: tenant, Connection: i.Connection}
}
