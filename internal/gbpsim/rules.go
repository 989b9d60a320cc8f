package gbpsim

// Evidence says how a rule of Google's is known.
type Evidence string

// The classes of evidence, best first.
const (
	Documented Evidence = "documented" // Google's reference or a discovery document
	Captured   Evidence = "captured"   // seen in a real answer that somebody published
	Probed     Evidence = "probed"     // somebody states to have called the live API and seen it
	Assumed    Evidence = "assumed"    // plausible; nobody has confirmed it
)

// RuleID names a rule; it stands in Entry.Rule of the requests that met it.
type RuleID string

// Rule is one thing that the simulator believes about Google.
type Rule struct {
	ID       RuleID   `json:"id"`
	Evidence Evidence `json:"evidence"`
	Text     string   `json:"text"`
	// Refuses tells that the rule turns requests away; other rules shape accepted ones.
	Refuses bool `json:"refuses"`
}

// The rules. The table in Rules gives words and evidence to each.
const (
	ruleUnknownRoute     RuleID = "route.unknown"
	ruleBadJSON          RuleID = "request.json"
	ruleUnknownField     RuleID = "request.unknown_field"
	ruleBadType          RuleID = "request.value_type"
	ruleUnknownParameter RuleID = "request.unknown_parameter"
	ruleSystemParameters RuleID = "request.system_parameters"
	rulePageSize         RuleID = "request.page_size"
	rulePageToken        RuleID = "request.page_token"
	ruleProto3JSON       RuleID = "answer.proto3_json"

	ruleTokenMissing    RuleID = "auth.missing"
	ruleTokenInvalid    RuleID = "auth.invalid"
	ruleServiceDisabled RuleID = "auth.service_disabled"
	ruleNoAccess        RuleID = "auth.no_access"
	ruleDenied          RuleID = "auth.permission_denied"

	ruleRefresh       RuleID = "oauth.refresh"
	ruleRotation      RuleID = "oauth.rotation"
	ruleInvalidGrant  RuleID = "oauth.invalid_grant"
	ruleInvalidClient RuleID = "oauth.invalid_client"
	ruleOAuthRequest  RuleID = "oauth.invalid_request"
	ruleGrantType     RuleID = "oauth.unsupported_grant_type"

	ruleQuota     RuleID = "quota.per_minute"
	ruleQuotaZero RuleID = "quota.zero"
	ruleEdits     RuleID = "quota.edits_per_location"

	rulePersonalFirst   RuleID = "accounts.personal_first"
	ruleReadMask        RuleID = "locations.read_mask"
	ruleReadMaskPath    RuleID = "locations.read_mask_path"
	ruleLocationOrder   RuleID = "locations.order_by"
	ruleLocationFilter  RuleID = "locations.filter"
	ruleAccountWildcard RuleID = "locations.account_wildcard"

	ruleTopicType       RuleID = "post.topic_type"
	ruleNothingToShow   RuleID = "post.content"
	ruleSummaryLength   RuleID = "post.summary_length"
	ruleEventNeeded     RuleID = "post.event_needed"
	ruleEventTitle      RuleID = "post.event_title"
	ruleEventTitleLen   RuleID = "post.event_title_length"
	ruleSchedule        RuleID = "post.schedule_parts"
	ruleScheduleValue   RuleID = "post.schedule_value"
	ruleScheduleOrder   RuleID = "post.schedule_order"
	ruleOfferOnly       RuleID = "post.offer_only"
	ruleOfferURL        RuleID = "post.offer_url"
	ruleActionType      RuleID = "post.action_type"
	ruleGetOffer        RuleID = "post.get_offer"
	ruleActionURL       RuleID = "post.action_url"
	ruleActionURLForm   RuleID = "post.action_url_form"
	ruleCallURL         RuleID = "post.call_url"
	ruleOfferAction     RuleID = "post.offer_action"
	ruleAlert           RuleID = "post.alert"
	ruleAlertType       RuleID = "post.alert_type"
	ruleMediaFields     RuleID = "post.media_fields"
	ruleMediaFormat     RuleID = "post.media_format"
	ruleMediaSource     RuleID = "post.media_source"
	ruleMediaVideo      RuleID = "post.media_video"
	ruleMediaFetch      RuleID = "post.media_fetch"
	ruleMediaEcho       RuleID = "post.media_echo"
	ruleScheduledTime   RuleID = "post.scheduled_time"
	rulePostsDisabled   RuleID = "post.disabled"
	ruleLanguage        RuleID = "post.language"
	rulePhoneRejected   RuleID = "post.phone_rejected"
	rulePostStates      RuleID = "post.states"
	ruleRecurring       RuleID = "post.recurring"
	ruleNoDeduplication RuleID = "post.no_deduplication"
	rulePostNotFound    RuleID = "post.not_found"
	rulePatchMask       RuleID = "post.patch_mask"
	rulePatchPath       RuleID = "post.patch_path"
	rulePatchFixed      RuleID = "post.patch_fixed"
	rulePatchOutput     RuleID = "post.patch_output_only"
	rulePostOrder       RuleID = "post.newest_first"

	ruleVerifiedOnly   RuleID = "review.verified_only"
	ruleReviewNotFound RuleID = "review.not_found"
	ruleReviewOrderBy  RuleID = "review.order_by"
	ruleReviewOrder    RuleID = "review.newest_first"
	ruleReviewTotals   RuleID = "review.totals"
	ruleRatingOnly     RuleID = "review.rating_only"
	ruleReplyText      RuleID = "review.reply_text"
	ruleReplyLength    RuleID = "review.reply_length"
	ruleReplyUpsert    RuleID = "review.reply_upsert"
	ruleReplyStates    RuleID = "review.reply_states"
	ruleReplyAdverts   RuleID = "review.reply_adverts"
	ruleReplyMissing   RuleID = "review.reply_missing"
	ruleReplyEdit      RuleID = "review.reply_is_an_edit"
	ruleBatchLocations RuleID = "review.batch_locations"
	ruleBatchAccess    RuleID = "review.batch_access"
)

