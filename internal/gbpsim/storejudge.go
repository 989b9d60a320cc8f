package gbpsim

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// judgeStore applies the content rules to the fields that an edit changes. It answers the first refusal, or nil.
func (c *call) judgeStore(l *location, changes map[string]json.RawMessage) *reply {
	after := laid(l.fields, changes)
	checks := map[string]func(json.RawMessage) *reply{
		"title": checkTitle, "storeCode": func(v json.RawMessage) *reply { return c.checkStoreCode(l, v) },
		"phoneNumbers": checkPhones, "websiteUri": checkWebsite, "categories": checkCategories, "regularHours": checkRegular,
		"specialHours": checkSpecial, "moreHours": func(v json.RawMessage) *reply { return checkMore(v, after["categories"]) },
		"labels": checkLabels, "openInfo": func(v json.RawMessage) *reply { return c.checkOpenInfo(v, l.fields["openInfo"]) }, "profile": checkProfile,
	}
	for _, field := range slices.Sorted(maps.Keys(changes)) {
		if check := checks[field]; check != nil {
			if refusal := check(changes[field]); refusal != nil {
				return refusal
			}
		}
	}
	_, phone := changes["phoneNumbers"]
	_, site := changes["websiteUri"]
	if (phone || site) && after["phoneNumbers"] == nil && after["websiteUri"] == nil {
		return storeFault(ruleReachable, "MISSING_BOTH_PHONE_AND_WEBSITE", "phone_numbers", "A phone number or a website is required.")
	}
	_, regular := changes["regularHours"]
	_, special := changes["specialHours"]
	if (regular || special) && after["specialHours"] != nil && after["regularHours"] == nil {
		return storeFault(ruleSpecialAlone, "SPECIAL_HOURS_SET_WITHOUT_REGULAR_HOURS", "special_hours", "Special hours need regular hours.")
	}
	return nil
}

func wordOf(v json.RawMessage) (s string) {
	_ = json.Unmarshal(v, &s) // the shape was checked; absent is ""
	return s
}

func checkTitle(v json.RawMessage) *reply {
	if strings.TrimSpace(wordOf(v)) == "" {
		return storeFault(ruleTitle, "REQUIRED_FIELD_MISSING_VALUE", "title", "A title is required.")
	}
	return nil
}

func (c *call) checkStoreCode(l *location, v json.RawMessage) *reply {
	code := wordOf(v)
	for _, x := range c.sim.locations {
		if code != "" && x != l && x.Account == l.Account && wordOf(x.fields["storeCode"]) == code {
			r := invalidArgument(ruleStoreCode, "store_code", "Another location of the account has this store code.")
			return &r
		}
	}
	return nil
}

var phoneForm = regexp.MustCompile(`^\+?[0-9(][0-9 ()./-]*[0-9]$`)

func checkPhones(v json.RawMessage) *reply {
	if v == nil {
		return nil
	}
	var p struct {
		PrimaryPhone     string   `json:"primaryPhone"`
		AdditionalPhones []string `json:"additionalPhones"`
	}
	_ = json.Unmarshal(v, &p) // the shape was checked
	if p.PrimaryPhone == "" {
		return storeFault(rulePhonePrimary, "MISSING_PRIMARY_PHONE_NUMBER", "phone_numbers.primary_phone", "A primary phone number is required.")
	}
	if len(p.AdditionalPhones) > 2 {
		return storeFault(rulePhoneCount, "TOO_MANY_ENTRIES", "phone_numbers.additional_phones", "At most 2 additional phone numbers are allowed.")
	}
	for i, n := range append([]string{p.PrimaryPhone}, p.AdditionalPhones...) {
		if d := len(digitsOf(n)); !phoneForm.MatchString(n) || d < 5 || d > 15 {
			field := "phone_numbers.primary_phone"
			if i > 0 {
				field = "phone_numbers.additional_phones"
			}
			return storeFault(rulePhoneValue, "INVALID_PHONE_NUMBER", field, "The phone number is invalid.")
		}
	}
	return nil
}

func checkWebsite(v json.RawMessage) *reply {
	if v == nil {
		return nil
	}
	if _, ok := webURL(wordOf(v)); !ok {
		r := invalidArgument(ruleWebsite, "website_uri", "Invalid URL.")
		return &r
	}
	return nil
}

var gcid = regexp.MustCompile(`^categories/gcid:[a-z0-9_]+$`)

func checkCategories(v json.RawMessage) *reply {
	names := categoryNames(v)
	if len(names) > 10 {
		return storeFault(ruleCategoryCount, "TOO_MANY_ENTRIES", "categories.additional_categories", "At most 9 additional categories are allowed.")
	}
	for i, n := range names {
		if !gcid.MatchString(n) || slices.Contains(names[:i], n) {
			return storeFault(ruleCategory, "INVALID_CATEGORY", "categories", "Invalid category.")
		}
	}
	return nil
}

