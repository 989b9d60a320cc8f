package tools

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// storesPerPage bounds how many stores one page reads at Google, and MostListed how many posts, or media items, of one store.
const (
	storesPerPage = 10
	MostListed    = 500
)

// byStoreQuery are the arguments of every list of things that stores have at Google.
type byStoreQuery struct {
	page
	LocationIDs []gbp.LocationID `json:"location_ids"`
}

// byStore declares the arguments of a list of things that stores have at Google, with filters of its own.
func byStore(filters ...schema.Field) schema.Object {
	fields := []schema.Field{
		schema.List("location_ids", "Only these stores; all of yours when left out.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.Items(1, 200)),
	}
	return schema.Object{Fields: append(append(fields, filters...), paging()...)}
}

// StoreNotice says why something could not be had for one store.
type StoreNotice struct {
	LocationID gbp.LocationID `json:"location_id" jsonschema:"the store"`
	ErrorCode  errs.Code      `json:"error_code" jsonschema:"code of the error catalogue"`
	Message    string         `json:"message" jsonschema:"the reason in words"`
}

// ofStore is an entry of a list that is read store by store.
type ofStore interface{ store() gbp.LocationID }

// storePage is a page of such a list: entries by store, in Google's order within a store.
type storePage[E ofStore] struct {
	Entries    []E
	Unreadable []StoreNotice
	// Partial are stores of which only the beginning of Google's list was read.
	Partial []gbp.LocationID
	// Next is "" on the last page.
	Next string
	// AsOf is when the oldest reading on the page was made.
	AsOf time.Time
	// Stores is how many were read.
	Stores int
}

// pageTime bounds the readings of one page at Google, one store after the other. What is not read by then is unreadable.
const pageTime = 25 * time.Second

// known refuses a list's first page that names a store which does not exist or is not the caller's.
func (s *Set) known(ctx context.Context, p *authn.Principal, ids []gbp.LocationID, pageToken string) error {
	if len(ids) == 0 || pageToken != "" {
		return nil
	}
	found, err := s.Store.Locations(ctx, p.TenantID, ids)
	if err != nil {
		return err
	}
	var missing []string
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(l gbp.Location) bool { return l.ID == id && p.Grants.Cover(int64(id), l.Profile.Labels) }) {
			missing = append(missing, strconv.FormatInt(int64(id), 10))
		}
	}
	if missing != nil {
		return admission.LocationsNotFound(missing)
	}
	return nil
}

// readStores reads the things of one kind at the caller's stores: at most storesPerPage stores, q.Size entries and room bytes
// of them a page. entryOf gives the entry of a thing, false for one that a filter leaves out. A store that cannot be read is
// listed and hides no other; a store that is named and not the caller's is LOCATION_NOT_FOUND; without PostgreSQL it fails with
// UNAVAILABLE.
func readStores[E ofStore](ctx context.Context, s *Set, call *Call, q byStoreQuery, kind gbp.Kind, room int, entryOf func(gbp.Resource) (E, bool)) (storePage[E], error) {
	p := storePage[E]{Entries: []E{}, Unreadable: []StoreNotice{}, AsOf: s.Now()}
	from, err := readStoreCursor(q.Token, call.Principal.Locale)
	if err != nil {
		return p, err
	}
	if err := s.known(ctx, call.Principal, q.LocationIDs, q.Token); err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	stores, err := s.Store.ListLocations(ctx, call.Principal.TenantID, call.Principal.Grants, gbp.LocationFilter{
		IDs: q.LocationIDs, After: from.after, Limit: storesPerPage + 1,
	})
	if err != nil {
		return p, err
	}
	if len(stores) > storesPerPage {
		stores = stores[:storesPerPage]
		p.Next = storeCursor{after: stores[storesPerPage-1].ID}.token()
	}
	p.Stores = len(stores)
	for _, l := range stores {
		found, at, err := s.Live.Read(ctx, call.Principal.TenantID, l, kind)
		if errors.Is(err, gbp.ErrMore) {
			p.Partial = append(p.Partial, l.ID)
		} else if err != nil {
			e := errs.From(err)
			p.Unreadable = append(p.Unreadable, StoreNotice{LocationID: l.ID, ErrorCode: e.Code, Message: e.Message.In(call.Principal.Locale)})
			continue
		}
		if at.Before(p.AsOf) {
			p.AsOf = at
		}
		for _, r := range found {
			if e, ok := entryOf(r); ok {
				p.Entries = append(p.Entries, e)
			}
		}
	}
	return p, p.cut(from, q.Size, room)
}

// storeCursor is where a page begins: behind a store, after that many entries of the next one.
type storeCursor struct {
	after gbp.LocationID
	skip  int
}

func (c storeCursor) token() string { return encodeToken(fmt.Sprintf("%d:%d", c.after, c.skip)) }

func readStoreCursor(token string, l errs.Locale) (c storeCursor, err error) {
	if token == "" {
		return storeCursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return storeCursor{}, badToken(l)
	}
	if _, err := fmt.Sscanf(string(b), "%d:%d", &c.after, &c.skip); err != nil || c.after < 0 || c.skip < 0 {
		return storeCursor{}, badToken(l)
	}
	return c, nil
}

// cut leaves out what the page before has shown of the store that it ended in, and ends the page where it is full.
func (p *storePage[E]) cut(from storeCursor, size, room int) error {
	first := func(x E) bool { return x.store() == from.after+1 }
	for range from.skip {
		if len(p.Entries) == 0 || !first(p.Entries[0]) {
			break
		}
		p.Entries = p.Entries[1:]
	}
	n, err := fits(p.Entries[:min(size, len(p.Entries))], room)
	if err != nil || n == len(p.Entries) {
		return err
	}
	next := storeCursor{after: p.Entries[n].store() - 1}
	for _, x := range p.Entries[:n] {
		if x.store() == p.Entries[n].store() {
			next.skip++
		}
	}
	if first(p.Entries[n]) {
		next.skip += from.skip
	}
	p.Unreadable = slices.DeleteFunc(p.Unreadable, func(u StoreNotice) bool { return u.LocationID > next.after })
	p.Partial = slices.DeleteFunc(p.Partial, func(id gbp.LocationID) bool { return id > next.after+1 })
	p.Entries, p.Next = p.Entries[:n], next.token()
	return nil
}
