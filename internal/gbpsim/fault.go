package gbpsim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// FaultID names an ordered fault.
type FaultID string

// Fault orders something to happen to some requests. The zero value of every condition matches, so Fault{Answer: AnswerReset}
// resets each connection until it is deleted. Of several faults that match one request the first that fires wins; all of
// them count it.
type Fault struct {
	// ID is chosen by AddFault when it is "".
	ID FaultID `json:"id,omitempty"`

	// Route, Location, Account, Resource and Email are conditions. Location is taken in any spelling; Resource is the full
	// name of a post or review in the path; Email is the grant's.
	Route    Route        `json:"route,omitempty"`
	Location LocationName `json:"location,omitempty"`
	Account  AccountName  `json:"account,omitempty"`
	Resource string       `json:"resource,omitempty"`
	Email    string       `json:"email,omitempty"`
	// From is the first matching request that the fault fires on, counted from 1 (0 is 1), and Count how many it fires on
	// from there (0 is all).
	From  int `json:"from,omitempty"`
	Count int `json:"count,omitempty"`

	// Effect says what becomes of the request's effect; see EffectMode.
	Effect EffectMode `json:"effect,omitempty"`
	// DelaySeconds is how much later, by the simulator's clock, an EffectLater happens.
	DelaySeconds float64 `json:"delay_seconds,omitempty"`

	// Answer says what the client gets; "" is the true answer.
	Answer AnswerKind `json:"answer,omitempty"`
	// Status is the HTTP status of an answer: 0 is 503 for AnswerError, 502 for AnswerHTML, 200 for AnswerEmpty and AnswerBrokenJSON.
	Status int `json:"status,omitempty"`
	// Word, Message, Reason, Metadata and Details fill Google's error body. Word is the google.rpc.Code name, "" the usual
	// one of the status. Reason adds an ErrorInfo with Metadata.
	Word     string            `json:"word,omitempty"`
	Message  string            `json:"message,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Details  []Detail          `json:"details,omitempty"`
	// Body replaces the body of any answer kind.
	Body string `json:"body,omitempty"`
	// RetryAfter is the value of a Retry-After header, as it is.
	RetryAfter string `json:"retry_after,omitempty"`

	// LatencyBeforeMS and LatencyAfterMS are real time before and after the effect.
	LatencyBeforeMS int `json:"latency_before_ms,omitempty"`
	LatencyAfterMS  int `json:"latency_after_ms,omitempty"`
	// Hold stops the request before or after its effect until Release.
	Hold HoldPoint `json:"hold,omitempty"`

	// HiddenSeconds is how long, by the simulator's clock, a created post stays out of lists and gets, or a deleted one stays in
	// them; a changed or deleted reply is read as it was before.
	// HiddenIn restricts that to "list" or "get".
	HiddenSeconds float64 `json:"hidden_seconds,omitempty"`
	HiddenIn      string  `json:"hidden_in,omitempty"`
	// State forces the state of a created post (REJECTED or PROCESSING) or of a written reply (REJECTED or PENDING). It becomes
	// SettleState ("" is LIVE, for a reply APPROVED) after SettleSeconds; 0 is never. PolicyViolation is the reason that a
	// rejected reply shows; "" is GENERIC_VIOLATION.
	State         string  `json:"state,omitempty"`
	SettleSeconds float64 `json:"settle_seconds,omitempty"`
	SettleState   string  `json:"settle_state,omitempty"`

	PolicyViolation string `json:"policy_violation,omitempty"`
	// Revoke ends the grant that the request uses before the request is looked at.
	Revoke bool `json:"revoke,omitempty"`
}

// EffectMode says what becomes of a request's effect when a fault fires.
type EffectMode string

// The effect modes.
const (
	// EffectDefault is EffectNone with an Answer and EffectCommit without one.
	EffectDefault EffectMode = ""
	// EffectNone leaves the world as it is; the request is not even validated.
	EffectNone EffectMode = "none"
	// EffectCommit carries the request out before the fault's answer. A request that is refused gets its refusal.
	EffectCommit EffectMode = "commit"
	// EffectLater accepts the request now and carries it out DelaySeconds later.
	EffectLater EffectMode = "later"
)

// AnswerKind is what a client gets instead of the true answer.
type AnswerKind string

// The answer kinds.
const (
	AnswerTrue       AnswerKind = ""            // the answer of the rules
	AnswerError      AnswerKind = "error"       // Google's JSON error
	AnswerHTML       AnswerKind = "html"        // an HTML error page
	AnswerEmpty      AnswerKind = "empty"       // a status and no body
	AnswerBrokenJSON AnswerKind = "broken_json" // JSON that ends in the middle
	AnswerReset      AnswerKind = "reset"       // the connection is dropped without an answer
)

// HoldPoint is where a request waits for Release.
type HoldPoint string

// The hold points.
const (
	HoldNever  HoldPoint = ""
	HoldBefore HoldPoint = "before"
	HoldAfter  HoldPoint = "after"
)

// FaultState is a fault and what it has done so far.
type FaultState struct {
	Fault
	// Matched counts requests that met the conditions, Fired those that it fired on, Held those that wait now.
	Matched int `json:"matched"`
	Fired   int `json:"fired"`
	Held    int `json:"held"`
}

func (f Fault) check() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if f.Route != "" && !slices.Contains(Routes(), f.Route) {
		bad("route %q does not exist", f.Route)
	}
	if !slices.Contains([]EffectMode{EffectDefault, EffectNone, EffectCommit, EffectLater}, f.Effect) {
		bad("effect %q does not exist", f.Effect)
	}
	if !slices.Contains([]AnswerKind{AnswerTrue, AnswerError, AnswerHTML, AnswerEmpty, AnswerBrokenJSON, AnswerReset}, f.Answer) {
		bad("answer %q does not exist", f.Answer)
	}
	if !slices.Contains([]HoldPoint{HoldNever, HoldBefore, HoldAfter}, f.Hold) {
		bad("hold %q does not exist", f.Hold)
	}
	if f.Effect == EffectNone && f.Answer == AnswerTrue {
		bad("effect none needs an answer")
	}
	if f.Effect == EffectLater && f.DelaySeconds <= 0 {
		bad("effect later needs delay_seconds")
	}
	if !slices.Contains([]string{"", "list", "get"}, f.HiddenIn) {
		bad("hidden_in: want list or get")
	}
	for _, s := range []string{f.State, f.SettleState} {
		if !slices.Contains([]string{"", stateRejected, stateProcessing, stateLive, replyPending, replyApproved}, s) {
			bad("state %q: want REJECTED, PROCESSING or LIVE, for a reply REJECTED, PENDING or APPROVED", s)
		}
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		bad("status %d: want 200 to 599", f.Status)
	}
	if f.From < 0 || f.Count < 0 || f.LatencyBeforeMS < 0 || f.LatencyAfterMS < 0 || f.DelaySeconds < 0 || f.HiddenSeconds < 0 || f.SettleSeconds < 0 {
		bad("numbers cannot be negative")
	}
	return errors.Join(problems...)
}

// commits tells whether the request is carried out.
func (f *Fault) commits() bool {
	return f == nil || f.Effect == EffectCommit || f.Effect == EffectLater || (f.Effect == EffectDefault && f.Answer == AnswerTrue)
}

// replaces tells whether the client gets something else than the true answer.
func (f *Fault) replaces() bool { return f != nil && f.Answer != AnswerTrue }

func (f *Fault) reply() reply {
	status := func(d int) int {
		if f.Status != 0 {
			return f.Status
		}
		return d
	}
	var r reply
	switch f.Answer {
	case AnswerHTML:
		r = htmlPage(status(http.StatusBadGateway), "Server Error", "The server encountered a temporary error and could not complete your request.")
	case AnswerEmpty:
		r = reply{status: status(http.StatusOK)}
	case AnswerBrokenJSON:
		r = reply{status: status(http.StatusOK), body: []byte(`{"name":"accounts/1/locat`)}
	case AnswerTrue, AnswerError, AnswerReset:
		s := status(http.StatusServiceUnavailable)
		details := f.Details
		if f.Reason != "" {
			details = append([]Detail{errorInfo(f.Reason, f.Metadata)}, details...)
		}
		r = refuse("", s, orDefault(f.Word, statusWord(s)), orDefault(f.Message, "The service is currently unavailable."), details...)
	}
	if f.Body != "" {
		r.body = []byte(f.Body)
	}
	f.decorate(&r)
	return r
}

