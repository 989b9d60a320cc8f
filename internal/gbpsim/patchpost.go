package gbpsim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The fields of a post that a patch may change, that it may not, and that are Google's alone.
var (
	patchable  = []string{"summary", "callToAction", "event", "offer", "languageCode", "scheduledTime"}
	unpatched  = []string{"topicType", "media", "alertType"}
	outputOnly = []string{"name", "state", "createTime", "updateTime", "searchUrl"}
)

// patchPost is PATCH .../localPosts/{p}.
func (c *call) patchPost() (reply, effect) {
	body, refusal := readPost(c.body, c.sim.postShape)
	if refusal != nil {
		return *refusal, nil
	}
	mask, refusal := c.patchMask()
	if refusal != nil {
		return *refusal, nil
	}
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	p := c.sim.posts[c.post]
	if p == nil || !p.exists(c.now) {
		return notFound(rulePostNotFound), nil
	}
	next := p.sent
	for _, field := range mask {
		next.take(field, body)
	}
	judged := next
	judged.Media = nil // fetched when the post was made
	if refusal := c.judgePost(judged); refusal != nil && (refusal.rule != ruleNothingToShow || len(next.Media) == 0) {
		return *refusal, nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		p.sent, p.edited = next, c.now.Truncate(time.Microsecond)
		p.verdict = c.moderate(next, p.edited)
		r := answer(p.wire(c.now))
		r.effect, r.post = true, p.name
		return r
	}
}

// patchMask reads the fields to change, in lowerCamel.
func (c *call) patchMask() ([]string, *reply) {
	var out []string
	for _, path := range splitMask(c.parameter("updateMask")) {
		field, _, _ := strings.Cut(path, ".")
		switch field = camelOf(field); {
		case slices.Contains(outputOnly, field):
			return nil, invalid(rulePatchOutput, readOnly, snake(field), "The field is read-only.", "")
		case slices.Contains(unpatched, field):
			return nil, invalid(rulePatchFixed, unsupportedValue, snake(field), "The field cannot be changed.", "")
		case !slices.Contains(patchable, field):
			r := badRequest(rulePatchPath, "update_mask", fmt.Sprintf("Invalid field path %q.", path))
			return nil, &r
		}
		out = append(out, field)
	}
	if len(out) == 0 {
		r := refuse(rulePatchMask, 400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
		return nil, &r
	}
	return out, nil
}

// take replaces one field by the body's; absent clears it.
func (p *postBody) take(field string, from postBody) {
	switch field {
	case "summary":
		p.Summary = from.Summary
	case "callToAction":
		p.CallToAction = from.CallToAction
	case "event":
		p.Event = from.Event
	case "offer":
		p.Offer = from.Offer
	case "languageCode":
		p.LanguageCode = from.LanguageCode
	case "scheduledTime":
		p.ScheduledTime = from.ScheduledTime
	}
}

func splitMask(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(p string) bool { return strings.TrimSpace(p) == "" })
}

// camelOf turns snake_case into lowerCamel.
func camelOf(s string) string {
	head, rest, _ := strings.Cut(s, "_")
	for part := range strings.SplitSeq(rest, "_") {
		if part != "" {
			head += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return head
}
