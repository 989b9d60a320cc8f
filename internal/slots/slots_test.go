package slots_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

const api = "mybusiness.v4"

// bench is a Slots on a Redis database of its own, whose first, half-trusted window is over.
type bench struct {
	*slots.Slots
	t   *testing.T
	rdb *redis.Client
}

func setup(t *testing.T, l slots.Limits) bench {
	t.Helper()
	b := fresh(t, l)
	b.rdb.Set(t.Context(), "slot:{g:p}:since", 1, 0)
	return b
}

func fresh(t *testing.T, l slots.Limits) bench {
	t.Helper()
	rdb, err := redisdb.Open(redistest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return bench{slots.New(rdb, "p", l), t, rdb}
}

// limits are the product's with the given changes.
func limits(change func(*slots.Limits)) slots.Limits {
	l := app.SlotLimits(config.Default())
	change(&l)
	return l
}

func edit(tenant, user, location, member string) slots.Request {
	return slots.Request{API: api, Tenant: authn.TenantID(tenant), User: authn.UserID(user), Location: gbp.LocationName("locations/" + location), Member: member, Edit: true}
}

func (b bench) reserve(r slots.Request) slots.Answer {
	b.t.Helper()
	a, err := b.Reserve(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b bench) release(r slots.Request) {
	b.t.Helper()
	if err := b.Release(b.t.Context(), r); err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) want(r slots.Request, v slots.Verdict) slots.Answer {
	b.t.Helper()
	a := b.reserve(r)
	if a.Verdict != v {
		b.t.Fatalf("%s at %s: verdict %d after %s, want %d", r.Member, r.Location, a.Verdict, a.Wait, v)
	}
	return a
}

// turn does what a worker does until the slot is there; it gives false when the context ends first.
func (b bench) turn(ctx context.Context, r slots.Request) bool {
	for {
		a, err := b.Reserve(ctx, r)
		if err != nil {
			if ctx.Err() == nil {
				b.t.Error(err)
			}
			return false
		}
		switch a.Verdict {
		case slots.Later:
			r.Planned = true
			a.Wait -= slots.Lead
		case slots.Requeue:
			r.Planned = false
		case slots.Granted, slots.Retry:
		}
		select {
		case <-time.After(max(0, a.Wait)):
		case <-ctx.Done():
			return false
		}
		if a.Verdict == slots.Granted {
			return true
		}
	}
}

// Random reservations of many items at few stores, against the plain rule: sorted slots of a store, no window with more
// than the limit; sorted slots of the API, no two closer than the spacing.
func TestNeverMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	const window, edits, spacing = 400 * time.Millisecond, 4, 4 * time.Millisecond
	b := setup(t, limits(func(l *slots.Limits) {
		l.RequestsPerMinute, l.EditsPerWindow, l.Window, l.UserItems = int(time.Minute/spacing), edits, window, 1000
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var mu sync.Mutex
	bySlot := map[string][]int64{}
	var wg sync.WaitGroup
	for w := range 12 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				loc := strconv.Itoa(rand.IntN(3))
				r := edit("t"+strconv.Itoa(w%3), "u", loc, fmt.Sprintf("m%d-%d", w, n))
				if !b.turn(ctx, r) {
					return
				}
				log := b.rdb.ZRange(t.Context(), "slot:{g:p}:locations/"+loc+":log", 0, -1).Val()
				mu.Lock()
				for _, m := range log {
					if at, ok := strings.CutPrefix(m, r.Member+":"); ok {
						us, _ := strconv.ParseInt(at, 10, 64)
						bySlot[loc] = append(bySlot[loc], us)
					}
				}
				mu.Unlock()
				b.release(r)
			}
		})
	}
	wg.Wait()
	var all []int64
	for loc, at := range bySlot {
		slices.Sort(at)
		all = append(all, at...)
		if len(at) < 2*edits {
			t.Errorf("only %d slots of store %s: nothing was shown", len(at), loc)
		}
		for i := edits; i < len(at); i++ {
			if d := time.Duration(at[i]-at[i-edits]) * time.Microsecond; d < window {
				t.Errorf("store %s: %d edits within %s", loc, edits+1, d)
			}
		}
	}
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if d := time.Duration(all[i]-all[i-1]) * time.Microsecond; d < spacing-time.Microsecond {
			t.Errorf("two calls %s apart", d)
		}
	}
}

