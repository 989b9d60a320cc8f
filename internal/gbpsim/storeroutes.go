package gbpsim

import "net/http"

// Google's hosts for store data beside Business Information.
const (
	hostVerifications = "mybusinessverifications.googleapis.com"
	hostPerformance   = "businessprofileperformance.googleapis.com"
)

// The simulated methods about store data.
const (
	RouteLocationsPatch            Route = "locations.patch"
	RouteLocationsGetGoogleUpdated Route = "locations.getGoogleUpdated"
	RouteLocationsGetAttributes    Route = "locations.getAttributes"
	RouteLocationsUpdateAttributes Route = "locations.updateAttributes"
	RouteAttributesList            Route = "attributes.list"
	RouteCategoriesList            Route = "categories.list"
	RouteCategoriesBatchGet        Route = "categories.batchGet"
	RouteVoiceOfMerchant           Route = "locations.getVoiceOfMerchantState"
	RouteDailyMetrics              Route = "locations.fetchMultiDailyMetricsTimeSeries"
)

// storeRoutes are the methods about store data; their paths and parameters are those of the discovery documents (2026-10-26).
func storeRoutes() []*route {
	const one = "v1/locations/*"
	var daily []string
	for _, end := range []string{"startDate", "endDate"} {
		for _, part := range []string{"year", "month", "day"} {
			daily = append(daily, "dailyRange."+end+"."+part)
		}
	}
	return []*route{
		{name: RouteLocationsPatch, host: hostInformation, method: http.MethodPatch, pattern: one, parameters: []string{"updateMask", "validateOnly"}, write: true, handle: (*call).patchLocation},
		{name: RouteLocationsGetGoogleUpdated, host: hostInformation, method: http.MethodGet, pattern: one + ":getGoogleUpdated", parameters: []string{"readMask"}, handle: (*call).googleUpdated},
		{name: RouteLocationsGetAttributes, host: hostInformation, method: http.MethodGet, pattern: one + "/attributes", handle: (*call).getAttributes},
		{name: RouteLocationsUpdateAttributes, host: hostInformation, method: http.MethodPatch, pattern: one + "/attributes", parameters: []string{"attributeMask"}, write: true, handle: (*call).updateAttributes},
		{name: RouteAttributesList, host: hostInformation, method: http.MethodGet, pattern: "v1/attributes", parameters: []string{"parent", "categoryName", "regionCode", "languageCode", "showAll", "pageSize", "pageToken"}, handle: (*call).listAttributes},
		{name: RouteCategoriesList, host: hostInformation, method: http.MethodGet, pattern: "v1/categories", parameters: []string{"regionCode", "languageCode", "filter", "view", "pageSize", "pageToken"}, handle: (*call).listCategories},
		{name: RouteCategoriesBatchGet, host: hostInformation, method: http.MethodGet, pattern: "v1/categories:batchGet", parameters: []string{"names", "regionCode", "languageCode", "view"}, handle: (*call).batchGetCategories},
		{name: RouteVoiceOfMerchant, host: hostVerifications, method: http.MethodGet, pattern: one + "/VoiceOfMerchantState", handle: (*call).voiceOfMerchant},
		{name: RouteDailyMetrics, host: hostPerformance, method: http.MethodGet, pattern: one + ":fetchMultiDailyMetricsTimeSeries", parameters: append([]string{"dailyMetrics"}, daily...), handle: (*call).dailyMetrics},
	}
}
