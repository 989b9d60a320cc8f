package gbpapi

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	camel     = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	subscript = regexp.MustCompile(`\[\d+\]`)
)

// postArgument is our name for a field of Google's LocalPost: "event.title" and "event.schedule.startDate" become
// "post.event.title" and "post.event.start_date". Deeper fields have their nearest known parent's name; unknown ones have "".
func postArgument(field string) string {
	return argumentIn(postArguments, field, "local_post.", "post.")
}

// argumentIn looks a field path of Google's up in a table, without the prefixes that name the message itself.
func argumentIn(table map[string]string, field string, prefixes ...string) string {
	f := strings.ToLower(camel.ReplaceAllString(field, "${1}_${2}"))
	for _, p := range prefixes {
		f = strings.TrimPrefix(f, p)
	}
	at := subscript.FindString(f)
	f = subscript.ReplaceAllString(f, "")
	for f != "" {
		if a, ok := table[f]; ok {
			return strings.Replace(a, "[]", at, 1)
		}
		f = f[:max(strings.LastIndexByte(f, '.'), 0)]
	}
	return ""
}

// postArguments is keyed by Google's snake_case paths; [] takes the index.
var postArguments = map[string]string{
	"topic_type":                 "post.topic_type",
	"summary":                    "post.summary",
	"language_code":              "post.language_code",
	"call_to_action":             "post.call_to_action",
	"call_to_action.action_type": "post.call_to_action.action_type",
	"call_to_action.url":         "post.call_to_action.url",
	"event":                      "post.event",
	"event.title":                "post.event.title",
	"event.schedule.start_date":  "post.event.start_date",
	"event.schedule.start_time":  "post.event.start_time",
	"event.schedule.end_date":    "post.event.end_date",
	"event.schedule.end_time":    "post.event.end_time",
	"offer":                      "post.offer",
	"offer.coupon_code":          "post.offer.coupon_code",
	"offer.redeem_online_url":    "post.offer.redeem_url",
	"offer.terms_conditions":     "post.offer.terms",
	"media":                      "post.media[]",
	"media.source_url":           "post.media[].source_url",
	"scheduled_time":             "post.scheduled_time",
}

// indexed adds Google's separate index to a field that carries none: "media.source_url" and 0 become "media[0].source_url".
func indexed(field string, index int) string {
	if index < 0 || subscript.MatchString(field) {
		return field
	}
	head, tail, _ := strings.Cut(field, ".")
	if tail != "" {
		tail = "." + tail
	}
	return fmt.Sprintf("%s[%d]%s", head, index, tail)
}
