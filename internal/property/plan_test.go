package property

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// The windows of all sequences. A write whose effect is seen within lag of its call's end is inside what is promised: lag
// stays well below settle.
const (
	sendWindow  = 500 * time.Millisecond
	callTimeout = time.Second
	// callWindow is what the workers take for the call's time: twice as long, so that a runner can be held up until another
	// one has examined its attempt and is still within the time of its job, as a paused process is.
	callWindow = 2 * callTimeout
	settle     = 400 * time.Millisecond
	giveUp     = 3 * time.Second
	lag        = 200 * time.Millisecond
)

// plan is one history to be played: what is called, what Google does wrong, and what befalls our own runners.
type plan struct {
	Seed uint64
	// Stores is how many of its own stores the sequence writes to.
	Stores  int
	Steps   []step
	Faults  []ordered
	Mishaps []mishap
	// Restart stops the workers in the middle and starts them again; Hard cuts running jobs off instead of waiting for them.
	Restart, Hard bool
}

// step is a call and what surrounds it.
type step struct {
	Tool string
	// Stores are indexes into the sequence's stores; Of is the index of the earlier step that the call is about.
	Stores []int `json:",omitempty"`
	Of     int   `json:",omitempty"`
	// Text numbers the text: steps of one number have one content.
	Text int
	// By is one of two ways to call: post.delete names its posts by ids or batch, media.upload has one photo or two for each
	// store, review.reply takes no reply's place or does.
	By   string `json:",omitempty"`
	Stop bool   `json:",omitempty"`
	// Replays are further calls with the same key at the same time; Twin is a second call with the same content and another
	// key, at the same time where Together says so and after the first one's answer otherwise.
	Replays  int  `json:",omitempty"`
	Twin     bool `json:",omitempty"`
	Together bool `json:",omitempty"`
	// Cancel races a cancellation against the start.
	Cancel bool `json:",omitempty"`
	// Race does not wait until the earlier batches are final.
	Race bool `json:",omitempty"`
}

// ordered is a fault of Google's at one of the sequence's stores.
type ordered struct {
	Store int
	gbpsim.Fault
}

// mishap befalls a runner of an item at a store, the N-th time (from 1) that one is At that point.
type mishap struct {
	Store int
	At    point
	Nth   int
	// Stall holds the runner up; Die ends its run as a crash would; Lost lets the outcome be recorded and the answer to that
	// get lost. Twice delivers the item's job a second time, as the sweeper and River's rescuer do.
	Stall            time.Duration `json:",omitempty"`
	Die, Lost, Twice bool          `json:",omitempty"`
}

type point string

// The points: the attempt is written and nothing is sent yet; the call is over and nothing is recorded yet.
const (
	begun    point = "begun"
	finishes point = "finishes"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// chance is true in p of 100 cases.
func chance(r *rand.Rand, p int) bool { return r.IntN(100) < p }

// draw makes the plan of a seed.
func draw(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0x6d61707079))
	p := plan{Seed: seed, Stores: pick(r, 1, 1, 2, 2, 3, 4, 6), Restart: chance(r, 6), Hard: chance(r, 50)}
	p.Steps = drawSteps(r, p.Stores)
	used := operationsOf(p.Steps)
	for range pick(r, 0, 1, 2, 3, 4, 5) {
		p.Faults = append(p.Faults, drawFault(r, p.Stores, pick(r, used...)))
	}
	oneNotFound(p.Faults)
	for range pick(r, 0, 0, 1, 1, 2) {
		p.Mishaps = append(p.Mishaps, drawMishap(r, p.Stores))
	}
	return p
}

func drawSteps(r *rand.Rand, stores int) []step {
	first := step{
		Tool:   pick(r, "post.create", "post.create", "post.create", "media.upload", "media.upload", "review.reply", "review.reply", "review.reply", "location.update"),
		Stores: some(r, stores), By: pick(r, "ids", "batch"), Stop: chance(r, 20), Cancel: chance(r, 15), Twin: stores < 4 && chance(r, 25), Together: chance(r, 50),
	}
	if chance(r, 30) {
		first.Replays = 1 + r.IntN(3)
	}
	steps := []step{first}
	for range pick(r, 0, 1, 1, 2, 2) {
		of := r.IntN(len(steps))
		s := step{
			Tool: laterTool(r, steps[of].Tool), Of: of, Text: len(steps), Stores: some(r, stores), By: pick(r, "ids", "batch"),
			Race: chance(r, 15), Cancel: chance(r, 10), Stop: chance(r, 15),
		}
		if chance(r, 20) {
			s.Replays = 1 + r.IntN(2)
		}
		if o, ok := operationOf(s.Tool); ok {
			s.Twin, s.Together = chance(r, 25), chance(r, 50)
			if o.creates && chance(r, 30) {
				s.Text = 0 // the first one's content again, later
			}
			s.Twin = s.Twin && !o.creates
		}
		steps = append(steps, s)
	}
	return steps
}

