package app_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// process is another process of the deployment: an app of its own on the same stores.
func process(t *testing.T, s *stack.Stack) *app.App {
	t.Helper()
	a, err := app.New(t.Context(), s.Config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// works runs a process's workers until the test ends.
func works(t *testing.T, a *app.App) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Work(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("workers: %v", err)
		}
	})
}

func refreshes(s *stack.Stack) int {
	return len(s.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteToken}))
}

// seal makes what is stored of a refresh token.
func seal(t *testing.T, s *stack.Stack, tenant authn.TenantID, connection, token string) []byte {
	t.Helper()
	b, err := s.App.Keys.Seal([]byte(token), gtoken.Binding(tenant, connection, gtoken.RefreshToken))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// F077, F080: 50 items in three processes whose access token has run out, at a token endpoint that spends refresh tokens.
func TestF077OneRefreshForAll(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, rotate := range map[string]bool{"F077 rotating": true, "F080 without a new refresh token": false} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 50, NoWorkers: true, Sim: func(o *gbpsim.Options) { o.Knobs.RotateRefreshTokens = rotate }})
			accepted := s.Confirmed("post.create", stack.Post(s.IDs(50), "五十店舗への投稿です。"))
			asOwner(t, s, `UPDATE mappy.connection SET access_expires_at = now() - interval '1 hour'`)
			before := refreshes(s)
			for range 3 {
				works(t, process(t, s))
			}
			if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
				t.Errorf("batch: %+v", v)
			}
			if n := refreshes(s) - before; n != 1 {
				t.Errorf("%d refreshes", n)
			}
			// What was stored works for the next process.
			asOwner(t, s, `UPDATE mappy.connection SET access_expires_at = now() - interval '1 hour'`)
			if _, err := process(t, s).Tokens.Token(t.Context(), stack.Tenant, "google"); err != nil {
				t.Errorf("the next refresh: %v", err)
			}
		})
	}
}

