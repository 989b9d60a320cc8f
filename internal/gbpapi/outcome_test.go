package gbpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// readRequest takes one request with its body off a connection.
func readRequest(t *testing.T, c net.Conn) {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err == nil {
		_, err = io.Copy(io.Discard, req.Body)
	}
	if err != nil {
		t.Errorf("reading a request: %v", err)
	}
}

// What the network does to a create decides whether the effect may exist.
func TestOutcomesOnTheWire(t *testing.T) {
	t.Parallel()
	send := func(s string) func(*testing.T, *net.TCPConn) {
		return func(t *testing.T, c *net.TCPConn) {
			readRequest(t, c)
			_, _ = io.WriteString(c, s)
			_ = c.Close()
		}
	}
	for name, c := range map[string]struct {
		script func(*testing.T, *net.TCPConn)
		class  Class
		code   errs.Code
		hangs  bool
	}{
		"reset after the request":  {func(t *testing.T, c *net.TCPConn) { readRequest(t, c); reset(c) }, Ambiguous, errs.GBPOutcomeUnknown, false},
		"closed after the request": {send(""), Ambiguous, errs.GBPOutcomeUnknown, false},
		"half a status line":       {send("HTTP/1.1 20"), Ambiguous, errs.GBPOutcomeUnknown, false},
		"not HTTP":                 {send("hello\r\n\r\n"), Ambiguous, errs.GBPOutcomeUnknown, false},
		"half a good answer":       {send("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"name\":\"" + postName + "\""), Ambiguous, errs.GBPOutcomeUnknown, false},
		"half a 500":               {send("HTTP/1.1 500 Oops\r\nContent-Length: 500\r\n\r\n{"), Ambiguous, errs.GBPOutcomeUnknown, false},
		"half a 400":               {send("HTTP/1.1 400 Bad Request\r\nContent-Length: 500\r\n\r\n{"), NotSent, errs.GBPUnavailable, false},
		"half a 429":               {send("HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: 500\r\n\r\n{"), Throttled, errs.GBPRateLimited, false},
		"half a 401":               {send("HTTP/1.1 401 No\r\nContent-Length: 500\r\n\r\n{"), NotSent, errs.GBPUnavailable, false},
		"no answer in time":        {func(t *testing.T, c *net.TCPConn) { readRequest(t, c); _, _ = io.Copy(io.Discard, c); _ = c.Close() }, Ambiguous, errs.GBPOutcomeUnknown, true},
		"body does not end": {func(t *testing.T, c *net.TCPConn) {
			readRequest(t, c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}, Ambiguous, errs.GBPOutcomeUnknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var connections atomic.Int64
			base := rawServer(t, func(_ int, conn *net.TCPConn) {
				connections.Add(1)
				c.script(t, conn)
			})
			b := newClient(t, base, func(o *Options) {
				if c.hangs {
					o.Timeout = 200 * time.Millisecond
				}
			})
			_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{"summary":"x"}`))
			e := asError(t, err)
			if e.Class != c.class || e.Code != c.code || !e.Sent {
				t.Errorf("got %s %s sent=%v: %v", e.Class, e.Code, e.Sent, err)
			}
			if connections.Load() != 1 || len(b.tokens.refused) != 0 {
				t.Errorf("%d connections, refused %v: it was repeated", connections.Load(), b.tokens.refused)
			}
			if strings.Contains(err.Error(), "/v4/") {
				t.Errorf("the address is in %v", err)
			}
		})
	}
}

// Nothing can have been written where no connection came about.
func TestCertainlyNotSent(t *testing.T) {
	t.Parallel()
	closing := strings.Replace(rawServer(t, func(_ int, c *net.TCPConn) { reset(c) }), "http:", "https:", 1)
	silent := strings.Replace(rawServer(t, func(_ int, c *net.TCPConn) { _, _ = io.Copy(io.Discard, c); _ = c.Close() }), "http:", "https:", 1)
	untrusted := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request over a connection without trust") }))
	t.Cleanup(untrusted.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	_ = l.Close()
	for name, c := range map[string]struct {
		base   string
		change func(*http.Transport)
	}{
		"connection refused":     {nobody, nil},
		"reset in the handshake": {closing, nil},
		"timeout in handshake":   {silent, nil},
		"unknown certificate":    {untrusted.URL, nil},
		"name does not resolve": {"http://no-such-host.invalid", func(t *http.Transport) {
			t.DialContext = failingDial(&net.DNSError{Err: "no such host", IsNotFound: true})
		}},
		"timeout while dialling": {"http://192.0.2.1", func(t *http.Transport) { t.DialContext = hangingDial }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newClient(t, c.base, func(o *Options) {
				o.Timeout = 300 * time.Millisecond
				if c.change != nil {
					c.change(o.Transport.(*http.Transport))
				}
			})
			_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{"summary":"x"}`))
			if e := asError(t, err); e.Class != NotSent || e.Code != errs.GBPUnavailable || e.Sent {
				t.Errorf("got %s %s sent=%v: %v", e.Class, e.Code, e.Sent, err)
			}
		})
	}
}

