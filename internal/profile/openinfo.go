package profile

import (
	"encoding/json"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// The values of open_status, which are Google's.
const (
	StatusOpen              = "OPEN"
	StatusClosedTemporarily = "CLOSED_TEMPORARILY"
	StatusClosedPermanently = "CLOSED_PERMANENTLY"
)

// OpenStatuses are the values of open_status.
func OpenStatuses() []string {
	return []string{StatusOpen, StatusClosedTemporarily, StatusClosedPermanently}
}

type openInfo struct {
	Status      string `json:"status"`
	CanReopen   bool   `json:"canReopen"`
	OpeningDate *date  `json:"openingDate"`
}

func readOpenInfo(raw json.RawMessage) (openInfo, bool) {
	var o openInfo
	return o, len(raw) == 0 || json.Unmarshal(raw, &o) == nil
}

// parseOpening reads YYYY-MM-DD, or YYYY-MM where the day is not known.
func parseOpening(s string) (date, bool) {
	if len(s) == len("2006-01") {
		d, ok := parseDate(s + "-01")
		d.Day = 0
		return d, ok
	}
	return parseDate(s)
}

// openInfo applies a change of open_status and opening_date, which are one object at Google.
func (j *judge) openInfo(after *Snapshot, status, opening string) {
	if status == "" && opening == "" {
		return
	}
	raw := after.Fields[fieldOpenInfo]
	o, ok := readOpenInfo(raw)
	if !ok {
		j.refuse("open_status", "current_unreadable", "", textUnreadable)
		return
	}
	before := len(j.violations)
	switch {
	case status == "":
		status = orElse(o.Status, StatusOpen)
	case !slices.Contains(OpenStatuses(), status):
		j.refuse("open_status", "enum", status, errs.T("open_status は OPEN、CLOSED_TEMPORARILY、CLOSED_PERMANENTLY のどれかです。", "open_status is one of OPEN, CLOSED_TEMPORARILY, CLOSED_PERMANENTLY."))
	}
	j.canReopen = o.CanReopen
	raw = with(raw, "status", encode(status))
	if opening != "" {
		d, ok := parseOpening(opening)
		limit := j.today().time().AddDate(1, 0, 0)
		switch {
		case !ok:
			j.refuse("opening_date", "date", opening, errs.T("opening_date は 2026-12-24 か 2026-12 の形で、暦にある日を指定してください。", "Write opening_date as YYYY-MM-DD, or YYYY-MM without the day."))
		case d.time().After(limit):
			j.refuse("opening_date", "too_far_ahead", opening, errs.T("opening_date は 1 年先までです。", "opening_date is at most one year ahead."))
		}
		raw = with(raw, "openingDate", encode(d))
	}
	if len(j.violations) == before {
		after.set(fieldOpenInfo, raw)
	}
}
