package gbpsim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// listLocations is GET /v1/accounts/{a}/locations; accounts/- is every account of the caller.
func (c *call) listLocations() (reply, effect) {
	mask, refusal := c.readMask()
	if refusal != nil {
		return *refusal, nil
	}
	p, refusal := c.page(10, 100)
	if refusal != nil {
		return *refusal, nil
	}
	if c.account != "accounts/-" && !c.visible(c.account) {
		return notFound(ruleNoAccess), nil
	}
	keep, refusal := c.locationFilter()
	if refusal != nil {
		return *refusal, nil
	}
	var all []*location
	for _, l := range c.sim.locations {
		if (l.Account == c.account || c.account == "accounts/-" && c.visible(l.Account)) && keep(l) {
			all = append(all, l)
		}
	}
	if refusal := c.sortLocations(all); refusal != nil {
		return *refusal, nil
	}
	page, token := cut(c, p, all)
	var out struct {
		Locations     []map[string]json.RawMessage `json:"locations,omitempty"`
		NextPageToken string                       `json:"nextPageToken,omitempty"`
		TotalSize     int                          `json:"totalSize,omitempty"`
	}
	for _, l := range page {
		out.Locations = append(out.Locations, mask.apply(c.shown(l)))
	}
	if c.parameter("filter") != "" {
		out.TotalSize = len(all)
	}
	out.NextPageToken = token
	return answer(out), nil
}

func (c *call) sortLocations(all []*location) *reply {
	by := strings.Fields(c.parameter("orderBy"))
	if len(by) == 0 {
		return nil
	}
	var key func(*location) string
	switch by[0] {
	case "title":
		key = func(l *location) string { return l.Title }
	case "storeCode", "store_code":
		key = func(l *location) string { return l.StoreCode }
	}
	if key == nil || len(by) > 2 || len(by) == 2 && by[1] != "desc" {
		r := invalidArgument(ruleLocationOrder, "order_by", "Invalid order_by.")
		return &r
	}
	slices.SortStableFunc(all, func(a, b *location) int {
		if len(by) == 2 {
			a, b = b, a
		}
		return cmp.Compare(key(a), key(b))
	})
	return nil
}

// getLocation is GET /v1/locations/{l}.
func (c *call) getLocation() (reply, effect) {
	mask, refusal := c.readMask()
	if refusal != nil {
		return *refusal, nil
	}
	l, refusal := c.findStore()
	if refusal != nil {
		return *refusal, nil
	}
	return answer(mask.apply(c.shown(l))), nil
}

func permissionDenied() reply {
	return refuse(ruleDenied, http.StatusForbidden, "PERMISSION_DENIED", "The caller does not have permission")
}

// unsimulated is the loud answer to what exists at Google and not here.
func (c *call) unsimulated(what string) reply {
	r := refuse("", http.StatusBadRequest, "INVALID_ARGUMENT", "gbpsim: "+what+" of "+string(c.route.name)+" is not simulated")
	r.unknown = true
	return r
}

// fieldMask is a set of paths, each as its segments in lowerCamel.
type fieldMask [][]string

func (c *call) readMask() (fieldMask, *reply) {
	value := c.parameter("readMask")
	if value == "" {
		r := invalidArgument(ruleReadMask, "read_mask", "read_mask is required")
		return nil, &r
	}
	var m fieldMask
	for path := range strings.SplitSeq(value, ",") {
		path = strings.TrimSpace(path)
		if path == "*" {
			for _, f := range locationFields() {
				m = append(m, []string{f})
			}
			continue
		}
		segments := strings.Split(path, ".")
		for i, s := range segments {
			segments[i] = lowerCamel(s)
		}
		if !slices.Contains(locationFields(), segments[0]) || slices.Contains(segments, "") {
			r := invalidArgument(ruleReadMaskPath, "read_mask", "Invalid field mask provided")
			return nil, &r
		}
		m = append(m, segments)
	}
	return m, nil
}

// apply gives the masked part of a location.
func (m fieldMask) apply(fields map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, path := range m {
		raw, ok := fields[path[0]]
		if !ok {
			continue
		}
		if len(path) == 1 {
			out[path[0]] = raw
			continue
		}
		if picked, ok := pick(raw, path[1:]); ok {
			out[path[0]] = merge(out[path[0]], picked)
		}
	}
	return out
}

// pick keeps one nested path of an object. Lists cannot be descended into.
func pick(raw json.RawMessage, path []string) (json.RawMessage, bool) {
	if len(path) == 0 {
		return raw, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil, false
	}
	inner, ok := object[path[0]]
	if !ok {
		return nil, false
	}
	inner, ok = pick(inner, path[1:])
	if !ok {
		return nil, false
	}
	return encode(map[string]json.RawMessage{path[0]: inner}), true
}

// merge joins two objects member by member.
func merge(a, b json.RawMessage) json.RawMessage {
	var x, y map[string]json.RawMessage
	if len(a) == 0 || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return b
	}
	for k, v := range y {
		if old, ok := x[k]; ok && bytes.HasPrefix(old, []byte("{")) {
			v = merge(old, v)
		}
		x[k] = v
	}
	return encode(x)
}

// lowerCamel turns snake_case into lowerCamel and leaves lowerCamel as it is.
func lowerCamel(s string) string {
	var b strings.Builder
	up := false
	for _, r := range s {
		if r == '_' {
			up = true
			continue
		}
		if up && r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}
