package schema

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// text reads the value of a JSON string for a field that is no container.
func (d *decoder) text(f *Field, s []byte, fl flaw, element bool) state {
	switch f.Type {
	case TypeBoolean:
		if w := string(s); w == "true" || w == "false" {
			d.out = append(d.out, w...)
			return present
		}
		d.violate(RuleType, errs.T(`true または false だけが使えます。`, `Only true and false are taken.`), shown(s))
		return refused
	case TypeInteger, TypeLocationID:
		if len(s) == 0 {
			return d.empty(f, element)
		}
		return d.integer(f, s, true)
	default: // the rest are strings
	}
	if fl != flawNone {
		d.violate(RuleCharacters, flawTexts[fl], shown(s))
		return refused
	}
	if countsAsEmpty(f, s) {
		return d.empty(f, element)
	}
	s, ok := d.characters(f, s)
	if !ok {
		return refused
	}
	if len(f.Enum) > 0 {
		return d.enum(f, s)
	}
	if !d.length(f, s) || !d.form(f, s) {
		return refused
	}
	d.out = appendString(d.out, s)
	return present
}

// empty decides what an empty string means.
func (d *decoder) empty(f *Field, element bool) state {
	switch {
	case element:
		d.violate(RuleEmpty, errs.T("リストの中に空の値は置けません。", "An empty value is not allowed inside a list."), "")
		return refused
	case f.Required:
		d.violate(RuleRequired, errs.Tf("%[1]s は必須です。空にはできません。", "%[1]s is required and must not be empty.", f.Name), "")
		return refused
	case f.Strict:
		d.violate(RuleEmpty, errs.Tf("%[1]s を空にはできません。使わない場合は指定しないでください。", "%[1]s must not be empty; leave it out when it is not used.", f.Name), "")
		return refused
	}
	return absent
}

// characters normalises a string and checks what it is made of.
func (d *decoder) characters(f *Field, s []byte) ([]byte, bool) {
	if f.Type == TypeURL {
		out, msg, ok := normalizeURL(s, f.Templated)
		if !ok {
			d.violate(RuleFormat, msg, shown(s))
		}
		return out, ok
	}
	out, msg, ok := tidy(s, f.Type == TypeText && !f.SingleLine, f.Type == TypeText)
	if !ok {
		d.violate(RuleCharacters, msg, shown(s))
	}
	return out, ok
}

func (d *decoder) enum(f *Field, s []byte) state {
	if slices.Contains(f.Enum, string(s)) {
		d.out = appendString(d.out, s)
		return present
	}
	words := strings.Join(f.Enum, ", ")
	msg := errs.Tf("次のいずれかにしてください: %[1]s", "Use one of: %[1]s", words)
	if near := nearest(string(s), f.Enum); near != "" {
		msg = errs.Tf("次のいずれかにしてください: %[1]s（もしかして %[2]s）", "Use one of: %[1]s (did you mean %[2]s?)", words, near)
	}
	d.violate(RuleEnum, msg, shown(s))
	return refused
}

// templateRoom is how many characters of variables a text may hold beyond its MaxLength.
const templateRoom = 500

// variable is what a template fills in.
var variable = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// mostLength is how long a string may be as it is written; 0 is no bound.
func (f *Field) mostLength() int {
	if f.Type == TypeText && f.Templated && f.MaxLength > 0 {
		return f.MaxLength + templateRoom
	}
	return f.MaxLength
}

// tooLong tells whether a string of n characters has more than it may have.
func (f *Field) tooLong(s []byte, n int) bool {
	if most := f.mostLength(); most > f.MaxLength && n > f.MaxLength && n <= most {
		return utf8.RuneCount(variable.ReplaceAllLiteral(s, []byte("x"))) > f.MaxLength
	}
	return f.MaxLength > 0 && n > f.MaxLength
}

func (d *decoder) length(f *Field, s []byte) bool {
	n := utf8.RuneCount(s)
	switch {
	case f.tooLong(s, n):
		d.violate(RuleMaxLength, errs.Tf("%[1]s / %[2]s 文字です。長すぎます。", "%[1]s of %[2]s characters: too long.", count(n), count(f.MaxLength)), shown(s))
		return false
	case n < f.MinLength:
		d.violate(RuleMinLength, errs.Tf("%[1]s 文字です。%[2]s 文字以上必要です。", "%[1]s characters; at least %[2]s are needed.", count(n), count(f.MinLength)), shown(s))
		return false
	}
	return true
}

