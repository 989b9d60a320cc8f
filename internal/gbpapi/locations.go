package gbpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	businessinformation "google.golang.org/api/mybusinessbusinessinformation/v1"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// locationPage is Google's page size limit of accounts.locations.list (Business Information v1 reference, read 2026-11).
const locationPage = 100

// readMask names every field that the mirror keeps; Google requires a mask on every read of a location.
const readMask = "name,languageCode,storeCode,title,phoneNumbers,categories,storefrontAddress,websiteUri,regularHours,specialHours,moreHours,labels,openInfo,profile,metadata"

// ListLocations reads all pages of one account and gives each non-empty page to yield, whose error ends the listing and
// comes back as it is. The account must be named: "accounts/-" would lose which account a location belongs to, and posts
// cannot be written without knowing it. truncated is true when the page limit was reached before the last page.
//
// Locations come without our own id and zone; SyncedAt is when their page was asked for.
func (c *Client) ListLocations(ctx context.Context, ref Ref, account gbp.AccountName, yield func([]gbp.Location) error) (truncated bool, err error) {
	return c.FindLocations(ctx, ref, account, "", yield)
}

// FindLocations is ListLocations with a filter in Google's language, such as `storeCode="A1" AND title:"渋谷"`; "" is all.
// A filter that Google does not understand is refused with GBP_INVALID_ARGUMENT.
func (c *Client) FindLocations(ctx context.Context, ref Ref, account gbp.AccountName, filter string, yield func([]gbp.Location) error) (truncated bool, err error) {
	k := call{name: "locations.list", ref: ref}
	if a, _, err := gbp.ParseLocationName(string(account) + "/locations/x"); err != nil || a != account || account == "accounts/-" {
		return false, k.fail(Refused, errs.Internal, "not an account name", nil)
	}
	s, err := c.locationsService(ctx, k)
	if err != nil {
		return false, err
	}
	return pages(c.maxPages, func(token string) (string, error) {
		q := s.Accounts.Locations.List(string(account)).ReadMask(readMask).PageSize(locationPage).Context(ctx)
		if filter != "" {
			q.Filter(filter)
		}
		if token != "" {
			q.PageToken(token)
		}
		at := c.now()
		page, err := q.Do()
		if err != nil {
			return "", k.generatedError(ctx, err)
		}
		var found []gbp.Location
		for _, l := range page.Locations {
			if l == nil {
				continue
			}
			loc, failed := c.location(k, ref, account, l, at)
			if failed != nil {
				return "", failed
			}
			found = append(found, loc)
		}
		if len(found) > 0 {
			if err := yield(found); err != nil {
				return "", err
			}
		}
		return page.NextPageToken, nil
	})
}

// location translates Google's location, asked for at at.
func (c *Client) location(k call, ref Ref, account gbp.AccountName, l *businessinformation.Location, at time.Time) (gbp.Location, *Error) {
	l = storable(l)
	if a, n, err := gbp.ParseLocationName(l.Name); err != nil || a != "" || string(n) != l.Name {
		return gbp.Location{}, k.unclear("a location without a v1 name", nil)
	}
	out := gbp.Location{ConnectionID: ref.Connection, Account: account, Name: gbp.LocationName(l.Name), Profile: profile(l), SyncedAt: at}
	if m := l.Metadata; m != nil {
		out.PendingGoogleEdit = m.HasPendingEdits || m.HasGoogleUpdated
		out.Verified = m.HasVoiceOfMerchant
		out.MapsURI, out.PlaceID = m.MapsUri, m.PlaceId
	}
	if l.OpenInfo != nil {
		out.OpenStatus = l.OpenInfo.Status
	}
	out.Version = out.Profile.Version()
	return out, nil
}

// storable is a location whose texts have no NUL, which PostgreSQL cannot hold: one store's title must not keep the others of its
// connection from being stored.
func storable(l *businessinformation.Location) *businessinformation.Location {
	raw, err := json.Marshal(l)
	clean := withoutNUL(raw)
	if err != nil || len(clean) == len(raw) {
		return l
	}
	var out businessinformation.Location
	if json.Unmarshal(clean, &out) != nil {
		return l // unreachable: it is what was marshalled, some characters shorter
	}
	return &out
}

// withoutNUL drops the escape sequence of NUL from the texts of a JSON document, which can hold it in no other way.
func withoutNUL(raw []byte) []byte {
	const nul = `\u0000`
	if !bytes.Contains(raw, []byte(nul)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] != '\\' || i+1 == len(raw):
			out = append(out, raw[i])
		case bytes.HasPrefix(raw[i:], []byte(nul)):
			i += len(nul) - 1
		default: // a backslash and what it escapes
			out = append(out, raw[i], raw[i+1])
			i++
		}
	}
	return out
}

func profile(l *businessinformation.Location) gbp.Profile {
	p := gbp.Profile{
		Title: l.Title, StoreCode: l.StoreCode, LanguageCode: l.LanguageCode, WebsiteURL: l.WebsiteUri, Labels: l.Labels,
		RegularHours: rawOf(l.RegularHours), SpecialHours: rawOf(l.SpecialHours), OpenInfo: rawOf(l.OpenInfo),
		Categories: rawOf(categories(l.Categories)),
	}
	if len(l.MoreHours) > 0 {
		p.MoreHours = rawOf(&l.MoreHours)
	}
	if l.PhoneNumbers != nil {
		p.PrimaryPhone, p.AdditionalPhones = l.PhoneNumbers.PrimaryPhone, l.PhoneNumbers.AdditionalPhones
	}
	if l.Profile != nil {
		p.Description = l.Profile.Description
	}
	if a := l.StorefrontAddress; a != nil {
		p.City, p.AddressSummary = a.Locality, addressLine(a)
	}
	return p
}

// categories drops Google's catalogue (service types, kinds of hours): it is large, output only, and changes without an edit.
func categories(c *businessinformation.Categories) *businessinformation.Categories {
	if c == nil {
		return nil
	}
	slim := func(x *businessinformation.Category) *businessinformation.Category {
		if x == nil {
			return nil
		}
		return &businessinformation.Category{Name: x.Name, DisplayName: x.DisplayName}
	}
	out := &businessinformation.Categories{PrimaryCategory: slim(c.PrimaryCategory)}
	for _, x := range c.AdditionalCategories {
		out.AdditionalCategories = append(out.AdditionalCategories, slim(x))
	}
	return out
}

// addressLine is for people: large to small in Japanese order for JP, small to large elsewhere.
func addressLine(a *businessinformation.PostalAddress) string {
	join := func(sep string, parts ...string) string {
		kept := parts[:0:0]
		for _, p := range parts {
			if p = strings.TrimSpace(p); p != "" {
				kept = append(kept, p)
			}
		}
		return strings.Join(kept, sep)
	}
	lines := strings.Join(a.AddressLines, " ")
	if a.RegionCode == "JP" {
		postal := ""
		if a.PostalCode != "" {
			postal = "〒" + a.PostalCode
		}
		return join(" ", postal, join("", a.AdministrativeArea, a.Locality, a.Sublocality, lines))
	}
	return join(", ", lines, a.Sublocality, a.Locality, a.AdministrativeArea, a.PostalCode, a.RegionCode)
}

// rawOf is a part of a location as Google's JSON, nil for an absent one.
func rawOf[T any](v *T) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil // unreachable: these are plain structs
	}
	return b
}
