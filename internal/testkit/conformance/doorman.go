package conformance

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

const sessionHeader = "Mcp-Session-Id"

// Doorman gives the address of a proxy on loopback that adds a token to every request and changes nothing else, Host and
// Origin included: the suite cannot send a token. Where a scenario fails the suite leaves its session open, and sessions
// of one token are bounded, so each new one gets the next token. The proxy ends with the test.
func Doorman(tb testing.TB, server string, tokens ...string) string {
	tb.Helper()
	target, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	d := &doorman{tokens: tokens, sessions: map[string]string{}}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+d.token(r.In.Header.Get(sessionHeader)))
		},
		ModifyResponse: d.learn,
		ErrorLog:       log.New(io.Discard, "", 0), // the suite hangs up in the middle of streams
	})
	tb.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL
}

type doorman struct {
	mu       sync.Mutex
	tokens   []string
	sessions map[string]string // the Authorization header that opened each
	next     int
}

func (d *doorman) token(session string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.sessions[session]; ok {
		return t
	}
	d.next++
	return d.tokens[d.next%len(d.tokens)]
}

// learn remembers whose a session is.
func (d *doorman) learn(r *http.Response) error {
	if id := r.Header.Get(sessionHeader); id != "" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sessions[id] = r.Request.Header.Get("Authorization")[len("Bearer "):]
	}
	return nil
}
