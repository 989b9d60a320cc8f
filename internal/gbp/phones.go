package gbp

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var (
	dashes    = strings.NewReplacer("‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-", "ー", "-", "－", "-", "⁃", "-", "─", "-", "━", "-", "➖", "-", "‧", ".", "・", ".")
	invisible = strings.NewReplacer("\ufe0e", "", "\ufe0f", "", "\u20e3", "", "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\u00ad", "")
	kanji     = strings.NewReplacer("〇", "0", "零", "0", "一", "1", "二", "2", "三", "3", "四", "4", "五", "5", "六", "6", "七", "7", "八", "8", "九", "9")
	// kanjiRun is nine or more digits in groups, kanji among them; fewer are words and dates.
	kanjiRun = regexp.MustCompile(`[0-9〇零一二三四五六七八九](?:[-. ()]{0,2}[0-9〇零一二三四五六七八九]){8,}`)
	// kanjiGroup are the kanji in it that are digits: a single one behind a number is a word ("5678 一同").
	kanjiGroup = regexp.MustCompile(`[〇零一二三四五六七八九]{2,}|^0[一二三四五六七八九]`)
	// spoken is what stands for a dash between digits: "03の1234の5678", and the kanji that looks like one.
	spoken = regexp.MustCompile(`(\d)[の一](\d)`)

	// digitRun is digits with the separators that phone numbers have, up to four of them in a row: "+81 (0) 3-1234-5678".
	digitRun   = regexp.MustCompile(`(?:\+[\s(]*)?\d(?:[\s().\[\]/_*-]{0,4}\d)*`)
	digitGroup = regexp.MustCompile(`\d+`)
	// announced is a word in front of a number that says what it is.
	announced = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:tel|phone|fax|call(?: us)?(?: at| on)?|dial|電話番号|電話|でんわ|โทร|tél|☎|📞)[^\d\n]{0,6}$`)

	// These read as something else, and are taken out when nothing of a number touches them.
	otherNumbers = []*regexp.Regexp{
		regexp.MustCompile(`〒\s*\d{3}-?\d{4}`),
		regexp.MustCompile(`\d{1,2}:[0-5]\d(?::[0-5]\d)?`),
		regexp.MustCompile(`(?:19|20|21)\d\d([-/.])(?:0?[1-9]|1[0-2])([-/.])(?:3[01]|[12]\d|0?[1-9])`),
		regexp.MustCompile(`(?:3[01]|[12]\d|0?[1-9])[-/.](?:3[01]|[12]\d|0?[1-9])[-/.](?:19|20|21)\d\d`),
		regexp.MustCompile(`\d{1,2}/\d{1,2}(?:/\d\d)?`),
		regexp.MustCompile(`\d{1,2}\.\d{1,2}`),
		regexp.MustCompile(`\d{1,3}(?:,\d{3})+(?:\.\d+)?`),
	}
	// clockRange is 0900-1700. It takes a whole number to its left, dashes and spaces between, to make a phone number of it.
	clockRange = regexp.MustCompile(`(?:[01]\d|2[0-4])[0-5][05] ?- ?(?:[01]\d|2[0-4])[0-5][05]`)
	leadingUp  = regexp.MustCompile(`\d[\s().\[\]/_*-]{1,4}$`)
)

// foldForSearch gives the spelling in which phone numbers and links are looked for: compatibility forms (half-width digits
// and letters), one kind of dash, and nothing that cannot be seen.
func foldForSearch(s string) string {
	return strings.Map(westernDigit, dashes.Replace(invisible.Replace(norm.NFKC.String(invisible.Replace(s)))))
}

// westernDigit is a decimal digit of any script ("๐", "٣") as one of ours; each script has its ten in a row.
func westernDigit(r rune) rune {
	if r < 0x80 || !unicode.IsDigit(r) {
		return r
	}
	n := rune(0)
	for unicode.IsDigit(r - n - 1) {
		n++
	}
	return '0' + n%10
}

// FindPhones gives the parts of a text that read as phone numbers: national numbers with a leading 0, numbers with a plus
// sign or the code that is dialled for one, groups as in North America or behind a country code, and anything of six digits or more that is announced as one.
// Full-width, circled and kanji digits, those of other scripts, and every kind of dash count. Prices, dates, hours, postal codes and plain codes do
// not. Spans are given in the form in which they were looked for (half-width digits, hyphens).
func FindPhones(s string) []string {
	if !enoughDigits(s) {
		return nil
	}
	folded := spoken.ReplaceAllString(foldForSearch(s), "$1-$2")
	if strings.ContainsAny(folded, kanjiDigits) {
		folded = kanjiRun.ReplaceAllStringFunc(folded, func(run string) string { return kanjiGroup.ReplaceAllStringFunc(run, kanji.Replace) })
	}
	var out []string
	for _, z := range zones(folded, func(b byte) bool { return b >= '0' && b <= '9' }, 60, 16) {
		text := withoutOtherNumbers(z)
		for _, at := range digitRun.FindAllStringIndex(text, -1) {
			out = append(out, phonesIn(text, at[0], at[1])...)
		}
	}
	return out
}

// enoughDigits tells whether a text has as many numerals as the shortest number; most texts have not, and this is cheap.
func enoughDigits(s string) bool {
	n := 0
	for _, r := range s {
		if r >= '0' && r <= '9' || r >= 0x80 && (unicode.IsNumber(r) || strings.ContainsRune(kanjiDigits, r)) {
			if n++; n == 6 {
				return true
			}
		}
	}
	return false
}

const kanjiDigits = "〇零一二三四五六七八九"

// withoutOtherNumbers overwrites dates, hours, prices and postal codes; offsets stay.
func withoutOtherNumbers(s string) string {
	b := []byte(s)
	for _, re := range otherNumbers {
		for _, at := range re.FindAllIndex(b, -1) {
			if !touchesDigits(b, at[0], at[1]) {
				blank(b[at[0]:at[1]])
			}
		}
	}
	for _, at := range clockRange.FindAllIndex(b, -1) {
		if !touchesDigits(b, at[0], at[1]) && !leadingUp.Match(b[:at[0]]) && (at[1] == len(b) || b[at[1]] != '-') {
			blank(b[at[0]:at[1]])
		}
	}
	return string(b)
}

func blank(b []byte) {
	for i := range b {
		b[i] = 0
	}
}

// touchesDigits tells whether a number goes on before or behind b[from:to]: a digit, or a dot, slash or comma with a digit
// behind it. A dash does not count: between hours and dates it means "until".
func touchesDigits(b []byte, from, to int) bool {
	isDigit := func(i int) bool { return i >= 0 && i < len(b) && b[i] >= '0' && b[i] <= '9' }
	joins := func(i int) bool { return i >= 0 && i < len(b) && (b[i] == '.' || b[i] == '/' || b[i] == ',') }
	return isDigit(from-1) || isDigit(to) || joins(from-1) && isDigit(from-2) || joins(to) && isDigit(to+1)
}

func phonesIn(text string, from, to int) (out []string) {
	run := text[from:to]
	groups := digitGroup.FindAllStringIndex(run, -1)
	known := announced.MatchString(text[:from])
	glued := from > 0 && (isLetter(text[from-1]) || text[from-1] == '-' && from > 1 && isLetter(text[from-2]))
	for i := 0; i < len(groups); i++ {
		j := phoneAt(run, groups, i, known && i == 0, glued && i == 0)
		if j < 0 {
			continue
		}
		start := groups[i][0]
		if i == 0 {
			start = 0 // with its plus sign
		} else if start > 0 && run[start-1] == '(' {
			start--
		}
		out = append(out, run[start:groups[j][1]])
		i = j
	}
	return out
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// phoneAt gives the last group of the number that begins with group i, or -1.
func phoneAt(run string, groups [][]int, i int, known, glued bool) int {
	if i == 0 && run[0] == '+' {
		return longest(groups, i, 8, 15)
	}
	if j := abroad(run, groups, i, glued); j >= 0 {
		return j
	}
	if j := national(run, groups, i, glued); j >= 0 {
		return j
	}
	if j := grouped(run, groups, i, glued); j >= 0 {
		return j
	}
	if known {
		return longest(groups, i, 6, 15)
	}
	return -1
}

// longest takes as many groups as stay within the bounds.
func longest(groups [][]int, i, least, most int) int {
	n, last := 0, -1
	for j := i; j < len(groups); j++ {
		if n += groups[j][1] - groups[j][0]; n > most {
			break
		}
		if n >= least {
			last = j
		}
	}
	return last
}

// abroad finds a number behind the code that leads out of a country: 00 in most, and for Japan's numbers also 010 (from Japan)
// and 011 (from North America), with which numbers of Korea and of Sapporo begin, too. Without groups only Japan's count.
func abroad(run string, groups [][]int, i int, glued bool) int {
	first, digits := run[groups[i][0]:groups[i][1]], ""
	for _, g := range groups[i:] {
		digits += run[g[0]:g[1]]
	}
	var code int
	switch {
	case glued:
		return -1
	case strings.HasPrefix(digits, "0081"):
		code = len("0081")
	case (strings.HasPrefix(digits, "01081") || strings.HasPrefix(digits, "01181")) && (len(first) == 3 && sizes(groups[i:])[1] == 2 || len(first) == 5 || len(first) >= 14):
		code = len("01081")
	case strings.HasPrefix(digits, "00") && !strings.HasPrefix(digits, "000"):
		j := longest(groups, i, 11, 17)
		if j < i+2 || len(slices.Compact(sizes(groups[i:j+1]))) == 1 { // a card has groups of one size
			return -1
		}
		return j
	default:
		return -1
	}
	n := 0
	for j := i; j < len(groups) && n < code+10; j++ {
		if n += groups[j][1] - groups[j][0]; n == code+9 || n == code+10 {
			return j
		}
	}
	return -1
}

// national finds a number with a trunk prefix: ten or eleven digits from 0 on, or nine in three groups. A bare run of digits
// at the end of a word is a code.
func national(run string, groups [][]int, i int, glued bool) int {
	first := run[groups[i][0]:groups[i][1]]
	if first[0] != '0' || strings.HasPrefix(first, "00") {
		return -1
	}
	n := 0
	for j := i; j < len(groups) && n < 11; j++ {
		n += groups[j][1] - groups[j][0]
		lengths := sizes(groups[i : j+1])
		switch {
		case (n == 10 || n == 11) && (j > i || !glued),
			n == 9 && (slices.Equal(lengths, []int{2, 3, 4}) || slices.Equal(lengths, []int{3, 3, 3})):
			return j
		}
	}
	return -1
}

// grouped finds 555-010-9999, with or without a leading 1, and a country code without its plus sign: at least four groups
// with one kind of separator, eleven to thirteen digits, the last four together.
func grouped(run string, groups [][]int, i int, glued bool) int {
	if glued {
		return -1
	}
	lengths := sizes(groups[i:min(i+4, len(groups))])
	for _, shape := range [][]int{{3, 3, 4}, {1, 3, 3, 4}} {
		if len(lengths) >= len(shape) && slices.Equal(lengths[:len(shape)], shape) && (len(shape) == 3 || run[groups[i][0]] == '1') {
			return i + len(shape) - 1
		}
	}
	if i > 0 || len(groups) < 4 || len(groups) > 13 {
		return -1
	}
	if lengths = sizes(groups); lengths[0] > 3 || lengths[len(lengths)-1] != 4 || slices.Max(lengths) > 4 {
		return -1
	}
	for k := 2; k < len(groups); k++ {
		if run[groups[k-1][1]:groups[k][0]] != run[groups[0][1]:groups[1][0]] {
			return -1
		}
	}
	return longest(groups, 0, 11, 13)
}

func sizes(groups [][]int) []int {
	out := make([]int, len(groups))
	for i, g := range groups {
		out[i] = g[1] - g[0]
	}
	return out
}
