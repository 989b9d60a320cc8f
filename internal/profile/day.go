package profile

import (
	"slices"
	"strings"
)

// Day is a day of the week in the contract's words: "monday" to "sunday".
type Day string

// Days are the days in the order in which weeks are written and shown: Monday first.
func Days() []Day {
	return []Day{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
}

// number is the day's place from Monday, or -1.
func (d Day) number() int { return slices.Index(Days(), d) }

// google is Google's spelling.
func (d Day) google() string { return strings.ToUpper(string(d)) }

// dayOf reads Google's spelling.
func dayOf(s string) (int, bool) {
	n := Day(strings.ToLower(s)).number()
	return n, n >= 0 && s == strings.ToUpper(s)
}

func dayNumber(n int) Day { return Days()[((n%7)+7)%7] }
