package gbpsim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MediaName is the v4 name "accounts/{a}/locations/{l}/media/{key}", or ".../media/customers/{key}" of a customer's item.
type MediaName string

// The media formats.
const (
	formatPhoto = "PHOTO"
	formatVideo = "VIDEO"
)

// The categories that a location has once; a new item takes the place of the old one.
const (
	categoryCover   = "COVER"
	categoryProfile = "PROFILE"
)

// mediaCategories are those of v4's LocationAssociation.Category (2026-09).
func mediaCategories() []string {
	return []string{
		categoryCover, categoryProfile, "LOGO", "EXTERIOR", "INTERIOR", "PRODUCT", "AT_WORK", "FOOD_AND_DRINK", "MENU", "COMMON_AREA", "ROOMS", "TEAMS", "ADDITIONAL",
	}
}

// MediaSeed is an item of a location's gallery as a seed or the admin API gives it. "" in Format and Category means PHOTO and
// ADDITIONAL.
type MediaSeed struct {
	// Key is the last part of the name; "" is made up.
	Key         string `json:"key,omitempty"`
	Format      string `json:"format,omitempty"`
	Category    string `json:"category,omitempty"`
	SourceURL   string `json:"source_url,omitempty"`
	Description string `json:"description,omitempty"`
	Width       int    `json:"width,omitempty"`
	Height      int    `json:"height,omitempty"`
	// Customer is the profile name of the customer who added it; such items are listed apart and belong to nobody here.
	Customer string `json:"customer,omitempty"`
}

func (m MediaSeed) check() error {
	switch {
	case m.Format != "" && m.Format != formatPhoto && m.Format != formatVideo:
		return fmt.Errorf("media format %q does not exist", m.Format)
	case m.Category != "" && !slices.Contains(mediaCategories(), m.Category):
		return fmt.Errorf("media category %q does not exist", m.Category)
	case strings.ContainsAny(m.Key, "/:?#% ") || m.Key == "customers" || m.Key == "localPosts":
		return fmt.Errorf("media key %q cannot be used", m.Key)
	}
	return nil
}

// Media is an item that exists, as a test or a person looks at it.
type Media struct {
	Name     MediaName    `json:"name"`
	Location LocationName `json:"location"`
	// Email is who created it; "" for seeds and customers.
	Email       string    `json:"email,omitempty"`
	Format      string    `json:"format"`
	Category    string    `json:"category,omitempty"`
	SourceURL   string    `json:"source_url,omitempty"`
	Description string    `json:"description,omitempty"`
	CreateTime  time.Time `json:"create_time"`
	Customer    string    `json:"customer,omitempty"`
	// Google is the item as the v4 API answers it.
	Google json.RawMessage `json:"google"`
}

// mediaItemBody is what a client writes, in canonical form.
type mediaItemBody struct {
	MediaFormat         string       `json:"mediaFormat"`
	LocationAssociation *association `json:"locationAssociation"`
	SourceURL           string       `json:"sourceUrl"`
	DataRef             *dataRef     `json:"dataRef"`
	Description         string       `json:"description"`
}

type association struct {
	Category        string `json:"category,omitempty"`
	PriceListItemID string `json:"priceListItemId,omitempty"`
}

type dataRef struct {
	ResourceName string `json:"resourceName,omitempty"`
}

type dimensions struct {
	WidthPixels  int `json:"widthPixels,omitempty"`
	HeightPixels int `json:"heightPixels,omitempty"`
}

type attribution struct {
	ProfileName string `json:"profileName,omitempty"`
}

type wireMediaItem struct {
	Name                MediaName    `json:"name"`
	MediaFormat         string       `json:"mediaFormat"`
	LocationAssociation *association `json:"locationAssociation,omitempty"`
	GoogleURL           string       `json:"googleUrl"`
	ThumbnailURL        string       `json:"thumbnailUrl"`
	CreateTime          string       `json:"createTime"`
	Dimensions          *dimensions  `json:"dimensions,omitempty"`
	Attribution         *attribution `json:"attribution,omitempty"`
	Description         string       `json:"description,omitempty"`
	SourceURL           string       `json:"sourceUrl,omitempty"`
}

// mediaItem is a stored item. Its instants work like those of a post.
type mediaItem struct {
	name                    MediaName
	key                     string
	location                LocationName
	email                   string
	customer                string
	sent                    mediaItemBody
	size                    dimensions
	born, died              time.Time
	order                   uint64
	inLists, inGets         time.Time
	goneFromLists, goneGets time.Time
}

// mediaState is the part of the state that is about media.
type mediaState struct {
	media   map[MediaName]*mediaItem
	uploads map[string]*upload // by resource name
}

// upload is what startUpload began.
type upload struct {
	location LocationName
	content  []byte // nil: no bytes yet
	used     bool
}

func (m *mediaItem) exists(now time.Time) bool {
	return !now.Before(m.born) && (m.died.IsZero() || now.Before(m.died))
}

func (m *mediaItem) visibleInLists(now time.Time) bool {
	return visible(now, m.inLists, m.goneFromLists)
}

func (m *mediaItem) visibleInGets(now time.Time) bool { return visible(now, m.inGets, m.goneGets) }