func failingDial(err error) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return nil, err }
}

func hangingDial(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A transport that reports nothing gives no certainty.
func TestUnknownTransportIsNeverCertain(t *testing.T) {
	t.Parallel()
	b := newClient(t, "http://127.0.0.1:1", func(o *Options) { o.Transport = failing{} })
	_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	if e := asError(t, err); e.Class != Ambiguous || !e.Sent {
		t.Errorf("got %v", err)
	}
}

type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("went wrong") }

// A kept connection that the server has closed must not make net/http send a create twice.
func TestNoReplayOnKeptConnections(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	base := rawServer(t, func(_ int, c *net.TCPConn) {
		r := bufio.NewReader(c)
		for i := 0; ; i++ {
			req, err := http.ReadRequest(r)
			if err != nil {
				break
			}
			_, _ = io.Copy(io.Discard, req.Body)
			requests.Add(1)
			if i == 1 { // the second request on a connection dies
				reset(c)
				return
			}
			body := `{"name":"` + postName + `"}`
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body)
		}
		_ = c.Close()
	})
	b := newClient(t, base, nil)
	if _, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	if e := asError(t, err); e.Class != Ambiguous {
		t.Errorf("got %v", err)
	}
	if err := b.DeleteLocalPost(t.Context(), ref, postName); err != nil { // on a new connection
		t.Fatal(err)
	}
	err = b.DeleteLocalPost(t.Context(), ref, postName)
	if e := asError(t, err); e.Class != Ambiguous {
		t.Errorf("got %v", err)
	}
	if n := requests.Load(); n != 4 {
		t.Errorf("%d requests for 4 calls", n)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// The body reaches Google byte for byte, once, with nothing of ours around it.
func TestBodyIsSentAsItIs(t *testing.T) {
	t.Parallel()
	b := serve(t, created(), func(o *Options) { o.Transport = noSecondBody{t, o.Transport} })
	body := []byte("{\"summary\" : \"A & B < C > D \\u3042 あ\\n\",\n \"topicType\":\"STANDARD\"} \n")
	p, err := b.CreateLocalPost(t.Context(), ref, parent, body)
	if err != nil || p.Name != postName || p.State != "LIVE" || p.Post.Summary != "hi" || p.CreateTime.IsZero() {
		t.Fatalf("got %+v, %v", p, err)
	}
	r := b.requests()
	if len(r) != 1 || string(r[0].body) != string(body) {
		t.Fatalf("sent %+v", r)
	}
	want := "/mybusiness.googleapis.com/v4/" + parent + "/localPosts"
	if r[0].method != "POST" || r[0].path != want || r[0].query != "" || r[0].auth != "Bearer opaque.t1.c1-0" {
		t.Errorf("sent %+v", r[0])
	}
	if h := r[0].header; h.Get("Content-Length") != itoa(len(body)) || h.Get("Content-Type") != "application/json; charset=utf-8" || h.Get("User-Agent") != "mappy-mcp" {
		t.Errorf("headers %v", h)
	}
	if len(b.saw) != 1 || b.saw[0].Status != 200 || b.saw[0].Class != "" {
		t.Errorf("observed %+v", b.saw)
	}
}

// noSecondBody checks that net/http is given no way to read a body again.
type noSecondBody struct {
	t    *testing.T
	next http.RoundTripper
}

func (n noSecondBody) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.GetBody != nil {
		n.t.Error("the request can be replayed")
	}
	return n.next.RoundTrip(r)
}

// A success with a name is a success, whatever else is in it.
func TestANameIsEnough(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, `{"name":"`+postName+`","state":"REJECTED","createTime":17,"media":"new shape"}`), nil)
	p, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	if err != nil || p.Name != postName || p.State != "REJECTED" || !strings.Contains(string(p.Raw), "new shape") {
		t.Errorf("got %+v, %v", p, err)
	}
}

