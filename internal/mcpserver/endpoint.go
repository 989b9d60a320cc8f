package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/tools"
)

const (
	requestIDHeader = "X-Request-Id"
	sessionHeader   = "Mcp-Session-Id"
	versionHeader   = "Mcp-Protocol-Version"

	// statelessSince is the first revision without sessions; revisions compare as strings.
	statelessSince = "2026-07-28"
	// newestWithSessions is what a client that opens a session can be given.
	newestWithSessions = "2025-11-25"
)

// JSON-RPC codes of the server's own range for refusals of the front.
const (
	codeRefused = -32000 // not now: full, ending, too large
	codeGone    = -32001 // no such session
)

// endpoint serves one URL: it lets a request in, finds out who sent it, and hands it to the handler of its era.
type endpoint struct {
	*Server
	path   string
	tools  *toolset
	server *mcp.Server
	// stateless serves 2026-07-28 and every request without a session; stateful is nil when sessions are off.
	stateless, stateful http.Handler
}

func newEndpoint(s *Server, path string, srv *mcp.Server, log *slog.Logger) *endpoint {
	get := func(*http.Request) *mcp.Server { return srv }
	// The front has checked the Host already, and knows of proxies on the same machine.
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: s.opts.MaxBody, Logger: log,
	})
	carry := auth.RequireBearerToken(tokenInfo, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	e := &endpoint{Server: s, path: path, tools: s.toolset, server: srv, stateless: carry(stateless)}
	if s.opts.LegacySessions {
		e.stateful = carry(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			SessionTimeout: s.opts.SessionTimeout, DisableLocalhostProtection: true, MaxRequestBodyBytes: s.opts.MaxBody, Logger: log,
		}))
	}
	return e
}

// ServeHTTP serves one request. Refusals of the HTTP layer come in this order: Host and Origin, token, method, media
// type, size, shape of the message, full or ending.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.commonHeaders(w.Header())
	defer e.contain(w, r)
	if why := e.guard.check(r); why != "" {
		writeRPCError(w, http.StatusForbidden, nil, codeInvalid, why)
		return
	}
	corsHeaders(w.Header(), r)
	if r.Method == http.MethodOptions {
		preflight(w)
		return
	}
	p := e.authenticate(w, r)
	if p == nil {
		return
	}
	c := &caller{principal: p, requestID: w.Header().Get(requestIDHeader)}
	r = r.WithContext(context.WithValue(r.Context(), arrivingKey{}, c))
	if r.Method == http.MethodPost {
		e.post(w, r, p)
		return
	}
	e.stream(w, r, p)
}

// stream serves GET (an old client listens) and DELETE (it ends its session). Both need a session.
func (e *endpoint) stream(w http.ResponseWriter, r *http.Request, p *authn.Principal) {
	if e.stateful == nil || r.Header.Get(versionHeader) >= statelessSince || r.Header.Get(sessionHeader) == "" ||
		(r.Method != http.MethodGet && r.Method != http.MethodDelete) {
		w.Header().Set("Allow", "POST")
		writeRPCError(w, http.StatusMethodNotAllowed, nil, codeInvalid, "Send JSON-RPC messages with POST.")
		return
	}
	if e.drain.ending() && r.Method == http.MethodGet {
		e.unavailable(w, nil)
		return
	}
	e.onSession(w, r, p, nil)
}

// post serves one JSON-RPC message.
func (e *endpoint) post(w http.ResponseWriter, r *http.Request, p *authn.Principal) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		writeRPCError(w, http.StatusUnsupportedMediaType, nil, codeInvalid, "Send the message with Content-Type: application/json.")
		return
	}
	body, ok := e.readBody(w, r)
	if !ok {
		return
	}
	env, err := readEnvelope(body)
	if err != nil {
		bad := &envelopeError{code: codeInvalid, message: "Invalid message."}
		errors.As(err, &bad)
		writeRPCError(w, http.StatusBadRequest, bad.id, bad.code, bad.message)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	if env.call {
		if !e.drain.enter() {
			e.unavailable(w, env.id)
			return
		}
		defer e.drain.leave()
	}
	switch {
	case e.stateful == nil || r.Header.Get(versionHeader) >= statelessSince:
		e.stateless.ServeHTTP(w, r)
	case r.Header.Get(sessionHeader) != "":
		e.onSession(w, r, p, env.id)
	case env.method == "initialize":
		e.initialize(w, r, p, env.id)
	default:
		e.stateless.ServeHTTP(w, r)
	}
}

