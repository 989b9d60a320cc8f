// Package slots shares Google's quotas between all workers of all processes: one bucket per project and API, ten edits in
// any 60 seconds and one write at a time per location, five items per user, and fair turns between tenants.
//
// A waiting item does not occupy a worker. It is told once when its tenant's turn comes ([Later]), sleeps in the queue
// until then, and reserves a slot at most a few seconds ahead ([Granted]). Tenants queue separately: a batch of 100 moves
// its own tenant's tail, and another tenant's single reply goes next to its head.
//
// Reads for people and mirrors ([Request.Low]) have a fifth of the rate while writes want the rest, and book nothing that
// they would not wait for. Repeated 429s slow an API down, and the pace grows back. Calls are also counted in the window in which they arrive,
// since those that are late stand closer together than their slots. A process smooths what it was granted itself, so that
// a flushed Redis, which forgets what was booked, does not make it exceed the rate.
//
// While Redis is away nothing is granted: workers never call Google unmetered.
package slots

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
)

//go:embed slots.lua
var script string

// Limits are Google's budgets as we use them.
type Limits struct {
	// RequestsPerMinute per API and project.
	RequestsPerMinute int
	// EditsPerWindow on one profile in any Window; Google's 10 per minute cannot be raised.
	EditsPerWindow int
	Window         time.Duration
	// UserItems is how many items of one user may be at Google at the same time.
	UserItems int
	// Hold is how long a granted item counts when its worker dies: the longest call and what surrounds it.
	Hold time.Duration
}

// Horizon is how far ahead a slot is reserved, half as far by an item that has waited for its turn; Lead is how long before its turn an item is woken, so that the queue's
// polling does not leave slots unused.
const (
	Horizon = 3 * time.Second
	Lead    = 500 * time.Millisecond
)

// Low reads: one of lowShare slots, lowBurst in a row when they have not used theirs (a page of post.list reads ten stores),
// and whatever nobody has booked within half a second.
const (
	lowShare = 5
	lowBurst = 10
)

// reserve is how much below Google's own limit RequestsPerMinute is meant to be, for clocks that disagree: 297 of 300. Calls
// are counted in their window against Google's limit.
const reserve = 0.99

// countable is how many calls per window are counted; a limit beyond is none of Google's.
const countable = 10_000

// smooth is how many granted calls of one process may fall together before its own limiter spreads them.
const smooth = 10

// Request asks for one call to Google.
type Request struct {
	// API is the Google API, such as "mybusiness.v4"; its quota is separate.
	API    string
	Tenant authn.TenantID
	User   authn.UserID
	// Location is Google's name: two tenants may share a store, and its limit is Google's.
	Location gbp.LocationName
	// Member identifies the holder, the item's id.
	Member string
	// Calls is how many calls the slot is for, made one after the other: 0 and 1 are one, 2 is a read and then the write.
	Calls int
	// Edit is true for a write; reads spend the project's quota only.
	Edit bool
	// Planned is true when the item has waited for its tenant's turn.
	Planned bool
	// Low marks a read that gives way to writes: for people and mirrors, not for the reconciliation of a write. It is granted
	// only within Patience, and books nothing otherwise; [Retry] says when to ask again.
	Low      bool
	Patience time.Duration
	// Late is, for Release, how long after its slot the call was started.
	Late time.Duration
}

func (r Request) calls() int { return max(1, r.Calls) }

// Verdict is the answer to a request.
type Verdict int

// The verdicts.
const (
	Granted Verdict = iota + 1 // a slot is reserved: call after Wait
	Retry                      // no room: ask again after Wait, the turn is kept
	Later                      // the tenant's turn comes after Wait: sleep, then ask with Planned
	Requeue                    // the quota is booked beyond the horizon: ask again after Wait, without Planned
)

// Answer is a verdict and how long to wait.
type Answer struct {
	Verdict Verdict
	Wait    time.Duration
}

// Slots reserves slots in Redis.
type Slots struct {
	rdb     redis.Scripter
	script  *redis.Script
	project string
	limits  Limits

	mu sync.Mutex
	// own smooths this process's calls, per API.
	own map[string]*rate.Limiter
}

