package gbpsim

// The rules about store data.
const (
	ruleUpdateMask     RuleID = "location.update_mask"
	ruleUpdateMaskPath RuleID = "location.update_mask_path"
	ruleMaskRepeated   RuleID = "location.mask_repeated"
	ruleMaskWhole      RuleID = "location.mask_whole_object"
	ruleImmutable      RuleID = "location.immutable"
	ruleOutputOnly     RuleID = "location.output_only"
	ruleMaskClears     RuleID = "location.mask_clears"
	ruleValidateOnly   RuleID = "location.validate_only"
	ruleNotSimulated   RuleID = "location.field_not_simulated"
	ruleLatLng         RuleID = "location.latlng"
	ruleTitle          RuleID = "location.title"
	ruleStoreCode      RuleID = "location.store_code"
	rulePhoneValue     RuleID = "location.phone"
	rulePhonePrimary   RuleID = "location.phone_primary"
	rulePhoneCount     RuleID = "location.phone_count"
	ruleReachable      RuleID = "location.phone_or_website"
	ruleWebsite        RuleID = "location.website"
	ruleCategory       RuleID = "location.category"
	ruleCategoryCount  RuleID = "location.category_count"
	ruleHoursValue     RuleID = "location.hours_value"
	ruleHoursSchedule  RuleID = "location.hours_schedule"
	ruleSpecialAlone   RuleID = "location.special_without_regular"
	ruleSpecialOverlap RuleID = "location.special_overlap"
	ruleSpecialValue   RuleID = "location.special_value"
	ruleMoreHoursType  RuleID = "location.more_hours_type"
	ruleLabels         RuleID = "location.labels"
	ruleOpenStatus     RuleID = "location.open_status"
	ruleOpeningFar     RuleID = "location.opening_date_far"
	ruleOpeningParts   RuleID = "location.opening_date_parts"
	ruleOpeningValue   RuleID = "location.opening_date_value"
	ruleReopen         RuleID = "location.reopen"
	ruleDescription    RuleID = "location.description"
	ruleDescriptionURL RuleID = "location.description_url"
	ruleDescriptionLen RuleID = "location.description_length"
	ruleEditReview     RuleID = "location.edit_review"
	ruleGoogleVersion  RuleID = "location.google_version"

	ruleAttributeMask   RuleID = "attributes.mask"
	ruleAttributeName   RuleID = "attributes.name"
	ruleAttributeEnum   RuleID = "attributes.enum"
	ruleAttributeType   RuleID = "attributes.type"
	ruleAttributeRepeat RuleID = "attributes.repeated"
	ruleAttributeURL    RuleID = "attributes.url"
	ruleAttributeClears RuleID = "attributes.mask_clears"

	ruleCatalogueParameter RuleID = "catalogue.parameter"
	ruleCategoryView       RuleID = "categories.view"
	ruleVoice              RuleID = "voice.state"
	ruleMetrics            RuleID = "metrics.daily_metrics"
	ruleMetricsRange       RuleID = "metrics.daily_range"
	ruleMetricsData        RuleID = "metrics.data"
)

