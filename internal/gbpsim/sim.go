package gbpsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a simulator. The zero value is an empty world at the system's time.
type Options struct {
	// Now is the clock that Advance moves on from; nil is the system's. It is called from many goroutines.
	Now  func() time.Time
	Seed World
	// Knobs are where Reset returns to.
	Knobs Knobs
	// Reachable tells which source URLs can be fetched; nil is by Knobs. It is called under the
	// simulator's lock and must not call the simulator.
	Reachable func(sourceURL string) bool
	// Strict makes Start fail its test on requests that are not simulated.
	Strict bool
	// Log hears of requests that are not simulated; nil is silence.
	Log *slog.Logger
}

// Sim is a simulator. All methods are safe for concurrent use.
type Sim struct {
	options   Options
	closed    chan struct{}
	close     sync.Once
	advanced  atomic.Int64 // nanoseconds added to Options.Now
	postIDs   postIDs
	postShape shape
	// replyShape and batchShape are the bodies of updateReply and batchGetReviews.
	replyShape, batchShape shape
	journal                *journal
	faults                 faults
	routes                 []*route
	anonymous              http.Handler // everything that is not Google

	mu sync.Mutex // guards what follows; sections are short
	state
	knobs Knobs
}

// state is what a reset throws away.
type state struct {
	project   string
	clients   map[string]string // id -> secret
	accounts  []*Account
	locations []*location
	byName    map[LocationName]*location
	grants    map[string]*grant // by current refresh token
	tokens    map[string]accessToken
	posts     map[PostName]*post
	reviews   map[ReviewName]*review
	quotas    map[string]*budget // by host
	mediaState
}

type location struct {
	Location
	fields map[string]json.RawMessage
	posts  []*post      // oldest first
	media  []*mediaItem // oldest first
	// reviews are in no order.
	reviews []*review
	edits   budget
	review  edits
}

type grant struct {
	email   string
	revoked bool
}

type accessToken struct {
	grant   *grant
	expires time.Time
}

// New builds a simulator from its seed. A seed with mistakes is refused with all of them.
func New(o Options) (*Sim, error) {
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of the clock option
	}
	if err := o.Knobs.check(); err != nil {
		return nil, err
	}
	s := &Sim{options: o, closed: make(chan struct{}), journal: newJournal(), routes: routes(), postShape: localPostShape(), replyShape: reviewReplyShape(), batchShape: batchReviewsShape()}
	s.postIDs.n.Store(uint64(o.Now().UnixMicro())) // ids of two processes differ
	s.anonymous = s.adminHandler()
	s.Reset()
	if err := s.Seed(o.Seed); err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	return s, nil
}

// Close drops held requests and ends all latency; a request that comes later is answered as before.
func (s *Sim) Close() { s.close.Do(func() { close(s.closed) }) }

// Now is the simulator's time.
func (s *Sim) Now() time.Time { return s.options.Now().Add(time.Duration(s.advanced.Load())) }

// Advance moves the clock forward and gives the new time. A negative duration is taken as none: time never runs back.
func (s *Sim) Advance(d time.Duration) time.Time {
	s.advanced.Add(int64(max(d, 0)))
	return s.Now()
}

// Seed adds to the world; what exists by the same name is replaced and keeps its posts and reviews. A world with mistakes changes nothing.
func (s *Sim) Seed(w World) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[AccountName]bool{}
	for _, a := range s.accounts {
		known[a.Name] = true
	}
	if err := w.check(known, s.knows); err != nil {
		return err
	}
	if w.Project != "" {
		s.project = w.Project
	}
	for _, c := range w.OAuthClients {
		s.clients[c.ID] = c.Secret
	}
	for _, a := range w.Accounts {
		if at := slices.IndexFunc(s.accounts, func(b *Account) bool { return b.Name == a.Name }); at >= 0 {
			s.accounts[at] = &a
		} else {
			s.accounts = append(s.accounts, &a)
		}
	}
	for _, l := range w.Locations {
		fields, _ := l.wire() // checked above
		if old := s.byName[l.Name]; old != nil {
			old.Location, old.fields, old.review = l, fields, edits{}
			continue
		}
		n := &location{Location: l, fields: fields}
		s.locations = append(s.locations, n)
		s.byName[l.Name] = n
		for _, m := range l.Media {
			s.seedMedia(n, m)
		}
	}
	for _, r := range w.Reviews {
		s.putReview(r)
	}
	for _, g := range w.Grants {
		if old := s.grants[g.RefreshToken]; old != nil {
			old.email, old.revoked = g.Email, g.Revoked
			continue
		}
		s.grants[g.RefreshToken] = &grant{email: g.Email, revoked: g.Revoked}
	}
	return nil
}