// initialize opens a session if the caller may have one more.
func (e *endpoint) initialize(w http.ResponseWriter, r *http.Request, p *authn.Principal, id []byte) {
	v, opened := e.sessions.open(sessionOwner(p))
	switch v {
	case ownerFull:
		w.Header().Set("Retry-After", "60")
		writeRPCError(w, http.StatusTooManyRequests, id, codeRefused,
			fmt.Sprintf("This token has %d sessions in use, which is the limit. End one with DELETE, or finish a call.",
				e.opts.MaxSessionsPerPrincipal))
	case serverFull:
		w.Header().Set("Retry-After", "60")
		writeRPCError(w, http.StatusServiceUnavailable, id, codeRefused, "The server has no room for another session. Try again in a minute.")
	case admitted:
		defer func() { opened(w.Header().Get(sessionHeader)) }()
		e.stateful.ServeHTTP(w, r)
	}
}

// onSession serves a request on a session. One of somebody else is answered 404 in the same words as one that never was: a
// client whose token was replaced then opens a new session, as the protocol asks of it.
func (e *endpoint) onSession(w http.ResponseWriter, r *http.Request, p *authn.Principal, id []byte) {
	done, ok := e.sessions.use(r.Header.Get(sessionHeader), sessionOwner(p))
	if !ok {
		writeRPCError(w, http.StatusNotFound, id, codeGone, "session not found")
		return
	}
	defer done()
	e.stateful.ServeHTTP(w, r)
}

func (e *endpoint) unavailable(w http.ResponseWriter, id []byte) {
	w.Header().Set("Retry-After", "2")
	w.Header().Set("Connection", "close")
	writeRPCError(w, http.StatusServiceUnavailable, id, codeRefused, "The server is ending. Nothing was executed; send the request again in a moment.")
}

// readBody reads the message once; what is too large is refused with the way out.
func (e *endpoint) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	limit := e.opts.MaxBody
	tooLarge := func() {
		w.Header().Set("Connection", "close")
		writeRPCError(w, http.StatusRequestEntityTooLarge, nil, codeRefused, fmt.Sprintf(
			"The request is larger than %d bytes. Nothing was executed. Send media by URL (source_url) instead of inline, and split large batches into calls of at most 100 targets.", limit))
	}
	if r.ContentLength > limit {
		tooLarge()
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, true
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		tooLarge()
	} else {
		writeRPCError(w, http.StatusBadRequest, nil, codeParse, "The body could not be read to its end.")
	}
	return nil, false
}

// namedTool is the tool that a 2026-07-28 request names in its headers. The library later insists that the body says
// the same.
func (e *endpoint) namedTool(r *http.Request) (*tools.Tool, bool) {
	if r.Method != http.MethodPost || r.Header.Get(versionHeader) < statelessSince || r.Header.Get("Mcp-Method") != "tools/call" {
		return nil, false
	}
	t, ok := e.tools.byName[r.Header.Get("Mcp-Name")]
	return t, ok
}

// contain is the last net: a panic of the front itself becomes a 500, or a cut connection when the answer has begun.
func (e *endpoint) contain(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // a sentinel that net/http compares by identity too
		panic(v)
	}
	e.logPanic(r.Context(), v, w.Header().Get(requestIDHeader), "")
	writeCatalogued(w, errs.From(errInternal), e.opts.Locale)
}

// commonHeaders go on every answer over HTTP. A request there gets its id here; one on stdio gets it from identify.
func (s *Server) commonHeaders(h http.Header) {
	h.Set(requestIDHeader, s.opts.RequestID())
	h.Set("X-Accel-Buffering", "no") // or a proxy holds progress back
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}
