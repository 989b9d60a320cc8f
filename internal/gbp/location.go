package gbp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Location is our mirror of one store's profile, as the last sync found it.
type Location struct {
	ID           LocationID   `json:"id"`
	ConnectionID string       `json:"connection_id"`
	Account      AccountName  `json:"account"`
	Name         LocationName `json:"name"`
	Profile      Profile      `json:"profile"`
	// Timezone is the store's IANA zone; Google has no such field, so it is the tenant's unless configured.
	Timezone string `json:"timezone"`
	// PendingGoogleEdit is true while Google holds an edit of its own or of ours that is not live.
	PendingGoogleEdit bool `json:"pending_google_edit"`
	// Verified is Google's hasVoiceOfMerchant: without it edits are accepted and never shown.
	Verified bool `json:"verified"`
	// OpenStatus is Google's openInfo.status.
	OpenStatus string `json:"open_status"`
	// MapsURI and PlaceID are Google's, for people who want to look.
	MapsURI  string    `json:"maps_uri,omitempty"`
	PlaceID  string    `json:"place_id,omitempty"`
	Version  string    `json:"version"`
	SyncedAt time.Time `json:"synced_at"`
	// Attributes is the list of Google's attributes resource as it was read last, at AttributesAt; nil is not known. Reading it
	// costs a call per store, so it is read when somebody asks, and it is no part of Version.
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	AttributesAt time.Time       `json:"attributes_at,omitzero"`
	// GoogleVersion is Google's own version of the store, where it holds one and that was read.
	GoogleVersion *GoogleVersion `json:"google_version,omitempty"`
	// Disconnected is true while the store's connection has to be renewed by a person.
	Disconnected bool `json:"disconnected,omitempty"`
}

// GoogleVersion is what Google shows of a store in the place of the merchant's data (getGoogleUpdated).
type GoogleVersion struct {
	// Diff are field paths in which the live version differs from the merchant's, Pending those with an edit of the merchant's
	// own still in flight.
	Diff    []string `json:"diff,omitempty"`
	Pending []string `json:"pending,omitempty"`
	// Live are the fields of Diff as Google's JSON.
	Live json.RawMessage `json:"live,omitempty"`
}

// OldestSync is when the stalest of the locations was read from Google, and now when there is none.
func OldestSync(list []Location, now time.Time) time.Time {
	for _, l := range list {
		if l.SyncedAt.Before(now) {
			now = l.SyncedAt
		}
	}
	return now
}

// Profile are the fields of a store's profile that the mirror keeps.
type Profile struct {
	Title            string   `json:"title"`
	StoreCode        string   `json:"store_code,omitempty"`
	LanguageCode     string   `json:"language_code,omitempty"`
	PrimaryPhone     string   `json:"primary_phone,omitempty"`
	AdditionalPhones []string `json:"additional_phones,omitempty"`
	WebsiteURL       string   `json:"website_url,omitempty"`
	Description      string   `json:"description,omitempty"`
	Labels           []string `json:"labels,omitempty"`
	City             string   `json:"city,omitempty"`
	// AddressSummary is one line for people.
	AddressSummary string `json:"address_summary,omitempty"`
	// Hours, categories and the opening status are Google's JSON; package profile reads and changes them.
	RegularHours json.RawMessage `json:"regular_hours,omitempty"`
	SpecialHours json.RawMessage `json:"special_hours,omitempty"`
	MoreHours    json.RawMessage `json:"more_hours,omitempty"`
	Categories   json.RawMessage `json:"categories,omitempty"`
	OpenInfo     json.RawMessage `json:"open_info,omitempty"`
}

// Version is a digest of all editable fields of the mirror; a follow-up write passes it as expected_version. City, address and
// language cannot be edited here and are no part of it; what a confirmation binds is the rendered text, with a city in it.
func (p Profile) Version() string {
	p.City, p.AddressSummary, p.LanguageCode = "", "", ""
	b, err := json.Marshal(p)
	if err != nil {
		panic("gbp: a profile always marshals: " + err.Error())
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16])
}

// LocationFilter narrows a list of locations; zero values do not narrow.
type LocationFilter struct {
	// Query matches part of title, store code, city or address, whatever the case.
	Query  string
	Labels []string
	IDs    []LocationID
	// After is the id behind which the page starts.
	After LocationID
	Limit int
}
