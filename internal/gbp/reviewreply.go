package gbp

import (
	"encoding/json"
	"fmt"
	"time"
)

// WithReply is the review with this reply in the place of the one that stands; nil takes the reply away. Google answers a
// reply without its review, so this is what the review reads like then, until it is read again.
func (r RemoteReview) WithReply(reply *RemoteReply) (RemoteReview, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.Raw, &fields); err != nil {
		return RemoteReview{}, fmt.Errorf("review: %w", err)
	}
	delete(fields, "reviewReply")
	if reply != nil {
		fields["reviewReply"] = encode(struct {
			Comment         string    `json:"comment"`
			UpdateTime      time.Time `json:"updateTime,omitzero"`
			State           string    `json:"reviewReplyState,omitempty"`
			PolicyViolation string    `json:"policyViolation,omitempty"`
		}{reply.Comment, reply.UpdateTime, reply.State, reply.PolicyViolation})
	}
	return ParseRemoteReview(encode(fields))
}

// View is the reply as people are shown it; nothing where there is none.
func (r *RemoteReply) View() View {
	if r == nil {
		return nil
	}
	return View(ReplyBody(r.Comment))
}

// ReplyOf is the reply in Google's JSON of a review, as it stands there; {} where there is none or nothing can be read. It is
// what may be shown without quoting the stranger who wrote the review.
func ReplyOf(review json.RawMessage) json.RawMessage {
	var w struct {
		Reply json.RawMessage `json:"reviewReply"`
	}
	if json.Unmarshal(review, &w) != nil || len(w.Reply) == 0 || string(w.Reply) == "null" {
		return json.RawMessage(`{}`)
	}
	return w.Reply
}
