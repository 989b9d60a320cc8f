package gbp

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

var (
	errScheme      = errors.New("only http and https are possible")
	errCredentials = errors.New("user names and passwords are not possible in it")
	errHost        = errors.New("it has no public host name")
	errControl     = errors.New("it holds a space or control character")
)

// parsePublicURL checks an address syntactically. Numeric and short spellings of IPv4 are refused here, so that the answer
// does not depend on the resolver of the machine.
func parsePublicURL(s string) (*url.URL, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errControl
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("it cannot be parsed")
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, errScheme
	}
	if u.User != nil {
		return nil, errCredentials
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if _, err := netip.ParseAddr(host); err == nil || host == "" || !strings.Contains(host, ".") || numericHost(host) {
		return nil, errHost
	}
	return u, nil
}

// numericHost tells whether the last label of a host starts with a digit: no public top-level domain does, and every odd spelling of an IPv4 address does.
func numericHost(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "" || last[0] >= '0' && last[0] <= '9'
}

func isVideo(p string) bool {
	return slices.Contains([]string{".mp4", ".mov", ".m4v", ".avi", ".webm", ".mkv", ".wmv", ".mpg", ".mpeg", ".3gp"}, strings.ToLower(path.Ext(p)))
}

// Domain is the host of a URL without "www.", in lower case; "" for what is no URL.
func Domain(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), "www.")
}

// DomainAllowed tells whether the host of a link is one of the domains or a subdomain of one.
func DomainAllowed(link string, domains []string) bool {
	d := Domain(link)
	return d != "" && slices.ContainsFunc(domains, func(a string) bool {
		a = strings.TrimPrefix(strings.ToLower(a), "www.")
		return a != "" && (d == a || strings.HasSuffix(d, "."+a))
	})
}

// PhoneAllowed tells whether a number found in text is one of the known ones. National and international spellings of one
// number agree in their last eight digits.
func PhoneAllowed(number string, known []string) bool {
	tail := func(s string) string {
		d := strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, s)
		return d[max(0, len(d)-8):]
	}
	t := tail(number)
	return t != "" && slices.ContainsFunc(known, func(k string) bool { return tail(k) == t })
}
