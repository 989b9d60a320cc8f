package profile

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Differs are the fields (the contract's names) in which a live profile is not as the patch has it; for attributes it is
// "attributes". It needs only what is stored of a patch. Attributes that are not known differ.
func (p Patch) Differs(live Snapshot) []string {
	sent, ok := object(p.Body)
	if !ok {
		return Masked(p.Mask)
	}
	want := Snapshot{Fields: sent}
	out := slices.DeleteFunc(Masked(p.Mask), func(f string) bool { return Digest(want, f) == Digest(live, f) })
	if len(p.AttributeMask) > 0 && !(Patch{AttributeBody: p.AttributeBody, AttributeMask: p.AttributeMask}).Landed(live, nil) {
		out = append(out, Attributes)
	}
	return out
}

// Stored is the patch of an item: its payload and mask, of fields or of attributes.
func Stored(payload []byte, mask []string) Patch {
	if IsAttributes(mask) {
		return Patch{AttributeBody: payload, AttributeMask: mask}
	}
	return Patch{Body: payload, Mask: mask}
}

// After is a snapshot with the patch laid over it; masked fields that the body lacks are gone. The attributes stay unknown where
// they were.
func (p Patch) After(s Snapshot) Snapshot {
	out := s.clone()
	sent, _ := object(p.Body)
	for _, g := range p.Mask {
		if v, there := sent[g]; there {
			out.set(g, v)
		} else {
			out.clear(g)
		}
	}
	if len(p.AttributeMask) == 0 || s.Attributes == nil {
		return out
	}
	var kept []json.RawMessage
	old, _ := readAttributes(s.Attributes)
	for _, a := range old {
		if !slices.Contains(p.AttributeMask, attributePrefix+a.Name) {
			kept = append(kept, a.raw)
		}
	}
	resource, _ := object(p.AttributeBody)
	list, _ := readAttributes(resource["attributes"])
	for _, a := range list {
		kept = append(kept, a.raw)
	}
	out.Attributes = encode(filled(kept))
	return out
}

// Laid is a location of Google's after an edit, whole: what was read just before with the masked fields and the metadata of the
// edit's answer. A masked field that the answer lacks is as it was sent, so an answer cut short cannot empty our mirror.
func Laid(before, answer, body []byte, mask []string) (json.RawMessage, error) {
	was, ok1 := object(before)
	is, ok2 := object(answer)
	sent, ok3 := object(body)
	if !ok1 || !ok2 || !ok3 || len(was) == 0 {
		return nil, fmt.Errorf("a location before and after an edit: %w", errNotObject)
	}
	for _, f := range mask {
		switch {
		case is[f] != nil:
			was[f] = is[f]
		case sent[f] != nil:
			was[f] = sent[f]
		default:
			delete(was, f)
		}
	}
	if is["metadata"] != nil {
		was["metadata"] = is["metadata"]
	}
	return encode(was), nil
}

// Only are some of the fields of a location of Google's, without Google's catalogues: what is kept of an edit's result. A location
// that cannot be read gives nil.
func Only(location []byte, mask []string) json.RawMessage {
	m, ok := object(location)
	if !ok {
		return nil
	}
	out := map[string]json.RawMessage{}
	for _, f := range mask {
		if v, there := m[f]; there {
			out[f] = v
		}
	}
	return Kept(encode(out))
}

// Kept is a location of Google's without the catalogues that Google adds to its categories (kinds of services and of hours),
// which are large and are no part of the profile. What cannot be read stays as it is.
func Kept(location []byte) json.RawMessage {
	m, ok := object(location)
	if !ok {
		return location
	}
	c, ok := object(m[fieldCategories])
	if !ok || len(c) == 0 {
		return location
	}
	const more, types = "moreHoursTypes", "serviceTypes"
	if p, there := c["primaryCategory"]; there {
		c["primaryCategory"] = without(p, more, types)
	}
	var list []json.RawMessage
	if json.Unmarshal(c["additionalCategories"], &list) == nil && list != nil {
		for i := range list {
			list[i] = without(list[i], more, types)
		}
		c["additionalCategories"] = encode(list)
	}
	m[fieldCategories] = encode(c)
	return encode(m)
}

// UnderReview tells whether a location of Google's says that an edit of it is not public yet.
func UnderReview(location []byte) bool {
	var l struct {
		Metadata struct {
			HasPendingEdits bool `json:"hasPendingEdits"`
		} `json:"metadata"`
	}
	return json.Unmarshal(location, &l) == nil && l.Metadata.HasPendingEdits
}
