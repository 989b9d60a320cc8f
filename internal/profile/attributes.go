package profile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Bounds of attributes. They are ours; Google publishes none.
const (
	AttributesMax      = 100
	attributeValuesMax = 50
)

// Attribute is one property of a store, "has_wifi". Which exist, and of which kind, is in Google's catalogue for its category.
// Exactly one kind of value is given: Bool, Value, Values with UnsetValues, or URLs.
type Attribute struct {
	// Name is Google's id, with or without "attributes/".
	Name string `json:"name" jsonschema:"Google's id of the attribute, such as has_delivery"`
	Bool *bool  `json:"bool,omitempty" jsonschema:"value of a yes-or-no attribute"`
	// Value is the choice of an attribute with one choice, such as wi_fi: "free_wi_fi".
	Value string `json:"value,omitempty" jsonschema:"choice of an attribute with one choice"`
	// Values and UnsetValues are the choices of an attribute with several: which hold, and which expressly do not. A part that
	// is absent stays as it is, less what the other part takes over; it can be absent only where the present ones are known,
	// because Google replaces both together.
	Values      []string `json:"values,omitempty" jsonschema:"choices that hold"`
	UnsetValues []string `json:"unset_values,omitempty" jsonschema:"choices that expressly do not hold"`
	URLs        []string `json:"urls,omitempty" jsonschema:"addresses of an address attribute"`
}

// AttributeChange is a change of attributes. A plain list changes exactly the attributes that it names; removals are names.
type AttributeChange = Change[Attribute, string]

const attributePrefix = "attributes/"

var (
	attributeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)
	choiceForm    = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
)

// googleAttribute is Google's Attribute as it is written; the value type is output only.
type googleAttribute struct {
	Name              string            `json:"name"`
	Values            []json.RawMessage `json:"values,omitempty"`
	RepeatedEnumValue *repeatedEnum     `json:"repeatedEnumValue,omitempty"`
	URIValues         []uriValue        `json:"uriValues,omitempty"`
}

type repeatedEnum struct {
	SetValues   []string `json:"setValues,omitempty"`
	UnsetValues []string `json:"unsetValues,omitempty"`
}

type uriValue struct {
	URI string `json:"uri"`
}

func (g googleAttribute) words() Attribute {
	a := Attribute{Name: strings.TrimPrefix(g.Name, attributePrefix)}
	if r := g.RepeatedEnumValue; r != nil {
		a.Values, a.UnsetValues = r.SetValues, r.UnsetValues
	}
	for _, u := range g.URIValues {
		a.URLs = append(a.URLs, u.URI)
	}
	for _, raw := range g.Values {
		var b bool
		if json.Unmarshal(raw, &b) == nil && string(raw) != "null" {
			a.Bool = &b
			continue
		}
		a.Value = textOf(raw)
	}
	return a
}

func (a Attribute) google() googleAttribute {
	g := googleAttribute{Name: attributePrefix + a.Name}
	switch {
	case a.Bool != nil:
		g.Values = []json.RawMessage{encode(*a.Bool)}
	case a.Value != "":
		g.Values = []json.RawMessage{encode(a.Value)}
	case len(a.Values) > 0 || len(a.UnsetValues) > 0:
		g.RepeatedEnumValue = &repeatedEnum{a.Values, a.UnsetValues}
	}
	for _, u := range a.URLs {
		g.URIValues = append(g.URIValues, uriValue{u})
	}
	return g
}

// attribute is one attribute of the resource, with Google's own object where it was not touched.
type attribute struct {
	Attribute
	raw json.RawMessage
}

func readAttributes(list json.RawMessage) ([]attribute, bool) {
	var raws []json.RawMessage
	if len(list) > 0 && json.Unmarshal(list, &raws) != nil {
		return nil, false
	}
	var out []attribute
	for _, raw := range raws {
		var g googleAttribute
		if json.Unmarshal(raw, &g) != nil || !strings.HasPrefix(g.Name, attributePrefix) {
			return nil, false
		}
		out = append(out, attribute{g.words(), raw})
	}
	slices.SortStableFunc(out, func(a, b attribute) int { return strings.Compare(a.Name, b.Name) })
	return out, true
}

func attributeWords(list []attribute) []Attribute {
	var out []Attribute
	for _, a := range list {
		out = append(out, a.Attribute)
	}
	return out
}

