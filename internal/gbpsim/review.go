package gbpsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
)

// The states of a reply.
const (
	replyPending  = "PENDING"
	replyApproved = "APPROVED"
	replyRejected = stateRejected
)

// Review is a review that exists: in a seed, in the admin API, and as a test looks at it.
type Review struct {
	// Name is Google's name; it follows from Location and ID and is ignored in a seed.
	Name     ReviewName   `json:"name,omitempty"`
	Location LocationName `json:"location"`
	// ID is the last part of the name, of letters, digits, "-" and "_"; "" in a seed is made up from the location and the text.
	ID        string `json:"id,omitempty"`
	Reviewer  string `json:"reviewer,omitempty"`
	Anonymous bool   `json:"anonymous,omitempty"`
	// Stars is 1 to 5; 0 leaves the rating out.
	Stars int `json:"stars,omitempty"`
	// Comment is "" for a review that is only a rating.
	Comment string `json:"comment,omitempty"`
	// CreateTime in a seed is the simulator's time when it is absent, UpdateTime is CreateTime.
	CreateTime time.Time `json:"create_time,omitzero"`
	UpdateTime time.Time `json:"update_time,omitzero"`
	// Reply is nil while nobody has answered.
	Reply *ReviewReply `json:"reply,omitempty"`
	// Fields are further v4 fields by Google's names, such as "reviewMediaItems". They win over the plain ones.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
}

// ReviewReply is the answer to a review.
type ReviewReply struct {
	Comment    string    `json:"comment"`
	UpdateTime time.Time `json:"update_time,omitzero"`
	// State is Google's word, in a seed any word; "" is APPROVED. PolicyViolation is shown when it is REJECTED.
	State           string `json:"state,omitempty"`
	PolicyViolation string `json:"policy_violation,omitempty"`
	// Email is who wrote it, "" for somebody in Google's own app.
	Email string `json:"email,omitempty"`
}

var reviewID = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// check reports every mistake; known tells whether the location exists.
func (r Review) check(known bool) error {
	var problems []error
	if !known {
		problems = append(problems, fmt.Errorf("location %q does not exist", r.Location))
	}
	if !reviewID.MatchString(r.ID) {
		problems = append(problems, fmt.Errorf("id %q: want letters, digits, - and _", r.ID))
	}
	if r.Stars < 0 || r.Stars > 5 {
		problems = append(problems, fmt.Errorf("stars %d: want 1 to 5, or 0 for none", r.Stars))
	}
	if r.Reply != nil && r.Reply.Comment == "" {
		problems = append(problems, errors.New("reply: comment is needed"))
	}
	for name, raw := range r.Fields {
		if !json.Valid(raw) {
			problems = append(problems, fmt.Errorf("%s is not JSON", name))
		}
	}
	return errors.Join(problems...)
}

// review is a stored review. Its Review has no Reply; what was answered is in versions.
type review struct {
	Review
	versions []*replyVersion // in the order in which they were sent
}

// replyVersion is one state of the answer to a review: a text, or that there is none.
type replyVersion struct {
	comment string
	gone    bool
	email   string
	// born is when it took effect, inLists and inGets when readers see it; all may lie ahead.
	born, inLists, inGets time.Time
	verdict               replyVerdict
}

// replyVerdict is what moderation says, and when.
type replyVerdict struct {
	// first is the state until settled, then is the one from there on; a zero settled is never.
	first, then string
	settled     time.Time
	// policy is shown while the state is REJECTED.
	policy string
}

func (v replyVerdict) state(now time.Time) string {
	if v.first != "" && (v.settled.IsZero() || now.Before(v.settled)) {
		return v.first
	}
	return v.then
}

// view is one way to read: at an instant of a version, by list or by get.
type view func(*replyVersion) time.Time

func byList(v *replyVersion) time.Time { return v.inLists }
func byGet(v *replyVersion) time.Time  { return v.inGets }
func byFact(v *replyVersion) time.Time { return v.born }

// replied is the version that readers see, nil without a reply: the newest of those that took effect.
func (r *review) replied(now time.Time, seen view) *replyVersion {
	var out *replyVersion
	for _, v := range r.versions {
		if !now.Before(seen(v)) && (out == nil || !v.born.Before(out.born)) {
			out = v
		}
	}
	if out == nil || out.gone {
		return nil
	}
	return out
}

type wireReply struct {
	Comment         string `json:"comment"`
	UpdateTime      string `json:"updateTime"`
	State           string `json:"reviewReplyState,omitempty"`
	PolicyViolation string `json:"policyViolation,omitempty"`
}

func (v *replyVersion) wire(now time.Time) wireReply {
	w := wireReply{Comment: v.comment, UpdateTime: v.born.UTC().Format(googleTime), State: v.verdict.state(now)}
	if w.State == replyRejected {
		w.PolicyViolation = v.verdict.policy
	}
	return w
}

// starWords are Google's words for ratings, by number.
func starWords() []string {
	return []string{"STAR_RATING_UNSPECIFIED", "ONE", "TWO", "THREE", "FOUR", "FIVE"}
}

// wire is the review as v4 shows it, by field.
func (r *review) wire(now time.Time, seen view) map[string]json.RawMessage {
	type reviewer struct {
		DisplayName     string `json:"displayName,omitempty"`
		ProfilePhotoURL string `json:"profilePhotoUrl,omitempty"`
		IsAnonymous     bool   `json:"isAnonymous,omitempty"`
	}
	who := reviewer{DisplayName: r.Reviewer, IsAnonymous: r.Anonymous}
	if !r.Anonymous {
		who.ProfilePhotoURL = "https://lh3.googleusercontent.com/a/" + r.ID
	}
	out := map[string]json.RawMessage{
		"name": encode(r.Name), "reviewId": encode(r.ID), "reviewer": encode(who),
		"createTime": encode(r.CreateTime.UTC().Format(googleTime)), "updateTime": encode(r.UpdateTime.UTC().Format(googleTime)),
	}
	if r.Stars > 0 {
		out["starRating"] = encode(starWords()[r.Stars])
	}
	if r.Comment != "" {
		out["comment"] = encode(r.Comment)
	}
	if v := r.replied(now, seen); v != nil {
		out["reviewReply"] = encode(v.wire(now))
	}
	maps.Copy(out, r.Fields)
	return out
}

// show is the review as a test or a person looks at it.
func (r *review) show(now time.Time) Review {
	out := r.Review
	out.Fields = maps.Clone(r.Fields)
	if v := r.replied(now, byFact); v != nil {
		w := v.wire(now)
		out.Reply = &ReviewReply{Comment: v.comment, UpdateTime: v.born.UTC(), State: w.State, PolicyViolation: w.PolicyViolation, Email: v.email}
	}
	return out
}

// compare orders reviews newest first.
func (r *review) compare(q *review) int {
	if d := q.UpdateTime.Compare(r.UpdateTime); d != 0 {
		return d
	}
	return strings.Compare(string(r.Name), string(q.Name))
}

// StarSigns is the rating for people: ★★★☆☆, or "" without one.
func (r Review) StarSigns() string {
	if r.Stars < 1 || r.Stars > 5 {
		return ""
	}
	return strings.Repeat("★", r.Stars) + strings.Repeat("☆", 5-r.Stars)
}
