package tools

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type mediaListQuery struct {
	page
	LocationIDs []gbp.LocationID  `json:"location_ids"`
	Category    gbp.MediaCategory `json:"category"`
}

// MediaPage is the answer of media.list.
type MediaPage struct {
	Media         []Media       `json:"media" jsonschema:"photos and videos by store, in Google's order within a store"`
	Unreadable    []StoreNotice `json:"unreadable" jsonschema:"stores whose galleries could not be read, with the reason"`
	NextPageToken string        `json:"next_page_token,omitempty" jsonschema:"send as page_token for the next stores; absent on the last page"`
	AsOf          string        `json:"as_of" jsonschema:"RFC 3339 time of the oldest reading on this page"`
}

// Media is an item of a gallery as agents see it.
type Media struct {
	MediaID     string            `json:"media_id" jsonschema:"our id of the photo or video (ULID)"`
	LocationID  gbp.LocationID    `json:"location_id" jsonschema:"the store"`
	Version     string            `json:"version" jsonschema:"digest of what can change about it"`
	Category    gbp.MediaCategory `json:"category,omitempty" jsonschema:"what it shows, such as COVER or INTERIOR; absent for the picture of a price list"`
	Format      gbp.MediaFormat   `json:"format" jsonschema:"PHOTO or VIDEO"`
	URL         string            `json:"url,omitempty" jsonschema:"where Google serves it; Google changes it over time"`
	Size        *MediaSize        `json:"size,omitempty" jsonschema:"dimensions, where Google tells them"`
	Description string            `json:"description,omitempty" jsonschema:"the words under it"`
	SourceURL   string            `json:"source_url,omitempty" jsonschema:"address that it was made from, where Google tells it"`
	CreatedAt   string            `json:"created_at" jsonschema:"RFC 3339 time at Google"`
	GoogleName  string            `json:"google_name" jsonschema:"Google's own name of the item"`
	BatchID     string            `json:"batch_id,omitempty" jsonschema:"the batch that added it; absent when it was not added here"`
}

// MediaSize are the dimensions of an item.
type MediaSize struct {
	Width  int `json:"width" jsonschema:"pixels"`
	Height int `json:"height" jsonschema:"pixels"`
}

func mediaList(s *Set) (Tool, error) {
	t := Tool{
		Name: "media.list", Title: "List photos and videos", Scope: "media:read", ReadOnly: true, Idempotent: true, OpenWorld: true,
		Description: "Lists the photos and videos in the galleries of your stores' public Google profiles, read from Google (kept for 60 seconds); those of customers and of posts are not among them. Changes nothing. " +
			"A page covers at most 10 stores and page_size items; follow next_page_token for the rest. A new file may be missing for a while. A store that cannot be read is listed under unreadable and does not hide the others.",
		Input: schema.Object{Fields: append([]schema.Field{
			schema.List("location_ids", "Only these stores; all of yours when left out.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.MaxItems(200)),
			schema.Enum("category", "Only items of this category.", categories()),
		}, paging()...)},
	}
	var err error
	t.Output, err = output[MediaPage]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q mediaListQuery) (Result, error) {
		from, err := readMediaCursor(q.Token, call.Principal.Locale)
		if err != nil {
			return Result{}, err
		}
		stores, err := s.Store.ListLocations(ctx, call.Principal.TenantID, postgres.LocationFilter{
			IDs: q.LocationIDs, Grants: call.Principal.Grants, After: from.after, Limit: storesPerPage + 1,
		})
		if err != nil {
			return Result{}, err
		}
		out := MediaPage{Media: []Media{}, Unreadable: []StoreNotice{}}
		if len(stores) > storesPerPage {
			stores = stores[:storesPerPage]
			out.NextPageToken = mediaCursor{after: stores[storesPerPage-1].ID}.token()
		}
		s.readMedia(ctx, call, q, stores, &out)
		if err := out.cut(from, stores, q.Size); err != nil {
			return Result{}, err
		}
		return success(errs.Tf("%[1]d 店舗から %[2]d 件の写真・動画を読みました。", "%[2]d photo(s) and video(s) on %[1]d store(s).", len(stores), len(out.Media)).In(call.Principal.Locale), out)
	})
	return t, err
}

func (s *Set) readMedia(ctx context.Context, call *Call, q mediaListQuery, stores []gbp.Location, out *MediaPage) {
	asOf := s.Now()
	for _, l := range stores {
		found, at, err := s.Live.Read(ctx, call.Principal.TenantID, l, gbp.KindMedia)
		if err != nil {
			e := errs.From(err)
			out.Unreadable = append(out.Unreadable, StoreNotice{LocationID: l.ID, ErrorCode: e.Code, Message: e.Message.In(call.Principal.Locale)})
			continue
		}
		if at.Before(asOf) {
			asOf = at
		}
		for _, r := range found {
			m, err := mediaOf(r)
			if err != nil || q.Category != "" && m.Category != q.Category {
				continue
			}
			out.Media = append(out.Media, m)
		}
	}
	out.AsOf = stamp(asOf)
}

// mediaCursor is where a page begins: behind a store, after that many items of the next one.
type mediaCursor struct {
	after gbp.LocationID
	skip  int
}

func (c mediaCursor) token() string { return encodeToken(fmt.Sprintf("%d:%d", c.after, c.skip)) }

func readMediaCursor(token string, l errs.Locale) (c mediaCursor, err error) {
	if token == "" {
		return mediaCursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return mediaCursor{}, badToken(l)
	}
	if _, err := fmt.Sscanf(string(b), "%d:%d", &c.after, &c.skip); err != nil || c.after < 0 || c.skip < 0 {
		return mediaCursor{}, badToken(l)
	}
	return c, nil
}

// cut leaves out what the page before has shown, and ends the page where it is full.
func (p *MediaPage) cut(from mediaCursor, stores []gbp.Location, size int) error {
	first := func(x Media) bool { return len(stores) > 0 && x.LocationID == stores[0].ID }
	for range from.skip {
		if len(p.Media) == 0 || !first(p.Media[0]) {
			break
		}
		p.Media = p.Media[1:]
	}
	n, err := fits(p.Media[:min(size, len(p.Media))], pageBytes)
	if err != nil || n == len(p.Media) {
		return err
	}
	next := mediaCursor{after: p.Media[n].LocationID - 1}
	for _, x := range p.Media[:n] {
		if x.LocationID == p.Media[n].LocationID {
			next.skip++
		}
	}
	if first(p.Media[n]) {
		next.skip += from.skip
	}
	p.Unreadable = slices.DeleteFunc(p.Unreadable, func(u StoreNotice) bool { return u.LocationID > next.after })
	p.Media, p.NextPageToken = p.Media[:n], next.token()
	return nil
}

func mediaOf(r gbp.Resource) (Media, error) {
	m, err := gbp.ParseRemoteMedia(r.Snapshot)
	if err != nil {
		return Media{}, err
	}
	out := Media{
		MediaID: r.ID, LocationID: r.Location, Version: m.Version(), Category: m.Category, Format: m.Format, URL: m.GoogleURL, Description: m.Description,
		SourceURL: m.SourceURL, CreatedAt: stamp(m.CreateTime), GoogleName: string(m.Name), BatchID: r.Batch,
	}
	if m.Width > 0 && m.Height > 0 {
		out.Size = &MediaSize{Width: m.Width, Height: m.Height}
	}
	return out, nil
}
