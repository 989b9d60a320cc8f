package gbpsim

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The states of a post.
const (
	stateRejected   = "REJECTED"
	stateLive       = "LIVE"
	stateProcessing = "PROCESSING"
	stateScheduled  = "SCHEDULED"
	stateRecurring  = "RECURRING"
)

// Post is a post that exists, as a test or a person looks at it.
type Post struct {
	Name     PostName     `json:"name"`
	Location LocationName `json:"location"`
	// Email is who created it.
	Email      string    `json:"email"`
	State      string    `json:"state"`
	TopicType  string    `json:"topic_type"`
	Summary    string    `json:"summary,omitempty"`
	CreateTime time.Time `json:"create_time"`
	// SourceURLs are the addresses of the media as they were sent; Google does not show them.
	SourceURLs []string `json:"source_urls,omitempty"`
	// Google is the post as the v4 API answers it.
	Google json.RawMessage `json:"google"`
}

// postBody is what a client writes, in canonical form.
type postBody struct {
	LanguageCode  string        `json:"languageCode"`
	Summary       string        `json:"summary"`
	CallToAction  *callToAction `json:"callToAction"`
	ScheduledTime string        `json:"scheduledTime"`
	Event         *event        `json:"event"`
	Media         []mediaBody   `json:"media"`
	TopicType     string        `json:"topicType"`
	AlertType     string        `json:"alertType"`
	Offer         *offer        `json:"offer"`
}

type callToAction struct {
	ActionType string `json:"actionType,omitempty"`
	URL        string `json:"url,omitempty"`
}

type event struct {
	Title          string          `json:"title,omitempty"`
	Schedule       *schedule       `json:"schedule,omitempty"`
	RecurrenceInfo json.RawMessage `json:"recurrenceInfo,omitempty"`
}

type schedule struct {
	StartDate *date      `json:"startDate,omitempty"`
	StartTime *timeOfDay `json:"startTime,omitempty"`
	EndDate   *date      `json:"endDate,omitempty"`
	EndTime   *timeOfDay `json:"endTime,omitempty"`
}

type date struct {
	Year  int `json:"year,omitempty"`
	Month int `json:"month,omitempty"`
	Day   int `json:"day,omitempty"`
}

type timeOfDay struct {
	Hours   int `json:"hours,omitempty"`
	Minutes int `json:"minutes,omitempty"`
	Seconds int `json:"seconds,omitempty"`
	Nanos   int `json:"nanos,omitempty"`
}

type offer struct {
	CouponCode      string `json:"couponCode,omitempty"`
	RedeemOnlineURL string `json:"redeemOnlineUrl,omitempty"`
	TermsConditions string `json:"termsConditions,omitempty"`
}

// mediaBody keeps every member of a sent item, because most of them are refused.
type mediaBody map[string]json.RawMessage

func (m mediaBody) text(field string) string {
	var s string
	_ = json.Unmarshal(m[field], &s) // the shape was checked; absent is ""
	return s
}

type wirePost struct {
	Name          PostName      `json:"name"`
	LanguageCode  string        `json:"languageCode,omitempty"`
	Summary       string        `json:"summary,omitempty"`
	CallToAction  *callToAction `json:"callToAction,omitempty"`
	State         string        `json:"state"`
	UpdateTime    string        `json:"updateTime"`
	CreateTime    string        `json:"createTime"`
	ScheduledTime string        `json:"scheduledTime,omitempty"`
	Event         *event        `json:"event,omitempty"`
	Media         []wireMedia   `json:"media,omitempty"`
	SearchURL     string        `json:"searchUrl"`
	TopicType     string        `json:"topicType"`
	AlertType     string        `json:"alertType,omitempty"`
	Offer         *offer        `json:"offer,omitempty"`
}

type wireMedia struct {
	Name        string `json:"name"`
	MediaFormat string `json:"mediaFormat"`
	GoogleURL   string `json:"googleUrl"`
}

