package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

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
	refusal := Refusal{
		RequestID: w.Header().Get(requestIDHeader), Code: errs.Unauthenticated, TokenSent: sent, RemoteAddr: r.RemoteAddr,
	}
	if t, ok := e.namedTool(r); ok {
		refusal.Tool = t.Name
	}
	if token == "" {
		e.refuse(w, r, refusal, nil)
		return nil
	}
	p, err := e.opts.Authenticator.Authenticate(r.Context(), token)
	if err != nil {
		refusal.Code = errs.CodeOf(err)
		e.refuse(w, r, refusal, err)
		return nil
	}
	if p == nil {
		refusal.Code = errs.Internal
		e.refuse(w, r, refusal, errNoPrincipal)
		return nil
	}
	// A write tool in read-only mode refuses everybody; a scope would not help.
	if t, ok := e.namedTool(r); ok && t.Scope != "" && !p.HasScope(t.Scope) && (t.ReadOnly || !e.opts.ReadOnly) {
		refusal.Code, refusal.Principal = errs.InsufficientScope, p
		e.refuse(w, r, refusal, nil)
		return nil
	}
	return p
}

// refuse records and answers. What the authenticator said goes to the log only: the answer has words of its own.
func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, refusal Refusal, cause error) {
	answer := refusalAnswer(refusal.Code, cause)
	attrs := []slog.Attr{
		slog.String("request_id", refusal.RequestID), slog.String("code", string(answer.Code)), slog.Bool("token_sent", refusal.TokenSent),
		slog.String("tool", refusal.Tool), slog.String("remote_addr", refusal.RemoteAddr),
	}
	level := slog.LevelInfo
	if answer.Code != errs.Unauthenticated && answer.Code != errs.InsufficientScope {
		level = slog.LevelError
		attrs = append(attrs, slog.Any("error", cause))
	} else if e.opts.AuditRefusal != nil {
		// The record stands before the answer is sent, also when the caller hangs up now.
		if err := e.opts.AuditRefusal(context.WithoutCancel(r.Context()), refusal); err != nil {
			level = slog.LevelError
			attrs = append(attrs, slog.Any("error", err))
			answer = refusalAnswer(errs.Unavailable, nil)
		}
	}
	e.opts.Log.LogAttrs(r.Context(), level, "request refused", attrs...)

	if challenge := e.challenge(r, refusal, answer.Code); challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if answer.Code == errs.InsufficientScope {
		if t, ok := e.namedTool(r); ok {
			answer = answer.With(errs.Details{RequiredScope: t.Scope})
		}
		writeCatalogued(w, answer, refusal.Principal.Locale)
		return
	}
	writeCatalogued(w, answer, e.opts.Locale)
}

func refusalAnswer(code errs.Code, cause error) *errs.Error {
	switch code {
	case errs.Unauthenticated:
		return errs.New(code, errs.T("アクセストークンがないか、無効です。", "The access token is missing or not valid."))
	case errs.InsufficientScope:
		return errs.New(code, errs.T("このトークンにはこのツールを使う権限がありません。", "This token may not use this tool."))
	case errs.Unavailable:
		wait := retryUnavailable
		if cause != nil {
			if d := errs.From(cause).RetryAfter; d > 0 {
				wait = d
			}
		}
		return errs.New(code, errs.T("いま認証を確認できません。何も実行していません。", "The token cannot be checked at the moment. Nothing was executed.")).After(wait)
	default:
		return errs.From(errInternal)
	}
}

// challenge is the WWW-Authenticate header of a 401 or 403 (RFC 6750, RFC 9728), "" for other codes. A request without
// a token gets no error code, as RFC 6750 section 3.1 asks.
func (e *endpoint) challenge(r *http.Request, refusal Refusal, code errs.Code) string {
	parts := []string{`resource_metadata="` + e.public.metadata(e.path) + `"`}
	scope := strings.Join(e.tools.startScopes, " ")
	if t, ok := e.namedTool(r); ok && t.Scope != "" {
		scope = t.Scope
	}
	switch {
	case code == errs.InsufficientScope:
		parts = append(parts, `error="insufficient_scope"`)
	case code != errs.Unauthenticated:
		return ""
	case refusal.TokenSent:
		parts = append(parts, `error="invalid_token"`)
	}
	if scope != "" {
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