func (f *Fault) decorate(r *reply) {
	if f != nil && f.RetryAfter != "" {
		r.header = http.Header{"Retry-After": {f.RetryAfter}}
	}
}

// orderedFault is a fault with its counters; release is closed and replaced when its holds end.
type orderedFault struct {
	Fault
	matched, fired, held int
	release              chan struct{}
	changed              chan struct{} // closed and replaced when held changes
}

type faults struct {
	mu    sync.Mutex
	next  int
	rules []*orderedFault
}

func (fs *faults) add(f Fault) (FaultID, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	f.Location = bareLocation(f.Location)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.ID == "" {
		fs.next++
		f.ID = FaultID("fault-" + strconv.Itoa(fs.next))
	}
	if fs.find(f.ID) != nil {
		return "", fmt.Errorf("fault %s exists", f.ID)
	}
	fs.rules = append(fs.rules, &orderedFault{Fault: f, release: make(chan struct{}), changed: make(chan struct{})})
	return f.ID, nil
}

func (fs *faults) find(id FaultID) *orderedFault {
	for _, f := range fs.rules {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// match counts a request and gives the fault that fires on it, or nil.
func (fs *faults) match(e *Entry) *orderedFault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var firing *orderedFault
	for _, f := range fs.rules {
		if f.Route != "" && f.Route != e.Route || f.Location != "" && f.Location != e.Location ||
			f.Account != "" && f.Account != e.Account || f.Resource != "" && f.Resource != e.Resource || f.Email != "" && f.Email != e.Email {
			continue
		}
		f.matched++
		from := max(f.From, 1)
		if firing == nil && f.matched >= from && (f.Count == 0 || f.matched < from+f.Count) {
			f.fired++
			firing = f
		}
	}
	return firing
}

// hold blocks until the fault is released or deleted (true) or the simulator closes (false).
func (fs *faults) hold(f *orderedFault, closed <-chan struct{}) bool {
	fs.mu.Lock()
	f.held++
	release := f.release
	f.signal()
	fs.mu.Unlock()
	defer func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		f.held--
		f.signal()
	}()
	select {
	case <-release:
		return true
	case <-closed:
		return false
	}
}

