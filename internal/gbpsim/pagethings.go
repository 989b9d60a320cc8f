package gbpsim

import (
	"encoding/json"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// pagePost, pageMedia and pageReview are a profile's things as the page shows them; New marks what came or changed of late.
type (
	pagePost struct {
		Post
		Details []string
		Updated time.Time
		New     bool
	}
	pageMedia struct {
		Media
		// Thumb is the address of a picture of this server, "" for files elsewhere, which the page does not load.
		Thumb, Size string
		New         bool
	}
	pageReview struct {
		Review
		New, ReplyNew bool
	}
)

func (d pageData) post(p Post) pagePost {
	out := pagePost{Post: p}
	var w wirePost
	if json.Unmarshal(p.Google, &w) != nil {
		return out
	}
	if e := w.Event; e != nil {
		line := e.Title
		if s := e.Schedule; s != nil {
			if s.StartDate != nil {
				line += " " + s.StartDate.shown() + clockOf(s.StartTime)
			}
			if s.EndDate != nil {
				line += " to " + s.EndDate.shown() + clockOf(s.EndTime)
			}
		}
		out.Details = append(out.Details, line)
	}
	if o := w.Offer; o != nil {
		out.Details = append(out.Details, filled(labelled("coupon ", o.CouponCode), o.RedeemOnlineURL, o.TermsConditions)...)
	}
	if a := w.CallToAction; a != nil {
		out.Details = append(out.Details, "button "+a.ActionType+" "+a.URL)
	}
	if w.ScheduledTime != "" {
		out.Details = append(out.Details, "scheduled for "+w.ScheduledTime)
	}
	for _, u := range p.SourceURLs {
		out.Details = append(out.Details, "photo "+u)
	}
	if t, err := time.Parse(time.RFC3339Nano, w.UpdateTime); err == nil && t.After(p.CreateTime) {
		out.Updated = t
	}
	out.New = d.recent(p.CreateTime) || d.recent(out.Updated)
	return out
}

func clockOf(t *timeOfDay) string {
	if t == nil {
		return ""
	}
	return " " + t.shown()
}

func (d pageData) media(m Media, host string) pageMedia {
	// What the world began with is not news, although it was made when the simulator started.
	out := pageMedia{Media: m, New: m.Email != "" && d.recent(m.CreateTime)}
	var w wireMediaItem
	if json.Unmarshal(m.Google, &w) == nil && w.Dimensions != nil {
		out.Size = strconv.Itoa(w.Dimensions.WidthPixels) + " × " + strconv.Itoa(w.Dimensions.HeightPixels)
	}
	if u, err := url.Parse(m.SourceURL); err == nil && (u.Host == host || nearby(u.Hostname())) && strings.HasPrefix(u.Path, "/pictures/") && m.Format == formatPhoto {
		out.Thumb = u.EscapedPath()
	}
	return out
}

// nearby tells whether a host is a name of this machine or of its private network, under which the simulator may be known.
func nearby(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || ip == nil && !strings.Contains(host, ".")
}

func (d pageData) review(r Review) pageReview {
	out := pageReview{Review: r}
	if r.Reply != nil {
		out.ReplyNew = r.Reply.Email != "" && d.recent(r.Reply.UpdateTime)
	}
	return out
}

// labelled puts a word before a text that is there.
func labelled(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}