// F105, F159: the end of the caller's context neither aborts a write under way nor starts one.
func TestF159CancelDoesNotAbortAWrite(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-goOn:
		case <-r.Context().Done():
			t.Error("the write was aborted")
		}
		created()(w, r)
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := b.CreateLocalPost(ctx, ref, parent, []byte(`{}`)); done <- err }()
	<-arrived
	cancel()
	select {
	case err := <-done:
		t.Fatalf("the call returned before the answer: %v", err)
	default:
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	_, err := b.CreateLocalPost(ctx, ref, parent, []byte(`{}`))
	if e := asError(t, err); e.Class != NotSent || e.Sent || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(b.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestReadsObeyTheirContext(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	b := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}, nil)
	for name, read := range map[string]func(context.Context) error{
		"own client":     func(ctx context.Context) error { _, err := b.ListLocalPosts(ctx, ref, parent, 0, ""); return err },
		"google package": func(ctx context.Context) error { _, err := b.ListAccounts(ctx, ref); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- read(ctx) }()
		<-arrived
		cancel()
		err := <-done
		if e := asError(t, err); e.Class != NotSent || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A complete 401 proves that nothing was written: one forced refresh, one repeat.
func TestF082UnauthorizedOnce(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("Authorization"), "-0") {
			jsonAnswer(401, envelope(401, "UNAUTHENTICATED", ""))(w, r)
			return
		}
		created()(w, r)
	}, nil)
	if _, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	r := b.requests()
	if len(r) != 2 || r[0].auth != "Bearer opaque.t1.c1-0" || r[1].auth != "Bearer opaque.t1.c1-1" || string(r[1].body) != `{"a":1}` {
		t.Errorf("sent %+v", r)
	}
	if !slices.Equal(b.tokens.refused, []string{"opaque.t1.c1-0"}) {
		t.Errorf("refused %v", b.tokens.refused)
	}
}

func TestUnauthorizedTwice(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(401, envelope(401, "UNAUTHENTICATED", "")), nil)
	_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	if e := asError(t, err); e.Class != Refused || errs.CodeOf(err) != errs.GoogleReconnectRequired {
		t.Errorf("got %v", err)
	}
	if n := len(b.requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// A missing scope is the grant's fault: the token's owner is told, and nothing is repeated.
func TestInsufficientScope(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(403, envelope(403, "PERMISSION_DENIED", info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", ""))), nil)
	_, err := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
	if e := asError(t, err); e.Class != Dead || len(b.requests()) != 1 || !slices.Equal(b.tokens.lacking, []string{"opaque.t1.c1-0"}) || len(b.tokens.refused) != 0 {
		t.Errorf("%v, told %v, refused %v", err, b.tokens.lacking, b.tokens.refused)
	}
}

// F083: every request carries the token of its own connection, for both kinds of client, however they interleave.
func TestF083TokensAreNotMixedUp(t *testing.T) {
	t.Parallel()
	refs := map[string]Ref{"1": {"t1", "c1"}, "2": {"t1", "c2"}, "3": {"t2", "c1"}}
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, rest, _ := strings.Cut(r.URL.Path, "accounts/")
		a, _, _ := strings.Cut(rest, "/")
		owner := refs[a]
		if r.Header.Get("Authorization") != "Bearer opaque."+string(owner.Tenant)+"."+owner.Connection+"-0" {
			t.Errorf("account %s was asked with %s", a, r.Header.Get("Authorization"))
		}
		if r.Method == http.MethodPost {
			jsonAnswer(200, `{"name":"accounts/`+a+`/locations/9/localPosts/1"}`)(w, r)
			return
		}
		jsonAnswer(200, `{}`)(w, r)
	}, nil)
	var wg sync.WaitGroup
	for range 20 {
		for a, owner := range refs {
			wg.Go(func() {
				if _, err := b.CreateLocalPost(t.Context(), owner, "accounts/"+a+"/locations/9", []byte(`{}`)); err != nil {
					t.Error(err)
				}
				if _, err := b.ListLocations(t.Context(), owner, "accounts/"+gbpAccount(a), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with %q went elsewhere", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		b := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) }, nil)
		_, create := b.CreateLocalPost(t.Context(), ref, parent, []byte(`{}`))
		remove := b.DeleteLocalPost(t.Context(), ref, postName)
		_, read := b.ListAccounts(t.Context(), ref)
		for want, err := range map[Class][]error{Ambiguous: {create, remove}, NotSent: {read}} {
			for _, err := range err {
				if e := asError(t, err); e.Class != want {
					t.Errorf("%d: got %v", status, err)
				}
			}
		}
	}
}
