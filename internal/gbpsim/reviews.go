package gbpsim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxReply      = 4096 // bytes of UTF-8; Google's v4 reference
	maxReviewPage = 50   // reviews of a page; older documentation said 200
	maxBatch      = 50   // locations of a batch
)

// reviewReplyShape is the v4 ReviewReply (2026-07), output-only fields included.
func reviewReplyShape() shape {
	str := shape{kind: text}
	return messageOf(map[string]shape{
		"comment": str, "updateTime": {kind: timestamp}, "policyViolation": str,
		"reviewReplyState": enumOf("ReviewReplyState", "REVIEW_REPLY_STATE_UNSPECIFIED", replyPending, replyRejected, replyApproved),
	})
}

func batchReviewsShape() shape {
	str := shape{kind: text}
	return messageOf(map[string]shape{
		"locationNames": listOf(str), "pageSize": {kind: integer}, "pageToken": str, "orderBy": str, "ignoreRatingOnlyReviews": {kind: boolean},
	})
}

// findReviewed is a location of the caller that has reviews.
func (c *call) findReviewed() (*location, *reply) {
	l, refusal := c.findLocation()
	if refusal != nil {
		return nil, refusal
	}
	if !l.verified() {
		status, word := http.StatusBadRequest, "FAILED_PRECONDITION"
		if c.sim.knobs.UnverifiedStatus == http.StatusForbidden {
			status, word = http.StatusForbidden, "PERMISSION_DENIED"
		}
		r := refuse(ruleVerifiedOnly, status, word, "The location is not verified.")
		return nil, &r
	}
	return l, nil
}

// verified tells whether the merchant's word counts at Google.
func (l *location) verified() bool {
	var m struct {
		HasVoiceOfMerchant bool `json:"hasVoiceOfMerchant"`
	}
	return json.Unmarshal(l.fields["metadata"], &m) == nil && m.HasVoiceOfMerchant
}

// findReview is the review of the path.
func (c *call) findReview() (*location, *review, *reply) {
	l, refusal := c.findReviewed()
	if refusal != nil {
		return nil, nil, refusal
	}
	r := c.sim.reviews[c.review]
	if r == nil {
		missing := notFound(ruleReviewNotFound)
		return nil, nil, &missing
	}
	return l, r, nil
}

// getReview is GET .../reviews/{r}.
func (c *call) getReview() (reply, effect) {
	_, r, refusal := c.findReview()
	if refusal != nil {
		return *refusal, nil
	}
	return answer(r.wire(c.now, byGet)), nil
}

// sortReviews puts reviews into the wanted order.
func sortReviews(all []*review, by string) *reply {
	order := func(a, b *review) int { return a.compare(b) }
	switch strings.Join(strings.Fields(by), " ") {
	case "", "updateTime desc", "update_time desc":
	case "rating":
		order = func(a, b *review) int { return cmp.Or(cmp.Compare(a.Stars, b.Stars), a.compare(b)) }
	case "rating desc":
		order = func(a, b *review) int { return cmp.Or(cmp.Compare(b.Stars, a.Stars), a.compare(b)) }
	default:
		r := invalidArgument(ruleReviewOrderBy, "order_by", "Invalid order_by.")
		return &r
	}
	slices.SortFunc(all, order)
	return nil
}

// listReviews is GET .../reviews. A page is a stretch of the order as it is now, so a review that changes between two pages
// moves others from one to the next.
func (c *call) listReviews() (reply, effect) {
	l, refusal := c.findReviewed()
	if refusal != nil {
		return *refusal, nil
	}
	p, refusal := c.page(maxReviewPage, maxReviewPage)
	if refusal != nil {
		return *refusal, nil
	}
	all := slices.Clone(l.reviews)
	if refusal := sortReviews(all, c.parameter("orderBy")); refusal != nil {
		return *refusal, nil
	}
	page, token := cut(c, p, all)
	var out struct {
		Reviews       []map[string]json.RawMessage `json:"reviews,omitempty"`
		AverageRating float64                      `json:"averageRating,omitempty"`
		Total         int                          `json:"totalReviewCount,omitempty"`
		NextPageToken string                       `json:"nextPageToken,omitempty"`
	}
	for _, r := range page {
		out.Reviews = append(out.Reviews, r.wire(c.now, byList))
	}
	sum, rated := 0, 0
	for _, r := range all {
		if r.Stars > 0 {
			sum, rated = sum+r.Stars, rated+1
		}
	}
	if rated > 0 {
		out.AverageRating = float64(sum) / float64(rated)
	}
	out.Total, out.NextPageToken = len(all), token
	return answer(out), nil
}

