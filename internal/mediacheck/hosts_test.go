package mediacheck_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/pictures"
)

// The image hosts of the tests stand at outside, which the checker trusts; everything else on loopback is inside.
const (
	outside = pictures.Outside
	inside  = pictures.Inside
)

// internet is a web of the test's own.
type internet struct{ *pictures.Web }

func newInternet(t *testing.T) internet {
	t.Helper()
	return internet{pictures.Start(t)}
}

// checker trusts outside and nothing else.
func (n internet) checker(change ...func(*mediacheck.Options)) *mediacheck.Checker {
	o := *n.Options()
	o.Timeout = 30 * time.Second
	for _, c := range change {
		c(&o)
	}
	return mediacheck.New(o)
}

// images is a host "img.example.com" outside.
func (n internet) images(handler http.HandlerFunc) (h *pictures.Host, base string) {
	h = n.Serve(outside, handler)
	n.Point("img.example.com", outside)
	return h, "https://img.example.com:" + h.Port
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
