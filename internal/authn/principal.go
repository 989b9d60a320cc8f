// Package authn says who is calling: the agent (client), the person it acts for (user), the token it came with, and
// what that token may do. What a principal may do is always read from the database, never from arguments.
package authn

import (
	"context"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
)

// The ids of a principal are distinct types, so that mixing them up does not compile.
type (
	// TenantID names a customer.
	TenantID string
	// ClientID names an agent.
	ClientID string
	// UserID names the person an agent acts for.
	UserID string
	// TokenID names an access token; it is not the token.
	TokenID string
)

// SystemTenant owns what happens before a tenant is known, such as refused tokens.
const SystemTenant TenantID = "system"

// Principal is the authenticated caller with the tenant's settings, read in one trip at the start of a call.
type Principal struct {
	TenantID    TenantID
	ClientID    ClientID
	UserID      UserID
	TokenID     TokenID
	Scopes      []string
	Grants      Grants
	Environment string
	Locale      errs.Locale
	// Timezone is the tenant's IANA zone; it decides where a day begins.
	Timezone *time.Location
	Policy   policy.Policy
	// Kill lists the kill switches that are on for this tenant or for everything.
	Kill []KillSwitch
	// ExpiresAt is when the token ends; zero for one without an end.
	ExpiresAt time.Time
}

// Grants are the locations a user may touch; the zero value is none.
type Grants struct {
	All         bool     `json:"all,omitempty" yaml:"all"`
	Labels      []string `json:"labels,omitempty" yaml:"labels"`
	LocationIDs []int64  `json:"location_ids,omitempty" yaml:"location_ids"`
	// Fields are the fields of store data (the contract's names) that the user may change with location.update, nil for all;
	// an empty list is none. DeniedFields are taken away from them.
	Fields       []string `json:"fields,omitzero" yaml:"fields"`
	DeniedFields []string `json:"denied_fields,omitempty" yaml:"denied_fields"`
}

// MayEdit tells whether a field of store data may be changed.
func (g Grants) MayEdit(field string) bool {
	return (g.Fields == nil || slices.Contains(g.Fields, field)) && !slices.Contains(g.DeniedFields, field)
}

// Cover tells whether a location with these labels is granted.
func (g Grants) Cover(locationID int64, labels []string) bool {
	if g.All || slices.Contains(g.LocationIDs, locationID) {
		return true
	}
	return slices.ContainsFunc(labels, func(l string) bool { return slices.Contains(g.Labels, l) })
}

// KillSwitch is one switch that is on. Kind is "all", "tenant", "client" or "tool"; Target names the client or tool.
type KillSwitch struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// HasScope tells whether the token carries a scope.
func (p *Principal) HasScope(scope string) bool { return slices.Contains(p.Scopes, scope) }

// Killed gives the first switch that stops this caller from using the tool.
func (p *Principal) Killed(tool string) (KillSwitch, bool) { return Stops(p.Kill, p.ClientID, tool) }

// Stops gives the first of the switches that stops the client from using the tool.
func Stops(switches []KillSwitch, client ClientID, tool string) (KillSwitch, bool) {
	for _, k := range switches {
		switch k.Kind {
		case "all", "tenant":
			return k, true
		case "client":
			if k.Target == string(client) {
				return k, true
			}
		case "tool":
			if k.Target == tool {
				return k, true
			}
		}
	}
	return KillSwitch{}, false
}

// Authenticator turns a bearer token into a principal. It gives UNAUTHENTICATED for a token that is missing, malformed,
// unknown, expired, revoked or of another environment (always the same answer), and UNAVAILABLE when it cannot be looked up.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (*Principal, error)
}
