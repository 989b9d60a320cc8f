package gbp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// PostChange are the changed fields of one post in the words of the contract; a field that is absent stays as it is, those
// within the button, the event and the offer too, and emptying one is said in Clear.
type PostChange struct {
	PostID          string       `json:"post_id"`
	ExpectedVersion string       `json:"expected_version"`
	Summary         string       `json:"summary,omitempty"`
	CallToAction    *ActionDraft `json:"call_to_action,omitempty"`
	Event           *EventDraft  `json:"event,omitempty"`
	Offer           *OfferDraft  `json:"offer,omitempty"`
	Clear           []string     `json:"clear,omitempty"`
}

// PostUpdate is the typed change of post.update.
type PostUpdate struct {
	Posts []PostChange `json:"posts"`
}

// Canonical is the canonical form as bytes.
func (u PostUpdate) Canonical() []byte { return encode(u) }

// postPatch is the body of localPosts.patch: masked fields only. A masked one that is absent is cleared.
type postPatch struct {
	Summary      string          `json:"summary,omitempty"`
	CallToAction *CallToAction   `json:"callToAction,omitempty"`
	Event        *LocalPostEvent `json:"event,omitempty"`
	Offer        *LocalPostOffer `json:"offer,omitempty"`
}

// patchFields are the fields of a post that we change, in Google's spelling, and the words of the contract for them. Topic
// type and media cannot be changed at Google: delete the post and make a new one.
var patchFields = []struct{ mask, word string }{
	{"summary", "summary"}, {"callToAction", "call_to_action"}, {"event", "event"}, {"offer", "offer"},
}

// With is the post after a patch: the masked fields are those of o.
func (p LocalPost) With(o LocalPost, mask []string) LocalPost {
	for _, f := range mask {
		switch f {
		case "summary":
			p.Summary = o.Summary
		case "callToAction":
			p.CallToAction = o.CallToAction
		case "event":
			p.Event = o.Event
		case "offer":
			p.Offer = o.Offer
		}
	}
	return p
}

// Only are the masked fields of a post, as a patch sends them.
func (p LocalPost) Only(mask []string) []byte {
	o := LocalPost{}.With(p, mask)
	return encode(postPatch{o.Summary, o.CallToAction, o.Event, o.Offer})
}

// RenderedUpdate is what a post.update sends for one post.
type RenderedUpdate struct {
	Payload []byte
	Mask    []string
	// Before and After are the masked fields.
	Before, After View
	Post          LocalPost
	Links, Phones []string
}

// RenderPostUpdate lays a change over a post as it was last read and applies the rules of a new post to the whole. at is the
// path of the change in the arguments. A change that changes nothing is a violation.
func RenderPostUpdate(c PostChange, old RemotePost, loc Location, at string, now time.Time, l errs.Locale) (RenderedUpdate, []errs.Violation, []Warning) {
	r := renderer{now: now, keptMedia: old.MediaCount, publicText: publicText{loc: loc, locale: l, phoneAdvice: postPhoneAdvice()}}
	was := draftOf(old.Post)
	r.draft = was
	var mask []string
	take := func(field string, given bool, set, clear func()) {
		word := wordOf(field)
		cleared := slices.Contains(c.Clear, word)
		switch {
		case given && cleared:
			r.refuse("post.clear", "contradiction", word, errs.Tf("%s を変更と clear の両方に指定しています。", "%s is both changed and cleared.", word))
		case given:
			set()
			mask = append(mask, field)
		case cleared:
			clear()
			mask = append(mask, field)
		}
	}
	take("summary", c.Summary != "", func() { r.draft.Summary = c.Summary }, func() { r.draft.Summary = "" })
	take("callToAction", c.CallToAction != nil, func() { r.draft.CallToAction = c.CallToAction.over(was.CallToAction) }, func() { r.draft.CallToAction = nil })
	take("event", c.Event != nil, func() { r.draft.Event = c.Event.over(was.Event) }, func() { r.draft.Event = nil })
	emptied := slices.ContainsFunc(c.Clear, func(word string) bool { return strings.HasPrefix(word, "offer.") })
	take("offer", c.Offer != nil || emptied, func() { r.draft.Offer = c.Offer.over(was.Offer, c.Clear) }, func() { r.draft.Offer = nil })
	if len(mask) == 0 && len(r.violations) == 0 {
		r.refuse("post", "nothing_changes", "", errs.T("変更する項目がありません。", "There is nothing to change."))
	}
	after := old.Post.With(r.renderOnly(mask), mask)
	if len(r.violations) == 0 && bytes.Equal(after.Fingerprint(), old.Post.Fingerprint()) {
		r.refuse("post", "nothing_changes", "", errs.T("投稿はすでにこの内容です。変更する項目がありません。", "The post reads like this already; there is nothing to change."))
	}
	for i, v := range r.violations {
		r.violations[i].Path = at + strings.TrimPrefix(v.Path, "post")
	}
	if len(r.violations) > 0 {
		return RenderedUpdate{}, r.violations, r.warnings
	}
	return RenderedUpdate{
		Payload: after.Only(mask), Mask: mask, Before: View(old.Post.Only(mask)), After: View(after.Only(mask)), Post: after, Links: r.links, Phones: r.phones,
	}, nil, r.warnings
}