// Reset forgets posts, replies, tokens, faults, journal and later seeds, and returns to Options.Seed and Options.Knobs. Held
// requests are let go. The clock stays, because it must not run back.
func (s *Sim) Reset() {
	_ = s.faults.remove("")
	s.mu.Lock()
	s.state = state{
		project: defaultProject, clients: map[string]string{}, byName: map[LocationName]*location{}, grants: map[string]*grant{},
		tokens: map[string]accessToken{}, posts: map[PostName]*post{}, reviews: map[ReviewName]*review{}, quotas: map[string]*budget{},
	}
	s.knobs = s.options.Knobs
	s.mu.Unlock()
	s.journal.clear()
	_ = s.Seed(s.options.Seed) // New has reported its mistakes
}

// Knobs gives the settings in force.
func (s *Sim) Knobs() Knobs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.knobs
}

// SetKnobs replaces the settings.
func (s *Sim) SetKnobs(k Knobs) error {
	if err := k.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.knobs = k
	return nil
}

// World gives accounts, locations and grants as they are now; Posts and Reviews give the rest.
func (s *Sim) World() World {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := World{Project: s.project}
	for id, secret := range s.clients {
		w.OAuthClients = append(w.OAuthClients, OAuthClient{ID: id, Secret: secret})
	}
	for _, a := range s.accounts {
		w.Accounts = append(w.Accounts, *a)
	}
	for _, l := range s.locations {
		w.Locations = append(w.Locations, l.Location)
	}
	for token, g := range s.grants {
		w.Grants = append(w.Grants, Grant{Email: g.email, RefreshToken: token, Revoked: g.revoked})
	}
	slices.SortFunc(w.Grants, func(a, b Grant) int { return strings.Compare(a.Email+"|"+a.RefreshToken, b.Email+"|"+b.RefreshToken) })
	slices.SortFunc(w.OAuthClients, func(a, b OAuthClient) int { return strings.Compare(a.ID, b.ID) })
	return w
}

var errNoGrant = errors.New("there is no such grant")

// Revoke ends all grants of a person, as the person can in the Google account.
func (s *Sim) Revoke(email string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for _, g := range s.grants {
		if g.email == email {
			g.revoked, found = true, true
		}
	}
	if !found {
		return errNoGrant
	}
	return nil
}

// AccessToken issues an access token to a person without the token endpoint and without a journal entry.
func (s *Sim) AccessToken(email string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		if g.email == email && !g.revoked {
			return s.issue(g, s.Now()), nil
		}
	}
	return "", errNoGrant
}

// ExpireAccessTokens ends all access tokens that were issued so far; the refresh tokens stay good.
func (s *Sim) ExpireAccessTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Journal gives all entries, oldest first.
func (s *Sim) Journal() []Entry { return s.journal.list(EntryFilter{}) }

// Entries gives the entries that match.
func (s *Sim) Entries(f EntryFilter) []Entry { return s.journal.list(f) }

// ClearJournal forgets all entries and the peaks of the statistics.
func (s *Sim) ClearJournal() { s.journal.clear() }

// Await waits until enough is true of the entries that match and gives them. It returns the context's error otherwise.
func (s *Sim) Await(ctx context.Context, f EntryFilter, enough func([]Entry) bool) ([]Entry, error) {
	return s.journal.await(ctx, f, enough)
}

// Unknown gives the entries of requests that are not simulated.
func (s *Sim) Unknown() []Entry {
	return slices.DeleteFunc(s.Journal(), func(e Entry) bool { return !e.Unknown })
}

// AddFault orders a fault and gives its id. A fault that contradicts itself is refused.
func (s *Sim) AddFault(f Fault) (FaultID, error) { return s.faults.add(f) }

// Faults gives the ordered faults with their counters.
func (s *Sim) Faults() []FaultState { return s.faults.list() }

// RemoveFault deletes a fault ("" for all) and lets its held requests go.
func (s *Sim) RemoveFault(id FaultID) error { return s.faults.remove(id) }

// Release lets the requests go that a fault holds now and gives their number.
func (s *Sim) Release(id FaultID) (int, error) { return s.faults.releaseHeld(id) }

// AwaitHeld waits until a fault holds at least n requests.
func (s *Sim) AwaitHeld(ctx context.Context, id FaultID, n int) error {
	return s.faults.awaitHeld(ctx, id, n)
}
