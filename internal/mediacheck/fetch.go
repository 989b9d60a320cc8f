package mediacheck

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

const (
	maxRedirects = 3
	maxURL       = 2048 // bytes of an address, also of a redirect's
	maxHeader    = 64 << 10
	maxGzipped   = 32 << 20 // above every limit of a file
)

// newTransport makes one connection per request and judges its address at the moment of dialling.
func newTransport(o Options, control func(network, address string, conn syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: -1, Control: control, Resolver: o.Resolver}
	return &http.Transport{
		Proxy:                  nil, // also not from the environment: a proxy would dial what we refuse
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    5 * time.Second,
		ResponseHeaderTimeout:  10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true,
		DisableCompression:     true,
	}
}

// readURL normalises an address and judges its spelling: the one given, and every redirect's.
func (c *Checker) readURL(s string) (*url.URL, *Refusal) {
	if len(s) > maxURL {
		return nil, badURL(tooLongURL)
	}
	s, _, _ = strings.Cut(s, "#")
	normal, problem, ok := schema.NormalizeURL(s)
	if !ok {
		return nil, badURL(problem)
	}
	u, err := url.Parse(normal)
	if err != nil {
		return nil, badURL(unreadableURL)
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !c.guard.allows(a) {
		return nil, unreachable(fmt.Errorf("address refused: %s", a))
	}
	if u.Scheme != "https" && len(c.guard.trusted) == 0 {
		return nil, httpsOnly()
	}
	if gbp.SharePage(u) {
		return nil, viewerPage()
	}
	return u, nil
}

// answer is a 200 whose body has still to be read.
type answer struct {
	host        string
	contentType string
	length      int64 // -1: not declared
	body        io.Reader
	close       func()
}

// fetch follows redirects to the file. Every request is a plain GET: addresses signed for GET refuse HEAD.
func (c *Checker) fetch(ctx context.Context, u *url.URL) (answer, *Refusal) {
	for hop := 0; ; hop++ {
		res, err := c.get(ctx, u)
		if err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = errors.New("out of time")
			}
			return answer{}, unreachable(err)
		}
		switch res.StatusCode {
		case http.StatusOK:
			return open(u, res)
		case http.StatusNoContent:
			_ = res.Body.Close()
			return answer{}, emptyFile()
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			_ = res.Body.Close()
			return answer{}, refusedStatus(res.StatusCode)
		}
		_ = res.Body.Close()
		if hop == maxRedirects {
			return answer{}, tooManyRedirects()
		}
		var refusal *Refusal
		if u, refusal = c.next(u, res.Header.Get("Location")); refusal != nil {
			return answer{}, refusal
		}
	}
}

// next reads where a redirect leads. A target that is not taken is told as unreachable, whatever is wrong with it; only the
// share pages have a name, because that helps and tells nothing.
func (c *Checker) next(from *url.URL, location string) (*url.URL, *Refusal) {
	target, err := from.Parse(location)
	if err != nil || location == "" {
		return nil, unreachable(errors.New("a redirect without a usable target"))
	}
	u, refusal := c.readURL(target.String())
	if refusal != nil && refusal.Rule != RuleViewerPage {
		return nil, unreachable(fmt.Errorf("redirect refused: %s", refusal.LogValue()))
	}
	return u, refusal
}

// get makes one request. The error quotes no address of a file.
func (c *Checker) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("the request cannot be built")
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "*/*")
	req.Header.Set("Accept-Encoding", "identity")
	transport := c.secure
	if u.Scheme == "http" {
		transport = c.plain
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return res, nil
}

// open prepares the body of a success. A host that compresses although it was asked not to is understood for gzip, as Google
// would; what comes out of it is bounded like every body.
func open(u *url.URL, res *http.Response) (answer, *Refusal) {
	a := answer{
		host: u.Hostname(), contentType: res.Header.Get("Content-Type"), length: res.ContentLength, body: res.Body,
		close: func() { _ = res.Body.Close() },
	}
	switch strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))) {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(io.LimitReader(res.Body, maxGzipped))
		if err != nil {
			a.close()
			return answer{}, incomplete(fmt.Errorf("gzip: %w", err))
		}
		a.body, a.length = z, -1
	default:
		a.close()
		return answer{}, &Refusal{Rule: RuleHostError, Text: unreadableEncoding}
	}
	return a, nil
}
