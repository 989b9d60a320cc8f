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

// accountsAPI is the API of accounts, whose quota only a sync spends.
const accountsAPI = "mybusinessaccountmanagement.v1"

// Slots share Google's quotas.
type Slots interface {
	Reserve(ctx context.Context, r slots.Request) (slots.Answer, error)
}

// Metered is a Google whose calls wait for a slot of low priority, one per exchange. It waits as long as ctx lets it; while Redis
// is away it gives UNAVAILABLE and calls nothing.
func Metered(g Google, s Slots) Google { return metered{g, s} }

type metered struct {
	Google
	slots Slots
}

// ListAccounts implements Google.
func (m metered) ListAccounts(ctx context.Context, ref gbpapi.Ref) (list gbpapi.AccountList, err error) {
	err = m.booked(ctx, accountsAPI, ref.Tenant, func(ctx context.Context) (err error) {
		list, err = m.Google.ListAccounts(ctx, ref)
		return err
	})
	return list, err
}

// ListLocations implements Google.
func (m metered) ListLocations(ctx context.Context, ref gbpapi.Ref, account gbp.AccountName, yield func([]gbp.Location) error) (truncated bool, err error) {
	err = m.booked(ctx, gbp.APIBusinessInformation, ref.Tenant, func(ctx context.Context) (err error) {
		truncated, err = m.Google.ListLocations(ctx, ref, account, yield)
		return err
	})
	return truncated, err
}

// booked makes a call each of whose exchanges with Google waits for a slot: the first one, further pages, repeats after a 401.
func (m metered) booked(ctx context.Context, api string, tenant authn.TenantID, call func(context.Context) error) error {
	return gbpapi.Metered(ctx, func(ctx context.Context) error { return m.await(ctx, api, tenant) }, call)
}

// patience is how long a slot is waited for: longer than a sync may take, whose own bound is its context's.
const patience = time.Hour

func (m metered) await(ctx context.Context, api string, tenant authn.TenantID) error {
	if _, err := slots.Await(ctx, m.slots, slots.Request{API: api, Tenant: tenant, Low: true}, patience); err != nil {
		return fmt.Errorf("slot: %w", err)
	}
	return nil
}
