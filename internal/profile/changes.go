package profile

import (
	"slices"
	"strings"
)

// Changes is the changes argument of location.update: what is present is changed, what is absent stays. Empty texts are
// absent. See the package for what a plain list does.
type Changes struct {
	Title        string            `json:"title,omitempty"`
	PhoneNumbers *PhoneChange      `json:"phone_numbers,omitempty"`
	WebsiteURL   string            `json:"website_url,omitempty"`
	RegularHours *WeekChange       `json:"regular_hours,omitempty"`
	SpecialHours *SpecialChange    `json:"special_hours,omitempty"`
	MoreHours    *MoreHoursChange  `json:"more_hours,omitempty"`
	Description  string            `json:"description,omitempty"`
	Categories   *CategoriesChange `json:"categories,omitempty"`
	OpenStatus   string            `json:"open_status,omitempty"`
	OpeningDate  string            `json:"opening_date,omitempty"`
	Labels       *TextsChange      `json:"labels,omitempty"`
	StoreCode    string            `json:"store_code,omitempty"`
	Attributes   *AttributeChange  `json:"attributes,omitempty"`
	// Clear names the fields that are to be emptied, of Clearable.
	Clear []string `json:"clear,omitempty"`
}

// The contract's names of the fields.
const (
	Title         = "title"
	Phones        = "phone_numbers"
	WebsiteURL    = "website_url"
	RegularHours  = "regular_hours"
	Special       = "special_hours"
	More          = "more_hours"
	Description   = "description"
	CategoryField = "categories"
	OpenStatus    = "open_status"
	OpeningDate   = "opening_date"
	Labels        = "labels"
	StoreCode     = "store_code"
	Attributes    = "attributes"
)

// Fields are the contract's names of all editable fields, in the order of the contract.
func Fields() []string {
	return []string{
		Title, Phones, WebsiteURL, RegularHours, Special, More, Description, CategoryField, OpenStatus, OpeningDate, Labels, StoreCode, Attributes,
	}
}

// AdditionalPhones and AdditionalCategories are the parts of a field that clear can name.
const (
	AdditionalPhones     = "phone_numbers.additional"
	AdditionalCategories = "categories.additional"
)

// Clearable are the names that clear takes. A profile always has a title, a primary category and a status; attributes are
// removed by name.
func Clearable() []string {
	return []string{
		Phones, AdditionalPhones, WebsiteURL, RegularHours, Special, More, Description, AdditionalCategories, OpeningDate, Labels, StoreCode,
	}
}

// Named are the fields that the changes name, whether or not they differ from what is there, in the order of the contract.
func (c Changes) Named() []string {
	set := map[string]bool{
		Title: c.Title != "", Phones: c.PhoneNumbers != nil, WebsiteURL: c.WebsiteURL != "", RegularHours: c.RegularHours != nil,
		Special: c.SpecialHours != nil, More: c.MoreHours != nil, Description: c.Description != "", CategoryField: c.Categories != nil,
		OpenStatus: c.OpenStatus != "", OpeningDate: c.OpeningDate != "", Labels: c.Labels != nil, StoreCode: c.StoreCode != "", Attributes: c.Attributes != nil,
	}
	for _, name := range c.Clear {
		field, _, _ := strings.Cut(name, ".")
		set[field] = true
	}
	return slices.DeleteFunc(Fields(), func(f string) bool { return !set[f] })
}

// Normalise takes Google's prefixes off category and attribute names and sorts clear without repeats. Its result is the
// canonical form: what is hashed, previewed and stored. The receiver is left as it is.
func (c Changes) Normalise() Changes {
	if k := c.Categories; k != nil {
		n := CategoriesChange{Primary: strings.TrimPrefix(k.Primary, categoryPrefix)}
		if k.Additional != nil {
			l := trimmed(*k.Additional, categoryPrefix)
			n.Additional = &l
		}
		c.Categories = &n
	}
	if k := c.Attributes; k != nil {
		n := AttributeChange{List: bareNames(k.List), Set: bareNames(k.Set), Add: bareNames(k.Add), Remove: trimmedAll(k.Remove, attributePrefix)}
		c.Attributes = &n
	}
	if len(c.Clear) > 0 {
		c.Clear = slices.Compact(slices.Sorted(slices.Values(c.Clear)))
	}
	return c
}

func trimmed(c TextsChange, prefix string) TextsChange {
	return TextsChange{List: trimmedAll(c.List, prefix), Set: trimmedAll(c.Set, prefix), Add: trimmedAll(c.Add, prefix), Remove: trimmedAll(c.Remove, prefix)}
}

func trimmedAll(list []string, prefix string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = strings.TrimPrefix(out[i], prefix)
	}
	return out
}

func bareNames(list []Attribute) []Attribute {
	out := slices.Clone(list)
	for i := range out {
		out[i].Name = strings.TrimPrefix(out[i].Name, attributePrefix)
	}
	return out
}
