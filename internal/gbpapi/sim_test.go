package gbpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
)

// connections is a store with one lock; the refresh runs inside it.
type connections struct {
	mu   sync.Mutex
	rows map[gbpapi.Ref]gtoken.Connection
}

func (s *connections) ReadConnection(_ context.Context, tenant authn.TenantID, id string) (gtoken.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.rows[gbpapi.Ref{Tenant: tenant, Connection: id}]
	if !ok {
		return c, gtoken.ErrNoConnection
	}
	return c, nil
}

func (s *connections) WithConnection(ctx context.Context, tenant authn.TenantID, id string, fn func(context.Context, gtoken.Connection) (*gtoken.Update, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := gbpapi.Ref{Tenant: tenant, Connection: id}
	c := s.rows[k]
	u, err := fn(ctx, c)
	if err != nil || u == nil {
		return err
	}
	c.Generation++
	if u.Dead {
		c.State = gtoken.Dead
	} else {
		c.AccessTokenSealed, c.AccessExpiresAt = u.AccessTokenSealed, u.AccessExpiresAt
	}
	if u.RefreshTokenSealed != nil {
		c.RefreshTokenSealed = u.RefreshTokenSealed
	}
	s.rows[k] = c
	return nil
}

type world struct {
	*gbpapi.Client
	sim   *gbpsim.Sim
	store *connections
	mine  gbpapi.Ref
	other gbpapi.Ref
	posts string // a v4 location name of mine
}

// newWorld is the whole chain from keyring to simulator: a café chain of 130 stores, and a stranger with one store.
func newWorld(t *testing.T, knobs gbpsim.Knobs) *world {
	t.Helper()
	seed := gbpsim.JapaneseChain(130)
	seed.Accounts = append(seed.Accounts, gbpsim.Account{Name: "accounts/7", AccountName: "stranger", Emails: []string{"stranger@example.com"}})
	seed.Locations = append(seed.Locations, gbpsim.Location{Name: "locations/70", Account: "accounts/7", Title: "Other"})
	seed.Grants = append(seed.Grants, gbpsim.Grant{Email: "stranger@example.com", RefreshToken: "1//stranger"})
	sim, base := gbpsim.Start(t, gbpsim.Options{Seed: seed, Knobs: knobs, Strict: true})
	keys, err := keyring.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		sim: sim, store: &connections{rows: map[gbpapi.Ref]gtoken.Connection{}},
		mine: gbpapi.Ref{Tenant: "t1", Connection: "c1"}, other: gbpapi.Ref{Tenant: "t1", Connection: "c2"},
		posts: string(gbpsim.DemoGroup) + "/" + string(seed.Locations[0].Name),
	}
	for ref, refresh := range map[gbpapi.Ref]string{w.mine: gbpsim.DemoRefreshToken, w.other: "1//stranger"} {
		sealed, err := keys.Seal([]byte(refresh), gtoken.Binding(ref.Tenant, ref.Connection, gtoken.RefreshToken))
		if err != nil {
			t.Fatal(err)
		}
		w.store.rows[ref] = gtoken.Connection{Tenant: ref.Tenant, ID: ref.Connection, State: gtoken.Alive, RefreshTokenSealed: sealed}
	}
	tokens, err := gtoken.New(gtoken.Options{Store: w.store, Keys: keys, ClientID: "client", ClientSecret: "secret", BaseURL: base, Now: sim.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.Client, err = gbpapi.New(gbpapi.Options{BaseURL: base, Tokens: tokens, Now: sim.Now, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var plain = gbp.LocalPost{TopicType: "STANDARD", Summary: "A & B < C\n本日のおすすめ"}

func (w *world) create(t *testing.T) (gbp.RemotePost, error) {
	t.Helper()
	return w.CreateLocalPost(t.Context(), w.mine, w.posts, plain.Encode())
}

func (w *world) fault(t *testing.T, f gbpsim.Fault) {
	t.Helper()
	f.Route = gbpsim.RouteLocalPostsCreate
	if _, err := w.sim.AddFault(f); err != nil {
		t.Fatal(err)
	}
}

func (w *world) effects() int {
	return len(w.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate, Effects: true}))
}

func TestSimulatorSync(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		w := newWorld(t, gbpsim.Knobs{EmptyPages: empty})
		accounts, err := w.ListAccounts(t.Context(), w.mine)
		if err != nil || accounts.Truncated || len(accounts.Accounts) != 2 || accounts.Accounts[0].Type != "PERSONAL" {
			t.Fatalf("got %+v, %v", accounts, err)
		}
		names := map[gbp.LocationName]bool{}
		for _, a := range accounts.Accounts {
			truncated, err := w.ListLocations(t.Context(), w.mine, a.Name, func(page []gbp.Location) error {
				for _, l := range page {
					names[l.Name] = true
					if l.Profile.Title == "" || l.Profile.PrimaryPhone == "" || l.Profile.City == "" || len(l.Profile.RegularHours) == 0 || !l.Verified || l.Version == "" || l.Account != a.Name {
						t.Errorf("incomplete: %+v", l)
					}
				}
				return nil
			})
			if err != nil || truncated {
				t.Fatalf("%v, %v", truncated, err)
			}
		}
		if len(names) != 130 {
			t.Errorf("%d locations", len(names))
		}
		for n := range names {
			one, err := w.ReadLocation(t.Context(), w.mine, gbp.AccountName(gbpsim.DemoGroup), n)
			if err != nil || one.Location.Name != n || one.Location.Profile.StoreCode == "" {
				t.Errorf("got %+v, %v", one, err)
			}
			break
		}
	}
}

func TestSimulatorPosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	p, err := w.create(t)
	if err != nil || p.State != gbp.PostLive || string(p.Post.Fingerprint()) != string(plain.Fingerprint()) {
		t.Fatalf("got %+v, %v", p, err)
	}
	if e := w.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate}); len(e) != 1 || e[0].Body != string(plain.Encode()) || e[0].Email != gbpsim.DemoEmail {
		t.Errorf("journal %+v", e)
	}
	got, err := w.GetLocalPost(t.Context(), w.mine, p.Name)
	if err != nil || got.Name != p.Name {
		t.Errorf("got %+v, %v", got, err)
	}
	all, err := w.AllLocalPosts(t.Context(), w.mine, w.posts, 3)
	if err != nil || len(all.Posts) != 1 || all.Posts[0].Name != p.Name || all.Truncated || all.Unreadable != 0 {
		t.Errorf("got %+v, %v", all, err)
	}
	if err := w.DeleteLocalPost(t.Context(), w.mine, p.Name); err != nil {
		t.Error(err)
	}
	if err := w.DeleteLocalPost(t.Context(), w.mine, p.Name); errs.CodeOf(err) != errs.GBPNotFound {
		t.Errorf("got %v", err)
	}
}

