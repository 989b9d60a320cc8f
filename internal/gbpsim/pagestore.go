package gbpsim

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// pageStore is one profile as the page shows it.
type pageStore struct {
	Location Location
	Fields   []pageField
	// Status is what the public reads instead of hours; "" while the store is open.
	Status  string
	Pending bool
	Posts   []pagePost
	Media   []pageMedia
	Reviews []pageReview
	Calls   []pageCall
	// Written tells of any write that the page knows of, New of one of the last minutes.
	Written, New bool
	// Open: its details are shown without being asked for.
	Open bool
	// changed are the fields that a write of the last minutes has named.
	changed map[string]bool
}

// pageField is one field of store data.
type pageField struct {
	Key, Name string
	Lines     []string
	// New: written of late; Pending: under review at Google. Public are the lines of Google's own version, if it has one.
	New, Pending, Replaced bool
	Public                 []string
}

// ID is the store's anchor.
func (x pageStore) ID() string {
	return "s-" + strings.TrimPrefix(string(x.Location.Name), "locations/")
}

// Find is what the filter looks into.
func (x pageStore) Find() string {
	l := x.Location
	return strings.ToLower(strings.Join(append([]string{l.Title, l.StoreCode, l.City, l.AdministrativeArea, string(l.Name)}, l.Labels...), " "))
}

// Language is that of the store's texts.
func (x pageStore) Language() string { return orDefault(x.Location.LanguageCode, "ja") }

// Unanswered counts reviews without a reply.
func (x pageStore) Unanswered() (n int) {
	for _, r := range x.Reviews {
		if r.Reply == nil {
			n++
		}
	}
	return n
}

// Rejected counts the posts that Google keeps and shows to nobody, Published the others.
func (x pageStore) Rejected() (n int) {
	for _, p := range x.Posts {
		if p.State == stateRejected {
			n++
		}
	}
	return n
}

// Published counts the posts that were not rejected.
func (x pageStore) Published() int { return len(x.Posts) - x.Rejected() }

// read takes from the store's entries, newest first, what was called and what it changed.
func (x *pageStore) read(now time.Time, entries []Entry, rejected map[string]bool) {
	x.changed = map[string]bool{}
	writes, readings := 0, 0
	for _, e := range entries {
		n, most := &readings, pageReadings
		if e.Write {
			n, most = &writes, pageWrites
			x.Written = true
		}
		if *n++; *n <= most {
			x.Calls = append(x.Calls, pageCallOf(now, e, rejected))
		}
		if !e.Effect || now.Sub(e.Time) >= recentFor {
			continue
		}
		x.New = x.New || e.Write
		if e.Route == RouteLocationsUpdateAttributes {
			x.changed["attributes"] = true
		}
		if e.Route == RouteLocationsPatch {
			for _, f := range e.masked() {
				field, _, _ := strings.Cut(lowerCamel(f), ".")
				x.changed[field] = true
			}
		}
	}
}

// describe fills in the store data.
func (x *pageStore) describe(s Store) {
	x.Pending = len(s.Pending) > 0
	x.Status = openStatus(s.Fields["openInfo"])
	add := func(key, name string, raw json.RawMessage) {
		public, replaced := s.Google[key]
		lines := fieldLines(key, raw)
		if len(lines) == 0 && !replaced && !x.changed[key] {
			return
		}
		x.Fields = append(x.Fields, pageField{
			Key: key, Name: name, Lines: lines, New: x.changed[key], Pending: slices.Contains(s.Pending, key), Replaced: replaced, Public: fieldLines(key, public),
		})
	}
	known := map[string]bool{"name": true, "languageCode": true, "metadata": true}
	for _, f := range []struct{ key, name string }{
		{"title", "Title"},
		{"storeCode", "Store code"},
		{"phoneNumbers", "Phone"},
		{"websiteUri", "Website"},
		{"storefrontAddress", "Address"},
		{"openInfo", "Open"},
		{"regularHours", "Hours"},
		{"specialHours", "Special hours"},
		{"moreHours", "More hours"},
		{"profile", "Description"},
		{"categories", "Categories"},
		{"labels", "Labels"},
	} {
		known[f.key] = true
		add(f.key, f.name, s.Fields[f.key])
	}
	add("attributes", "Attributes", s.Attributes)
	for _, key := range slices.Sorted(maps.Keys(s.Fields)) {
		if !known[key] {
			add(key, key, s.Fields[key])
		}
	}
}

