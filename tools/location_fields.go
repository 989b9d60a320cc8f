package tools

import (
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// Bounds of what one change may name. They are ours, above everything that a store has.
const (
	hoursMost  = 70
	datesMost  = 400
	kindsMost  = 20
	labelsMost = profile.LabelsMax
)

// listChange declares a change of a list. It is one object with the operations as members, because strict clients and some model
// APIs take no alternatives; an array in its place is read as plain. keyed says what names an entry: of a keyed list, change
// replaces the entries that it names and leaves the others.
func listChange(name, what, keyed, plain string, entry, key schema.Field, most int) schema.Field {
	var ops []schema.Field
	if keyed != "" {
		ops = append(ops, schema.List("change", "Replaces what is there for each "+keyed+" named here; every other one stays.", entry, schema.MaxItems(most)))
	}
	ops = append(ops,
		schema.List("set", "Replaces all of it with this; stands alone.", entry, schema.MaxItems(most)),
		schema.List("add", "Added to what is there.", entry, schema.MaxItems(most)),
		schema.List("remove", "Taken away.", key, schema.MaxItems(most)),
	)
	return schema.Nested(name, what+" A plain array is taken as "+plain+".", schema.Object{Fields: ops}, schema.Shorthand(plain))
}

// changesObject are the fields that location.update can change, in the order of the contract.
func changesObject() schema.Object {
	phone := schema.String("", "One number.", schema.MaxLength(40), schema.Example("+81 3-1234-5678"))
	category := schema.String("", "Google's id of a category.", schema.MaxLength(120), schema.Example("gcid:cafe"))
	label := schema.Text("", "One label.", schema.MaxLength(profile.LabelMax), schema.SingleLine())
	day := schema.Enum("", "A day.", days())
	return schema.Object{
		Fields: []schema.Field{
			schema.Text("title", "Name of the store as in the real world. A change needs a person's confirmation and may make Google ask for verification again.", schema.MaxLength(profile.TitleMax), schema.SingleLine(), schema.Example("こもれび珈琲 渋谷店")),
			schema.Nested("phone_numbers", "Phone numbers; a part that is left out stays.", schema.Object{Fields: []schema.Field{
				schema.String("primary", "The number that callers dial.", schema.MaxLength(40), schema.Example("+81 3-1234-5678")),
				listChange("additional", "Further numbers, at most 2 in all.", "", "set", phone, phone, 10),
			}}),
			schema.URL("website_url", "Address of the website, http or https; may hold {{location.…}} variables.", schema.Templated(), schema.Example("https://komorebi-coffee.example/stores/shibuya001")),
			listChange("regular_hours", "Opening hours of the week, one entry per period.", "day", "change", weekHours(), day, hoursMost),
			listChange("special_hours", "Hours of single dates, such as holidays, one entry per period; needs regular hours.", "date", "change", dateHours(),
				schema.Date("", "A date, YYYY-MM-DD.", schema.Example("2026-12-31")), datesMost),
			listChange("more_hours", "Hours of kinds of service, such as delivery.", "hours_type", "change", schema.Nested("", "One kind's hours.", schema.Object{Fields: []schema.Field{
				schema.String("hours_type", "Google's id of the kind.", schema.Required(), schema.MaxLength(64), schema.Example("DELIVERY")),
				schema.List("hours", "Periods; days that are not named stay.", weekHours(), schema.Required(), schema.MaxItems(hoursMost)),
			}}), schema.String("", "Google's id of a kind.", schema.MaxLength(64), schema.Example("DELIVERY")), kindsMost),
			schema.Text("description", "Text about the store, at most 750 characters after variables are filled in; no URLs, no promotions.", schema.MaxLength(profile.DescriptionMax), schema.Templated(), schema.Example("自家焙煎のコーヒーと焼きたてのスコーンの店です。")),
			schema.Nested("categories", "Categories; a part that is left out stays. A change needs a person's confirmation.", schema.Object{Fields: []schema.Field{
				schema.String("primary", "Google's id of the main category.", schema.MaxLength(120), schema.Example("gcid:cafe")),
				listChange("additional", "Further categories, at most 9 in all.", "", "set", category, category, 20),
			}}),
			schema.Enum("open_status", "Whether the business is open at all. A change needs a person's confirmation; for single days use special_hours.", profile.OpenStatuses()),
			schema.String("opening_date", "First day of business, YYYY-MM-DD or YYYY-MM, at most one year ahead.", schema.MaxLength(10), schema.Pattern(`^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$`), schema.Example("2026-12-01")),
			listChange("labels", "Private labels; the public never sees them.", "", "set", label, label, labelsMost),
			schema.Text("store_code", "The chain's own code, unique within the Google account.", schema.MaxLength(profile.StoreCodeMax), schema.SingleLine(), schema.Example("SHIBUYA001")),
			listChange("attributes", "Properties of the store, by Google's ids.", "name", "change", attributeEntry(), schema.String("", "Google's id of an attribute.", schema.MaxLength(120), schema.Example("has_delivery")), profile.AttributesMax),
			schema.List("clear", "Fields to empty; nothing else empties a field.", schema.Enum("", "A field.", profile.Clearable()), schema.MaxItems(len(profile.Clearable())), schema.Unique()),
		},
		Advice: elsewhere(),
	}
}

func days() []string {
	out := make([]string, 0, 7)
	for _, d := range profile.Days() {
		out = append(out, string(d))
	}
	return out
}

// openClose are the members that all hours have.
func openClose() []schema.Field {
	return []schema.Field{
		schema.TimeOfDay("open", "Opening time, HH:MM.", schema.Example("11:00")),
		schema.TimeOfDay("close", "Closing time, HH:MM up to 24:00; at or before open it is on the next day.", schema.Until24(), schema.Example("02:00")),
		schema.Boolean("open_24h", "true: open the whole day, instead of open and close."),
		schema.Boolean("closed", "true: closed, instead of open and close."),
	}
}

func weekHours() schema.Field {
	return schema.Nested("", "One period.", schema.Object{Fields: append([]schema.Field{schema.Enum("day", "Day of the week.", days(), schema.Required())}, openClose()...)})
}

func dateHours() schema.Field {
	return schema.Nested("", "One period of a date, or of each date from from to to.", schema.Object{Fields: append([]schema.Field{
		schema.Date("date", "The date, YYYY-MM-DD.", schema.Example("2026-12-31")),
		schema.Date("from", "First date of a range, instead of date.", schema.Example("2026-12-29")),
		schema.Date("to", "Last date of the range.", schema.Example("2027-01-03")),
	}, openClose()...)})
}

func attributeEntry() schema.Field {
	choice := schema.String("", "Google's id of a choice.", schema.MaxLength(120))
	return schema.Nested("", "One attribute with one kind of value.", schema.Object{Fields: []schema.Field{
		schema.String("name", "Google's id of the attribute.", schema.Required(), schema.MaxLength(120), schema.Example("has_delivery")),
		schema.Boolean("bool", "Value of a yes-or-no attribute."),
		schema.String("value", "Choice of an attribute with one choice.", schema.MaxLength(120), schema.Example("free_wi_fi")),
		schema.List("values", "Choices that hold. A side that is left out stays; where the store was never read with location.get, give both sides.", choice, schema.MaxItems(50)),
		schema.List("unset_values", "Choices that expressly do not hold; as with values.", choice, schema.MaxItems(50)),
		schema.List("urls", "Addresses of an address attribute.", schema.URL("", "One address.", schema.Templated()), schema.MaxItems(50)),
	}})
}

// elsewhere answers the names that Google and other products have for store data: the name here, or that it cannot be changed.
func elsewhere() map[string]errs.Text {
	out := map[string]errs.Text{}
	for name, ours := range map[string]string{
		"locationName": "title", "location_name": "title", "name": "title", "business_name": "title", "primaryPhone": "phone_numbers.primary", "primary_phone": "phone_numbers.primary",
		"phone": "phone_numbers.primary", "phone_number": "phone_numbers.primary", "additionalPhones": "phone_numbers.additional", "additional_phones": "phone_numbers.additional",
		"website": "website_url", "websiteUri": "website_url", "website_uri": "website_url", "url": "website_url", "hours": "regular_hours", "opening_hours": "regular_hours",
		"regularHours": "regular_hours", "specialHours": "special_hours", "holiday_hours": "special_hours", "moreHours": "more_hours", "profile": "description", "about": "description",
		"openInfo": "open_status", "open_info": "open_status", "status": "open_status", "openingDate": "opening_date", "storeCode": "store_code", "code": "store_code",
		"category": "categories.primary", "primary_category": "categories.primary", "primaryCategory": "categories.primary", "additionalCategories": "categories.additional", "tags": "labels",
	} {
		out[name] = errs.Tf("ここでは %s と書きます。", "It is called %s here.", ours)
	}
	for _, name := range []string{
		"metadata", "languageCode", "language_code", "storefrontAddress", "storefront_address", "address", "latlng", "serviceArea", "service_area", "placeId", "place_id", "mapsUri",
		"relationshipData", "serviceItems", "adWordsLocationExtensions", "timezone",
	} {
		out[name] = errs.T("このツールでは変更できません。", "It cannot be changed with this tool.")
	}
	for _, name := range []string{"update_mask", "updateMask", "fields", "mask"} {
		out[name] = errs.T("更新マスクは指定された項目から作られます。変更する項目だけを書いてください。", "The mask is made from the fields that are given; name only what is to change.")
	}
	return out
}