// F079: a refused grant ends all waiting work at once, and admission says so until somebody reconnects; weather does not.
func TestF079RefusedGrant(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 40, NoWorkers: true, Config: func(c *config.Config) { c.Worker.Bulk = 5 }})
	c := callerOf(t, s)
	one := s.Confirmed("post.create", stack.Post(s.IDs(40), "切断前の一件目です。"))
	two := s.Confirmed("post.create", stack.Post(s.IDs(40), "切断前の二件目です。"))
	s.Sim.ExpireAccessTokens()
	if err := s.Sim.Revoke(gbpsim.DemoEmail); err != nil {
		t.Fatal(err)
	}
	before := refreshes(s)
	s.Work()
	for _, id := range []batch.ID{one.BatchID, two.BatchID} {
		v := s.Finish(string(id))
		if v.Status != batch.Failed || v.FailureCount != 40 || v.Failures[0].ErrorCode != errs.GoogleReconnectRequired || !v.Failures[0].RetryPossible {
			t.Errorf("batch: %s %d %+v", v.Status, v.FailureCount, v.Failures[0])
		}
	}
	if n := refreshes(s) - before; n != 1 {
		t.Errorf("the dead grant was tried %d times", n)
	}
	if n := len(creates(s)); n > 10 {
		t.Errorf("%d calls with a dead grant", n)
	}
	args := stack.Post(s.IDs(1), "切断後の投稿です。").With("idempotency_key", "reconnect-key")
	c.refused("post.create", args, errs.GoogleReconnectRequired)
	if p := into(t, c.works("post.create", args.With("dry_run", true))).Preview; p.WouldExecute || p.WouldRefuse.ErrorCode != errs.GoogleReconnectRequired {
		t.Errorf("preview: %+v", p)
	}
	if got := queryRows[string](t, s, `SELECT dead_reason FROM mappy.connection WHERE state = 'dead'`); len(got) != 1 || got[0] != "invalid_grant" {
		t.Errorf("dead connections: %v", got)
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE event = 'connection_dead'`); n != 1 {
		t.Errorf("connection_dead is recorded %d times", n)
	}

	if err := s.Sim.Seed(gbpsim.World{Grants: []gbpsim.Grant{{Email: gbpsim.DemoEmail, RefreshToken: "1//0fresh"}}}); err != nil {
		t.Fatal(err)
	}
	err := s.App.DB.Save(t.Context(), postgres.Setup{
		ID: stack.Tenant, Name: "Komorebi", Locale: errs.English, Timezone: "Asia/Tokyo", Policy: []byte(stack.Roomy),
		Connections: []postgres.SetupConnection{{ID: "google", GoogleEmail: gbpsim.DemoEmail, RefreshTokenSealed: seal(t, s, stack.Tenant, "google", "1//0fresh")}},
	}, "operator")
	if err != nil {
		t.Fatal(err)
	}
	if v := s.Finish(string(into(t, c.call("post.create", args)).Accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("after reconnecting: %+v", v)
	}
}

func TestF079WeatherAtTheTokenEndpoint(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, f := range map[string]gbpsim.Fault{
		"503":                    {Answer: gbpsim.AnswerError, Status: 503},
		"500 with a body":        {Answer: gbpsim.AnswerError, Status: 500, Body: `{"refresh_token":"1//SECRET","note":"x"}`},
		"200 with HTML":          {Answer: gbpsim.AnswerHTML, Status: 200},
		"an empty 200":           {Answer: gbpsim.AnswerEmpty, Status: 200},
		"a reset":                {Answer: gbpsim.AnswerReset},
		"429":                    {Answer: gbpsim.AnswerError, Status: 429, Body: `{"error":"rate_limit_exceeded"}`},
		"invalid_grant in a 503": {Answer: gbpsim.AnswerError, Status: 503, Body: `{"error":"invalid_grant"}`},
	} {
		g.run(name, func(t *testing.T) {
			s := engine(t, stack.Options{Stores: 3, NoWorkers: true})
			accepted := s.Accept("post.create", stack.Post(s.IDs(3), "天気待ちの投稿です。"))
			asOwner(t, s, `UPDATE mappy.connection SET access_expires_at = now() - interval '1 hour'`)
			f.Route = gbpsim.RouteToken
			id := fault(t, s, f)
			works(t, process(t, s))
			eventually(t, "all items wait", func() bool {
				return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND (metadata->>'snoozes')::int > 0`) == 3
			})
			if got := queryRow[string](t, s, `SELECT state FROM mappy.connection`); got != "alive" {
				t.Errorf("the connection is %s", got)
			}
			if err := s.Sim.RemoveFault(id); err != nil {
				t.Fatal(err)
			}
			if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
				t.Errorf("batch: %+v", v)
			}
			if n := queryRow[int](t, s, `SELECT max(attempts) FROM mappy.item`); n != 1 {
				t.Errorf("waiting for a token spent attempts: %d", n)
			}
		})
	}
}

// F082: an access token that Google refuses although it should live: one refresh, one repeat, no second post.
func TestF082RefusedAccessToken(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	s.Sim.ExpireAccessTokens()
	before := refreshes(s)
	v := s.Finish(string(s.Confirmed("post.create", stack.Post(s.IDs(12), "期限切れの鍵での投稿です。")).BatchID))
	if v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
	if n := refreshes(s) - before; n != 1 {
		t.Errorf("%d refreshes", n)
	}
	if n := queryRow[int](t, s, `SELECT max(attempts) FROM mappy.item`); n != 1 {
		t.Errorf("a refresh spent an attempt: %d", n)
	}
	// Refused again and again, with a token that was fresh a moment ago: the item fails after its one repeat, without a refresh.
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 0), Answer: gbpsim.AnswerError, Status: 401})
	at := len(creates(s))
	v = s.Finish(string(s.Accept("post.create", stack.Post(s.IDs(1), "拒まれ続ける投稿です。")).BatchID))
	if v.Failures[0].ErrorCode != errs.GoogleReconnectRequired || len(creates(s))-at != 2 || refreshes(s)-before != 1 {
		t.Errorf("%d calls, %+v", len(creates(s))-at, v.Failures)
	}
	// It is that store's trouble alone: the token endpoint gives tokens, and its siblings are published.
	v = s.Finish(string(s.Confirmed("post.create", stack.Post(s.IDs(12), "一店舗だけ拒まれる投稿です。")).BatchID))
	if v.Status != batch.Partial || v.SuccessCount != 11 || v.Failures[0].ErrorCode != errs.GoogleReconnectRequired || !v.Failures[0].RetryPossible {
		t.Errorf("batch: %+v", v)
	}
	if got := queryRow[string](t, s, `SELECT state FROM mappy.connection`); got != "alive" {
		t.Errorf("the connection is %s", got)
	}
}