// Rules lists all rules. A live finding that contradicts one is applied by changing its line and the code that names it.
func Rules() []Rule {
	rules := []Rule{
		{ruleUnknownRoute, Captured, "A path that matches no route answers an HTML 404 page, not JSON.", true},
		{ruleBadJSON, Assumed, "A body that is no JSON object in UTF-8 answers 400.", true},
		{ruleUnknownField, Assumed, "An unknown body field answers 400 with BadRequest; names may be lowerCamel or snake_case.", true},
		{ruleBadType, Assumed, "A value of the wrong JSON type, or outside its enum, answers 400 with BadRequest.", true},
		{ruleUnknownParameter, Assumed, "An unknown query parameter answers 400 with BadRequest.", true},
		{ruleSystemParameters, Documented, "alt, prettyPrint, fields, key, access_token, quotaUser, callback, $.xgafv, uploadType and upload_protocol are accepted everywhere. Only access_token and prettyPrint have an effect here.", false},
		{rulePageSize, Assumed, "A page size above the maximum is lowered to it; a negative one or one that is no number answers 400.", true},
		{rulePageToken, Assumed, "A page token that Google did not give answers 400.", true},
		{ruleProto3JSON, Captured, "Answers are always 200 and leave out empty lists, empty texts, zero and false; deletes answer {}; times end in Z and have microseconds.", false},

		{ruleTokenMissing, Assumed, "Without an access token: 401 with ErrorInfo CREDENTIALS_MISSING.", true},
		{ruleTokenInvalid, Assumed, "An unknown, expired or revoked access token: 401 UNAUTHENTICATED.", true},
		{ruleServiceDisabled, Captured, "An API that is not enabled in the project: 403 with ErrorInfo SERVICE_DISABLED and an activation URL.", true},
		{ruleNoAccess, Documented, "An account that does not exist or that the token cannot see: JSON 404 NOT_FOUND (documented for v1 accounts, inferred from captures for v4).", true},
		{ruleDenied, Documented, "No role on the location: 403 PERMISSION_DENIED.", true},

		{ruleRefresh, Documented, "A refresh answers access_token, expires_in (3599), scope and token_type, and no refresh token.", false},
		{ruleRotation, Assumed, "Optional: a refresh gives a new refresh token and ends the old one. Google does not do so today.", false},
		{ruleInvalidGrant, Documented, "An unknown or revoked refresh token: 400 invalid_grant.", true},
		{ruleInvalidClient, Documented, "An unknown client or a wrong secret: 401 invalid_client.", true},
		{ruleOAuthRequest, Documented, "A missing parameter: 400 invalid_request.", true},
		{ruleGrantType, Documented, "Another grant type: 400 unsupported_grant_type.", true},

		{ruleQuota, Documented, "300 queries per minute, project and API (assumed for v4, which the limits page does not list). The shape of the 429 body is captured; that the minute slides is assumed.", true},
		{ruleQuotaZero, Captured, "A project that is not approved: 429 with quota_limit_value 0.", true},
		{ruleEdits, Documented, "10 edits per minute and Business Profile. That posts draw on it, that refused edits do not, and the body are assumed.", true},

		{rulePersonalFirst, Documented, "The caller's PERSONAL account is the first of the accounts; page size at most 20.", false},
		{ruleReadMask, Captured, "readMask is required: 400 with BadRequest field read_mask.", true},
		{ruleReadMaskPath, Assumed, "A mask path that names no field answers 400 with BadRequest field read_mask; * means all fields.", true},
		{ruleLocationOrder, Documented, "orderBy takes title and storeCode, each optionally with desc; anything else answers 400 (assumed).", true},
		{ruleLocationFilter, Documented, "filter takes comparisons of title, categories, labels, storeCode, phone, address, place id and status, joined with AND, OR within one field. distance() exists at Google and is not simulated: 400, and the request counts as unknown.", true},
		{ruleAccountWildcard, Documented, "accounts/- lists everything that the caller reaches; a PERSONAL account only what it owns itself.", false},

		{ruleTopicType, Captured, "topicType missing: 400 ValidationError code 2, field topic_type.", true},
		{ruleNothingToShow, Assumed, "A post without summary and without media is refused. With media the summary may be absent (captured).", true},
		{ruleSummaryLength, Probed, "A summary of more than 1500 characters (code points) is refused and nothing is created.", true},
		{ruleEventNeeded, Documented, "EVENT and OFFER need an event (for OFFER the refusal is reported).", true},
		{ruleEventTitle, Assumed, "An event needs a title.", true},
		{ruleEventTitleLen, Probed, "A title of more than 58 characters is refused.", true},
		{ruleSchedule, Probed, "A schedule needs all of startDate, startTime, endDate and endTime.", true},
		{ruleScheduleValue, Assumed, "Dates and times of a schedule must exist in the calendar and on the clock (24:00:00 included).", true},
		{ruleScheduleOrder, Assumed, "A schedule may not end before it starts.", true},
		{ruleOfferOnly, Documented, "offer belongs to OFFER posts only; that others are refused is assumed.", true},
		{ruleOfferURL, Assumed, "redeemOnlineUrl must be an http or https URL.", true},
		{ruleActionType, Assumed, "A call to action needs an action type.", true},
		{ruleGetOffer, Documented, "GET_OFFER is not valid any more (change log, second quarter of 2021).", true},
		{ruleActionURL, Documented, "Every action but CALL needs a url.", true},
		{ruleActionURLForm, Assumed, "The url of an action must be an http or https URL.", true},
		{ruleCallURL, Probed, "CALL with a url is refused.", true},
		{ruleOfferAction, Documented, "The call to action of an OFFER is ignored; that it is not given back is assumed.", false},
		{ruleAlert, Assumed, "ALERT posts are refused as unsupported under the account's condition, unless the knob allows them.", true},
		{ruleAlertType, Documented, "alertType belongs to ALERT posts only and is needed there; the refusals are assumed.", true},
		{ruleMediaFields, Documented, "Media of a post takes mediaFormat and sourceUrl only; the refusal of others is assumed.", true},
		{ruleMediaFormat, Assumed, "A media item needs mediaFormat.", true},
		{ruleMediaSource, Assumed, "A media item needs sourceUrl.", true},
		{ruleMediaVideo, Probed, "Video is refused: 500 INTERNAL each time (probed), or a 400 that says so (captured); a knob decides.", true},
		{ruleMediaFetch, Captured, "A sourceUrl that cannot be fetched: 400 ValidationError code 1000 at once.", true},
		{ruleMediaEcho, Captured, "Answers give name, mediaFormat and googleUrl of a media item and never sourceUrl.", false},
		{ruleScheduledTime, Assumed, "scheduledTime must be a timestamp in the future.", true},
		{rulePostsDisabled, Assumed, "A location without local posts: 400 ValidationError. One source reports it live, another as retired.", true},
		{ruleLanguage, Assumed, "Without languageCode the language of the location is filled in.", false},
		{rulePhoneRejected, Documented, "A phone number in the text leads to REJECTED; that it stands in the answer to create is captured.", false},
		{rulePostStates, Probed, "PROCESSING becomes LIVE, or SCHEDULED and then LIVE, as time passes.", false},
		{ruleRecurring, Assumed, "A post with recurrenceInfo is RECURRING where another would be LIVE.", false},
		{ruleNoDeduplication, Captured, "Identical posts are accepted as often as they are sent.", false},
		{rulePatchMask, Captured, "A patch without updateMask: a bare 400.", true},
		{rulePatchPath, Assumed, "A mask path that is no field of a post: 400 with BadRequest.", true},
		{rulePatchFixed, Assumed, "Topic type, alert type and media of a post cannot be patched.", true},
		{rulePatchOutput, Assumed, "Output-only fields in a mask are refused.", true},
		{rulePostNotFound, Documented, "A post that does not exist or is deleted: JSON 404.", true},
		{rulePostOrder, Captured, "Lists are newest first, rejected posts included; a location without posts answers {} (probed).", false},

		{ruleVerifiedOnly, Documented, "Reviews and replies exist for verified locations only. The refusal is assumed: 400 FAILED_PRECONDITION, or 403 by a knob.", true},
		{ruleReviewNotFound, Documented, "A review that does not exist or is deleted: JSON 404.", true},
		{ruleReviewOrderBy, Documented, "orderBy takes rating, rating desc and updateTime desc; anything else, ascending updateTime too, answers 400 (assumed).", true},
		{ruleReviewOrder, Documented, "Lists are newest first by updateTime; a page has at most 50 reviews, and 50 without a size (assumed).", false},
		{ruleReviewTotals, Documented, "A list gives averageRating and totalReviewCount of the location; a location without reviews answers {} (assumed).", false},
		{ruleRatingOnly, Documented, "A review that is only a rating has no comment; ignoreRatingOnlyReviews leaves those out of a batch.", false},
		{ruleReplyText, Assumed, "A reply without text: 400 ValidationError code 2, field comment.", true},
		{ruleReplyLength, Documented, "A reply has at most 4096 bytes of UTF-8. The refusal is assumed: 400 ValidationError, field comment.", true},
		{ruleReplyUpsert, Documented, "A reply is created or replaced; a review has at most one. The same text again enters moderation again (assumed).", false},
		{ruleReplyStates, Documented, "reviewReplyState is PENDING, APPROVED or REJECTED, the last with policyViolation; how long it takes is a knob.", false},
		{ruleReplyAdverts, Assumed, "A reply with a phone number or a web address is rejected as ADVERTISING_AND_SOLICITATION.", false},
		{ruleReplyMissing, Assumed, "Deleting a reply that is not there: 404, or 200 by a knob.", true},
		{ruleReplyEdit, Assumed, "Writing and deleting a reply draw on the location's 10 edits a minute.", false},
		{ruleBatchLocations, Documented, "A batch names 1 to 50 locations by their v4 names under the account of the path; the refusal of others is assumed.", true},
		{ruleBatchAccess, Assumed, "One location of a batch that is missing, forbidden or unverified refuses the whole batch.", false},
	}
	return append(append(rules, storeRules()...), mediaRuleTable()...)
}
