package profile

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Bounds of texts, in characters (Unicode code points).
const (
	// DescriptionMax is the bound of Google's help centre; the API reference has none.
	DescriptionMax = 750
	// LabelMax is Google's (Location.labels, Business Information v1).
	LabelMax = 255
	// LabelsMax is ours: more labels than this are a slip.
	LabelsMax = 100
	// StoreCodeMax is the bound of Google's bulk upload; the API reference has none.
	StoreCodeMax = 64
	// TitleMax is ours: no real business name is longer.
	TitleMax = 300
)

// promotion finds the wording of advertisements, which Google's guidelines for descriptions exclude.
var promotion = regexp.MustCompile(`(?i)\d+\s*(?:[%％]|percent\b)|\b(?:sale|discounts?|coupons?|promo(?:tion)?s?|special offers?|bargain|cheapest|best price|free gift|buy now)\b|セール|割引|値引|半額|特価|激安|最安|クーポン|キャンペーン|\d\s*割(?:引|$|[^合烹])|無料プレゼント|[¥￥$€]\s?\d|\d[\d,]*\s?円`)

func tooLong(j *judge, path, s string, limit int) bool {
	n := utf8.RuneCountInString(s)
	if n > limit {
		j.refuse(path, "max_length", s, errs.Tf("%[1]d 文字です (上限 %[2]d 文字)。", "%[1]d of %[2]d characters.", n, limit))
	}
	return n > limit
}

// line checks a private or public text of one line.
func (j *judge) line(path, s string, limit int) (string, bool) {
	switch {
	case !gbp.Legible(s):
		j.refuse(path, "required", s, errs.T("空白だけの値は設定できません。", "A blank value is not possible."))
	case strings.ContainsAny(s, "\n\t"):
		j.refuse(path, "single_line", s, errs.T("改行やタブは使えません。", "Line breaks and tabs are not possible."))
	case j.templated(path, s), tooLong(j, path, s, limit):
	default:
		return s, true
	}
	return "", false
}

func (j *judge) title(after *Snapshot, s string) {
	if s == "" {
		return
	}
	v, ok := j.line("title", s, TitleMax)
	if !ok {
		return
	}
	for _, l := range gbp.FindLinks(v) {
		j.links = append(j.links, l)
		j.warn("LINK_IN_TITLE", l, errs.T("店名に URL は使えません。実際の店名だけにしてください。", "A name with an address in it is against Google's guidelines; use the real-world name only."))
	}
	for _, p := range gbp.FindPhones(v) {
		j.phones = append(j.phones, p)
		j.warn("PHONE_NUMBER_IN_TITLE", p, errs.T("店名に電話番号は使えません。", "A name with a phone number in it is against Google's guidelines."))
	}
	after.set(fieldTitle, encode(v))
	j.Location.Profile.Title = v
}

func (j *judge) storeCode(after *Snapshot, s string) {
	if s == "" {
		return
	}
	if v, ok := j.line("store_code", s, StoreCodeMax); ok {
		after.set(fieldStoreCode, encode(v))
		j.Location.Profile.StoreCode = v
	}
}

func (j *judge) website(after *Snapshot, s string) {
	if s == "" {
		return
	}
	t := gbp.FillStoreURL(j.At+".website_url", s, j.Location, j.Locale)
	j.violations, j.warnings = append(j.violations, t.Violations...), append(j.warnings, t.Warnings...)
	if len(t.Violations) > 0 {
		return
	}
	if t.Text != after.text(fieldWebsite) {
		j.links = append(j.links, t.Links...)
	}
	after.set(fieldWebsite, encode(t.Text))
	j.Location.Profile.WebsiteURL = t.Text
}

func (j *judge) description(after *Snapshot, s string) {
	if s == "" {
		return
	}
	const at = "description"
	before := len(j.violations)
	t := gbp.FillStoreText(j.At+"."+at, s, j.Location, j.Locale)
	j.violations, j.warnings = append(j.violations, t.Violations...), append(j.warnings, t.Warnings...)
	if !gbp.Legible(t.Text) && len(t.Violations) == 0 {
		j.refuse(at, "required", s, errs.T("空白だけの説明文は設定できません。", "A blank description is not possible."))
	}
	tooLong(j, at, t.Text, DescriptionMax)
	for _, l := range t.Links {
		j.refuse(at, "link", l, errs.T("説明文に URL やメールアドレスは使えません。website_url を使ってください。", "Google refuses descriptions with addresses in them; use website_url."))
	}
	if m := promotion.FindString(t.Text); m != "" {
		j.warn("PROMOTION_IN_DESCRIPTION", m, errs.T("説明文に価格や割引などの宣伝文句があると Google のガイドラインに反します。投稿を使ってください。", "Prices and promotions in a description are against Google's guidelines; use a post."))
	}
	for _, p := range t.Phones {
		j.phones = append(j.phones, p)
		j.warn("PHONE_NUMBER_IN_TEXT", p, errs.T("説明文に電話番号があります。phone_numbers を使ってください。", "There is a phone number in the description; use phone_numbers."))
	}
	if len(j.violations) == before {
		after.set(fieldProfile, with(after.Fields[fieldProfile], "description", encode(t.Text)))
	}
}

func (j *judge) labels(after *Snapshot, c *TextsChange) {
	const at = "labels"
	if c == nil {
		return
	}
	var current []string
	if raw := after.Fields[fieldLabels]; len(raw) > 0 && json.Unmarshal(raw, &current) != nil {
		j.refuse(at, "current_unreadable", "", textUnreadable)
		return
	}
	check := func(path, s string) (string, bool) { return j.line(path, s, LabelMax) }
	same := func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) } // Google may hold spaces that nobody sees
	list, ok := j.changeTexts(at, current, *c, same, check)
	switch {
	case !ok:
	case len(list) > LabelsMax:
		j.refuse(at, "max_items", "", errs.Tf("ラベルは %[2]d 件までです (変更後 %[1]d 件)。", "%[1]d labels after the change; at most %[2]d are possible.", len(list), LabelsMax))
	case len(list) == 0: // everything was removed by name
		after.clear(fieldLabels)
	default:
		after.set(fieldLabels, encode(list))
	}
}
