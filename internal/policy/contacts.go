package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Contacts reports every allowed link and phone that no text could match, and every domain that would allow strangers' as well.
func (p Policy) Contacts() error {
	var problems []error
	for _, a := range p.AllowedLinkDomains {
		host, page, paged := strings.Cut(a, "/")
		ascii, err := idna.Lookup.ToASCII(host)
		switch suffix, _ := publicsuffix.PublicSuffix(ascii); {
		case err != nil || !strings.Contains(ascii, ".") || strings.HasSuffix(ascii, ".") || paged && strings.Trim(page, "/") == "":
			problems = append(problems, fmt.Errorf("policy: allowed_link_domains: %q is neither a domain (own.example) nor a page (facebook.com/own)", a))
		case suffix == ascii:
			problems = append(problems, fmt.Errorf("policy: allowed_link_domains: below %q everybody can have a domain", a))
		}
	}
	for _, n := range p.AllowedPhones {
		digits := 0
		for _, r := range n {
			if unicode.IsDigit(r) {
				digits++
			}
		}
		if digits < 6 || digits > 15 || strings.ContainsFunc(n, unicode.IsLetter) {
			problems = append(problems, fmt.Errorf("policy: allowed_phones: %q is no phone number", n))
		}
	}
	return errors.Join(problems...)
}
