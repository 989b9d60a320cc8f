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
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
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

	mu      sync.Mutex
	names   map[string][]string // answers in turn; the last one repeats
	lookups map[string]int
	files   map[string]http.Handler
}

// Start brings a web up; it ends with the test. The name Name, and every name below "example.com", "example" and "google.com"
// that Point makes known, has a certificate, and so have the hosts' addresses.
func Start(tb testing.TB) *Web {
	tb.Helper()
	w := &Web{tb: tb, names: map[string][]string{}, lookups: map[string]int{}, files: map[string]http.Handler{}}
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
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: []string{"*.example.com", "*.google.com", "*.example"},
		IPAddresses: []net.IP{net.ParseIP(Outside), net.ParseIP(Inside), net.IPv6loopback},
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

// Lookups counts the questions for an address by the names that Point made known.
func (w *Web) Lookups() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.lookups)
}

// Host is a server that remembers who came.
type Host struct {
	// Port is where it listens.
	Port        string
	connections atomic.Int32
	mu          sync.Mutex
	seen        []*http.Request
}

// Serve starts a server with TLS at an address; it ends with the test.
func (w *Web) Serve(address string, h http.Handler) *Host {
	w.tb.Helper()
	return w.serve(address, h, (*httptest.Server).StartTLS)
}

// ServePlain is Serve without TLS.
func (w *Web) ServePlain(address string, h http.Handler) *Host {
	w.tb.Helper()
	return w.serve(address, h, (*httptest.Server).Start)
}

func (w *Web) serve(address string, h http.Handler, start func(*httptest.Server)) *Host {
	w.tb.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		w.tb.Fatal(err)
	}
	out := &Host{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		out.mu.Lock()
		out.seen = append(out.seen, r)
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
	start(server)
	w.tb.Cleanup(server.Close)
	_, out.Port, _ = net.SplitHostPort(l.Addr().String())
	return out
}

// Connections counts those that were ever opened.
func (h *Host) Connections() int { return int(h.connections.Load()) }

// Requests are "METHOD request-URI" of each request.
func (h *Host) Requests() []string {
	var lines []string
	for _, r := range h.Seen() {
		lines = append(lines, r.Method+" "+r.RequestURI)
	}
	return lines
}

// Seen are the requests themselves; their bodies are gone.
func (h *Host) Seen() []*http.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
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
	if take {
		w.lookups[name]++
		if len(list) > 1 {
			w.names[name] = list[1:]
		}
	}
	return a, true
}
