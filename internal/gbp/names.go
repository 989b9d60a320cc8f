// Package gbp is the vocabulary of Google Business Profile: resource names, locations, local posts, and the pure rules
// about them (validation, rendering of templates, fingerprints). It does no I/O.
//
// Words are Google's where the concept is Google's. Two families of Google APIs name one location differently: the v1 APIs
// say "locations/{l}", the v4 API says "accounts/{a}/locations/{l}", and the account cannot be derived from a v1 name;
// therefore a location keeps both parts from the list call that found it. Google's ids are opaque strings: captured ones
// have up to 21 digits and fit no integer.
package gbp

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// APIMyBusiness is the Google API of posts, reviews and media, as quotas are kept by it.
const APIMyBusiness = "mybusiness.v4"

// LocationID is our own number of a location, from 1 up. It is the only id that is a number.
type LocationID int64

// AccountName is "accounts/{a}".
type AccountName string

// LocationName is the v1 name "locations/{l}".
type LocationName string

// PostName is the v4 name "accounts/{a}/locations/{l}/localPosts/{p}".
type PostName string

// V4 is the location's name for the v4 API.
func (l LocationName) V4(a AccountName) string { return string(a) + "/" + string(l) }

// Location is the v1 name of the location that a post belongs to, or "" for a malformed name.
func (p PostName) Location() LocationName {
	_, l := splitV4(string(p), "localPosts")
	return l
}

// Valid tells whether the name is well-formed.
func (p PostName) Valid() bool { return p.Location() != "" }

// splitV4 gives the account and the location of a v4 name "accounts/{a}/locations/{l}/{collection}/{id}". Both are "" unless
// every part could be one of Google's: not empty, no dots that climb, nothing that a path gives a meaning to (the id no colon,
// behind which a method would stand), no control character.
func splitV4(name, collection string) (AccountName, LocationName) {
	p := strings.Split(name, "/")
	if len(p) != 6 || p[0] != "accounts" || p[2] != "locations" || p[4] != collection || !segment(p[1]) || !segment(p[3]) || !segment(p[5]) || strings.Contains(p[5], ":") {
		return "", ""
	}
	return AccountName("accounts/" + p[1]), LocationName("locations/" + p[3])
}

// ParseLocationName takes any of the three spellings "123", "locations/123" and "accounts/1/locations/123". The account is
// empty for the first two.
func ParseLocationName(s string) (AccountName, LocationName, error) {
	parts := strings.Split(s, "/")
	switch {
	case len(parts) == 1 && segment(parts[0]):
		return "", LocationName("locations/" + parts[0]), nil
	case len(parts) == 2 && parts[0] == "locations" && segment(parts[1]):
		return "", LocationName(s), nil
	case len(parts) == 4 && parts[0] == "accounts" && parts[2] == "locations" && segment(parts[1]) && segment(parts[3]):
		return AccountName("accounts/" + parts[1]), LocationName("locations/" + parts[3]), nil
	}
	return "", "", fmt.Errorf("%q is not a location name", s)
}

func segment(s string) bool {
	return s != "" && s != "." && s != ".." && utf8.ValidString(s) && !strings.ContainsAny(s, "?#%\\ ") && !strings.ContainsFunc(s, unicode.IsControl)
}
