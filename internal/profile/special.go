package profile

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Bounds of special hours. Google publishes none; these keep a slip of the year from filling a profile.
const (
	// RangeMax is the most days that one entry with from and to may stand for.
	RangeMax = 366
	// SpecialMax is the most special periods that a profile may hold after a change.
	SpecialMax = 800
	// farAhead is from how many days ahead a date gets the warning DATE_FAR_OFF.
	farAhead = 400
	// lastClose is the latest end of a special period on the next day (SpecialHourPeriod, Business Information v1): 11:59.
	lastClose = dayMinutes + 11*60 + 59
)

// SpecialHours are the hours of one date, or of each date of a range. They stand in the place of the regular hours.
type SpecialHours struct {
	// Date is YYYY-MM-DD; From and To, both included, stand in its place and become one entry per day.
	Date string `json:"date,omitempty" jsonschema:"YYYY-MM-DD"`
	From string `json:"from,omitempty" jsonschema:"first day of a range, YYYY-MM-DD"`
	To   string `json:"to,omitempty" jsonschema:"last day of a range, YYYY-MM-DD"`
	// Open and Close are as in Hours, except that a close on the next day is 11:59 at the latest, and that both are less than 24
	// hours apart unless they are 00:00 and 24:00.
	Open    string `json:"open,omitempty" jsonschema:"opening time, HH:MM"`
	Close   string `json:"close,omitempty" jsonschema:"closing time, HH:MM to 24:00; at or before open means the next day"`
	Open24h bool   `json:"open_24h,omitempty" jsonschema:"true: open the whole day"`
	Closed  bool   `json:"closed,omitempty" jsonschema:"true: closed on that date"`
}

// SpecialChange is a change of special hours. A plain list changes exactly the dates that it names; removals are dates.
type SpecialChange = Change[SpecialHours, string]

// special is one opening or closure of a date, in minutes from its midnight.
type special struct {
	on          date
	open, close int
	closed      bool
	raw         json.RawMessage
	fresh       bool
	at          string
}

// specialPeriod is Google's SpecialHourPeriod.
type specialPeriod struct {
	StartDate date       `json:"startDate"`
	OpenTime  *timeOfDay `json:"openTime,omitempty"`
	EndDate   *date      `json:"endDate,omitempty"`
	CloseTime *timeOfDay `json:"closeTime,omitempty"`
	Closed    bool       `json:"closed,omitempty"`
}

func (s special) google() json.RawMessage {
	if s.raw != nil {
		return s.raw
	}
	if s.closed {
		return encode(specialPeriod{StartDate: s.on, Closed: true})
	}
	p := specialPeriod{StartDate: s.on, OpenTime: timeAt(s.open), CloseTime: timeAt(s.close)}
	if s.close > dayMinutes {
		next := s.on.plus(1)
		p.EndDate, p.CloseTime = &next, timeAt(s.close-dayMinutes)
	}
	return encode(p)
}

func (s special) words() SpecialHours {
	out := SpecialHours{Date: s.on.String()}
	switch {
	case s.closed:
		out.Closed = true
	case s.open == 0 && s.close == dayMinutes:
		out.Open24h = true
	default:
		out.Open, out.Close = clockWord(s.open), clockWord(s.close)
		if s.close > dayMinutes {
			out.Close = clockWord(s.close - dayMinutes)
		}
	}
	return out
}

// readSpecial reads Google's SpecialHours. ok is false when a period cannot be read.
func readSpecial(raw json.RawMessage) (out []special, ok bool) {
	m, ok := object(raw)
	if !ok {
		return nil, false
	}
	var list []json.RawMessage
	if p, there := m["specialHourPeriods"]; there && json.Unmarshal(p, &list) != nil {
		return nil, false
	}
	for _, raw := range list {
		var p specialPeriod
		if json.Unmarshal(raw, &p) != nil || !p.StartDate.real() {
			return nil, false
		}
		s := special{on: p.StartDate, closed: p.Closed, raw: raw}
		if !p.Closed {
			open, ok1 := p.OpenTime.minutes()
			closing, ok2 := p.CloseTime.minutes()
			if p.EndDate != nil {
				if !p.EndDate.real() {
					return nil, false
				}
				closing += (p.EndDate.number() - p.StartDate.number()) * dayMinutes
			}
			if open == 0 && closing == 0 {
				closing = dayMinutes
			}
			if !ok1 || !ok2 || closing <= open || closing-open > dayMinutes {
				return nil, false
			}
			s.open, s.close = open, closing
		}
		out = append(out, s)
	}
	sortSpecial(out)
	return out, true
}

func sortSpecial(list []special) {
	slices.SortStableFunc(list, func(a, b special) int {
		return cmp.Or(cmp.Compare(a.on.number(), b.on.number()), cmp.Compare(a.open, b.open), cmp.Compare(a.close, b.close))
	})
}

