package gbp

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Which top-level domains there are is in the public suffix list (golang.org/x/net/publicsuffix, its ICANN part); "example" is
// reserved for documentation and counts as well. The lists here are about sentences only: what a name without a path could be
// instead of a link where a space is missing. They err to the side of a link, since an unseen link is published.

// plainTop are the top-level domains of three letters and more that are no words: what ends in one is a link however it is
// written.
func plainTop(t string) bool {
	return slices.Contains([]string{
		"com", "net", "org", "info", "biz", "xyz", "icu", "vip", "dev", "mobi", "asia", "example", "edu", "gov", "mil", "aero",
	}, t)
}

// wordTop are the two-letter ones that are words or titles at the beginning of a sentence.
func wordTop(t string) bool {
	return slices.Contains([]string{
		"ad", "al", "am", "as", "at", "be", "by", "co", "do", "id", "il", "in", "is", "it", "la", "ma", "me", "mr", "ms", "mt", "my", "ne", "no",
		"pa", "ph", "pm", "pr", "se", "si", "so", "st", "to", "us",
	}, t)
}

// unitTop are those that are a unit behind a number.
func unitTop(t string) bool {
	return slices.Contains([]string{"am", "cm", "gb", "kg", "km", "kw", "lb", "mg", "ml", "mm", "ms", "mw", "pm", "pt"}, t)
}

// shortened are abbreviations that have a word right behind them: "incl.tax", "No.one".
func shortened(s string) bool {
	return slices.Contains([]string{
		"approx", "ca", "dept", "dr", "est", "etc", "ex", "excl", "fig", "inc", "incl", "max", "min", "mr", "mrs", "ms", "mt", "no", "st", "tel", "vol", "vs",
	}, s)
}

// topLevel tells whether a label is a top-level domain, in either spelling of an international one.
func topLevel(t string) bool {
	if t == "example" {
		return true
	}
	ascii, err := idna.ToASCII(t)
	if err != nil {
		return false
	}
	_, listed := publicsuffix.PublicSuffix("x." + ascii) // below it, because of the domains whose every name is a suffix
	return listed
}

// sureness is what the text around a name says about it.
type sureness int

const (
	// unsure: nothing.
	unsure sureness = iota
	// handle: an @ in front, as in @komorebi.coffee.
	handle
	// certain: it is an address: a path behind it, a mail address in front, a link that it begins with.
	certain
)

// readsAsLink tells whether a dotted name is one that people would follow. What ends in no top-level domain is none: node.js,
// v1.2, menu.pdf. Unless that is certain, these are none: numbers of a list, a floor, or with a unit ("1.menu", "2F.bar",
// "10.kg"), abbreviations ("a.m.to", "incl.tax"), handles that end in a word, and names whose top-level domain is a word with a
// capital, as a sentence without its space has ("come in.To order", "Dr.Cafe"), except where the name has a form that no word
// has ("Evil-Shop.Life", "PrizeWin.Me").
func readsAsLink(labels []string, sure sureness) bool {
	name, top := labels[len(labels)-2], labels[len(labels)-1]
	t := strings.ToLower(top)
	if i := strings.IndexFunc(t, func(r rune) bool { return r >= utf8.RuneSelf }); i > 0 && !topLevel(t) {
		t = t[:i] // the name ends there, and something else goes on without a space
	}
	if !topLevel(t) {
		return false
	}
	if sure == certain {
		return true
	}
	word := t[0] < utf8.RuneSelf && !strings.HasPrefix(t, "xn--") && !plainTop(t) && (len(t) > 2 || wordTop(t))
	capital := unicode.IsUpper(rune(top[0]))
	letters := len(labels) > 2 && !slices.ContainsFunc(labels[:len(labels)-1], func(l string) bool { return utf8.RuneCountInString(l) > 1 })
	switch {
	case numeral(strings.TrimRight(name, "fF")):
		return len(name) > 2 && !word && !unitTop(t)
	case letters && !plainTop(t):
		return false
	case len(name) == 1 && len(t) == 2 && capital: // "B.Sc"
		return false
	case !word:
		return true
	case sure == handle || shortened(strings.ToLower(name)):
		return false
	}
	return !capital || noWord(name)
}

func numeral(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// noWord tells whether a name has a form that words have not: a hyphen, a digit in a longer one, a capital behind a small letter.
func noWord(name string) bool {
	small := false
	for _, r := range name {
		if r >= utf8.RuneSelf {
			return false
		}
		if r == '-' || r >= '0' && r <= '9' && len(name) > 4 || small && unicode.IsUpper(r) {
			return true
		}
		small = unicode.IsLower(r)
	}
	return false
}
