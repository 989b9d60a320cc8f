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
	if !strings.Contains(s, "{{") {
		return s
	}
	p := r.loc.Profile
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		name := variable.FindStringSubmatch(m)[1]
		var v string
		switch name {
		case "location.title":
			v = p.Title
		case "location.store_code":
			v = p.StoreCode
		case "location.city":
			v = p.City
		case "location.phone":
			v = p.PrimaryPhone
		case "location.website":
			v = p.WebsiteURL
		default:
			r.refuse(at, "unknown_variable", errs.Tf("変数 {{%s}} はありません。使えるのは location.title, location.store_code, location.city, location.phone, location.website です。", "There is no variable {{%s}}; known are location.title, location.store_code, location.city, location.phone, location.website.", name))
			return ""
		}
		if strings.TrimSpace(v) == "" {
			r.refuse(at, "empty_variable", errs.Tf("この店舗では変数 {{%s}} の値が空です。", "The variable {{%s}} is empty for this store.", name))
		}
		if strings.ContainsFunc(v, unprintable) {
			r.refuse(at, "variable_characters", errs.Tf("この店舗の変数 {{%s}} の値に制御文字または見えない文字があります。", "The variable {{%s}} of this store holds a control character or an invisible one.", name))
		}
		return v
	})
	if strings.Contains(out, "{{") || strings.Contains(out, "}}") {
		r.refuse(at, "unknown_variable", errs.T("閉じていない {{ }} があります。", "There is an unclosed {{ }}."))
	}
	return out
}

// unprintable tells whether a character has no place in one line of public text: controls, and what reorders or hides text.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}
