package gbpsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// World is what exists at Google: people's grants, accounts and stores. Its JSON form is the -seed file of cmd/gbpsim and
// the body of POST /admin/seed.
type World struct {
	// Project is the number of the Cloud project that quotas belong to; "" is "123456789012".
	Project string `json:"project,omitempty"`
	// OAuthClients are the clients that the token endpoint knows. When there is none, every client is accepted.
	OAuthClients []OAuthClient `json:"oauth_clients,omitempty"`
	Accounts     []Account     `json:"accounts,omitempty"`
	Locations    []Location    `json:"locations,omitempty"`
	Grants       []Grant       `json:"grants,omitempty"`
	Reviews      []Review      `json:"reviews,omitempty"`
}

// OAuthClient is a registered client of the token endpoint.
type OAuthClient struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Account is a Business Profile account. "" in Type, Role and VerificationState means LOCATION_GROUP, PRIMARY_OWNER and
// VERIFIED.
type Account struct {
	Name              AccountName `json:"name"`
	AccountName       string      `json:"account_name"`
	Type              string      `json:"type,omitempty"`
	Role              string      `json:"role,omitempty"`
	VerificationState string      `json:"verification_state,omitempty"`
	// Emails are the people who see the account and its locations; to everybody else it does not exist.
	Emails []string `json:"emails"`
}

// Location is a store. The plain fields become Google's v1 fields; raw fields are Google's JSON as it is.
type Location struct {
	Name               LocationName    `json:"name"`
	Account            AccountName     `json:"account"`
	Title              string          `json:"title"`
	StoreCode          string          `json:"store_code,omitempty"`
	LanguageCode       string          `json:"language_code,omitempty"` // "" is "ja"
	Phone              string          `json:"phone,omitempty"`
	AdditionalPhones   []string        `json:"additional_phones,omitempty"`
	Website            string          `json:"website,omitempty"`
	Description        string          `json:"description,omitempty"`
	RegionCode         string          `json:"region_code,omitempty"` // "" is "JP"
	PostalCode         string          `json:"postal_code,omitempty"`
	AdministrativeArea string          `json:"administrative_area,omitempty"`
	City               string          `json:"city,omitempty"`
	AddressLines       []string        `json:"address_lines,omitempty"`
	Labels             []string        `json:"labels,omitempty"`
	RegularHours       json.RawMessage `json:"regular_hours,omitempty"`
	SpecialHours       json.RawMessage `json:"special_hours,omitempty"`
	Categories         json.RawMessage `json:"categories,omitempty"`
	OpenInfo           json.RawMessage `json:"open_info,omitempty"` // absent is {"status":"OPEN"}
	// Metadata is Google's output-only metadata; absent is that of a verified store with a made-up place id.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Fields are further v1 fields by Google's names, such as "serviceArea". They win over the plain ones.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	// Attributes is the list of the attributes resource, as Google's JSON.
	Attributes json.RawMessage `json:"attributes,omitempty"`
	// VoiceOfMerchant is the whole VoiceOfMerchantState, as Google's JSON; absent is by metadata.hasVoiceOfMerchant.
	VoiceOfMerchant json.RawMessage `json:"voice_of_merchant,omitempty"`
	// PermissionDenied makes every v4 call and every v1 get for the store answer 403.
	PermissionDenied bool `json:"permission_denied,omitempty"`
	// Media is the gallery that a new location starts with, oldest first.
	Media []MediaSeed `json:"media,omitempty"`
	// PostsDisabled makes creating posts answer LOCATION_DISABLED_FOR_LOCAL_POST_API.
	PostsDisabled bool `json:"posts_disabled,omitempty"`
	// Unverified leaves hasVoiceOfMerchant out of the made-up metadata. A location whose metadata lacks it has no reviews to
	// read or answer.
	Unverified bool `json:"unverified,omitempty"`
}

// Grant is the consent of one person to the product: the refresh token that stands for the email.
type Grant struct {
	Email        string `json:"email"`
	RefreshToken string `json:"refresh_token"`
	// Revoked ends the grant: invalid_grant at the token endpoint, 401 for its access tokens.
	Revoked bool `json:"revoked,omitempty"`
}

const defaultProject = "123456789012"

// locationFields are the fields of a v1 Location, from the discovery document of Business Information v1 (2026-10-26).
func locationFields() []string {
	return []string{
		"name", "languageCode", "storeCode", "title", "phoneNumbers", "categories", "storefrontAddress", "websiteUri",
		"regularHours", "specialHours", "serviceArea", "labels", "adWordsLocationExtensions", "latlng", "openInfo", "metadata",
		"profile", "relationshipData", "moreHours", "serviceItems",
	}
}

