package gtoken

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
)

// memory is a store whose rows have a real lock each, like rows of a database shared by processes.
type memory struct {
	mu   sync.Mutex
	rows map[key]*row
	// broken makes every commit of an update fail.
	broken error
	events []Event
}

type row struct {
	lock sync.Mutex
	c    Connection
}

func (m *memory) row(tenant authn.TenantID, id string) (*row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[key{tenant, id}]
	if !ok {
		return nil, ErrNoConnection
	}
	return r, nil
}

func (m *memory) ReadConnection(ctx context.Context, tenant authn.TenantID, id string) (Connection, error) {
	r, err := m.row(tenant, id)
	if err != nil {
		return Connection{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.c, ctx.Err()
}

func (m *memory) WithConnection(ctx context.Context, tenant authn.TenantID, id string, fn func(context.Context, Connection) (*Update, error)) error {
	r, err := m.row(tenant, id)
	if err != nil {
		return err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	c, err := m.ReadConnection(ctx, tenant, id)
	if err != nil {
		return err
	}
	u, err := fn(ctx, c)
	if err != nil || u == nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	m.events = append(m.events, u.Event)
	r.c.Generation++
	if u.Dead {
		r.c.State = Dead
		return nil
	}
	if u.RefreshTokenSealed != nil {
		r.c.RefreshTokenSealed = u.RefreshTokenSealed
	}
	r.c.AccessTokenSealed, r.c.AccessExpiresAt = u.AccessTokenSealed, u.AccessExpiresAt
	return nil
}

// clock is a wall clock that tests move.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC).UnixNano())
	return c
}
func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// bench is a token endpoint, a store and a keyring.
type bench struct {
	t      *testing.T
	clock  *clock
	store  *memory
	keys   *keyring.Keyring
	server *httptest.Server
	calls  atomic.Int64

	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request)
	forms  []map[string]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	keys, err := keyring.New()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, clock: newClock(), store: &memory{rows: map[key]*row{}}, keys: keys}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.calls.Add(1)
		form := map[string]string{"path": r.URL.Path}
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		for k := range r.PostForm {
			form[k] = r.PostForm.Get(k)
		}
		b.mu.Lock()
		b.forms = append(b.forms, form)
		answer := b.answer
		b.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(b.server.Close)
	return b
}

func (b *bench) respond(f func(w http.ResponseWriter, r *http.Request)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

func (b *bench) connect(tenant authn.TenantID, id, refresh string) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.rows[key{tenant, id}] = &row{c: Connection{Tenant: tenant, ID: id, State: Alive, RefreshTokenSealed: b.seal(tenant, id, RefreshToken, refresh)}}
}

func (b *bench) seal(tenant authn.TenantID, id string, kind Kind, token string) []byte {
	sealed, err := b.keys.Seal([]byte(token), Binding(tenant, id, kind))
	if err != nil {
		b.t.Fatal(err)
	}
	return sealed
}

// stored is what the row holds, in clear.
func (b *bench) stored(tenant authn.TenantID, id string) (refresh, access string, c Connection) {
	c, err := b.store.ReadConnection(b.t.Context(), tenant, id)
	if err != nil {
		b.t.Fatal(err)
	}
	for kind, sealed := range map[Kind][]byte{RefreshToken: c.RefreshTokenSealed, AccessToken: c.AccessTokenSealed} {
		if len(sealed) == 0 {
			continue
		}
		plain, err := b.keys.Open(sealed, Binding(tenant, id, kind))
		if err != nil {
			b.t.Fatal(err)
		}
		if kind == RefreshToken {
			refresh = string(plain)
		} else {
			access = string(plain)
		}
	}
	return refresh, access, c
}

func (b *bench) source(change func(*Options)) *Source {
	b.t.Helper()
	o := Options{Store: b.store, Keys: b.keys, ClientID: "client", ClientSecret: "GOCSPX-secret", BaseURL: b.server.URL, Now: b.clock.now}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) token(s *Source, tenant authn.TenantID, id, want string) {
	b.t.Helper()
	got, err := s.Token(b.t.Context(), tenant, id)
	if err != nil || got != want {
		b.t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

func (b *bench) wantCalls(n int64) {
	b.t.Helper()
	if got := b.calls.Load(); got != n {
		b.t.Fatalf("%d exchanges with the token endpoint, want %d", got, n)
	}
}

func reply(status int, contentType, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func good(access, refresh string) func(http.ResponseWriter, *http.Request) {
	m := map[string]any{"access_token": access, "expires_in": 3599, "token_type": "Bearer", "scope": "https://www.googleapis.com/auth/business.manage"}
	if refresh != "" {
		m["refresh_token"] = refresh
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return reply(200, "application/json", string(raw))
}
