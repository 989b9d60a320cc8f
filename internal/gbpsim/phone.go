package gbpsim

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

var (
	digitRun  = regexp.MustCompile(`\+?[(\[]?\d(?:[\s().\[\]/-]{0,3}\d){4,18}`)
	digitPart = regexp.MustCompile(`\d+`)
	announced = regexp.MustCompile(`(?i)(?:tel|phone|call us|電話番号|電話|でんわ|☎|📞)[^\d\n]{0,6}$`)
	dashForms = strings.NewReplacer("‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-", "ー", "-", "ｰ", "-", "・", "-", "･", "-")
)

// holdsPhone tells whether a text holds a phone number in a common form: Japanese numbers with a leading zero, numbers
// with a plus sign, North American groups, and any number of six digits or more that is announced as one; full-width
// digits and all kinds of dashes count. Google's own detector is not published.
func holdsPhone(s string) bool {
	s = dashForms.Replace(norm.NFKC.String(s))
	for _, at := range digitRun.FindAllStringIndex(s, -1) {
		run := s[at[0]:at[1]]
		if announced.MatchString(s[:at[0]]) || strings.HasPrefix(run, "+") && len(digitsOf(run)) >= 8 || holdsGroups(digitPart.FindAllString(run, -1)) {
			return true
		}
	}
	return false
}

func digitsOf(s string) string { return strings.Join(digitPart.FindAllString(s, -1), "") }

// holdsGroups looks for a number in neighbouring groups of digits, because a run may start with something else, such as
// the minutes of an opening time.
func holdsGroups(groups []string) bool {
	for i := range groups {
		for j := i; j < len(groups); j++ {
			number := strings.Join(groups[i:j+1], "")
			n := len(number)
			national := strings.HasPrefix(number, "0") && !strings.HasPrefix(number, "00") && (n == 10 || n == 11)
			northAmerican := j == i+2 && len(groups[i]) == 3 && len(groups[i+1]) == 3 && len(groups[j]) == 4
			if national || northAmerican {
				return true
			}
		}
	}
	return false
}
