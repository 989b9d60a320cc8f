package profile

import "slices"

// Landed tells, after a write whose outcome is not known, whether its effect is there: every masked field reads as it was sent, or
// is among the paths with an edit still in flight (getGoogleUpdated's pendingMask). It needs only what is stored of a patch. When
// attributes were written, live has to know them.
func (p Patch) Landed(live Snapshot, pending []string) bool {
	sent, ok := object(p.Body)
	if !ok {
		return false
	}
	want := Snapshot{Fields: sent}
	for _, f := range Fields() {
		g := googleField(f)
		if g == "" || !slices.Contains(p.Mask, g) || covers(pending, g) {
			continue
		}
		if Digest(want, f) != Digest(live, f) {
			return false
		}
	}
	if len(p.AttributeMask) == 0 {
		return true
	}
	if live.Attributes == nil {
		return false
	}
	resource, _ := object(p.AttributeBody)
	word := func(list []attribute, name string) string {
		i := slices.IndexFunc(list, func(a attribute) bool { return attributePrefix+a.Name == name })
		if i < 0 {
			return ""
		}
		return string(encode(list[i].Attribute))
	}
	is, ok1 := readAttributes(live.Attributes)
	was, ok2 := readAttributes(resource["attributes"])
	return ok1 && ok2 && !slices.ContainsFunc(p.AttributeMask, func(name string) bool { return word(is, name) != word(was, name) })
}
