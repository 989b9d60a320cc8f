package profile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Google's names of the fields that are edited here: whole objects, as they stand in an update mask.
const (
	fieldTitle        = "title"
	fieldStoreCode    = "storeCode"
	fieldPhones       = "phoneNumbers"
	fieldCategories   = "categories"
	fieldWebsite      = "websiteUri"
	fieldRegularHours = "regularHours"
	fieldSpecialHours = "specialHours"
	fieldMoreHours    = "moreHours"
	fieldLabels       = "labels"
	fieldOpenInfo     = "openInfo"
	fieldProfile      = "profile"
)

// GoogleFields are the fields of a location that can be edited, in the order in which masks name them.
func GoogleFields() []string {
	return []string{
		fieldStoreCode, fieldTitle, fieldPhones, fieldCategories, fieldWebsite, fieldRegularHours, fieldSpecialHours, fieldMoreHours,
		fieldLabels, fieldOpenInfo, fieldProfile,
	}
}

// Snapshot is what Google holds for a location, as Google's JSON by Google's field names. It can be stored and read back.
type Snapshot struct {
	Fields map[string]json.RawMessage `json:"fields"`
	// Attributes is the list of the attributes resource; nil is not known, which is not the same as none ("[]").
	Attributes json.RawMessage `json:"attributes,omitempty"`
}

// FromGoogle reads a location of Business Information v1, or the fields of one that a mask picked. Every member is kept.
func FromGoogle(location []byte) (Snapshot, error) {
	s := Snapshot{}
	if err := json.Unmarshal(location, &s.Fields); err != nil || s.Fields == nil {
		return Snapshot{}, fmt.Errorf("a location of Google's is a JSON object: %w", orNotObject(err))
	}
	maps.DeleteFunc(s.Fields, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return s, nil
}

// WithAttributes adds what the attributes resource {name, attributes} of the location holds.
func (s Snapshot) WithAttributes(resource []byte) (Snapshot, error) {
	var a struct {
		Attributes []json.RawMessage `json:"attributes"`
	}
	if err := json.Unmarshal(resource, &a); err != nil {
		return s, fmt.Errorf("attributes of Google's: %w", err)
	}
	s.Attributes = encode(filled(a.Attributes))
	return s, nil
}

// FromMirror is the snapshot that our mirror of a location stands for. Attributes are not mirrored.
func FromMirror(p gbp.Profile) Snapshot {
	s := Snapshot{Fields: map[string]json.RawMessage{}}
	text := func(field, v string) {
		if v != "" {
			s.Fields[field] = encode(v)
		}
	}
	text(fieldTitle, p.Title)
	text(fieldStoreCode, p.StoreCode)
	text(fieldWebsite, p.WebsiteURL)
	for field, raw := range map[string]json.RawMessage{
		fieldRegularHours: p.RegularHours, fieldSpecialHours: p.SpecialHours, fieldMoreHours: p.MoreHours, fieldCategories: p.Categories, fieldOpenInfo: p.OpenInfo,
	} {
		if len(raw) > 0 {
			s.Fields[field] = slices.Clone(raw)
		}
	}
	if p.PrimaryPhone != "" || len(p.AdditionalPhones) > 0 {
		s.Fields[fieldPhones] = encode(googlePhones{p.PrimaryPhone, p.AdditionalPhones})
	}
	if len(p.Labels) > 0 {
		s.Fields[fieldLabels] = encode(p.Labels)
	}
	if p.Description != "" {
		s.Fields[fieldProfile] = encode(map[string]string{"description": p.Description})
	}
	return s
}

// clone is a snapshot whose fields can be changed.
func (s Snapshot) clone() Snapshot {
	out := Snapshot{Fields: maps.Clone(s.Fields), Attributes: s.Attributes}
	if out.Fields == nil {
		out.Fields = map[string]json.RawMessage{}
	}
	return out
}

func (s *Snapshot) set(field string, v json.RawMessage) { s.Fields[field] = v }
func (s *Snapshot) clear(field string)                  { delete(s.Fields, field) }

// text is a plain text field, "" when it is absent.
func (s Snapshot) text(field string) string { return textOf(s.Fields[field]) }

func textOf(raw json.RawMessage) string {
	var t string
	_ = json.Unmarshal(raw, &t) // absent or of another type: no text
	return t
}
