package tools

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type mediaListQuery struct {
	byStoreQuery
	Category gbp.MediaCategory `json:"category"`
}

// MediaPage is the answer of media.list.
type MediaPage struct {
	Media         []Media          `json:"media" jsonschema:"photos and videos by store, in Google's order within a store"`
	Unreadable    []StoreNotice    `json:"unreadable" jsonschema:"stores whose galleries could not be read, with the reason"`
	MoreNotRead   []gbp.LocationID `json:"more_not_read,omitempty" jsonschema:"stores that have more photos and videos than are read; the others are missing here"`
	NextPageToken string           `json:"next_page_token,omitempty" jsonschema:"send as page_token for the next stores; absent on the last page"`
	AsOf          string           `json:"as_of" jsonschema:"RFC 3339 time of the oldest reading on this page"`
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
			"A page covers at most 10 stores and page_size items; follow next_page_token for the rest. Of each store at most 500 items are read; stores with more are listed under more_not_read. A new file may be missing for a while. A store that cannot be read is listed under unreadable and does not hide the others.",
		Input: byStore(schema.Enum("category", "Only items of this category.", categories())),
	}
	var err error
	t.Output, err = output[MediaPage]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q mediaListQuery) (Result, error) {
		p, err := readStores(ctx, s, call, q.byStoreQuery, gbp.KindMedia, pageBytes, func(r gbp.Resource) (Media, bool) {
			m, err := mediaOf(r)
			return m, err == nil && (q.Category == "" || m.Category == q.Category)
		})
		if err != nil {
			return Result{}, err
		}
		out := MediaPage{Media: p.Entries, Unreadable: p.Unreadable, MoreNotRead: p.Partial, NextPageToken: p.Next, AsOf: stamp(p.AsOf)}
		return success(errs.Tf("%[1]d 店舗から %[2]d 件の写真・動画を読みました。", "%[2]d photo(s) and video(s) on %[1]d store(s).", p.Stores, len(out.Media)).In(call.Principal.Locale), out)
	})
	return t, err
}

func (m Media) store() gbp.LocationID { return m.LocationID }

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
