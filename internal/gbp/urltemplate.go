package gbp

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// urlTemplate is template for an address. A variable at the beginning is (the beginning of) an address itself and stands as it
// is; elsewhere its value is data, which must not change what the address means: it is percent-escaped in the path, the query
// and the fragment, and refused in the host when it is no part of a name.
func (r *publicText) urlTemplate(at, s string) string {
	return r.fill(at, s, func(before, v string) string {
		switch placeIn(before) {
		case placeBeginning:
			return v
		case placeHost:
			if strings.ContainsFunc(v, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '.' }) {
				r.refuse(at, "variable_characters", s, errs.Tf("この店舗の変数の値 %q は URL のホスト名の一部になりません。", "The store's value %q cannot be a part of a host name.", v))
			}
			return v
		case placePath:
			return url.PathEscape(v)
		default:
			return strings.ReplaceAll(url.QueryEscape(v), "+", "%20")
		}
	})
}

// place is a part of an address.
type place int

const (
	placeBeginning place = iota
	placeHost
	placePath
	placeBehind // the query or the fragment
)

// placeIn is the part of an address that goes on where a beginning of one ends.
func placeIn(before string) place {
	if before == "" {
		return placeBeginning
	}
	if strings.ContainsAny(before, "?#") {
		return placeBehind
	}
	if _, after, ok := strings.Cut(before, "://"); ok && !strings.Contains(after, "/") {
		return placeHost
	}
	return placePath
}