// some is a non-empty choice of the stores.
func some(r *rand.Rand, stores int) []int {
	all := r.Perm(stores)
	n := stores
	if chance(r, 30) {
		n = 1 + r.IntN(stores)
	}
	return all[:n]
}

// laterTool is a tool that goes on from what was written before: any operation, mostly of the same kind, or an undo or a retry.
func laterTool(r *rand.Rand, of string) string {
	if chance(r, 40) {
		return pick(r, "batch.undo", "batch.undo", "batch.retry")
	}
	all := operations()
	if o, ok := operationOf(of); ok && chance(r, 75) {
		all = slices.DeleteFunc(all, func(x operation) bool { return x.kind != o.kind })
	}
	return pick(r, all...).tool
}

// operationsOf are the operations that the steps come to. An undo comes to any of the kinds that are there.
func operationsOf(steps []step) (out []operation) {
	undoes := slices.ContainsFunc(steps, func(s step) bool { return s.Tool == "batch.undo" })
	for _, o := range operations() {
		if slices.ContainsFunc(steps, func(s step) bool {
			x, ok := operationOf(s.Tool)
			return ok && (x.tool == o.tool || undoes && x.kind == o.kind)
		}) {
			out = append(out, o)
		}
	}
	return out
}

// drawFault orders one thing that Google may do. What contradicts the fact sheet is left out: a 4xx that had its effect, and
// a success of a deletion that had none.
func drawFault(r *rand.Rand, stores int, o operation) ordered {
	f := ordered{Store: r.IntN(stores)}
	f.Route, f.From, f.Count = o.write, 1+r.IntN(2), 1+r.IntN(2)
	switch k := r.IntN(100); {
	case k < 40:
		unclear(r, &f.Fault, o)
	case k < 55:
		throttle(r, &f.Fault)
	case k < 63:
		f.Answer, f.Status, f.Count = gbpsim.AnswerError, http.StatusUnauthorized, 1
	case k < 69:
		f.Answer, f.Status = gbpsim.AnswerError, pick(r, 400, 403, 404, 409)
		if f.Status == http.StatusConflict {
			f.Word = "ABORTED"
		}
	case k < 77: // the call ends in time or not; its effect comes within lag of the end
		f.Effect = gbpsim.EffectCommit
		f.LatencyBeforeMS, f.LatencyAfterMS = pick(r, 0, 100, 300), pick(r, 0, 100)
		if chance(r, 50) {
			*pick(r, &f.LatencyBeforeMS, &f.LatencyAfterMS) = int(callTimeout.Milliseconds()) + 100
			f.Count = 1
		}
	case k < 84: // seen late
		f.HiddenSeconds, f.HiddenIn = lag.Seconds(), pick(r, "", "list", "get")
		if !o.hides {
			f.Answer, f.Effect = gbpsim.AnswerReset, gbpsim.EffectCommit
		}
	case k < 88 && len(o.states) > 0:
		f.State, f.SettleState, f.SettleSeconds = pick(r, o.states...), pick(r, o.settled...), 0.3
	default:
		f.Route = pick(r, o.reads...)
		blind(r, &f.Fault)
	}
	return f
}

// unclear is an answer after which nobody knows: every kind, with and without its effect, before and after the answer.
func unclear(r *rand.Rand, f *gbpsim.Fault, o operation) {
	f.Answer = pick(r, gbpsim.AnswerError, gbpsim.AnswerHTML, gbpsim.AnswerEmpty, gbpsim.AnswerBrokenJSON, gbpsim.AnswerReset)
	f.Effect = pick(r, gbpsim.EffectDefault, gbpsim.EffectNone, gbpsim.EffectCommit, gbpsim.EffectLater)
	if f.Answer == gbpsim.AnswerError {
		f.Status = pick(r, 500, 503, 504)
	}
	if o.bare && (f.Answer == gbpsim.AnswerEmpty || f.Answer == gbpsim.AnswerBrokenJSON) {
		f.Effect = pick(r, gbpsim.EffectCommit, gbpsim.EffectLater)
	}
	if f.Effect == gbpsim.EffectLater {
		f.DelaySeconds = lag.Seconds()
	}
	if chance(r, 8) { // so often that the item gives up
		f.Count = 5
	}
}