// F071, F072: 25 edits of one store and 25 of another against a simulator that counts as Google does, its minute and ours
// shortened alike. It never has to refuse, and the stores do not hold each other up.
func TestF071F072GoogleNeverRefuses(t *testing.T) {
	t.Parallel()
	const scale, each = 60, 25
	sim, base := gbpsim.Start(t, gbpsim.Options{Seed: gbpsim.JapaneseChain(2), Strict: true, Knobs: gbpsim.Knobs{TimeScale: scale}})
	token, err := sim.AccessToken(gbpsim.DemoEmail)
	if err != nil {
		t.Fatal(err)
	}
	b := fresh(t, limits(func(l *slots.Limits) { l.RequestsPerMinute, l.Window = 297*scale, time.Minute/scale }))
	world := sim.World()
	var wg sync.WaitGroup
	for w := range 10 {
		wg.Go(func() {
			for n := w; n < 2*each; n += 10 {
				l := world.Locations[n%2]
				r := edit("t", "u"+strconv.Itoa(w), strings.TrimPrefix(string(l.Name), "locations/"), fmt.Sprint("m", n))
				if !b.turn(t.Context(), r) {
					return
				}
				if n%3 == 0 { // what a runner does between its slot and its call takes its time
					<-time.After(time.Duration(rand.IntN(60)) * time.Millisecond)
				}
				url := base + "/mybusiness.googleapis.com/v4/" + string(l.Account) + "/" + string(l.Name) + "/localPosts"
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"topicType":"STANDARD","languageCode":"ja","summary":"%d"}`, n)))
				req.Header.Set("Authorization", "Bearer "+token)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_ = res.Body.Close()
				if res.StatusCode != http.StatusOK {
					t.Errorf("edit %d: HTTP %d", n, res.StatusCode)
				}
				b.release(r)
			}
		})
	}
	wg.Wait()
	stats := sim.Stats()
	for _, l := range world.Locations {
		if n := stats.MaxWritesInFlight[l.Name]; n != 1 {
			t.Errorf("%d edits of %s in flight", n, l.Name)
		}
	}
	if n := stats.Effects[gbpsim.RouteLocalPostsCreate]; n != 2*each {
		t.Errorf("%d posts", n)
	}
}

// Two edits of a store within one millisecond share a score in its log: each release moves its own entry.
func TestReleaseMovesItsOwnEntry(t *testing.T) {
	t.Parallel()
	b := setup(t, app.SlotLimits(config.Default()))
	r := edit("t", "u", "l", "a")
	b.want(r, slots.Granted)
	const log = "slot:{g:p}:locations/l:log"
	own := b.rdb.ZRangeWithScores(t.Context(), log, 0, -1).Val()[0]
	b.rdb.ZAdd(t.Context(), log, redis.Z{Score: own.Score, Member: "b:1"})
	for b.rdb.Time(t.Context()).Val().UnixMilli() <= int64(own.Score) {
	}
	b.release(r)
	if at := b.rdb.ZScore(t.Context(), log, own.Member.(string)).Val(); at <= own.Score {
		t.Errorf("the released edit still counts from %.0f, its slot", at)
	}
	if at := b.rdb.ZScore(t.Context(), log, "b:1").Val(); at != own.Score {
		t.Errorf("another edit moved from %.0f to %.0f", own.Score, at)
	}
}

// A batch of 100 moves its own tenant's tail: another tenant's single item goes next.
func TestFairTurnsBetweenTenants(t *testing.T) {
	t.Parallel()
	b := setup(t, app.SlotLimits(config.Default()))
	var last time.Duration
	for n := range 100 {
		a := b.reserve(edit("big", "u", "a"+strconv.Itoa(n), "big"+strconv.Itoa(n)))
		if n > 1 && (a.Verdict != slots.Later || a.Wait < last) {
			t.Fatalf("item %d: %+v after %s", n, a, last)
		}
		last = a.Wait
	}
	if last < 18*time.Second || last > 22*time.Second {
		t.Errorf("the hundredth waits %s", last)
	}
	if a := b.want(edit("small", "v", "b", "single"), slots.Granted); a.Wait > time.Second {
		t.Errorf("the single item waits %s behind the batch", a.Wait)
	}
	if d, err := b.Estimate(t.Context(), api, "big", 10, "", 0); err != nil || d < 20*time.Second {
		t.Errorf("estimate for the big tenant: %s, %v", d, err)
	}
	if d, err := b.Estimate(t.Context(), api, "third", 1, "", 0); err != nil || d > 2*time.Second {
		t.Errorf("estimate for a third tenant: %s, %v", d, err)
	}
}

// Edits of one store are done when its own limit lets the last of them through: those of the last minute count, and so do
// those that come before it.
func TestEstimateKnowsTheStoresLimit(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute = 6000 }))
	estimate := func(location gbp.LocationName, edits int) time.Duration {
		t.Helper()
		d, err := b.Estimate(t.Context(), api, "t", 2*edits, location, edits)
		if err != nil {
			t.Fatal(err)
		}
		return d.Round(5 * time.Second)
	}
	for edits, want := range map[int]time.Duration{1: 0, 10: 0, 11: time.Minute, 20: time.Minute, 21: 2 * time.Minute} {
		if got := estimate("locations/a", edits); got != want {
			t.Errorf("%d edits: %s, want %s", edits, got, want)
		}
	}
	for n := range 8 {
		r := edit("t", "u", "a", fmt.Sprint("m", n))
		r.Planned = true
		b.want(r, slots.Granted)
		b.release(r)
	}
	for edits, want := range map[int]time.Duration{2: 0, 3: time.Minute, 10: time.Minute, 12: time.Minute, 13: 2 * time.Minute} {
		if got := estimate("locations/a", edits); got != want {
			t.Errorf("%d edits after 8: %s, want %s", edits, got, want)
		}
	}
	if got := estimate("locations/b", 3); got != 0 {
		t.Errorf("another store: %s", got)
	}
}

// Nothing is reserved further ahead than the horizon, however many ask.
func TestHorizon(t *testing.T) {
	t.Parallel()
	b := setup(t, app.SlotLimits(config.Default()))
	granted, requeued := 0, 0
	for n := range 60 {
		switch a := b.reserve(edit("t"+strconv.Itoa(n), "u", strconv.Itoa(n), strconv.Itoa(n))); a.Verdict {
		case slots.Granted:
			granted++
			if a.Wait > slots.Horizon {
				t.Errorf("reserved %s ahead", a.Wait)
			}
		case slots.Requeue:
			requeued++
			if a.Wait <= 0 {
				t.Errorf("asked to come back after %s", a.Wait)
			}
		default:
			t.Errorf("verdict %d", a.Verdict)
		}
	}
	if granted < 14 || granted > 20 || requeued == 0 {
		t.Errorf("%d granted, %d requeued", granted, requeued)
	}
}

func TestOneWritePerLocation(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute, l.Hold = 60_000_000, 150*time.Millisecond }))
	first, second := edit("t", "u", "a", "first"), edit("t", "u", "a", "second")
	b.want(first, slots.Granted)
	b.want(second, slots.Retry)
	b.want(edit("t", "u", "b", "elsewhere"), slots.Granted)
	b.want(first, slots.Granted) // asking twice is safe
	b.release(second)            // only the holder can give the place back
	b.want(second, slots.Retry)
	b.release(first)
	b.want(second, slots.Granted)
	// The holder dies: its place lapses.
	deadline := time.After(5 * time.Second)
	for b.reserve(first).Verdict != slots.Granted {
		select {
		case <-deadline:
			t.Fatal("a dead holder's place never lapsed")
		default:
		}
	}
}

func TestUserShare(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute, l.UserItems = 60_000_000, 5 }))
	held := make([]slots.Request, 5)
	for n := range held {
		held[n] = edit("t", "u", strconv.Itoa(n), strconv.Itoa(n))
		b.want(held[n], slots.Granted)
	}
	sixth := edit("t", "u", "6", "6")
	sixth.Planned = true
	b.want(sixth, slots.Retry)
	b.want(held[2], slots.Granted)
	b.want(edit("t", "v", "7", "7"), slots.Granted)
	b.want(edit("other", "u", "8", "8"), slots.Granted)
	b.release(held[2])
	b.want(sixth, slots.Granted)
}

// After a flush nobody knows the edits of the last window: half of them count as spent, until the window is over.
func TestFlushIsConservative(t *testing.T) {
	t.Parallel()
	b := fresh(t, limits(func(l *slots.Limits) {
		l.RequestsPerMinute, l.UserItems, l.Window = 60_000_000, 1000, 700*time.Millisecond
	}))
	grantable := func(prefix string) (n int) {
		for ; n < 30; n++ {
			r := edit("t", "u", "a", prefix+strconv.Itoa(n))
			r.Planned = true
			if b.reserve(r).Verdict != slots.Granted {
				return n
			}
			b.release(r)
		}
		return n
	}
	for _, flush := range []string{"", "again "} {
		if flush != "" {
			b.rdb.FlushDB(t.Context())
		}
		if n := grantable(flush + "new "); n != 5 {
			t.Errorf("%safter a flush: %d edits at once, want half of 10", flush, n)
		}
	}
	deadline := time.After(10 * time.Second)
	for n := 0; n != 10; n = grantable("later " + strconv.Itoa(rand.Int()) + " ") {
		select {
		case <-deadline:
			t.Fatalf("the whole limit never came back: %d", n)
		case <-time.After(750 * time.Millisecond): // a whole window, in which nothing is asked
		}
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute = 60_000_000 }))
	here, there := edit("t", "u", "a", "1"), edit("t", "v", "b", "2")
	read := slots.Request{API: api, Tenant: "t", Location: "locations/a", Member: "3"}
	pause := func(location bool, d time.Duration) {
		t.Helper()
		if err := b.Pause(t.Context(), here, location, d); err != nil {
			t.Fatal(err)
		}
	}
	pause(true, 10*time.Second)
	pause(true, time.Millisecond) // a later, shorter wish does not shorten
	if a := b.want(here, slots.Retry); a.Wait < 8*time.Second {
		t.Errorf("wait %s", a.Wait)
	}
	b.want(there, slots.Granted)
	b.want(read, slots.Granted)
	pause(false, 20*time.Second)
	for _, r := range []slots.Request{here, there, read} {
		if a := b.want(r, slots.Retry); a.Wait < 15*time.Second {
			t.Errorf("%s waits %s", r.Member, a.Wait)
		}
	}
	other := there
	other.API = "businessinformation.v1" // its quota is its own
	other.Location = "locations/c"
	b.want(other, slots.Granted)
	if d, err := b.Estimate(t.Context(), api, "t", 1, "", 0); err != nil || d < 15*time.Second {
		t.Errorf("the estimate forgets the pause: %s, %v", d, err)
	}
}

// Reads spend the project's quota and nothing of the location's.
func TestReadsSpendTheProjectOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, limits(func(l *slots.Limits) { l.RequestsPerMinute = 600 }))
	read := slots.Request{API: api, Tenant: "t", Location: "locations/a", Member: "r"}
	for n := range 20 {
		if a := b.want(read, slots.Granted); a.Wait < time.Duration(n)*95*time.Millisecond-time.Second {
			t.Errorf("read %d after %s", n, a.Wait)
		}
	}
	if a := b.want(edit("t", "u", "a", "w"), slots.Granted); a.Wait < time.Second {
		t.Errorf("a write goes past 20 reads: %s", a.Wait)
	}
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	rdb, err := redisdb.Open(own.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	s := slots.New(rdb, "p", app.SlotLimits(config.Default()))
	own.Stop()
	if _, err := s.Reserve(t.Context(), edit("t", "u", "a", "1")); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("got %v", err)
	}
	own.Start() // empty: the scripts are loaded again by themselves
	if a, err := s.Reserve(t.Context(), edit("t", "u", "a", "1")); err != nil || a.Verdict != slots.Granted {
		t.Errorf("got %+v, %v", a, err)
	}
}
