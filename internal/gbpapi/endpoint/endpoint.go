// Package endpoint knows where Google's hosts are: at Google, or all behind one base URL where a simulator answers for them.
package endpoint

import (
	"fmt"
	"net/url"
	"strings"
)

// Host is one of Google's host names.
type Host string

// The hosts that we call.
const (
	MyBusiness          Host = "mybusiness.googleapis.com"                    // v4: local posts, reviews, media
	AccountManagement   Host = "mybusinessaccountmanagement.googleapis.com"   // v1: accounts
	BusinessInformation Host = "mybusinessbusinessinformation.googleapis.com" // v1: locations
	Verifications       Host = "mybusinessverifications.googleapis.com"       // v1: voice of merchant
	Performance         Host = "businessprofileperformance.googleapis.com"    // v1: daily metrics
	OAuth               Host = "oauth2.googleapis.com"                        // token endpoint
)

// Base says how hosts are reached. The zero value is Google itself over https.
type Base struct{ prefix string }

// Parse reads a base URL such as "http://127.0.0.1:9400" or "http://sim/google/"; a trailing slash makes no difference.
// "" is Google itself. A query, a fragment, user information and schemes other than http and https are refused.
func Parse(base string) (Base, error) {
	if base == "" {
		return Base{}, nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return Base{}, fmt.Errorf("google base URL: not a URL")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return Base{}, fmt.Errorf("google base URL: want http(s)://host[:port][/path] without user, query and fragment")
	}
	return Base{prefix: strings.TrimRight(u.String(), "/") + "/"}, nil
}

// URL is the root of a host with a trailing slash: "https://HOST/", or "BASE/HOST/". Paths are appended without a leading
// slash. The trailing slash is what keeps Google's generated clients from dropping the host segment.
func (b Base) URL(h Host) string {
	if b.prefix == "" {
		return "https://" + string(h) + "/"
	}
	return b.prefix + string(h) + "/"
}
