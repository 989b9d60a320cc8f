package gbpsim

import (
	"encoding/json"
	"fmt"
	"strings"
)

// weekDays are Google's words in the order of a week, with the page's.
func weekDays() []struct{ word, short string } {
	return []struct{ word, short string }{
		{"MONDAY", "Mon"}, {"TUESDAY", "Tue"}, {"WEDNESDAY", "Wed"}, {"THURSDAY", "Thu"}, {"FRIDAY", "Fri"}, {"SATURDAY", "Sat"}, {"SUNDAY", "Sun"},
	}
}

// pagePeriod is a v1 TimePeriod, with the members of a SpecialHourPeriod.
type pagePeriod struct {
	OpenDay   string    `json:"openDay"`
	CloseDay  string    `json:"closeDay"`
	OpenTime  timeOfDay `json:"openTime"`
	CloseTime timeOfDay `json:"closeTime"`
	StartDate date      `json:"startDate"`
	EndDate   date      `json:"endDate"`
	Closed    bool      `json:"closed"`
}

// shown writes a day as 2026-12-31.
func (d date) shown() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// shown writes a time as 7:05.
func (t timeOfDay) shown() string { return fmt.Sprintf("%d:%02d", t.Hours, t.Minutes) }

// span is from when to when, whatever the days.
func (p pagePeriod) span() string {
	midnight := timeOfDay{}
	end := p.CloseTime
	if p.OpenTime == midnight && (end == midnight || end == timeOfDay{Hours: 24}) {
		return "24 hours"
	}
	s := p.OpenTime.shown() + "–" + end.shown()
	if p.CloseDay != "" && p.CloseDay != p.OpenDay && end != midnight {
		s += " (until " + shortDay(p.CloseDay) + ")"
	}
	return s
}

func shortDay(word string) string {
	for _, d := range weekDays() {
		if d.word == word {
			return d.short
		}
	}
	return word
}

// weekLines gives regular hours as "Mon–Fri 7:00–20:00" and "Sat, Sun closed".
func weekLines(raw json.RawMessage) []string {
	var h struct {
		Periods []pagePeriod `json:"periods"`
	}
	if json.Unmarshal(raw, &h) != nil {
		return []string{string(raw)}
	}
	if len(h.Periods) == 0 {
		return nil
	}
	by, strange := map[string][]string{}, []string(nil)
	for _, p := range h.Periods {
		if shortDay(p.OpenDay) == p.OpenDay {
			strange = append(strange, p.OpenDay+" "+p.span())
		}
		by[p.OpenDay] = append(by[p.OpenDay], p.span())
	}
	days := weekDays()
	times := func(i int) string { return orDefault(strings.Join(by[days[i].word], ", "), "closed") }
	var out []string
	for i := 0; i < len(days); {
		last := i
		for last+1 < len(days) && times(last+1) == times(i) {
			last++
		}
		name := days[i].short
		if last > i {
			name += "–" + days[last].short
		}
		out = append(out, name+" "+times(i))
		i = last + 1
	}
	return append(out, strange...)
}

// specialLines gives special hours, a line for each period.
func specialLines(raw json.RawMessage) []string {
	var h struct {
		Periods []pagePeriod `json:"specialHourPeriods"`
	}
	if json.Unmarshal(raw, &h) != nil {
		return []string{string(raw)}
	}
	var out []string
	for _, p := range h.Periods {
		day := p.StartDate.shown()
		if p.EndDate != (date{}) && p.EndDate != p.StartDate {
			day += " to " + p.EndDate.shown()
		}
		times := "closed"
		if !p.Closed {
			times = p.span()
		}
		out = append(out, day+" "+times)
	}
	return out
}

// moreLines gives further hours, each line with its kind.
func moreLines(raw json.RawMessage) []string {
	var kinds []struct {
		HoursTypeID string          `json:"hoursTypeId"`
		Periods     json.RawMessage `json:"periods"`
	}
	if json.Unmarshal(raw, &kinds) != nil {
		return []string{string(raw)}
	}
	var out []string
	for _, k := range kinds {
		for _, line := range weekLines(encode(map[string]json.RawMessage{"periods": k.Periods})) {
			out = append(out, k.HoursTypeID+": "+line)
		}
	}
	return out
}
