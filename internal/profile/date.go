package profile

import (
	"fmt"
	"time"
)

// date is a calendar date, also as Google writes it. Opening dates may have no day.
type date struct {
	Year  int `json:"year,omitempty"`
	Month int `json:"month,omitempty"`
	Day   int `json:"day,omitempty"`
}

// parseDate reads YYYY-MM-DD of the calendar.
func parseDate(s string) (date, bool) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1 {
		return date{}, false
	}
	return date{t.Year(), int(t.Month()), t.Day()}, true
}

// real tells whether the date with its day stands in the calendar.
func (d date) real() bool {
	_, ok := parseDate(d.String())
	return ok
}

// time is the midnight of the date; without a day it is that of the month's first.
func (d date) time() time.Time {
	return time.Date(d.Year, time.Month(d.Month), max(1, d.Day), 0, 0, 0, 0, time.UTC)
}

// number counts days from 1970-01-01.
func (d date) number() int { return int(d.time().Unix() / (24 * 60 * 60)) }

func (d date) plus(days int) date {
	y, m, n := d.time().AddDate(0, 0, days).Date()
	return date{y, int(m), n}
}

func (d date) String() string {
	if d.Day == 0 {
		return fmt.Sprintf("%04d-%02d", d.Year, d.Month)
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}