func (f *orderedFault) signal() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *orderedFault) letGo() {
	close(f.release)
	f.release = make(chan struct{})
}

var errNoFault = errors.New("there is no such fault")

// releaseHeld lets the requests go that wait now; later ones wait again.
func (fs *faults) releaseHeld(id FaultID) (int, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.find(id)
	if f == nil {
		return 0, errNoFault
	}
	f.letGo()
	return f.held, nil
}

// remove deletes one fault, or all for "", and lets its held requests go.
func (fs *faults) remove(id FaultID) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if id != "" && fs.find(id) == nil {
		return errNoFault
	}
	fs.rules = slices.DeleteFunc(fs.rules, func(f *orderedFault) bool {
		if id != "" && f.ID != id {
			return false
		}
		f.letGo()
		f.signal() // who awaits its holds learns that it is gone
		return true
	})
	return nil
}

func (fs *faults) list() []FaultState {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	out := []FaultState{}
	for _, f := range fs.rules {
		out = append(out, FaultState{Fault: f.Fault, Matched: f.matched, Fired: f.fired, Held: f.held})
	}
	return out
}

// awaitHeld returns when at least n requests wait at the fault.
func (fs *faults) awaitHeld(ctx context.Context, id FaultID, n int) error {
	for {
		fs.mu.Lock()
		f := fs.find(id)
		if f == nil {
			fs.mu.Unlock()
			return errNoFault
		}
		held, changed := f.held, f.changed
		fs.mu.Unlock()
		if held >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// pause is real waiting that ends early only when the simulator closes.
func (s *Sim) pause(ms int) {
	if ms <= 0 {
		return
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.closed:
	}
}
