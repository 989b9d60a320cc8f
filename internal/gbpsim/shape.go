package gbpsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shape is the proto3 JSON form of a message field. Go's own decoder cannot be used: it ignores the case of names and
// takes neither snake_case names nor numbers in quotes, and Google's front end does the opposite on both counts.
type shape struct {
	kind   kind
	fields map[string]shape // of a message, by lowerCamel name
	enum   string           // the enum's type name
	values []string         // of an enum
	elem   *shape           // of a list
}

type kind int

const (
	text kind = iota
	integer
	boolean
	timestamp
	enumeration
	message
	list
	anything // taken as it is
)

func listOf(s shape) shape { return shape{kind: list, elem: &s} }

func enumOf(name string, values ...string) shape {
	return shape{kind: enumeration, enum: "type.googleapis.com/google.mybusiness.v4." + name, values: values}
}

func messageOf(fields map[string]shape) shape { return shape{kind: message, fields: fields} }

// localPostShape is the v4 LocalPost of Google's reference (2026-09), output-only fields included.
func localPostShape() shape {
	str, num := shape{kind: text}, shape{kind: integer}
	date := messageOf(map[string]shape{"year": num, "month": num, "day": num})
	clock := messageOf(map[string]shape{"hours": num, "minutes": num, "seconds": num, "nanos": num})
	weekday := enumOf("DayOfWeek", "DAY_OF_WEEK_UNSPECIFIED", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
	return messageOf(map[string]shape{
		"name": str, "languageCode": str, "summary": str, "searchUrl": str,
		"callToAction": messageOf(map[string]shape{
			"actionType": enumOf("CallToAction.ActionType", "ACTION_TYPE_UNSPECIFIED", "BOOK", "ORDER", "SHOP", "LEARN_MORE", "SIGN_UP", "GET_OFFER", "CALL"),
			"url":        str,
		}),
		"createTime": {kind: timestamp}, "updateTime": {kind: timestamp}, "scheduledTime": {kind: timestamp}, "recurringInstanceTime": {kind: timestamp},
		"event": messageOf(map[string]shape{
			"title":                 str,
			"schedule":              messageOf(map[string]shape{"startDate": date, "startTime": clock, "endDate": date, "endTime": clock}),
			"recurringInstanceTime": {kind: timestamp},
			"recurrenceInfo": messageOf(map[string]shape{
				"seriesEndTime": {kind: timestamp}, "dailyPattern": messageOf(nil),
				"weeklyPattern":  messageOf(map[string]shape{"daysOfWeek": listOf(weekday)}),
				"monthlyPattern": messageOf(map[string]shape{"dayOfMonth": num, "dayOfWeekOccurrence": enumOf("DayOfWeekOccurrence", "FIRST", "SECOND", "THIRD", "FOURTH", "LAST")}),
			}),
		}),
		"state": enumOf("LocalPostState", "LOCAL_POST_STATE_UNSPECIFIED", "REJECTED", "LIVE", "PROCESSING", "SCHEDULED", "RECURRING"),
		"media": listOf(messageOf(map[string]shape{
			"name": str, "mediaFormat": enumOf("MediaItem.MediaFormat", "MEDIA_FORMAT_UNSPECIFIED", "PHOTO", "VIDEO"),
			"sourceUrl": str, "googleUrl": str, "thumbnailUrl": str, "createTime": {kind: timestamp}, "description": str,
			"locationAssociation": messageOf(map[string]shape{"category": str, "priceListItemId": str}),
			"dimensions":          messageOf(map[string]shape{"widthPixels": num, "heightPixels": num}),
			"insights":            messageOf(map[string]shape{"viewCount": num}),
			"attribution":         messageOf(map[string]shape{"profileName": str, "profilePhotoUrl": str, "takedownUrl": str, "profileUrl": str}),
			"dataRef":             messageOf(map[string]shape{"resourceName": str}),
		})),
		"topicType": enumOf("LocalPostTopicType", "LOCAL_POST_TOPIC_TYPE_UNSPECIFIED", "STANDARD", "EVENT", "OFFER", "ALERT"),
		"alertType": enumOf("AlertType", "ALERT_TYPE_UNSPECIFIED", "COVID_19"),
		"offer":     messageOf(map[string]shape{"couponCode": str, "redeemOnlineUrl": str, "termsConditions": str}),
	})
}

// shapeError is a body that does not fit its shape.
type shapeError struct {
	rule  RuleID
	field string // snake_case path under the message's name
	words string
}

func (e *shapeError) Error() string { return e.words }

// decodeBody reads a JSON object of the shape and gives it in canonical form: lowerCamel names, plain integers, no nulls.
// root is the message's name in error texts.
func decodeBody(body []byte, s shape, root string) ([]byte, *shapeError) {
	if len(bytes.TrimSpace(body)) == 0 {
		return []byte("{}"), nil // an empty body is an empty message
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return nil, &shapeError{ruleBadJSON, "", "Invalid JSON payload received. " + err.Error()}
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, &shapeError{ruleBadJSON, "", "Invalid JSON payload received. Unknown name \"\": Root element must be a message."}
	}
	v, bad := s.fit(v, root)
	if bad != nil {
		return nil, bad
	}
	return encode(v), nil
}

// fit checks a value and gives its canonical form.
func (s shape) fit(v any, at string) (any, *shapeError) {
	wrong := func(kind string) (any, *shapeError) {
		return nil, &shapeError{ruleBadType, at, fmt.Sprintf("Invalid value at '%s' (%s), %s", at, kind, encode(v))}
	}
	switch s.kind {
	case message:
		object, ok := v.(map[string]any)
		if !ok {
			return wrong("message")
		}
		return s.fitObject(object, at)
	case list:
		items, ok := v.([]any)
		if !ok {
			return wrong("list")
		}
		out := make([]any, 0, len(items))
		for i, item := range items {
			fitted, bad := s.elem.fit(item, fmt.Sprintf("%s[%d]", at, i))
			if bad != nil {
				return nil, bad
			}
			out = append(out, fitted)
		}
		return out, nil
	case anything:
		return v, nil
	case text, timestamp, enumeration: // below
	case integer:
		n, ok := wholeNumber(v)
		if !ok {
			return wrong("TYPE_INT32")
		}
		return n, nil
	case boolean:
		if _, ok := v.(bool); !ok {
			return wrong("TYPE_BOOL")
		}
		return v, nil
	}
	t, ok := v.(string)
	switch {
	case !ok:
		return wrong(orDefault(s.enum, "TYPE_STRING"))
	case s.kind == enumeration && !slices.Contains(s.values, t):
		return wrong(s.enum)
	case s.kind == timestamp:
		if _, err := time.Parse(time.RFC3339Nano, t); err != nil {
			return wrong("type.googleapis.com/google.protobuf.Timestamp")
		}
	}
	return t, nil
}

func (s shape) fitObject(object map[string]any, at string) (any, *shapeError) {
	out := map[string]any{}
	for name, v := range object {
		canonical := name
		if strings.Contains(name, "_") {
			canonical = lowerCamel(name)
		}
		field, ok := s.fields[canonical]
		if !ok || snake(canonical) != name && canonical != name {
			return nil, &shapeError{ruleUnknownField, at, fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", name, at)}
		}
		if v == nil {
			continue // null is an absent field
		}
		fitted, bad := field.fit(v, at+"."+snake(canonical))
		if bad != nil {
			return nil, bad
		}
		out[canonical] = fitted
	}
	return out, nil
}

// wholeNumber reads 5, 5.0, 5e0 and "5".
func wholeNumber(v any) (int32, bool) {
	var digits string
	switch n := v.(type) {
	case json.Number:
		digits = n.String()
	case string:
		digits = n
	default:
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 {
		return 0, false
	}
	return int32(f), true
}
