package profile

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Masked are the contract's fields that an update mask covers, in the order of the contract: openInfo is open_status and
// opening_date, because Google replaces it whole. Names of attributes are skipped.
func Masked(mask []string) []string {
	return slices.DeleteFunc(Fields(), func(f string) bool { g := googleField(f); return g == "" || !slices.Contains(mask, g) })
}

// IsAttributes tells whether a mask is one of attributes ("attributes/has_wifi"), which are another resource and another write.
func IsAttributes(mask []string) bool {
	return len(mask) > 0 && strings.HasPrefix(mask[0], attributePrefix)
}

// EditedBy are the groups of the contract's fields behind a mask; of each group at least one is edited, but which cannot be
// told from the mask.
func EditedBy(mask []string) [][]string {
	if IsAttributes(mask) {
		return [][]string{{Attributes}}
	}
	var out [][]string
	for _, g := range mask {
		if group := Masked([]string{g}); group != nil {
			out = append(out, group)
		}
	}
	return out
}

// Versions are digests by field, or by attribute ("attributes/has_wifi"): what a write binds, so that a change of anything else
// does not disturb it.
type Versions map[string]string

// VersionsOf digests some fields (the contract's names) of a snapshot.
func VersionsOf(s Snapshot, fields ...string) Versions {
	out := make(Versions, len(fields))
	for _, f := range fields {
		out[f] = Digest(s, f)[:16]
	}
	return out
}

// AttributeVersions digests some attributes of a snapshot that knows them; without that knowledge it is nil, which binds nothing.
func AttributeVersions(s Snapshot, mask []string) Versions {
	if s.Attributes == nil {
		return nil
	}
	out := make(Versions, len(mask))
	for _, name := range mask {
		out[name] = Digest(OnlyAttributes(s, []string{name}), Attributes)[:16]
	}
	return out
}

// String is the form that is stored; ParseVersions reads it. It is "" for nil.
func (v Versions) String() string {
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, f+":"+v[f])
	}
	return strings.Join(parts, " ")
}

// ParseVersions reads what String wrote.
func ParseVersions(s string) Versions {
	out := Versions{}
	for part := range strings.FieldsSeq(s) {
		f, digest, _ := strings.Cut(part, ":")
		out[f] = digest
	}
	return out
}

// Other are the names whose digests differ from those of o.
func (v Versions) Other(o Versions) []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(v)) {
		if v[f] != o[f] {
			out = append(out, f)
		}
	}
	return out
}

// OfLocation is the snapshot that our mirror of a store stands for, attributes included where they were read.
func OfLocation(l gbp.Location) Snapshot {
	s := FromMirror(l.Profile)
	if len(l.Attributes) > 0 {
		s.Attributes = l.Attributes
	}
	return s
}

// OnlyAttributes is a snapshot of nothing but some attributes ("attributes/has_wifi") of another one.
func OnlyAttributes(s Snapshot, mask []string) Snapshot {
	if s.Attributes == nil {
		return Snapshot{}
	}
	list, ok := readAttributes(s.Attributes)
	if !ok {
		return Snapshot{Attributes: s.Attributes}
	}
	list = slices.DeleteFunc(list, func(a attribute) bool { return !slices.Contains(mask, attributePrefix+a.Name) })
	out := make([]json.RawMessage, len(list))
	for i, a := range list {
		out[i] = a.raw
	}
	return Snapshot{Attributes: encode(out)}
}

// GoogleUpdateOf is what our mirror keeps of Google's own version; nil for nothing known.
func GoogleUpdateOf(v *gbp.GoogleVersion) *GoogleUpdate {
	if v == nil {
		return nil
	}
	live, err := FromGoogle(v.Live)
	if err != nil {
		live = Snapshot{}
	}
	return &GoogleUpdate{Diff: v.Diff, Pending: v.Pending, Live: live}
}

// Covers tells whether one of Google's field paths names one of the contract's fields, or a part of its object.
func Covers(paths []string, field string) bool {
	g := googleField(field)
	return g != "" && covers(paths, g)
}

// Names tells whether one of Google's field paths names one of Google's fields, or a part of it.
func Names(paths []string, googleField string) bool { return covers(paths, googleField) }

// Expect are the warnings about what may come of a patch: reverification, edits of Google's own. It fills in Contested.
func (p *Patch) Expect(in Context) []gbp.Warning {
	j := newJudge(in)
	j.expect(p)
	return j.warnings
}
