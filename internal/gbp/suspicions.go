package gbp

import (
	"regexp"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

var (
	placeholder = regexp.MustCompile(`\[[^\[\]\n]{0,30}(?i:name|date|store|shop|customer|address|phone|url|insert|your|店名|名前|氏名|店舗|日付|お客様|電話|住所)[^\[\]\n]{0,30}\]|<<[^<>\n]{1,40}>>|\$\{[^{}\n]{1,40}\}`)
	markup      = regexp.MustCompile(`&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,5});|</?[a-zA-Z][^<>\n]{0,80}>`)
	chatter     = regexp.MustCompile(`(?i)^\s*(?:sure|certainly|of course|absolutely)?[,!.:\s]*(?:here(?:'|’)?s?(?: is| are)?|below is|i(?:'|’)ve (?:written|drafted))\b[^\n]{0,60}(?:post|reply|response|draft|version|text|description)[^\n]{0,40}:|^\s*(?:以下(?:が|は)|こちらが)[^\n]{0,30}(?:投稿|返信|文章|文案|案)[^\n]{0,15}(?:です|になります)`)
	aModel      = regexp.MustCompile(`(?i)as an ai (?:language )?model`)
	escapedLine = regexp.MustCompile(`\\[nrt]`)
)

// suspicions warns about what people regret on a public page: phone numbers (Google rejects such posts), foreign links,
// unfilled placeholders, a model's small talk, markup from a CMS, and line breaks that were escaped twice.
func (r *renderer) suspicions(s string) {
	for _, m := range FindPhones(s) {
		r.phones = append(r.phones, m)
		r.warn("PHONE_NUMBER_IN_TEXT", m, errs.T("本文に電話番号があると Google に拒否されることがあります。CALL ボタンを使ってください。", "Google tends to reject posts with a phone number in the text; use a CALL button instead."))
	}
	r.links = append(r.links, FindLinks(s)...)
	for _, c := range []struct {
		code, found string
		msg         errs.Text
	}{
		{"PLACEHOLDER_IN_TEXT", findPlaceholder(s), errs.T("埋められていない差し込み箇所のようです。", "This looks like a placeholder that was never filled in.")},
		{"MODEL_CHATTER_IN_TEXT", findChatter(s), errs.T("AI の前置きが公開文に残っているようです。", "This looks like an assistant's preamble, not like text for the public.")},
		{"MARKUP_IN_TEXT", findFrom(markup, s, "&<"), errs.T("HTML のタグや実体参照はそのままの文字で公開されます。", "HTML tags and entities are published as visible code.")},
		{"ESCAPED_LINE_BREAK", findFrom(escapedLine, s, `\`), errs.T("\\n という 2 文字はそのまま公開されます。改行は実際の改行文字で送ってください。", "The two characters \\n are published as they are; send a real newline for a line break.")},
	} {
		if c.found != "" {
			r.warn(c.code, c.found, c.msg)
		}
	}
}

// findFrom finds the first match of an expression whose matches begin with one of the signs and are short.
func findFrom(re *regexp.Regexp, s, signs string) string {
	for _, z := range zones(s, func(b byte) bool { return strings.IndexByte(signs, b) >= 0 }, 0, 300) {
		if m := re.FindString(z); m != "" {
			return m
		}
	}
	return ""
}

func findPlaceholder(s string) string {
	for _, word := range []string{"○○", "〇〇", "Lorem ipsum", "lorem ipsum"} {
		if strings.Contains(s, word) {
			return word
		}
	}
	return findFrom(placeholder, s, "[<$")
}

// findChatter looks at the beginning of a text, where an assistant introduces its work, and for its excuses anywhere.
func findChatter(s string) string {
	if m := chatter.FindString(cut(s, 0, 500)); m != "" {
		return m
	}
	return findFrom(aModel, s, "aA")
}
