package gbp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// MediaDescriptionMax bounds the words under an item in characters. Google publishes no bound; this one is ours.
const MediaDescriptionMax = 1000

// MediaUpload is the typed change of media.upload: every item goes to every location.
type MediaUpload struct {
	LocationIDs []LocationID `json:"location_ids"`
	Media       []MediaDraft `json:"media"`
}

// Normalise removes repeated ids, keeping the order of first mention; its result is the canonical form.
func (u MediaUpload) Normalise() MediaUpload {
	var ids []LocationID
	for _, id := range u.LocationIDs {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	u.LocationIDs = ids
	u.Media = slices.Clone(u.Media)
	for i := range u.Media {
		u.Media[i].Description = strings.TrimSpace(u.Media[i].Description)
	}
	return u
}

// Canonical is the canonical form as bytes.
func (u MediaUpload) Canonical() []byte { return encode(u) }

// RenderedMedia is what will be sent for one item at one store.
type RenderedMedia struct {
	Item MediaItem
	// Payload are the exact bytes that are stored, shown and sent.
	Payload     []byte
	Fingerprint []byte
	Source      Source
	// Links and Phones are what the description would put before the public.
	Links, Phones []string
}

// RenderMedia turns a draft into Google's shape for one store. at is its JSON path, such as "media[0]". All violations are
// reported together; files are the verdicts of the media check.
func RenderMedia(d MediaDraft, loc Location, files SourceFiles, at string, l errs.Locale) (RenderedMedia, []errs.Violation, []Warning) {
	r := publicText{loc: loc, locale: l, phoneAdvice: errs.T("写真の説明に電話番号があると、Google に拒否されることがあります。", "Google tends to refuse phone numbers in the words under a photo.")}
	address, format := "", Photo
	use := d.Category.Use()
	u, ok := r.sourceURL(at+".source_url", d.SourceURL)
	if ok {
		before := len(r.violations)
		address, format = r.file(at+".source_url", u, use, files)
		if _, takes := LimitsOf(use, format); !takes && len(r.violations) == before {
			r.refuse(at+".source_url", "video", u.String(), errs.Tf("%s に動画は使えません。JPEG か PNG の画像を指定してください。", "No video is taken as %s; give a JPEG or PNG picture.", d.Category))
		}
	}
	description := r.text(at+".description", d.Description, MediaDescriptionMax)
	if d.Category.Replaces() {
		r.warn("REPLACES_PHOTO", string(d.Category), errs.Tf("今の %s の写真は置き換えられ、batch.undo では戻りません。", "The present %s photo is replaced, and batch.undo does not bring it back.", d.Category))
	}
	if len(r.violations) > 0 {
		return RenderedMedia{}, r.violations, r.warnings
	}
	item := MediaDraft{SourceURL: address, Category: d.Category, Description: description}.Item(format)
	return RenderedMedia{
		Item: item, Payload: item.Encode(), Fingerprint: item.Fingerprint(), Source: Source{URL: u.String(), Use: use}, Links: r.links, Phones: r.phones,
	}, nil, r.warnings
}

// MediaSources are the files that the drafts would hand to Google for one store. Addresses that are refused anyway are left out.
func MediaSources(drafts []MediaDraft, loc Location) []Source {
	var out []Source
	for _, d := range drafts {
		r := publicText{loc: loc}
		if u, ok := r.sourceURL("", d.SourceURL); ok {
			out = append(out, Source{URL: u.String(), Use: d.Category.Use()})
		}
	}
	return out
}

// PostSources are the files that a post would hand to Google for one store. Addresses that are refused anyway are left out.
func PostSources(d PostDraft, loc Location) []Source {
	if len(d.Media) != PostMediaMax { // more are refused as they are
		return nil
	}
	r := publicText{loc: loc}
	if u, ok := r.sourceURL("", d.Media[0].SourceURL); ok && !isVideo(u.Path) {
		return []Source{{URL: u.String(), Use: UsePost}}
	}
	return nil
}

// SentSources are the files in a payload that was accepted before: of media.create, or of localPosts.create.
func SentSources(kind Kind, payload []byte) []Source {
	if kind == KindMedia {
		var m MediaItem
		if json.Unmarshal(payload, &m) == nil && m.SourceURL != "" {
			return []Source{m.Source()}
		}
		return nil
	}
	var p LocalPost
	if json.Unmarshal(payload, &p) != nil {
		return nil
	}
	var out []Source
	for _, m := range p.Media {
		if m.SourceURL != "" {
			out = append(out, Source{URL: m.SourceURL, Use: UsePost})
		}
	}
	return out
}

// Source is the file that the item hands to Google.
func (m MediaItem) Source() Source {
	return Source{URL: m.SourceURL, Use: m.LocationAssociation.Category.Use()}
}

// Customer is the profile name of the customer who added the item, "" for the owner's own. Google lets owners delete their own
// items only.
func (r RemoteMedia) Customer() string {
	var w struct {
		Attribution struct {
			ProfileName string `json:"profileName"`
			ProfileURL  string `json:"profileUrl"`
		} `json:"attribution"`
	}
	if json.Unmarshal(r.Raw, &w) != nil {
		return ""
	}
	if w.Attribution.ProfileName == "" {
		return w.Attribution.ProfileURL
	}
	return w.Attribution.ProfileName
}

// Why an item that was deleted cannot be made anew.
var (
	ErrNoSource  = errors.New("media item: Google does not say where it came from")
	ErrPriceList = errors.New("media item: it is the picture of a price list")
)

// Recreated is the item as a new one, from the address that it was created from. The error is ErrNoSource or ErrPriceList
// where that is not possible.
func (r RemoteMedia) Recreated() (MediaItem, error) {
	switch {
	case r.PriceListItem != "" || r.Category == "":
		return MediaItem{}, ErrPriceList
	case r.SourceURL == "":
		return MediaItem{}, ErrNoSource
	}
	d := MediaDraft{SourceURL: r.SourceURL, Category: r.Category, Description: r.Description}
	if r.Category == CategoryCover {
		d.Description = ""
	}
	return d.Item(r.Format), nil
}

// RecreatedMedia is Recreated for a snapshot.
func RecreatedMedia(snapshot json.RawMessage) (MediaItem, error) {
	m, err := ParseRemoteMedia(snapshot)
	if err != nil {
		return MediaItem{}, fmt.Errorf("recreate: %w", err)
	}
	return m.Recreated()
}
