// Package gbpapi talks to Google's Business Profile APIs: accounts, locations and metrics are read through Google's own Go
// packages, local posts (which have no package) go through a small v4 client. Edits of locations and the reads that snapshots are
// made of go through the same machinery as posts: the packages' structs drop members that they do not know and zeros that we mean,
// and what is stored, shown and confirmed has to be what is sent, byte for byte. It is the one place that turns Google's answers into errors of
// the catalogue, and it says for every failed write whether an effect may exist.
//
// A write is one HTTP exchange, never repeated by this package or below it, with one exception: a complete 401 answer proves
// that nothing was written, so the exchange is made once more, with another token where the source has one. A write that began is not aborted when
// its caller's context ends: an aborted POST is an unknown outcome, a finished one is a fact. Reads obey their context.
//
// Waiting, quotas, retries and reconciliation are the caller's; see [Class] for what each outcome allows and [Booked] for what one
// call may cost.
package gbpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// Ref says on whose behalf a call is made: a tenant's connection to a Google account.
type Ref struct {
	Tenant     authn.TenantID
	Connection string
}

// TokenSource gives access tokens of connections; *gtoken.Source is the real one.
type TokenSource interface {
	// Token gives a usable access token or an error that says why there is none (*gtoken.Error).
	Token(ctx context.Context, tenant authn.TenantID, connection string) (string, error)
	// Invalidate tells that Google answered 401 to the token.
	Invalidate(tenant authn.TenantID, connection, token string)
	// Insufficient tells that the token's grant lacks the scope.
	Insufficient(ctx context.Context, tenant authn.TenantID, connection, token string)
}

// Observation is one exchange with Google, for metrics.
type Observation struct {
	// Call is a fixed name such as "localPosts.create".
	Call string
	// Status is the HTTP status, 0 without an answer.
	Status int
	// Class is "" for a success.
	Class Class
	Took  time.Duration
}

// Options configure a Client. Tokens and Now are required.
type Options struct {
	// BaseURL is "" for Google, else the simulator's: hosts are reached at BASE/<google-host>/<path>, slash at the end or not.
	BaseURL string
	Tokens  TokenSource
	// Transport must be an *http.Transport or wrap one, so that what left the machine is known from its trace; with another
	// one every failed write counts as possibly sent. nil is a transport of this package.
	Transport http.RoundTripper
	// Timeout bounds one exchange from dialling to the last byte; 0 is 20 s.
	Timeout time.Duration
	// MaxPages bounds listings of accounts and locations; 0 is 1000.
	MaxPages  int
	UserAgent string
	Now       func() time.Time
	// Observe is called after every exchange, possibly from many goroutines. May be nil.
	Observe func(Observation)
}

// Client makes calls to Google. It keeps no state of any tenant and is safe for use from many goroutines.
type Client struct {
	base      endpoint.Base
	tokens    TokenSource
	http      *http.Client
	timeout   time.Duration
	maxPages  int
	userAgent string
	now       func() time.Time
	observe   func(Observation)
}

// New makes a client.
func New(o Options) (*Client, error) {
	if o.Tokens == nil || o.Now == nil {
		return nil, errors.New("gbpapi: Tokens and Now are required")
	}
	base, err := endpoint.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: base, tokens: o.Tokens, timeout: o.Timeout, maxPages: o.MaxPages, userAgent: o.UserAgent, now: o.Now, observe: o.Observe,
		// A redirect would carry the access token, or a write, to another address; Google's APIs have none.
		http: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if o.Transport == nil {
		c.http.Transport = newTransport()
	}
	if c.timeout == 0 {
		c.timeout = 20 * time.Second
	}
	if c.maxPages == 0 {
		c.maxPages = 1000
	}
	if c.userAgent == "" {
		c.userAgent = "mappy-mcp"
	}
	if c.observe == nil {
		c.observe = func(Observation) {}
	}
	return c, nil
}

// newTransport lets idle connections go before Google's front ends do: a connection that the other side closes at the moment
// of a write costs an unknown outcome.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          200,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   5 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}