// F083: every call carries the token of its own item's connection, across connections of one tenant and across tenants.
func TestF083TokensAreNotMixedUp(t *testing.T) {
	t.Parallel()
	const otherEmail, otherAccount = "second@komorebi-coffee.example", gbpsim.AccountName("accounts/555")
	s := engine(t, stack.Options{Stores: 6, NoWorkers: true, Sim: func(o *gbpsim.Options) {
		w := &o.Seed
		w.Accounts = append(w.Accounts, gbpsim.Account{Name: otherAccount, AccountName: "Second", Emails: []string{otherEmail}})
		w.Grants = append(w.Grants, gbpsim.Grant{Email: otherEmail, RefreshToken: "1//0second"})
		for i := range 3 {
			l := w.Locations[i]
			l.Name, l.Account, l.StoreCode = gbpsim.LocationName("locations/55"+string(rune('1'+i))), otherAccount, "SECOND"+string(rune('1'+i))
			w.Locations = append(w.Locations, l)
		}
	}})
	add := func(tenant authn.TenantID) {
		err := s.App.DB.Save(t.Context(), postgres.Setup{
			ID: tenant, Name: "Komorebi", Locale: errs.English, Timezone: "Asia/Tokyo", Policy: []byte(stack.Roomy),
			Connections: []postgres.SetupConnection{{ID: "google-2", GoogleEmail: otherEmail, RefreshTokenSealed: seal(t, s, tenant, "google-2", "1//0second")}},
		}, "operator")
		if err != nil {
			t.Fatal(err)
		}
		s.Sync(tenant)
	}
	add(stack.Tenant)
	stranger := s.AddUser("rival", "jiro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	s.Sync("rival")
	ids := func(tenant authn.TenantID) []int64 {
		return queryRows[int64](t, s, `SELECT location_id FROM mappy.location WHERE tenant_id = $1 ORDER BY md5(google_location)`, tenant)
	}
	if n := len(ids(stack.Tenant)); n != 9 {
		t.Fatalf("%d locations", n)
	}
	done := []batch.ID{}
	for n := range 4 {
		done = append(done, s.Confirmed("post.create", stack.Post(ids(stack.Tenant), "二つの接続の投稿です。"+strings.Repeat("!", n))).BatchID)
		a := s.CallAs(stranger, "post.create", stack.Post(ids("rival"), "別の会社の投稿です。"+strings.Repeat("!", n)))
		a = s.CallAs(stranger, "post.create", stack.Post(ids("rival"), "別の会社の投稿です。"+strings.Repeat("!", n)).With("confirm_token", a.Details.ConfirmToken))
		into(t, a)
	}
	s.Work()
	for _, id := range done {
		if v := s.Finish(string(id)); v.Status != batch.Done {
			t.Errorf("batch: %+v", v)
		}
	}
	eventually(t, "everything is done", func() bool {
		return queryRow[int](t, s, `SELECT count(*) FROM mappy.item WHERE state <> 'succeeded'`) == 0
	})
	for _, e := range creates(s) {
		want := gbpsim.DemoEmail
		if e.Account == otherAccount {
			want = otherEmail
		}
		if e.Email != want || e.Status != 200 {
			t.Errorf("%s was written with %s's token: %d", e.Location, e.Email, e.Status)
		}
	}
	if n := len(creates(s)); n != 4*(9+6) {
		t.Errorf("%d calls", n)
	}
}
