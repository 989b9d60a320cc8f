// Package mediacheck fetches the picture or video behind an address, only to tell whether Google would take it: that it can be
// reached from the public internet, that it is the file and not a page around it, its type by content, its size, its
// dimensions by header, and a digest. Google fetches the file itself afterwards; nothing is kept here, converted or passed on.
//
// Addresses come from strangers, so the fetch is written for hostile ones. Only https on port 443. The address that is dialled
// is judged in the dialler, for the first request and for every redirect, so that neither a redirect nor a name that resolves
// differently the second time leads inside. No proxy, no cookies, no referrer, no second connection. Every answer is bounded
// in time, bytes and memory, and is never shown to the caller.
//
// What the network did is told in one neutral sentence, whether a name does not exist, a port is closed, a certificate is bad
// or the address is one of ours: a caller cannot use the check to look around. The true cause is in the log value of the
// Refusal, for operators.
package mediacheck

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Options configure a Checker. The zero value is for production.
type Options struct {
	// Trusted are addresses that may be dialled although they are not public, on any port and also over http: the simulator's
	// pictures in a deployment without Google, and servers of tests. Empty in production.
	Trusted []netip.Prefix
	// Timeout bounds one check from its first byte out to the last byte in; 0 is 15 s. Waiting for a free place is not part of it.
	Timeout time.Duration
	// Concurrency bounds the checks that run at once; 0 is 16. Each needs about 1 MiB at most.
	Concurrency int64
	// UserAgent is "" for "mappy-media-check/1.0 (+checks that a picture can be published)".
	UserAgent string
	// RootCAs are nil for the system's.
	RootCAs *x509.CertPool
	// Resolver is nil for the system's.
	Resolver *net.Resolver
}

// Checker checks files. It is safe for use from many goroutines and keeps nothing between checks.
type Checker struct {
	secure, plain *http.Transport // plain dials trusted addresses only
	guard         guard
	timeout       time.Duration
	places        *semaphore.Weighted
	userAgent     string
}

// Facts are what a check found out about a file that can be used.
type Facts struct {
	// URL is the address as it was fetched and as it should be sent to Google: spaces and characters outside ASCII encoded once,
	// the fragment dropped, everything else byte for byte what was given.
	URL string
	// FinalHost is the host that the file came from, after redirects.
	FinalHost string
	Format    gbp.MediaFormat
	// MIME is the type by content, whatever the host calls it.
	MIME   string
	Bytes  int64
	Width  int
	Height int
	// Seconds is the length of a video, 0 where the file does not tell it.
	Seconds float64
	// SHA256 is the digest of the content in hexadecimal.
	SHA256 string
	// ExtraPictures is true for a JPEG that carries further pictures behind its main one, as phones store depth and brightness
	// maps. Google has been reported to refuse some of them.
	ExtraPictures bool
	// CutOff is true for a picture without the mark that every complete one has at its end, as an upload leaves it that broke off.
	CutOff bool
}

// New makes a checker.
func New(o Options) *Checker {
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Concurrency == 0 {
		o.Concurrency = 16
	}
	if o.UserAgent == "" {
		o.UserAgent = "mappy-media-check/1.0 (+checks that a picture can be published)"
	}
	c := &Checker{guard: newGuard(o.Trusted), timeout: o.Timeout, places: semaphore.NewWeighted(o.Concurrency), userAgent: o.UserAgent}
	c.secure = newTransport(o, c.guard.public)
	c.plain = newTransport(o, c.guard.trustedOnly)
	return c
}

// Check fetches the file and judges it for a use. A file that cannot be used gives a Refusal, which is a verdict and no error;
// the error is the context's, when the caller gave up first, also while waiting for a free place.
func (c *Checker) Check(ctx context.Context, source string, use gbp.MediaUse) (Facts, *Refusal, error) {
	if err := c.places.Acquire(ctx, 1); err != nil {
		return Facts{}, nil, fmt.Errorf("wait for a media check: %w", err)
	}
	defer c.places.Release(1)
	own, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	facts, refusal := c.check(own, source, use)
	if err := ctx.Err(); err != nil {
		return Facts{}, nil, fmt.Errorf("media check: %w", err)
	}
	return facts, refusal, nil
}

func (c *Checker) check(ctx context.Context, source string, use gbp.MediaUse) (Facts, *Refusal) {
	first, refusal := c.readURL(source)
	if refusal != nil {
		return Facts{}, refusal
	}
	got, refusal := c.fetch(ctx, first)
	if refusal != nil {
		return Facts{}, refusal
	}
	defer got.close()
	f := file{digest: sha256.New(), body: got.body, declared: got.length}
	refusal = f.inspect(use, got.contentType)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// Whatever was read: a host that notices our going can end its answer in the same moment as if it were complete.
		return Facts{}, tooSlow(c.timeout)
	}
	if refusal != nil {
		return Facts{}, refusal
	}
	facts := f.facts
	facts.URL, facts.FinalHost, facts.Bytes, facts.SHA256 = first.String(), got.host, f.read, hex.EncodeToString(f.digest.Sum(nil))
	return facts, nil
}