// categoryNames are the names of a Categories message, the primary's first ("" when it is absent).
func categoryNames(v json.RawMessage) []string {
	type category struct {
		Name string `json:"name"`
	}
	var g struct {
		PrimaryCategory      category   `json:"primaryCategory"`
		AdditionalCategories []category `json:"additionalCategories"`
	}
	_ = json.Unmarshal(v, &g) // absent is empty
	out := []string{g.PrimaryCategory.Name}
	for _, x := range g.AdditionalCategories {
		out = append(out, x.Name)
	}
	return out
}

type weekPeriod struct {
	OpenDay   string     `json:"openDay"`
	OpenTime  *timeOfDay `json:"openTime"`
	CloseDay  string     `json:"closeDay"`
	CloseTime *timeOfDay `json:"closeTime"`
}

// clock is a time of day in minutes; an absent one is midnight.
func (t *timeOfDay) clock() (int, bool) {
	if t == nil {
		return 0, true
	}
	n := t.Hours*60 + t.Minutes
	return n, t.Hours >= 0 && t.Minutes >= 0 && t.Minutes < 60 && n <= 24*60 && t.Seconds >= 0 && t.Seconds < 60 && t.Nanos >= 0
}

func checkRegular(v json.RawMessage) *reply {
	var h struct {
		Periods []weekPeriod `json:"periods"`
	}
	_ = json.Unmarshal(v, &h) // absent is empty
	return checkWeek("regular_hours", h.Periods)
}

// checkWeek judges the periods of a week, each as a span of minutes from Monday 0:00.
func checkWeek(field string, list []weekPeriod) *reply {
	const day, week = 24 * 60, 7 * 24 * 60
	days := []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"}
	type span struct{ from, to int }
	var spans []span
	for _, p := range list {
		from, to := slices.Index(days, p.OpenDay), slices.Index(days, p.CloseDay)
		open, ok1 := p.OpenTime.clock()
		shut, ok2 := p.CloseTime.clock()
		if from < 0 || to < 0 || !ok1 || !ok2 {
			return storeFault(ruleHoursValue, "INVALID_HOURS_VALUE", field, "Days must be named and times be between 00:00 and 24:00.")
		}
		s := span{from*day + open, to*day + shut}
		if to < from {
			s.to += week
		}
		if s.to <= s.from {
			return storeFault(ruleHoursSchedule, "INVALID_TIME_SCHEDULE", field, "A period must close after it opens.")
		}
		for _, other := range spans {
			for _, shift := range []int{-week, 0, week} {
				if s.from < other.to+shift && other.from+shift < s.to {
					return storeFault(ruleHoursSchedule, "INVALID_TIME_SCHEDULE", field, "Periods must not overlap.")
				}
			}
		}
		spans = append(spans, s)
	}
	return nil
}

// instant is a calendar day, if it exists.
func (d date) instant() (time.Time, bool) {
	t := time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, time.UTC)
	return t, d.Year > 0 && t.Year() == d.Year && int(t.Month()) == d.Month && t.Day() == d.Day
}

func checkSpecial(v json.RawMessage) *reply {
	var h struct {
		SpecialHourPeriods []struct {
			StartDate *date      `json:"startDate"`
			OpenTime  *timeOfDay `json:"openTime"`
			EndDate   *date      `json:"endDate"`
			CloseTime *timeOfDay `json:"closeTime"`
			Closed    bool       `json:"closed"`
		} `json:"specialHourPeriods"`
	}
	_ = json.Unmarshal(v, &h) // absent is empty
	type span struct {
		from, to time.Time
		day      time.Time
		closed   bool
	}
	wrong := func() *reply {
		return storeFault(ruleSpecialValue, "INVALID_HOURS_VALUE", "special_hours", "Invalid special hours.")
	}
	var spans []span
	for _, p := range h.SpecialHourPeriods {
		if p.StartDate == nil {
			return wrong()
		}
		start, ok := p.StartDate.instant()
		if !ok {
			return wrong()
		}
		s := span{from: start, to: start.AddDate(0, 0, 1), day: start, closed: p.Closed}
		if !p.Closed {
			end := start
			if p.EndDate != nil {
				if end, ok = p.EndDate.instant(); !ok {
					return wrong()
				}
			}
			open, ok1 := p.OpenTime.clock()
			shut, ok2 := p.CloseTime.clock()
			if p.OpenTime == nil || p.CloseTime == nil || !ok1 || !ok2 || end.Before(start) || end.Sub(start) > 24*time.Hour || end.After(start) && shut > 11*60+59 {
				return wrong()
			}
			s.from, s.to = start.Add(time.Duration(open)*time.Minute), end.Add(time.Duration(shut)*time.Minute)
			wholeDay := open == 0 && shut == 24*60 && end.Equal(start)
			if !s.to.After(s.from) || s.to.Sub(s.from) >= 24*time.Hour && !wholeDay {
				return wrong()
			}
		}
		for _, other := range spans {
			beside := s.closed || other.closed
			if beside && s.day.Equal(other.day) || !beside && s.from.Before(other.to) && other.from.Before(s.to) {
				return storeFault(ruleSpecialOverlap, "OVERLAPPED_SPECIAL_HOURS", "special_hours", "Special hours must not overlap.")
			}
		}
		spans = append(spans, s)
	}
	return nil
}

