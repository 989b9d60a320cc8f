package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/locsync"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
)

// Who is who in the demo.
const (
	tenantID     authn.TenantID = "komorebi"
	userID       authn.UserID   = "hanako"
	clientID     authn.ClientID = "demo-agent"
	connectionID                = "google"
	operatorName                = "demo"
)

// enrol declares the tenant with a user, an agent, its token and the connected Google account, as `mappy-mcp apply` does,
// and reads the stores from Google, as `mappy-mcp location sync` does.
func (s *stage) enrol(ctx context.Context, _ Options) error {
	sealed, err := s.app.Keys.Seal([]byte(gbpsim.DemoRefreshToken), gtoken.Binding(tenantID, connectionID, gtoken.RefreshToken))
	if err != nil {
		return err
	}
	s.token = authn.NewToken(s.config.Environment)
	err = s.app.DB.Save(ctx, postgres.Setup{
		ID: tenantID, Name: "こもれび珈琲", Locale: errs.Japanese, Timezone: "Asia/Tokyo",
		Users:   []postgres.SetupUser{{ID: userID, Email: "hanako@komorebi-coffee.example", Role: "admin", Grants: authn.Grants{All: true}}},
		Clients: []postgres.SetupClient{{ID: clientID, Name: "The demo's agent"}},
		Tokens: []postgres.NewToken{{
			// Limits are counted per token: one of its own keeps a second demo on the same Redis out of this one's.
			ID: authn.TokenID(s.database.name), Client: clientID, User: userID, Hash: authn.HashToken(s.token),
			Scopes: []string{
				"locations:read", "locations:write", "posts:read", "posts:write", "posts:delete", "reviews:read", "reviews:write", "reviews:delete",
				"media:read", "media:write", "media:delete", "batches:read", "batches:cancel", "reports:create", "audit:read",
			},
		}},
		Connections: []postgres.SetupConnection{{ID: connectionID, GoogleEmail: gbpsim.DemoEmail, RefreshTokenSealed: sealed}},
	}, operatorName)
	if err != nil {
		return fmt.Errorf("declare the tenant: %w", err)
	}
	results, err := locsync.Tenant(ctx, locsync.Metered(s.app.Google, s.app.Slots), s.app.DB, tenantID, operatorName)
	if err != nil {
		return fmt.Errorf("read the stores: %w", err)
	}
	for _, r := range results {
		if r.Error != "" {
			return fmt.Errorf("read the stores: %w", errors.New(r.Error))
		}
	}
	return nil
}
