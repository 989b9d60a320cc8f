package gbp

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Top-level domains that make a bare name in a text a link. Those that are words of their own count only with a path behind
// them, so that a missing space after a full stop is no link ("…come in.To order").
const (
	plainTLD = `com|net|org|info|biz|io|ly|tv|cc|gg|gl|xyz|icu|vip|dev|mobi|asia|tokyo|example|jp|uk|de|fr|nl|es|eu|cn|ru|kr|tw|hk|sg|th|vn|au|nz|ca|br`
	wordTLD  = `app|at|be|blog|click|cloud|club|co|id|in|is|it|link|live|me|news|no|one|online|page|ph|pro|shop|site|so|store|tech|to|top|us`
)

var (
	schemeLink = regexp.MustCompile(`(?i)\bhttps?:/+[^\s<>"'、。）」』]+|\bwww\.[^\s<>"'、。）」』]+\.[^\s<>"'、。）」』]+`)
	bareLink   = regexp.MustCompile(`(?i)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:(?:` + plainTLD + `)\b(?:/[!-~]*)?|(?:` + wordTLD + `)/[!-~]+)`)
	// idnLink is a name whose last label but one ends in a letter beyond ASCII.
	idnLink = regexp.MustCompile(`(?i)[\p{L}\p{N}-]*[^\x00-\x7f\P{L}]\.(?:` + plainTLD + `)\b(?:/[!-~]*)?`)
)

// FindLinks gives the links that a text shows to its readers, each as a URL with a scheme: addresses with http or https,
// names that begin with www, and bare domain names such as "shop.example.com/sale", also in full-width letters. The domain of
// a mail address counts too.
func FindLinks(s string) []string {
	var out []string
	for _, z := range zones(foldLinks(s), func(b byte) bool { return b == '.' }, 200, 200) {
		for _, re := range []*regexp.Regexp{schemeLink, bareLink, idnLink} {
			z = re.ReplaceAllStringFunc(z, func(m string) string {
				if l := withScheme(trimLink(m)); !strings.HasSuffix(l, "://") {
					out = append(out, l)
				}
				return " "
			})
		}
	}
	return out
}

// foldLinks is foldForSearch without its dashes: a name may hold them.
func foldLinks(s string) string { return invisible.Replace(norm.NFKC.String(invisible.Replace(s))) }

func withScheme(m string) string {
	if i := strings.Index(m, ":/"); i >= 0 && i <= len("https") {
		return strings.ToLower(m[:i]) + "://" + strings.TrimLeft(m[i+1:], "/")
	}
	return "https://" + m
}

// trimLink cuts the punctuation of the sentence off, and text that follows without a space, as is usual in Japanese. What
// follows stays when it could be a part of the name: "own.example" must not be read out of "own.exampleа.evil.example".
func trimLink(m string) string {
	if i := strings.IndexFunc(m, func(r rune) bool { return r >= 0x80 }); i > 0 && !strings.ContainsAny(m[i:], "./@:") && strings.Contains(m[:i], ".") {
		m = m[:i]
	}
	return strings.TrimRight(m, `.,;:!?)]}'"`)
}
