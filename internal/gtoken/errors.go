package gtoken

import (
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// Class says what a failure to get a token means for the work that needed it.
type Class string

// The three classes.
const (
	// NeedsReconnect: the grant is gone. The connection is marked dead; its waiting work fails at once.
	NeedsReconnect Class = "reconnect"
	// Transient: Google, the network or the database is away. The connection stays alive; wait, and spend no attempt.
	Transient Class = "transient"
	// Operator: our own configuration is at fault (OAuth client, keyring). The connection stays alive; waiting does not help.
	Operator Class = "operator"
)

// Error is why there is no access token. Its text holds nothing that came from the token endpoint but a status number and
// an OAuth error code made of lower-case letters: bodies of that endpoint may quote tokens.
type Error struct {
	Class Class
	// Reason is an OAuth error code ("invalid_grant") or a word of ours ("timeout", "html_answer", "keyring", ...).
	Reason string
	// HTTPStatus is the token endpoint's, 0 when there was no answer.
	HTTPStatus int
	// cause is context.Canceled, an error of the store or of the keyring; never one of the HTTP exchange.
	cause error
}

// Error is safe for logs and job errors.
func (e *Error) Error() string {
	s := fmt.Sprintf("google access token: %s: %s", e.Class, e.Reason)
	if e.HTTPStatus != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.HTTPStatus)
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return redact.Text(s)
}

// Unwrap gives the cause inside our own process, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// Catalogued is the error of the contract: GOOGLE_RECONNECT_REQUIRED, UNAVAILABLE or INTERNAL.
func (e *Error) Catalogued() *errs.Error {
	switch e.Class {
	case NeedsReconnect:
		return errs.New(errs.GoogleReconnectRequired, errs.T(
			"Google アカウントとの接続が切れています。接続し直すまで書き込めません。",
			"The connection to the Google account is no longer valid; nothing can be written until it is connected again."))
	case Operator:
		return errs.New(errs.Internal, errs.Tf(
			"このサーバーの Google 連携設定に誤りがあります (%s)。運用担当に連絡してください。",
			"This server's Google configuration is wrong (%s); tell the operator.", e.Reason))
	default:
		return errs.New(errs.Unavailable, errs.T(
			"Google の認証サーバーに一時的に接続できません。",
			"Google's authorization server cannot be reached at the moment."))
	}
}

// As lets errs.From find the catalogued form.
func (e *Error) As(target any) bool {
	if t, ok := target.(**errs.Error); ok {
		*t = e.Catalogued()
		return true
	}
	return false
}
