package mediacheck_test

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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
)

// The image hosts of the tests stand at outside, which the checker trusts; everything else on loopback is inside.
const (
	outside = "127.0.0.2"
	inside  = "127.0.0.1"
)

// internet is a certificate authority and a name server.
type internet struct {
	t     *testing.T
	roots *x509.CertPool
	cert  tls.Certificate
	dns   *net.UDPConn
	mu    sync.Mutex
	names map[string][]string // answers in turn; the last one repeats
	asked map[string]int
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: []string{"*.example.com", "*.google.com", "*.example"},
		IPAddresses: []net.IP{net.ParseIP(outside), net.ParseIP(inside), net.ParseIP("::1")},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	n := &internet{t: t, roots: x509.NewCertPool(), cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, names: map[string][]string{}, asked: map[string]int{}}
	n.roots.AddCert(parsed)
	n.dns, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(inside)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); n.answerNames() }()
	t.Cleanup(func() { _ = n.dns.Close(); <-done })
	return n
}

// answerNames is a name server for A records; AAAA are empty.
func (n *internet) answerNames() {
	buf := make([]byte, 1500)
	for {
		size, from, err := n.dns.ReadFromUDP(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		a, known := n.next(strings.TrimSuffix(q.Name.String(), "."), q.Type == dnsmessage.TypeA)
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
			_, _ = n.dns.WriteToUDP(out, from)
		}
	}
}

func (n *internet) next(name string, take bool) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, ok := n.names[name]
	if !ok {
		return "", false
	}
	a := list[0]
	if take {
		n.asked[name]++
		if len(list) > 1 {
			n.names[name] = list[1:]
		}
	}
	return a, true
}

// name makes a host name known; with several addresses each answer gives the next one.
func (n *internet) name(host string, addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[host] = addresses
}

func (n *internet) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.dns.LocalAddr().String())
	}}
}

// checker trusts outside and nothing else.
func (n *internet) checker(change ...func(*mediacheck.Options)) *mediacheck.Checker {
	o := mediacheck.Options{
		Trusted: []netip.Prefix{netip.MustParsePrefix(outside + "/32")}, RootCAs: n.roots, Resolver: n.resolver(), Timeout: 30 * time.Second,
	}
	for _, c := range change {
		c(&o)
	}
	return mediacheck.New(o)
}

// host is a server that remembers its requests.
type host struct {
	port        string
	server      *httptest.Server
	connections atomic.Int32
	mu          sync.Mutex
	seen        []*http.Request
	lines       []string
}

// serve starts a server at an address, with TLS unless plain.
func (n *internet) serve(address string, plain bool, handler http.HandlerFunc) *host {
	n.t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		n.t.Fatal(err)
	}
	h := &host{}
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.seen = append(h.seen, r)
		h.lines = append(h.lines, r.Method+" "+r.RequestURI)
		h.mu.Unlock()
		handler(w, r)
	}))
	_ = h.server.Listener.Close()
	h.server.Listener = l
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			h.connections.Add(1)
		}
	}
	if plain {
		h.server.Start()
	} else {
		h.server.TLS = &tls.Config{Certificates: []tls.Certificate{n.cert}}
		h.server.StartTLS()
	}
	n.t.Cleanup(h.server.Close)
	_, h.port, _ = net.SplitHostPort(l.Addr().String())
	return h
}

func (h *host) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...)
}

// images is a host "img.example.com" outside.
func (n *internet) images(handler http.HandlerFunc) (h *host, base string) {
	h = n.serve(outside, false, handler)
	n.name("img.example.com", outside)
	return h, "https://img.example.com:" + h.port
}

// file serves content under a type with a length.
func file(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content)
	}
}

// refusal is the refusal of a check, or a failed test.
func refusal(t *testing.T, c *mediacheck.Checker, url string, use gbp.MediaUse) *mediacheck.Refusal {
	t.Helper()
	facts, r, err := c.Check(t.Context(), url, use)
	if r == nil || err != nil {
		t.Fatalf("%s: no refusal but %+v, %v", url, facts, err)
	}
	if r.Text.JA == "" || r.Text.EN == "" || strings.Contains(r.Text.JA+r.Text.EN, "%!") {
		t.Errorf("%s: texts %+v", url, r.Text)
	}
	if facts != (mediacheck.Facts{}) {
		t.Errorf("%s: facts beside a refusal: %+v", url, facts)
	}
	return r
}

func passes(t *testing.T, c *mediacheck.Checker, url string, use gbp.MediaUse) mediacheck.Facts {
	t.Helper()
	facts, r, err := c.Check(t.Context(), url, use)
	if r != nil || err != nil {
		t.Fatalf("%s: %v, %v", url, r, err)
	}
	return facts
}