func specialWords(list []special) []SpecialHours {
	var out []SpecialHours
	for _, s := range list {
		out = append(out, s.words())
	}
	return out
}

// specialHours applies a change of the special hours. It comes after the regular hours, without which Google takes none.
func (j *judge) specialHours(after *Snapshot, c *SpecialChange) {
	const at = "special_hours"
	if c == nil || !c.shape(j, at) {
		return
	}
	raw := after.Fields[fieldSpecialHours]
	current, readable := readSpecial(raw)
	if !readable && c.Set == nil {
		j.refuse(at, "current_unreadable", "", textUnreadable)
		return
	}
	before := len(j.violations)
	list := slices.Clone(current)
	if c.Set != nil {
		list = nil
	}
	for i, s := range c.Remove {
		d, ok := parseDate(s)
		if !ok {
			j.refuse(item(at+".remove", i), "date", s, textDate)
			continue
		}
		if !slices.ContainsFunc(list, func(x special) bool { return x.on == d }) {
			j.notPresent(at, s)
		}
		list = slices.DeleteFunc(list, func(x special) bool { return x.on == d })
	}
	for _, e := range c.entries() {
		list = j.laySpecial(at+e.path, list, current, e.list, e.path == "")
	}
	if len(j.violations) > before {
		return
	}
	sortSpecial(list)
	j.specialOverlaps(at, list)
	if len(list) > SpecialMax {
		j.refuse(at, "max_items", "", errs.Tf("特別営業時間は合計 %[2]d 件までです (%[1]d 件)。", "%[1]d special periods; a profile takes at most %[2]d.", len(list), SpecialMax))
	}
	if p, ok := periodsOf(after.Fields[fieldRegularHours]); ok && len(p) == 0 && len(list) > 0 {
		j.refuse(at, "needs_regular_hours", "", errs.T("通常の営業時間がない店舗には特別営業時間を設定できません。先に regular_hours を設定してください。", "Google takes special hours only beside regular hours; set regular_hours as well."))
	}
	if len(j.violations) > before {
		return
	}
	if len(list) == 0 { // everything was removed by name
		after.clear(fieldSpecialHours)
		return
	}
	out := make([]json.RawMessage, 0, len(list))
	for _, s := range list {
		out = append(out, s.google())
	}
	after.set(fieldSpecialHours, with(raw, "specialHourPeriods", encode(out)))
}

// laySpecial lays entries over the list; with replace the dates that they name lose what they had.
func (j *judge) laySpecial(at string, list, current []special, entries []SpecialHours, replace bool) []special {
	named := map[date][]special{}
	for i, h := range entries {
		path := item(at, i)
		days, ok := j.days(path, h, func(d date) bool {
			same := SpecialHours{Date: d.String(), Open: h.Open, Close: h.Close, Open24h: h.Open24h, Closed: h.Closed}
			return slices.ContainsFunc(current, func(x special) bool { return x.on == d && x.words() == same })
		})
		refuse := func(member, rule, value string, msg errs.Text) { j.refuse(path+"."+member, rule, value, msg) }
		if !exclusive(h.Open, h.Close, h.Open24h, h.Closed, refuse) || !ok {
			continue
		}
		s := special{close: dayMinutes, closed: h.Closed, fresh: true, at: path}
		if h.Closed {
			s.close = 0
		} else if !h.Open24h {
			if s.open, s.close, ok = span(h.Open, h.Close, refuse); !ok {
				continue
			}
			j.oddHours(h.Open, h.Close, orElse(h.Date, h.From))
		}
		if s.close > lastClose {
			refuse("close", "too_late", h.Close, errs.T("特別営業時間は翌日の 11:59 までです。", "Special hours end at 11:59 of the next day at the latest."))
			continue
		}
		if s.open > 0 && s.close-s.open >= dayMinutes { // Google: less than 24 hours, the whole of one day apart
			refuse("close", "too_long", h.Close, errs.T("特別営業時間の 1 件は 24 時間未満です。終日営業なら open_24h を指定してください。", "A special period is shorter than 24 hours; use open_24h for the whole day."))
			continue
		}
		if len(list)+len(days) > 2*SpecialMax { // a bound on the work; the rule about the total is judged at the end
			j.refuse(path, "max_items", "", errs.Tf("特別営業時間は合計 %d 件までです。", "A profile takes at most %d special periods.", SpecialMax))
			return list
		}
		for _, d := range days {
			s.on, s.raw = d, nil
			if replace && len(named[d]) == 0 {
				list = slices.DeleteFunc(list, func(x special) bool { return x.on == d })
			}
			if j.contradicts(path, s, named[d], list, replace) {
				break
			}
			for _, old := range current {
				if old.on == d && old.open == s.open && old.close == s.close && old.closed == s.closed {
					s.raw = old.raw
				}
			}
			named[d] = append(named[d], s)
			list = append(list, s)
		}
	}
	return list
}

