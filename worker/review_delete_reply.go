package worker

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// ReviewDeleteReply takes the reply of a review away. The review itself stays.
type ReviewDeleteReply struct{ Google Reviews }

// Operation implements Executor.
func (ReviewDeleteReply) Operation() string { return "review.delete_reply" }

// API implements Executor.
func (ReviewDeleteReply) API() string { return gbp.APIMyBusiness }

// Deletes implements Editor: the target is the review, and its absence is not what was asked for.
func (ReviewDeleteReply) Deletes() bool { return false }

// Look implements Editor.
func (x ReviewDeleteReply) Look(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error) {
	r, err := x.Google.GetReview(ctx, ref(tenant, i), gbp.ReviewName(i.TargetName))
	if err != nil {
		return Sight{}, err
	}
	s := sightOfReview(r)
	s.Done = r.Reply == nil
	return s, nil
}

// Send implements Executor.
func (x ReviewDeleteReply) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	if err := x.Google.DeleteReply(ctx, ref(tenant, i), gbp.ReviewName(i.TargetName)); err != nil {
		return Effect{}, err
	}
	return replyEffect(i, nil), nil
}

// Follow implements Follower: no reply is what was asked for. A reply that was written since is another one, whoever wrote it.
func (x ReviewDeleteReply) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	r, err := x.Google.GetReview(ctx, ref(tenant, i), gbp.ReviewName(i.TargetName))
	if err != nil {
		return Effect{}, err
	}
	e := reviewEffect(r)
	if was, err := gbp.ParseRemoteReview(i.Before); err == nil && anotherReply(was.Reply, r.Reply) {
		e.Publication, e.Rejection = batch.Deleted, ""
	}
	return e, nil
}

// anotherReply tells whether a reply is not the one that stood there before: Google dates each.
func anotherReply(was, is *gbp.RemoteReply) bool {
	return was != nil && is != nil && (was.Comment != is.Comment || !was.UpdateTime.Equal(is.UpdateTime))
}
