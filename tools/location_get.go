package tools

import (
	"context"
	"slices"
	"strconv"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type locationGetQuery struct {
	LocationID gbp.LocationID `json:"location_id"`
}

// LocationDetail is the answer of location.get.
type LocationDetail struct {
	LocationEntry
	Fields            profile.View  `json:"fields" jsonschema:"every field that location.update can change, in its words; absent ones are empty"`
	SpecialOmitted    int           `json:"special_hours_omitted,omitempty" jsonschema:"how many entries of special hours, the earliest ones, are left out for length"`
	AttributesAt      string        `json:"attributes_as_of,omitempty" jsonschema:"RFC 3339 time at which the attributes were read; absent while they are not known"`
	AttributesNote    string        `json:"attributes_note,omitempty" jsonschema:"why the attributes are old or missing"`
	LanguageCode      string        `json:"language_code,omitempty" jsonschema:"language of the profile (BCP 47); cannot be changed"`
	Timezone          string        `json:"timezone" jsonschema:"IANA time zone in which the store's dates and times are read"`
	GoogleLocation    string        `json:"google_location" jsonschema:"Google's own name of the location"`
	MapsURI           string        `json:"maps_uri,omitempty" jsonschema:"page of the store on Google Maps"`
	PendingGoogleEdit bool          `json:"pending_google_edit" jsonschema:"whether Google is still reviewing an edit, or shows a version of its own"`
	UnderReview       []string      `json:"under_review,omitempty" jsonschema:"fields with an edit that Google is still reviewing"`
	GoogleShows       []GoogleShows `json:"google_shows,omitempty" jsonschema:"fields that the public sees differently, because Google has a version of its own"`
	SyncedAt          string        `json:"synced_at" jsonschema:"RFC 3339 time of the last reading of the store from Google"`
}

// GoogleShows is a field that Google shows in a version of its own.
type GoogleShows struct {
	Field string `json:"field" jsonschema:"name of the field"`
	Value string `json:"value" jsonschema:"what the public sees, in the words of fields, as JSON in a string"`
}

func locationGet(s *Set) (Tool, error) {
	t := Tool{
		Name: "location.get", Title: "Read one store", Scope: "locations:read", ReadOnly: true, Idempotent: true, OpenWorld: true,
		Description: "Reads one store with all fields that location.update can change, its version for expected_version, and what Google is reviewing or shows differently, from Mappy's own copy (synced_at says how old it is). " +
			"Only the attributes are read from Google, at most once a minute (attributes_as_of). Changes nothing.",
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
		return success(errs.Tf("%[1]s (%[2]s) の情報です。", "%[1]s (%[2]s).", l.Profile.Title, l.Profile.StoreCode).In(call.Principal.Locale), s.detail(ctx, call, l))
	})
	return t, err
}

func (s *Set) detail(ctx context.Context, call *Call, l gbp.Location) LocationDetail {
	d := LocationDetail{
		LocationEntry: s.entry(call.Principal, l), LanguageCode: l.Profile.LanguageCode, Timezone: l.Timezone, GoogleLocation: string(l.Name), MapsURI: l.MapsURI,
		PendingGoogleEdit: l.PendingGoogleEdit, SyncedAt: stamp(l.SyncedAt),
	}
	list, at, err := s.Attributes.Read(ctx, call.Principal.TenantID, l)
	if err != nil { // the store is shown with what is known
		s.Log.WarnContext(ctx, "attributes not read", "request_id", call.RequestID, "tenant", call.Principal.TenantID, "error", err)
		d.AttributesNote = errs.T("属性は今 Google から読み取れません。", "The attributes cannot be read from Google at the moment.").In(call.Principal.Locale)
		list, at = l.Attributes, l.AttributesAt
	}
	if l.Attributes = list; len(list) > 0 {
		d.AttributesAt = stamp(at)
	}
	d.Fields = profile.ReadView(profile.OfLocation(l))
	if len(d.Fields.SpecialHours) > specialMost {
		d.Fields.SpecialHours = ranges(d.Fields.SpecialHours)
	}
	if n := len(d.Fields.SpecialHours) - shownMost; n > 0 { // the oldest are of least use
		d.Fields.SpecialHours, d.SpecialOmitted = d.Fields.SpecialHours[n:], n
	}
	if v := profile.GoogleUpdateOf(l.GoogleVersion); v != nil {
		d.UnderReview, d.GoogleShows = reviewed(*v)
	}
	return d
}

// reviewed are the fields that Google reviews, and those that it shows differently.
func reviewed(v profile.GoogleUpdate) (pending []string, shows []GoogleShows) {
	pending = slices.DeleteFunc(profile.Fields(), func(f string) bool { return !profile.Covers(v.Pending, f) })
	for _, f := range profile.Fields() {
		if !profile.Covers(v.Diff, f) {
			continue
		}
		shows = append(shows, GoogleShows{f, string(profile.Shown(v.Live, []string{f}, func(s string) string { return s }))})
	}
	return pending, shows
}

// location finds one granted location; an absent and a foreign one give the same answer.
func (s *Set) location(ctx context.Context, call *Call, id gbp.LocationID) (gbp.Location, error) {
	found, err := s.Store.Locations(ctx, call.Principal.TenantID, []gbp.LocationID{id})
	if err != nil {
		return gbp.Location{}, err
	}
	if len(found) == 0 || !call.Principal.Grants.Cover(int64(id), found[0].Profile.Labels) {
		return gbp.Location{}, admission.LocationsNotFound([]string{strconv.FormatInt(int64(id), 10)})
	}
	return found[0], nil
}