// over is a changed button over the one that stands there. One that dials has no address.
func (a *ActionDraft) over(old *ActionDraft) *ActionDraft {
	out := *a
	if out.URL == "" && old != nil && a.ActionType != "CALL" {
		out.URL = old.URL
	}
	return &out
}

// over is a changed event over the one that stands there.
func (e *EventDraft) over(old *EventDraft) *EventDraft {
	out := *e
	if old != nil {
		out.StartTime, out.EndTime = cmp.Or(e.StartTime, old.StartTime), cmp.Or(e.EndTime, old.EndTime)
	}
	return out.filled()
}

// PostClearable are the words that Clear of a PostChange takes: the fields of a post that can be empty, and parts of an offer.
func PostClearable() []string {
	return []string{"summary", "call_to_action", "event", "offer", "offer.coupon_code", "offer.redeem_url", "offer.terms"}
}

// over is a changed offer over the one that stands there, without what is to be emptied; nil with nothing left.
func (o *OfferDraft) over(old *OfferDraft, clear []string) *OfferDraft {
	var out OfferDraft
	if old != nil {
		out = *old
	}
	for word, part := range map[string]*string{"offer.coupon_code": &out.CouponCode, "offer.redeem_url": &out.RedeemURL, "offer.terms": &out.Terms} {
		if slices.Contains(clear, word) {
			*part = ""
		}
	}
	if o != nil {
		out.CouponCode, out.RedeemURL, out.Terms = cmp.Or(o.CouponCode, out.CouponCode), cmp.Or(o.RedeemURL, out.RedeemURL), cmp.Or(o.Terms, out.Terms)
	}
	if out == (OfferDraft{}) {
		return nil
	}
	return &out
}

func wordOf(field string) string {
	i := slices.IndexFunc(patchFields, func(f struct{ mask, word string }) bool { return f.mask == field })
	return patchFields[i].word
}

// draftOf says a post of Google's in the words of the contract, without its media.
func draftOf(p LocalPost) PostDraft {
	d := PostDraft{TopicType: p.TopicType, Summary: p.Summary, LanguageCode: p.LanguageCode}
	if p.CallToAction != nil && p.TopicType != TopicOffer { // Google ignores the button of an offer
		d.CallToAction = &ActionDraft{ActionType: p.CallToAction.ActionType, URL: p.CallToAction.URL}
	}
	if e := p.Event; e != nil {
		s := e.Schedule
		day := func(d Date) string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }
		clock := func(t TimeOfDay) string { return fmt.Sprintf("%02d:%02d", t.Hours, t.Minutes) }
		d.Event = &EventDraft{Title: e.Title, StartDate: day(s.StartDate), StartTime: clock(s.StartTime), EndDate: day(s.EndDate), EndTime: clock(s.EndTime)}
	}
	if o := p.Offer; o != nil {
		d.Offer = &OfferDraft{CouponCode: o.CouponCode, RedeemURL: o.RedeemOnlineURL, Terms: o.TermsConditions}
	}
	return d
}

// TargetFingerprint marks an edit's target: of two edits of one thing the later waits for the earlier.
func TargetFingerprint(name string) []byte {
	h := sha256.Sum256([]byte("target\x00" + name))
	return h[:]
}

// Recreated is a post that was deleted, from its snapshot, as a new post: Google's address of the picture is its source, and
// a time of publication that has passed is left out.
func Recreated(snapshot json.RawMessage, now time.Time) (LocalPost, error) {
	old, err := ParseRemotePost(snapshot)
	if err != nil {
		return LocalPost{}, err
	}
	var w struct {
		Media []struct {
			MediaFormat string `json:"mediaFormat"`
			GoogleURL   string `json:"googleUrl"`
		} `json:"media"`
	}
	if err := json.Unmarshal(snapshot, &w); err != nil {
		return LocalPost{}, fmt.Errorf("local post: %w", err)
	}
	p := old.Post
	p.Media = nil
	for _, m := range w.Media {
		if m.GoogleURL != "" && m.MediaFormat == "PHOTO" && len(p.Media) < PostMediaMax {
			p.Media = append(p.Media, PostMedia{MediaFormat: m.MediaFormat, SourceURL: m.GoogleURL})
		}
	}
	if t, err := time.Parse(time.RFC3339, p.ScheduledTime); err != nil || !t.After(now) {
		p.ScheduledTime = ""
	}
	return p, nil
}

// PublicationTime is the scheduled time in a payload of localPosts.create; zero for none.
func PublicationTime(payload []byte) time.Time {
	var p LocalPost
	if json.Unmarshal(payload, &p) != nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, p.ScheduledTime)
	if err != nil {
		return time.Time{}
	}
	return t
}

// PublicationPassed tells whether a payload's scheduled time is over.
func PublicationPassed(payload []byte, now time.Time) bool {
	t := PublicationTime(payload)
	return !t.IsZero() && !t.After(now)
}