// New works on a connection of redisdb.Open for one Google Cloud project.
func New(rdb redis.Scripter, project string, limits Limits) *Slots {
	return &Slots{rdb: rdb, script: redis.NewScript(script), project: project, limits: limits, own: map[string]*rate.Limiter{}}
}

// Reserve asks for a slot. Asking twice for one member is safe.
func (s *Slots) Reserve(ctx context.Context, r Request) (Answer, error) {
	reply, err := s.run(ctx, "reserve", r, 0)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Verdict: Verdict(reply[0]), Wait: time.Duration(reply[1]) * time.Microsecond}
	if a.Verdict == Granted {
		a.Wait = max(a.Wait, s.limiter(r.API).Reserve().Delay())
		for range r.calls() - 1 {
			s.limiter(r.API).Reserve()
		}
	}
	return a, nil
}

// limiter is this process's own for an API.
func (s *Slots) limiter(api string) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.own[api]
	if l == nil {
		l = rate.NewLimiter(rate.Every(s.spacing()), smooth)
		s.own[api] = l
	}
	return l
}

// Release ends what the member holds at its location and of its user's share.
func (s *Slots) Release(ctx context.Context, r Request) error {
	_, err := s.run(ctx, "release", r, 0)
	return err
}

// PauseEdits stops all edits of the API for a while and leaves its reads: a limit per day is spent.
func (s *Slots) PauseEdits(ctx context.Context, r Request, d time.Duration) error {
	_, err := s.run(ctx, "pause_edits", r, d)
	return err
}

// Pause stops the whole API, or one location's edits, for a while: Google answered 429. When the API was refused within the
// last window as well, it goes on more slowly.
func (s *Slots) Pause(ctx context.Context, r Request, location bool, d time.Duration) error {
	mode := "pause"
	if location {
		mode = "pause_location"
	}
	_, err := s.run(ctx, mode, r, d)
	return err
}

// Estimate is when the last of n further calls of the tenant would be sent, as things stand. busiest is the location with the
// most edits among them.
func (s *Slots) Estimate(ctx context.Context, api string, tenant authn.TenantID, n int, busiest gbp.LocationName, edits int) (time.Duration, error) {
	reply, err := s.run(ctx, "peek", Request{API: api, Tenant: tenant, Location: busiest, Calls: edits}, 0)
	if err != nil {
		return 0, err
	}
	return time.Duration(max(reply[1]+int64(n)*reply[2], reply[3])) * time.Microsecond, nil
}

func (s *Slots) spacing() time.Duration {
	return time.Minute / time.Duration(s.limits.RequestsPerMinute)
}

func (s *Slots) run(ctx context.Context, mode string, r Request, pause time.Duration) ([]int64, error) {
	ctx, cancel := redisdb.Bound(ctx)
	defer cancel()
	tag := fmt.Sprintf("slot:{g:%s}:", s.project)
	keys := []string{
		tag + r.API + ":next",
		tag + r.API + ":tenant:" + string(r.Tenant),
		tag + string(r.Location) + ":log",
		tag + string(r.Location) + ":lease",
		tag + "user:" + string(r.Tenant) + ":" + string(r.User),
		tag + r.API + ":pause",
		tag + string(r.Location) + ":pause",
		tag + "since",
		tag + r.API + ":reads",
		tag + r.API + ":pace",
		tag + r.API + ":calls",
		tag + r.API + ":pause:edits",
	}
	reply, err := s.script.Run(ctx, s.rdb, keys, mode, r.Member, flag(r.Edit), flag(r.Planned),
		s.spacing().Microseconds(), Horizon.Microseconds(), s.limits.EditsPerWindow, s.limits.Window.Milliseconds(),
		s.limits.UserItems, s.limits.Hold.Milliseconds(), pause.Milliseconds(),
		flag(r.Low), r.Patience.Microseconds(), s.calls(), max(0, r.Late).Microseconds(), lowBurst, lowShare, r.calls()).Int64Slice()
	if err != nil {
		return nil, redisdb.Unavailable(err, "slots")
	}
	return reply, nil
}

// calls is how many calls Google allows in a window; 0 when that is too many to count.
func (s *Slots) calls() int {
	n := int(float64(s.limits.Window) / float64(s.spacing()) / reserve)
	if n > countable {
		return 0
	}
	return n
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
