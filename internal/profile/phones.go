package profile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// AdditionalPhonesMax is Google's bound (PhoneNumbers, Business Information v1).
const AdditionalPhonesMax = 2

// PhoneNumbers are the phone numbers of a profile.
type PhoneNumbers struct {
	Primary    string   `json:"primary,omitempty" jsonschema:"the number that callers dial"`
	Additional []string `json:"additional,omitempty" jsonschema:"further numbers, at most two"`
}

// PhoneChange changes phone numbers. Each part that is absent stays as it is.
type PhoneChange struct {
	Primary    string       `json:"primary,omitempty"`
	Additional *TextsChange `json:"additional,omitempty"`
}

// TextsChange is a change of a list of texts. A plain list replaces the list.
type TextsChange = Change[string, string]

type googlePhones struct {
	PrimaryPhone     string   `json:"primaryPhone,omitempty"`
	AdditionalPhones []string `json:"additionalPhones,omitempty"`
}

// phoneForm is what Google's "international phone format is preferred" leaves open: digits with the usual separators. Whether
// a number exists in its region is Google's to say (INVALID_PHONE_NUMBER_FOR_REGION).
var phoneForm = regexp.MustCompile(`^\+?[0-9(][0-9 ().\-/]*[0-9]$`)

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// phone checks one number and gives it in half-width form.
func (j *judge) phone(path, s string) (string, bool) {
	folded := gbp.FoldPhone(s)
	n := len(digitsOf(folded))
	if !phoneForm.MatchString(folded) || n < 5 || n > 15 {
		j.refuse(path, "phone", s, errs.T("電話番号として読めません。+81 3-1234-5678 や 03-1234-5678 の形で、数字は 5 桁から 15 桁までです。", "Not a phone number; write it like +1 415 555 0132, 5 to 15 digits."))
		return "", false
	}
	return folded, true
}

// changeTexts applies a change to a list of texts; each new entry passes through check, and same compares two.
func (j *judge) changeTexts(at string, current []string, c TextsChange, same func(a, b string) bool, check func(path, s string) (string, bool)) ([]string, bool) {
	before := len(j.violations)
	if !c.shape(j, at) {
		return nil, false
	}
	list := slices.Clone(current)
	if c.List != nil || c.Set != nil {
		list = nil
	}
	var removed []string
	for i, s := range c.Remove {
		v, ok := s, slices.Contains(list, s) // what is there goes by its name, whatever it looks like
		if !ok {
			v, ok = check(item(at+".remove", i), s)
		}
		is := func(x string) bool { return x == v || same(x, v) }
		if !ok || slices.ContainsFunc(removed, is) {
			continue
		}
		if !slices.ContainsFunc(list, is) {
			j.notPresent(at, s)
		}
		list, removed = slices.DeleteFunc(list, is), append(removed, v)
	}
	for _, e := range c.entries() {
		var given []string
		for i, s := range e.list {
			path := item(at+e.path, i)
			v, ok := check(path, s)
			switch {
			case !ok:
			case slices.ContainsFunc(removed, func(x string) bool { return same(x, v) }):
				j.refuse(path, "contradiction", s, errs.Tf("%q を追加と削除の両方に指定しています。", "%q is both added and removed.", v))
			case slices.ContainsFunc(given, func(x string) bool { return same(x, v) }):
				j.refuse(path, "duplicate", s, errs.Tf("%q が重複しています。", "%q is there twice.", v))
			case slices.ContainsFunc(list, func(x string) bool { return same(x, v) }):
				j.warn("ALREADY_PRESENT", v, errs.T("すでにあります。", "It is there already."))
			default:
				given, list = append(given, v), append(list, v)
			}
		}
	}
	return list, len(j.violations) == before
}

// phoneNumbers applies a change of phone numbers: read-modify-write of both parts, because Google wants them together.
func (j *judge) phoneNumbers(after *Snapshot, c *PhoneChange) {
	const at = "phone_numbers"
	if c == nil {
		return
	}
	raw := after.Fields[fieldPhones]
	var p googlePhones
	if len(raw) > 0 && json.Unmarshal(raw, &p) != nil {
		j.refuse(at, "current_unreadable", "", textUnreadable)
		return
	}
	before, old := len(j.violations), p
	if c.Primary == "" && c.Additional == nil {
		j.refuse(at, "required", "", errs.T("primary か additional が必要です。", "Give primary or additional."))
	}
	if c.Primary != "" {
		if v, ok := j.phone(at+".primary", c.Primary); ok {
			p.PrimaryPhone = v
			j.Location.Profile.PrimaryPhone = v
		}
	}
	if c.Additional != nil {
		if list, ok := j.changeTexts(at+".additional", p.AdditionalPhones, *c.Additional, gbp.SamePhone, j.phone); ok {
			p.AdditionalPhones = list
		}
	}
	if len(j.violations) > before {
		return
	}
	switch {
	case p.PrimaryPhone == "":
		j.refuse(at+".primary", "required", "", errs.T("代表の電話番号がない店舗に追加の番号は設定できません。", "Additional numbers need a primary one."))
	case slices.ContainsFunc(p.AdditionalPhones, func(x string) bool { return gbp.SamePhone(x, p.PrimaryPhone) }):
		j.refuse(at, "duplicate", p.PrimaryPhone, errs.T("代表の番号が追加の番号にもあります。入れ替えるときは additional も指定してください。", "The primary number is also an additional one; give additional as well to swap them."))
	case len(p.AdditionalPhones) > AdditionalPhonesMax:
		j.refuse(at+".additional", "max_items", "", errs.Tf("追加の番号は %[2]d 件までです (変更後 %[1]d 件)。", "%[1]d additional numbers after the change; at most %[2]d are possible.", len(p.AdditionalPhones), AdditionalPhonesMax))
	}
	if len(j.violations) > before {
		return
	}
	known := append([]string{old.PrimaryPhone}, old.AdditionalPhones...)
	for _, n := range append([]string{p.PrimaryPhone}, p.AdditionalPhones...) {
		if !gbp.PhoneAllowed(n, known) {
			j.phones = append(j.phones, n)
		}
	}
	raw = with(raw, "primaryPhone", encode(p.PrimaryPhone))
	var additional json.RawMessage
	if len(p.AdditionalPhones) > 0 {
		additional = encode(p.AdditionalPhones)
	}
	after.set(fieldPhones, with(raw, "additionalPhones", additional))
}
