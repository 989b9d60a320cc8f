package mcpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
)

// Behind a proxy on the same machine the public name arrives on loopback.
func TestF113HostAllowList(t *testing.T) {
	t.Parallel()
	without := newFront(t)
	a := without.legacy(t, tokenAll, echoBody, "Host", "gbp.example.com")
	if a.status != http.StatusForbidden {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if lines := without.log.lines("gbp.example.com"); len(lines) != 1 || !strings.Contains(lines[0], "allowed_hosts") {
		t.Errorf("log: %v", lines)
	}
	with := newFront(t, func(o *mcpserver.Options) {
		o.AllowedHosts = []string{"GBP.example.com", "ported.example.com:8443"}
		o.PublicURL = "https://mappy.example"
	})
	for host, want := range map[string]int{
		"gbp.example.com":          200,
		"gbp.example.com:8080":     200,
		"Gbp.Example.Com":          200,
		"mappy.example":            200,
		"mappy.example:443":        200,
		"ported.example.com:8443":  200,
		"ported.example.com":       403,
		"localhost":                200,
		"localhost:1234":           200,
		"127.0.0.1":                200,
		"[::1]:8080":               200,
		"localhost.evil.example":   403,
		"127.0.0.1.evil.example":   403,
		"evil.example":             403,
		"gbp.example.com.evil.com": 403,
		"10.0.0.1":                 403,
	} {
		if a := with.legacy(t, tokenAll, echoBody, "Host", host); a.status != want {
			t.Errorf("%s: %d, want %d", host, a.status, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	public := newFront(t, func(o *mcpserver.Options) {
		o.PublicURL, o.AllowedOrigins = "https://mappy.example", []string{"https://app.example.com", "http://dev.example.com:80/"}
	})
	local := newFront(t)
	for _, c := range []struct {
		f             *front
		origin, fetch string
		want          int
	}{
		{public, "", "", 200},
		{public, "", "none", 200},
		{public, "", "same-origin", 200},
		{public, "", "cross-site", 403},
		{public, "", "same-site", 403},
		{public, "https://mappy.example", "same-origin", 200},
		{public, "https://mappy.example:443", "", 200},
		{public, "http://mappy.example", "", 403},
		{public, "https://app.example.com", "cross-site", 200},
		{public, "https://APP.example.com", "", 200},
		{public, "https://app.example.com:444", "", 403},
		{public, "http://dev.example.com", "", 200},
		{public, "https://app.example.com.evil.com", "", 403},
		{public, "http://localhost:6274", "", 403},
		{public, "null", "", 403},
		{public, "https://evil.example", "cross-site", 403},
		{local, "http://localhost:6274", "cross-site", 200},
		{local, "http://127.0.0.1:3000", "", 200},
		{local, "http://localhost.evil.example", "", 403},
		{local, "https://evil.example", "", 403},
	} {
		a := c.f.legacy(t, tokenAll, echoBody, "Origin", c.origin, "Sec-Fetch-Site", c.fetch)
		if a.status != c.want {
			t.Errorf("%q %q: %d, want %d", c.origin, c.fetch, a.status, c.want)
		}
		allowed := a.header.Get("Access-Control-Allow-Origin")
		if (c.want == 200 && allowed != c.origin) || (c.want == 403 && allowed != "") {
			t.Errorf("%q: Access-Control-Allow-Origin %q", c.origin, allowed)
		}
	}
	if len(public.log.lines("allowed_origins")) == 0 {
		t.Error("the log does not name the setting")
	}
}

// A browser asks before it sends, without a token.
func TestPreflight(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(o *mcpserver.Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	a := f.send(t, http.MethodOptions, "/mcp", "", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST", "Content-Type", "")
	if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || !strings.Contains(a.header.Get("Vary"), "Origin") {
		t.Fatalf("%d %v", a.status, a.header)
	}
	for _, h := range []string{"Authorization", "Content-Type", "Accept", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"} {
		if !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), h) {
			t.Errorf("%s is not allowed", h)
		}
	}
	for _, h := range []string{"Mcp-Session-Id", "WWW-Authenticate"} {
		if !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), h) {
			t.Errorf("%s is not exposed", h)
		}
	}
	if a := f.send(t, http.MethodOptions, "/mcp", "", "", "Origin", "https://evil.example"); a.status != http.StatusForbidden {
		t.Errorf("foreign: %d", a.status)
	}
	// The 401 itself can be read by the page, or it could not start to sign in.
	if a := f.legacy(t, "", echoBody, "Origin", "https://app.example.com"); a.status != 401 || a.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("401: %d %v", a.status, a.header)
	}
}
