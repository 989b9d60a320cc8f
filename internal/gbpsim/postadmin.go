package gbpsim

import (
	"errors"
	"net/http"
	"slices"
	"time"
)

var errNoPost = errors.New("there is no such post")

// PostChange is what somebody else did to a post, in Google's own app or at Google; nil leaves a part as it is.
type PostChange struct {
	Name    PostName `json:"name"`
	Summary *string  `json:"summary,omitempty"`
	// State is one of REJECTED, LIVE and PROCESSING, and stays.
	State *string `json:"state,omitempty"`
}

// ChangePost changes a post behind everybody's back. It costs no edit and leaves no journal entry. A changed text moves the
// post's updateTime; a verdict does not.
func (s *Sim) ChangePost(change PostChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.posts[change.Name]
	if p == nil || !p.exists(s.Now()) {
		return errNoPost
	}
	if change.State != nil {
		if !slices.Contains([]string{stateRejected, stateLive, stateProcessing}, *change.State) {
			return errors.New("state: want REJECTED, LIVE or PROCESSING")
		}
		p.verdict.first, p.verdict.then, p.verdict.settled = *change.State, *change.State, time.Time{}
	}
	if change.Summary != nil {
		p.sent.Summary, p.edited = *change.Summary, s.Now().Truncate(time.Microsecond)
	}
	return nil
}

// RemovePost deletes a post behind everybody's back; lists and gets lose it at once.
func (s *Sim) RemovePost(name PostName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.posts[name]
	if p == nil || !p.exists(s.Now()) {
		return errNoPost
	}
	now := s.Now()
	p.died, p.goneFromLists, p.goneGets = now, now, now
	return nil
}

func (s *Sim) adminChangePost(w http.ResponseWriter, r *http.Request) {
	var in PostChange
	if readJSON(w, r, &in) {
		writeDone(w, s.ChangePost(in))
	}
}
