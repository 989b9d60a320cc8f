package profile

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Patch is what is sent for one store, and what it means.
type Patch struct {
	// Body and Mask are the exact body and update mask of locations.patch; both are empty when only attributes change. A masked
	// field that the body lacks is emptied by Google.
	Body json.RawMessage `json:"body,omitempty"`
	Mask []string        `json:"mask,omitempty"`
	// AttributeBody and AttributeMask are those of locations.updateAttributes.
	AttributeBody json.RawMessage `json:"attribute_body,omitempty"`
	AttributeMask []string        `json:"attribute_mask,omitempty"`
	// Changed are the fields that differ, in the order of the contract.
	Changed []FieldChange `json:"changed,omitempty"`
	// Links and Phones are what the change newly puts before the public.
	Links  []string `json:"links,omitempty"`
	Phones []string `json:"phones,omitempty"`
	// Contested are the changed fields that Google itself holds a different version of: sending decides over Google's version,
	// so a person should know.
	Contested []string `json:"contested,omitempty"`
}

// FieldChange is one field before and after, in the contract's words; hours are the whole week. null is an absent value.
type FieldChange struct {
	Field  string          `json:"field" jsonschema:"name of the field"`
	Before json.RawMessage `json:"before" jsonschema:"value before, null when there is none"`
	After  json.RawMessage `json:"after" jsonschema:"value after, null when there is none"`
}

// ClosesForGood tells whether the change closes a place permanently, which Google may refuse to take back.
func (c FieldChange) ClosesForGood() bool {
	return c.Field == OpenStatus && string(c.After) == `"`+StatusClosedPermanently+`"`
}

func (c FieldChange) reopens() bool {
	return c.Field == OpenStatus && string(c.Before) == `"`+StatusClosedPermanently+`"`
}

// Fields are the names of the fields that differ.
func (p Patch) Fields() []string {
	var out []string
	for _, c := range p.Changed {
		out = append(out, c.Field)
	}
	return out
}

// Apply lays changes over what is there. With violations there is no patch; all are reported together. Nothing that Google
// holds and the changes do not name is sent or judged.
func Apply(current Snapshot, c Changes, in Context) (Patch, []errs.Violation, []gbp.Warning) {
	j := newJudge(in)
	after := current.clone()
	j.clear(&after, c)
	// Variables name the store as it is after the change: what they are made of comes first.
	j.title(&after, c.Title)
	j.storeCode(&after, c.StoreCode)
	j.phoneNumbers(&after, c.PhoneNumbers)
	j.categories(&after, c.Categories)
	j.website(&after, c.WebsiteURL)
	j.regularHours(&after, c.RegularHours)
	j.specialHours(&after, c.SpecialHours)
	j.moreHours(&after, c.MoreHours)
	j.labels(&after, c.Labels)
	j.openInfo(&after, c.OpenStatus, c.OpeningDate)
	j.description(&after, c.Description)
	attributes := j.attributes(&after, c.Attributes)
	if len(c.Named()) == 0 && len(c.Clear) == 0 {
		j.refuse("", "required", "", errs.T("変更する項目がありません。", "No field to change is given."))
	}
	if len(j.violations) > 0 {
		return Patch{}, j.violations, j.warnings
	}
	j.reachable(current, after)
	p := j.patch(current, after, attributes)
	if len(j.violations) > 0 {
		return Patch{}, j.violations, j.warnings
	}
	j.expect(&p)
	return p, nil, j.warnings
}

