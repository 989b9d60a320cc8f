package gbpsim

import (
	"slices"
	"strings"
)

type wireAccount struct {
	Name              AccountName `json:"name"`
	AccountName       string      `json:"accountName,omitempty"`
	Type              string      `json:"type"`
	Role              string      `json:"role"`
	VerificationState string      `json:"verificationState"`
	VettedState       string      `json:"vettedState"`
	AccountNumber     string      `json:"accountNumber,omitempty"`
}

func (a *Account) wire() wireAccount {
	return wireAccount{
		Name: a.Name, AccountName: a.AccountName, Type: orDefault(a.Type, "LOCATION_GROUP"), Role: orDefault(a.Role, "PRIMARY_OWNER"),
		VerificationState: orDefault(a.VerificationState, "VERIFIED"), VettedState: "NOT_VETTED", AccountNumber: strings.TrimPrefix(string(a.Name), "accounts/"),
	}
}

func (a *Account) personal() bool { return a.Type == "PERSONAL" }

// visibleAccounts are the caller's, the PERSONAL one first.
func (c *call) visibleAccounts() []*Account {
	var out []*Account
	for _, a := range c.sim.accounts {
		if slices.Contains(a.Emails, c.grant.email) {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b *Account) int {
		switch {
		case a.personal() == b.personal():
			return 0
		case a.personal():
			return -1
		}
		return 1
	})
	return out
}

// visible tells whether the caller sees an account.
func (c *call) visible(name AccountName) bool {
	return slices.ContainsFunc(c.sim.accounts, func(a *Account) bool { return a.Name == name && slices.Contains(a.Emails, c.grant.email) })
}

// listAccounts is GET /v1/accounts. Of filter it knows type=..., which is all that Google documents.
func (c *call) listAccounts() (reply, effect) {
	p, refusal := c.page(20, 20)
	if refusal != nil {
		return *refusal, nil
	}
	all := c.visibleAccounts()
	if f := c.parameter("filter"); f != "" {
		kind, ok := strings.CutPrefix(strings.ReplaceAll(f, " ", ""), "type=")
		if !ok {
			return c.unsimulated("filter"), nil
		}
		kind = strings.ToUpper(strings.Trim(kind, `"`))
		all = slices.DeleteFunc(all, func(a *Account) bool { return a.wire().Type != kind })
	}
	if c.parameter("parentAccount") != "" {
		return c.unsimulated("parentAccount"), nil
	}
	page, token := cut(c, p, all)
	var out struct {
		Accounts      []wireAccount `json:"accounts,omitempty"`
		NextPageToken string        `json:"nextPageToken,omitempty"`
	}
	for _, a := range page {
		out.Accounts = append(out.Accounts, a.wire())
	}
	out.NextPageToken = token
	return answer(out), nil
}

// getAccount is GET /v1/accounts/{a}.
func (c *call) getAccount() (reply, effect) {
	for _, a := range c.visibleAccounts() {
		if a.Name == c.account {
			return answer(a.wire()), nil
		}
	}
	return notFound(ruleNoAccess), nil
}