// batchReviews is POST .../locations:batchGetReviews: the reviews of several locations, one location after the other.
func (c *call) batchReviews() (reply, effect) {
	var in struct {
		LocationNames []string `json:"locationNames"`
		PageSize      int      `json:"pageSize"`
		PageToken     string   `json:"pageToken"`
		OrderBy       string   `json:"orderBy"`
		WithText      bool     `json:"ignoreRatingOnlyReviews"`
	}
	if refusal := c.decode(c.sim.batchShape, "batch_get_reviews_request", &in); refusal != nil {
		return *refusal, nil
	}
	if !c.visible(c.account) {
		return notFound(ruleNoAccess), nil
	}
	if n := len(in.LocationNames); n == 0 || n > maxBatch {
		return *invalid(ruleBatchLocations, invalidValue, "location_names", fmt.Sprintf("%d locations. The minimum is 1 and the maximum is %d.", n, maxBatch), ""), nil
	}
	size := ""
	if in.PageSize != 0 {
		size = strconv.Itoa(in.PageSize)
	}
	p, refusal := c.pageOf(size, in.PageToken, maxReviewPage, maxReviewPage)
	if refusal != nil {
		return *refusal, nil
	}
	var all []*review
	for i, name := range in.LocationNames {
		account, _, ok := strings.Cut(name, "/locations/")
		location := bareLocation(LocationName(name))
		if !ok || AccountName(account) != c.account || !location.valid() {
			return *invalid(ruleBatchLocations, invalidValue, fmt.Sprintf("location_names[%d]", i), "Invalid location name.", name), nil
		}
		one := *c
		one.location = location
		l, refusal := one.findReviewed()
		if refusal != nil {
			return *refusal, nil
		}
		some := slices.DeleteFunc(slices.Clone(l.reviews), func(r *review) bool { return in.WithText && r.Comment == "" })
		if refusal := sortReviews(some, in.OrderBy); refusal != nil {
			return *refusal, nil
		}
		all = append(all, some...)
	}
	type entry struct {
		Name   string                     `json:"name"`
		Review map[string]json.RawMessage `json:"review"`
	}
	var out struct {
		LocationReviews []entry `json:"locationReviews,omitempty"`
		NextPageToken   string  `json:"nextPageToken,omitempty"`
	}
	page, token := cut(c, p, all)
	for _, r := range page {
		location, _, _ := strings.Cut(string(r.Name), "/reviews/")
		out.LocationReviews = append(out.LocationReviews, entry{location, r.wire(c.now, byList)})
	}
	out.NextPageToken = token
	return answer(out), nil
}

// decode reads a JSON body of a shape.
func (c *call) decode(s shape, root string, into any) *reply {
	canonical, bad := decodeBody(c.body, s, root)
	if bad != nil {
		r := badRequest(bad.rule, bad.field, bad.words)
		return &r
	}
	if err := json.Unmarshal(canonical, into); err != nil {
		panic("gbpsim: a body that fits its shape always decodes: " + err.Error())
	}
	return nil
}

// updateReply is PUT .../reviews/{r}/reply.
func (c *call) updateReply() (reply, effect) {
	var in struct {
		Comment string `json:"comment"`
	}
	if refusal := c.decode(c.sim.replyShape, "reply", &in); refusal != nil {
		return *refusal, nil
	}
	l, r, refusal := c.findReview()
	switch {
	case refusal != nil:
		return *refusal, nil
	case strings.TrimSpace(in.Comment) == "":
		return *invalid(ruleReplyText, missingValue, "comment", "A comment is required.", ""), nil
	case len(in.Comment) > maxReply:
		return *invalid(ruleReplyLength, tooLarge, "comment", fmt.Sprintf("The comment has %d bytes. The maximum is %d.", len(in.Comment), maxReply), ""), nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		v := c.version(r)
		v.comment, v.verdict = in.Comment, c.moderateReply(in.Comment, v.born)
		out := answer(v.wire(v.born))
		out.effect = true
		return out
	}
}

// deleteReply is DELETE .../reviews/{r}/reply.
func (c *call) deleteReply() (reply, effect) {
	l, r, refusal := c.findReview()
	if refusal != nil {
		return *refusal, nil
	}
	if r.replied(c.now, byFact) == nil {
		if c.sim.knobs.NoReplyStatus == http.StatusOK {
			return answer(struct{}{}), nil
		}
		return notFound(ruleReplyMissing), nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		c.version(r).gone = true
		out := answer(struct{}{})
		out.effect = true
		return out
	}
}

// version adds a version of a review's reply that takes effect at c.now.
func (c *call) version(r *review) *replyVersion {
	now := c.now.Truncate(time.Microsecond)
	v := &replyVersion{email: c.grant.email, born: now, inLists: now, inGets: now}
	if f := c.fault; f != nil && f.HiddenSeconds > 0 {
		until := now.Add(seconds(f.HiddenSeconds))
		if f.HiddenIn != "get" {
			v.inLists = until
		}
		if f.HiddenIn != "list" {
			v.inGets = until
		}
	}
	r.versions = append(r.versions, v)
	return v
}

var webAddress = regexp.MustCompile(`(?i)https?:/|\bwww\.[a-z0-9-]`)

// moderateReply decides what becomes of a reply.
func (c *call) moderateReply(comment string, now time.Time) replyVerdict {
	v := replyVerdict{then: replyApproved}
	if holdsPhone(comment) || webAddress.MatchString(comment) {
		v.then, v.policy = replyRejected, "ADVERTISING_AND_SOLICITATION"
	}
	if d := seconds(c.sim.knobs.ReplyPendingSeconds); d > 0 {
		v.first, v.settled = replyPending, now.Add(d)
	}
	if f := c.fault; f != nil && f.State != "" {
		v = replyVerdict{first: f.State, then: orDefault(f.SettleState, replyApproved), policy: orDefault(f.PolicyViolation, "GENERIC_VIOLATION")}
		if f.SettleSeconds > 0 {
			v.settled = now.Add(seconds(f.SettleSeconds))
		}
	}
	return v
}
