package gbp

// ReportQuery asks for a store's figures: metrics of Google's Performance API by day, both ends included (YYYY-MM-DD).
type ReportQuery struct {
	Metrics []string `json:"metrics"`
	From    string   `json:"from"`
	To      string   `json:"to"`
}

// ReportFigures are a store's figures as they are kept.
type ReportFigures struct {
	Series []MetricSeries `json:"series"`
}

// MetricSeries are the figures of one metric. Days without a figure are left out: zero, or not known yet.
type MetricSeries struct {
	Metric string     `json:"metric"`
	Days   []DayCount `json:"days"`
}

// DayCount is one day's figure.
type DayCount struct {
	Date  string `json:"date"`
	Count int64  `json:"count"`
}

// DailyMetrics are the metrics that Google has by day (discovery document of Performance v1, 2026-10-26). Google has none by
// post.
func DailyMetrics() []string {
	return []string{
		"BUSINESS_IMPRESSIONS_DESKTOP_MAPS", "BUSINESS_IMPRESSIONS_DESKTOP_SEARCH", "BUSINESS_IMPRESSIONS_MOBILE_MAPS", "BUSINESS_IMPRESSIONS_MOBILE_SEARCH",
		"BUSINESS_CONVERSATIONS", "BUSINESS_DIRECTION_REQUESTS", "CALL_CLICKS", "WEBSITE_CLICKS", "MESSAGING_CLICKS", "BUSINESS_BOOKINGS", "BUSINESS_FOOD_ORDERS", "BUSINESS_FOOD_MENU_CLICKS",
	}
}