// wire is the item as Google answers it. echo tells whether the source is given back.
func (m *mediaItem) wire(echo bool) wireMediaItem {
	w := wireMediaItem{
		Name: m.name, MediaFormat: m.sent.MediaFormat, LocationAssociation: m.sent.LocationAssociation,
		GoogleURL: "https://lh3.googleusercontent.com/p/" + m.key, ThumbnailURL: "https://lh3.googleusercontent.com/p/" + m.key + "=s300",
		CreateTime: m.born.UTC().Format(googleTime), Description: m.sent.Description,
	}
	if m.size != (dimensions{}) {
		size := m.size
		w.Dimensions = &size
	}
	if m.customer != "" {
		w.Attribution = &attribution{ProfileName: m.customer}
	}
	if echo {
		w.SourceURL = m.sent.SourceURL
	}
	return w
}

func (m *mediaItem) show() Media {
	out := Media{
		Name: m.name, Location: m.location, Email: m.email, Format: m.sent.MediaFormat, SourceURL: m.sent.SourceURL, Description: m.sent.Description,
		CreateTime: m.born.UTC().Truncate(time.Microsecond), Customer: m.customer, Google: encode(m.wire(true)),
	}
	if m.sent.LocationAssociation != nil {
		out.Category = m.sent.LocationAssociation.Category
	}
	return out
}

func (m *mediaItem) category() string {
	if m.sent.LocationAssociation == nil {
		return ""
	}
	return m.sent.LocationAssociation.Category
}

// insertMedia keeps a location's items oldest first.
func (l *location) insertMedia(m *mediaItem) {
	at := len(l.media)
	for at > 0 && l.media[at-1].compare(m) > 0 {
		at--
	}
	l.media = slices.Insert(l.media, at, m)
}

func (m *mediaItem) compare(o *mediaItem) int {
	if d := m.born.Compare(o.born); d != 0 {
		return d
	}
	return cmp.Compare(m.order, o.order)
}

// cursor is the place of an item in the order; pages continue behind it.
func (m *mediaItem) cursor() string {
	return strconv.FormatInt(m.born.UnixMicro(), 36) + "." + strconv.FormatUint(m.order, 36)
}

func parseMediaCursor(s string) *mediaItem {
	if p := parseCursor(s); p != nil {
		return &mediaItem{born: p.born, order: p.order}
	}
	return nil
}

// newMedia puts an item into a location's gallery at an instant. It runs under the lock.
func (s *Sim) newMedia(l *location, body mediaItemBody, key, customer, email string, size dimensions, now time.Time) *mediaItem {
	_, order := s.postIDs.next()
	m := &mediaItem{location: l.Name, sent: body, size: size, email: email, customer: customer, born: now, order: order, inLists: now, inGets: now}
	m.key = orDefault(key, "AF1Qip"+stableDigits(order, 30))
	parent := string(l.Account) + "/" + string(l.Name) + "/media/"
	if customer != "" {
		parent += "customers/"
	}
	m.name = MediaName(parent + m.key)
	if s.media == nil {
		s.media = map[MediaName]*mediaItem{}
	}
	l.insertMedia(m)
	s.media[m.name] = m
	return m
}

func (s *Sim) seedMedia(l *location, m MediaSeed) *mediaItem {
	body := mediaItemBody{
		MediaFormat: orDefault(m.Format, formatPhoto), LocationAssociation: &association{Category: orDefault(m.Category, "ADDITIONAL")},
		SourceURL: m.SourceURL, Description: m.Description,
	}
	size := dimensions{WidthPixels: m.Width, HeightPixels: m.Height}
	if size == (dimensions{}) {
		size = unknownSize()
	}
	return s.newMedia(l, body, m.Key, m.Customer, "", size, s.Now().Truncate(time.Microsecond))
}

// unknownSize is that of a file which nobody looked into.
func unknownSize() dimensions { return dimensions{WidthPixels: 1200, HeightPixels: 900} }

// Media gives the items of a location's gallery ("" for all locations) that exist now, those of customers too, newest first,
// whether or not a fault hides them from the API.
func (s *Sim) Media(location LocationName) []Media {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	out := []Media{}
	for _, l := range s.locations {
		if location != "" && l.Name != bareLocation(location) {
			continue
		}
		for _, m := range slices.Backward(l.media) {
			if m.exists(now) {
				out = append(out, m.show())
			}
		}
	}
	return out
}

var (
	errNoLocation = errors.New("there is no such location")
	errNoMedia    = errors.New("there is no such media item")
	errMediaKey   = errors.New("there is a media item of that key")
)

// AddMedia puts an item into a gallery behind every client's back, as a person in the Google app or a customer does.
func (s *Sim) AddMedia(location LocationName, m MediaSeed) (MediaName, error) {
	if err := m.check(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byName[bareLocation(location)]
	if l == nil {
		return "", errNoLocation
	}
	if m.Key != "" && slices.ContainsFunc(l.media, func(old *mediaItem) bool { return old.key == m.Key }) {
		return "", errMediaKey
	}
	return s.seedMedia(l, m).name, nil
}

// RemoveMedia takes an item away behind every client's back, as Google's review or a person does.
func (s *Sim) RemoveMedia(name MediaName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, now := s.media[name], s.Now()
	if m == nil || !m.exists(now) {
		return errNoMedia
	}
	m.died, m.goneFromLists, m.goneGets = now, now, now
	return nil
}
