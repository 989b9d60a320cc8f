package gbpsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// StoreChange is an edit that does not come from the client under test.
type StoreChange struct {
	// Fields are v1 fields by Google's names, as Google's JSON; null empties one.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	// Attributes replaces the list of the attributes resource when it is present.
	Attributes json.RawMessage `json:"attributes,omitempty"`
}

// Store is a location as Google holds it.
type Store struct {
	Name LocationName `json:"name"`
	// Fields are what reads give, Google those of Google's own version that differ, Pending the fields under review.
	Fields     map[string]json.RawMessage `json:"fields"`
	Google     map[string]json.RawMessage `json:"google,omitempty"`
	Pending    []string                   `json:"pending,omitempty"`
	Attributes json.RawMessage            `json:"attributes,omitempty"`
}

var errNoStore = errors.New("there is no such location")

// Store gives a location (any spelling) as it is now.
func (s *Sim) Store(name LocationName) (Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byName[bareLocation(name)]
	if l == nil {
		return Store{}, errNoStore
	}
	c := call{sim: s, now: s.Now()}
	out := Store{Name: l.Name, Fields: c.shown(l), Google: maps.Clone(l.review.live), Attributes: slices.Clone(l.Attributes)}
	for _, p := range l.review.pending {
		out.Pending = append(out.Pending, p.field)
	}
	slices.Sort(out.Pending)
	return out, nil
}

// ChangeStore edits a location as somebody else would: at once, without journal entry, budget, review or rules.
func (s *Sim) ChangeStore(name LocationName, c StoreChange) error {
	return s.changeStore(name, c, func(l *location) {
		for field, v := range c.Fields {
			if string(v) == "null" {
				v = nil
			}
			l.put(field, v)
		}
		if len(c.Attributes) > 0 {
			l.Attributes = slices.Clone(c.Attributes)
		}
	})
}

// SetGoogleVersion makes Google show its own version of some fields; null takes it back. It is replaced by the merchant's next
// edit of the field.
func (s *Sim) SetGoogleVersion(name LocationName, c StoreChange) error {
	if len(c.Attributes) > 0 {
		return errors.New("google's version of attributes is not simulated")
	}
	return s.changeStore(name, c, func(l *location) {
		live := maps.Clone(l.review.live)
		if live == nil {
			live = map[string]json.RawMessage{}
		}
		for field, v := range c.Fields {
			if string(v) == "null" {
				delete(live, field)
			} else {
				live[field] = v
			}
		}
		l.review.live = live
	})
}

func (s *Sim) changeStore(name LocationName, c StoreChange, do func(*location)) error {
	for field, v := range c.Fields {
		if !slices.Contains(locationFields(), field) || field == "name" || field == "metadata" {
			return fmt.Errorf("google has no field %q that could be changed", field)
		}
		if string(v) == "null" {
			continue
		}
		if _, bad := decodeBody(encode(map[string]json.RawMessage{field: v}), locationShape(), "location"); bad != nil {
			return bad
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byName[bareLocation(name)]
	if l == nil {
		return errNoStore
	}
	if err := (Location{Attributes: c.Attributes}).checkStore(); err != nil {
		return err
	}
	l.settle(s.Now())
	do(l)
	return nil
}

// adminStores adds the admin API of single locations.
func (s *Sim) adminStores(m *http.ServeMux) {
	name := func(r *http.Request) LocationName { return LocationName("locations/" + r.PathValue("id")) }
	m.HandleFunc("GET /admin/locations/{id}", func(w http.ResponseWriter, r *http.Request) {
		store, err := s.Store(name(r))
		if err != nil {
			writeMistake(w, err)
			return
		}
		writeJSON(w, store)
	})
	change := func(do func(LocationName, StoreChange) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var in StoreChange
			if readJSON(w, r, &in) {
				writeDone(w, do(name(r), in))
			}
		}
	}
	m.HandleFunc("POST /admin/locations/{id}/change", change(s.ChangeStore))
	m.HandleFunc("POST /admin/locations/{id}/google", change(s.SetGoogleVersion))
}

// Store gives a location as it is now.
func (c Client) Store(ctx context.Context, name LocationName) (Store, error) {
	var out Store
	return out, c.do(ctx, http.MethodGet, storePath(name), nil, &out)
}

// ChangeStore edits a location as somebody else would.
func (c Client) ChangeStore(ctx context.Context, name LocationName, change StoreChange) error {
	return c.do(ctx, http.MethodPost, storePath(name)+"/change", change, nil)
}

// SetGoogleVersion makes Google show its own version of some fields.
func (c Client) SetGoogleVersion(ctx context.Context, name LocationName, change StoreChange) error {
	return c.do(ctx, http.MethodPost, storePath(name)+"/google", change, nil)
}

func storePath(name LocationName) string {
	return "locations/" + url.PathEscape(strings.TrimPrefix(string(bareLocation(name)), "locations/"))
}
