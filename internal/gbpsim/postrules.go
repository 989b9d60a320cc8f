package gbpsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxSummary = 1500 // code points; probed by others, 2026-07
	maxTitle   = 58   // characters; probed by others, 2026-07
)

// judgePost applies the content rules of localPosts.create. It answers the first refusal, or nil.
func (c *call) judgePost(p postBody) *reply {
	for _, check := range []func(postBody) *reply{
		c.checkTopic, checkText, checkEvent, checkOffer, checkAction, c.checkAlert, c.checkMedia, c.checkScheduledTime,
	} {
		if refusal := check(p); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (c *call) checkTopic(p postBody) *reply {
	if p.TopicType == "" || p.TopicType == "LOCAL_POST_TOPIC_TYPE_UNSPECIFIED" {
		return invalid(ruleTopicType, missingValue, "topic_type", "A topic type is required.", "")
	}
	return nil
}

func checkText(p postBody) *reply {
	if n := utf8.RuneCountInString(p.Summary); n > maxSummary {
		return invalid(ruleSummaryLength, tooLarge, "summary", fmt.Sprintf("Summary has %d characters. The maximum is %d.", n, maxSummary), "")
	}
	if strings.TrimSpace(p.Summary) == "" && len(p.Media) == 0 && p.Event == nil {
		return invalid(ruleNothingToShow, missingValue, "summary", "A summary or media is required.", "")
	}
	return nil
}

func checkEvent(p postBody) *reply {
	if p.Event == nil {
		if p.TopicType == "EVENT" || p.TopicType == "OFFER" {
			return invalid(ruleEventNeeded, missingValue, "event", "An event is required for this topic type.", "")
		}
		return nil
	}
	e := p.Event
	if strings.TrimSpace(e.Title) == "" {
		return invalid(ruleEventTitle, missingValue, "event.title", "An event title is required.", "")
	}
	if n := utf8.RuneCountInString(e.Title); n > maxTitle {
		return invalid(ruleEventTitleLen, tooLarge, "event.title", fmt.Sprintf("Title has %d characters. The maximum is %d.", n, maxTitle), "")
	}
	if e.Schedule == nil {
		return invalid(ruleSchedule, missingValue, "event.schedule", "A schedule is required.", "")
	}
	return e.Schedule.check()
}

func (s *schedule) check() *reply {
	for _, part := range []struct {
		field string
		there bool
	}{{"start_date", s.StartDate != nil}, {"start_time", s.StartTime != nil}, {"end_date", s.EndDate != nil}, {"end_time", s.EndTime != nil}} {
		if !part.there {
			return invalid(ruleSchedule, missingValue, "event.schedule."+part.field, "The start and end date and time are required.", "")
		}
	}
	start, ok := wallClock(*s.StartDate, *s.StartTime)
	if !ok {
		return invalid(ruleScheduleValue, invalidValue, "event.schedule.start_date", "The start is not a valid date and time.", "")
	}
	end, ok := wallClock(*s.EndDate, *s.EndTime)
	if !ok {
		return invalid(ruleScheduleValue, invalidValue, "event.schedule.end_date", "The end is not a valid date and time.", "")
	}
	if end.Before(start) {
		return invalid(ruleScheduleOrder, invertedRange, "event.schedule", "The end is before the start.", "")
	}
	return nil
}

// wallClock reads a date and a time of day; 24:00:00 is the end of the day.
func wallClock(d date, t timeOfDay) (time.Time, bool) {
	at := time.Date(d.Year, time.Month(d.Month), d.Day, t.Hours, t.Minutes, t.Seconds, t.Nanos, time.UTC)
	day := time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, time.UTC)
	ok := d.Year >= 1 && d.Year <= 9999 && day.Day() == d.Day && int(day.Month()) == d.Month &&
		t.Hours >= 0 && t.Minutes >= 0 && t.Minutes < 60 && t.Seconds >= 0 && t.Seconds < 60 && t.Nanos >= 0 && t.Nanos < 1e9 &&
		(t.Hours < 24 || t == timeOfDay{Hours: 24})
	return at, ok
}

func checkOffer(p postBody) *reply {
	if p.Offer == nil {
		return nil
	}
	if p.TopicType != "OFFER" {
		return invalid(ruleOfferOnly, unsupportedValue, "offer", "Offer data is only allowed for offer posts.", "")
	}
	if u := p.Offer.RedeemOnlineURL; u != "" {
		if _, ok := webURL(u); !ok {
			return invalid(ruleOfferURL, invalidValue, "offer.redeem_online_url", "Invalid URL.", u)
		}
	}
	return nil
}

func checkAction(p postBody) *reply {
	a := p.CallToAction
	if a == nil || p.TopicType == "OFFER" { // ignored there
		return nil
	}
	const field = "call_to_action.url"
	switch a.ActionType {
	case "", "ACTION_TYPE_UNSPECIFIED":
		return invalid(ruleActionType, missingValue, "call_to_action.action_type", "An action type is required.", "")
	case "GET_OFFER":
		return invalid(ruleGetOffer, unsupportedValue, "call_to_action.action_type", "This action type is not supported.", a.ActionType)
	case "CALL":
		if a.URL != "" {
			return invalid(ruleCallURL, unsupportedValue, field, "A URL is not allowed for call actions.", a.URL)
		}
		return nil
	}
	if a.URL == "" {
		return invalid(ruleActionURL, missingValue, field, "A URL is required for this action type.", "")
	}
	if _, ok := webURL(a.URL); !ok {
		return invalid(ruleActionURLForm, invalidValue, field, "Invalid URL.", a.URL)
	}
	return nil
}

// webURL reads an absolute http or https URL.
func webURL(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(s, " \t\r\n")
}

func (c *call) checkAlert(p postBody) *reply {
	set := p.AlertType != "" && p.AlertType != "ALERT_TYPE_UNSPECIFIED"
	switch {
	case p.TopicType != "ALERT" && set:
		return invalid(ruleAlertType, unsupportedValue, "alert_type", "An alert type is only allowed for alert posts.", p.AlertType)
	case p.TopicType != "ALERT":
		return nil
	case !c.sim.knobs.AllowAlerts:
		return invalid(ruleAlert, unsupportedByAccount, "topic_type", "Operation is not supported under the account's condition.", p.TopicType)
	case !set:
		return invalid(ruleAlertType, missingValue, "alert_type", "An alert type is required for alert posts.", "")
	}
	return nil
}

func (c *call) checkMedia(p postBody) *reply {
	for i, m := range p.Media {
		at := fmt.Sprintf("media[%d].", i)
		for _, field := range slices.Sorted(maps.Keys(m)) {
			if field != "mediaFormat" && field != "sourceUrl" {
				return invalid(ruleMediaFields, unsupportedValue, at+snake(field), "This field is not supported for media of local posts.", "")
			}
		}
		switch m.text("mediaFormat") {
		case "PHOTO":
		case "VIDEO":
			return c.refuseVideo(at)
		default:
			return invalid(ruleMediaFormat, missingValue, at+"media_format", "A media format is required.", "")
		}
		source := m.text("sourceUrl")
		if source == "" {
			return invalid(ruleMediaSource, missingValue, at+"source_url", "A source URL is required.", "")
		}
		if !c.sim.fetchable(source) {
			return invalid(ruleMediaFetch, photoFetchFailed, at+"source_url", "Failed to fetch the photo from the source URL.", source)
		}
		if refusal := c.unsuitable(m, at+"source_url"); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (c *call) refuseVideo(at string) *reply {
	if c.sim.knobs.VideoStatus == http.StatusBadRequest {
		return invalid(ruleMediaVideo, unsupportedValue, at+"media_format", "Uploading a video from a post is not supported.", "VIDEO")
	}
	r := refuse(ruleMediaVideo, http.StatusInternalServerError, "INTERNAL", "Internal error encountered.")
	return &r
}

func (s *Sim) fetchable(source string) bool {
	if s.options.Reachable != nil {
		return s.options.Reachable(source)
	}
	return s.knobs.reachable(source)
}

func (c *call) checkScheduledTime(p postBody) *reply {
	if p.ScheduledTime == "" {
		return nil
	}
	if t, err := time.Parse(time.RFC3339Nano, p.ScheduledTime); err != nil || !t.After(c.now) {
		return invalid(ruleScheduledTime, expiredValue, "scheduled_time", "The scheduled time must be in the future.", p.ScheduledTime)
	}
	return nil
}

// texts are the parts of a post that moderation reads.
func (p postBody) texts() []string {
	out := []string{p.Summary}
	if p.Event != nil {
		out = append(out, p.Event.Title)
	}
	if p.Offer != nil {
		out = append(out, p.Offer.CouponCode, p.Offer.TermsConditions)
	}
	return out
}

// readPost decodes a create body.
func readPost(body []byte, s shape) (postBody, *reply) {
	canonical, bad := decodeBody(body, s, "local_post")
	if bad != nil {
		r := badRequest(bad.rule, bad.field, bad.words)
		return postBody{}, &r
	}
	var p postBody
	if err := json.Unmarshal(canonical, &p); err != nil {
		panic("gbpsim: a body that fits its shape always decodes: " + err.Error())
	}
	return p, nil
}
