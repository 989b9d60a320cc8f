package gtoken

import (
	"context"
	"errors"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
)

// State says whether a connection's grant still works.
type State string

// The states of a connection. A dead one comes back to life only by connecting the Google account again.
const (
	Alive State = "alive"
	Dead  State = "dead"
)

// Connection is one Google account of a tenant, as its row stands.
type Connection struct {
	Tenant authn.TenantID
	ID     string
	State  State
	// RefreshTokenSealed is never empty while alive. AccessTokenSealed is empty before the first refresh and after a new connect.
	RefreshTokenSealed []byte
	AccessTokenSealed  []byte
	// AccessExpiresAt is by the clock of the process that refreshed; zero without an access token.
	AccessExpiresAt time.Time
	// Generation grows by one with every update of the row's tokens.
	Generation int64
}

// Event names what happened to a connection, for the audit log.
type Event string

// The events of a connection.
const (
	EventRefreshed Event = "refreshed"
	EventDead      Event = "dead"
)

// Update is what one refresh changes in the row. A store writes it in the transaction that holds the row's lock, together
// with the audit entry, and adds one to the generation.
type Update struct {
	// RefreshTokenSealed replaces the stored one; nil keeps it, because Google's usual answer has none.
	RefreshTokenSealed []byte
	AccessTokenSealed  []byte
	AccessExpiresAt    time.Time
	// Dead marks the connection dead; the token fields are empty then and the stored ones are kept.
	Dead bool
	// DeadReason is an OAuth error code such as "invalid_grant": a short word, safe to store and show.
	DeadReason string
	Event      Event
}

// ErrNoConnection is what a store gives for a connection that does not exist or is not the tenant's.
var ErrNoConnection = errors.New("gtoken: no such connection")

// Store keeps connections. PostgreSQL is the real one.
type Store interface {
	// ReadConnection reads the row without a lock.
	ReadConnection(ctx context.Context, tenant authn.TenantID, id string) (Connection, error)
	// WithConnection locks the row against every other process, reads it, runs fn once, writes what fn returns and commits.
	// The lock is held while fn talks to Google, up to Options.RefreshTimeout. A nil update writes nothing. When fn fails
	// nothing is written and its error comes back. An error after fn succeeded means that the update may not be stored.
	WithConnection(ctx context.Context, tenant authn.TenantID, id string, fn func(ctx context.Context, c Connection) (*Update, error)) error
}

// Keys seal and open tokens; *keyring.Keyring is the real one.
type Keys interface {
	Seal(plaintext, binding []byte) ([]byte, error)
	Open(sealed, binding []byte) ([]byte, error)
}

// Kind is which of a connection's tokens a sealed value is.
type Kind string

// The two tokens of a connection.
const (
	RefreshToken Kind = "refresh_token"
	AccessToken  Kind = "access_token"
)

// Binding is the associated data under which a connection's token is sealed. Whoever stores a refresh token (connecting an
// account, re-encrypting after a key rotation) uses it too.
func Binding(tenant authn.TenantID, connection string, kind Kind) []byte {
	return keyring.Binding(string(tenant), connection, string(kind))
}
