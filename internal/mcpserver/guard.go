package mcpserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// guard decides by Host and Origin whether a request may come in at all. It stands against DNS rebinding (a stranger's
// name that resolves to this machine) and against pages of other origins in a person's browser.
type guard struct {
	public  publicURL
	hosts   map[string]bool
	origins map[string]bool
	log     *slog.Logger
}

func newGuard(o Options, public publicURL) (*guard, error) {
	g := &guard{public: public, hosts: map[string]bool{public.host: true}, origins: map[string]bool{public.origin: true}, log: o.Log}
	g.hosts[strings.ToLower(hostname(public.host))] = true
	var problems []error
	for _, h := range o.AllowedHosts {
		if h == "" || strings.ContainsAny(h, "/*@ ") {
			problems = append(problems, fmt.Errorf("allowed host %q: want a host name such as gbp.example.com, with a port or without", h))
			continue
		}
		g.hosts[strings.ToLower(h)] = true
	}
	for _, s := range o.AllowedOrigins {
		origin, err := parseOrigin(s)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		g.origins[origin] = true
	}
	return g, errors.Join(problems...)
}

// check gives "" for a request that may pass, else why not. The log names the setting that would let it in.
func (g *guard) check(r *http.Request) string {
	if !g.host(r) {
		g.log.WarnContext(r.Context(), "request refused: add its host to allowed_hosts if this name is yours",
			slog.String("host", clip(r.Host)), slog.String("remote_addr", r.RemoteAddr))
		return "This Host is not served here."
	}
	if !g.origin(r) {
		g.log.WarnContext(r.Context(), "request refused: add its origin to allowed_origins if this site is yours",
			slog.String("origin", clip(r.Header.Get("Origin"))), slog.String("sec_fetch_site", clip(r.Header.Get("Sec-Fetch-Site"))),
			slog.String("remote_addr", r.RemoteAddr))
		return "Requests from this origin are not allowed."
	}
	return ""
}

func (g *guard) host(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	name := hostname(host)
	return g.hosts[host] || g.hosts[name] || (arrivedOnLoopback(r) && loopbackName(name))
}

// origin allows requests of programs (no Origin and no sign of a browser), of the server's own pages, and of origins
// that were named.
func (g *guard) origin(r *http.Request) bool {
	sent := r.Header.Values("Origin")
	if len(sent) == 0 {
		site := r.Header.Get("Sec-Fetch-Site")
		return site == "" || site == "none" || site == "same-origin"
	}
	u, err := url.Parse(sent[0])
	if len(sent) > 1 || err != nil || u.Hostname() == "" {
		return false
	}
	return g.origins[originOf(u)] || (g.public.loopback && arrivedOnLoopback(r) && loopbackName(u.Hostname()))
}

// arrivedOnLoopback tells whether the connection came in at a loopback address of this machine.
func arrivedOnLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && loopbackName(hostname(addr.String()))
}

// clip shortens what a stranger sent, for the log.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
