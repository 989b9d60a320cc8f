package gbp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// MediaName is the v4 name "accounts/{a}/locations/{l}/media/{key}" of an item in a store's gallery. The media of posts and
// of customers have longer names and are none of these: they cannot be deleted.
type MediaName string

// Location is the v1 name of the location that the item belongs to, or "" for a malformed name.
func (n MediaName) Location() LocationName {
	_, l := splitV4(string(n), "media")
	return l
}

// MediaFormat is Google's kind of a media item.
type MediaFormat string

// The two formats.
const (
	Photo MediaFormat = "PHOTO"
	Video MediaFormat = "VIDEO"
)

// MediaCategory is Google's word for what an item shows. The set is Google's and closed for what we send; an unknown one in
// an answer is kept as it came.
type MediaCategory string

// The categories of v4's LocationAssociation, read 2026-11. A location has one COVER and one PROFILE; creating another one
// replaces it (not confirmed).
const (
	CategoryCover        MediaCategory = "COVER"
	CategoryProfile      MediaCategory = "PROFILE"
	CategoryLogo         MediaCategory = "LOGO"
	CategoryExterior     MediaCategory = "EXTERIOR"
	CategoryInterior     MediaCategory = "INTERIOR"
	CategoryProduct      MediaCategory = "PRODUCT"
	CategoryAtWork       MediaCategory = "AT_WORK"
	CategoryFoodAndDrink MediaCategory = "FOOD_AND_DRINK"
	CategoryMenu         MediaCategory = "MENU"
	CategoryCommonArea   MediaCategory = "COMMON_AREA"
	CategoryRooms        MediaCategory = "ROOMS"
	CategoryTeams        MediaCategory = "TEAMS"
	CategoryAdditional   MediaCategory = "ADDITIONAL"
)

// MediaCategories gives all categories in Google's order.
func MediaCategories() []MediaCategory {
	return []MediaCategory{
		CategoryCover, CategoryProfile, CategoryLogo, CategoryExterior, CategoryInterior, CategoryProduct, CategoryAtWork,
		CategoryFoodAndDrink, CategoryMenu, CategoryCommonArea, CategoryRooms, CategoryTeams, CategoryAdditional,
	}
}

// Replaces tells whether a new item of the category takes the place of the one that is there.
func (c MediaCategory) Replaces() bool { return c == CategoryCover || c == CategoryProfile }

// MediaItem is the body of Google's media.create, exactly the fields that we ever send. Exactly one of SourceURL and DataRef
// is set. Source: Google's v4 reference for accounts.locations.media, read 2026-11.
type MediaItem struct {
	MediaFormat         MediaFormat      `json:"mediaFormat" jsonschema:"PHOTO or VIDEO"`
	LocationAssociation MediaAssociation `json:"locationAssociation" jsonschema:"where on the profile it belongs"`
	SourceURL           string           `json:"sourceUrl,omitempty" jsonschema:"public address that Google fetches"`
	DataRef             *MediaDataRef    `json:"dataRef,omitempty" jsonschema:"bytes that were uploaded before"`
	Description         string           `json:"description,omitempty" jsonschema:"words under the item; not for COVER"`
}

// MediaAssociation says what an item shows.
type MediaAssociation struct {
	Category MediaCategory `json:"category" jsonschema:"COVER, PROFILE, LOGO, EXTERIOR, ..."`
}

// MediaDataRef names uploaded bytes; each can be used once and is never given back by Google.
type MediaDataRef struct {
	ResourceName string `json:"resourceName" jsonschema:"what startUpload answered"`
}

// Encode gives the bytes that are stored, shown and sent: the address stays byte for byte, so <, > and & are not escaped.
func (m MediaItem) Encode() []byte { return encode(m) }

// Fingerprint identifies what is created among the items of one location: format, category and address.
func (m MediaItem) Fingerprint() []byte {
	return mediaFingerprint(m.MediaFormat, m.LocationAssociation.Category, m.SourceURL)
}

func mediaFingerprint(f MediaFormat, c MediaCategory, source string) []byte {
	h := sha256.New()
	for _, s := range []string{string(f), string(c), source} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum(nil)
}

// RemoteMedia is an item as Google returned it. Raw keeps every field, known or not, for snapshots.
type RemoteMedia struct {
	Name     MediaName
	Format   MediaFormat
	Category MediaCategory
	// PriceListItem is set instead of Category for the picture of a price list.
	PriceListItem string
	// GoogleURL and ThumbnailURL are where the item is to be seen; Google changes them over time.
	GoogleURL    string
	ThumbnailURL string
	CreateTime   time.Time
	// Width and Height are 0 where Google does not tell them.
	Width       int
	Height      int
	Description string
	// SourceURL is the address that the item was created from, "" where it was uploaded or Google does not say.
	SourceURL string
	Raw       json.RawMessage
}