// check reports every mistake of a world at once.
func (w World) check(known map[AccountName]bool, exists func(LocationName) bool) error {
	var problems []error
	accounts := maps.Clone(known)
	if accounts == nil {
		accounts = map[AccountName]bool{}
	}
	for i, a := range w.Accounts {
		if !a.Name.valid() {
			problems = append(problems, fmt.Errorf("accounts[%d]: name %q is not accounts/{id}", i, a.Name))
		}
		if !slices.Contains([]string{"", "PERSONAL", "LOCATION_GROUP", "USER_GROUP", "ORGANIZATION"}, a.Type) {
			problems = append(problems, fmt.Errorf("accounts[%d]: type %q does not exist", i, a.Type))
		}
		accounts[a.Name] = true
	}
	for i, l := range w.Locations {
		if !l.Name.valid() {
			problems = append(problems, fmt.Errorf("locations[%d]: name %q is not locations/{id}", i, l.Name))
		}
		if !accounts[l.Account] {
			problems = append(problems, fmt.Errorf("locations[%d]: account %q does not exist", i, l.Account))
		}
		for f := range l.Fields {
			if !slices.Contains(locationFields(), f) {
				problems = append(problems, fmt.Errorf("locations[%d]: Google has no location field %q", i, f))
			}
		}
		for _, m := range l.Media {
			if err := m.check(); err != nil {
				problems = append(problems, fmt.Errorf("locations[%d]: %w", i, err))
			}
		}
		if _, err := l.wire(); err != nil {
			problems = append(problems, fmt.Errorf("locations[%d]: %w", i, err))
		}
	}
	for i, r := range w.Reviews {
		there := exists(r.Location) || slices.ContainsFunc(w.Locations, func(l Location) bool { return l.Name == r.Location })
		if err := r.check(there); err != nil {
			problems = append(problems, fmt.Errorf("reviews[%d]: %w", i, err))
		}
	}
	for i, g := range w.Grants {
		if g.Email == "" || g.RefreshToken == "" {
			problems = append(problems, fmt.Errorf("grants[%d]: email and refresh_token are needed", i))
		}
	}
	for i, c := range w.OAuthClients {
		if c.ID == "" {
			problems = append(problems, fmt.Errorf("oauth_clients[%d]: id is needed", i))
		}
	}
	return errors.Join(problems...)
}

// wire is the location as v1 shows it, by field.
func (l Location) wire() (map[string]json.RawMessage, error) {
	type object map[string]json.RawMessage
	out := object{}
	set := func(into object, field string, v any, empty bool) {
		if !empty {
			b, _ := json.Marshal(v) // strings, string lists and objects of valid raw JSON always marshal
			into[field] = b
		}
	}
	for field, raw := range map[string]json.RawMessage{
		"regularHours": l.RegularHours, "specialHours": l.SpecialHours, "categories": l.Categories, "openInfo": l.OpenInfo, "metadata": l.Metadata,
	} {
		if len(raw) > 0 {
			out[field] = raw
		}
	}
	maps.Copy(out, l.Fields)
	if err := l.checkStore(); err != nil {
		return nil, err
	}
	for field, raw := range out {
		if !json.Valid(raw) {
			return nil, fmt.Errorf("%s is not JSON", field)
		}
	}
	plain := object{}
	set(plain, "name", l.Name, false)
	set(plain, "title", l.Title, l.Title == "")
	set(plain, "storeCode", l.StoreCode, l.StoreCode == "")
	language, region := orDefault(l.LanguageCode, "ja"), orDefault(l.RegionCode, "JP")
	set(plain, "languageCode", language, false)
	set(plain, "websiteUri", l.Website, l.Website == "")
	set(plain, "labels", l.Labels, len(l.Labels) == 0)
	set(plain, "profile", map[string]string{"description": l.Description}, l.Description == "")
	phones := object{}
	set(phones, "primaryPhone", l.Phone, l.Phone == "")
	set(phones, "additionalPhones", l.AdditionalPhones, len(l.AdditionalPhones) == 0)
	set(plain, "phoneNumbers", phones, len(phones) == 0)
	if l.City != "" || len(l.AddressLines) > 0 {
		address := object{}
		set(address, "regionCode", region, false)
		set(address, "languageCode", language, false)
		set(address, "postalCode", l.PostalCode, l.PostalCode == "")
		set(address, "administrativeArea", l.AdministrativeArea, l.AdministrativeArea == "")
		set(address, "locality", l.City, l.City == "")
		set(address, "addressLines", l.AddressLines, len(l.AddressLines) == 0)
		set(plain, "storefrontAddress", address, false)
	}
	set(plain, "openInfo", map[string]string{"status": "OPEN"}, false)
	cid := l.cid()
	metadata := object{
		"canDelete":    json.RawMessage("true"),
		"placeId":      json.RawMessage(`"ChIJ` + cid + `sim"`),
		"mapsUri":      json.RawMessage(`"https://maps.google.com/maps?cid=` + cid + `"`),
		"newReviewUri": json.RawMessage(`"https://search.google.com/local/writereview?placeid=ChIJ` + cid + `sim"`),
	}
	set(metadata, "hasVoiceOfMerchant", true, l.Unverified)
	set(plain, "metadata", metadata, false)
	for field, raw := range plain {
		if _, there := out[field]; !there {
			out[field] = raw
		}
	}
	return out, nil
}

// cid is the number by which Maps knows the store; made up, but stable.
func (l Location) cid() string {
	var h uint64 = 14695981039346656037
	for _, c := range []byte(l.Name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return stableDigits(h, 19)
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}
