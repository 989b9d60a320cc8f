// Package stack brings the whole product up for one test: a fresh database, a Redis database of its own, the Google
// simulator over HTTP, the MCP server on a loopback port and, if wanted, the workers.
package stack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
	"github.com/mappy-dev/mappy-mcp/internal/locsync"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/pgtest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

// Options say how the stack differs from the usual: ten stores, English, workers running, short windows.
type Options struct {
	// Stores is how many the world has; 0 is 12.
	Stores int
	// NoWorkers leaves accepted work in the queue until Work is called.
	NoWorkers bool
	// NoServer leaves the HTTP front out.
	NoServer bool
	// Policy is the tenant's own policy JSON.
	Policy string
	// Config changes the configuration before the app is built.
	Config func(*config.Config)
	// Sim changes the simulator's options.
	Sim func(*gbpsim.Options)
	// RedisURL is another Redis than one of redistest.New.
	RedisURL string
	// Media switches the media check on, with these options, such as those of a pictures.Web. Nil: it is off, as in the
	// environment simulator.
	Media *mediacheck.Options
	// Log takes what the product logs; nil drops it, or prints it when MAPPY_TEST_LOG is set.
	Log *slog.Logger
}

// Stack is the running product with its surroundings.
type Stack struct {
	App    *app.App
	Config config.Config
	DB     *pgtest.DB
	Sim    *gbpsim.Sim
	// URL is the server's address, without a path.
	URL string
	// Token is of a user with all locations and every scope.
	Token string
	// Locations are the tenant's, by id.
	Locations []gbp.Location

	t testing.TB
}

// Tenant, User and Client are those of Token.
const (
	Tenant authn.TenantID = "komorebi"
	User   authn.UserID   = "hanako"
	Client authn.ClientID = "agent"
)

// Scopes are all that tools ask for.
func Scopes() []string {
	return []string{
		"locations:read", "locations:write", "posts:read", "posts:write", "posts:delete", "reviews:read", "reviews:write", "reviews:delete",
		"media:read", "media:write", "media:delete", "batches:read", "batches:cancel", "reports:create", "audit:read",
	}
}

// Roomy is a tenant policy whose limits no race test reaches.
const Roomy = `{"token_per_minute":100000,"user_per_minute":100000,"user_per_day":100000,"client_per_hour":100000,"user_concurrency":10000,"read_per_minute":100000,"preview_per_minute":100000,"refusals_per_minute":100000}`

// New brings a stack up; it ends with the test.
func New(tb testing.TB, o Options) *Stack {
	tb.Helper()
	if o.Stores == 0 {
		o.Stores = 12
	}
	s := &Stack{t: tb, DB: pgtest.New(tb)}
	so := gbpsim.Options{Seed: gbpsim.JapaneseChain(o.Stores), Strict: true}
	if o.Sim != nil {
		o.Sim(&so)
	}
	var google string
	s.Sim, google = gbpsim.Start(tb, so)
	redisURL := o.RedisURL
	if redisURL == "" {
		redisURL = redistest.New(tb).URL()
	}
	s.Config = Configuration(s.DB.AppURL(), redisURL, google)
	if o.Media != nil {
		s.Config.Media.Check = config.MediaOn
	}
	if o.Config != nil {
		o.Config(&s.Config)
	}
	s.open(o)
	if !o.NoServer {
		s.serve(!o.NoWorkers)
	} else if !o.NoWorkers {
		s.Work()
	}
	return s
}

// Configuration is the product's with windows that suit tests, and Google's quota out of the way.
func Configuration(databaseURL, redisURL, google string) config.Config {
	c := config.Default()
	c.Environment, c.DatabaseURL, c.RedisURL, c.GoogleBaseURL = "simulator", databaseURL, redisURL, google
	c.GoogleClientID, c.GoogleClientSecret, c.LogLevel = "client", "secret", "error"
	c.KeyringB64 = newKeyring()
	c.Google.RequestsPerMinute, c.Google.EditsPerMinute, c.Google.UserItems = 60_000, 1000, 50
	w := &c.Worker
	w.Backoff, w.Settle, w.SendWindow, w.CallTimeout, w.Follow = 20*time.Millisecond, 300*time.Millisecond, 2*time.Second, 5*time.Second, 300*time.Millisecond
	w.SealEvery, w.SweepEvery, w.ShutdownGrace = 500*time.Millisecond, time.Second, 10*time.Second
	return c
}

