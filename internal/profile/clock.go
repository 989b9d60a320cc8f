package profile

import "fmt"

// dayMinutes is one day in minutes, the unit of all times in this package.
const dayMinutes = 24 * 60

// parseClock reads HH:MM from 00:00 to 24:00.
func parseClock(s string) (minutes int, ok bool) {
	if len(s) != 5 || s[2] != ':' {
		return 0, false
	}
	for _, i := range []int{0, 1, 3, 4} {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	h, m := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	n := h*60 + m
	return n, m < 60 && n <= dayMinutes
}

// clockWord is minutes as HH:MM.
func clockWord(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// timeOfDay is Google's TimeOfDay; zero parts are left out, so midnight is {}.
type timeOfDay struct {
	Hours   int `json:"hours,omitempty"`
	Minutes int `json:"minutes,omitempty"`
	// Seconds and Nanos have never been seen other than zero; they are read so that they can be refused as unreadable.
	Seconds int `json:"seconds,omitempty"`
	Nanos   int `json:"nanos,omitempty"`
}

func timeAt(minutes int) *timeOfDay { return &timeOfDay{Hours: minutes / 60, Minutes: minutes % 60} }

// minutes gives the time in minutes; an absent time is midnight.
func (t *timeOfDay) minutes() (int, bool) {
	if t == nil {
		return 0, true
	}
	n := t.Hours*60 + t.Minutes
	return n, t.Hours >= 0 && t.Minutes >= 0 && t.Minutes < 60 && n <= dayMinutes && t.Seconds == 0 && t.Nanos == 0
}
