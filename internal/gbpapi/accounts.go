package gbpapi

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// accountPage is Google's page size limit of accounts.list (Account Management v1 reference, read 2026-11).
const accountPage = 20

// Account is a Google Business Profile account that a connection can see.
type Account struct {
	Name  gbp.AccountName
	Title string
	// Type is PERSONAL, LOCATION_GROUP, USER_GROUP or ORGANIZATION; Role is PRIMARY_OWNER, OWNER, MANAGER or SITE_MANAGER.
	// Both sets are open.
	Type string
	Role string
}

// AccountList are the accounts of a connection, the personal one first.
type AccountList struct {
	Accounts []Account
	// Truncated is true when the page limit was reached before the last page.
	Truncated bool
}

// ListAccounts reads all pages.
func (c *Client) ListAccounts(ctx context.Context, ref Ref) (AccountList, error) {
	k := call{name: "accounts.list", ref: ref}
	s, err := c.accountsService(ctx, k)
	if err != nil {
		return AccountList{}, err
	}
	var out AccountList
	out.Truncated, err = pages(c.maxPages, func(token string) (string, error) {
		q := s.Accounts.List().PageSize(accountPage).Context(ctx)
		if token != "" {
			q.PageToken(token)
		}
		page, err := q.Do()
		if err != nil {
			return "", k.generatedError(ctx, err)
		}
		for _, a := range page.Accounts {
			if a != nil {
				out.Accounts = append(out.Accounts, Account{Name: gbp.AccountName(a.Name), Title: a.AccountName, Type: a.Type, Role: a.Role})
			}
		}
		return page.NextPageToken, nil
	})
	if err != nil {
		return AccountList{}, err
	}
	return out, nil
}
