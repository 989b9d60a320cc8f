package locsync

import (
	"context"
	"fmt"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
)

// The APIs whose quota a sync spends.
const (
	accountsAPI  = "mybusinessaccountmanagement.v1"
	locationsAPI = "mybusinessbusinessinformation.v1"
)

// Slots share Google's quotas.
type Slots interface {
	Reserve(ctx context.Context, r slots.Request) (slots.Answer, error)
}

// Metered is a Google whose calls wait for a slot of low priority, one per page. It waits as long as ctx lets it; while Redis
// is away it gives UNAVAILABLE and calls nothing.
func Metered(g Google, s Slots) Google { return metered{g, s} }

type metered struct {
	Google
	slots Slots
}

// ListAccounts implements Google. More than one page, of 20 accounts, is rare and not waited for.
func (m metered) ListAccounts(ctx context.Context, ref gbpapi.Ref) (gbpapi.AccountList, error) {
	if err := m.await(ctx, accountsAPI, ref.Tenant); err != nil {
		return gbpapi.AccountList{}, err
	}
	return m.Google.ListAccounts(ctx, ref)
}

// ListLocations implements Google.
func (m metered) ListLocations(ctx context.Context, ref gbpapi.Ref, account gbp.AccountName, yield func([]gbp.Location) error) (bool, error) {
	if err := m.await(ctx, locationsAPI, ref.Tenant); err != nil {
		return false, err
	}
	return m.Google.ListLocations(ctx, ref, account, func(page []gbp.Location) error {
		if err := yield(page); err != nil {
			return err
		}
		return m.await(ctx, locationsAPI, ref.Tenant) // for the page behind this one; behind the last it is spent for nothing
	})
}

// patience is how long a slot is waited for in one go; beyond it is asked for again.
const patience = slots.Horizon + time.Second

func (m metered) await(ctx context.Context, api string, tenant authn.TenantID) error {
	for {
		a, err := m.slots.Reserve(ctx, slots.Request{API: api, Tenant: tenant, Low: true, Patience: patience})
		if err != nil {
			return fmt.Errorf("slot: %w", err)
		}
		wait := a.Wait
		if a.Verdict != slots.Granted {
			wait = max(wait, 100*time.Millisecond)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		if a.Verdict == slots.Granted {
			return nil
		}
	}
}
