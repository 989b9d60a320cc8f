package mcpserver

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// longestBearer bounds what is handed to the authenticator; JWTs with many claims stay below 4 KiB.
const longestBearer = 8 << 10

// retryUnavailable is what a caller is told to wait when the token store is away and no better time is known.
const retryUnavailable = 5 * time.Second

// bearerToken reads the token from the Authorization header, the only place where one is looked for. sent is false for
// a request without an attempt to authenticate; a malformed attempt gives an empty token.
func bearerToken(r *http.Request) (token string, sent bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	rest = strings.TrimSpace(rest)
	if len(values) > 1 || len(rest) > longestBearer || strings.ContainsAny(rest, " \t,") {
		return "", true
	}
	return rest, true
}

// authenticate finds out who is calling, or answers the request and gives nil.
func (e *endpoint) authenticate(w http.ResponseWriter, r *http.Request) *authn.Principal {
	token, sent := bearerToken(r)
	refusal := Refusal{RequestID: w.Header().Get(requestIDHeader), Code: errs.Unauthenticated, TokenSent: sent, RemoteAddr: r.RemoteAddr}
	t, named := e.namedTool(r)
	if named {
		refusal.Tool, refusal.Scope = t.Name, t.Scope
	}
	if token == "" {
		e.refuse(w, r, refusal, nil)
		return nil
	}
	p, err := e.opts.Authenticator.Authenticate(r.Context(), token)
	if err == nil && p == nil {
		err = errNoPrincipal
	}
	if err != nil {
		refusal.Code = errs.CodeOf(err)
		e.refuse(w, r, refusal, err)
		return nil
	}
	// A write tool in read-only mode refuses everybody; a scope would not help.
	if named && t.Scope != "" && !p.HasScope(t.Scope) && (t.ReadOnly || !e.opts.ReadOnly) {
		refusal.Code, refusal.Principal = errs.InsufficientScope, p
		e.refuse(w, r, refusal, nil)
		return nil
	}
	return p
}

// refuse records and answers a request.
func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, refusal Refusal, cause error) {
	answer := e.refused(r.Context(), refusal, cause)
	if challenge := e.challenge(refusal, answer.Code); challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	locale := e.opts.Locale
	if refusal.Principal != nil {
		locale = refusal.Principal.Locale
	}
	writeCatalogued(w, answer, locale)
}

// refused records a refusal and gives the answer to it. The record stands before the answer is sent, also when the caller
// hangs up now. What the authenticator said goes to the log only: the answer has words of its own.
func (s *Server) refused(ctx context.Context, refusal Refusal, cause error) *errs.Error {
	answer, level := refusalAnswer(refusal, cause), slog.LevelInfo
	switch {
	case answer.Code != errs.Unauthenticated && answer.Code != errs.InsufficientScope:
		level = slog.LevelError
	case s.opts.AuditRefusal != nil:
		err := s.opts.AuditRefusal(context.WithoutCancel(ctx), refusal)
		switch errs.CodeOf(err) {
		case "":
		case errs.RateLimited:
			answer = errs.From(err)
		default:
			answer, level, cause = refusalAnswer(Refusal{Code: errs.Unavailable}, nil), slog.LevelError, err
		}
	}
	attrs := []slog.Attr{
		slog.String("request_id", refusal.RequestID), slog.String("code", string(answer.Code)), slog.Bool("token_sent", refusal.TokenSent),
		slog.String("tool", refusal.Tool), slog.String("remote_addr", refusal.RemoteAddr),
	}
	if cause != nil {
		attrs = append(attrs, slog.Any("error", cause))
	}
	s.opts.Log.LogAttrs(ctx, level, "request refused", attrs...)
	return answer
}

func refusalAnswer(refusal Refusal, cause error) *errs.Error {
	switch refusal.Code {
	case errs.Unauthenticated:
		return errs.New(errs.Unauthenticated, errs.T("アクセストークンがないか、無効です。", "The access token is missing or not valid."))
	case errs.InsufficientScope:
		return errs.From(admission.MissingScope(refusal.Scope))
	case errs.Unavailable:
		wait := retryUnavailable
		if cause != nil {
			if d := errs.From(cause).RetryAfter; d > 0 {
				wait = d
			}
		}
		return errs.New(errs.Unavailable, errs.T("いま認証を確認できません。何も実行していません。", "The token cannot be checked at the moment. Nothing was executed.")).After(wait)
	default:
		return errs.From(errInternal)
	}
}

// challenge is the WWW-Authenticate header of a 401 or 403 (RFC 6750, RFC 9728), "" for other codes. A request without
// a token gets no error code, as RFC 6750 section 3.1 asks.
func (e *endpoint) challenge(refusal Refusal, code errs.Code) string {
	parts := []string{`resource_metadata="` + e.public.metadata(e.path) + `"`}
	switch {
	case code == errs.InsufficientScope:
		parts = append(parts, `error="insufficient_scope"`)
	case code != errs.Unauthenticated:
		return ""
	case refusal.TokenSent:
		parts = append(parts, `error="invalid_token"`)
	}
	if scope := cmp.Or(refusal.Scope, strings.Join(e.tools.startScopes, " ")); scope != "" {
		parts = append(parts, `scope="`+scope+`"`)
	}
	return "Bearer " + strings.Join(parts, ", ")
}

// tokenInfo hands the caller over to the protocol library, which carries it to the handlers beside each request (also
// on a session, whose context is that of its first request) and binds sessions to UserID.
func tokenInfo(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	c, ok := ctx.Value(arrivingKey{}).(*caller)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{
		UserID: sessionOwner(c.principal),
		Scopes: c.principal.Scopes,
		Extra:  map[string]any{callerExtra: c},
	}, nil
}

// sessionOwner names who may use a session: the token that opened it, and no other of the same person.
func sessionOwner(p *authn.Principal) string {
	return strings.Join([]string{string(p.TenantID), string(p.UserID), string(p.ClientID), string(p.TokenID)}, "\x1f")
}
