// Package gtoken gives the Google access token of a connection: from memory, from the connection's row, or by one refresh.
//
// A refresh happens at most once at a time per connection across all processes: callers of one process share one flight,
// and the flight locks the row, reads it again and uses what another process stored meanwhile. The new tokens are committed
// before anyone uses them. A refresh answer without a refresh token keeps the stored one; the expiry is always stored.
//
// A refused grant (invalid_grant) marks the connection dead. It is refused by definition for the row's current token, since
// the refresh runs under the row's lock with the token just read. Trouble on the way is never taken for a refusal.
//
// Known limit: an authorization server that rotates refresh tokens has spent the old one when the commit of the new one
// fails; the account then has to be connected again. Google does not rotate.
package gtoken

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// Options configure a Source. Store, Keys, Now and ClientID are required.
type Options struct {
	Store Store
	Keys  Keys
	// ClientID and ClientSecret are our OAuth client's.
	ClientID     string
	ClientSecret string
	// BaseURL is "" for Google, else the simulator's (see endpoint.Parse).
	BaseURL string
	// Transport reaches the token endpoint; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Margin is how much life a stored token must have left to be used; 0 is 60 s, which covers the skew between our hosts'
	// clocks and Google's.
	Margin time.Duration
	// RefreshTimeout bounds one exchange with the token endpoint; 0 is 10 s.
	RefreshTimeout time.Duration
	// CacheFor is how long a token is used from memory before the row is read again, and so how long a process may overlook
	// that a connection was removed or connected anew; 0 is one minute.
	CacheFor time.Duration
	// FailureFor is how long a failed refresh is remembered, so that waiting work does not storm the token endpoint; 0 is 3 s.
	FailureFor time.Duration
	// ForceEvery is how soon after a refresh that Invalidate caused this process makes another one for the connection. What
	// is refused with a token so fresh is not refused for its token, and a store whose calls are all answered 401 does not
	// cost a refresh for each of them; 0 is 10 s.
	ForceEvery time.Duration
	Now        func() time.Time
	// Observe is told about every exchange with the token endpoint: outcome is "ok" or a Class. May be nil.
	Observe func(outcome string, took time.Duration)
}

// Source gives access tokens. It is safe for use from many goroutines; a process has one.
type Source struct {
	o       Options
	refresh *refresher
	flights singleflight.Group

	mu sync.Mutex
	// remembered, failed, forced and rejected grow with the number of connections in use, not with calls.
	remembered map[key]remembered
	failed     map[key]failure
	// forced is when a connection's token was last replaced because Google had refused it.
	forced map[key]time.Time
	// rejected is the digest of the token that Google last refused for a connection.
	rejected map[key][sha256.Size]byte
}

type key struct {
	tenant     authn.TenantID
	connection string
}

// flight names the key's shared flight; escaping keeps two keys from sharing a name.
func (k key) flight() string {
	return url.PathEscape(string(k.tenant)) + "/" + url.PathEscape(k.connection)
}

type remembered struct {
	token   string
	expires time.Time
	readAt  time.Time
}

type failure struct {
	err   *Error
	until time.Time
}

// New makes a source.
func New(o Options) (*Source, error) {
	if o.Store == nil || o.Keys == nil || o.Now == nil || o.ClientID == "" {
		return nil, errors.New("gtoken: Store, Keys, Now and ClientID are required")
	}
	base, err := endpoint.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	defaults(&o.Margin, time.Minute)
	defaults(&o.RefreshTimeout, 10*time.Second)
	defaults(&o.CacheFor, time.Minute)
	defaults(&o.FailureFor, 3*time.Second)
	defaults(&o.ForceEvery, 10*time.Second)
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	return &Source{
		o: o, refresh: newRefresher(o, base),
		remembered: map[key]remembered{}, failed: map[key]failure{}, forced: map[key]time.Time{}, rejected: map[key][sha256.Size]byte{},
	}, nil
}