// contradicts refuses a closure beside opening times on one date.
func (j *judge) contradicts(path string, s special, given, list []special, replace bool) bool {
	beside := given
	if !replace {
		beside = list
	}
	for _, x := range beside {
		if x.on != s.on {
			continue
		}
		switch {
		case x.closed && s.closed:
			j.refuse(path, "duplicate", s.on.String(), errs.Tf("%s の休業が重複しています。", "%s is closed twice.", s.on))
			return true
		case x.closed || s.closed:
			j.refuse(path, "contradiction", s.on.String(), errs.Tf("%s に休業と営業時間の両方があります。", "%s is both closed and open.", s.on))
			return true
		}
	}
	return false
}

var textDate = errs.T("日付は 2026-12-31 の形で、暦にある日を指定してください。", "Write a date of the calendar as YYYY-MM-DD.")

// days gives the dates that an entry is about. Past days of a range that is not wholly past are left out with a warning; past
// days that are held as the entry has them may be sent back.
func (j *judge) days(path string, h SpecialHours, held func(date) bool) ([]date, bool) {
	read := func(member, s string) (date, bool) {
		d, ok := parseDate(s)
		switch {
		case s == "":
			j.refuse(path+"."+member, "required", "", errs.T("date、または from と to の両方が必要です。", "Give date, or both from and to."))
		case !ok:
			j.refuse(path+"."+member, "date", s, textDate)
		}
		return d, ok
	}
	if h.Date != "" && (h.From != "" || h.To != "") {
		j.refuse(path+".date", "contradiction", h.Date, errs.T("date と from・to は同時に指定できません。", "date and from or to contradict each other."))
		return nil, false
	}
	var from, to date
	var ok bool
	if h.From == "" && h.To == "" {
		if from, ok = read("date", h.Date); !ok {
			return nil, false
		}
		to = from
	} else {
		var okTo bool
		from, ok = read("from", h.From)
		to, okTo = read("to", h.To)
		if !ok || !okTo {
			return nil, false
		}
	}
	return j.daysBetween(path, from, to, held)
}

func (j *judge) daysBetween(path string, from, to date, held func(date) bool) ([]date, bool) {
	today := j.today()
	n := to.number() - from.number() + 1
	switch {
	case n < 1:
		j.refuse(path+".to", "before_start", to.String(), errs.T("to が from より前です。", "to is before from."))
		return nil, false
	case n > RangeMax:
		j.refuse(path+".to", "max_items", to.String(), errs.Tf("期間は %[2]d 日までです (%[1]d 日)。", "The range has %[1]d days, at most %[2]d are possible.", n, RangeMax))
		return nil, false
	case to.number() < today.number():
		if out := between(from, to); !slices.ContainsFunc(out, func(d date) bool { return !held(d) }) {
			return out, true
		}
		j.refuse(path, "in_past", to.String(), errs.Tf("%s は店舗の現地時刻で過去の日付です。", "%s is past in the store's local time.", to))
		return nil, false
	}
	if from.number() < today.number() {
		j.warn("PAST_DATES_SKIPPED", from.String(), errs.Tf("今日 (%s) より前の日は除きました。", "Days before today (%s) are left out.", today))
		from = today
	}
	if to.number() > today.number()+farAhead {
		j.warn("DATE_FAR_OFF", to.String(), errs.T("1 年以上先の日付です。年を確かめてください。", "This date is more than a year ahead; check the year."))
	}
	return between(from, to), true
}

func between(from, to date) (out []date) {
	for d := from; d.number() <= to.number(); d = d.plus(1) {
		out = append(out, d)
	}
	return out
}

// specialOverlaps refuses periods of the change that run into another one, also into the next date's. Nothing overlaps with a
// closure, except hours that run into it from the evening before, which end by themselves.
func (j *judge) specialOverlaps(at string, list []special) {
	for i, a := range list {
		for _, b := range list[i+1:] {
			if b.on.number() > a.on.number()+1 {
				break
			}
			if a.closed || b.closed || !a.fresh && !b.fresh {
				continue
			}
			shift := (b.on.number() - a.on.number()) * dayMinutes
			if b.open+shift < a.close && a.open < b.close+shift {
				path, rule := b.at, "overlap"
				if !b.fresh {
					path = a.at
				}
				if a.on == b.on && a.open == b.open && a.close == b.close {
					rule = "duplicate"
				}
				j.refuse(orElse(path, at), rule, "", errs.Tf("特別営業時間が重なっています: %[1]s と %[2]s", "Special hours overlap: %[1]s and %[2]s", a.shown(), b.shown()))
			}
		}
	}
}

func (s special) shown() string {
	w := s.words()
	return strings.TrimSpace(w.Date + " " + clockWord(s.open) + "-" + orElse(w.Close, "24:00"))
}
