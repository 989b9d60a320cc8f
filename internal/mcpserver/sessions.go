package mcpserver

import (
	"iter"
	"sync"
)

// sessions counts the open sessions by owner. The protocol library keeps the sessions and closes idle ones; it tells
// nobody when one ends, so who is gone is found by looking at those that are left.
type sessions struct {
	perOwner, total int
	// live gives the ids of all open sessions.
	live func() iter.Seq[string]

	mu      sync.Mutex
	owners  map[string]string // by session id
	opening map[string]int    // by owner: requests that are opening a session right now
}

func newSessions(perOwner, total int, live func() iter.Seq[string]) *sessions {
	return &sessions{perOwner: perOwner, total: total, live: live, owners: map[string]string{}, opening: map[string]int{}}
}

// admission says whether one more session may open.
type admission int

const (
	admitted admission = iota
	ownerFull
	serverFull
)

// open reserves a session for owner. When it is admitted, opened must be called with its id once that is known, or
// with "" when none was opened.
func (s *sessions) open(owner string) (a admission, opened func(id string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetClosed()
	mine, all := s.opening[owner], 0
	for _, n := range s.opening {
		all += n
	}
	for _, o := range s.owners {
		if o == owner {
			mine++
		}
	}
	switch {
	case mine >= s.perOwner:
		return ownerFull, nil
	case all+len(s.owners) >= s.total:
		return serverFull, nil
	}
	s.opening[owner]++
	return admitted, func(id string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.opening[owner]--; s.opening[owner] == 0 {
			delete(s.opening, owner)
		}
		if id != "" {
			s.owners[id] = owner
		}
	}
}

// foreign tells whether a session is known to belong to somebody else. Sessions that just opened are not known yet;
// the library's own binding covers them.
func (s *sessions) foreign(id, owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.owners[id]
	return ok && o != owner
}

func (s *sessions) forgetClosed() {
	open := map[string]struct{}{}
	for id := range s.live() {
		open[id] = struct{}{}
	}
	for id := range s.owners {
		if _, ok := open[id]; !ok {
			delete(s.owners, id)
		}
	}
}