func defaults(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

// Token is an access token of the connection with at least Options.Margin left, unless Google gives shorter ones. Its error
// is an *Error. When ctx ends the call returns at once and a refresh under way goes on for the others.
func (s *Source) Token(ctx context.Context, tenant authn.TenantID, connection string) (string, error) {
	k := key{tenant, connection}
	for {
		if t, ok, err := s.recall(k); err != nil {
			return "", err
		} else if ok {
			return t, nil
		}
		shared := s.flights.DoChan(k.flight(), func() (any, error) { return s.obtain(context.WithoutCancel(ctx), k) })
		select {
		case <-ctx.Done():
			return "", &Error{Class: Transient, Reason: "cancelled", cause: ctx.Err()}
		case r := <-shared:
			if r.Err != nil {
				return "", r.Err
			}
			t := r.Val.(string)
			if s.refused(k, t) { // the flight began before Invalidate and brought the refused token
				continue
			}
			return t, nil
		}
	}
}

// Invalidate tells that Google answered 401 to the token. The next Token reads the row: it uses another token if one is
// there, and refreshes otherwise; but not within Options.ForceEvery of the last refresh of that kind, when it gives the same
// token again. Telling twice, or about a token that is no longer in use, does no harm.
func (s *Source) Invalidate(tenant authn.TenantID, connection, token string) {
	k := key{tenant, connection}
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.forced[k]; !ok || now.Sub(at) >= s.o.ForceEvery {
		s.rejected[k] = sha256.Sum256([]byte(token))
	}
	if s.remembered[k].token == token {
		delete(s.remembered, k)
	}
}

// obtain is one flight: row, else refresh under the row's lock.
func (s *Source) obtain(ctx context.Context, k key) (string, error) {
	// Waiting for another process's refresh, then one of our own, and time for the database.
	ctx, cancel := context.WithTimeout(ctx, 2*s.o.RefreshTimeout+5*time.Second)
	defer cancel()
	c, err := s.o.Store.ReadConnection(ctx, k.tenant, k.connection)
	if err != nil {
		return "", storeError(err)
	}
	if t, ok, err := s.stored(k, c); err != nil || ok {
		return t, untyped(err)
	}
	var token string
	var update *Update
	var failed *Error
	err = s.o.Store.WithConnection(ctx, k.tenant, k.connection, func(ctx context.Context, c Connection) (*Update, error) {
		t, ok, err := s.stored(k, c)
		if ok || err != nil { // another process was faster
			token, failed = t, err
			return nil, nil //nolint:nilerr,nilnil // the failure is kept in failed: nothing is to be written
		}
		token, update, failed = s.renew(ctx, k, c)
		return update, nil // a dead grant is written down; other failures write nothing
	})
	switch {
	case err != nil:
		return "", storeError(err)
	case failed != nil:
		return "", failed
	case update != nil: // committed, so it may be used
		s.remember(k, token, update.AccessExpiresAt)
	}
	return token, nil
}

// stored is the row's access token if it can be used, or the reason why the row can give none at all.
func (s *Source) stored(k key, c Connection) (string, bool, *Error) {
	if c.State == Dead || len(c.RefreshTokenSealed) == 0 {
		return "", false, &Error{Class: NeedsReconnect, Reason: "connection_dead"}
	}
	now := s.o.Now()
	if len(c.AccessTokenSealed) == 0 || c.AccessExpiresAt.Sub(now) < s.o.Margin {
		return "", false, nil
	}
	plain, err := s.o.Keys.Open(c.AccessTokenSealed, Binding(k.tenant, k.connection, AccessToken))
	if err != nil || s.refused(k, string(plain)) { // an unreadable access token can be replaced by a fresh one
		return "", false, nil //nolint:nilerr // see above: that is what an unreadable one means
	}
	s.remember(k, string(plain), c.AccessExpiresAt)
	return string(plain), true, nil
}

// renew refreshes with the row's refresh token. The caller holds the row's lock.
func (s *Source) renew(ctx context.Context, k key, c Connection) (string, *Update, *Error) {
	plain, err := s.o.Keys.Open(c.RefreshTokenSealed, Binding(k.tenant, k.connection, RefreshToken))
	if err != nil {
		return "", nil, s.fail(k, &Error{Class: Operator, Reason: "keyring", cause: err})
	}
	start := s.o.Now()
	g, failed := s.refresh.refresh(ctx, string(plain))
	if failed != nil {
		s.o.Observe(string(failed.Class), s.o.Now().Sub(start))
		if failed.Class == NeedsReconnect {
			return "", &Update{Dead: true, DeadReason: failed.Reason, Event: EventDead}, failed
		}
		return "", nil, s.fail(k, failed)
	}
	s.o.Observe("ok", s.o.Now().Sub(start))
	u := &Update{AccessExpiresAt: g.expires, Event: EventRefreshed}
	if u.AccessTokenSealed, err = s.o.Keys.Seal([]byte(g.access), Binding(k.tenant, k.connection, AccessToken)); err == nil && g.rotated != "" {
		u.RefreshTokenSealed, err = s.o.Keys.Seal([]byte(g.rotated), Binding(k.tenant, k.connection, RefreshToken))
	}
	if err != nil {
		return "", nil, s.fail(k, &Error{Class: Operator, Reason: "keyring", cause: err})
	}
	s.mu.Lock()
	if _, ok := s.rejected[k]; ok && c.AccessExpiresAt.Sub(start) >= s.o.Margin {
		s.forced[k] = start
	}
	delete(s.rejected, k) // what comes fresh from Google is not what Google refused, even if it looks the same
	delete(s.failed, k)
	s.mu.Unlock()
	return g.access, u, nil
}

// recall answers from memory: a token, or a failure of a moment ago.
func (s *Source) recall(k key) (string, bool, error) {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.remembered[k]; ok {
		if r.expires.Sub(now) >= s.o.Margin && now.Sub(r.readAt) < s.o.CacheFor {
			return r.token, true, nil
		}
		delete(s.remembered, k)
	}
	if f, ok := s.failed[k]; ok {
		if now.Before(f.until) {
			return "", false, f.err
		}
		delete(s.failed, k)
	}
	return "", false, nil
}

// remember keeps a token that is in the row.
func (s *Source) remember(k key, token string, expires time.Time) {
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rejected[k] == sha256.Sum256([]byte(token)) {
		return
	}
	s.remembered[k] = remembered{token: token, expires: expires, readAt: now}
}

func (s *Source) fail(k key, err *Error) *Error {
	until := s.o.Now().Add(s.o.FailureFor)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[k] = failure{err: err, until: until}
	return err
}

func (s *Source) refused(k key, token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.rejected[k]
	return ok && r == sha256.Sum256([]byte(token))
}

// storeError sorts what the store says: no such connection needs a reconnect, everything else is the database being away.
func storeError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, ErrNoConnection) {
		return &Error{Class: NeedsReconnect, Reason: "no_connection", cause: err}
	}
	return &Error{Class: Transient, Reason: "store", cause: err}
}

// untyped keeps a nil *Error from becoming a non-nil error.
func untyped(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}
