package gbp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// PostDraft is a post in the words of the contract, before templates are rendered for a store.
type PostDraft struct {
	TopicType     string        `json:"topic_type"`
	Summary       string        `json:"summary,omitempty"`
	LanguageCode  string        `json:"language_code,omitempty"`
	CallToAction  *ActionDraft  `json:"call_to_action,omitempty"`
	Event         *EventDraft   `json:"event,omitempty"`
	Offer         *OfferDraft   `json:"offer,omitempty"`
	Media         []MediaSource `json:"media,omitempty"`
	ScheduledTime string        `json:"scheduled_time,omitempty"`
}

// ActionDraft is the button of a post.
type ActionDraft struct {
	ActionType string `json:"action_type"`
	URL        string `json:"url,omitempty"`
}

// EventDraft is an event in the store's wall clock: dates YYYY-MM-DD, times HH:MM. A missing start time is 00:00, a
// missing end time 23:59; both are filled in by Normalise and so are seen in the preview.
type EventDraft struct {
	Title     string `json:"title"`
	StartDate string `json:"start_date"`
	StartTime string `json:"start_time,omitempty"`
	EndDate   string `json:"end_date"`
	EndTime   string `json:"end_time,omitempty"`
}

// OfferDraft belongs to OFFER posts.
type OfferDraft struct {
	CouponCode string `json:"coupon_code,omitempty"`
	RedeemURL  string `json:"redeem_url,omitempty"`
	Terms      string `json:"terms,omitempty"`
}

// MediaSource is a picture that Google fetches from a public address.
type MediaSource struct {
	SourceURL string `json:"source_url"`
}

// PostOverride replaces parts of the draft for one store; a part that is present replaces the draft's whole part.
type PostOverride struct {
	LocationID    LocationID    `json:"location_id"`
	Summary       string        `json:"summary,omitempty"`
	CallToAction  *ActionDraft  `json:"call_to_action,omitempty"`
	Event         *EventDraft   `json:"event,omitempty"`
	Offer         *OfferDraft   `json:"offer,omitempty"`
	Media         []MediaSource `json:"media,omitempty"`
	ScheduledTime string        `json:"scheduled_time,omitempty"`
}

// PostCreate is the typed change of post.create.
type PostCreate struct {
	LocationIDs []LocationID   `json:"location_ids"`
	Post        PostDraft      `json:"post"`
	Overrides   []PostOverride `json:"overrides,omitempty"`
}

// TopicStandard, TopicEvent and TopicOffer are the topic types that we send.
const (
	TopicStandard = "STANDARD"
	TopicEvent    = "EVENT"
	TopicOffer    = "OFFER"
	ActionCall    = "CALL"
)

// Normalise fills in defaults and removes repeated ids, keeping the order of first mention. Its result is the canonical
// form: what is hashed, previewed, bound to a token and stored.
func (c PostCreate) Normalise() PostCreate {
	var ids []LocationID
	for _, id := range c.LocationIDs {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	c.LocationIDs = ids
	if c.Post.TopicType == "" {
		c.Post.TopicType = TopicStandard
	}
	c.Post.Event = c.Post.Event.filled()
	overrides := make([]PostOverride, len(c.Overrides))
	for i, o := range c.Overrides {
		o.Event = o.Event.filled()
		overrides[i] = o
	}
	c.Overrides = overrides
	return c
}

func (e *EventDraft) filled() *EventDraft {
	if e == nil {
		return nil
	}
	c := *e
	if c.StartTime == "" {
		c.StartTime = "00:00"
	}
	if c.EndTime == "" {
		c.EndTime = "23:59"
	}
	return &c
}

// Canonical is the canonical form as bytes.
func (c PostCreate) Canonical() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic("gbp: a change always marshals: " + err.Error())
	}
	return b
}

// For is the draft of one store: the common draft with the store's override laid over it.
func (c PostCreate) For(id LocationID) PostDraft {
	d := c.Post
	i := slices.IndexFunc(c.Overrides, func(o PostOverride) bool { return o.LocationID == id })
	if i < 0 {
		return d
	}
	o := c.Overrides[i]
	if o.Summary != "" {
		d.Summary = o.Summary
	}
	if o.CallToAction != nil {
		d.CallToAction = o.CallToAction
	}
	if o.Event != nil {
		d.Event = o.Event
	}
	if o.Offer != nil {
		d.Offer = o.Offer
	}
	if len(o.Media) > 0 {
		d.Media = o.Media
	}
	if o.ScheduledTime != "" {
		d.ScheduledTime = o.ScheduledTime
	}
	return d
}

// AsGiven puts the violations of one store's draft, found under "post", at the arguments that they come from: what the store's
// override replaces is under "overrides[i]".
func (c PostCreate) AsGiven(id LocationID, found []errs.Violation) []errs.Violation {
	i := slices.IndexFunc(c.Overrides, func(o PostOverride) bool { return o.LocationID == id })
	if i < 0 {
		return found
	}
	o := c.Overrides[i]
	own := map[string]bool{
		"summary": o.Summary != "", "call_to_action": o.CallToAction != nil, "event": o.Event != nil, "offer": o.Offer != nil,
		"media": len(o.Media) > 0, "scheduled_time": o.ScheduledTime != "",
	}
	out := slices.Clone(found)
	for n, v := range out {
		rest, _ := strings.CutPrefix(v.Path, "post.")
		if part, _, _ := strings.Cut(rest, "."); own[strings.TrimRight(part, "[]0123456789")] {
			out[n].Path = indexed("overrides", i) + "." + rest
		}
	}
	return out
}

// OverrideViolations finds overrides that name no target or name one twice.
func (c PostCreate) OverrideViolations(l errs.Locale) []errs.Violation {
	var out []errs.Violation
	seen := map[LocationID]bool{}
	for i, o := range c.Overrides {
		path := indexed("overrides", i) + ".location_id"
		switch {
		case !slices.Contains(c.LocationIDs, o.LocationID):
			out = append(out, violation(l, path, "not_a_target", fmt.Sprint(o.LocationID), o.LocationID, errs.Tf("location_id %d は location_ids にありません。", "location_id %d is not one of location_ids.", o.LocationID)))
		case seen[o.LocationID]:
			out = append(out, violation(l, path, "duplicate", fmt.Sprint(o.LocationID), o.LocationID, errs.Tf("location_id %d の上書きが複数あります。", "location_id %d is overridden more than once.", o.LocationID)))
		}
		seen[o.LocationID] = true
	}
	return out
}
