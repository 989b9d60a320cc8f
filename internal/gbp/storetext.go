package gbp

import (
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// StoreText is a text or URL of a store's profile with its variables filled in, and what a reader should know about it.
type StoreText struct {
	Text string
	// Links and Phones are what the text would put before the public.
	Links      []string
	Phones     []string
	Violations []errs.Violation
	Warnings   []Warning
}

// FillStoreText fills the variables of a text for one store and looks for what people regret on a public page. Phone numbers
// and links are only listed: what they mean differs by field. at is the path for violations.
func FillStoreText(at, s string, loc Location, l errs.Locale) StoreText {
	r := publicText{loc: loc, locale: l}
	out := StoreText{Text: r.text(at, s, 0), Links: r.links, Phones: r.phones, Violations: r.violations}
	out.Warnings = slices.DeleteFunc(r.warnings, func(w Warning) bool { return w.Code == "PHONE_NUMBER_IN_TEXT" })
	return out
}

// FillStoreURL fills the variables of a URL for one store and checks that it is a public http or https address.
func FillStoreURL(at, s string, loc Location, l errs.Locale) StoreText {
	r := publicText{loc: loc, locale: l}
	return StoreText{Text: r.url(at, s), Links: r.links, Violations: r.violations, Warnings: r.warnings}
}

// FoldPhone writes a phone number in half-width digits with one kind of dash and nothing invisible.
func FoldPhone(s string) string { return strings.TrimSpace(foldForSearch(s)) }