// F083: a connection to another Google account does not see the store, which is a 404 and not a post.
func TestSimulatorForeignConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	if _, err := w.CreateLocalPost(t.Context(), w.other, w.posts, plain.Encode()); errs.CodeOf(err) != errs.GBPNotFound {
		t.Errorf("got %v", err)
	}
	if _, err := w.CreateLocalPost(t.Context(), w.other, "accounts/7/locations/70", plain.Encode()); err != nil {
		t.Error(err)
	}
	if _, err := w.create(t); err != nil {
		t.Error(err)
	}
	for _, e := range w.sim.Entries(gbpsim.EntryFilter{Effects: true}) {
		if want := map[gbpsim.AccountName]string{"accounts/7": "stranger@example.com", gbpsim.DemoGroup: gbpsim.DemoEmail}[e.Account]; e.Email != want {
			t.Errorf("%s was written by %s", e.Account, e.Email)
		}
	}
}

// What the simulator does to a create, and what the client makes of it.
func TestSimulatorFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		knobs   gbpsim.Knobs
		fault   gbpsim.Fault
		class   gbpapi.Class
		code    errs.Code
		effects int
	}{
		"reset before commit": {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"commit then reset":   {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, effects: 1},
		"commit then 503":     {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Effect: gbpsim.EffectCommit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, effects: 1},
		"commit then empty":   {fault: gbpsim.Fault{Answer: gbpsim.AnswerEmpty, Effect: gbpsim.EffectCommit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, effects: 1},
		"commit then broken":  {fault: gbpsim.Fault{Answer: gbpsim.AnswerBrokenJSON, Effect: gbpsim.EffectCommit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, effects: 1},
		"HTML 404":            {fault: gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: 404}, class: gbpapi.Refused, code: errs.Internal},
		"HTML 502":            {fault: gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: 502}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"precondition":        {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 400, Word: "FAILED_PRECONDITION"}, class: gbpapi.Refused, code: errs.GBPLocationNotVerified},
		"revoked grant":       {fault: gbpsim.Fault{Revoke: true}, class: gbpapi.Dead, code: errs.GoogleReconnectRequired},
		"quota 0":             {knobs: gbpsim.Knobs{QuotaZeroAPIs: []string{"mybusiness.googleapis.com"}}, class: gbpapi.Operator, code: errs.GBPNotApproved},
		"API disabled":        {knobs: gbpsim.Knobs{DisabledAPIs: []string{"mybusiness.googleapis.com"}}, class: gbpapi.Operator, code: errs.GBPAPIDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.knobs)
			if c.fault.Answer != "" || c.fault.Revoke {
				w.fault(t, c.fault)
			}
			_, err := w.create(t)
			e, ok := errors.AsType[*gbpapi.Error](err)
			if !ok || e.Class != c.class || e.Code != c.code {
				t.Errorf("got %v", err)
			}
			if n := w.effects(); n != c.effects {
				t.Errorf("%d effects, want %d", n, c.effects)
			}
		})
	}
}

