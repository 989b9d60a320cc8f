package gbpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
)

const (
	account  = "accounts/111222333444555666777"
	location = "locations/12345678901234567890"
	parent   = account + "/" + location
	postName = parent + "/localPosts/9876543210987654321"
)

var (
	ref = Ref{Tenant: "t1", Connection: "c1"}
	now = time.Date(2026, 12, 1, 9, 0, 0, 500e6, time.UTC)
)

// tokens gives "opaque.<tenant>.<connection>-<n>"; n grows with every Invalidate.
type tokens struct {
	mu      sync.Mutex
	n       map[Ref]int
	refused []string
	lacking []string
	err     error
}

func (f *tokens) Token(ctx context.Context, tenant authn.TenantID, connection string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	return fmt.Sprintf("opaque.%s.%s-%d", tenant, connection, f.n[Ref{tenant, connection}]), ctx.Err()
}

func (f *tokens) Invalidate(tenant authn.TenantID, connection, token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = append(f.refused, token)
	f.n[Ref{tenant, connection}]++
}

func (f *tokens) Insufficient(_ context.Context, _ authn.TenantID, _, token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lacking = append(f.lacking, token)
}

type bench struct {
	*Client
	tokens *tokens
	url    string
	mu     sync.Mutex
	seen   []seen
	saw    []Observation
}

type seen struct {
	method, path, query, auth string
	header                    http.Header
	body                      []byte
}

func newClient(t *testing.T, base string, change func(*Options)) *bench {
	t.Helper()
	b := &bench{tokens: &tokens{n: map[Ref]int{}}}
	transport := newTransport()
	t.Cleanup(transport.CloseIdleConnections)
	o := Options{BaseURL: base, Tokens: b.tokens, Transport: transport, Now: func() time.Time { return now }, Observe: func(o Observation) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.saw = append(b.saw, o)
	}}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Client = c
	return b
}

// serve is a client whose Google is one handler that remembers what it was asked.
func serve(t *testing.T, handler http.HandlerFunc, change func(*Options)) *bench {
	t.Helper()
	var b *bench
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading a request: %v", err)
		}
		b.mu.Lock()
		b.seen = append(b.seen, seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Authorization"), r.Header.Clone(), body})
		b.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	b = newClient(t, s.URL, change)
	b.url = s.URL
	return b
}

func (b *bench) requests() []seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]seen(nil), b.seen...)
}

func answering(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func jsonAnswer(status int, body string) http.HandlerFunc {
	return answering(status, "application/json; charset=UTF-8", body)
}

func created() http.HandlerFunc {
	return jsonAnswer(200, `{"name":"`+postName+`","state":"LIVE","topicType":"STANDARD","summary":"hi","createTime":"2026-12-01T09:00:01.123456Z","updateTime":"2026-12-01T09:00:01.123456Z"}`)
}

func asError(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("not an *Error: %v", err)
	}
	return e
}

// rawServer speaks TCP: script gets every connection, numbered from 0, and closes it.
func rawServer(t *testing.T, script func(n int, c *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { script(n, c.(*net.TCPConn)) })
		}
	})
	return "http://" + l.Addr().String()
}

// reset closes with RST instead of FIN.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
