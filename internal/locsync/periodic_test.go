package locsync_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/locsync"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

func events(t *testing.T, s *stack.Stack) (out []audit.Event) {
	t.Helper()
	rows, err := s.DB.Owner().Query(t.Context(), `SELECT body FROM mappy.audit_event WHERE event = $1 ORDER BY event_id`, audit.LocationsSynced)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b []byte
		var e audit.Event
		if err := errors.Join(rows.Scan(&b), json.Unmarshal(b, &e)); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func listed(s *stack.Stack) int {
	return len(s.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteAccountsList}))
}

func age(t *testing.T, s *stack.Stack, by string) {
	t.Helper()
	if _, err := s.DB.Owner().Exec(t.Context(), `UPDATE mappy.connection SET synced_at = now() - $1::interval`, by); err != nil {
		t.Fatal(err)
	}
}

// Whoever looks first syncs a connection that is due; the others leave it, and nobody comes again before it is due.
func TestOneProcessSyncs(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, NoWorkers: true, Config: func(c *config.Config) { c.Worker.SyncEvery = time.Hour }})
	other, err := app.New(t.Context(), s.Config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	round := func() (synced int) {
		t.Helper()
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, a := range []*app.App{s.App, other, s.App, other} {
			wg.Go(func() {
				n, err := a.Syncs().SyncDue(t.Context(), stack.Tenant)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				synced += n
			})
		}
		wg.Wait()
		return synced
	}
	for _, c := range []struct {
		age  string
		want int
	}{{"53 minutes", 0}, {"67 minutes", 1}, {"0 minutes", 0}, {"2 days", 1}} {
		age(t, s, c.age)
		before, recorded := listed(s), len(events(t, s))
		if n := round(); n != c.want || listed(s)-before != c.want || len(events(t, s))-recorded != c.want {
			t.Errorf("%s old: %d synced, %d times read, %d recorded", c.age, n, listed(s)-before, len(events(t, s))-recorded)
		}
	}
	last := events(t, s)[len(events(t, s))-1]
	if last.Result != "synced" || last.Resource != "google" || last.Actor.OperatorID != "" || last.Details.TargetCount != 3 {
		t.Errorf("recorded %+v", last)
	}
	if manual := events(t, s)[0]; manual.Actor.OperatorID != "test" {
		t.Errorf("the manual one: %+v", manual)
	}
}

// Dead connections are left alone; one that fails is recorded, keeps its mirror, rests, and does not stop the others.
func TestAFailingConnection(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, NoWorkers: true, Config: func(c *config.Config) { c.Worker.SyncEvery = 4 * time.Second }})
	if _, err := s.DB.Owner().Exec(t.Context(), `INSERT INTO mappy.connection (tenant_id, connection_id, google_email, refresh_token_sealed, state) VALUES
		('komorebi', 'a-broken', 'x', '\x00', 'alive'), ('komorebi', 'b-dead', 'x', '\x00', 'dead')`); err != nil {
		t.Fatal(err)
	}
	age(t, s, "1 day")
	n, err := s.App.Syncs().SyncDue(t.Context(), stack.Tenant)
	if n != 1 || err == nil || !strings.Contains(err.Error(), "a-broken") || strings.Contains(err.Error(), "b-dead") {
		t.Errorf("%d synced, %v", n, err)
	}
	got := events(t, s)
	if len(got) != 3 || got[1].Resource != "a-broken" || got[1].Result != "failed" || got[1].ErrorCode == "" || got[2].Result != "synced" {
		t.Errorf("recorded %+v", got)
	}
	if n, err := s.App.Syncs().SyncDue(t.Context(), stack.Tenant); n != 0 || err != nil || len(events(t, s)) != 3 {
		t.Errorf("it does not rest: %d, %v", n, err)
	}
	deadline := time.After(20 * time.Second)
	for err = nil; err == nil; _, err = s.App.Syncs().SyncDue(t.Context(), stack.Tenant) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-deadline:
			t.Fatal("it rests for ever")
		}
	}
}

// Redis away: nothing is read unmetered.
func TestNothingIsReadWithoutRedis(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true, RedisURL: own.URL()})
	age(t, s, "1 day")
	before := listed(s)
	own.Stop()
	if n, err := s.App.Syncs().SyncDue(t.Context(), stack.Tenant); n != 0 || errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("%d, %v", n, err)
	}
	results, err := locsync.Tenant(t.Context(), locsync.Metered(s.App.Google, s.App.Slots), s.App.DB, stack.Tenant, "test")
	if err != nil || len(results) != 1 || results[0].Error == "" || listed(s) != before {
		t.Errorf("%+v, %v", results, err)
	}
}

