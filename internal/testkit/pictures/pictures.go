// Package pictures is a small internet of image hosts on loopback, with its own certificate authority and name server, for
// tests of what is behind addresses. The checker that Options configures trusts the hosts at Outside; everything else on
// loopback is inside, as a company's network is.
package pictures

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
)

// The addresses of hosts.
const (
	Outside = "127.0.0.2"
	Inside  = "127.0.0.1"
)

// Name is the host of Web.URL.
const Name = "img.example.com"

// Web is the internet of one test, with one image host outside.
type Web struct {
	tb    testing.TB
	host  *Host
	roots *x509.CertPool
	cert  tls.Certificate
	dns   net.PacketConn

	mu    sync.Mutex
	names map[string][]string // answers in turn; the last one repeats
	files map[string]http.Handler
}

// Start brings a web up; it ends with the test. The name Name, and every name below "example.com" that Point makes known,
// has a certificate.
func Start(tb testing.TB) *Web {
	tb.Helper()
	w := &Web{tb: tb, names: map[string][]string{}, files: map[string]http.Handler{}}
	w.certify()
	var err error
	if w.dns, err = net.ListenPacket("udp", net.JoinHostPort(Inside, "0")); err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); w.answerNames() }()
	tb.Cleanup(func() { _ = w.dns.Close(); <-done })
	w.host = w.Serve(Outside, http.HandlerFunc(w.answer))
	w.Point(Name, Outside)
	return w
}

func (w *Web) certify() {
	w.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: []string{"*.example.com"}, IPAddresses: []net.IP{net.ParseIP(Outside), net.ParseIP(Inside)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		w.tb.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		w.tb.Fatal(err)
	}
	w.roots, w.cert = x509.NewCertPool(), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	w.roots.AddCert(parsed)
}

// Options are for a checker in this web.
func (w *Web) Options() *mediacheck.Options {
	return &mediacheck.Options{
		Trusted: []netip.Prefix{netip.MustParsePrefix(Outside + "/32")}, RootCAs: w.roots,
		Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", w.dns.LocalAddr().String())
		}},
	}
}

// URL is the address of a path on the image host.
func (w *Web) URL(path string) string { return "https://" + Name + ":" + w.host.Port + path }

// Put makes the image host answer a path with a file. A later call swaps it.
func (w *Web) Put(path, contentType string, content []byte) string {
	return w.Handle(path, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", contentType)
		_, _ = rw.Write(content) // the client may be gone
	}))
}

// Handle makes the image host answer a path, and gives its address.
func (w *Web) Handle(path string, h http.Handler) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[path] = h
	return w.URL(path)
}

// Requests are "METHOD request-URI" of what reached the image host.
func (w *Web) Requests() []string { return w.host.Requests() }

func (w *Web) answer(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	h := w.files[r.URL.Path]
	w.mu.Unlock()
	if h == nil {
		http.NotFound(rw, r)
		return
	}
	h.ServeHTTP(rw, r)
}

// Point makes a host name known; with several addresses each answer gives the next one.
func (w *Web) Point(host string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[host] = addresses
}

// Host is a server that remembers who came.
type Host struct {
	// Port is where it listens.
	Port        string
	connections atomic.Int32
	mu          sync.Mutex
	lines       []string
}

// Serve starts a server with TLS at an address; it ends with the test.
func (w *Web) Serve(address string, h http.Handler) *Host {
	w.tb.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		w.tb.Fatal(err)
	}
	out := &Host{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		out.mu.Lock()
		out.lines = append(out.lines, r.Method+" "+r.RequestURI)
		out.mu.Unlock()
		h.ServeHTTP(rw, r)
	}))
	_ = server.Listener.Close()
	server.Listener = l
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			out.connections.Add(1)
		}
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{w.cert}}
	server.StartTLS()
	w.tb.Cleanup(server.Close)
	_, out.Port, _ = net.SplitHostPort(l.Addr().String())
	return out
}

// Connections counts those that were ever opened.
func (h *Host) Connections() int { return int(h.connections.Load()) }

// Requests are "METHOD request-URI" of each request.
func (h *Host) Requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...)
}

// answerNames is a name server for A records; AAAA are empty.
func (w *Web) answerNames() {
	buf := make([]byte, 1500)
	for {
		size, from, err := w.dns.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		a, known := w.next(strings.TrimSuffix(q.Name.String(), "."), q.Type == dnsmessage.TypeA)
		switch {
		case !known:
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
			}}
		}
		if out, err := m.Pack(); err == nil {
			_, _ = w.dns.WriteTo(out, from)
		}
	}
}

func (w *Web) next(name string, take bool) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, ok := w.names[name]
	if !ok {
		return "", false
	}
	a := list[0]
	if take && len(list) > 1 {
		w.names[name] = list[1:]
	}
	return a, true
}
