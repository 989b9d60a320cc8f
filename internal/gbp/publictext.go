package gbp

import (
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// publicText collects what is found out about texts for one store's public page, whatever they are a part of: templates are
// filled in, lengths checked, and what people regret is pointed at.
type publicText struct {
	loc    Location
	locale errs.Locale
	// phoneAdvice says what to do instead of writing a phone number.
	phoneAdvice errs.Text
	violations  []errs.Violation
	warnings    []Warning
	links       []string
	phones      []string
}

// text renders a template, checks the length in characters (max 0: none) and looks for what should not be on a public page.
func (r *publicText) text(at, s string, limit int) string {
	if s == "" {
		return ""
	}
	out := r.template(at, s)
	if n := utf8.RuneCountInString(out); limit > 0 && n > limit {
		r.refuse(at, "max_length", out, errs.Tf("%[1]d 文字です (上限 %[2]d 文字)。", "%[1]d of %[2]d characters.", n, limit))
	}
	r.suspicions(out)
	return out
}

// refuse records a broken rule; value is what broke it.
func (r *publicText) refuse(at, rule, value string, msg errs.Text) {
	r.violations = append(r.violations, violation(r.locale, at, rule, value, r.loc.ID, msg))
}

func (r *publicText) warn(code, span string, msg errs.Text) {
	r.warnings = append(r.warnings, Warning{LocationID: r.loc.ID, Code: code, Message: msg.In(r.locale), Span: span})
}

// url renders a template and checks that the result is a public http or https address.
func (r *publicText) url(at, s string) string {
	before := len(r.violations)
	out := r.urlTemplate(at, s)
	u, wrong := parsePublicURL(out)
	if len(r.violations) > before { // what the template lacks is the cause of whatever else is wrong
		return out
	}
	if u == nil {
		r.refuse(at, "url", quotable(out), errs.Text{JA: "URL が正しくありません: " + wrong.JA, EN: "Not a usable URL: " + wrong.EN})
		return out
	}
	if found := findPlaceholder(out); found != "" {
		r.warn("PLACEHOLDER_IN_TEXT", found, notFilledIn())
	}
	r.links = append(r.links, u.String())
	return u.String()
}
