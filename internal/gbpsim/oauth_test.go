package gbpsim_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

func TestRefresh(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	a := b.refresh(refreshForm(gbpsim.DemoRefreshToken))
	want := map[string]any{"access_token": a.text("access_token"), "expires_in": 3599., "scope": "https://www.googleapis.com/auth/business.manage", "token_type": "Bearer"}
	if d := cmp.Diff(want, a.json); a.status != 200 || d != "" {
		t.Fatalf("%d (-want +got):\n%s", a.status, d)
	}
	if e := b.last(); e.Body != "" || e.Email != gbpsim.DemoEmail || e.Effect {
		t.Errorf("journal: body %q, email %q, effect %v", e.Body, e.Email, e.Effect)
	}
	b.token = a.text("access_token")
	b.created(0)
	b.sim.Advance(3598e9)
	b.created(0)
	b.sim.Advance(1e9)
	if got := b.create(0, plain); got.status != 401 || got.header.Get("Www-Authenticate") == "" {
		t.Errorf("after expires_in: %d", got.status)
	}
}

func TestBasicClientCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	f := refreshForm(gbpsim.DemoRefreshToken)
	f.Del("client_id")
	f.Del("client_secret")
	a := b.do("POST", tokenHost+"/token", f.Encode(), func(r *http.Request) { r.SetBasicAuth("client", "hush") })
	if a.status != 200 {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestTokenLifeKnob(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{TokenSeconds: 61}})
	if a := b.refresh(refreshForm(gbpsim.DemoRefreshToken)); a.json["expires_in"] != 61. {
		t.Errorf("expires_in %v", a.json["expires_in"])
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{RotateRefreshTokens: true}})
	a := b.refresh(refreshForm(gbpsim.DemoRefreshToken))
	next := a.text("refresh_token")
	if a.status != 200 || next == "" || next == gbpsim.DemoRefreshToken {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if old := b.refresh(refreshForm(gbpsim.DemoRefreshToken)); old.text("error") != "invalid_grant" {
		t.Errorf("the old token: %d %s", old.status, old.raw)
	}
	if again := b.refresh(refreshForm(next)); again.status != 200 {
		t.Errorf("the new token: %d %s", again.status, again.raw)
	}
}

func TestRevokeEndpoint(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	if a := b.do("POST", tokenHost+"/revoke", "token="+b.token); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if a := b.create(0, plain); a.status != 401 {
		t.Errorf("access token after revocation: %d", a.status)
	}
	if a := b.refresh(refreshForm(gbpsim.DemoRefreshToken)); a.text("error") != "invalid_grant" {
		t.Errorf("refresh token after revocation: %d %s", a.status, a.raw)
	}
	if _, err := b.sim.AccessToken(gbpsim.DemoEmail); err == nil {
		t.Error("AccessToken still issues to a revoked grant")
	}
}
