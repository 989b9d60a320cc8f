package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
)

// Reviews is what the executors of replies need of the Google client.
type Reviews interface {
	GetReview(ctx context.Context, ref gbpapi.Ref, name gbp.ReviewName) (gbp.RemoteReview, error)
	UpdateReply(ctx context.Context, ref gbpapi.Ref, name gbp.ReviewName, body []byte) (gbp.RemoteReply, error)
	DeleteReply(ctx context.Context, ref gbpapi.Ref, name gbp.ReviewName) error
}

// ReviewReply writes the one reply of a review. The review's version covers the reply that stands, so a reply that somebody
// wrote meanwhile is never overwritten unseen.
type ReviewReply struct{ Google Reviews }

// Operation implements Executor.
func (ReviewReply) Operation() string { return "review.reply" }

// API implements Executor.
func (ReviewReply) API() string { return gbp.APIMyBusiness }

// Deletes implements Editor.
func (ReviewReply) Deletes() bool { return false }

// Look implements Editor. A text that Google has rejected is no success of a new call: it is sent, and judged again.
func (x ReviewReply) Look(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error) {
	var want struct {
		Comment string `json:"comment"`
	}
	if err := json.Unmarshal(i.Payload, &want); err != nil {
		return Sight{}, fmt.Errorf("payload of item %s: %w", i.ID, err)
	}
	r, err := x.Google.GetReview(ctx, ref(tenant, i), gbp.ReviewName(i.TargetName))
	if err != nil {
		return Sight{}, err
	}
	s := sightOfReview(r)
	s.Done = r.Says(want.Comment) && (i.Tried || r.Reply.State != gbp.ReplyRejected)
	return s, nil
}

// Send implements Executor: the stored bytes go out as they are.
func (x ReviewReply) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	reply, err := x.Google.UpdateReply(ctx, ref(tenant, i), gbp.ReviewName(i.TargetName), i.Payload)
	if err != nil {
		return Effect{}, err
	}
	return replyEffect(i, &reply), nil
}

// Follow implements Follower. A reply that no longer says what the item wrote was replaced by somebody, and is no longer its.
func (x ReviewReply) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	var wrote struct {
		Comment string `json:"comment"`
	}
	if err := json.Unmarshal(i.Payload, &wrote); err != nil {
		return Effect{}, fmt.Errorf("payload of item %s: %w", i.ID, err)
	}
	r, err := x.Google.GetReview(ctx, ref(tenant, i), gbp.ReviewName(i.TargetName))
	if err != nil {
		return Effect{}, err
	}
	e := reviewEffect(r)
	if !r.Says(wrote.Comment) {
		e.Publication, e.Rejection, e.Doubtful = batch.Deleted, "", true
	}
	return e, nil
}

// replyEffect is a review after its reply was written, or deleted (nil). It is put together from the review as it was read
// just before. Should that be unreadable, our copy of the review stays as it is, and following up tells.
func replyEffect(i batch.Item, reply *gbp.RemoteReply) Effect {
	before, err := gbp.ParseRemoteReview(i.Before)
	if err != nil {
		return Effect{Name: i.TargetName, Publication: batch.Accepted}
	}
	after, err := before.WithReply(reply)
	if err != nil {
		return Effect{Name: i.TargetName, Publication: batch.Accepted}
	}
	return reviewEffect(after)
}

// reviewEffect is a review as it stands, seen from its reply.
func reviewEffect(r gbp.RemoteReview) Effect {
	e := Effect{Name: string(r.Name), Version: r.Version(), Publication: batch.Deleted, After: r.Raw}
	if p := r.Reply; p != nil {
		e.Publication, e.AuditAfter = batch.PublicationOfReply(p.State), auditedReply(p)
		if e.Publication == batch.Rejected {
			e.Rejection = p.PolicyViolation
		}
	}
	return e
}

func sightOfReview(r gbp.RemoteReview) Sight {
	e := reviewEffect(r)
	return Sight{Version: r.Version(), Effect: e, Before: r.Raw, AuditBefore: e.AuditAfter}
}

// auditedReply is a reply cut down for the audit. What the reviewer wrote is kept out of it.
func auditedReply(p *gbp.RemoteReply) json.RawMessage {
	b, err := json.Marshal(struct {
		Comment         string `json:"comment"`
		State           string `json:"state,omitempty"`
		PolicyViolation string `json:"policy_violation,omitempty"`
	}{audit.Head(p.Comment), p.State, p.PolicyViolation})
	if err != nil {
		panic("worker: a struct of strings always marshals: " + err.Error())
	}
	return b
}
