package gbpsim

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// patchLocation is PATCH /v1/locations/{l}.
func (c *call) patchLocation() (reply, effect) {
	validateOnly := c.parameter("validateOnly")
	if !slices.Contains([]string{"", "true", "false"}, validateOnly) {
		return badRequest(ruleBadType, "validate_only", `Invalid value at 'validate_only' (TYPE_BOOL), "`+validateOnly+`"`), nil
	}
	raw, bad := decodeBody(c.body, locationShape(), "location")
	if bad != nil {
		return badRequest(bad.rule, bad.field, bad.words), nil
	}
	var body map[string]json.RawMessage
	_ = json.Unmarshal(raw, &body) // decodeBody made it
	mask, refusal := c.updateMask(c.parameter("updateMask"))
	if refusal != nil {
		return *refusal, nil
	}
	l, refusal := c.findStore()
	if refusal != nil {
		return *refusal, nil
	}
	changes, refusal := c.changes(l, mask, body)
	if refusal == nil {
		refusal = c.judgeStore(l, changes)
	}
	if refusal != nil {
		return *refusal, nil
	}
	if validateOnly == "true" {
		return answer(struct{}{}), nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		c.submit(l, changes)
		out := l.fields
		if c.now.After(c.sim.Now()) { // put off by a fault; Google would answer what it accepted
			out = laid(l.fields, changes)
		}
		shown := laid(out, map[string]json.RawMessage{"metadata": l.metadata(out["metadata"])})
		r := answer(shown)
		r.effect = true
		return r
	}
}

// laid is a set of fields with changes laid over it.
func laid(fields, changes map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(fields)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	for f, v := range changes {
		if v == nil {
			delete(out, f)
		} else {
			out[f] = v
		}
	}
	return out
}

// updateMask reads and judges the mask of an edit.
func (c *call) updateMask(value string) (fieldMask, *reply) {
	if strings.TrimSpace(value) == "" {
		r := invalidArgument(ruleUpdateMask, "update_mask", "update_mask is required")
		return nil, &r
	}
	wrong := func(rule RuleID, words string) *reply {
		r := invalidArgument(rule, "update_mask", words)
		return &r
	}
	var out fieldMask
	for path := range strings.SplitSeq(value, ",") {
		segments := strings.Split(strings.TrimSpace(path), ".")
		for i, s := range segments {
			segments[i] = lowerCamel(s)
		}
		s := locationShape()
		for _, name := range segments {
			if s.kind == list {
				return nil, wrong(ruleMaskRepeated, "Field mask paths cannot go into repeated fields: "+path)
			}
			member, ok := s.fields[name]
			if s.kind == anything {
				member, ok = s, name != ""
			}
			if !ok {
				return nil, wrong(ruleUpdateMaskPath, "Invalid field mask provided: "+path)
			}
			s = member
		}
		switch head := segments[0]; {
		case head == "name" || head == "languageCode":
			return nil, wrong(ruleImmutable, head+" is immutable")
		case head == "metadata" || len(segments) == 2 && head == "openInfo" && segments[1] == "canReopen":
			return nil, wrong(ruleOutputOnly, path+" is output only")
		case (head == "phoneNumbers" || head == "categories") && len(segments) > 1:
			return nil, wrong(ruleMaskWhole, head+" must be updated as a whole")
		}
		out = append(out, segments)
	}
	return out, nil
}

// changes is what a masked body makes of a location, by top-level field; nil empties it.
func (c *call) changes(l *location, mask fieldMask, body map[string]json.RawMessage) (map[string]json.RawMessage, *reply) {
	out := map[string]json.RawMessage{}
	for _, path := range mask {
		field := path[0]
		switch field {
		case "storefrontAddress", "serviceArea", "adWordsLocationExtensions", "relationshipData", "serviceItems":
			r := c.unsimulated("writing " + field)
			r.rule = ruleNotSimulated
			return nil, &r
		case "latlng":
			return nil, storeFault(ruleLatLng, "LAT_LNG_UPDATES_NOT_PERMITTED", "latlng", "The client is not allowed to update latlng.")
		}
		if len(path) == 1 {
			out[field] = body[field]
			continue
		}
		old, there := out[field]
		if !there {
			old = l.fields[field]
		}
		out[field] = graft(old, body[field], path[1:])
	}
	for field, v := range out {
		if v != nil {
			out[field] = keepOutputOnly(field, proto3(v), l.fields[field])
		}
		s := string(out[field])
		if s == `""` || s == "[]" || s == "{}" && field != "profile" && field != "openInfo" {
			out[field] = nil
		}
	}
	return out, nil
}

// graft replaces one nested member of a message by the body's, or removes it.
func graft(old, body json.RawMessage, path []string) json.RawMessage {
	into, from := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(old, &into) // absent is empty
	_ = json.Unmarshal(body, &from)
	v, there := from[path[0]]
	if len(path) > 1 {
		v, there = graft(into[path[0]], v, path[1:]), true
	}
	if there {
		into[path[0]] = v
	} else {
		delete(into, path[0])
	}
	return encode(into)
}

// keepOutputOnly puts Google's own members into a written object.
func keepOutputOnly(field string, v, old json.RawMessage) json.RawMessage {
	m := map[string]json.RawMessage{}
	if json.Unmarshal(v, &m) != nil {
		return v
	}
	switch field {
	case "openInfo":
		was := map[string]json.RawMessage{}
		_ = json.Unmarshal(old, &was) // absent is empty
		delete(m, "canReopen")
		if can, ok := was["canReopen"]; ok {
			m["canReopen"] = can
		}
	case "categories":
		if p, ok := m["primaryCategory"]; ok {
			m["primaryCategory"] = named(p)
		}
		var more []json.RawMessage
		if json.Unmarshal(m["additionalCategories"], &more) == nil && len(more) > 0 {
			for i := range more {
				more[i] = named(more[i])
			}
			m["additionalCategories"] = encode(more)
		}
	default:
		return v
	}
	return encode(m)
}

// storeFault is a business rule of Business Information: ErrorInfo with the field in its metadata. The reasons are documented,
// status and domain are assumed.
func storeFault(rule RuleID, reason, field, words string) *reply {
	info := detail("google.rpc.ErrorInfo", "reason", reason, "domain", hostInformation, "metadata", map[string]string{"field_mask": field})
	r := refuse(rule, http.StatusBadRequest, "INVALID_ARGUMENT", words, info)
	return &r
}
