package gbp

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// LocalPost is the body of Google's localPosts.create, exactly the fields that we ever send.
// Source: Google's v4 reference for accounts.locations.localPosts, read 2026-11.
type LocalPost struct {
	LanguageCode  string          `json:"languageCode,omitempty" jsonschema:"language of the text (BCP 47)"`
	Summary       string          `json:"summary,omitempty" jsonschema:"text of the post, at most 1500 characters"`
	CallToAction  *CallToAction   `json:"callToAction,omitempty" jsonschema:"button under the post"`
	Event         *LocalPostEvent `json:"event,omitempty" jsonschema:"event of EVENT and OFFER posts"`
	Offer         *LocalPostOffer `json:"offer,omitempty" jsonschema:"offer of OFFER posts"`
	Media         []PostMedia     `json:"media,omitempty" jsonschema:"photos of the post"`
	ScheduledTime string          `json:"scheduledTime,omitempty" jsonschema:"publication time (RFC 3339)"`
	TopicType     string          `json:"topicType" jsonschema:"STANDARD, EVENT or OFFER"`
}

// CallToAction is the button under a post. URL is absent for CALL, which dials the profile's phone.
type CallToAction struct {
	ActionType string `json:"actionType" jsonschema:"kind of the button"`
	URL        string `json:"url,omitempty" jsonschema:"where the button leads"`
}

// LocalPostEvent is what EVENT and OFFER posts are about.
type LocalPostEvent struct {
	Title    string       `json:"title" jsonschema:"title of the event, at most 58 characters"`
	Schedule TimeInterval `json:"schedule" jsonschema:"when, in the store's wall clock"`
}

// TimeInterval is wall-clock time at the store; Google wants all four parts and takes no zone.
type TimeInterval struct {
	StartDate Date      `json:"startDate" jsonschema:"first day"`
	StartTime TimeOfDay `json:"startTime" jsonschema:"time of day it starts"`
	EndDate   Date      `json:"endDate" jsonschema:"last day"`
	EndTime   TimeOfDay `json:"endTime" jsonschema:"time of day it ends"`
}

// Date is Google's calendar date.
type Date struct {
	Year  int `json:"year" jsonschema:"year"`
	Month int `json:"month" jsonschema:"month, 1 to 12"`
	Day   int `json:"day" jsonschema:"day of the month"`
}

// TimeOfDay is Google's time of day. Google drops zero parts when it reads back, so {} is midnight.
type TimeOfDay struct {
	Hours   int `json:"hours" jsonschema:"hour, 0 to 24"`
	Minutes int `json:"minutes" jsonschema:"minute"`
	Seconds int `json:"seconds,omitempty" jsonschema:"second"`
	Nanos   int `json:"nanos,omitempty" jsonschema:"nanosecond"`
}

// LocalPostOffer belongs to OFFER posts; all parts are optional.
type LocalPostOffer struct {
	CouponCode      string `json:"couponCode,omitempty" jsonschema:"coupon code"`
	RedeemOnlineURL string `json:"redeemOnlineUrl,omitempty" jsonschema:"where the offer is redeemed"`
	TermsConditions string `json:"termsConditions,omitempty" jsonschema:"terms of the offer"`
}

// PostMedia is one picture of a post. Google never echoes SourceURL; it answers with Name and GoogleURL.
type PostMedia struct {
	MediaFormat string `json:"mediaFormat" jsonschema:"PHOTO"`
	SourceURL   string `json:"sourceUrl,omitempty" jsonschema:"public address that Google fetches"`
}

// Google's states of a post. The set is open: an unknown state is kept as it came.
const (
	PostProcessing = "PROCESSING"
	PostLive       = "LIVE"
	PostRejected   = "REJECTED"
	PostScheduled  = "SCHEDULED"
	PostRecurring  = "RECURRING"
)

// RemotePost is a post as Google returned it. Raw keeps every field, known or not, for snapshots.
type RemotePost struct {
	Name       PostName
	State      string
	CreateTime time.Time
	UpdateTime time.Time
	SearchURL  string
	Post       LocalPost
	// MediaCount is how many media items Google confirmed.
	MediaCount int
	Raw        json.RawMessage
}

// ParseRemotePost reads one post of Google's answer.
func ParseRemotePost(raw json.RawMessage) (RemotePost, error) {
	var w struct {
		LocalPost
		Name       PostName  `json:"name"`
		State      string    `json:"state"`
		CreateTime time.Time `json:"createTime"`
		UpdateTime time.Time `json:"updateTime"`
		SearchURL  string    `json:"searchUrl"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return RemotePost{}, fmt.Errorf("local post: %w", err)
	}
	if w.Name.Location() == "" {
		return RemotePost{}, fmt.Errorf("local post: %q is not the name of a post", w.Name)
	}
	return RemotePost{
		Name: w.Name, State: w.State, CreateTime: w.CreateTime, UpdateTime: w.UpdateTime, SearchURL: w.SearchURL,
		Post: w.LocalPost, MediaCount: len(w.Media), Raw: append(json.RawMessage(nil), raw...),
	}, nil
}

// Encode gives the bytes that are stored, shown and sent: <, > and & stay as they are.
func (p LocalPost) Encode() []byte { return encode(p) }

// Fingerprint identifies the content of a post among the posts of one location: the fields that Google returns unchanged,
// after NFC, LF and trimming, with Google's dropped zero parts filled in. Pictures count by number only, because their
// addresses come back rewritten; the language is left out, because Google may detect it.
func (p LocalPost) Fingerprint() []byte {
	f := struct {
		Topic, Summary, Action, ActionURL string
		Event                             *LocalPostEvent
		Offer                             LocalPostOffer
		Scheduled                         string
		Media                             int
	}{Topic: p.TopicType, Summary: foldText(p.Summary), Media: len(p.Media)}
	if p.CallToAction != nil && p.TopicType != "OFFER" { // Google ignores the button of an offer
		f.Action, f.ActionURL = p.CallToAction.ActionType, p.CallToAction.URL
	}
	if p.Event != nil {
		e := *p.Event
		e.Title = foldText(e.Title)
		f.Event = &e
	}
	if p.Offer != nil {
		f.Offer = LocalPostOffer{CouponCode: foldText(p.Offer.CouponCode), RedeemOnlineURL: p.Offer.RedeemOnlineURL, TermsConditions: foldText(p.Offer.TermsConditions)}
	}
	if t, err := time.Parse(time.RFC3339, p.ScheduledTime); err == nil {
		f.Scheduled = t.UTC().Format(time.RFC3339)
	}
	b, err := json.Marshal(f)
	if err != nil {
		panic("gbp: a fingerprint always marshals: " + err.Error())
	}
	h := sha256.Sum256(b)
	return h[:]
}

func foldText(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.TrimSpace(norm.NFC.String(s))
}

// Version is the digest of a post's content and time of its last edit for expected_version. Its state is no part of it: a
// post that goes live, or is rejected, is the same post.
func (r RemotePost) Version() string {
	h := sha256.New()
	h.Write(r.Post.Fingerprint())
	_, _ = fmt.Fprintf(h, "|%s", r.UpdateTime.UTC().Format(time.RFC3339Nano))
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}
