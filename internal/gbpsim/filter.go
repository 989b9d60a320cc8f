package gbpsim

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// comparison is one term of a list filter: field = "value", or field : "value".
var comparison = regexp.MustCompile(`^\s*([A-Za-z_.]+)\s*([=:])\s*"([^"]*)"\s*$`)

// locationFilter reads the filter of locations.list into a test of one location.
func (c *call) locationFilter() (func(*location) bool, *reply) {
	filter := c.parameter("filter")
	if strings.TrimSpace(filter) == "" {
		return func(*location) bool { return true }, nil
	}
	var all [][]func(*location) bool
	for _, part := range splitWord(filter, "AND") {
		var any []func(*location) bool
		field := ""
		for _, term := range splitWord(strings.Trim(strings.TrimSpace(part), "()"), "OR") {
			m := comparison.FindStringSubmatch(term)
			if m == nil || field != "" && field != m[1] || filterValues(m[1]) == nil {
				r := c.unsimulated("filter")
				r.rule = ruleLocationFilter
				return nil, &r
			}
			field = m[1]
			any = append(any, compare(filterValues(m[1]), m[1], m[2], m[3]))
		}
		all = append(all, any)
	}
	return func(l *location) bool {
		return !slices.ContainsFunc(all, func(any []func(*location) bool) bool {
			return !slices.ContainsFunc(any, func(f func(*location) bool) bool { return f(l) })
		})
	}, nil
}

// splitWord splits at a word that stands outside of quotes.
func splitWord(s, word string) []string {
	var out []string
	quoted, from := false, 0
	for i := range len(s) {
		if s[i] == '"' {
			quoted = !quoted
		}
		if !quoted && i >= from && strings.HasPrefix(s[i:], " "+word+" ") {
			out = append(out, s[from:i])
			from = i + len(word) + 2
		}
	}
	return append(out, s[from:])
}

// filterValues gives the reader of a filter's field, nil for an unknown one.
func filterValues(field string) func(*location) []string {
	member := func(top string, names ...string) func(*location) []string {
		return func(l *location) []string {
			m := map[string]json.RawMessage{}
			_ = json.Unmarshal(l.fields[top], &m) // absent is empty
			var out []string
			for _, n := range names {
				out = append(out, wordOf(m[n]))
			}
			return out
		}
	}
	switch lowerCamel(field) {
	case "title":
		return func(l *location) []string { return []string{wordOf(l.fields["title"])} }
	case "storeCode":
		return func(l *location) []string { return []string{wordOf(l.fields["storeCode"])} }
	case "labels":
		return func(l *location) (out []string) {
			_ = json.Unmarshal(l.fields["labels"], &out) // absent is none
			return out
		}
	case "categories":
		return func(l *location) (out []string) {
			for _, n := range categoryNames(l.fields["categories"]) {
				out = append(out, strings.TrimPrefix(n, "categories/gcid:"))
			}
			return out
		}
	case "phoneNumbers.primaryPhone":
		return member("phoneNumbers", "primaryPhone")
	case "storefrontAddress.regionCode", "storefrontAddress.administrativeArea", "storefrontAddress.locality", "storefrontAddress.postalCode":
		_, name, _ := strings.Cut(lowerCamel(field), ".")
		return member("storefrontAddress", name)
	case "metadata.placeId":
		return member("metadata", "placeId")
	case "openInfo.status":
		return member("openInfo", "status")
	}
	return nil
}

// compare is one term: for title = matches a word and : a part; elsewhere both are the whole value.
func compare(values func(*location) []string, field, operator, want string) func(*location) bool {
	return func(l *location) bool {
		return slices.ContainsFunc(values(l), func(v string) bool {
			switch {
			case field == "title" && operator == ":":
				return strings.Contains(strings.ToLower(v), strings.ToLower(want))
			case field == "title":
				return slices.Contains(strings.Fields(strings.ToLower(v)), strings.ToLower(want)) || strings.EqualFold(v, want)
			}
			return v == want
		})
	}
}
