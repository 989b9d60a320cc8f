package gbpapi

// storeArgument is our name for a field of Google's Location or Attributes: "regularHours.periods" and
// "location.open_info.opening_date" become "changes.regular_hours" and "changes.opening_date". Unknown ones have "".
func storeArgument(field string) string { return argumentIn(storeArguments, field, "location.") }

// storeArguments is keyed by Google's snake_case paths.
var storeArguments = map[string]string{
	"title":                            "changes.title",
	"store_code":                       "changes.store_code",
	"phone_numbers":                    "changes.phone_numbers",
	"phone_numbers.primary_phone":      "changes.phone_numbers.primary",
	"phone_numbers.additional_phones":  "changes.phone_numbers.additional",
	"categories":                       "changes.categories",
	"categories.primary_category":      "changes.categories.primary",
	"categories.additional_categories": "changes.categories.additional",
	"website_uri":                      "changes.website_url",
	"regular_hours":                    "changes.regular_hours",
	"special_hours":                    "changes.special_hours",
	"more_hours":                       "changes.more_hours",
	"labels":                           "changes.labels",
	"open_info":                        "changes.open_status",
	"open_info.opening_date":           "changes.opening_date",
	"profile":                          "changes.description",
	"attributes":                       "changes.attributes",
}
