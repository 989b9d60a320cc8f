package mediacheck_test

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
)

var goodJPEG = jpegOf(600, 400, 0)

// TestFacts: what is found out about a good file, with its type by content and its address encoded once.
func TestFacts(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	_, base := n.images(file("application/octet-stream", goodJPEG))
	got := passes(t, n.checker(), strings.Replace(base, "https", "HTTPS", 1)+"/a.jpg#top", gbp.UsePost)
	sum := sha256.Sum256(goodJPEG)
	want := mediacheck.Facts{
		URL: base + "/a.jpg", FinalHost: "img.example.com", Format: gbp.Photo, MIME: "image/jpeg", Bytes: int64(len(goodJPEG)), Width: 600, Height: 400,
		SHA256: hex.EncodeToString(sum[:]),
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestSignedAddress (F028): GET only, and the query arrives byte for byte.
func TestSignedAddress(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	h, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write(goodJPEG)
	})
	const signed = "/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&X-Amz-Expires=3600&z=1&a=%e3%81%82&b=a+b&&c"
	got := passes(t, n.checker(), base+signed, gbp.UseGallery)
	if want := []string{"GET " + signed}; !slices.Equal(h.Requests(), want) || got.URL != base+signed {
		t.Errorf("asked %q, facts say %q", h.Requests(), got.URL)
	}
}

// TestRedirectToTheCDN (F028): three redirects pass, relative ones too; four and loops do not.
func TestRedirectToTheCDN(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	cdn := n.Serve(outside, file("image/jpeg", goodJPEG))
	n.Point("cdn.example.com", outside)
	h, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		to, status := "/2?sig=a%2Fb", http.StatusMovedPermanently
		switch r.URL.Path {
		case "/2":
			to, status = "3", http.StatusSeeOther
		case "/3":
			to, status = "https://cdn.example.com:"+cdn.Port+"/final.jpg?x=%2B", http.StatusPermanentRedirect
		case "/0":
			to = "/1"
		case "/loop":
			to = "/loop"
		}
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	})
	c := n.checker()
	got := passes(t, c, base+"/1", gbp.UseGallery)
	if got.FinalHost != "cdn.example.com" || got.URL != base+"/1" {
		t.Errorf("got %+v", got)
	}
	if want := []string{"GET /1", "GET /2?sig=a%2Fb", "GET /3"}; !slices.Equal(h.Requests(), want) {
		t.Errorf("asked %q", h.Requests())
	}
	if want := []string{"GET /final.jpg?x=%2B"}; !slices.Equal(cdn.Requests(), want) {
		t.Errorf("asked the CDN %q", cdn.Requests())
	}
	if len(cdn.Seen()[0].Header["Cookie"])+len(cdn.Seen()[0].Header["Referer"])+len(cdn.Seen()[0].Header["Authorization"]) != 0 {
		t.Errorf("sent along: %v", cdn.Seen()[0].Header)
	}
	for _, path := range []string{"/0", "/loop"} {
		if r := refusal(t, c, base+path, gbp.UseGallery); r.Rule != mediacheck.RuleRedirects || r.Limit != 3 {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// TestNamesOutsideASCII (F030): encoded once and only once, the fragment dropped, and an agent with a name.
func TestNamesOutsideASCII(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	h, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), "Go-http-client") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write(goodJPEG)
	})
	const encoded = "/%E7%94%BB%E5%83%8F%201.jpg"
	for _, path := range []string{"/画像 1.jpg", encoded, "/画像%201.jpg#top", encoded + "#", "/a%2Fb.jpg?q=画像 1#x?y", "/a.jpg?"} {
		got := passes(t, n.checker(), base+path, gbp.UseGallery)
		asked := h.Requests()[len(h.Requests())-1]
		if asked != "GET "+strings.TrimPrefix(got.URL, base) {
			t.Errorf("%s: asked %q, facts say %q", path, asked, got.URL)
		}
		want := encoded
		switch {
		case strings.HasPrefix(path, "/a%2F"):
			want = "/a%2Fb.jpg?q=%E7%94%BB%E5%83%8F%201"
		case strings.HasPrefix(path, "/a.jpg"):
			want = path
		}
		if asked != "GET "+want {
			t.Errorf("%s: asked %q", path, asked)
		}
	}
}

