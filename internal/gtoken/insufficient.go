package gtoken

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
)

// InsufficientScope is the dead reason of a grant that lacks the scope of the business profile APIs.
const InsufficientScope = "insufficient_scope"

// Insufficient tells that Google refused the token because its grant lacks the scope. All our calls need that one scope, so
// the connection is marked dead, if the token is still the row's: after a reconnect it is not, and nothing happens. When
// the row cannot be written the next call that is refused tells again.
func (s *Source) Insufficient(ctx context.Context, tenant authn.TenantID, connection, token string) {
	k := key{tenant, connection}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.RefreshTimeout)
	defer cancel()
	err := s.o.Store.WithConnection(ctx, tenant, connection, func(_ context.Context, c Connection) (*Update, error) {
		if c.State == Dead || len(c.AccessTokenSealed) == 0 {
			return nil, nil //nolint:nilnil // nothing to write
		}
		plain, err := s.o.Keys.Open(c.AccessTokenSealed, Binding(tenant, connection, AccessToken))
		if err != nil || string(plain) != token {
			return nil, nil //nolint:nilerr,nilnil // another token than the one that was refused
		}
		return &Update{Dead: true, DeadReason: InsufficientScope, Event: EventDead}, nil
	})
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remembered[k].token == token {
		delete(s.remembered, k)
	}
}
