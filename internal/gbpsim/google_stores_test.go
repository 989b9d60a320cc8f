package gbpsim_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/api/businessprofileperformance/v1"
	"google.golang.org/api/googleapi"
	info "google.golang.org/api/mybusinessbusinessinformation/v1"
	"google.golang.org/api/mybusinessverifications/v1"
	"google.golang.org/api/option"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// Google's own packages talk to every v1 route about store data.
func TestGoogleStorePackages(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t, gbpsim.Options{Strict: true}), t.Context()
	name, tokens := string(b.store[0]), b.tokens(ctx)
	svc := must(info.NewService(ctx, option.WithEndpoint(b.base+"/"+v1Host+"/"), option.WithTokenSource(tokens)))

	// An opening time of 00:00 is sent as {}: the packages leave zeros out.
	week := &info.BusinessHours{Periods: []*info.TimePeriod{{OpenDay: "MONDAY", OpenTime: &info.TimeOfDay{}, CloseDay: "MONDAY", CloseTime: &info.TimeOfDay{Hours: 24}}}}
	got, err := svc.Locations.Patch(name, &info.Location{RegularHours: week, Labels: []string{"a"}}).UpdateMask("regularHours,labels,websiteUri").Do()
	if err != nil || got.Name != name || got.WebsiteUri != "" || len(got.RegularHours.Periods) != 1 || got.RegularHours.Periods[0].CloseTime.Hours != 24 || got.RegularHours.Periods[0].OpenTime == nil {
		t.Fatalf("%+v %v", got, err)
	}
	if e := b.last(); !strings.Contains(e.Body, `"openTime":{}`) || !e.Effect {
		t.Errorf("journal %+v", e)
	}
	if empty, err := svc.Locations.Patch(name, &info.Location{Title: "x"}).UpdateMask("title").ValidateOnly(true).Do(); err != nil || empty.Title != "" || b.last().Effect {
		t.Errorf("validateOnly: %+v %v", empty, err)
	}
	_, err = svc.Locations.Patch(name, &info.Location{Profile: &info.Profile{Description: "https://a.example"}}).UpdateMask("profile").Do()
	var bad *googleapi.Error
	if !errors.As(err, &bad) || bad.Code != 400 || !strings.Contains(bad.Body, "PROFILE_DESCRIPTION_CONTAINS_URL") {
		t.Errorf("refusal: %v", err)
	}
	updated := must(svc.Locations.GetGoogleUpdated(name).ReadMask("title,regularHours").Do())
	if updated.DiffMask != "" || updated.Location.Title != "こもれび珈琲 渋谷店" {
		t.Errorf("google updated: %+v", updated)
	}
	if found := must(svc.Accounts.Locations.List("accounts/-").ReadMask("name").Filter(`storeCode="GINZA001"`).Do()); found.TotalSize != 1 || len(found.Locations) != 1 {
		t.Errorf("filter: %+v", found)
	}

	_, err = svc.Locations.UpdateAttributes(name+"/attributes", &info.Attributes{Name: name + "/attributes", Attributes: []*info.Attribute{
		{Name: "attributes/has_delivery", Values: []any{false}},
		{Name: "attributes/pay_credit_card_types_accepted", RepeatedEnumValue: &info.RepeatedEnumAttributeValue{SetValues: []string{"visa"}, UnsetValues: []string{"jcb"}}},
		{Name: "attributes/url_menu", UriValues: []*info.UriAttributeValue{{Uri: "https://a.example/menu"}}},
	}}).AttributeMask("attributes/has_delivery,attributes/pay_credit_card_types_accepted,attributes/url_menu").Do()
	if err != nil {
		t.Fatal(err)
	}
	if a := must(svc.Locations.GetAttributes(name + "/attributes").Do()); len(a.Attributes) != 3 || a.Attributes[0].Values[0] != false || a.Attributes[1].RepeatedEnumValue.UnsetValues[0] != "jcb" || a.Attributes[2].ValueType != "URL" {
		t.Errorf("attributes: %+v", a)
	}
	kinds := 0
	if err := svc.Attributes.List().Parent(name).PageSize(3).Pages(ctx, func(r *info.ListAttributeMetadataResponse) error {
		kinds += len(r.AttributeMetadata)
		return nil
	}); err != nil || kinds != 8 {
		t.Errorf("%d kinds of attributes, %v", kinds, err)
	}
	full := must(svc.Categories.BatchGet().Names("categories/gcid:cafe", "categories/gcid:unknown").LanguageCode("en").RegionCode("JP").View("FULL").Do())
	if len(full.Categories) != 1 || full.Categories[0].DisplayName != "Cafe" || len(full.Categories[0].MoreHoursTypes) < 5 {
		t.Errorf("categories: %+v", full)
	}
	if list := must(svc.Categories.List().RegionCode("JP").LanguageCode("ja").View("BASIC").Filter("displayName=ラーメン").Do()); len(list.Categories) != 1 || len(list.Categories[0].MoreHoursTypes) != 0 {
		t.Errorf("categories: %+v", list)
	}

	verify := must(mybusinessverifications.NewService(ctx, option.WithEndpoint(b.base+"/"+verifyHost+"/"), option.WithTokenSource(tokens)))
	if v := must(verify.Locations.GetVoiceOfMerchantState(name).Do()); !v.HasVoiceOfMerchant || !v.HasBusinessAuthority {
		t.Errorf("voice of merchant: %+v", v)
	}
	perf := must(businessprofileperformance.NewService(ctx, option.WithEndpoint(b.base+"/"+metricsHost+"/"), option.WithTokenSource(tokens)))
	data := must(perf.Locations.FetchMultiDailyMetricsTimeSeries(name).DailyMetrics("CALL_CLICKS", "WEBSITE_CLICKS").
		DailyRangeStartDateYear(2026).DailyRangeStartDateMonth(10).DailyRangeStartDateDay(31).DailyRangeEndDateYear(2026).DailyRangeEndDateMonth(11).DailyRangeEndDateDay(2).Do())
	series := data.MultiDailyMetricTimeSeries[0].DailyMetricTimeSeries
	if len(series) != 2 || len(series[1].TimeSeries.DatedValues) != 3 || series[0].DailyMetric != "CALL_CLICKS" || series[0].TimeSeries.DatedValues[2].Date.Month != 11 {
		t.Errorf("metrics: %+v", series)
	}
}
