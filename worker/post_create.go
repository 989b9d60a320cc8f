package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// PostCreate publishes one local post: one call, whose answer holds the new state.
type PostCreate struct{ Google Posts }

// lookPages bounds one reading back to 1,000 posts; beyond it absence cannot be claimed.
const lookPages = 10

var errIncomplete = errors.New("what is at Google could not be told completely")

// Operation implements Executor.
func (PostCreate) Operation() string { return "post.create" }

// API implements Executor.
func (PostCreate) API() string { return gbp.APIMyBusiness }

// Send implements Executor: the stored bytes go out as they are.
func (x PostCreate) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	p, err := x.Google.CreateLocalPost(ctx, ref(tenant, i), i.LocationName.V4(i.Account), i.Payload)
	if err != nil {
		return Effect{}, err
	}
	return postEffect(p), nil
}

// Find implements Creator: posts of the location with the item's content. Google documents no order of the list, so all of
// it is read.
func (x PostCreate) Find(ctx context.Context, tenant authn.TenantID, i batch.Item, since time.Time) ([]Effect, error) {
	all, err := x.Google.AllLocalPosts(ctx, ref(tenant, i), i.LocationName.V4(i.Account), lookPages)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all.Posts, func(a, b gbp.RemotePost) int { return a.CreateTime.Compare(b.CreateTime) })
	var out []Effect
	for _, p := range all.Posts {
		if !p.CreateTime.Before(since) && bytes.Equal(p.Post.Fingerprint(), i.Fingerprint) {
			out = append(out, postEffect(p))
		}
	}
	if len(out) == 0 && (all.Truncated || all.Unreadable > 0) {
		return nil, errIncomplete
	}
	return out, nil
}

// Follow implements Follower.
func (x PostCreate) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	return followPost(ctx, x.Google, tenant, i, i.ResourceName)
}

func followPost(ctx context.Context, g Posts, tenant authn.TenantID, i batch.Item, name string) (Effect, error) {
	p, err := g.GetLocalPost(ctx, ref(tenant, i), gbp.PostName(name))
	if err != nil {
		return Effect{}, err
	}
	return postEffect(p), nil
}

func postEffect(p gbp.RemotePost) Effect {
	short, err := json.Marshal(struct {
		Summary   string `json:"summary,omitempty"`
		TopicType string `json:"topic_type"`
		State     string `json:"state"`
		Media     int    `json:"media_count"`
	}{audit.Head(p.Post.Summary), p.Post.TopicType, p.State, p.MediaCount})
	if err != nil {
		panic("worker: a struct of strings always marshals: " + err.Error())
	}
	return Effect{
		Name: string(p.Name), Version: p.Version(), Publication: batch.PublicationOf(p.State), After: p.Raw, AuditAfter: short,
	}
}