// form checks the spelling that a type or pattern asks for.
func (d *decoder) form(f *Field, s []byte) bool {
	var msg errs.Text
	ok := true
	switch f.Type {
	case TypeID:
		ok = visibleASCII(s)
		msg = errs.T("ID は空白のない ASCII 文字です。一覧で返された値をそのまま送ってください。", "An id is visible ASCII without spaces; send it exactly as a list gave it.")
	case TypeDate:
		ok = isDate(s)
		msg = errs.T("実在する日付を YYYY-MM-DD で書いてください（例 2026-12-31）。", "Write a day of the calendar as YYYY-MM-DD, for example 2026-12-31.")
	case TypeTimeOfDay:
		ok = isTimeOfDay(s) || f.Until24 && string(s) == "24:00"
		msg = errs.T("時刻を HH:MM で、00:00 から 23:59 の範囲で書いてください（例 09:30）。", "Write a time as HH:MM from 00:00 to 23:59, for example 09:30.")
		if f.Until24 {
			msg = errs.T("時刻を HH:MM で、00:00 から 24:00 の範囲で書いてください（例 09:30）。24 時を過ぎる時刻は翌日の時刻で書きます（26:00 ではなく 02:00）。",
				"Write a time as HH:MM from 00:00 to 24:00, for example 09:30; past midnight, write the next day's time: 02:00, not 26:00.")
		}
	case TypeDateTime:
		ok = isDateTime(s)
		msg = errs.T("日時を時差付きの RFC 3339 で書いてください（例 2026-12-31T09:00:00+09:00）。", "Write date and time in RFC 3339 with an offset, for example 2026-12-31T09:00:00+09:00.")
	default: // free but for the pattern
	}
	if !ok {
		d.violate(RuleFormat, msg, shown(s))
		return false
	}
	if f.Pattern != nil && !f.Pattern.Match(s) {
		d.violate(RulePattern, errs.Tf("形式が正しくありません（%[1]s）。", "Not of the form %[1]s", f.Pattern), shown(s))
		return false
	}
	return true
}

func visibleASCII(s []byte) bool {
	for _, c := range s {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// integer reads a JSON number, or with quoted the text of a string.
func (d *decoder) integer(f *Field, s []byte, quoted bool) state {
	if quoted && !plainDecimal(s) {
		d.violate(RuleType, errs.T("整数が必要です。文字列で送る場合は 10 進の数字だけを書いてください。", "Expected an integer; as a string, only plain decimal digits are taken."), shown(s))
		return refused
	}
	n, whole, fits := parseInteger(s)
	switch {
	case !whole:
		d.violate(RuleType, errs.T("整数が必要です。小数は使えません。", "Expected an integer, got a fraction."), shown(s))
		return refused
	case !fits:
		d.violate(RuleMaximum, errs.T("±2^53 の範囲を超えています。桁が失われるため受け付けません。", "Beyond ±2^53, where digits are lost; not taken."), shown(s))
		return refused
	case f.Min != nil && n < *f.Min:
		d.violate(RuleMinimum, errs.Tf("%[1]d 以上にしてください。", "Must be at least %[1]d.", *f.Min), shown(s))
		return refused
	case f.Max != nil && n > *f.Max:
		d.violate(RuleMaximum, errs.Tf("%[1]d 以下にしてください。", "Must be at most %[1]d.", *f.Max), shown(s))
		return refused
	}
	d.out = strconv.AppendInt(d.out, n, 10)
	return present
}

// plainDecimal is -?(0|[1-9][0-9]*) without "-0".
func plainDecimal(s []byte) bool {
	digits := s
	if len(s) > 0 && s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(s) > 1 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// parseInteger gives the exact value of a JSON number. whole is false for a fraction, fits for an integer within ±2^53.
func parseInteger(s []byte) (n int64, whole, fits bool) {
	negative := s[0] == '-'
	if negative {
		s = s[1:]
	}
	var (
		room     [24]byte
		digits   = room[:0] // significant digits, leading zeros dropped
		exponent int        // power of ten of the last digit
		fraction bool
	)
	i := 0
	for ; i < len(s) && s[i] != 'e' && s[i] != 'E'; i++ {
		switch {
		case s[i] == '.':
			fraction = true
			continue
		case len(digits) > 0 || s[i] != '0':
			digits = append(digits, s[i])
		}
		if fraction {
			exponent--
		}
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		exponent++
	}
	if len(digits) == 0 {
		return 0, true, true
	}
	if i < len(s) {
		exponent += clampedExponent(s[i+1:])
	}
	switch {
	case exponent < 0:
		return 0, false, false
	case len(digits)+exponent > 16: // 2^53 has 16 digits
		return 0, true, false
	}
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	for ; exponent > 0; exponent-- {
		n *= 10
	}
	if n > maxInteger {
		return 0, true, false
	}
	if negative {
		n = -n
	}
	return n, true, true
}

// clampedExponent reads [+-]?digits; beyond the size of any input the value no longer matters.
func clampedExponent(s []byte) int {
	sign := 1
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	n := 0
	for _, c := range s {
		if n < 10*MaxBytesTotal {
			n = n*10 + int(c-'0')
		}
	}
	return sign * n
}
