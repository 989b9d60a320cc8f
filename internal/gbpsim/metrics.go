package gbpsim

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

// voiceOfMerchant is GET /v1/locations/{l}/VoiceOfMerchantState.
func (c *call) voiceOfMerchant() (reply, effect) {
	l, refusal := c.findStore()
	if refusal != nil {
		return *refusal, nil
	}
	if len(l.VoiceOfMerchant) > 0 {
		return answer(l.VoiceOfMerchant), nil
	}
	if l.voice() {
		return answer(json.RawMessage(`{"hasVoiceOfMerchant":true,"hasBusinessAuthority":true}`)), nil
	}
	return answer(json.RawMessage(`{"verify":{}}`)), nil
}

// dailyMetricNames are the values of DailyMetric in the discovery document (2026-10-26).
func dailyMetricNames() []string {
	return []string{
		"BUSINESS_IMPRESSIONS_DESKTOP_MAPS", "BUSINESS_IMPRESSIONS_DESKTOP_SEARCH", "BUSINESS_IMPRESSIONS_MOBILE_MAPS", "BUSINESS_IMPRESSIONS_MOBILE_SEARCH",
		"BUSINESS_CONVERSATIONS", "BUSINESS_DIRECTION_REQUESTS", "CALL_CLICKS", "WEBSITE_CLICKS", "MESSAGING_CLICKS", "BUSINESS_BOOKINGS",
		"BUSINESS_FOOD_ORDERS", "BUSINESS_FOOD_MENU_CLICKS",
	}
}

type wireDatedValue struct {
	Date  date   `json:"date"`
	Value string `json:"value,omitempty"`
}

type wireTimeSeries struct {
	DatedValues []wireDatedValue `json:"datedValues,omitempty"`
}

type wireMetricSeries struct {
	DailyMetric string         `json:"dailyMetric"`
	TimeSeries  wireTimeSeries `json:"timeSeries"`
}

type wireMultiSeries struct {
	DailyMetricTimeSeries []wireMetricSeries `json:"dailyMetricTimeSeries"`
}

// dailyMetrics is GET /v1/locations/{l}:fetchMultiDailyMetricsTimeSeries.
func (c *call) dailyMetrics() (reply, effect) {
	metrics := slices.Concat(c.query["dailyMetrics"], c.query["daily_metrics"])
	if len(metrics) == 0 {
		return invalidArgument(ruleMetrics, "daily_metrics", "daily_metrics is required"), nil
	}
	for _, m := range metrics {
		if !slices.Contains(dailyMetricNames(), m) {
			return badRequest(ruleMetrics, "daily_metrics", `Invalid value at 'daily_metrics', "`+m+`"`), nil
		}
	}
	from, ok1 := c.day("startDate")
	to, ok2 := c.day("endDate")
	if !ok1 || !ok2 || to.Before(from) {
		return invalidArgument(ruleMetricsRange, "daily_range", "daily_range is invalid"), nil
	}
	l, refusal := c.findStore()
	if refusal != nil {
		return *refusal, nil
	}
	known := c.now.UTC().AddDate(0, 0, -2)
	var multi wireMultiSeries
	for _, m := range metrics {
		s := wireMetricSeries{DailyMetric: m}
		for d := from; !d.After(to); d = d.AddDate(0, 0, 1) {
			v := wireDatedValue{Date: date{d.Year(), int(d.Month()), d.Day()}}
			if !d.After(known) {
				if n := figure(l.Name, m, d); n > 0 {
					v.Value = strconv.FormatUint(n, 10)
				}
			}
			s.TimeSeries.DatedValues = append(s.TimeSeries.DatedValues, v)
			if len(s.TimeSeries.DatedValues) > 1000 {
				return invalidArgument(ruleMetricsRange, "daily_range", "daily_range is too long"), nil
			}
		}
		multi.DailyMetricTimeSeries = append(multi.DailyMetricTimeSeries, s)
	}
	return answer(struct {
		MultiDailyMetricTimeSeries []wireMultiSeries `json:"multiDailyMetricTimeSeries"`
	}{[]wireMultiSeries{multi}}), nil
}

// day reads a date of dailyRange.
func (c *call) day(which string) (time.Time, bool) {
	var d date
	for part, into := range map[string]*int{"year": &d.Year, "month": &d.Month, "day": &d.Day} {
		n, err := strconv.Atoi(c.parameter("dailyRange." + which + "." + part))
		if err != nil {
			return time.Time{}, false
		}
		*into = n
	}
	return d.instant()
}

// figure is a made-up count that never changes; zero, which proto3 leaves out, is among them.
func figure(l LocationName, metric string, day time.Time) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(l) + metric + day.Format(time.DateOnly))) // never fails
	return h.Sum64() % 40
}
