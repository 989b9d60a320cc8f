package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// View are the editable fields of a profile in the contract's words. Hours name every day of the week; no regular hours at
// all are absent. What a View holds may be sent back as changes.
type View struct {
	Title        string         `json:"title,omitempty" jsonschema:"name of the store"`
	PhoneNumbers *PhoneNumbers  `json:"phone_numbers,omitempty" jsonschema:"phone numbers"`
	WebsiteURL   string         `json:"website_url,omitempty" jsonschema:"address of the website"`
	RegularHours []Hours        `json:"regular_hours,omitempty" jsonschema:"opening hours of the whole week"`
	SpecialHours []SpecialHours `json:"special_hours,omitempty" jsonschema:"hours of single dates"`
	MoreHours    []MoreHours    `json:"more_hours,omitempty" jsonschema:"hours of kinds of service"`
	Description  string         `json:"description,omitempty" jsonschema:"text about the store"`
	Categories   *Categories    `json:"categories,omitempty" jsonschema:"categories"`
	OpenStatus   string         `json:"open_status,omitempty" jsonschema:"OPEN, CLOSED_TEMPORARILY or CLOSED_PERMANENTLY"`
	OpeningDate  string         `json:"opening_date,omitempty" jsonschema:"YYYY-MM-DD, or YYYY-MM"`
	Labels       []string       `json:"labels,omitempty" jsonschema:"private labels"`
	StoreCode    string         `json:"store_code,omitempty" jsonschema:"the chain's own code of the store"`
	Attributes   []Attribute    `json:"attributes,omitempty" jsonschema:"properties of the store; absent where they were not read"`
	// Unreadable are fields that Google holds in a form which this package cannot put into words.
	Unreadable []string `json:"unreadable,omitempty" jsonschema:"fields whose value has no words here"`
}

// ReadView puts a snapshot into words.
func ReadView(s Snapshot) View {
	v := View{Title: s.text(fieldTitle), WebsiteURL: s.text(fieldWebsite), StoreCode: s.text(fieldStoreCode)}
	check := func(ok bool, field string) {
		if !ok {
			v.Unreadable = append(v.Unreadable, field)
		}
	}
	if raw := s.Fields[fieldPhones]; len(raw) > 0 {
		var p googlePhones
		check(json.Unmarshal(raw, &p) == nil, Phones)
		if p.PrimaryPhone != "" || len(p.AdditionalPhones) > 0 {
			v.PhoneNumbers = &PhoneNumbers{p.PrimaryPhone, p.AdditionalPhones}
		}
	}
	week, ok := periodsOf(s.Fields[fieldRegularHours])
	check(ok, RegularHours)
	v.RegularHours = weekWords(week)
	dates, ok := readSpecial(s.Fields[fieldSpecialHours])
	check(ok, Special)
	v.SpecialHours = specialWords(dates)
	kinds, ok := readMore(s.Fields[fieldMoreHours])
	if ok {
		v.MoreHours, ok = moreWords(kinds)
	}
	check(ok, More)
	if m, ok := object(s.Fields[fieldProfile]); ok {
		v.Description = textOf(m["description"])
	} else {
		check(false, Description)
	}
	c, ok := readCategories(s.Fields[fieldCategories])
	check(ok, CategoryField)
	v.Categories = c.words()
	o, ok := readOpenInfo(s.Fields[fieldOpenInfo])
	check(ok, OpenStatus)
	v.OpenStatus = o.Status
	if d := o.OpeningDate; d != nil && d.Year > 0 && d.Month > 0 {
		v.OpeningDate = d.String()
	}
	if raw := s.Fields[fieldLabels]; len(raw) > 0 {
		check(json.Unmarshal(raw, &v.Labels) == nil, Labels)
	}
	a, ok := readAttributes(s.Attributes)
	check(ok, Attributes)
	v.Attributes = attributeWords(a)
	return v
}

// word is one field's value in words as JSON, "null" where it is absent.
func (v View) word(field string) json.RawMessage {
	var value any
	switch field {
	case Title:
		value = present(v.Title)
	case Phones:
		value = v.PhoneNumbers
	case WebsiteURL:
		value = present(v.WebsiteURL)
	case RegularHours:
		value = v.RegularHours
	case Special:
		value = v.SpecialHours
	case More:
		value = v.MoreHours
	case Description:
		value = present(v.Description)
	case CategoryField:
		value = v.Categories
	case OpenStatus:
		value = present(v.OpenStatus)
	case OpeningDate:
		value = present(v.OpeningDate)
	case Labels:
		value = v.Labels
	case StoreCode:
		value = present(v.StoreCode)
	case Attributes:
		value = v.Attributes
	}
	return encode(value)
}

// present is nil for an absent text.
func present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Digest is a short fingerprint of some fields (the contract's names; none means all) as words: equal for our mirror and for
// Google's own answer when they say the same, whatever the spelling of the JSON. It is what a confirmed change is compared by
// before it is sent; the version of a whole mirror row stays gbp.Profile.Version. Unreadable values count by their bytes.
func Digest(s Snapshot, fields ...string) string {
	if len(fields) == 0 {
		fields = Fields()
	}
	v := ReadView(s)
	if v.Categories != nil {
		c := *v.Categories
		c.DisplayNames = nil // in the language of whoever asked
		v.Categories = &c
	}
	h := sha256.New()
	for _, f := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		word := v.word(f)
		if slices.Contains(v.Unreadable, f) {
			word = encode(s.Fields[googleField(f)])
		}
		h.Write([]byte(f + "="))
		h.Write(word)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// googleField is the field of Google's location that holds a field of the contract; "" for attributes.
func googleField(field string) string {
	switch field {
	case Title:
		return fieldTitle
	case Phones:
		return fieldPhones
	case WebsiteURL:
		return fieldWebsite
	case RegularHours:
		return fieldRegularHours
	case Special:
		return fieldSpecialHours
	case More:
		return fieldMoreHours
	case Description:
		return fieldProfile
	case CategoryField:
		return fieldCategories
	case OpenStatus, OpeningDate:
		return fieldOpenInfo
	case Labels:
		return fieldLabels
	case StoreCode:
		return fieldStoreCode
	}
	return ""
}
