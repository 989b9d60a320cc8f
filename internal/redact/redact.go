// Package redact makes text from outside safe to keep and to show: error texts of Google and of the network, addresses
// of media, panics. Everything that ends in a log, an audit row, a job error or an answer to a caller goes through [Text].
//
// Two kinds of harm are meant. Secrets: Google access and refresh tokens, authorization codes, API keys, our own tokens,
// Authorization headers, signed URLs. Poison: PostgreSQL refuses a NUL byte in text, and one such text in a job's error
// stops the completion of its innocent neighbours; bidirectional controls let a text look like another one.
//
// The rules know shapes, not values. Who knows the secret itself (the token that was sent) removes it by value first.
package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxBytes bounds what Text returns; longer text is cut at a character and ends with an ellipsis.
const MaxBytes = 500

// scanBytes bounds the work on hostile input: what lies behind is dropped before the rules run.
const scanBytes = 16 << 10

// Mask stands where a secret was.
const Mask = "[redacted]"

type rule struct {
	re   *regexp.Regexp
	with string
}

// The order matters: values are taken out before the shape around them is.
var rules = []rule{
	// Google: access tokens, refresh tokens (also percent-encoded or with escaped slashes), codes, client secrets, keys.
	{regexp.MustCompile(`ya29\.[A-Za-z0-9._~+/=-]+`), Mask},
	{regexp.MustCompile(`\b1(?://|\\/\\/|(?i:%2f){2})[A-Za-z0-9._~%-]+`), Mask},
	{regexp.MustCompile(`\b4(?:/|\\/|(?i:%2f))0[A-Za-z0-9._~%-]{10,}`), Mask},
	{regexp.MustCompile(`\bGOCSPX-[A-Za-z0-9_-]+`), Mask},
	{regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{20,}`), Mask},
	// JSON web tokens, and our own.
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?`), Mask},
	{regexp.MustCompile(`\bmappy_[a-z]{3,16}_[A-Za-z0-9_-]{8,}`), Mask},
	// The parts of a URL that carry credentials: user information, and the query as a whole.
	{regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://)[^\s/?#@"'<>]+@`), "${1}" + Mask + "@"},
	{regexp.MustCompile(`(?i)(\bhttps?:(?://|\\/\\/)[^\s?"'<>]*)\?[^\s"'<>]*`), "${1}?" + Mask},
	// Headers.
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-goog-api-key)\b(["'\]]*\s*[:=]\s*["'\[]*)(?:[a-z]+\s+)?[^\s"'\],;}]+`), "${1}${2}" + Mask},
	{regexp.MustCompile(`(?i)\b(bearer)\s+[A-Za-z0-9._~+/=%-]{4,}`), "${1} " + Mask},
	{regexp.MustCompile(`(?i)\b(basic)\s+[A-Za-z0-9+/=]{16,}`), "${1} " + Mask},
	// Named secrets, in JSON, form or query spelling.
	{regexp.MustCompile(`(?i)(\b|\\?["'])((?:access|refresh|id|auth|session|confirm)_?token|client_?secret|api_?key|password|passwd|secret|code_verifier|assertion|x-amz-[a-z-]+|x-goog-[a-z-]+)(\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\&,;})\]]+`), "${1}${2}${3}" + Mask},
	{regexp.MustCompile(`(?i)([?&;\s]|^)(token|sig|signature|key|code|hmac|expires|policy|awsaccesskeyid)=[^\s"'&;,]+`), "${1}${2}=" + Mask},
}

// Text is s without secrets, control and bidirectional characters and invalid UTF-8, on one line, in at most MaxBytes bytes.
// It takes the given secrets out by value first, whatever they look like; empty ones are ignored.
func Text(s string, secrets ...string) string { return TextIn(MaxBytes, s, secrets...) }

// TextIn is Text with another bound in bytes.
func TextIn(limit int, s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, Mask)
		}
	}
	if len(s) > scanBytes {
		s = s[:scanBytes]
	}
	s = clean(s)
	for _, x := range rules {
		s = x.re.ReplaceAllString(s, x.with)
	}
	return Cut(s, limit)
}

// Error is err with a safe text; errors.Is and errors.As still see what is inside. Error(nil) is nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &safeError{text: Text(err.Error()), cause: err}
}

type safeError struct {
	text  string
	cause error
}

func (e *safeError) Error() string { return e.text }
func (e *safeError) Unwrap() error { return e.cause }

// Cut shortens s to at most limit bytes without splitting a character; a cut text ends with "…" when there is room for it.
func Cut(s string, limit int) string {
	const ellipsis = "…"
	if len(s) <= limit {
		return s
	}
	keep, tail := limit-len(ellipsis), ellipsis
	if keep < 0 {
		keep, tail = max(limit, 0), ""
	}
	for keep > 0 && !utf8.RuneStart(s[keep]) {
		keep--
	}
	return s[:keep] + tail
}

// clean drops invalid UTF-8 and invisible controls and folds white space to single blanks.
func clean(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, c := range strings.ToValidUTF8(s, "") {
		switch {
		case c == '\n' || c == '\r' || c == '\t' || c == ' ' || c == 0x85 || c == 0x2028 || c == 0x2029:
			blank = true
			continue
		case c < ' ' || c >= 0x7f && c < 0xa0 || invisible(c):
			continue
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteRune(c)
	}
	return b.String()
}

// invisible are the bidirectional controls, zero-width marks that can split a token's shape, and the byte order mark.
func invisible(c rune) bool {
	return c >= 0x200b && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x2060 && c <= 0x2069 || c == 0x061c || c == 0xad || c == 0xfeff
}