func storeRules() []Rule {
	return []Rule{
		{ruleUpdateMask, Documented, "updateMask is required; that it is missing answers 400 with BadRequest field update_mask is assumed from read_mask.", true},
		{ruleUpdateMaskPath, Captured, "A mask path that names no field, such as an old v4 name, answers 400 with BadRequest field update_mask.", true},
		{ruleMaskRepeated, Captured, "A mask path that leads into a list is refused.", true},
		{ruleMaskWhole, Documented, "phoneNumbers and categories can only be masked whole. One source saw phoneNumbers.primaryPhone work (2026-07).", true},
		{ruleImmutable, Documented, "name and languageCode cannot be changed; the refusal's form is assumed.", true},
		{ruleOutputOnly, Documented, "metadata is output only; that masking it is refused is assumed. Output-only members inside a written object are ignored.", true},
		{ruleMaskClears, Documented, "A masked field that the body lacks is emptied; a field of the body that is not masked is ignored.", false},
		{ruleValidateOnly, Documented, "validateOnly runs the checks, answers {} and changes nothing. That it draws on no edit budget is assumed.", false},
		{ruleNotSimulated, Assumed, "Writing address, service area, services, relations and AdWords phone is not simulated: 400, and the request counts as unknown.", true},
		{ruleLatLng, Documented, "latlng is for approved clients: LAT_LNG_UPDATES_NOT_PERMITTED.", true},
		{ruleTitle, Documented, "A title is required: REQUIRED_FIELD_MISSING_VALUE.", true},
		{ruleStoreCode, Documented, "A store code is unique in its account; the form of the refusal is assumed.", true},
		{rulePhoneValue, Documented, "A phone number must be one: INVALID_PHONE_NUMBER. What counts is assumed: digits with separators, 5 to 15 of them.", true},
		{rulePhonePrimary, Documented, "Additional numbers need a primary one: MISSING_PRIMARY_PHONE_NUMBER.", true},
		{rulePhoneCount, Documented, "At most two additional numbers: TOO_MANY_ENTRIES.", true},
		{ruleReachable, Documented, "A location needs a phone number or a website: MISSING_BOTH_PHONE_AND_WEBSITE. That only edits of these fields are judged is assumed.", true},
		{ruleWebsite, Assumed, "websiteUri must be an http or https URL: 400 with BadRequest.", true},
		{ruleCategory, Documented, "A primary category is required and every name is categories/gcid:..., none twice: INVALID_CATEGORY. Ids are not looked up here.", true},
		{ruleCategoryCount, Assumed, "At most nine additional categories: TOO_MANY_ENTRIES.", true},
		{ruleHoursValue, Documented, "Hours are 00:00 to 24:00 with both days named: INVALID_HOURS_VALUE.", true},
		{ruleHoursSchedule, Documented, "A period closes after it opens and no two overlap, Sunday into Monday included: INVALID_TIME_SCHEDULE.", true},
		{ruleSpecialAlone, Documented, "Special hours need regular hours: SPECIAL_HOURS_SET_WITHOUT_REGULAR_HOURS.", true},
		{ruleSpecialOverlap, Documented, "Special periods do not overlap, and a closed date has no other: OVERLAPPED_SPECIAL_HOURS.", true},
		{ruleSpecialValue, Documented, "A special period has a real date, both times unless closed, less than 24 hours (00:00 to 24:00 is taken, assumed), endDate at most a day later and then at most 11:59: INVALID_HOURS_VALUE.", true},
		{ruleMoreHoursType, Documented, "More hours are of a type of the location's categories: INCOMPATIBLE_MORE_HOURS_TYPE_FOR_CATEGORY. Categories outside the catalogue have all types (assumed).", true},
		{ruleLabels, Documented, "A label has 1 to 255 characters: STRING_TOO_SHORT, STRING_TOO_LONG.", true},
		{ruleOpenStatus, Documented, "openInfo needs a status: REQUIRED_FIELD_MISSING_VALUE.", true},
		{ruleOpeningFar, Documented, "An opening date is at most one year ahead: OPENING_DATE_TOO_FAR_IN_THE_FUTURE.", true},
		{ruleOpeningParts, Documented, "An opening date has year and month: OPENING_DATE_MISSING_YEAR_OR_MONTH.", true},
		{ruleOpeningValue, Documented, "An opening date stands in the calendar: INVALID_BUSINESS_OPENING_DATE.", true},
		{ruleReopen, Documented, "A permanently closed location without canReopen stays closed: CANNOT_REOPEN.", true},
		{ruleDescription, Documented, "A profile needs a description: REQUIRED_FIELD_MISSING_VALUE. That a masked, absent profile is emptied is assumed.", true},
		{ruleDescriptionURL, Documented, "A description holds no URL: PROFILE_DESCRIPTION_CONTAINS_URL. What counts is assumed: a scheme, www, or a domain name.", true},
		{ruleDescriptionLen, Assumed, "A description has at most 750 characters (the help centre's number): STRING_TOO_LONG.", true},
		{ruleEditReview, Documented, "An accepted edit can stay under review (metadata.hasPendingEdits, pendingMask), then be published or reverted. Without voice of merchant it stays so (assumed). An answer shows the merchant's own view; that a read can show the old value is reported, see the knobs.", false},
		{ruleGoogleVersion, Documented, "Google's own version of fields shows in hasGoogleUpdated and diffMask; an edit of such a field puts the merchant's version in its place, an edit of others leaves it (assumed).", false},

		{ruleAttributeMask, Documented, "attributeMask is required and names attributes; the refusal of a missing one is assumed.", true},
		{ruleAttributeName, Documented, "An attribute that the catalogue lacks: INVALID_ATTRIBUTE_NAME. The catalogue here is a small part of Google's.", true},
		{ruleAttributeEnum, Documented, "A choice that the attribute lacks: ATTRIBUTE_INVALID_ENUM_VALUE.", true},
		{ruleAttributeType, Assumed, "A value of another type than the attribute's: 400 with BadRequest.", true},
		{ruleAttributeRepeat, Documented, "More than one value of an attribute with one: ATTRIBUTE_CANNOT_BE_REPEATED.", true},
		{ruleAttributeURL, Documented, "An address attribute holds http or https URLs: ATTRIBUTE_PROVIDER_URL_NOT_ALLOWED is Google's word for other refusals; BadRequest is assumed here.", true},
		{ruleAttributeClears, Documented, "A masked attribute that the body lacks is removed; one of the body that is not masked is ignored.", false},

		{ruleCatalogueParameter, Documented, "The catalogues need parent, or category, region and language; names and view; the form of the refusals is assumed.", true},
		{ruleCategoryView, Documented, "Types of more hours come with view FULL only; unknown names are left out (assumed).", false},
		{ruleVoice, Documented, "hasVoiceOfMerchant and hasBusinessAuthority, or one of the reasons why not; a location without it says verify (assumed).", false},
		{ruleMetrics, Documented, "dailyMetrics is required and of a known set.", true},
		{ruleMetricsRange, Documented, "dailyRange is required with real dates, start not after end.", true},
		{ruleMetricsData, Assumed, "Figures are made up and always the same for a location, metric and date; today and the day before have none yet.", false},
	}
}