// TestHostAnswers (F030): a refusal of the image host is told as one, with its status.
func TestHostAnswers(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	var status atomic.Int32
	_, base := n.images(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		if status.Load() != 204 {
			_, _ = io.WriteString(w, "internal detail")
		}
	})
	for s, want := range map[int]mediacheck.Rule{
		401: mediacheck.RuleHostRefused, 403: mediacheck.RuleHostRefused, 429: mediacheck.RuleHostRefused, 404: mediacheck.RuleNotFound, 410: mediacheck.RuleNotFound,
		500: mediacheck.RuleHostError, 503: mediacheck.RuleHostError, 206: mediacheck.RuleHostError, 304: mediacheck.RuleHostError, 204: mediacheck.RuleEmpty,
	} {
		status.Store(int32(s))
		r := refusal(t, n.checker(), base+"/a.jpg", gbp.UseGallery)
		if r.Rule != want || s != 204 && r.Measured != int64(s) || strings.Contains(r.String()+r.LogValue().String(), "detail") {
			t.Errorf("%d: %+v", s, r)
		}
		if passing := s == 429 || s >= 500; r.Passing != passing {
			t.Errorf("%d: passing %v", s, r.Passing)
		}
	}
	status.Store(403)
	if r := refusal(t, n.checker(), base+"/a.jpg", gbp.UseGallery); !strings.Contains(r.Text.EN, "image host refused our request (403)") {
		t.Errorf("words: %s", r.Text.EN)
	}
}

// TestSharePages (F026): by address without asking anybody, behind a redirect, and by the page that comes back.
func TestSharePages(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	drive := n.Serve(outside, file("text/html; charset=utf-8", []byte("<!doctype html><html><title>a.jpg</title></html>")))
	for _, name := range []string{"drive.google.com", "photos.google.com"} {
		n.Point(name, outside)
	}
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/short":
			http.Redirect(w, r, "https://photos.google.com/share/AF1Q", http.StatusFound)
		case "/lie.jpg":
			file("image/jpeg", []byte("\n<!-- x -->\n<html><body>Sign in</body></html>"))(w, r)
		case "/text":
			file("text/html", []byte("window.location='/login'"))(w, r)
		default:
			file("text/html", goodJPEG)(w, r)
		}
	})
	c := n.checker()
	for _, u := range []string{
		"https://drive.google.com/file/d/FILEID/view?usp=sharing", "https://drive.google.com/open?id=FILEID", "https://drive.google.com:443/open?id=FILEID",
		"https://DRIVE.google.com/drive/folders/X", "https://docs.google.com/document/d/X", "https://photos.app.goo.gl/abc", "https://www.dropbox.com/scl/fi/x/a.jpg?rlkey=1&dl=0",
		"https://1drv.ms/i/s!abc", "https://onedrive.live.com/?id=1", "https://x-my.sharepoint.com/:i:/g/personal/x", "https://www.icloud.com/iclouddrive/0x#a.jpg", "https://app.box.com/s/abc",
		base + "/short", base + "/lie.jpg", base + "/text",
	} {
		if r := refusal(t, c, u, gbp.UsePost); r.Rule != mediacheck.RuleViewerPage || !strings.Contains(r.Text.EN, "viewer page, not an image") {
			t.Errorf("%s: %s", u, r.String())
		}
	}
	if drive.Connections() != 0 {
		t.Error("a share page was asked for")
	}
	// The address of a download is no share page by its spelling; this one answers a page all the same.
	if r := refusal(t, c, "https://drive.google.com:"+drive.Port+"/uc?export=download&id=FILEID", gbp.UsePost); r.Rule != mediacheck.RuleViewerPage {
		t.Errorf("got %s", r.Rule)
	}
	if drive.Connections() != 1 {
		t.Error("the download was not asked for")
	}
	passes(t, c, base+"/called-a-page.jpg", gbp.UsePost) // a picture, whatever its host calls it
}

