package gbp

import (
	"regexp"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

var variable = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// template fills {{location.…}} variables in. An unknown variable, or one that is empty for this store, is a violation:
// a public page never gets an empty string or a pair of braces by accident.
func (r *renderer) template(at, s string) string {
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
		if v == "" {
			r.refuse(at, "empty_variable", errs.Tf("この店舗では変数 {{%s}} の値が空です。", "The variable {{%s}} is empty for this store.", name))
		}
		return v
	})
	if strings.Contains(out, "{{") || strings.Contains(out, "}}") {
		r.refuse(at, "unknown_variable", errs.T("閉じていない {{ }} があります。", "There is an unclosed {{ }}."))
	}
	return out
}
