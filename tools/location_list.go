package tools

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type locationListQuery struct {
	page
	Query       string           `json:"query"`
	Labels      []string         `json:"labels"`
	LocationIDs []gbp.LocationID `json:"location_ids"`
}

// LocationPage is the answer of location.list.
type LocationPage struct {
	Locations     []LocationEntry `json:"locations" jsonschema:"the stores, by location_id"`
	NextPageToken string          `json:"next_page_token,omitempty" jsonschema:"send as page_token for the next page; absent on the last"`
	AsOf          string          `json:"as_of" jsonschema:"RFC 3339 time of the oldest store data on this page"`
}

// LocationEntry is a store in a list.
type LocationEntry struct {
	LocationID    gbp.LocationID `json:"location_id" jsonschema:"our id of the store, for location_ids"`
	Title         string         `json:"title" jsonschema:"name of the store"`
	StoreCode     string         `json:"store_code" jsonschema:"the chain's own code"`
	Address       string         `json:"address" jsonschema:"one line"`
	City          string         `json:"city" jsonschema:"city"`
	Labels        []string       `json:"labels" jsonschema:"labels of the store"`
	Status        string         `json:"status" jsonschema:"Google's open status, such as OPEN"`
	Version       string         `json:"version" jsonschema:"digest of the editable fields, for expected_version"`
	Writable      bool           `json:"writable" jsonschema:"whether a write can take effect now"`
	NotWritableBy string         `json:"not_writable_reason,omitempty" jsonschema:"why not: read_only_server, kill_switch, google_reconnect_required, location_not_verified or missing_scope"`
}

func locationList(s *Set) (Tool, error) {
	t := Tool{
		Name: "location.list", Title: "List stores", Scope: "locations:read", ReadOnly: true, Idempotent: true,
		Description: "Lists the stores (Google Business Profile locations) that you may touch, from Mappy's own copy, which is synchronised with Google from time to time (as_of says when). Changes nothing. " +
			"Use it to find location_ids for other tools. Filters combine with AND. At most page_size entries; follow next_page_token for the rest.",
		Input: schema.Object{Fields: append([]schema.Field{
			schema.Text("query", "Part of the title, store code, city or address, any case.", schema.MaxLength(200), schema.SingleLine(), schema.Example("渋谷")),
			schema.List("labels", "Stores with any of these labels.", schema.String("", "One label, exact.", schema.MaxLength(255)), schema.Items(1, 50)),
			schema.List("location_ids", "Only these stores.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.Items(1, 200)),
		}, paging()...)},
	}
	var err error
	t.Output, err = output[LocationPage]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q locationListQuery) (Result, error) {
		after, err := numberToken(q.Token, call.Principal.Locale)
		if err != nil {
			return Result{}, err
		}
		if err := s.known(ctx, call.Principal, q.LocationIDs, q.Token); err != nil {
			return Result{}, err
		}
		found, err := s.Store.ListLocations(ctx, call.Principal.TenantID, call.Principal.Grants, gbp.LocationFilter{
			Query: q.Query, Labels: q.Labels, IDs: q.LocationIDs, After: gbp.LocationID(after), Limit: q.Size + 1,
		})
		if err != nil {
			return Result{}, err
		}
		out := LocationPage{Locations: []LocationEntry{}, AsOf: stamp(gbp.OldestSync(found, s.Now()))}
		for _, l := range found[:min(len(found), q.Size)] {
			out.Locations = append(out.Locations, s.entry(call.Principal, l))
		}
		n, err := fits(out.Locations, pageBytes)
		if err != nil {
			return Result{}, err
		}
		if out.Locations = out.Locations[:n]; n < len(found) {
			out.NextPageToken = encodeToken(strconv.FormatInt(int64(found[n-1].ID), 10))
		}
		return success(errs.Tf("%d 店舗が見つかりました。", "%d store(s) found.", n).In(call.Principal.Locale), out)
	})
	return t, err
}

func (s *Set) entry(p *authn.Principal, l gbp.Location) LocationEntry {
	e := LocationEntry{
		LocationID: l.ID, Title: l.Profile.Title, StoreCode: l.Profile.StoreCode, Address: l.Profile.AddressSummary, City: l.Profile.City,
		Labels: append([]string{}, l.Profile.Labels...), Status: l.OpenStatus, Version: l.Version, Writable: true,
	}
	switch {
	case s.ReadOnly:
		e.NotWritableBy = "read_only_server"
	case len(p.Kill) > 0 && killsAll(p):
		e.NotWritableBy = "kill_switch"
	case l.Disconnected:
		e.NotWritableBy = "google_reconnect_required"
	case !l.Verified:
		e.NotWritableBy = "location_not_verified"
	case !mayWrite(p):
		e.NotWritableBy = "missing_scope"
	}
	e.Writable = e.NotWritableBy == ""
	return e
}

// mayWrite tells whether the token can write anything to a store at all.
func mayWrite(p *authn.Principal) bool {
	return slices.ContainsFunc(p.Scopes, func(s string) bool {
		return s == "locations:write" || s == "posts:write" || s == "posts:delete" || s == "reviews:write" || s == "reviews:delete" || s == "media:write" || s == "media:delete"
	})
}

func killsAll(p *authn.Principal) bool {
	_, on := p.Killed("")
	return on
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