// TestBodiesThatDoNotEnd: too slow, broken off, endless, and bombs; each ends in its own words and within its bounds.
func TestBodiesThatDoNotEnd(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	var sent atomic.Int64
	endless := func(w io.Writer) {
		block := make([]byte, 64<<10)
		for {
			m, err := w.Write(block)
			sent.Add(int64(m))
			if err != nil {
				return
			}
		}
	}
	gone := make(chan struct{})
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			_, _ = w.Write(goodJPEG[:100])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/silent":
			<-r.Context().Done()
			close(gone)
		case "/short":
			w.Header().Set("Content-Length", fmt.Sprint(len(goodJPEG)+1))
			_, _ = w.Write(goodJPEG)
		case "/shortvideo":
			v := video("isom", 1280, 720, 5, 20_000, true)
			w.Header().Set("Content-Length", fmt.Sprint(len(v)))
			_, _ = w.Write(v[:len(v)-300])
		case "/endless":
			_, _ = w.Write(goodJPEG)
			endless(w)
		case "/endlessvideo":
			_, _ = w.Write(video("isom", 1280, 720, 5, 0, false))
			endless(w)
		case "/declared":
			w.Header().Set("Content-Length", "5000001")
			_, _ = w.Write(goodJPEG)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(goodJPEG)
			endless(z)
		case "/brotli":
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write(goodJPEG)
		case "/gzipped":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(goodJPEG)
			_ = z.Close()
		case "/badgzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(goodJPEG)
		}
	})
	quick := n.checker(func(o *mediacheck.Options) { o.Timeout = 2 * time.Second }) // long enough for a handshake on a busy machine
	began := time.Now()
	if r := refusal(t, quick, base+"/slow", gbp.UseGallery); r.Rule != mediacheck.RuleTooSlow || r.Limit != 2 || !r.Passing {
		t.Errorf("slow: %+v", r)
	}
	if r := refusal(t, quick, base+"/silent", gbp.UseGallery); r.Rule != mediacheck.RuleUnreachable {
		t.Errorf("silent: %+v", r)
	}
	<-gone
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("two checks of 2 s took %s", took)
	}
	c := n.checker()
	for path, want := range map[string]mediacheck.Rule{
		"/short": mediacheck.RuleIncomplete, "/shortvideo": mediacheck.RuleIncomplete, "/badgzip": mediacheck.RuleIncomplete, "/brotli": mediacheck.RuleHostError,
		"/endless": mediacheck.RuleTooLarge, "/declared": mediacheck.RuleTooLarge, "/bomb": mediacheck.RuleTooLarge, "/endlessvideo": mediacheck.RuleTooLarge, "/empty": mediacheck.RuleEmpty,
	} {
		sent.Store(0)
		r := refusal(t, c, base+path, gbp.UseGallery)
		if r.Rule != want {
			t.Errorf("%s: %+v", path, r)
		}
		if path == "/declared" && (r.Measured != 5_000_001 || r.Limit != 5_000_000) {
			t.Errorf("%s: %+v", path, r)
		}
		if path == "/endless" && sent.Load() > 16<<20 { // 5 MB are read; the rest lies in buffers of the connection
			t.Errorf("%s: %d bytes were taken", path, sent.Load())
		}
	}
	if got := passes(t, c, base+"/gzipped", gbp.UseGallery); got.Bytes != int64(len(goodJPEG)) {
		t.Errorf("gzipped: %+v", got)
	}
}

// TestManyAtOnce: no more requests than places, and who waits for one can give up.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	release, arrived := make(chan struct{}), make(chan struct{}, 10)
	var running, most atomic.Int32
	_, base := n.images(func(w http.ResponseWriter, _ *http.Request) {
		now := running.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		arrived <- struct{}{}
		<-release
		running.Add(-1)
		_, _ = w.Write(goodJPEG)
	})
	c := n.checker(func(o *mediacheck.Options) { o.Concurrency = 2; o.Timeout = time.Minute })
	results := make(chan error, 6)
	for range 6 {
		go func() {
			_, _, err := c.Check(context.Background(), base+"/a.jpg", gbp.UseGallery)
			results <- err
		}()
	}
	<-arrived
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := c.Check(ctx, base+"/a.jpg", gbp.UseGallery); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for") {
		t.Errorf("giving up while waiting: %v", err)
	}
	close(release)
	for range 6 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 2 {
		t.Errorf("%d at once", most.Load())
	}
}

// TestCallerGivesUp: the caller's end is an error of its own and no verdict on the file.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	arrived := make(chan struct{})
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(goodJPEG[:5000])
		_ = http.NewResponseController(w).Flush()
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, verdict, err := n.checker().Check(ctx, base+"/a.jpg", gbp.UseGallery)
	if verdict != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestLogsQuoteNoAddress: a signed query is a secret.
func TestLogsQuoteNoAddress(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	c := n.checker()
	for _, u := range []string{"https://nowhere.example.com/a.jpg?sig=hush", "https://10.0.0.5/a.jpg?sig=hush", "https://" + outside + ":1/a.jpg?sig=hush"} {
		r := refusal(t, c, u, gbp.UseGallery)
		if s := r.LogValue().String() + r.String(); strings.Contains(s, "hush") || !strings.Contains(s, "why=") {
			t.Errorf("%s: %s", u, s)
		}
	}
}