func checkMore(v, categories json.RawMessage) *reply {
	var list []struct {
		HoursTypeID string       `json:"hoursTypeId"`
		Periods     []weekPeriod `json:"periods"`
	}
	_ = json.Unmarshal(v, &list) // absent is empty
	types := hoursTypesOf(categoryNames(categories))
	for _, m := range list {
		if m.HoursTypeID == "" || types != nil && !slices.Contains(types, m.HoursTypeID) {
			return storeFault(ruleMoreHoursType, "INCOMPATIBLE_MORE_HOURS_TYPE_FOR_CATEGORY", "more_hours", "The category does not have this type of more hours.")
		}
		if refusal := checkWeek("more_hours", m.Periods); refusal != nil {
			return refusal
		}
	}
	return nil
}

func checkLabels(v json.RawMessage) *reply {
	var list []string
	_ = json.Unmarshal(v, &list) // absent is none
	for _, s := range list {
		switch n := utf8.RuneCountInString(s); {
		case n == 0:
			return storeFault(ruleLabels, "STRING_TOO_SHORT", "labels", "A label must have at least 1 character.")
		case n > 255:
			return storeFault(ruleLabels, "STRING_TOO_LONG", "labels", "A label must have at most 255 characters.")
		}
	}
	return nil
}

func (c *call) checkOpenInfo(v, old json.RawMessage) *reply {
	type info struct {
		Status      string `json:"status"`
		CanReopen   bool   `json:"canReopen"`
		OpeningDate *date  `json:"openingDate"`
	}
	var is, was info
	_ = json.Unmarshal(v, &is)    // absent is empty
	_ = json.Unmarshal(old, &was) // absent is empty
	const closed = "CLOSED_PERMANENTLY"
	switch {
	case is.Status == "" || is.Status == "OPEN_FOR_BUSINESS_UNSPECIFIED":
		return storeFault(ruleOpenStatus, "REQUIRED_FIELD_MISSING_VALUE", "open_info.status", "A status is required.")
	case was.Status == closed && is.Status != closed && !was.CanReopen:
		return storeFault(ruleReopen, "CANNOT_REOPEN", "open_info.status", "The location cannot be reopened.")
	case is.OpeningDate == nil:
		return nil
	}
	const field = "open_info.opening_date"
	d := *is.OpeningDate
	if d.Year == 0 || d.Month == 0 {
		return storeFault(ruleOpeningParts, "OPENING_DATE_MISSING_YEAR_OR_MONTH", field, "Year and month are required.")
	}
	d.Day = max(d.Day, 1)
	t, ok := d.instant()
	switch {
	case !ok:
		return storeFault(ruleOpeningValue, "INVALID_BUSINESS_OPENING_DATE", field, "The opening date is invalid.")
	case t.After(c.now.AddDate(1, 0, 1)): // a day of grace for time zones
		return storeFault(ruleOpeningFar, "OPENING_DATE_TOO_FAR_IN_THE_FUTURE", field, "The opening date is too far in the future.")
	}
	return nil
}

var descriptionURL = regexp.MustCompile(`(?i)https?://|\bwww\.|\b[a-z0-9-]+\.(?:com|net|org|jp|example|info|biz|io|shop)\b`)

func checkProfile(v json.RawMessage) *reply {
	if v == nil {
		return nil
	}
	var p struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(v, &p) // the shape was checked
	const field = "profile.description"
	switch {
	case strings.TrimSpace(p.Description) == "":
		return storeFault(ruleDescription, "REQUIRED_FIELD_MISSING_VALUE", field, "A description is required.")
	case utf8.RuneCountInString(p.Description) > 750:
		return storeFault(ruleDescriptionLen, "STRING_TOO_LONG", field, "The description is too long.")
	case descriptionURL.MatchString(p.Description):
		return storeFault(ruleDescriptionURL, "PROFILE_DESCRIPTION_CONTAINS_URL", field, "The description must not contain URLs.")
	}
	return nil
}

// checkStore reports mistakes of a seed in what is not a v1 field.
func (l Location) checkStore() error {
	for name, raw := range map[string]json.RawMessage{"attributes": l.Attributes, "voice_of_merchant": l.VoiceOfMerchant} {
		if len(raw) > 0 && !json.Valid(raw) {
			return notJSONError(name)
		}
	}
	var list []json.RawMessage
	if len(l.Attributes) > 0 && json.Unmarshal(l.Attributes, &list) != nil {
		return notJSONError("attributes")
	}
	return nil
}

type notJSONError string

func (e notJSONError) Error() string { return string(e) + " is not JSON of its kind" }
