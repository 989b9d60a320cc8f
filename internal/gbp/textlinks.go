package gbp

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// alphabet are the characters of names in scripts that are written with spaces. In Japanese, Korean and Thai text a name has
// prose right beside it ("詳細はown.exampleへ"), so their letters are no part of it here; idnName is for names in them.
const (
	alphabet = `\p{Latin}\p{Greek}\p{Cyrillic}\p{Armenian}\p{Hebrew}\p{Arabic}\p{Devanagari}0-9`
	label    = `[` + alphabet + `](?:[` + alphabet + `-]{0,61}[` + alphabet + `])?`
	beside   = `\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}ー`
)

var (
	schemeLink = regexp.MustCompile(`(?i)\bhttps?:/+[^\s<>"'、。）」』]+|\bwww\.[^\s<>"'、。）」』]+\.[^\s<>"'、。）」』]+`)
	bareName   = regexp.MustCompile(`(?:` + label + `\.)+` + label)
	// idnName is a name that ends in a letter of the other scripts before its last dot or behind it.
	idnName = regexp.MustCompile(`[\p{L}\p{N}-]*[` + beside + `]\.[a-zA-Z][a-zA-Z0-9-]*|[\p{L}\p{N}-]+\.[` + beside + `]+`)
	// gluedLink is an address that begins inside another one, behind a sign that is no part of a word or a query there:
	// "https://own.example/,https://evil.com".
	gluedLink = regexp.MustCompile(`(?i)([^\w\s=/?&%.-])(https?:/|www\.)`)
	// asciiPart is an address as far as everybody takes it for one: up to what its path, query or fragment holds beside ASCII.
	asciiPart = regexp.MustCompile(`(?i)^(?:https?:/+|www\.)[^/?#]+[/?#][!-~]*`)
	// behindName is what makes a name an address whatever it looks like: a path, a port, a query.
	behindName = regexp.MustCompile(`^(?:(?::\d{1,5})?/[!-~]+|:\d{4,5}\b|\?\w+=[!-~]*)`)
)

// mailbox is the part of a mail address up to its @; without one, a name behind an @ is somebody's handle.
var mailbox = regexp.MustCompile(`[\p{L}\p{N}._%+-]@$`)

// FindLinks gives the links that a text shows to its readers, each as a URL with a scheme: addresses with http or https,
// names that begin with www, and bare domain names such as "shop.example.com/sale" under any top-level domain there is (see
// readsAsLink), also in full-width letters. The domain of a mail address counts too.
func FindLinks(s string) []string {
	var out []string
	add := func(m string) {
		if l := withScheme(trimLink(m)); !strings.HasSuffix(l, "://") {
			out = append(out, l)
		}
	}
	for _, z := range zones(foldLinks(s), func(b byte) bool { return b == '.' }, 200, 200) {
		z = schemeLink.ReplaceAllStringFunc(gluedLink.ReplaceAllString(z, "$1 $2"), func(m string) string {
			add(m)
			if plain := asciiPart.FindString(m); plain != "" { // "https://own.example/→evil.com": text may go on there
				return " " + m[len(plain):]
			}
			return " "
		})
		for _, name := range []*regexp.Regexp{bareName, idnName} {
			z = withoutNames(z, name, add)
		}
	}
	return out
}

// withoutNames reports the names in a text that read as links, with what belongs to them behind, and gives the rest.
func withoutNames(z string, names *regexp.Regexp, add func(string)) string {
	var rest strings.Builder
	for {
		at := names.FindStringIndex(z)
		if at == nil {
			rest.WriteString(z)
			return rest.String()
		}
		behind := behindName.FindString(z[at[1]:])
		sure := unsure
		if at[0] > 0 && z[at[0]-1] == '@' {
			if sure = handle; mailbox.MatchString(z[:at[0]]) {
				sure = certain
			}
		}
		end := linkEnd(z[at[0]:at[1]], behind != "", sure)
		rest.WriteString(z[:at[0]])
		if end == 0 {
			rest.WriteString(z[at[0]:at[1]])
			z = z[at[1]:]
			continue
		}
		if end += at[0]; end == at[1] {
			end += len(behind)
		}
		add(z[at[0]:end])
		rest.WriteByte(' ')
		z = z[end:]
	}
}

// linkEnd is where the longest beginning of a dotted name ends that reads as a link, 0 for none: of "evil.com.Then" it is
// "evil.com", and "own.example" must not be read out of "own.example.evil.com".
func linkEnd(name string, behind bool, before sureness) (end int) {
	labels := strings.Split(name, ".")
	n := len(labels[0])
	for i := 1; i < len(labels); i++ {
		n += 1 + len(labels[i])
		sure := before
		if end > 0 || behind && i == len(labels)-1 {
			sure = certain
		}
		if readsAsLink(labels[:i+1], sure) {
			end = n
		}
	}
	return end
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
	if i := strings.IndexFunc(m, func(r rune) bool { return r >= 0x80 }); i > 0 && !strings.ContainsAny(m[i:], "./@:") && strings.Contains(strings.TrimRight(m[:i], "."), ".") {
		m = m[:i]
	}
	return strings.TrimRight(m, `.,;:!?)]}'"`)
}
