package gbpsim

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

var errNoReview = errors.New("there is no such review")

// knows tells whether a location exists. It runs under the lock.
func (s *Sim) knows(l LocationName) bool { return s.byName[l] != nil }

// putReview adds a checked review or replaces the one by the same name, its reply included. It runs under the lock.
func (s *Sim) putReview(in Review) *review {
	l := s.byName[in.Location]
	if in.ID == "" {
		h := fnv.New64a()
		_, _ = io.WriteString(h, string(in.Location)+"\x00"+in.Reviewer+"\x00"+in.Comment+"\x00"+in.CreateTime.String()) // never fails
		in.ID = "AbFvOq" + stableText(h.Sum64(), 22)
	}
	in.Name = ReviewName(string(l.Account) + "/" + string(l.Name) + "/reviews/" + in.ID)
	now := s.Now().Truncate(time.Microsecond)
	if in.CreateTime.IsZero() {
		in.CreateTime = now
	}
	if in.UpdateTime.IsZero() {
		in.UpdateTime = in.CreateTime
	}
	r := s.reviews[in.Name]
	if r == nil {
		r = &review{}
		s.reviews[in.Name] = r
		l.reviews = append(l.reviews, r)
	}
	answered := in.Reply
	in.Reply = nil
	r.Review, r.versions = in, nil
	if answered != nil {
		at := answered.UpdateTime
		if at.IsZero() {
			at = now
		}
		r.versions = []*replyVersion{{
			comment: answered.Comment, email: answered.Email, born: at, inLists: at, inGets: at,
			verdict: replyVerdict{then: orDefault(answered.State, replyApproved), policy: answered.PolicyViolation},
		}}
	}
	return r
}

// PutReview adds a review, or replaces the one by the same location and id with its reply, and gives it with its name.
func (s *Sim) PutReview(in Review) (Review, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := in.check(s.knows(in.Location)); err != nil {
		return Review{}, err
	}
	return s.putReview(in).show(s.Now()), nil
}

// ChangeReview changes a review behind everybody's back: its author edits it, somebody answers in Google's own app, Google
// comes to a verdict. An edited text gets the time of the change, unless the change sets one.
func (s *Sim) ChangeReview(name ReviewName, change func(*Review)) error {
	_, err := s.changeReview(name, func(r *Review) error { change(r); return nil })
	return err
}

func (s *Sim) changeReview(name ReviewName, change func(*Review) error) (Review, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.reviews[name]
	if r == nil {
		return Review{}, errNoReview
	}
	before, after := r.show(s.Now()), r.show(s.Now())
	if err := change(&after); err != nil {
		return Review{}, err
	}
	after.Location, after.ID = before.Location, before.ID
	if err := after.check(true); err != nil {
		return Review{}, err
	}
	now := s.Now().Truncate(time.Microsecond)
	if (after.Stars != before.Stars || after.Comment != before.Comment) && after.UpdateTime.Equal(before.UpdateTime) {
		after.UpdateTime = now
	}
	a, b, versions := after.Reply, before.Reply, r.versions
	if a != nil && b != nil && a.Comment != b.Comment && a.UpdateTime.Equal(b.UpdateTime) {
		a.UpdateTime = now
	}
	s.putReview(after)
	if a == nil && b == nil || a != nil && b != nil && *a == *b {
		r.versions = versions // moderation goes on
	}
	return r.show(s.Now()), nil
}

// RemoveReview deletes a review, as its author or Google can.
func (s *Sim) RemoveReview(name ReviewName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.reviews[name]
	if r == nil {
		return errNoReview
	}
	delete(s.reviews, name)
	l := s.byName[r.Location]
	l.reviews = slices.DeleteFunc(l.reviews, func(q *review) bool { return q == r })
	return nil
}

// Reviews gives the reviews of a location ("" for all locations) with their replies as they are now, newest first, whether
// or not a fault hides a reply from the API.
func (s *Sim) Reviews(location LocationName) []Review {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	out := []Review{}
	for _, l := range s.locations {
		if location != "" && l.Name != bareLocation(location) {
			continue
		}
		for _, r := range slices.SortedFunc(slices.Values(l.reviews), func(a, b *review) int { return a.compare(b) }) {
			out = append(out, r.show(now))
		}
	}
	if location == "" {
		slices.SortStableFunc(out, func(a, b Review) int { return strings.Compare(string(a.Location), string(b.Location)) })
	}
	return out
}

// adminPutReview is POST /admin/reviews. A body with the name of an existing review changes the members given; "reply" is
// replaced as a whole, and null removes it. Without a name it is a new review, or replaces the one by its location and id.
func (s *Sim) adminPutReview(w http.ResponseWriter, r *http.Request) {
	var given map[string]json.RawMessage
	if !readJSON(w, r, &given) {
		return
	}
	var name ReviewName
	if raw, ok := given["name"]; ok && json.Unmarshal(raw, &name) != nil {
		writeMistake(w, errors.New("name: want a text"))
		return
	}
	body := encode(given)
	if name == "" {
		var in Review
		err := strictJSON(body, &in)
		if err == nil {
			in, err = s.PutReview(in)
		}
		if err != nil {
			writeMistake(w, err)
			return
		}
		writeJSON(w, in)
		return
	}
	out, err := s.changeReview(name, func(in *Review) error {
		if _, ok := given["reply"]; ok {
			in.Reply = nil
		}
		return strictJSON(body, in)
	})
	if err != nil {
		writeMistake(w, err)
		return
	}
	writeJSON(w, out)
}
