package gbp

import "unicode/utf8"

// zones gives the parts of s around the bytes that is accepts, with so many bytes before and after, cut between characters.
// Parts that would touch are one. Expressions are slow on long texts, and nearly all of a text is neither number nor link.
func zones(s string, is func(byte) bool, before, after int) []string {
	var out []string
	from, to := -1, -1
	for i := range len(s) {
		if !is(s[i]) {
			continue
		}
		if from >= 0 && i-before <= to {
			to = i + after
			continue
		}
		if from >= 0 {
			out = append(out, cut(s, from, to))
		}
		from, to = i-before, i+after
	}
	if from != to {
		out = append(out, cut(s, from, to))
	}
	return out
}

func cut(s string, from, to int) string {
	from, to = max(from, 0), min(to, len(s))
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return s[from:to]
}
