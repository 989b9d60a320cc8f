package profile

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// WeekChange is a change of regular hours. A plain list changes exactly the days that it names.
type WeekChange = Change[Hours, Day]

// periodsPerDay bounds what is sent for one day; Google publishes no bound, and no shop has as many.
const periodsPerDay = 10

// changeWeek applies a change to the periods of a week. readable is false when the present ones are not known.
func (j *judge) changeWeek(at string, current []period, readable bool, c WeekChange) ([]period, bool) {
	before := len(j.violations)
	if !c.shape(j, at) {
		return nil, false
	}
	if !readable && c.Set == nil {
		j.refuse(at, "current_unreadable", "", textUnreadable)
		return nil, false
	}
	after := current
	if c.Set != nil {
		after = nil
	}
	for i, d := range c.Remove {
		n := d.number()
		if n < 0 {
			j.refuse(item(at+".remove", i), "enum", string(d), textDay)
			continue
		}
		if !slices.ContainsFunc(after, func(p period) bool { return p.day == n }) {
			j.notPresent(at, string(d))
		}
		after = dropDay(after, n)
	}
	closed := map[int]bool{}
	for _, e := range c.entries() {
		after = j.layPeriods(at+e.path, after, current, e.list, e.path == "", closed)
	}
	if len(j.violations) > before {
		return nil, false
	}
	sortPeriods(after)
	j.overlaps(at, after)
	return after, len(j.violations) == before
}

func dropDay(list []period, day int) []period {
	return slices.DeleteFunc(slices.Clone(list), func(p period) bool { return p.day == day })
}

// layPeriods lays entries over a week; with replace the days that they name lose what they had. closed are the days that the
// change has closed so far.
func (j *judge) layPeriods(at string, after, current []period, list []Hours, replace bool, closed map[int]bool) []period {
	named := map[int]int{}
	for i, h := range list {
		path := item(at, i)
		n := h.Day.number()
		if n < 0 {
			j.refuse(path+".day", "enum", string(h.Day), textDay)
			continue
		}
		if named[n] == 0 && replace {
			after = dropDay(after, n)
		}
		named[n]++
		refuse := func(member, rule, value string, msg errs.Text) { j.refuse(path+"."+member, rule, value, msg) }
		if !exclusive(h.Open, h.Close, h.Open24h, h.Closed, refuse) {
			continue
		}
		switch {
		case h.Closed && named[n] > 1 || closed[n]:
			j.refuse(path, "contradiction", string(h.Day), errs.T("同じ曜日に closed: true と営業時間の両方があります。", "The same day is both closed and open, or closed twice."))
			continue
		case h.Closed && strings.HasSuffix(at, ".add"):
			refuse("closed", "not_allowed", "", errs.T("add では休業日にできません。remove に曜日を指定してください。", "add cannot close a day; name the day in remove."))
			continue
		case h.Closed:
			closed[n] = true
			continue
		case named[n] > periodsPerDay:
			j.refuse(path, "max_items", "", errs.Tf("1 日の営業時間は %d 件までです。", "A day has at most %d periods.", periodsPerDay))
			continue
		}
		p, ok := h.period(j, path)
		if !ok {
			continue
		}
		for _, old := range current {
			if old.day == p.day && old.open == p.open && old.close == p.close {
				p.raw = old.raw // the same period keeps what else Google holds with it
			}
		}
		after = append(slices.Clip(after), p)
	}
	return after
}

// overlaps refuses periods that run into each other, also over midnight and from Sunday into Monday. Periods that touch are
// fine. What Google already holds is not judged, only what the change brings in.
func (j *judge) overlaps(at string, list []period) {
	const week = 7 * dayMinutes
	for i, a := range list {
		for _, b := range list[i+1:] {
			if !a.fresh && !b.fresh {
				continue
			}
			from, to := a.day*dayMinutes+a.open, a.day*dayMinutes+a.close
			other, end := b.day*dayMinutes+b.open, b.day*dayMinutes+b.close
			for _, shift := range []int{-week, 0, week} {
				if from < end+shift && other+shift < to {
					path, rule := b.at, "overlap"
					if !b.fresh {
						path = a.at
					}
					if a.day == b.day && a.open == b.open && a.close == b.close {
						rule = "duplicate"
					}
					j.refuse(orElse(path, at), rule, "", errs.Tf("営業時間が重なっています: %[1]s と %[2]s", "Hours overlap: %[1]s and %[2]s", a.shown(), b.shown()))
					break
				}
			}
		}
	}
}

// shown is a period for people: "friday 18:00 - saturday 02:00".
func (p period) shown() string {
	s := string(dayNumber(p.day)) + " " + clockWord(p.open) + " - "
	if p.close > dayMinutes {
		return s + string(dayNumber(p.day+1)) + " " + clockWord(p.close-dayMinutes)
	}
	return s + clockWord(p.close)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// periodsOf reads the periods member of Google's BusinessHours or MoreHours.
func periodsOf(raw json.RawMessage) ([]period, bool) {
	m, ok := object(raw)
	if !ok {
		return nil, false
	}
	var list []json.RawMessage
	if p, there := m["periods"]; there && json.Unmarshal(p, &list) != nil {
		return nil, false
	}
	return readPeriods(list)
}

func googlePeriods(list []period) json.RawMessage {
	out := make([]json.RawMessage, 0, len(list))
	for _, p := range list {
		out = append(out, p.google())
	}
	return encode(out)
}

// regularHours applies a change of the regular hours.
func (j *judge) regularHours(after *Snapshot, c *WeekChange) {
	const at = "regular_hours"
	if c == nil {
		return
	}
	raw := after.Fields[fieldRegularHours]
	current, readable := periodsOf(raw)
	list, ok := j.changeWeek(at, current, readable, *c)
	switch {
	case !ok:
	case len(list) == 0:
		j.refuse(at, "would_empty", "", errs.T("この変更では営業日がなくなります。臨時休業は open_status の CLOSED_TEMPORARILY、営業時間の表示をやめるには clear: [\"regular_hours\"] を使ってください。", "No open day would be left. Use open_status CLOSED_TEMPORARILY for a closure, clear: [\"regular_hours\"] to show no hours."))
	default:
		after.set(fieldRegularHours, with(raw, "periods", googlePeriods(list)))
	}
}