// ParseRemoteMedia reads one item of Google's answer.
func ParseRemoteMedia(raw json.RawMessage) (RemoteMedia, error) {
	var w struct {
		Name                MediaName   `json:"name"`
		MediaFormat         MediaFormat `json:"mediaFormat"`
		LocationAssociation struct {
			Category        MediaCategory `json:"category"`
			PriceListItemID string        `json:"priceListItemId"`
		} `json:"locationAssociation"`
		GoogleURL    string    `json:"googleUrl"`
		ThumbnailURL string    `json:"thumbnailUrl"`
		CreateTime   time.Time `json:"createTime"`
		Dimensions   struct {
			WidthPixels  int `json:"widthPixels"`
			HeightPixels int `json:"heightPixels"`
		} `json:"dimensions"`
		Description string `json:"description"`
		SourceURL   string `json:"sourceUrl"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return RemoteMedia{}, fmt.Errorf("media item: %w", err)
	}
	if w.Name.Location() == "" {
		return RemoteMedia{}, fmt.Errorf("media item: %q is not the name of a media item", w.Name)
	}
	return RemoteMedia{
		Name: w.Name, Format: w.MediaFormat, Category: w.LocationAssociation.Category, PriceListItem: w.LocationAssociation.PriceListItemID,
		GoogleURL: w.GoogleURL, ThumbnailURL: w.ThumbnailURL, CreateTime: w.CreateTime, Width: w.Dimensions.WidthPixels, Height: w.Dimensions.HeightPixels,
		Description: w.Description, SourceURL: w.SourceURL, Raw: append(json.RawMessage(nil), raw...),
	}, nil
}

// Version is the digest of what can change about an item, for expected_version. The addresses at Google are left out: they
// change by themselves.
func (r RemoteMedia) Version() string {
	h := sha256.New()
	for _, s := range []string{string(r.Name), string(r.Format), string(r.Category), r.PriceListItem, r.Description, r.CreateTime.UTC().Format(time.RFC3339Nano)} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// MediaMatch says how surely an item at Google is the one that we meant to create.
type MediaMatch int

// The degrees of certainty.
const (
	// MediaDiffers: another item.
	MediaDiffers MediaMatch = iota
	// MediaMayBe: format and category agree and Google does not say where the item comes from; only the time, the size in
	// pixels and the names known before can tell.
	MediaMayBe
	// MediaIs: created from our address, with our format and category.
	MediaIs
)

// Match compares an item at Google with what we sent. Google promises to give the address of items created by URL back, which
// has not been seen in captures; an item without address is therefore only a perhaps.
func (r RemoteMedia) Match(sent MediaItem) MediaMatch {
	switch {
	case r.Format != sent.MediaFormat || r.Category != sent.LocationAssociation.Category:
		return MediaDiffers
	case r.SourceURL == "":
		return MediaMayBe
	case bytes.Equal(mediaFingerprint(r.Format, r.Category, r.SourceURL), sent.Fingerprint()):
		return MediaIs
	}
	return MediaDiffers
}

// MediaDraft is one item of media.upload in the words of the contract.
type MediaDraft struct {
	SourceURL   string        `json:"source_url"`
	Category    MediaCategory `json:"category"`
	Description string        `json:"description,omitempty"`
}

// Item is the body that creates the draft once the format of the file is known.
func (d MediaDraft) Item(f MediaFormat) MediaItem {
	return MediaItem{
		MediaFormat: f, LocationAssociation: MediaAssociation{Category: d.Category}, SourceURL: d.SourceURL, Description: strings.TrimSpace(d.Description),
	}
}

// Violations checks what can be known without the file; at is the draft's JSON path, such as "media[0]". The address is
// looked at by the media check.
func (d MediaDraft) Violations(l errs.Locale, at string) []errs.Violation {
	var out []errs.Violation
	refuse := func(field, rule, value string, msg errs.Text) {
		out = append(out, violation(l, at+"."+field, rule, value, 0, msg))
	}
	if d.SourceURL == "" {
		refuse("source_url", "required", "", errs.T("画像または動画の URL が必要です。", "The address of a photo or video is needed."))
	}
	switch {
	case d.Category == "":
		refuse("category", "required", "", errs.T("カテゴリが必要です。", "A category is needed."))
	case !slices.Contains(MediaCategories(), d.Category):
		refuse("category", "enum", string(d.Category), errs.T("知られていないカテゴリです。", "Google has no such category."))
	case d.Category == CategoryCover && strings.TrimSpace(d.Description) != "":
		refuse("description", "cover_description", d.Description, errs.T("カバー写真に説明は付けられません。", "A cover photo takes no description."))
	}
	return out
}
