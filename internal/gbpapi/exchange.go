package gbpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
)

// Bounds of answers. A write's answer is one post; a page of 100 posts or locations can have megabytes.
const (
	maxWriteAnswer = 1 << 20
	maxReadAnswer  = 16 << 20
)

// call is one request before it has a token.
type call struct {
	name   string
	ref    Ref
	write  bool
	method string
	url    string
	header http.Header
	body   []byte
	// argument translates Google's field paths into names of our contract; nil knows none.
	argument func(field string) string
}

// answer is a complete HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do makes the call. A nil error means a 2xx answer that arrived whole.
func (c *Client) do(ctx context.Context, k call) (answer, *Error) {
	for repeated := false; ; repeated = true {
		token, err := c.tokens.Token(ctx, k.ref.Tenant, k.ref.Connection)
		if err != nil {
			return answer{}, k.tokenError(err)
		}
		if err := spend(ctx); err != nil {
			return answer{}, k.fail(NotSent, errs.GBPUnavailable, "no room in the quota", err)
		}
		start := c.now()
		a, failed := c.exchange(ctx, k, token)
		o := Observation{Call: k.name, Status: a.status, Took: c.now().Sub(start)}
		if failed != nil {
			o.Class = failed.Class
		}
		c.observe(o)
		if failed != nil && failed.Class == Dead { // an answer is only when the scope is missing
			c.tokens.Insufficient(ctx, k.ref.Tenant, k.ref.Connection, token)
		}
		if failed == nil || failed.Class != Refused || a.status != http.StatusUnauthorized || repeated {
			return a, failed
		}
		c.tokens.Invalidate(k.ref.Tenant, k.ref.Connection, token)
	}
}

// exchange is one HTTP request and its answer.
func (c *Client) exchange(ctx context.Context, k call, token string) (answer, *Error) {
	if err := ctx.Err(); err != nil {
		return answer{}, k.fail(NotSent, errs.GBPUnavailable, "not started", err)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || token == "" {
		return answer{}, k.fail(Operator, errs.Internal, "the access token is not a header value", nil)
	}
	if k.write {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var w wire
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, w.trace()), k.method, k.url, nil)
	if err != nil {
		return answer{}, k.fail(Refused, errs.Internal, "the address cannot be built", nil)
	}
	maps.Copy(req.Header, k.header)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.userAgent)
	}
	if k.body != nil {
		// Set by hand and without GetBody: net/http must have no way to send the body a second time.
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
		if req.Header.Get("Content-Type") == "" {
			req.Header.Set("Content-Type", "application/json; charset=utf-8")
		}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, k.noAnswer(ctx, err, w.mayHaveLeft(ctx, err))
	}
	defer res.Body.Close()
	limit := int64(maxReadAnswer)
	if k.write {
		limit = maxWriteAnswer
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	a := answer{status: res.StatusCode, header: res.Header, body: body}
	if err != nil || int64(len(body)) > limit {
		return a, k.cutAnswer(ctx, a, c.now(), err)
	}
	if a.status >= 200 && a.status < 300 {
		return a, nil
	}
	return a, k.classify(a, c.now(), token)
}

// wire collects what net/http tells about the way of a request.
type wire struct{ wanted, got, wrote atomic.Bool }

func (w *wire) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:      func(string) { w.wanted.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { w.got.Store(true) },
		WroteHeaders: func() { w.wrote.Store(true) },
	}
}

// mayHaveLeft errs towards yes. No is certain: no connection was got, or it broke before the request was written to it. When
// time ran out, the request may be on its way to the connection although it had not arrived there at that moment.
func (w *wire) mayHaveLeft(ctx context.Context, err error) bool {
	switch {
	case !w.wanted.Load(): // a transport that does not report
		return true
	case !w.got.Load():
		return false
	case w.wrote.Load():
		return true
	}
	return ctx.Err() != nil || timedOut(err)
}

func timedOut(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

func (k call) fail(class Class, code errs.Code, note string, cause error) *Error {
	return &Error{Call: k.name, Class: class, Code: code, note: note, cause: cause}
}

// unclear is an exchange without a usable answer whose request may have left.
func (k call) unclear(note string, cause error) *Error {
	e := k.fail(NotSent, errs.GBPUnavailable, note, cause)
	if k.write {
		e.Class, e.Code = Ambiguous, errs.GBPOutcomeUnknown
	}
	e.Sent = true
	return e
}

func (k call) noAnswer(ctx context.Context, err error, left bool) *Error {
	note, cause := err.Error(), ctx.Err()
	if u, ok := errors.AsType[*url.Error](err); ok {
		note = u.Err.Error() // without the address
	}
	if left {
		return k.unclear(note, cause)
	}
	return k.fail(NotSent, errs.GBPUnavailable, note, cause)
}

// cutAnswer is an answer whose status arrived and whose body did not, or did not end. A 4xx status alone proves that nothing
// was done, but its reason is lost: the call may be made again, which tells it. A 401 is not acted on by half an answer.
func (k call) cutAnswer(ctx context.Context, a answer, now time.Time, err error) *Error {
	note := "the answer broke off"
	if err == nil {
		note = "the answer is too large"
	}
	var e *Error
	switch {
	case a.status == http.StatusTooManyRequests:
		e = k.classify(answer{status: a.status, header: a.header}, now)
		e.note = note
	case a.status >= 400 && a.status < 500 && a.status != statusClientClosed:
		e = k.fail(NotSent, errs.GBPUnavailable, note, ctx.Err())
	case err == nil && !k.write:
		e = k.fail(Refused, errs.Internal, note, nil) // it will be as large again
	default:
		e = k.unclear(note, ctx.Err())
	}
	e.Sent, e.Fault.HTTPStatus = true, a.status
	return e
}

// tokenError is a call that was not made for want of a token.
func (k call) tokenError(err error) *Error {
	e := k.fail(NotSent, errs.GBPUnavailable, "no access token", err)
	if t, ok := errors.AsType[*gtoken.Error](err); ok {
		switch t.Class {
		case gtoken.NeedsReconnect:
			e.Class, e.Code = Dead, errs.GoogleReconnectRequired
		case gtoken.Operator:
			e.Class, e.Code = Operator, errs.Internal
		case gtoken.Transient:
		}
	} else if errs.CodeOf(err) == errs.GoogleReconnectRequired {
		e.Class, e.Code = Dead, errs.GoogleReconnectRequired
	}
	return e
}
