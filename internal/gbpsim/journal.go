package gbpsim

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Entry is what one request to a Google host was and did. Requests to the admin API leave no entry.
type Entry struct {
	// Seq counts requests from 1 in the order in which they arrived; it goes on after the journal is cleared.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	// Method, Host and Path are the request's; Query has no access_token.
	Method string `json:"method"`
	Host   string `json:"host"`
	Path   string `json:"path"`
	Query  string `json:"query,omitempty"`
	// Route is "" for a request that met no route.
	Route Route `json:"route,omitempty"`
	// Account and Location are those of the path. Location is the v1 name, whichever API was called.
	Account  AccountName  `json:"account,omitempty"`
	Location LocationName `json:"location,omitempty"`
	// Email is the person whose grant the request used, "" when it had none that is known.
	Email string `json:"email,omitempty"`
	// Body is what was sent, byte for byte; empty for the token endpoint, whose bodies are secrets, and "N bytes, sha256 ..."
	// for uploads.
	Body string `json:"body,omitempty"`
	// Status is the HTTP status, 0 while the request is open and when the connection was dropped without an answer.
	Status int `json:"status"`
	// Outcome is open, answered or reset.
	Outcome Outcome `json:"outcome"`
	// Rule is the rule that refused the request.
	Rule RuleID `json:"rule,omitempty"`
	// Fault is the ordered fault that fired, if any.
	Fault FaultID `json:"fault,omitempty"`
	// Unknown marks a request that the simulator does not simulate.
	Unknown bool `json:"unknown,omitempty"`
	// Resource is the full name of the thing that the path names (a post, a review, a media item) or that the request created; "" without one.
	Resource string `json:"resource,omitempty"`
	// Effect tells that something was created, changed or deleted: Resource, at EffectTime (later than now for a delayed
	// effect). Post and Media are Resource where it is one.
	Effect     bool      `json:"effect"`
	EffectTime time.Time `json:"effect_time,omitzero"`
	Post       PostName  `json:"post,omitempty"`
	Media      MediaName `json:"media,omitempty"`
	// Write tells that the route is one that edits a location.
	Write bool `json:"write,omitempty"`
}

// Outcome is how a request ended.
type Outcome string

// The outcomes of a request.
const (
	Open     Outcome = "open"
	Answered Outcome = "answered"
	Dropped  Outcome = "reset"
)

// EntryFilter picks entries; its zero value picks all.
type EntryFilter struct {
	Route    Route
	Location LocationName // any spelling
	// Effects leaves only entries with an effect.
	Effects bool
	// After leaves only entries with a higher Seq.
	After int64
}

func (f EntryFilter) match(e Entry) bool {
	return (f.Route == "" || f.Route == e.Route) && (f.Location == "" || bareLocation(f.Location) == e.Location) && (!f.Effects || e.Effect) && e.Seq > f.After
}

// journal has its own lock, so that waiting for an entry holds up no request.
type journal struct {
	mu      sync.Mutex
	seq     int64
	entries []*Entry
	// flying counts open requests per location; peaks keeps the highest numbers since the journal was cleared.
	flying, flyingWrites map[LocationName]int
	peaks, writePeaks    map[LocationName]int
	// changed is closed and replaced at each change.
	changed chan struct{}
	watched bool
}

func newJournal() *journal {
	j := &journal{flying: map[LocationName]int{}, flyingWrites: map[LocationName]int{}, changed: make(chan struct{})}
	j.clear()
	return j
}

func (j *journal) begin(e Entry) *Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq, e.Outcome = j.seq, Open
	j.entries = append(j.entries, &e)
	if e.Location != "" {
		j.flying[e.Location]++
		j.peaks[e.Location] = max(j.peaks[e.Location], j.flying[e.Location])
		if e.Write {
			j.flyingWrites[e.Location]++
			j.writePeaks[e.Location] = max(j.writePeaks[e.Location], j.flyingWrites[e.Location])
		}
	}
	j.wake()
	return &e
}

// update changes an entry that begin returned.
func (j *journal) update(e *Entry, change func(*Entry)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(e)
	j.wake()
}

// end closes an entry.
func (j *journal) end(e *Entry, outcome Outcome, status int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Outcome, e.Status = outcome, status
	if e.Location != "" {
		j.flying[e.Location]--
		if e.Write {
			j.flyingWrites[e.Location]--
		}
	}
	j.wake()
}

func (j *journal) wake() {
	if j.watched {
		close(j.changed)
		j.changed, j.watched = make(chan struct{}), false
	}
}

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = nil
	j.peaks, j.writePeaks = map[LocationName]int{}, map[LocationName]int{}
	for l, n := range j.flying {
		if n > 0 {
			j.peaks[l] = n
		}
	}
	for l, n := range j.flyingWrites {
		if n > 0 {
			j.writePeaks[l] = n
		}
	}
}

func (j *journal) list(f EntryFilter) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.listLocked(f)
}

func (j *journal) listLocked(f EntryFilter) []Entry {
	from := 0
	if f.After > 0 {
		from, _ = slices.BinarySearchFunc(j.entries, f.After+1, func(e *Entry, seq int64) int { return int(e.Seq - seq) })
	}
	out := []Entry{}
	for _, e := range j.entries[from:] {
		if f.match(*e) {
			out = append(out, *e)
		}
	}
	return out
}

// await returns once enough is true of the entries that match, and gives them.
func (j *journal) await(ctx context.Context, f EntryFilter, enough func([]Entry) bool) ([]Entry, error) {
	for {
		j.mu.Lock()
		got, changed := j.listLocked(f), j.changed
		j.watched = true
		j.mu.Unlock()
		if enough(got) {
			return got, nil
		}
		select {
		case <-ctx.Done():
			return got, context.Cause(ctx)
		case <-changed:
		}
	}
}
