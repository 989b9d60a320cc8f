package profile

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Inverse is the patch that restores what a snapshot from before a write holds of the masked fields: fields that were absent are
// masked without a value, which empties them again. It sends Google's own objects back, less their output-only members.
// attributeMask has Google's names ("attributes/has_wifi"). Fields of a mask that cannot be written are left out, and so
// are attributes where the snapshot does not know them: sending that mask would empty them.
func Inverse(before Snapshot, location gbp.LocationName, mask, attributeMask []string) Patch {
	var p Patch
	body := map[string]json.RawMessage{}
	for _, f := range GoogleFields() {
		if !covers(mask, f) {
			continue
		}
		p.Mask = append(p.Mask, f)
		if v, there := before.Fields[f]; there {
			body[f] = writable(f, v)
		}
	}
	if len(p.Mask) > 0 {
		p.Body = encode(body)
	}
	if len(attributeMask) > 0 && before.Attributes != nil {
		names := make([]string, len(attributeMask))
		for i, n := range attributeMask {
			names[i] = strings.TrimPrefix(n, attributePrefix)
		}
		p.AttributeBody, p.AttributeMask = attributePatch(before, location, slices.Compact(slices.Sorted(slices.Values(names))))
	}
	return p
}

// Describe fills in what a patch of Inverse changes in words, against what is there now.
func (p Patch) Describe(current, before Snapshot) Patch {
	was, is := ReadView(current), ReadView(before)
	for _, f := range Fields() {
		masked := f == Attributes && len(p.AttributeMask) > 0 || covers(p.Mask, googleField(f)) && googleField(f) != ""
		if b, a := was.word(f), is.word(f); masked && string(b) != string(a) {
			p.Changed = append(p.Changed, FieldChange{f, b, a})
		}
	}
	return p
}
