package gbpsim

import "encoding/json"

// locationShape is the v1 Location of the discovery document (2026-10-26), output-only fields included. Fields whose writing is
// not simulated are taken as they are.
func locationShape() shape {
	str, num, flag, raw := shape{kind: text}, shape{kind: integer}, shape{kind: boolean}, shape{kind: anything}
	day := shape{kind: enumeration, enum: "type.googleapis.com/google.type.DayOfWeek", values: []string{
		"DAY_OF_WEEK_UNSPECIFIED", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY",
	}}
	status := shape{kind: enumeration, enum: "type.googleapis.com/google.mybusiness.businessinformation.v1.OpenInfo.OpenForBusiness", values: []string{
		"OPEN_FOR_BUSINESS_UNSPECIFIED", "OPEN", "CLOSED_PERMANENTLY", "CLOSED_TEMPORARILY",
	}}
	dates := messageOf(map[string]shape{"year": num, "month": num, "day": num})
	clock := messageOf(map[string]shape{"hours": num, "minutes": num, "seconds": num, "nanos": num})
	periods := listOf(messageOf(map[string]shape{"openDay": day, "openTime": clock, "closeDay": day, "closeTime": clock}))
	kinds := listOf(messageOf(map[string]shape{"hoursTypeId": str, "displayName": str, "localizedDisplayName": str}))
	category := messageOf(map[string]shape{"name": str, "displayName": str, "serviceTypes": raw, "moreHoursTypes": kinds})
	return messageOf(map[string]shape{
		"name": str, "languageCode": str, "storeCode": str, "title": str, "websiteUri": str, "labels": listOf(str),
		"phoneNumbers": messageOf(map[string]shape{"primaryPhone": str, "additionalPhones": listOf(str)}),
		"categories":   messageOf(map[string]shape{"primaryCategory": category, "additionalCategories": listOf(category)}),
		"regularHours": messageOf(map[string]shape{"periods": periods}),
		"specialHours": messageOf(map[string]shape{"specialHourPeriods": listOf(messageOf(map[string]shape{
			"startDate": dates, "openTime": clock, "endDate": dates, "closeTime": clock, "closed": flag,
		}))}),
		"moreHours": listOf(messageOf(map[string]shape{"hoursTypeId": str, "periods": periods})),
		"openInfo":  messageOf(map[string]shape{"status": status, "canReopen": flag, "openingDate": dates}),
		"profile":   messageOf(map[string]shape{"description": str}),
		"metadata":  raw, "storefrontAddress": raw, "serviceArea": raw, "adWordsLocationExtensions": raw, "latlng": raw, "relationshipData": raw, "serviceItems": raw,
	})
}

// attributesShape is the v1 Attributes resource.
func attributesShape() shape {
	str := shape{kind: text}
	kind := shape{kind: enumeration, enum: "type.googleapis.com/google.mybusiness.businessinformation.v1.AttributeValueType", values: []string{
		"ATTRIBUTE_VALUE_TYPE_UNSPECIFIED", "BOOL", "ENUM", "URL", "REPEATED_ENUM",
	}}
	return messageOf(map[string]shape{"name": str, "attributes": listOf(messageOf(map[string]shape{
		"name": str, "valueType": kind, "values": listOf(shape{kind: anything}),
		"repeatedEnumValue": messageOf(map[string]shape{"setValues": listOf(str), "unsetValues": listOf(str)}),
		"uriValues":         listOf(messageOf(map[string]shape{"uri": str})),
	}))})
}

// proto3 is a canonical message as Google stores and shows it: without zero numbers, false, empty texts and empty lists.
// Elements of lists and empty messages stay.
func proto3(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	return encode(pruned(v))
}

func pruned(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, member := range x {
			member = pruned(member)
			x[name] = member
			list, isList := member.([]any)
			if member == nil || member == 0.0 || member == false || member == "" || isList && len(list) == 0 {
				delete(x, name)
			}
		}
	case []any:
		for i := range x {
			x[i] = pruned(x[i])
		}
	}
	return v
}
