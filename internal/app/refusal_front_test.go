package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// Refusals that the front gives before a tool is called are of the caller's budget like any other, and tokens that are none
// share one: what strangers send fills no log, and they read the same beyond it.
func TestRefusalBudgetAtTheFront(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{
		Stores: 1, NoWorkers: true, Policy: `{"refusals_per_minute":3}`, Config: func(c *config.Config) { c.Policy.RefusalsPerMinute = 4 },
	})
	reader := s.AddUser(stack.Tenant, "reader", authn.Grants{All: true}, []string{"locations:read"}, `{"refusals_per_minute":3}`)
	for i := range 8 {
		want := http.StatusForbidden
		if i >= 3 {
			want = http.StatusTooManyRequests
		}
		if status, _ := knock(t, s, reader); status != want {
			t.Errorf("refusal %d: HTTP %d, want %d", i, status, want)
		}
		if status, challenge := knock(t, s, "mappy_made_up"); status != http.StatusUnauthorized || !strings.Contains(challenge, "invalid_token") {
			t.Errorf("made-up token %d: HTTP %d %s", i, status, challenge)
		}
	}
	for _, c := range []struct {
		tenant authn.TenantID
		kind   audit.Kind
		want   int
	}{
		{stack.Tenant, audit.AdmissionRefused, 3}, {stack.Tenant, audit.RateLimited, 1}, {authn.SystemTenant, audit.LoginFailed, 4}, {authn.SystemTenant, audit.RateLimited, 1},
	} {
		if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE tenant_id = $1 AND event = $2`, c.tenant, c.kind); n != c.want {
			t.Errorf("%s: %d of %s, want %d", c.tenant, n, c.kind, c.want)
		}
	}
	if a := s.Call("location.list", stack.Args{}); a.IsError {
		t.Errorf("another token of the tenant: %s", a.Text)
	}
}

// Nothing is let go unrecorded while Redis is away.
func TestRefusalsAtTheFrontWithoutRedis(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	s := stack.New(t, stack.Options{Stores: 1, NoWorkers: true, RedisURL: own.URL(), Config: func(c *config.Config) { c.Policy.RefusalsPerMinute = 1 }})
	own.Pause()
	defer own.Resume()
	for range 2 {
		if status, _ := knock(t, s, "mappy_made_up"); status != http.StatusUnauthorized {
			t.Errorf("HTTP %d", status)
		}
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE event = 'login_failed'`); n != 2 {
		t.Errorf("%d recorded", n)
	}
}

// knock asks for a write with a token, as a client of 2026-07-28 does.
func knock(t *testing.T, s *stack.Stack, token string) (status int, challenge string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"post.create","arguments":{}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "post.create",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header.Get("WWW-Authenticate")
}
