package schema

import "time"

// isDate accepts days of the Gregorian calendar written YYYY-MM-DD, from year 1.
func isDate(s []byte) bool {
	day, err := time.Parse(time.DateOnly, string(s))
	return err == nil && day.Year() >= 1
}

// isTimeOfDay accepts HH:MM from 00:00 to 23:59.
func isTimeOfDay(s []byte) bool {
	if len(s) != 5 || s[2] != ':' {
		return false
	}
	hour, ok1 := digits(s[:2])
	minute, ok2 := digits(s[3:])
	return ok1 && ok2 && hour < 24 && minute < 60
}

// isDateTime accepts RFC 3339 in capitals with seconds and an offset, at most nine digits of a second, no leap second.
func isDateTime(s []byte) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || !isDate(s[:10]) || s[10] != 'T' || !isTimeOfDay(s[11:16]) || s[16] != ':' {
		return false
	}
	second, ok := digits(s[17:19])
	if !ok || second > 59 {
		return false
	}
	s = s[19:]
	if s[0] == '.' {
		n := 1
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == 1 || n > 10 {
			return false
		}
		s = s[n:]
	}
	return string(s) == "Z" || len(s) == 6 && (s[0] == '+' || s[0] == '-') && isTimeOfDay(s[1:])
}

// digits reads a few decimal digits.
func digits(s []byte) (int, bool) {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
