package gbp

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

var (
	markup = regexp.MustCompile("&(?:[a-zA-Z]{2,8}|#\\d{1,6}|#x[0-9a-fA-F]{1,5});|</?[a-zA-Z][^<>\n]{0,80}>|<!--|\\*\\*[^*\n]{1,80}\\*\\*|```|\\[[^\\[\\]\n]{1,80}\\]\\(https?:[^()\\s]{1,150}\\)|\\[/[a-z_]{1,20}\\]|\\\\u[0-9a-fA-F]{4}|\\\\\"|\\\\/\\\\/")
	// heading is a line that Markdown would print large; a hashtag has no space.
	heading = regexp.MustCompile(`(?m)^#{1,6} [^\n]{1,40}`)
	// garbled is what a text becomes that was read in another encoding than it was written in, characters of private use included.
	garbled     = regexp.MustCompile(`[\x{FFFD}\x{E000}-\x{F8FF}]|[縺繧繝][^\n]?[縺繧繝][^\n]?|ã[‚ƒ][^\n]?|â€[™œ“¦]|Ã[¡-¿]`)
	escapedLine = regexp.MustCompile(`\\[nrt]`)
)

// suspicions warns about what people regret on a public page: phone numbers (Google rejects such texts), foreign links,
// unfilled placeholders, a model's small talk, markup from a CMS, characters that were escaped twice, and garbled ones.
func (r *publicText) suspicions(s string) {
	for _, m := range FindPhones(s) {
		r.phones = append(r.phones, m)
		r.warn("PHONE_NUMBER_IN_TEXT", m, r.phoneAdvice)
	}
	r.links = append(r.links, FindLinks(s)...)
	for _, c := range []struct {
		code, found string
		msg         errs.Text
	}{
		{"PLACEHOLDER_IN_TEXT", findPlaceholder(s), notFilledIn()},
		{"MODEL_CHATTER_IN_TEXT", findChatter(s), errs.T("AI の前置きや断り書きが公開文に残っているようです。", "This looks like an assistant speaking to you, not like text for the public.")},
		{"MARKUP_IN_TEXT", cmp.Or(findFrom(markup, s, "&<*`[\\"), heading.FindString(s)), errs.T("HTML のタグや実体参照、Markdown の記号、\\u3042 などの表記はそのままの文字で公開されます。", "HTML tags, entities, Markdown signs and escapes such as \\u3042 are published as visible code.")},
		{"GARBLED_TEXT", garbled.FindString(s), errs.T("文字化けしているか、他の環境では表示されない文字があります。", "This was garbled on the way, or shows nothing on other devices.")},
		{"ESCAPED_LINE_BREAK", findFrom(escapedLine, s, `\`), errs.T("\\n という 2 文字はそのまま公開されます。改行は実際の改行文字で送ってください。", "The two characters \\n are published as they are; send a real newline for a line break.")},
	} {
		if c.found != "" {
			r.warn(c.code, c.found, c.msg)
		}
	}
}

func notFilledIn() errs.Text {
	return errs.T("埋められていない差し込み箇所のようです。", "This looks like a placeholder that was never filled in.")
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