// attributes applies a change of attributes and gives the names that it touches. Without the present ones it can set and
// remove whole attributes, but neither replace everything nor change one side of several choices, because what is to go or to
// stay is not known (current_unknown).
func (j *judge) attributes(after *Snapshot, c *AttributeChange) (touched []string) {
	const at = "attributes"
	if c == nil || !c.shape(j, at) {
		return nil
	}
	list, readable := readAttributes(after.Attributes)
	known := readable && after.Attributes != nil
	if !known && c.Set != nil {
		j.refuse(at+".set", "current_unknown", "", errs.T("現在の属性が分からないため、全体の置き換えはできません。変更する属性だけを指定してください。", "The present attributes are not known, so they cannot be replaced as a whole; name the ones to change."))
		return nil
	}
	before, old := len(j.violations), list
	touch := func(name string) {
		if !slices.Contains(touched, name) {
			touched = append(touched, name)
		}
	}
	if c.Set != nil {
		for _, a := range list {
			touch(a.Name)
		}
		list = nil
	}
	removed, given := map[string]bool{}, map[string]bool{}
	for i, s := range c.Remove {
		name := strings.TrimPrefix(s, attributePrefix)
		if !j.attributeName(item(at+".remove", i), name) {
			continue
		}
		removed[name] = true
		touch(name)
		if known && !slices.ContainsFunc(list, func(a attribute) bool { return a.Name == name }) {
			j.notPresent(at, name)
		}
		list = slices.DeleteFunc(slices.Clone(list), func(a attribute) bool { return a.Name == name })
	}
	for _, e := range c.entries() {
		for i, a := range e.list {
			path := item(at+e.path, i)
			a.Name = strings.TrimPrefix(a.Name, attributePrefix)
			if !j.attributeName(path+".name", a.Name) {
				continue
			}
			if given[a.Name] {
				j.refuse(path+".name", "duplicate", a.Name, errs.Tf("%s が複数あります。", "%s is there more than once.", a.Name))
				continue
			}
			if removed[a.Name] {
				j.refuse(path+".name", "contradiction", a.Name, errs.Tf("%q を追加と削除の両方に指定しています。", "%q is both added and removed.", a.Name))
				continue
			}
			given[a.Name] = true
			n := slices.IndexFunc(old, func(x attribute) bool { return x.Name == a.Name })
			var present Attribute
			if n >= 0 {
				present = old[n].Attribute
			}
			if !known && (a.Values == nil) != (a.UnsetValues == nil) {
				j.refuse(path, "current_unknown", a.Name, errs.T("現在の選択肢が分からないため、片方だけの変更はできません (Google ではもう片方が消えます)。先に location.get で店舗を読み取るか、values と unset_values の両方を指定してください。", "The present choices are not known, and Google would drop those that are not sent; read the store with location.get first, or give both values and unset_values."))
				continue
			}
			if a, ok := j.attribute(path, a, present); ok {
				touch(a.Name)
				list = slices.DeleteFunc(slices.Clone(list), func(x attribute) bool { return x.Name == a.Name })
				list = append(list, attribute{Attribute: a})
			}
		}
	}
	if len(touched) > AttributesMax {
		j.refuse(at, "max_items", "", errs.Tf("一度に変更できる属性は %d 件までです。", "At most %d attributes can be changed at once.", AttributesMax))
	}
	if len(j.violations) > before {
		return nil
	}
	out := []json.RawMessage{}
	for _, a := range list {
		raw := a.raw
		if raw == nil {
			raw = encode(a.google())
		}
		out = append(out, raw)
	}
	after.Attributes = encode(out)
	return touched
}

func (j *judge) attributeName(path, name string) bool {
	if attributeForm.MatchString(name) {
		return true
	}
	j.refuse(path, "attribute", name, errs.T("属性は has_delivery のような Google の ID で指定してください。", "Attributes are Google's ids, such as has_delivery."))
	return false
}

// attribute checks one attribute and completes it from what is there.
func (j *judge) attribute(path string, a, present Attribute) (Attribute, bool) {
	before := len(j.violations)
	kinds := 0
	for _, b := range []bool{a.Bool != nil, a.Value != "", a.Values != nil || a.UnsetValues != nil, a.URLs != nil} {
		if b {
			kinds++
		}
	}
	if kinds != 1 {
		j.refuse(path, "one_value", a.Name, errs.T("bool、value、values・unset_values、urls のどれか 1 種類だけを指定してください。", "Give exactly one of bool, value, values (with unset_values) and urls."))
		return a, false
	}
	empty := a.Values != nil && len(a.Values) == 0 || a.UnsetValues != nil && len(a.UnsetValues) == 0 || a.URLs != nil && len(a.URLs) == 0
	if empty {
		j.refuse(path, "empty_list", a.Name, errs.T("空のリストでは何も消えません。属性を消すには remove に名前を指定してください。", "An empty list empties nothing; name the attribute in remove."))
	}
	choices := slices.Concat(a.Values, a.UnsetValues)
	if a.Value != "" {
		choices = append(choices, a.Value)
	}
	if len(choices) > attributeValuesMax || len(a.URLs) > attributeValuesMax {
		j.refuse(path, "max_items", a.Name, errs.Tf("値は %d 件までです。", "At most %d values are possible.", attributeValuesMax))
		return a, false
	}
	for i, v := range choices {
		if !choiceForm.MatchString(v) {
			j.refuse(path, "enum", v, errs.T("選択肢は Google の ID で指定してください。", "Choices are Google's ids."))
		}
		if slices.Contains(choices[:i], v) {
			j.refuse(path, "duplicate", v, errs.Tf("%q が重複しています。", "%q is there twice.", v))
		}
	}
	urls := slices.Clone(a.URLs)
	for i, u := range a.URLs {
		t := gbp.FillStoreURL(j.At+"."+item(path+".urls", i), u, j.Location, j.Locale)
		j.violations, j.warnings = append(j.violations, t.Violations...), append(j.warnings, t.Warnings...)
		urls[i] = t.Text
		if !slices.Contains(present.URLs, t.Text) {
			j.links = append(j.links, t.Links...)
		}
	}
	a.URLs = urls
	if a.Values == nil && a.UnsetValues != nil {
		a.Values = remaining(present.Values, a.UnsetValues)
	} else if a.UnsetValues == nil && a.Values != nil {
		a.UnsetValues = remaining(present.UnsetValues, a.Values)
	}
	return a, len(j.violations) == before
}

// remaining is a list without what another one takes over.
func remaining(list, taken []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return slices.Contains(taken, v) })
}