func throttle(r *rand.Rand, f *gbpsim.Fault) {
	f.Answer, f.Status = gbpsim.AnswerError, http.StatusTooManyRequests
	f.RetryAfter = pick(r, "", "1", "1")
	if chance(r, 80) { // of one profile; the others rest the whole project
		f.Reason = "RATE_LIMIT_EXCEEDED"
		f.Metadata = map[string]string{"quota_limit": "EditsPerMinutePerProfile", "quota_limit_value": "10", "quota_unit": "1/min/{profile}"}
		return
	}
	f.RetryAfter, f.Count = "1", 1
}

// blind is a read that fails.
func blind(r *rand.Rand, f *gbpsim.Fault) {
	switch r.IntN(6) {
	case 0:
		f.Answer, f.Status, f.Count = gbpsim.AnswerError, http.StatusNotFound, 1
	case 1:
		f.Answer, f.Status, f.Count = gbpsim.AnswerError, http.StatusUnauthorized, 1
	case 2:
		f.Answer = gbpsim.AnswerReset
	case 3:
		f.Answer = pick(r, gbpsim.AnswerEmpty, gbpsim.AnswerBrokenJSON, gbpsim.AnswerHTML)
	case 4:
		f.LatencyBeforeMS, f.Count = int(callTimeout.Milliseconds())+100, 1
	case 5:
		f.Answer, f.Status, f.Count = gbpsim.AnswerError, 503, 1+r.IntN(14) // at last beyond giving up
	}
}

// oneNotFound keeps one false 404 of a read per store: two in a row are how Google says that something is gone.
func oneNotFound(faults []ordered) {
	seen := map[int]bool{}
	for i, f := range faults {
		if f.Status != http.StatusNotFound || !slices.Contains(aboutOne(), f.Route) {
			continue
		}
		if seen[f.Store] {
			faults[i].Status = http.StatusServiceUnavailable
		}
		seen[f.Store] = true
	}
}

// aboutOne are the routes that name a thing which could be gone.
func aboutOne() []gbpsim.Route {
	return []gbpsim.Route{
		gbpsim.RouteLocalPostsGet, gbpsim.RouteLocalPostsDelete, gbpsim.RouteMediaGet, gbpsim.RouteMediaDelete, gbpsim.RouteReviewsGet, gbpsim.RouteReviewsReply, gbpsim.RouteReviewsUnreply,
	}
}

func drawMishap(r *rand.Rand, stores int) mishap {
	m := mishap{Store: r.IntN(stores), At: pick(r, begun, finishes), Nth: 1 + r.IntN(2), Twice: chance(r, 50)}
	switch r.IntN(4) {
	case 0:
		m.Stall = pick(r, 50*time.Millisecond, sendWindow+100*time.Millisecond)
	case 1: // so long that another runner examines the attempt meanwhile
		m.At, m.Stall, m.Twice = finishes, sendWindow+callWindow+settle+500*time.Millisecond, true
	case 2:
		m.Die = true
	case 3:
		m.At, m.Lost = finishes, true
	}
	return m
}

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d stores, restart %t (hard %t)\n", p.Seed, p.Stores, p.Restart, p.Hard)
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "  step %d: %+v\n", i, s)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "  fault: store %d %s from %d count %d: answer %q %d effect %q delay %g latency %d/%d hidden %g %s state %s/%s retry-after %q\n", f.Store, f.Route, f.From, f.Count,
			f.Answer, f.Status, f.Effect, f.DelaySeconds, f.LatencyBeforeMS, f.LatencyAfterMS, f.HiddenSeconds, f.HiddenIn, f.State, f.SettleState, f.RetryAfter)
	}
	for _, m := range p.Mishaps {
		fmt.Fprintf(&b, "  mishap: %+v\n", m)
	}
	return b.String()
}
