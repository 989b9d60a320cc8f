package gbp

import (
	"fmt"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Bounds that Google enforces on posts. SummaryMax and EventTitleMax were probed against the live API by others (2026-07):
// one character more is refused and nothing is created. They count characters (Unicode code points), not bytes.
const (
	SummaryMax    = 1500
	EventTitleMax = 58
	// farOff is from how many days on the dates of an event are so far away that the year may be wrong: a year and a month.
	farOff       = 400
	PostMediaMax = 1
	// CouponCodeMax and TermsMax are ours: Google publishes no bounds.
	CouponCodeMax = 58
	TermsMax      = 5000
)

// Warning is something a person should know before agreeing; it refuses nothing.
type Warning struct {
	LocationID LocationID `json:"location_id,omitempty" jsonschema:"store that it concerns"`
	Code       string     `json:"code" jsonschema:"stable code of the warning"`
	Message    string     `json:"message" jsonschema:"the warning in words"`
	// Span is the part of the text that is meant, where there is one.
	Span string `json:"span,omitempty" jsonschema:"the part of the text that is meant"`
}

// Rendered is what will be sent for one store.
type Rendered struct {
	Location Location
	Post     LocalPost
	// Payload are the exact bytes that are stored, shown and sent.
	Payload     []byte
	Fingerprint []byte
	// SendBefore is the publication time of a scheduled post: sending later would publish at another time than agreed. Zero: none.
	SendBefore time.Time
	// Links and Phones are what the text and buttons would put before the public.
	Links  []string
	Phones []string
	// Sources are the files that Google will fetch.
	Sources []Source
}

// RenderPost turns a store's draft into Google's shape. All violations are reported together. files are the media check's
// verdicts about the post's files, nil for none. now is needed for what is relative to today: scheduled times and events in the
// past.
func RenderPost(files SourceFiles, d PostDraft, loc Location, now time.Time, l errs.Locale) (Rendered, []errs.Violation, []Warning) {
	r := renderer{draft: d, now: now, files: files, publicText: publicText{loc: loc, locale: l, phoneAdvice: postPhoneAdvice()}}
	post := r.render()
	if len(r.violations) > 0 {
		return Rendered{}, r.violations, r.warnings
	}
	out := Rendered{Location: loc, Post: post, Payload: post.Encode(), Fingerprint: post.Fingerprint(), SendBefore: r.sendBefore}
	out.Links, out.Phones, out.Sources = r.links, r.phones, r.sources
	return out, nil, r.warnings
}

type renderer struct {
	publicText
	draft      PostDraft
	now        time.Time
	sendBefore time.Time
	// keptMedia is how many pictures an existing post keeps.
	keptMedia int
	files     SourceFiles
	sources   []Source
}

func postPhoneAdvice() errs.Text {
	return errs.T("本文に電話番号があると Google に拒否されることがあります。CALL ボタンを使ってください。", "Google tends to reject posts with a phone number in the text; use a CALL button instead.")
}

func (r *renderer) render() LocalPost {
	d := r.draft
	p := LocalPost{TopicType: d.TopicType, LanguageCode: d.LanguageCode}
	p.Summary = r.summary()
	r.topic()
	p.CallToAction = r.action(d.CallToAction)
	p.Event = r.event(d.Event)
	p.Offer = r.offer(d.Offer)
	p.Media = r.media(d.Media)
	p.ScheduledTime = r.scheduled(d.ScheduledTime)
	return p
}

// renderOnly renders the masked fields and leaves the others alone: what is on a page already is not judged again.
func (r *renderer) renderOnly(mask []string) (p LocalPost) {
	r.topic()
	for _, f := range mask {
		switch f {
		case "summary":
			p.Summary = r.summary()
		case "callToAction":
			p.CallToAction = r.action(r.draft.CallToAction)
		case "event":
			p.Event = r.event(r.draft.Event)
		case "offer":
			p.Offer = r.offer(r.draft.Offer)
		}
	}
	return p
}

func (r *renderer) summary() string {
	if !Legible(r.draft.Summary) && len(r.draft.Media)+r.keptMedia == 0 {
		r.refuse("post.summary", "required", "", errs.T("本文か画像のどちらかが必要です。", "A post needs a summary or a photo."))
	}
	return r.text("post.summary", r.draft.Summary, SummaryMax)
}

func (r *renderer) topic() {
	d := r.draft
	switch d.TopicType {
	case TopicStandard:
		if d.Event != nil {
			r.refuse("post.event", "not_allowed", "", errs.T("STANDARD の投稿に event は付けられません。topic_type を EVENT にしてください。", "A STANDARD post has no event; use topic_type EVENT."))
		}
	case TopicEvent, TopicOffer:
		if d.Event == nil {
			r.refuse("post.event.title", "required", "", errs.Tf("%s の投稿には event.title が必要です。", "A %s post needs event.title.", d.TopicType))
			r.refuse("post.event.start_date", "required", "", errs.Tf("%s の投稿には event の期間 (start_date, end_date) が必要です。", "A %s post needs event.start_date and event.end_date.", d.TopicType))
		}
	default:
		r.refuse("post.topic_type", "enum", d.TopicType, errs.Tf("topic_type %q は使えません。STANDARD, EVENT, OFFER のどれかです。", "topic_type %q is not one of STANDARD, EVENT, OFFER.", d.TopicType))
	}
	if d.Offer != nil && d.TopicType != TopicOffer {
		r.refuse("post.offer", "not_allowed", "", errs.T("offer は topic_type OFFER の投稿だけに付けられます。", "offer belongs to posts of topic_type OFFER only."))
	}
}

func (r *renderer) action(a *ActionDraft) *CallToAction {
	if a == nil {
		return nil
	}
	const at = "post.call_to_action"
	if r.draft.TopicType == TopicOffer {
		r.refuse(at, "not_allowed", a.ActionType, errs.T("OFFER の投稿ではボタンは Google に無視されます。call_to_action を外し、offer.redeem_url を使ってください。", "Google ignores a button on an OFFER; remove call_to_action and use offer.redeem_url."))
		return nil
	}
	if a.ActionType == ActionCall {
		if a.URL != "" {
			r.refuse(at+".url", "not_allowed", a.URL, errs.T("CALL はプロフィールの電話番号に発信します。url を外してください。", "CALL dials the phone number on the profile; remove url."))
		}
		if r.loc.Profile.PrimaryPhone == "" {
			r.warn("NO_PHONE_ON_PROFILE", "", errs.T("この店舗のプロフィールに電話番号がないため、CALL ボタンは機能しません。", "This store's profile has no phone number, so a CALL button has nothing to dial."))
		}
		return &CallToAction{ActionType: a.ActionType}
	}
	if a.URL == "" {
		r.refuse(at+".url", "required", "", errs.Tf("%s のボタンには url が必要です。", "A %s button needs a url.", a.ActionType))
		return nil
	}
	return &CallToAction{ActionType: a.ActionType, URL: r.url(at+".url", a.URL)}
}

// published is when the public can see the post: now, or at its scheduled time.
func (r *renderer) published() time.Time {
	if t, err := time.Parse(time.RFC3339, r.draft.ScheduledTime); err == nil && t.After(r.now) {
		return t
	}
	return r.now
}

func (r *renderer) event(e *EventDraft) *LocalPostEvent {
	if e == nil {
		return nil
	}
	const at = "post.event"
	if !Legible(e.Title) {
		r.refuse(at+".title", "required", "", errs.T("イベントの名前が空です。", "The event has no title."))
	}
	start, okStart := r.wallClock(at+".start", e.StartDate, e.StartTime)
	end, okEnd := r.wallClock(at+".end", e.EndDate, e.EndTime)
	if okStart && okEnd {
		if end.Before(start) {
			r.refuse(at+".end_date", "before_start", e.EndDate+" "+e.EndTime, errs.Tf("終了 %s が開始 %s より前です。", "The end %s is before the start %s.", end.Format("2006-01-02 15:04"), start.Format("2006-01-02 15:04")))
		} else if end.Before(wall(r.published().In(r.zone()))) {
			r.warn("EVENT_IN_PAST", "", errs.Tf("公開されるときには、期間は %s (店舗の現地時刻) に終わっています。", "When it is published, the event has ended at %s, the store's local time.", end.Format("2006-01-02 15:04")))
		} else if today := r.published(); end.After(today.AddDate(0, 0, farOff)) || start.Before(today.AddDate(0, 0, -farOff)) {
			r.warn("DATE_FAR_OFF", "", errs.Tf("期間が今日から 1 年以上離れています (%s 〜 %s)。年を確かめてください。", "The period is more than a year off (%s to %s); check the year.", start.Format(time.DateOnly), end.Format(time.DateOnly)))
		}
	}
	return &LocalPostEvent{
		Title: r.text(at+".title", e.Title, EventTitleMax),
		Schedule: TimeInterval{
			StartDate: dateOf(start), StartTime: timeOf(start), EndDate: dateOf(end), EndTime: timeOf(end),
		},
	}
}

func (r *renderer) offer(o *OfferDraft) *LocalPostOffer {
	if o == nil {
		return nil
	}
	out := &LocalPostOffer{CouponCode: r.text("post.offer.coupon_code", o.CouponCode, CouponCodeMax), TermsConditions: r.text("post.offer.terms", o.Terms, TermsMax)}
	if o.RedeemURL != "" {
		out.RedeemOnlineURL = r.url("post.offer.redeem_url", o.RedeemURL)
	}
	return out
}

func (r *renderer) media(list []MediaSource) []PostMedia {
	if len(list) > PostMediaMax {
		r.refuse("post.media", "max_items", "", errs.Tf("投稿に付けられる画像は %d 枚までです (%d 枚指定)。", "A post takes at most %d photo; %d were given.", PostMediaMax, len(list)))
	}
	var out []PostMedia
	for i, m := range list {
		at := indexed("post.media", i) + ".source_url"
		u, ok := r.sourceURL(at, m.SourceURL)
		if !ok {
			continue
		}
		if isVideo(u.Path) {
			r.refuse(at, "video", u.String(), errs.T("投稿に動画は使えません。JPEG か PNG の画像を指定してください。", "Posts take no video; give a JPEG or PNG photo."))
			continue
		}
		address, _ := r.file(at, u, UsePost, r.files)
		out = append(out, PostMedia{MediaFormat: string(Photo), SourceURL: address})
		r.sources = append(r.sources, Source{URL: u.String(), Use: UsePost})
	}
	return out
}

func (r *renderer) scheduled(s string) string {
	if s == "" {
		return ""
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		r.refuse("post.scheduled_time", "date_time", s, errs.T("scheduled_time は 2026-12-24T09:00:00+09:00 の形で、時差を付けて指定してください。", "scheduled_time must look like 2026-12-24T09:00:00+09:00, offset included."))
		return ""
	}
	if !t.After(r.now) {
		r.refuse("post.scheduled_time", "in_past", s, errs.Tf("scheduled_time %s は過去です。", "scheduled_time %s is in the past.", s))
	}
	r.sendBefore = t
	return t.UTC().Format(time.RFC3339)
}

func (r *renderer) wallClock(at, date, clock string) (time.Time, bool) {
	t, err := time.Parse("2006-01-02 15:04", date+" "+clock)
	if err != nil {
		r.refuse(at+"_date", "date", date+" "+clock, errs.Tf("%q は日時として正しくありません。YYYY-MM-DD と HH:MM で、店舗の現地時刻を指定してください。", "%q is no date and time; give YYYY-MM-DD and HH:MM in the store's local time.", date+" "+clock))
		return time.Time{}, false
	}
	return t, true
}

func (r *renderer) zone() *time.Location {
	if z, err := time.LoadLocation(r.loc.Timezone); err == nil {
		return z
	}
	return time.UTC
}

func violation(l errs.Locale, at, rule, value string, loc LocationID, msg errs.Text) errs.Violation {
	return errs.Violation{Path: at, Rule: rule, Message: msg.In(l), Value: errs.ShownValue(value), LocationID: int64(loc)}
}

func indexed(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

// wall forgets the zone and keeps what the clock on the wall shows.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func dateOf(t time.Time) Date { return Date{Year: t.Year(), Month: int(t.Month()), Day: t.Day()} }

func timeOf(t time.Time) TimeOfDay { return TimeOfDay{Hours: t.Hour(), Minutes: t.Minute()} }