func newKeyring() string {
	k, err := keyring.New()
	if err != nil {
		panic("stack: " + err.Error())
	}
	b, err := k.Secret()
	if err != nil {
		panic("stack: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(b)
}

func (s *Stack) open(o Options) {
	s.t.Helper()
	log := slog.New(slog.DiscardHandler)
	switch {
	case o.Log != nil:
		log = o.Log
	case os.Getenv("MAPPY_TEST_LOG") != "":
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	var options []app.Option
	if o.Media != nil {
		options = append(options, app.WithMediaCheck(*o.Media))
	}
	a, err := app.New(s.t.Context(), s.Config, log, options...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(a.Close)
	s.App = a
	s.Token = s.AddUser(Tenant, User, authn.Grants{All: true}, Scopes(), o.Policy)
	s.Sync(Tenant)
	s.Locations, err = a.DB.ListLocations(s.t.Context(), Tenant, authn.Grants{All: true}, gbp.LocationFilter{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
}

// AddUser makes a tenant, where it does not exist, with the owner's connection, and a user with a token; it gives the token.
func (s *Stack) AddUser(tenant authn.TenantID, user authn.UserID, g authn.Grants, scopes []string, policy string) string {
	s.t.Helper()
	grant := s.Sim.World().Grants[0]
	sealed, err := s.App.Keys.Seal([]byte(grant.RefreshToken), gtoken.Binding(tenant, "google", gtoken.RefreshToken))
	if err != nil {
		s.t.Fatal(err)
	}
	token := authn.NewToken(s.Config.Environment)
	setup := postgres.Setup{
		ID: tenant, Name: "Komorebi", Locale: errs.English, Timezone: "Asia/Tokyo", Policy: json.RawMessage(policy),
		Users:   []postgres.SetupUser{{ID: user, Email: string(user) + "@komorebi-coffee.example", Grants: g}},
		Clients: []postgres.SetupClient{{ID: Client, Name: "Agent"}},
		Tokens:  []postgres.NewToken{{ID: authn.TokenID("token-" + string(user)), Client: Client, User: user, Scopes: scopes, Hash: authn.HashToken(token)}},
	}
	existing, err := s.App.DB.ListConnections(s.t.Context(), tenant)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(existing) == 0 {
		setup.Connections = []postgres.SetupConnection{{ID: "google", GoogleEmail: grant.Email, RefreshTokenSealed: sealed}}
	}
	if err := s.App.DB.Save(s.t.Context(), setup, "test"); err != nil {
		s.t.Fatal(err)
	}
	return token
}

// Sync reads the tenant's locations from the simulator, as if what is stored had been a minute before: a reading is dated to the
// early side by a trip to PostgreSQL, and under load that is more than what lies between two steps of a test.
func (s *Stack) Sync(tenant authn.TenantID) {
	s.t.Helper()
	if _, err := s.DB.Owner().Exec(s.t.Context(), `UPDATE mappy.location SET synced_at = synced_at - interval '1 minute' WHERE tenant_id = $1`, tenant); err != nil {
		s.t.Fatal(err)
	}
	results, err := locsync.Tenant(s.t.Context(), s.App.Google, s.App.DB, tenant, "test")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range results {
		if r.Error != "" {
			s.t.Fatal(r.Error)
		}
	}
}

func (s *Stack) serve(withWorker bool) {
	s.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.URL = "http://" + l.Addr().String()
	s.background(func(ctx context.Context) error { return s.App.Run(ctx, l, nil, withWorker) })
}

// Work starts the workers of a stack that began without them, and gives what stops them.
func (s *Stack) Work() (stop func()) {
	return s.background(s.App.Work)
}

func (s *Stack) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("stack: %v", err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

// IDs are the ids of the first n stores.
func (s *Stack) IDs(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(s.Locations[i].ID)
	}
	return out
}
