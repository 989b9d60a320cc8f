package gbp

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// ReplyBytes is Google's limit of a reply: BYTES of UTF-8, not characters, so 1,365 kana (v4 reference, read 2026-11).
const ReplyBytes = 4096

// RenderedReply is what will be sent for one review.
type RenderedReply struct {
	// Comment is the text after templates, with LF line ends and without blank lines around it.
	Comment string
	// Payload are the exact bytes that are stored, shown and sent.
	Payload []byte
	// Links and Phones are what the text would put before the public.
	Links  []string
	Phones []string
}

// RenderReply turns the template of a reply into the text for a review of one store. Violations, all under "comment": required
// (nothing to read), max_bytes (over ReplyBytes), characters (a control character or broken UTF-8) and those of templates
// (unknown_variable, empty_variable, variable_characters); all of them are reported together. Warnings have the part that is
// meant and refuse nothing: PHONE_NUMBER_IN_TEXT, PLACEHOLDER_IN_TEXT, MODEL_CHATTER_IN_TEXT, MARKUP_IN_TEXT, GARBLED_TEXT,
// ESCAPED_LINE_BREAK.
func RenderReply(comment string, loc Location, l errs.Locale) (RenderedReply, []errs.Violation, []Warning) {
	const at = "comment"
	r := publicText{loc: loc, locale: l, phoneAdvice: errs.T(
		"返信に電話番号があると Google に拒否されることがあります。プロフィールの電話番号を案内してください。",
		"Google tends to reject replies with a phone number in them; refer to the number on the profile instead.")}
	out := RenderedReply{Comment: NormalReply(r.text(at, comment, 0))}
	if !Legible(out.Comment) && len(r.violations) == 0 {
		r.refuse(at, "required", "", errs.T("返信の本文が空です。", "The reply has no text."))
	}
	if n := len(out.Comment); n > ReplyBytes {
		r.refuse(at, "max_bytes", out.Comment, errs.Tf("%[1]s バイトです (上限 %[2]s バイト、日本語は 1 文字 3 バイト)。", "%[1]s of %[2]s bytes (UTF-8).", grouped3(n), grouped3(ReplyBytes)))
	}
	if !utf8.ValidString(out.Comment) || strings.ContainsFunc(out.Comment, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }) {
		r.refuse(at, "characters", out.Comment, errs.T("改行とタブ以外の制御文字、または UTF-8 でない文字が含まれています。", "It holds a control character other than a line break or tab, or broken UTF-8."))
	}
	if len(r.violations) > 0 {
		return RenderedReply{}, r.violations, r.warnings
	}
	out.Payload, out.Links, out.Phones = ReplyBody(out.Comment), r.links, r.phones
	return out, nil, r.warnings
}

// NormalReply gives the form in which a reply is measured, compared and sent: LF for every line end, and no blank lines around
// the text. Nothing inside the text changes.
func NormalReply(s string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

// grouped3 writes 4098 as 4,098.
func grouped3(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
