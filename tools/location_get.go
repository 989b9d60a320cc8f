package tools

import (
	"context"
	"strconv"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type locationGetQuery struct {
	LocationID gbp.LocationID `json:"location_id"`
}

// LocationDetail is the answer of location.get.
type LocationDetail struct {
	LocationEntry
	LanguageCode      string   `json:"language_code,omitempty" jsonschema:"language of the profile (BCP 47)"`
	PrimaryPhone      string   `json:"primary_phone,omitempty" jsonschema:"main phone number"`
	AdditionalPhones  []string `json:"additional_phones" jsonschema:"further phone numbers"`
	WebsiteURL        string   `json:"website_url,omitempty" jsonschema:"website"`
	Description       string   `json:"description,omitempty" jsonschema:"description of the business"`
	RegularHours      string   `json:"regular_hours,omitempty" jsonschema:"regular opening hours, Google's JSON as a string"`
	SpecialHours      string   `json:"special_hours,omitempty" jsonschema:"special opening hours, Google's JSON as a string"`
	MoreHours         string   `json:"more_hours,omitempty" jsonschema:"hours of single services, Google's JSON as a string"`
	Categories        string   `json:"categories,omitempty" jsonschema:"categories, Google's JSON as a string"`
	OpenInfo          string   `json:"open_info,omitempty" jsonschema:"open status and opening date, Google's JSON as a string"`
	Timezone          string   `json:"timezone" jsonschema:"IANA time zone in which the store's dates and times are read"`
	GoogleLocation    string   `json:"google_location" jsonschema:"Google's own name of the location"`
	MapsURI           string   `json:"maps_uri,omitempty" jsonschema:"page of the store on Google Maps"`
	PendingGoogleEdit bool     `json:"pending_google_edit" jsonschema:"whether Google is still reviewing an edit"`
	SyncedAt          string   `json:"synced_at" jsonschema:"RFC 3339 time of the last sync with Google"`
}

func locationGet(s *Set) (Tool, error) {
	t := Tool{
		Name: "location.get", Title: "Read one store", Scope: "locations:read", ReadOnly: true, Idempotent: true,
		Description: "Reads one store with all its editable fields, its version and whether Google is reviewing an edit, from Mappy's own copy (synced_at says how old it is). Changes nothing.",
		Input: schema.Object{Fields: []schema.Field{
			schema.LocationID("location_id", "Id of the store, from location.list.", schema.Required(), schema.Example("8802")),
		}},
	}
	var err error
	t.Output, err = output[LocationDetail]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q locationGetQuery) (Result, error) {
		l, err := s.location(ctx, call, q.LocationID)
		if err != nil {
			return Result{}, err
		}
		p := l.Profile
		return success(errs.Tf("%[1]s (%[2]s) の情報です。", "%[1]s (%[2]s).", p.Title, p.StoreCode).In(call.Principal.Locale), LocationDetail{
			LocationEntry: s.entry(call.Principal, l), LanguageCode: p.LanguageCode, PrimaryPhone: p.PrimaryPhone, AdditionalPhones: append([]string{}, p.AdditionalPhones...),
			WebsiteURL: p.WebsiteURL, Description: p.Description, RegularHours: string(p.RegularHours), SpecialHours: string(p.SpecialHours), MoreHours: string(p.MoreHours),
			Categories: string(p.Categories), OpenInfo: string(p.OpenInfo), Timezone: l.Timezone, GoogleLocation: string(l.Name), MapsURI: l.MapsURI,
			PendingGoogleEdit: l.PendingGoogleEdit, SyncedAt: stamp(l.SyncedAt),
		})
	})
	return t, err
}

// location finds one granted location; an absent and a foreign one give the same answer.
func (s *Set) location(ctx context.Context, call *Call, id gbp.LocationID) (gbp.Location, error) {
	found, err := s.Store.Locations(ctx, call.Principal.TenantID, []gbp.LocationID{id})
	if err != nil {
		return gbp.Location{}, err
	}
	if len(found) == 0 || !call.Principal.Grants.Cover(int64(id), found[0].Profile.Labels) {
		return gbp.Location{}, errs.New(errs.LocationNotFound, errs.Tf("店舗 %d が見つかりません。", "Location %d not found.", id)).
			With(errs.Details{NotFound: []string{strconv.FormatInt(int64(id), 10)}})
	}
	return found[0], nil
}
