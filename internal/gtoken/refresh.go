package gtoken

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// unknownLifetime is assumed for an answer without expires_in. Google's has one, about 3600 s.
const unknownLifetime = 5 * time.Minute

// maxLifetime bounds what an answer may claim.
const maxLifetime = 24 * time.Hour

// grant is a token endpoint's good answer.
type grant struct {
	access string
	// rotated is a new refresh token, "" when the old one stays.
	rotated string
	expires time.Time
}

// refresher makes one HTTP exchange with the token endpoint.
type refresher struct {
	config  oauth2.Config
	http    *http.Client
	timeout time.Duration
	now     func() time.Time
}

func newRefresher(o Options, base endpoint.Base) *refresher {
	return &refresher{
		config: oauth2.Config{
			ClientID: o.ClientID, ClientSecret: o.ClientSecret,
			Endpoint: oauth2.Endpoint{TokenURL: base.URL(endpoint.OAuth) + "token", AuthStyle: oauth2.AuthStyleInParams},
		},
		// A redirect would carry the refresh token to another address.
		http:    &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		timeout: o.RefreshTimeout,
		now:     o.Now,
	}
}

// refresh trades a refresh token for an access token. Its error is classified and holds nothing of the answer's text.
func (r *refresher) refresh(ctx context.Context, refreshToken string) (grant, *Error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	asked := r.now() // before the exchange, so that the expiry errs on the early side
	t, err := r.config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, r.http), &oauth2.Token{RefreshToken: refreshToken}).Token()
	if err != nil {
		return grant{}, classify(ctx, err)
	}
	g := grant{access: t.AccessToken, expires: asked.Add(lifetime(t))}
	if t.RefreshToken != refreshToken {
		g.rotated = t.RefreshToken
	}
	return g, nil
}

// lifetime reads expires_in; the library's own expiry is by the system clock, ours is not.
func lifetime(t *oauth2.Token) time.Duration {
	d := time.Duration(t.ExpiresIn) * time.Second
	switch {
	case d <= 0:
		return unknownLifetime
	case d > maxLifetime:
		return maxLifetime
	}
	return d
}

// classify sorts a failed exchange. Only a 4xx with one of OAuth's own words says something about the grant or about our
// client; everything else (5xx, HTML, a broken or empty 200, timeouts, a closed connection) is weather.
// Source of the words: Google's OAuth 2.0 guide and RFC 6749 section 5.2, read 2026-11.
func classify(ctx context.Context, err error) *Error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || answer.Response == nil {
		return &Error{Class: Transient, Reason: networkReason(ctx, err)}
	}
	status := answer.Response.StatusCode
	out := &Error{Class: Transient, Reason: oauthWord(answer.ErrorCode), HTTPStatus: status}
	if status < 400 || status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests {
		return out
	}
	switch answer.ErrorCode {
	case "invalid_grant", "admin_policy_enforced", "access_denied":
		out.Class = NeedsReconnect
	case "invalid_client", "unauthorized_client", "deleted_client", "disabled_client", "org_internal", "unsupported_grant_type", "invalid_request", "invalid_scope":
		out.Class = Operator
	}
	return out
}

func networkReason(ctx context.Context, err error) string {
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() || ctx.Err() != nil {
		return "timeout"
	}
	if _, ok := errors.AsType[net.Error](err); ok { // *url.Error is one
		return "network"
	}
	return "unreadable_answer"
}

// oauthWord passes a plain error code on and hides everything else.
func oauthWord(s string) string {
	if s == "" {
		return "no_error_code"
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && c != '_' {
			return "other"
		}
	}
	if len(s) > 40 {
		return "other"
	}
	return s
}