// patch is the difference between two snapshots.
func (j *judge) patch(before, after Snapshot, attributes []string) Patch {
	p := Patch{Links: slices.Compact(j.links), Phones: slices.Compact(j.phones)}
	was, is := ReadView(before), ReadView(after)
	masked := map[string]bool{}
	for _, f := range Fields() {
		b, a := was.word(f), is.word(f)
		if f == Attributes && before.Attributes == nil && len(attributes) > 0 {
			masked[f] = true // what is there is not known, so it may differ
		} else if string(b) == string(a) && (!slices.Contains(was.Unreadable, f) || string(before.Fields[googleField(f)]) == string(after.Fields[googleField(f)])) {
			continue
		}
		masked[orElse(googleField(f), f)] = true
		p.Changed = append(p.Changed, FieldChange{f, b, a})
	}
	if len(p.Changed) == 0 {
		j.refuse("", "nothing_changes", "", errs.T("すでにこの内容になっています。変更はありません。", "The profile already says this; nothing would change."))
		return Patch{}
	}
	body := map[string]json.RawMessage{}
	for _, f := range GoogleFields() {
		if !masked[f] {
			continue
		}
		p.Mask = append(p.Mask, f)
		if v, there := after.Fields[f]; there {
			body[f] = writable(f, v)
		}
	}
	if len(p.Mask) > 0 {
		p.Body = encode(body)
	}
	if masked[Attributes] {
		p.AttributeBody, p.AttributeMask = attributePatch(after, j.Location.Name, changedAttributes(before, after, attributes))
	}
	return p
}

// changedAttributes leaves out what is the same before and after, where that is known.
func changedAttributes(before, after Snapshot, names []string) []string {
	if before.Attributes == nil {
		return names
	}
	word := func(s Snapshot, name string) string {
		list, _ := readAttributes(s.Attributes)
		i := slices.IndexFunc(list, func(a attribute) bool { return a.Name == name })
		if i < 0 {
			return ""
		}
		return string(encode(list[i].Attribute))
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return word(before, n) == word(after, n) })
}

// attributePatch is the body and mask of locations.updateAttributes for some attributes of a snapshot.
func attributePatch(s Snapshot, location gbp.LocationName, names []string) (json.RawMessage, []string) {
	names = slices.Sorted(slices.Values(names))
	list, _ := readAttributes(s.Attributes)
	out := []json.RawMessage{}
	for _, a := range list {
		if _, found := slices.BinarySearch(names, a.Name); found {
			raw := a.raw
			if raw == nil {
				raw = encode(a.google())
			}
			out = append(out, without(raw, "valueType"))
		}
	}
	mask := make([]string, len(names))
	for i, n := range names {
		mask[i] = attributePrefix + n
	}
	body := map[string]json.RawMessage{"attributes": encode(out)}
	if location != "" {
		body["name"] = encode(string(location) + "/attributes")
	}
	return encode(body), mask
}

// writable is a field without the members that Google documents as output only.
func writable(field string, v json.RawMessage) json.RawMessage {
	switch field {
	case fieldOpenInfo:
		return without(v, "canReopen")
	case fieldCategories:
		m, ok := object(v)
		if !ok {
			return v
		}
		const only, more, types = "displayName", "moreHoursTypes", "serviceTypes"
		if p, there := m["primaryCategory"]; there {
			m["primaryCategory"] = without(p, only, more, types)
		}
		var list []json.RawMessage
		if a, there := m["additionalCategories"]; there && json.Unmarshal(a, &list) == nil {
			for i := range list {
				list[i] = without(list[i], only, more, types)
			}
			m["additionalCategories"] = encode(list)
		}
		return encode(m)
	}
	return v
}

