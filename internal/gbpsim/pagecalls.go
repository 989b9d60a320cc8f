package gbpsim

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// pageCall is a request as a person reads it.
type pageCall struct {
	Seq  int64
	Time time.Time
	// Clock is the time as the list shows it, with the day where that is another one.
	Clock    string
	Location LocationName
	Title    string // of the store
	What     string
	Result   string
	// Kind is done, refused, lost or open, for the colour.
	Kind       string
	Write, New bool
}

// Bounds of what the page lists of a store's requests: writes and readings apart, so that neither hides the other.
const (
	pageWrites   = 6
	pageReadings = 3
)

// last gives the last n entries by location, newest first.
func (j *journal) last(n int) map[LocationName][]Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[LocationName][]Entry{}
	for _, e := range slices.Backward(j.entries[max(0, len(j.entries)-n):]) {
		out[e.Location] = append(out[e.Location], *e)
	}
	return out
}

// pageCallOf takes what Google has rejected since, by name: an answer of 200 is no success then.
func pageCallOf(now time.Time, e Entry, rejected map[string]bool) pageCall {
	t := e.Time.UTC()
	c := pageCall{Seq: e.Seq, Time: t, Clock: t.Format(time.TimeOnly), Location: e.Location, What: e.what(), Write: e.Write, New: e.Effect && e.Write && now.Sub(e.Time) < recentFor}
	if y, m, d := now.Date(); t.Day() != d || t.Month() != m || t.Year() != y {
		c.Clock = t.Format(pageClock)
	}
	c.Kind, c.Result = e.result()
	if e.Effect && e.Write && rejected[e.Resource] {
		c.Kind, c.Result = "refused", c.Result+"; Google rejected it"
	}
	return c
}

// latest are the last writes to all stores.
func latest(now time.Time, calls map[LocationName][]Entry, titles map[LocationName]string, rejected map[string]bool) []pageCall {
	var out []pageCall
	for l, entries := range calls {
		n := 0
		for _, e := range entries {
			if !e.Write || titles[l] == "" {
				continue
			}
			c := pageCallOf(now, e, rejected)
			c.Title = titles[l]
			out = append(out, c)
			if n++; n == pageLatest {
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b pageCall) int { return cmp.Compare(b.Seq, a.Seq) })
	return out[:min(len(out), pageLatest)]
}

// what says in words what a request asked for.
func (e Entry) what() string {
	words := map[Route]string{
		RouteLocalPostsCreate: "publish a post", RouteLocalPostsPatch: "change a post", RouteLocalPostsDelete: "delete a post",
		RouteReviewsReply: "reply to a review", RouteReviewsUnreply: "delete a reply",
		RouteMediaCreate: "add a photo or video", RouteMediaDelete: "delete a photo or video",
		RouteLocationsPatch: "edit the store", RouteLocationsUpdateAttributes: "edit attributes",
	}
	w := words[e.Route]
	if w == "" {
		return orDefault(string(e.Route), e.Method+" "+e.Path)
	}
	if fields := e.masked(); len(fields) > 0 {
		w += ": " + strings.Join(fields, ", ")
	}
	q, err := url.ParseQuery(e.Query)
	if err == nil && (q.Get("validateOnly") == "true" || q.Get("validate_only") == "true") {
		w += " (a check only)"
	}
	return w
}

// masked are the fields that an edit names, without "attributes/".
func (e Entry) masked() []string {
	q, err := url.ParseQuery(e.Query)
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range []string{"updateMask", "update_mask", "attributeMask", "attribute_mask"} {
		for f := range strings.SplitSeq(q.Get(name), ",") {
			if f = strings.TrimPrefix(strings.TrimSpace(f), "attributes/"); f != "" {
				out = append(out, f)
			}
		}
	}
	return out
}

// result says how a request ended.
func (e Entry) result() (kind, words string) {
	done := ""
	if e.Effect && e.Write {
		done = ", took effect"
	}
	switch {
	case e.Outcome == Open:
		kind, words = "open", "under way"
	case e.Outcome == Dropped:
		kind, words = "lost", "connection dropped"+orDefault(done, ", no effect")
	case e.Status >= 200 && e.Status < 300:
		kind, words = "done", fmt.Sprintf("%d%s", e.Status, done)
	default:
		kind, words = "refused", fmt.Sprintf("refused %d%s", e.Status, done)
	}
	if e.Rule != "" {
		words += ", rule " + string(e.Rule)
	}
	if e.Fault != "" {
		words += ", ordered fault " + string(e.Fault)
	}
	return kind, words
}