// post is a stored post. All its instants are the simulator's time.
type post struct {
	name     PostName
	location LocationName
	email    string
	sent     postBody
	media    []wireMedia
	search   string
	// born and died bound its existence; a zero died is not yet. Both may lie ahead.
	born, died time.Time
	edited     time.Time // zero for a post that nobody changed
	order      uint64    // among posts of one instant
	// inLists and inGets are when it becomes visible, gone* when a deletion does.
	inLists, inGets         time.Time
	goneFromLists, goneGets time.Time
	verdict                 verdict
}

// verdict is what moderation says, and when.
type verdict struct {
	// first is the state until settled, then is the one from there on; a zero settled is never.
	first, then string
	settled     time.Time
	scheduled   time.Time // zero without scheduledTime
	recurring   bool
}

func (p *post) exists(now time.Time) bool {
	return !now.Before(p.born) && (p.died.IsZero() || now.Before(p.died))
}

func (p *post) visibleInLists(now time.Time) bool { return visible(now, p.inLists, p.goneFromLists) }
func (p *post) visibleInGets(now time.Time) bool  { return visible(now, p.inGets, p.goneGets) }

func visible(now, from, until time.Time) bool {
	return !now.Before(from) && (until.IsZero() || now.Before(until))
}

// state is the post's state at an instant.
func (v verdict) state(now time.Time) string {
	s := v.then
	if v.first != "" && (v.settled.IsZero() || now.Before(v.settled)) {
		s = v.first
	}
	switch {
	case s == stateLive && now.Before(v.scheduled):
		return stateScheduled
	case s == stateLive && v.recurring:
		return stateRecurring
	}
	return s
}

const googleTime = "2006-01-02T15:04:05.000000Z"

func (p *post) wire(now time.Time) wirePost {
	w := wirePost{
		Name: p.name, LanguageCode: p.sent.LanguageCode, Summary: p.sent.Summary, CallToAction: p.sent.CallToAction, State: p.verdict.state(now),
		CreateTime: p.born.UTC().Format(googleTime), UpdateTime: p.born.UTC().Format(googleTime),
		Event: p.sent.Event, Media: p.media, SearchURL: p.search, TopicType: p.sent.TopicType, AlertType: p.sent.AlertType, Offer: p.sent.Offer,
	}
	if !p.edited.IsZero() {
		w.UpdateTime = p.edited.UTC().Format(googleTime)
	}
	if !p.verdict.scheduled.IsZero() {
		w.ScheduledTime = p.verdict.scheduled.UTC().Format("2006-01-02T15:04:05.999999999Z")
	}
	return w
}

func (p *post) show(now time.Time) Post {
	out := Post{
		Name: p.name, Location: p.location, Email: p.email, State: p.verdict.state(now), TopicType: p.sent.TopicType, Summary: p.sent.Summary,
		CreateTime: p.born.UTC().Truncate(time.Microsecond), Google: encode(p.wire(now)),
	}
	for _, m := range p.sent.Media {
		out.SourceURLs = append(out.SourceURLs, m.text("sourceUrl"))
	}
	return out
}

// compare orders posts by birth, oldest first.
func (p *post) compare(q *post) int {
	if d := p.born.Compare(q.born); d != 0 {
		return d
	}
	return cmp.Compare(p.order, q.order)
}

// insert keeps a location's posts oldest first; the usual place is the end.
func (l *location) insert(p *post) {
	at := len(l.posts)
	for at > 0 && l.posts[at-1].compare(p) > 0 {
		at--
	}
	l.posts = slices.Insert(l.posts, at, p)
}

// Posts gives the posts of a location ("" for all locations) that exist now, newest first, whether or not a fault hides
// them from the API. A deleted post and one whose delayed effect is still to come do not exist.
func (s *Sim) Posts(location LocationName) []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	out := []Post{}
	for _, l := range s.locations {
		if location != "" && l.Name != bareLocation(location) {
			continue
		}
		for _, p := range slices.Backward(l.posts) {
			if p.exists(now) {
				out = append(out, p.show(now))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Post) int {
		if d := strings.Compare(string(a.Location), string(b.Location)); location == "" && d != 0 {
			return d
		}
		return 0 // already newest first
	})
	return out
}
