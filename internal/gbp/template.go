package gbp

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

var variable = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// template fills {{location.…}} variables in. An unknown variable, or one that is empty for this store, is a violation:
// a public page never gets an empty string or a pair of braces by accident.
func (r *publicText) template(at, s string) string {
	return r.fill(at, s, func(_, v string) string { return v })
}

// fill is template with place, which fits a value into what is there before it.
func (r *publicText) fill(at, s string, place func(before, v string) string) string {
	if !strings.Contains(s, "{{") && !strings.Contains(s, "}}") {
		return s
	}
	var b strings.Builder
	rest := 0
	for _, m := range variable.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(s[rest:m[0]])
		rest = m[1]
		name := s[m[2]:m[3]]
		v, known := r.loc.Profile.variable(name)
		switch {
		case strings.HasSuffix(s[:m[0]], "{") || strings.HasPrefix(s[m[1]:], "}"): // the braces around it would be published
			r.refuse(at, "unknown_variable", s[m[0]:m[1]], errs.Tf("変数は {{%s}} のように 2 つずつの括弧で囲んでください。", "A variable stands in two braces on each side: {{%s}}.", name))
			continue
		case !known:
			r.refuse(at, "unknown_variable", s[m[0]:m[1]], errs.Tf("変数 {{%s}} はありません。使えるのは location.title, location.store_code, location.city, location.phone, location.website です。", "There is no variable {{%s}}; known are location.title, location.store_code, location.city, location.phone, location.website.", name))
			continue
		case strings.TrimSpace(v) == "":
			r.refuse(at, "empty_variable", s[m[0]:m[1]], errs.Tf("この店舗では変数 {{%s}} の値が空です。", "The variable {{%s}} is empty for this store.", name))
		case strings.ContainsFunc(v, unprintable):
			r.refuse(at, "variable_characters", s[m[0]:m[1]], errs.Tf("この店舗の変数 {{%s}} の値に制御文字または見えない文字があります。", "The variable {{%s}} of this store holds a control character or an invisible one.", name))
		}
		b.WriteString(place(b.String(), v))
	}
	b.WriteString(s[rest:])
	out := b.String()
	if strings.Contains(out, "{{") || strings.Contains(out, "}}") {
		r.refuse(at, "unknown_variable", s, errs.T("閉じていない {{ }} があります。", "There is an unclosed {{ }}."))
	}
	return out
}

// variable is the value of a variable of templates for a store.
func (p Profile) variable(name string) (v string, known bool) {
	switch name {
	case "location.title":
		return p.Title, true
	case "location.store_code":
		return p.StoreCode, true
	case "location.city":
		return p.City, true
	case "location.phone":
		return p.PrimaryPhone, true
	case "location.website":
		return p.WebsiteURL, true
	}
	return "", false
}

// unprintable tells whether a character has no place in one line of public text: controls, and what reorders or hides text.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}
