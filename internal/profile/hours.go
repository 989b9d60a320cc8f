package profile

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Hours is one period of one day of the week: open and close as HH:MM, or open_24h, or closed. A day with a break has several.
type Hours struct {
	Day Day `json:"day" jsonschema:"monday to sunday"`
	// Open is 00:00 to 23:59; Close 00:00 to 24:00. A close at or before the open is on the next day.
	Open    string `json:"open,omitempty" jsonschema:"opening time, HH:MM"`
	Close   string `json:"close,omitempty" jsonschema:"closing time, HH:MM to 24:00; at or before open means the next day"`
	Open24h bool   `json:"open_24h,omitempty" jsonschema:"true: open the whole day"`
	Closed  bool   `json:"closed,omitempty" jsonschema:"true: closed on that day"`
}

// period is one opening, in minutes from the midnight that begins its day. close is more than open and may lie in the next day;
// both together never span more than 24 hours.
type period struct {
	day, open, close int
	// raw is Google's object where the period came from there and was not touched.
	raw json.RawMessage
	// fresh marks what the change brought in, and at is where it stands in the arguments.
	fresh bool
	at    string
}

// span reads open and close of the words. refuse is told what is wrong with which member.
func span(open, closing string, refuse func(member, rule, value string, msg errs.Text)) (from, to int, ok bool) {
	from, okOpen := parseClock(open)
	to, okClose := parseClock(closing)
	okOpen = okOpen && from < dayMinutes
	for _, m := range []struct {
		name, value string
		ok          bool
	}{{"open", open, okOpen}, {"close", closing, okClose}} {
		switch {
		case m.value == "":
			refuse(m.name, "required", "", errs.Tf("%s がありません。終日営業は open_24h、休業は closed を指定してください。", "%s is missing; use open_24h for the whole day, closed for a day off.", m.name))
		case !m.ok:
			refuse(m.name, "time", m.value, textClock)
		}
	}
	if !okOpen || !okClose {
		return 0, 0, false
	}
	if to <= from {
		to += dayMinutes
	}
	return from, to, true
}

// exclusive checks that an entry says one thing: times, open_24h or closed.
func exclusive(open, closing string, open24h, closed bool, refuse func(member, rule, value string, msg errs.Text)) bool {
	times := open != "" || closing != ""
	n := 0
	for _, b := range []bool{times, open24h, closed} {
		if b {
			n++
		}
	}
	switch {
	case n == 0:
		refuse("open", "required", "", errs.T("open と close、open_24h、closed のどれかが必要です。", "Give open and close, or open_24h, or closed."))
	case n > 1 && closed:
		refuse("closed", "contradiction", "", errs.T("closed: true と時刻は同時に指定できません。Google は時刻を無視します。", "closed: true and times contradict each other; Google would ignore the times."))
	case n > 1:
		refuse("open_24h", "contradiction", "", errs.T("open_24h: true と open・close は同時に指定できません。", "open_24h: true and open or close contradict each other."))
	}
	return n == 1
}

// period turns words into minutes; ok is false where a rule was broken. A closed day has none and is handled before.
func (h Hours) period(j *judge, at string) (period, bool) {
	refuse := func(member, rule, value string, msg errs.Text) { j.refuse(at+"."+member, rule, value, msg) }
	p := period{day: h.Day.number(), fresh: true, at: at}
	if h.Open24h {
		p.close = dayMinutes
		return p, true
	}
	from, to, ok := span(h.Open, h.Close, refuse)
	p.open, p.close = from, to
	if ok {
		j.oddHours(h.Open, h.Close, string(h.Day))
	}
	return p, ok
}

// oddHours warns about times that are taken as typed and may be meant otherwise.
func (j *judge) oddHours(open, closing, when string) {
	shown := when + " " + open + "-" + closing
	if closing == "23:59" {
		j.warn("CLOSES_BEFORE_MIDNIGHT", shown, errs.T("23:59 は 0 時の 1 分前に閉店します。日付の変わり目までなら 24:00、終日営業なら open_24h を指定してください。", "A close of 23:59 is one minute before midnight; write 24:00 for midnight, open_24h for the whole day."))
	}
	if open == closing {
		j.warn("OPENS_24_HOURS", shown, errs.T("open と close が同じなので 24 時間営業として扱います。", "open and close are the same, which is read as 24 hours."))
	}
}

// words is the period as people say it.
func (p period) words() Hours {
	h := Hours{Day: dayNumber(p.day)}
	if p.open == 0 && p.close == dayMinutes {
		h.Open24h = true
		return h
	}
	h.Open, h.Close = clockWord(p.open), clockWord(p.close)
	if p.close > dayMinutes {
		h.Close = clockWord(p.close - dayMinutes)
	}
	return h
}

// timePeriod is Google's TimePeriod.
type timePeriod struct {
	OpenDay   string     `json:"openDay"`
	OpenTime  *timeOfDay `json:"openTime"`
	CloseDay  string     `json:"closeDay"`
	CloseTime *timeOfDay `json:"closeTime"`
}

// google is the period as Google's JSON: its own object where it was not touched.
func (p period) google() json.RawMessage {
	if p.raw != nil {
		return p.raw
	}
	t := timePeriod{OpenDay: dayNumber(p.day).google(), OpenTime: timeAt(p.open), CloseDay: dayNumber(p.day).google(), CloseTime: timeAt(p.close)}
	if p.close > dayMinutes {
		t.CloseDay, t.CloseTime = dayNumber(p.day+1).google(), timeAt(p.close-dayMinutes)
	}
	return encode(t)
}

// readPeriods reads Google's periods. A period of more than 24 hours is cut at midnights; 00:00-00:00 of one day is 24 hours.
// ok is false when one of them cannot be read.
func readPeriods(list []json.RawMessage) (out []period, ok bool) {
	for _, raw := range list {
		var t timePeriod
		if json.Unmarshal(raw, &t) != nil {
			return nil, false
		}
		from, ok1 := dayOf(t.OpenDay)
		to, ok2 := dayOf(t.CloseDay)
		open, ok3 := t.OpenTime.minutes()
		closing, ok4 := t.CloseTime.minutes()
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return nil, false
		}
		closing += (to - from + 7) % 7 * dayMinutes
		switch {
		case open == 0 && closing == 0:
			closing = dayMinutes
		case closing <= open && from == to:
			return nil, false
		case open >= dayMinutes: // opens at the midnight that ends the day
			from, open, closing = from+1, open-dayMinutes, closing-dayMinutes
		}
		if closing <= open {
			return nil, false
		}
		if closing-open <= dayMinutes {
			out = append(out, period{day: from % 7, open: open, close: closing, raw: raw})
			continue
		}
		for day := from; open < closing; day++ {
			out = append(out, period{day: day % 7, open: open, close: min(closing, dayMinutes)})
			open, closing = 0, closing-dayMinutes
		}
	}
	sortPeriods(out)
	return out, true
}

func sortPeriods(list []period) {
	slices.SortStableFunc(list, func(a, b period) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.open, b.open), cmp.Compare(a.close, b.close))
	})
}

// weekWords is a whole week in words: every day is named, those without a period as closed. No periods at all is no week.
func weekWords(list []period) []Hours {
	if len(list) == 0 {
		return nil
	}
	var out []Hours
	for d := range Days() {
		n := len(out)
		for _, p := range list {
			if p.day == d {
				out = append(out, p.words())
			}
		}
		if len(out) == n {
			out = append(out, Hours{Day: dayNumber(d), Closed: true})
		}
	}
	return out
}
