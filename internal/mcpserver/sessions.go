package mcpserver

import (
	"iter"
	"sync"
	"time"
)

// sessions counts the open sessions by owner. The protocol library keeps the sessions and closes idle ones; it tells
// nobody when one ends, so who is gone is found by looking at those that are left.
//
// An owner at its limit gets its next session in the place of the one that it has not used for longest: many clients open
// a session for each call, or crash, and never end one, and would be locked out until the old ones time out.
type sessions struct {
	perOwner, total int
	// live gives the ids of all open sessions; end closes one.
	live func() iter.Seq[string]
	end  func(id string)
	now  func() time.Time

	mu      sync.Mutex
	known   map[string]*session // by session id
	opening map[string]int      // by owner: requests that are opening a session right now
}

// session is what is known of an open one.
type session struct {
	owner string
	used  time.Time
	// busy is how many requests it is serving, a listening GET included.
	busy int
	// ended is set when it had to make room; the library may take a moment to close it.
	ended bool
}

func newSessions(perOwner, total int, live func() iter.Seq[string], end func(id string), now func() time.Time) *sessions {
	return &sessions{perOwner: perOwner, total: total, live: live, end: end, now: now, known: map[string]*session{}, opening: map[string]int{}}
}

// verdict says whether one more session may open.
type verdict int

const (
	admitted verdict = iota
	ownerFull
	serverFull
)

// open reserves a session for owner. When it is admitted, opened must be called with its id once that is known, or
// with "" when none was opened.
func (s *sessions) open(owner string) (v verdict, opened func(id string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetClosed()
	mine, all := s.opening[owner], 0
	for _, n := range s.opening {
		all += n
	}
	for _, x := range s.known {
		if x.ended {
			continue
		}
		all++
		if x.owner == owner {
			mine++
		}
	}
	switch {
	case mine >= s.perOwner:
		id := s.leastUsed(owner)
		if id == "" {
			return ownerFull, nil
		}
		s.known[id].ended = true
		go s.end(id) // nobody waits for the library
	case all >= s.total:
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
			s.known[id] = &session{owner: owner, used: s.now()}
		}
	}
}

// leastUsed is the owner's session that serves no request and was not used for longest, or "".
func (s *sessions) leastUsed(owner string) (id string) {
	for i, x := range s.known {
		if x.owner == owner && !x.ended && x.busy == 0 && (id == "" || x.used.Before(s.known[id].used)) {
			id = i
		}
	}
	return id
}

// use marks a request on a session; done must be called at its end. ok is false for a session of somebody else and for one
// that had to make room. Sessions that just opened are not known yet; the library's own binding covers them.
func (s *sessions) use(id, owner string) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.known[id]
	if x == nil {
		return func() {}, true
	}
	if x.owner != owner || x.ended {
		return nil, false
	}
	x.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		x.busy--
		x.used = s.now()
	}, true
}

func (s *sessions) forgetClosed() {
	open := map[string]struct{}{}
	for id := range s.live() {
		open[id] = struct{}{}
	}
	for id := range s.known {
		if _, ok := open[id]; !ok {
			delete(s.known, id)
		}
	}
}
