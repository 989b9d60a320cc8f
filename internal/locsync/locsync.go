// Package locsync fills a tenant's mirror of locations from Google: all accounts and all pages that a connection can see.
package locsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
)

// Google and Store are what a sync works with.
type (
	// Google lists accounts and their locations.
	Google interface {
		ListAccounts(ctx context.Context, ref gbpapi.Ref) (gbpapi.AccountList, error)
		ListLocations(ctx context.Context, ref gbpapi.Ref, account gbp.AccountName, yield func([]gbp.Location) error) (truncated bool, err error)
		// GetGoogleUpdated gives what Google shows of a location in the place of the merchant's data.
		GetGoogleUpdated(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName) (gbpapi.GoogleVersion, error)
	}
	// Store keeps the mirror.
	Store interface {
		ListConnections(ctx context.Context, tenant authn.TenantID) ([]postgres.ConnectionInfo, error)
		Record(ctx context.Context, tenant authn.TenantID, events ...audit.Event) error
		SaveLocations(ctx context.Context, tenant authn.TenantID, connection string, found []gbp.Location, complete bool) (postgres.SyncResult, error)
	}
)

// Result is what one connection's sync did.
type Result struct {
	Connection string `json:"connection_id"`
	Accounts   int    `json:"accounts"`
	postgres.SyncResult
	// Truncated is true when Google had more pages than are read; nothing counts as gone then.
	Truncated bool   `json:"truncated,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Tenant syncs every living connection of a tenant. One connection's failure is part of its result and does not stop the others.
// operator is who asked for it.
func Tenant(ctx context.Context, g Google, s Store, tenant authn.TenantID, operator string) ([]Result, error) {
	list, err := s.ListConnections(ctx, tenant)
	if err != nil {
		return nil, err
	}
	out := []Result{}
	for _, c := range list {
		r := Result{Connection: c.ID}
		if c.State == "alive" {
			r, err = Connection(ctx, g, s, tenant, c.ID, operator)
			if err != nil {
				r.Error = err.Error()
			}
		} else {
			r.Error = "the connection is dead (" + c.DeadReason + ") and has to be reconnected"
		}
		out = append(out, r)
	}
	return out, nil
}

// Connection syncs one connection and records that it did, or why it failed. operator is "" for the server itself.
func Connection(ctx context.Context, g Google, s Store, tenant authn.TenantID, id, operator string) (Result, error) {
	r, err := read(ctx, g, s, tenant, id)
	e := audit.Event{Kind: audit.LocationsSynced, Resource: id, Result: "synced", Actor: audit.Actor{OperatorID: operator}}
	switch {
	case err != nil:
		e.Result, e.ErrorCode = "failed", errs.CodeOf(err)
	case r.Truncated:
		e.Result = "truncated"
	}
	e.Details = &audit.Details{TargetCount: r.Found, Note: fmt.Sprintf("%d accounts, %d added, %d changed, %d gone", r.Accounts, r.Added, r.Changed, r.Gone)}
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	return r, errors.Join(err, s.Record(recording, tenant, e))
}

// recordTime is for writing a sync down, apart from the time of the sync.
const recordTime = 2 * time.Second

func read(ctx context.Context, g Google, s Store, tenant authn.TenantID, id string) (Result, error) {
	r := Result{Connection: id}
	ref := gbpapi.Ref{Tenant: tenant, Connection: id}
	accounts, err := g.ListAccounts(ctx, ref)
	if err != nil {
		return r, fmt.Errorf("accounts: %w", err)
	}
	r.Accounts, r.Truncated = len(accounts.Accounts), accounts.Truncated
	seen := map[gbp.LocationName]bool{}
	var found []gbp.Location
	for _, a := range accounts.Accounts {
		truncated, err := g.ListLocations(ctx, ref, a.Name, func(page []gbp.Location) error {
			for _, l := range page {
				if !seen[l.Name] { // a location of a group is listed for the group only, but nothing promises it
					seen[l.Name] = true
					found = append(found, l)
				}
			}
			return nil
		})
		if err != nil {
			return r, fmt.Errorf("locations of %s: %w", a.Name, err)
		}
		r.Truncated = r.Truncated || truncated
	}
	versions(ctx, g, ref, found)
	r.SyncResult, err = s.SaveLocations(ctx, tenant, id, found, !r.Truncated)
	return r, err
}
