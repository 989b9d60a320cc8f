package gbpapi

import (
	"context"

	"google.golang.org/api/businessprofileperformance/v1"
	"google.golang.org/api/mybusinessverifications/v1"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// Why a location has no voice of merchant; Google's set is open, and "" is no reason given.
const (
	VoiceWait       = "wait"
	VoiceVerify     = "verify"
	VoiceOwnership  = "ownership_conflict"
	VoiceGuidelines = "guidelines"
)

// VoiceOfMerchant tells whether edits of a location reach the public.
type VoiceOfMerchant struct {
	Has bool
	// Authority: the merchant may act for the business, even while it has no voice.
	Authority bool
	// Reason is one of the constants above; Detail is Google's word with it, such as BUSINESS_LOCATION_SUSPENDED.
	Reason string
	Detail string
}

// GetVoiceOfMerchant reads the state of one location, with the reason where it has no voice. No tool calls it yet: lists of
// locations say whether there is one (metadata.hasVoiceOfMerchant), and not why not.
func (c *Client) GetVoiceOfMerchant(ctx context.Context, ref Ref, name gbp.LocationName) (VoiceOfMerchant, error) {
	k := call{name: "locations.getVoiceOfMerchantState", ref: ref}
	if failed := k.location(name); failed != nil {
		return VoiceOfMerchant{}, failed
	}
	s, err := mybusinessverifications.NewService(ctx, c.options(k, endpoint.Verifications)...)
	if err != nil {
		return VoiceOfMerchant{}, k.fail(Operator, errs.Internal, "making the client", nil)
	}
	s.UserAgent = c.userAgent
	v, err := s.Locations.GetVoiceOfMerchantState(string(name)).Context(ctx).Do()
	if err != nil {
		return VoiceOfMerchant{}, k.generatedError(ctx, err)
	}
	out := VoiceOfMerchant{Has: v.HasVoiceOfMerchant, Authority: v.HasBusinessAuthority}
	switch {
	case v.ComplyWithGuidelines != nil:
		out.Reason, out.Detail = VoiceGuidelines, safeWord(v.ComplyWithGuidelines.RecommendationReason)
	case v.ResolveOwnershipConflict != nil:
		out.Reason = VoiceOwnership
	case v.Verify != nil:
		out.Reason = VoiceVerify
	case v.WaitForVoiceOfMerchant != nil:
		out.Reason = VoiceWait
	}
	return out, nil
}

// categoryBatch bounds one question for categories; a location has at most ten.
const categoryBatch = 20

// Category is an entry of Google's catalogue.
type Category struct {
	Name        string
	DisplayName string
	// HoursTypes are the kinds of more hours that it has.
	HoursTypes []string
}

// BatchGetCategories reads categories ("categories/gcid:cafe", at most 20) with their kinds of more hours, in a language (BCP 47)
// and for a region ("JP"; "" for none). Google leaves out what it does not know. No tool calls it yet; see profile.Context for
// what would become of the kinds of hours.
func (c *Client) BatchGetCategories(ctx context.Context, ref Ref, names []string, region, language string) ([]Category, error) {
	k := call{name: "categories.batchGet", ref: ref}
	if len(names) == 0 || len(names) > categoryBatch || language == "" {
		return nil, k.fail(Refused, errs.Internal, "1 to 20 names and a language are needed", nil)
	}
	s, err := c.locationsService(ctx, k)
	if err != nil {
		return nil, err
	}
	q := s.Categories.BatchGet().Names(names...).LanguageCode(language).View("FULL").Context(ctx)
	if region != "" {
		q.RegionCode(region)
	}
	page, err := q.Do()
	if err != nil {
		return nil, k.generatedError(ctx, err)
	}
	var out []Category
	for _, x := range page.Categories {
		if x == nil {
			continue
		}
		n := Category{Name: x.Name, DisplayName: x.DisplayName, HoursTypes: []string{}}
		for _, h := range x.MoreHoursTypes {
			if h != nil {
				n.HoursTypes = append(n.HoursTypes, h.HoursTypeId)
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// metricDays bounds one question for figures: Google keeps eighteen months.
const metricDays = 600

// Day is a calendar day.
type Day struct{ Year, Month, Day int }

// Figure is one day's count. Google leaves zeros out and has no figures yet for the last days; both read as 0.
type Figure struct {
	Day   Day
	Count int64
}

// MetricSeries are the figures of one metric, by day.
type MetricSeries struct {
	Metric  string
	Figures []Figure
}

// FetchDailyMetrics reads metrics (DailyMetric of the Performance API, such as CALL_CLICKS) of a location from one day to another,
// both included.
func (c *Client) FetchDailyMetrics(ctx context.Context, ref Ref, name gbp.LocationName, metrics []string, from, to Day) ([]MetricSeries, error) {
	k := call{name: "locations.fetchMultiDailyMetricsTimeSeries", ref: ref}
	if failed := k.location(name); failed != nil {
		return nil, failed
	}
	if n := to.number() - from.number() + 1; len(metrics) == 0 || n < 1 || n > metricDays {
		return nil, k.fail(Refused, errs.Internal, "metrics and 1 to 600 days are needed", nil)
	}
	s, err := businessprofileperformance.NewService(ctx, c.options(k, endpoint.Performance)...)
	if err != nil {
		return nil, k.fail(Operator, errs.Internal, "making the client", nil)
	}
	s.UserAgent = c.userAgent
	data, err := s.Locations.FetchMultiDailyMetricsTimeSeries(string(name)).DailyMetrics(metrics...).
		DailyRangeStartDateYear(int64(from.Year)).DailyRangeStartDateMonth(int64(from.Month)).DailyRangeStartDateDay(int64(from.Day)).
		DailyRangeEndDateYear(int64(to.Year)).DailyRangeEndDateMonth(int64(to.Month)).DailyRangeEndDateDay(int64(to.Day)).Context(ctx).Do()
	if err != nil {
		return nil, k.generatedError(ctx, err)
	}
	var out []MetricSeries
	for _, multi := range data.MultiDailyMetricTimeSeries {
		if multi == nil {
			continue
		}
		for _, m := range multi.DailyMetricTimeSeries {
			if m != nil {
				out = append(out, MetricSeries{m.DailyMetric, figures(m.TimeSeries)})
			}
		}
	}
	return out, nil
}

func figures(s *businessprofileperformance.TimeSeries) []Figure {
	if s == nil {
		return nil
	}
	var out []Figure
	for _, v := range s.DatedValues {
		if v != nil && v.Date != nil {
			out = append(out, Figure{Day{int(v.Date.Year), int(v.Date.Month), int(v.Date.Day)}, v.Value})
		}
	}
	return out
}