// fieldLines gives a v1 field in a person's words, a line each; what is not known is its JSON.
func fieldLines(key string, raw json.RawMessage) []string {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	read := func(into any) bool { return json.Unmarshal(raw, into) == nil }
	switch key {
	case "title", "storeCode", "websiteUri":
		if s := ""; read(&s) {
			return filled(s)
		}
	case "labels":
		if list := []string(nil); read(&list) {
			return list
		}
	case "phoneNumbers":
		var p struct {
			PrimaryPhone     string   `json:"primaryPhone"`
			AdditionalPhones []string `json:"additionalPhones"`
		}
		if read(&p) {
			return filled(append([]string{p.PrimaryPhone}, p.AdditionalPhones...)...)
		}
	case "profile":
		var p struct {
			Description string `json:"description"`
		}
		if read(&p) {
			return filled(p.Description)
		}
	case "storefrontAddress":
		var a struct {
			PostalCode         string   `json:"postalCode"`
			AdministrativeArea string   `json:"administrativeArea"`
			Locality           string   `json:"locality"`
			AddressLines       []string `json:"addressLines"`
		}
		if read(&a) {
			return filled(strings.Join(filled(append([]string{a.PostalCode, a.AdministrativeArea, a.Locality}, a.AddressLines...)...), " "))
		}
	case "categories":
		return categoryLines(raw)
	case "openInfo":
		return filled(orDefault(openStatus(raw), "open"))
	case "regularHours":
		return weekLines(raw)
	case "specialHours":
		return specialLines(raw)
	case "moreHours":
		return moreLines(raw)
	case "attributes":
		return attributeLines(raw)
	}
	return []string{string(raw)}
}

func filled(list ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

func categoryLines(raw json.RawMessage) []string {
	type category struct {
		Name        string `json:"name"`
		DisplayName string `json:"displayName"`
	}
	var c struct {
		PrimaryCategory      category   `json:"primaryCategory"`
		AdditionalCategories []category `json:"additionalCategories"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return []string{string(raw)}
	}
	var out []string
	for _, x := range append([]category{c.PrimaryCategory}, c.AdditionalCategories...) {
		out = append(out, cmp.Or(x.DisplayName, x.Name))
	}
	return filled(out...)
}

// openStatus is "" for an open store.
func openStatus(raw json.RawMessage) string {
	var o struct {
		Status      string `json:"status"`
		OpeningDate date   `json:"openingDate"`
	}
	_ = json.Unmarshal(raw, &o) // absent is open
	switch {
	case o.Status == "CLOSED_PERMANENTLY":
		return "permanently closed"
	case o.Status == "CLOSED_TEMPORARILY":
		return "temporarily closed"
	case o.Status != "" && o.Status != "OPEN":
		return o.Status
	case o.OpeningDate != date{}:
		return "open since or from " + o.OpeningDate.shown()
	}
	return ""
}

func attributeLines(raw json.RawMessage) []string {
	var list []struct {
		Name              string            `json:"name"`
		Values            []json.RawMessage `json:"values"`
		RepeatedEnumValue struct {
			SetValues   []string `json:"setValues"`
			UnsetValues []string `json:"unsetValues"`
		} `json:"repeatedEnumValue"`
		URIValues []struct {
			URI string `json:"uri"`
		} `json:"uriValues"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return []string{string(raw)}
	}
	var out []string
	for _, a := range list {
		var words []string
		for _, v := range a.Values {
			word := strings.Trim(string(v), `"`)
			words = append(words, orDefault(map[string]string{"true": "yes", "false": "no"}[word], word))
		}
		words = append(words, a.RepeatedEnumValue.SetValues...)
		for _, v := range a.RepeatedEnumValue.UnsetValues {
			words = append(words, "not "+v)
		}
		for _, u := range a.URIValues {
			words = append(words, u.URI)
		}
		out = append(out, strings.TrimPrefix(a.Name, "attributes/")+": "+orDefault(strings.Join(words, ", "), "-"))
	}
	return out
}