// The worker does it by itself.
func TestWorkersSync(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 2, NoServer: true, NoWorkers: true, Config: func(c *config.Config) { c.Worker.SyncEvery = 2 * time.Second }})
	if err := s.Sim.Seed(gbpsim.World{Locations: []gbpsim.Location{{Name: "locations/777", Account: gbpsim.AccountName(s.Locations[0].Account), Title: "新店舗", StoreCode: "NEW777"}}}); err != nil {
		t.Fatal(err)
	}
	s.Work()
	deadline := time.After(30 * time.Second)
	for found := 0; found == 0; {
		if err := s.DB.Owner().QueryRow(t.Context(), `SELECT count(*) FROM mappy.location WHERE google_location = 'locations/777'`).Scan(&found); err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatal("the new store never came")
		}
	}
}

// F070: all accounts, the first without stores, and all pages, empty ones between; a page limit is told, and takes nothing away.
func TestF070AllAccountsAndPages(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, NoWorkers: true, Sim: func(o *gbpsim.Options) {
		w := &o.Seed
		email := w.Grants[0].Email
		w.Accounts = append([]gbpsim.Account{{Name: "accounts/1", AccountName: "empty", Emails: []string{email}}}, w.Accounts...)
		w.Accounts = append(w.Accounts, gbpsim.Account{Name: "accounts/999", AccountName: "last", Emails: []string{email}})
		for n := range 150 {
			l := w.Locations[0]
			l.Name, l.Account, l.StoreCode = gbpsim.LocationName("locations/9"+string(rune('0'+n/100))+string(rune('0'+n/10%10))+string(rune('0'+n%10))), "accounts/999", ""
			w.Locations = append(w.Locations, l)
		}
		o.Knobs.EmptyPages = true
	}})
	if len(s.Locations) != 153 {
		t.Errorf("%d stores", len(s.Locations))
	}
	few, err := gbpapi.New(gbpapi.Options{BaseURL: s.Config.GoogleBaseURL, Tokens: s.App.Tokens, Now: time.Now, Timeout: 5 * time.Second, MaxPages: 2})
	if err != nil {
		t.Fatal(err)
	}
	results, err := locsync.Tenant(t.Context(), few, s.App.DB, stack.Tenant, "test")
	if err != nil || len(results) != 1 || !results[0].Truncated || results[0].Gone != 0 || results[0].Error != "" {
		t.Errorf("cut short: %+v, %v", results, err)
	}
	if last := events(t, s); last[len(last)-1].Result != "truncated" {
		t.Errorf("recorded %+v", last[len(last)-1])
	}
	var left int
	if err := s.DB.Owner().QueryRow(t.Context(), `SELECT count(*) FROM mappy.location WHERE gone_at IS NULL`).Scan(&left); err != nil || left != 153 {
		t.Errorf("%d stores are left, %v", left, err)
	}
}

// tries is a Google of two accounts, the second of which cannot be read.
type tries struct{ fail error }

func (g tries) ListAccounts(context.Context, gbpapi.Ref) (gbpapi.AccountList, error) {
	return gbpapi.AccountList{Accounts: []gbpapi.Account{{Name: "accounts/1"}, {Name: "accounts/2"}}}, nil
}

func (g tries) ListLocations(_ context.Context, _ gbpapi.Ref, account gbp.AccountName, yield func([]gbp.Location) error) (bool, error) {
	if account == "accounts/2" {
		return false, g.fail
	}
	return false, yield([]gbp.Location{{Name: "locations/1", Account: account, ConnectionID: "google", Profile: gbp.Profile{Title: "x"}}})
}

func (g tries) GetGoogleUpdated(context.Context, gbpapi.Ref, gbp.LocationName) (gbpapi.GoogleVersion, error) {
	return gbpapi.GoogleVersion{}, g.fail
}

// A sync that breaks off in the middle changes nothing: what it did not see is not gone.
func TestHalfASyncChangesNothing(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, NoWorkers: true})
	results, err := locsync.Tenant(t.Context(), tries{errors.New("broken off")}, s.App.DB, stack.Tenant, "test")
	if err != nil || !strings.Contains(results[0].Error, "broken off") {
		t.Errorf("%+v, %v", results, err)
	}
	var names []string
	if err := s.DB.Owner().QueryRow(t.Context(), `SELECT array_agg(google_location ORDER BY google_location) FROM mappy.location WHERE gone_at IS NULL`).Scan(&names); err != nil || len(names) != 3 || slices.Contains(names, "locations/1") {
		t.Errorf("stores %v, %v", names, err)
	}
}