func TestSimulatorQuotas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		knobs gbpsim.Knobs
		want  gbpapi.Quota
	}{
		"project": {gbpsim.Knobs{QuotaPerMinute: 1}, gbpapi.Quota{Metric: "mybusiness.googleapis.com/default_requests", Limit: "DefaultRequestsPerMinutePerProject"}},
		"profile": {gbpsim.Knobs{EditsPerMinute: 1}, gbpapi.Quota{Metric: "mybusiness.googleapis.com/profile_edits", Limit: "EditsPerMinutePerProfile", PerLocation: true}},
	} {
		w := newWorld(t, c.knobs)
		if _, err := w.create(t); err != nil {
			t.Fatal(err)
		}
		_, err := w.create(t)
		if e, ok := errors.AsType[*gbpapi.Error](err); !ok || e.Class != gbpapi.Throttled || e.Quota != c.want {
			t.Errorf("%s: got %+v", name, err)
		}
	}
}

// The rules of posts come back with the names of our arguments.
func TestSimulatorRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	long := make([]rune, 1501)
	for i := range long {
		long[i] = 'あ'
	}
	for argument, p := range map[string]gbp.LocalPost{
		"post.topic_type":         {Summary: "x"},
		"post.summary":            {TopicType: "STANDARD", Summary: string(long)},
		"post.call_to_action.url": {TopicType: "STANDARD", Summary: "x", CallToAction: &gbp.CallToAction{ActionType: "CALL", URL: "https://example.com"}},
		"post.event":              {TopicType: "OFFER", Summary: "x"},
	} {
		_, err := w.CreateLocalPost(t.Context(), w.mine, w.posts, p.Encode())
		public := errs.From(err)
		if public.Code != errs.GBPInvalidArgument || public.Details.Google == nil || len(public.Details.Google.Fields) == 0 || public.Details.Google.Fields[0].Argument != argument {
			b, _ := json.Marshal(public.Details.Google)
			t.Errorf("%s: got %v with %s", argument, err, b)
		}
	}
	photo := plain
	photo.Media = []gbp.PostMedia{{MediaFormat: "PHOTO", SourceURL: "https://photos.invalid/a.jpg?X-Amz-Signature=SECRETSIG"}}
	_, err := w.CreateLocalPost(t.Context(), w.mine, w.posts, photo.Encode())
	if errs.CodeOf(err) != errs.GBPMediaRejected {
		t.Errorf("got %v", err)
	}
	if n := w.effects(); n != 0 {
		t.Errorf("%d effects", n)
	}
}

// F077, F082: the hour ends while many calls run; each gets through, with one refresh and without a second post.
func TestSimulatorExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{NoQuotas: true})
	for round := range 2 {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := w.create(t); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(w.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteToken})); n != round+1 {
			t.Errorf("%d refreshes after round %d", n, round)
		}
		w.sim.ExpireAccessTokens()
	}
	if n := w.effects(); n != 100 {
		t.Errorf("%d posts", n)
	}
}

func TestSimulatorRevokedGrantStaysDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	if err := w.sim.Revoke(gbpsim.DemoEmail); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := w.create(t); errs.CodeOf(err) != errs.GoogleReconnectRequired {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if n := len(w.sim.Journal()); n != 1 {
		t.Errorf("%d requests to learn it once: %s", n, fmt.Sprint(w.sim.Journal()))
	}
	if _, err := w.CreateLocalPost(t.Context(), w.other, "accounts/7/locations/70", plain.Encode()); err != nil {
		t.Errorf("the other connection: %v", err)
	}
}
