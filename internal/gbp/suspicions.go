package gbp

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

var (
	linkInText  = regexp.MustCompile(`(?i)\bhttps?://[^\s<>"'、。）」』]+|\bwww\.[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s<>"'、。）」』]*`)
	placeholder = regexp.MustCompile(`\[[^\[\]\n]{0,30}(?i:name|date|store|shop|customer|address|phone|url|insert|your|店名|名前|氏名|店舗|日付|お客様|電話|住所)[^\[\]\n]{0,30}\]|<<[^<>\n]{1,40}>>|\$\{[^{}\n]{1,40}\}|(?i:lorem ipsum)|○○|〇〇`)
	markup      = regexp.MustCompile(`&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,5});|</?[a-zA-Z][^<>\n]{0,80}>`)
	chatter     = regexp.MustCompile(`(?i)^\s*(?:sure|certainly|of course|absolutely)?[,!.:\s]*(?:here(?:'|’)?s?(?: is| are)?|below is|i(?:'|’)ve (?:written|drafted))\b[^\n]{0,60}(?:post|reply|response|draft|version|text|description)[^\n]{0,40}:|^\s*(?:以下(?:が|は)|こちらが)[^\n]{0,30}(?:投稿|返信|文章|文案|案)[^\n]{0,15}(?:です|になります)|(?i)as an ai (?:language )?model`)
	escapedLine = regexp.MustCompile(`\\[nrt]`)
)

// suspicions warns about what people regret on a public page: phone numbers (Google rejects such posts), foreign links,
// unfilled placeholders, a model's small talk, markup from a CMS, and line breaks that were escaped twice.
func (r *renderer) suspicions(s string) {
	for _, m := range FindPhones(s) {
		r.phones = append(r.phones, m)
		r.warn("PHONE_NUMBER_IN_TEXT", m, errs.T("本文に電話番号があると Google に拒否されることがあります。CALL ボタンを使ってください。", "Google tends to reject posts with a phone number in the text; use a CALL button instead."))
	}
	for _, m := range linkInText.FindAllString(s, -1) {
		if !strings.Contains(m, "://") {
			m = "https://" + m
		}
		r.links = append(r.links, m)
	}
	for _, c := range []struct {
		code string
		re   *regexp.Regexp
		msg  errs.Text
	}{
		{"PLACEHOLDER_IN_TEXT", placeholder, errs.T("埋められていない差し込み箇所のようです。", "This looks like a placeholder that was never filled in.")},
		{"MODEL_CHATTER_IN_TEXT", chatter, errs.T("AI の前置きが公開文に残っているようです。", "This looks like an assistant's preamble, not like text for the public.")},
		{"MARKUP_IN_TEXT", markup, errs.T("HTML のタグや実体参照はそのままの文字で公開されます。", "HTML tags and entities are published as visible code.")},
		{"ESCAPED_LINE_BREAK", escapedLine, errs.T("\\n という 2 文字はそのまま公開されます。改行は実際の改行文字で送ってください。", "The two characters \\n are published as they are; send a real newline for a line break.")},
	} {
		if m := c.re.FindString(s); m != "" {
			r.warn(c.code, m, c.msg)
		}
	}
}

var (
	phoneCandidate = regexp.MustCompile(`(?:\+|\(|\b)\(?\d[\d\s().\-/]{5,22}\d\b`)
	dashes         = strings.NewReplacer("‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-", "ー", "-", "－", "-", "‧", ".", "・", ".")
	notPhone       = regexp.MustCompile(`^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|^\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|^\d{1,2}[:.]\d{2}\s*-\s*\d{1,2}[:.]\d{2}|^\d{3}-\d{4}$|^\d{4}\s*-\s*\d{4}$`)
	digit          = regexp.MustCompile(`\d`)
	groups         = regexp.MustCompile(`\d+`)
)

// FindPhones gives the parts of a text that read as phone numbers: national numbers with a leading 0, numbers with a plus
// sign, and separated groups of 9 to 15 digits; full-width digits and every kind of dash count. Prices, dates, hours, postal
// codes and plain codes do not. Spans are given in the compatibility form (half-width digits).
func FindPhones(s string) []string {
	folded := dashes.Replace(norm.NFKC.String(s))
	var out []string
	for _, at := range phoneCandidate.FindAllStringIndex(folded, -1) {
		m := strings.TrimSpace(folded[at[0]:at[1]])
		before, after := strings.TrimRight(folded[:at[0]], " "), strings.TrimLeft(folded[at[1]:], " ")
		if notPhone.MatchString(m) || strings.HasSuffix(before, "¥") || strings.HasSuffix(before, "$") || strings.HasSuffix(before, "€") ||
			strings.HasSuffix(before, "〒") || strings.HasPrefix(after, "円") || strings.HasPrefix(after, "年") || strings.HasPrefix(after, ",") {
			continue
		}
		if plausiblePhone(m) {
			out = append(out, m)
		}
	}
	return out
}

func plausiblePhone(m string) bool {
	n := len(digit.FindAllString(m, -1))
	parts := groups.FindAllString(m, -1)
	switch {
	case strings.HasPrefix(m, "+"):
		return n >= 8 && n <= 15
	case strings.HasPrefix(strings.TrimLeft(m, "("), "0"):
		return n >= 9 && n <= 12
	default: // groups such as (555) 010-9999; a single run of digits is a code
		return n >= 10 && n <= 15 && len(parts) >= 3
	}
}
