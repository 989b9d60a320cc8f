package gbpsim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// findLocation is the location of a v4 path, if the caller may use it under that account.
func (c *call) findLocation() (*location, *reply) {
	l := c.sim.byName[c.location]
	if !c.visible(c.account) || l == nil || l.Account != c.account {
		r := notFound(ruleNoAccess)
		return nil, &r
	}
	if l.PermissionDenied {
		r := permissionDenied()
		return nil, &r
	}
	return l, nil
}

// createPost is POST .../localPosts.
func (c *call) createPost() (reply, effect) {
	body, refusal := readPost(c.body, c.sim.postShape)
	if refusal != nil {
		return *refusal, nil
	}
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	if l.PostsDisabled {
		return *invalid(rulePostsDisabled, postsDisabled, "", "LOCATION_DISABLED_FOR_LOCAL_POST_API: local posts are disabled for this location.", ""), nil
	}
	if refusal := c.judgePost(body); refusal != nil {
		return *refusal, nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		p := c.store(l, body)
		r := answer(p.wire(c.now))
		r.effect, r.post = true, p.name
		return r
	}
}

// store makes a post out of an accepted body at c.now.
func (c *call) store(l *location, body postBody) *post {
	k, now := c.sim.knobs, c.now.Truncate(time.Microsecond)
	id, order := c.sim.postIDs.next()
	p := &post{
		name: PostName(string(c.account) + "/" + string(c.location) + "/localPosts/" + id), location: l.Name, email: c.grant.email, sent: body, born: now, order: order,
		inLists: now.Add(seconds(k.ListLagSeconds)), inGets: now.Add(seconds(k.GetLagSeconds)),
		search:  "https://local.google.com/place?id=" + l.cid() + "&use=posts&lpsid=" + id,
		verdict: c.moderate(body, now),
	}
	if p.sent.LanguageCode == "" {
		p.sent.LanguageCode = orDefault(l.LanguageCode, "ja")
	}
	if p.sent.TopicType == "OFFER" {
		p.sent.CallToAction = nil
	}
	for i, m := range body.Media {
		key := fmt.Sprintf("AF1Qip%s%d", stableDigits(order, 24), i)
		p.media = append(p.media, wireMedia{
			Name:        string(c.account) + "/" + string(c.location) + "/media/localPosts/" + key,
			MediaFormat: m.text("mediaFormat"), GoogleURL: "https://lh3.googleusercontent.com/p/" + key,
		})
	}
	if f := c.fault; f != nil && f.HiddenSeconds > 0 {
		until := now.Add(seconds(f.HiddenSeconds))
		if f.HiddenIn != "get" {
			p.inLists = until
		}
		if f.HiddenIn != "list" {
			p.inGets = until
		}
	}
	l.insert(p)
	c.sim.posts[p.name] = p
	return p
}

// moderate decides what becomes of a new post.
func (c *call) moderate(body postBody, now time.Time) verdict {
	v := verdict{then: stateLive, recurring: body.Event != nil && len(body.Event.RecurrenceInfo) > 0}
	if t, err := time.Parse(time.RFC3339Nano, body.ScheduledTime); err == nil {
		v.scheduled = t
	}
	if slices.ContainsFunc(body.texts(), holdsPhone) {
		v.then = stateRejected
	} else if d := seconds(c.sim.knobs.ProcessingSeconds); d > 0 {
		v.first, v.settled = stateProcessing, now.Add(d)
	}
	if f := c.fault; f != nil && f.State != "" {
		v.first, v.then, v.settled = f.State, orDefault(f.SettleState, stateLive), time.Time{}
		if f.SettleSeconds > 0 {
			v.settled = now.Add(seconds(f.SettleSeconds))
		}
	}
	return v
}

// getPost is GET .../localPosts/{p}.
func (c *call) getPost() (reply, effect) {
	if _, refusal := c.findLocation(); refusal != nil {
		return *refusal, nil
	}
	p := c.sim.posts[c.post]
	if p == nil || !p.visibleInGets(c.now) {
		return notFound(rulePostNotFound), nil
	}
	return answer(p.wire(c.now)), nil
}

// listPosts is GET .../localPosts, newest first. A page continues behind the last post of the previous one, so posts that
// come in between do not shift it.
func (c *call) listPosts() (reply, effect) {
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	p, refusal := c.page(20, 100)
	if refusal != nil {
		return *refusal, nil
	}
	var out struct {
		LocalPosts    []wirePost `json:"localPosts,omitempty"`
		NextPageToken string     `json:"nextPageToken,omitempty"`
	}
	if p.empty {
		out.NextPageToken = c.next(p.after, true)
		return answer(out), nil
	}
	last := parseCursor(p.after)
	var previous *post
	for _, q := range slices.Backward(l.posts) {
		if !q.visibleInLists(c.now) || last != nil && q.compare(last) >= 0 {
			continue
		}
		if len(out.LocalPosts) == p.size {
			out.NextPageToken = c.next(previous.cursor(), false)
			break
		}
		out.LocalPosts = append(out.LocalPosts, q.wire(c.now))
		previous = q
	}
	return answer(out), nil
}

func (p *post) cursor() string {
	return strconv.FormatInt(p.born.UnixMicro(), 36) + "." + strconv.FormatUint(p.order, 36)
}

// parseCursor gives a stand-in with the same place in the order, or nil for the start.
func parseCursor(s string) *post {
	born, order, ok := strings.Cut(s, ".")
	if !ok {
		return nil
	}
	at, _ := strconv.ParseInt(born, 36, 64) // ours
	n, _ := strconv.ParseUint(order, 36, 64)
	return &post{born: time.UnixMicro(at), order: n}
}

// deletePost is DELETE .../localPosts/{p}; the second one answers 404.
func (c *call) deletePost() (reply, effect) {
	l, refusal := c.findLocation()
	if refusal != nil {
		return *refusal, nil
	}
	p := c.sim.posts[c.post]
	if p == nil || !p.exists(c.now) {
		return notFound(rulePostNotFound), nil
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		p.died, p.goneFromLists, p.goneGets = c.now, c.now, c.now
		if f := c.fault; f != nil && f.HiddenSeconds > 0 {
			until := c.now.Add(seconds(f.HiddenSeconds))
			if f.HiddenIn != "get" {
				p.goneFromLists = until
			}
			if f.HiddenIn != "list" {
				p.goneGets = until
			}
		}
		r := answer(struct{}{})
		r.effect, r.post = true, p.name
		return r
	}
}
