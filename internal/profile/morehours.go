package profile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// MoreHours are the hours of one kind of service.
type MoreHours struct {
	// HoursType is Google's id of the kind: DELIVERY, TAKEOUT, KITCHEN, … Which exist depends on the store's categories.
	HoursType string  `json:"hours_type" jsonschema:"Google's id of the kind of hours, such as DELIVERY"`
	Hours     []Hours `json:"hours" jsonschema:"its hours by day"`
}

// MoreHoursDraft changes the hours of one kind; inside it, a plain list changes exactly the days that it names.
type MoreHoursDraft struct {
	HoursType string      `json:"hours_type"`
	Hours     *WeekChange `json:"hours"`
}

// MoreHoursChange is a change of more hours. A plain list changes exactly the kinds that it names; removals are kinds.
type MoreHoursChange = Change[MoreHoursDraft, string]

// hoursTypeForm is the form of every kind in Google's category catalogue, read 2026-11.
var hoursTypeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// knownHoursTypes are the kinds that stand in Google's category catalogue, read 2026-11. The set is open.
func knownHoursTypes() []string {
	return []string{
		"ACCESS", "BREAKFAST", "BRUNCH", "DELIVERY", "DINNER", "DRIVE_THROUGH", "HAPPY_HOUR", "KITCHEN", "LUNCH", "ONLINE_SERVICE_HOURS",
		"PICKUP", "SENIOR_HOURS", "TAKEOUT",
	}
}

// more is one element of Google's moreHours.
type more struct {
	kind string
	raw  json.RawMessage
}

func readMore(raw json.RawMessage) ([]more, bool) {
	var list []json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	var out []more
	for _, r := range list {
		var m struct {
			HoursTypeID string `json:"hoursTypeId"`
		}
		if json.Unmarshal(r, &m) != nil || m.HoursTypeID == "" {
			return nil, false
		}
		out = append(out, more{m.HoursTypeID, r})
	}
	return out, true
}

func moreWords(list []more) ([]MoreHours, bool) {
	var out []MoreHours
	for _, m := range list {
		p, ok := periodsOf(m.raw)
		if !ok {
			return nil, false
		}
		out = append(out, MoreHours{HoursType: m.kind, Hours: weekWords(p)})
	}
	return out, true
}

// moreHours applies a change of the hours of kinds of service.
func (j *judge) moreHours(after *Snapshot, c *MoreHoursChange) {
	const at = "more_hours"
	if c == nil || !c.shape(j, at) {
		return
	}
	list, readable := readMore(after.Fields[fieldMoreHours])
	if !readable && c.Set == nil {
		j.refuse(at, "current_unreadable", "", textUnreadable)
		return
	}
	before, old := len(j.violations), list
	if c.Set != nil {
		list = nil
	}
	for _, kind := range c.Remove {
		if !slices.ContainsFunc(list, func(m more) bool { return m.kind == kind }) {
			j.notPresent(at, kind)
		}
		list = slices.DeleteFunc(slices.Clone(list), func(m more) bool { return m.kind == kind })
	}
	for _, e := range c.entries() {
		seen := map[string]bool{}
		for i, d := range e.list {
			path := item(at+e.path, i)
			if !j.hoursType(path+".hours_type", d.HoursType, seen) {
				continue
			}
			list = j.layMore(path+".hours", list, old, d)
		}
	}
	if len(j.violations) > before {
		return
	}
	if len(list) == 0 {
		after.clear(fieldMoreHours)
		return
	}
	out := make([]json.RawMessage, 0, len(list))
	for _, m := range list {
		out = append(out, m.raw)
	}
	after.set(fieldMoreHours, encode(out))
}

func (j *judge) hoursType(path, kind string, seen map[string]bool) bool {
	switch {
	case !hoursTypeForm.MatchString(kind):
		j.refuse(path, "enum", kind, errs.T("hours_type は DELIVERY のような Google の種別 ID です。", "hours_type is Google's id of the kind, such as DELIVERY."))
		return false
	case seen[kind]:
		j.refuse(path, "duplicate", kind, errs.Tf("%s が複数あります。", "%s is there more than once.", kind))
		return false
	case j.HoursTypes != nil && !slices.Contains(j.HoursTypes, kind):
		j.refuse(path, "not_for_category", kind, errs.Tf("この店舗のカテゴリでは %[1]s は使えません。使えるもの: %[2]s", "The store's categories have no %[1]s; they have: %[2]s", kind, orElse(strings.Join(j.HoursTypes, ", "), "-")))
		return false
	case j.HoursTypes == nil && !slices.Contains(knownHoursTypes(), kind):
		j.warn("HOURS_TYPE_UNKNOWN", kind, errs.T("よく使われる種別ではありません。店舗のカテゴリで使えない種別は Google に拒否されます。", "Not one of the usual kinds; Google refuses kinds that the store's categories do not have."))
	}
	seen[kind] = true
	return true
}

// layMore changes one kind's week.
func (j *judge) layMore(at string, list, old []more, d MoreHoursDraft) []more {
	if d.Hours == nil {
		j.refuse(at, "required", "", errs.T("hours がありません。", "hours is missing."))
		return list
	}
	find := func(l []more) int {
		return slices.IndexFunc(l, func(m more) bool { return m.kind == d.HoursType })
	}
	n := find(list)
	var raw json.RawMessage
	var current []period
	readable := true
	if n >= 0 {
		raw = list[n].raw
		current, readable = periodsOf(raw)
	} else if k := find(old); k >= 0 { // replaced whole, but what else Google holds with the kind stays
		raw = old[k].raw
	}
	week, ok := j.changeWeek(at, current, readable, *d.Hours)
	switch {
	case !ok:
		return list
	case len(week) == 0:
		j.refuse(at, "would_empty", d.HoursType, errs.Tf("%s の営業日がなくなります。種別ごと消すには remove に指定してください。", "No day would be left for %s; name the kind in remove to take it away.", d.HoursType))
		return list
	}
	raw = with(with(raw, "hoursTypeId", encode(d.HoursType)), "periods", googlePeriods(week))
	if n < 0 {
		return append(slices.Clip(list), more{d.HoursType, raw})
	}
	list = slices.Clone(list)
	list[n].raw = raw
	return list
}
