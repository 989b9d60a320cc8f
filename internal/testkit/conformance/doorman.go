package conformance

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Doorman gives the address of a proxy on loopback that adds a token to every request and changes nothing else, Host and
// Origin included: the suite cannot send a token. It ends with the test.
func Doorman(tb testing.TB, server, token string) string {
	tb.Helper()
	target, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	tb.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL
}
