package gbpsim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// edits is what lies between a location's fields as the merchant set them and what the public sees.
type edits struct {
	// queued are accepted edits whose effect a fault has put off.
	queued []queuedEdit
	// pending are edits under review, oldest first.
	pending []pendingEdit
	// live is Google's own version of some fields; null is Google's having none.
	live map[string]json.RawMessage
}

// queuedEdit is carried out at an instant.
type queuedEdit struct {
	at time.Time
	do func()
}

// pendingEdit is one field under review.
type pendingEdit struct {
	field  string
	before json.RawMessage // nil: it was absent
	// settled is when the review ends, zero for never; reverted is its verdict.
	settled  time.Time
	reverted bool
}

// settle brings a location up to an instant. It runs under the lock before every look at it.
func (l *location) settle(now time.Time) {
	r := &l.review
	for len(r.queued) > 0 && !r.queued[0].at.After(now) {
		q := r.queued[0]
		r.queued = r.queued[1:]
		q.do()
	}
	r.pending = slices.DeleteFunc(r.pending, func(p pendingEdit) bool {
		if p.settled.IsZero() || p.settled.After(now) {
			return false
		}
		if p.reverted {
			l.put(p.field, p.before)
		}
		return true
	})
}

// put sets or, for nil, removes a field of the merchant's view and keeps the seed form in step.
func (l *location) put(field string, v json.RawMessage) {
	if l.fields = maps.Clone(l.fields); v == nil {
		delete(l.fields, field)
	} else {
		l.fields[field] = v
	}
	l.Location = l.withFields(l.fields)
}

// withFields is the seed form of a location whose v1 fields are these.
func (l Location) withFields(fields map[string]json.RawMessage) Location {
	word := func(field string) (s string) {
		_ = json.Unmarshal(fields[field], &s) // absent is ""
		return s
	}
	l.Title, l.StoreCode, l.Website, l.Labels = word("title"), word("storeCode"), word("websiteUri"), nil
	_ = json.Unmarshal(fields["labels"], &l.Labels) // absent is none
	var p struct {
		PrimaryPhone     string   `json:"primaryPhone"`
		AdditionalPhones []string `json:"additionalPhones"`
		Description      string   `json:"description"`
	}
	_ = json.Unmarshal(fields["phoneNumbers"], &p)
	_ = json.Unmarshal(fields["profile"], &p)
	l.Phone, l.AdditionalPhones, l.Description = p.PrimaryPhone, p.AdditionalPhones, p.Description
	l.RegularHours, l.SpecialHours, l.Categories, l.OpenInfo = fields["regularHours"], fields["specialHours"], fields["categories"], fields["openInfo"]
	l.Fields = maps.Clone(fields)
	delete(l.Fields, "name")
	return l
}

// voice tells whether edits of the location reach the public at all.
func (l *location) voice() bool {
	var m struct {
		HasVoiceOfMerchant bool `json:"hasVoiceOfMerchant"`
	}
	_ = json.Unmarshal(l.fields["metadata"], &m) // absent is false
	return m.HasVoiceOfMerchant
}

// submit carries out an edit of fields at c.now (nil values empty them); a fault or the knobs decide about its review.
func (c *call) submit(l *location, changes map[string]json.RawMessage) {
	p := pendingEdit{reverted: c.sim.knobs.EditsReverted}
	wait := seconds(c.sim.knobs.EditPendingSeconds)
	under := wait > 0 || !l.voice()
	if l.voice() && wait > 0 {
		p.settled = c.now.Add(wait)
	}
	if f := c.fault; f != nil && f.State != "" {
		under, p.settled, p.reverted = true, time.Time{}, f.SettleState == stateRejected
		if f.SettleSeconds > 0 {
			p.settled = c.now.Add(seconds(f.SettleSeconds))
		}
		if f.State == stateRejected { // reverted as soon as it is read
			p.settled, p.reverted = c.now, true
		}
	}
	do := func() {
		for _, field := range slices.Sorted(maps.Keys(changes)) {
			delete(l.review.live, field)
			before := l.fields[field]
			if i := slices.IndexFunc(l.review.pending, func(x pendingEdit) bool { return x.field == field }); i >= 0 {
				before = l.review.pending[i].before // what the public still sees
				l.review.pending = slices.Delete(l.review.pending, i, i+1)
			}
			l.put(field, changes[field])
			if under {
				p := p
				p.field, p.before = field, before
				l.review.pending = append(l.review.pending, p)
			}
		}
	}
	c.at(l, do)
}

// at carries something out at c.now, which a fault may have put into the future.
func (c *call) at(l *location, do func()) {
	if c.now.After(c.sim.Now()) {
		l.review.queued = append(l.review.queued, queuedEdit{c.now, do})
		slices.SortStableFunc(l.review.queued, func(a, b queuedEdit) int { return a.at.Compare(b.at) })
		return
	}
	do()
}

// shown is the merchant's view of a location as reads give it.
func (c *call) shown(l *location) map[string]json.RawMessage {
	l.settle(c.now)
	out := maps.Clone(l.fields)
	if c.sim.knobs.EditReadsOld {
		l.undoPending(out)
	}
	out["metadata"] = l.metadata(out["metadata"])
	return out
}

// undoPending puts the values back that the public still sees.
func (l *location) undoPending(fields map[string]json.RawMessage) {
	for _, p := range l.review.pending {
		if p.before == nil {
			delete(fields, p.field)
		} else {
			fields[p.field] = p.before
		}
	}
}

// metadata is Google's metadata with what follows from edits.
func (l *location) metadata(raw json.RawMessage) json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &m) // checked by the seed
	for name, on := range map[string]bool{"hasPendingEdits": len(l.review.pending) > 0, "hasGoogleUpdated": len(l.review.live) > 0} {
		if on {
			m[name] = json.RawMessage("true")
		}
	}
	return encode(m)
}

// googleUpdated is GET /v1/locations/{l}:getGoogleUpdated.
func (c *call) googleUpdated() (reply, effect) {
	mask, refusal := c.readMask()
	if refusal != nil {
		return *refusal, nil
	}
	l, refusal := c.findStore()
	if refusal != nil {
		return *refusal, nil
	}
	shown := c.shown(l)
	l.undoPending(shown)
	for field, v := range l.review.live {
		if string(v) == "null" {
			delete(shown, field)
		} else {
			shown[field] = v
		}
	}
	var out struct {
		Location    map[string]json.RawMessage `json:"location"`
		DiffMask    string                     `json:"diffMask,omitempty"`
		PendingMask string                     `json:"pendingMask,omitempty"`
	}
	out.Location = mask.apply(shown)
	out.DiffMask = strings.Join(slices.Sorted(maps.Keys(l.review.live)), ",")
	var pending []string
	for _, p := range l.review.pending {
		pending = append(pending, p.field)
	}
	out.PendingMask = strings.Join(slices.Sorted(slices.Values(pending)), ",")
	return answer(out), nil
}

// findStore is the location of a v1 path, up to date, if the caller may use it.
func (c *call) findStore() (*location, *reply) {
	l := c.sim.byName[c.location]
	if l == nil || !c.visible(l.Account) {
		r := notFound(ruleNoAccess)
		return nil, &r
	}
	if l.PermissionDenied {
		r := permissionDenied()
		return nil, &r
	}
	l.settle(c.now)
	return l, nil
}