// clear empties the fields that clear names.
func (j *judge) clear(after *Snapshot, c Changes) {
	own := c
	own.Clear = nil
	set := own.Named()
	for i, name := range c.Clear {
		path := item("clear", i)
		field, part, _ := strings.Cut(name, ".")
		switch {
		case !slices.Contains(Clearable(), name):
			j.refuse(path, "enum", name, errs.Tf("clear に指定できるのは次の項目です: %s", "clear takes: %s", strings.Join(Clearable(), ", ")))
			continue
		case slices.Contains(c.Clear[:i], name) || part != "" && slices.Contains(c.Clear, field):
			j.refuse(path, "duplicate", name, errs.Tf("%s が複数あります。", "%s is there more than once.", name))
			continue
		case slices.Contains(set, field) && (part == "" || !otherPart(c, field)):
			j.refuse(path, "contradiction", name, errs.Tf("%s を同時に設定し、消すことはできません。", "%s is both set and cleared.", name))
			continue
		}
		held := Digest(*after, field)
		switch name {
		case AdditionalPhones:
			after.drop(fieldPhones, "additionalPhones")
		case AdditionalCategories:
			after.drop(fieldCategories, "additionalCategories")
		case OpeningDate:
			after.drop(fieldOpenInfo, "openingDate")
		case Description:
			after.drop(fieldProfile, "description")
			if m, ok := object(after.Fields[fieldProfile]); ok && len(m) == 0 {
				after.clear(fieldProfile)
			}
		default:
			after.clear(googleField(name))
		}
		if Digest(*after, field) == held {
			j.warn("NOT_PRESENT", name, errs.Tf("%s はもともと空です。", "%s is empty already.", name))
		}
	}
	if p, ok := periodsOf(after.Fields[fieldRegularHours]); slices.Contains(c.Clear, RegularHours) && ok && len(p) == 0 {
		if s, _ := readSpecial(after.Fields[fieldSpecialHours]); len(s) > 0 && c.SpecialHours == nil {
			j.refuse("clear", "needs_regular_hours", RegularHours, errs.T("特別営業時間が残っているため、通常の営業時間は消せません。special_hours も clear に指定してください。", "Special hours need regular hours; clear special_hours as well."))
		}
	}
}

// otherPart tells whether the change of a field leaves the part alone that clear names.
func otherPart(c Changes, field string) bool {
	switch field {
	case Phones:
		return c.PhoneNumbers.Additional == nil
	case CategoryField:
		return c.Categories.Additional == nil
	}
	return false
}

func (s *Snapshot) drop(field, member string) {
	if raw, there := s.Fields[field]; there {
		s.set(field, without(raw, member))
	}
}

// reachable refuses to leave a profile without both phone and website, which Google does not take.
func (j *judge) reachable(before, after Snapshot) {
	reach := func(s Snapshot) bool {
		return s.text(fieldWebsite) != "" || ReadView(s).PhoneNumbers != nil
	}
	if reach(before) && !reach(after) {
		j.refuse("clear", "phone_or_website", "", errs.T("電話番号とウェブサイトの両方を消すことはできません。", "Google wants a phone number or a website; both cannot be cleared."))
	}
}

// expect warns about what may come of a change.
func (j *judge) expect(p *Patch) {
	changed := p.Fields()
	if slices.Contains(changed, Title) {
		j.warn("TITLE_CHANGE_MAY_REVERIFY", "", errs.T("店名を変えると Google のオーナー確認がやり直しになることがあります。", "Changing the name of a verified store may make Google ask for verification again."))
	}
	if slices.Contains(changed, OpenStatus) {
		j.warn("OPEN_STATUS_CHANGE", "", errs.T("営業状態の変更は店舗の表示全体に影響します。", "A change of open_status changes how the whole store is shown."))
	}
	switch {
	case slices.ContainsFunc(p.Changed, FieldChange.ClosesForGood):
		j.warn("MAY_NOT_REOPEN", StatusClosedPermanently, errs.T("閉業にした店舗の再開は、batch.undo でも Google に拒否されることがあります。", "Google may refuse to reopen a place that was closed for good, by batch.undo as well."))
	case slices.ContainsFunc(p.Changed, FieldChange.reopens) && !j.canReopen:
		j.warn("MAY_NOT_REOPEN", "", errs.T("閉業した店舗の再開は Google に拒否されることがあります。", "Google may refuse to reopen a place that is permanently closed."))
	}
	if !j.Location.Verified {
		j.warn("LOCATION_NOT_VERIFIED", "", errs.T("オーナー確認が済んでいない店舗への変更は公開されません。", "The store is not verified at Google: the change is accepted and not shown."))
	}
	j.googleEdits(p)
}

// notPresent tells that a removal names what is not there.
func (j *judge) notPresent(at, name string) {
	j.warn("NOT_PRESENT", name, errs.Tf("%[1]s に %[2]s はありません。", "%[1]s has no %[2]s.", at, name))
}
