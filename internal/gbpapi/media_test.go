package gbpapi

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

const mediaKey = parent + "/media/AF1QipMabc"

var interior = gbp.MediaDraft{SourceURL: "https://b.example/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&b=<1>", Category: gbp.CategoryInterior}.Item(gbp.Photo)

func mediaCreated() http.HandlerFunc {
	return jsonAnswer(200, `{"name":"`+mediaKey+`","mediaFormat":"PHOTO","locationAssociation":{"category":"INTERIOR"},"createTime":"2026-12-01T09:00:01.123456Z","sourceUrl":"https://b.example/a.jpg"}`)
}

// TestMediaRequests (F028): what goes out, byte for byte.
func TestMediaRequests(t *testing.T) {
	t.Parallel()
	b := serve(t, mediaCreated(), nil)
	m, err := b.CreateMedia(t.Context(), ref, parent, interior.Encode())
	if err != nil || m.Name != mediaKey || m.Category != gbp.CategoryInterior || m.CreateTime.IsZero() {
		t.Fatalf("got %+v, %v", m, err)
	}
	if _, err := b.GetMedia(t.Context(), ref, mediaKey); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteMedia(t.Context(), ref, mediaKey); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 5, 9999} {
		if _, err := b.ListMedia(t.Context(), ref, parent, size, "a b"); err != nil {
			t.Fatal(err)
		}
	}
	const base = "/mybusiness.googleapis.com/v4/"
	want := []string{
		"POST " + base + parent + "/media ", "GET " + base + mediaKey + " ", "DELETE " + base + mediaKey + " ",
		"GET " + base + parent + "/media pageSize=100&pageToken=a+b", "GET " + base + parent + "/media pageSize=5&pageToken=a+b", "GET " + base + parent + "/media pageSize=2500&pageToken=a+b",
	}
	for i, r := range b.requests() {
		if got := r.method + " " + r.path + " " + r.query; got != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}
	first := b.requests()[0]
	if string(first.body) != `{"mediaFormat":"PHOTO","locationAssociation":{"category":"INTERIOR"},"sourceUrl":"https://b.example/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&b=<1>"}` ||
		first.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("sent %s as %s", first.body, first.header.Get("Content-Type"))
	}
}

// TestMediaNamesAreRefusedHere (F021): a name of the wrong family never leaves.
func TestMediaNamesAreRefusedHere(t *testing.T) {
	t.Parallel()
	b := serve(t, mediaCreated(), nil)
	refused := func(what string, err error) {
		t.Helper()
		if e := asError(t, err); e.Class != Refused || e.Code != errs.Internal || e.Sent {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"", "123", location, "accounts/-/" + location, parent + "/", parent + "/media", "accounts/1/locations/..", "accounts/1/locations/2?x=1"} {
		_, err := b.CreateMedia(t.Context(), ref, name, interior.Encode())
		refused(name, err)
		_, err = b.ListMedia(t.Context(), ref, name, 0, "")
		refused(name, err)
		_, err = b.StartUpload(t.Context(), ref, name)
		refused(name, err)
	}
	for _, name := range []gbp.MediaName{"", parent, parent + "/media/", parent + "/media/..", parent + "/media/localPosts/1", parent + "/media/customers/1", parent + "/media/1?x", parent + "/localPosts/1", "accounts/-/" + location + "/media/1"} {
		_, err := b.GetMedia(t.Context(), ref, name)
		refused(string(name), err)
		refused(string(name), b.DeleteMedia(t.Context(), ref, name))
	}
	_, err := b.CreateMedia(t.Context(), ref, parent, nil)
	refused("an empty body", err)
	for _, name := range []string{"", "/", "a//b", "..", "a/../b", "a b", "a\n"} {
		refused(name, b.UploadBytes(t.Context(), ref, name, []byte("x"), "image/jpeg"))
	}
	refused("no bytes", b.UploadBytes(t.Context(), ref, "r", nil, "image/jpeg"))
	for _, kind := range []string{"", "image/jpeg\r\nX: y"} {
		refused("type", b.UploadBytes(t.Context(), ref, "r", []byte("x"), kind))
	}
	if r := b.requests(); len(r) != 0 {
		t.Errorf("sent %+v", r)
	}
}

// TestMediaAnswersOfAnotherShape: a success without the item's name is no success, odd fields do not unmake one.
func TestMediaAnswersOfAnotherShape(t *testing.T) {
	t.Parallel()
	for body, ok := range map[string]bool{
		``: false, `{}`: false, `null`: false, `[]`: false, `<html>`: false, `{"name":"` + parent + `"}`: false, `{"name":"` + postName + `"}`: false,
		`{"name":"accounts/1/locations/2/media/k"}`: false, `{"name":"` + parent + `/media/localPosts/k"}`: false, `{"name":"` + mediaKey: false,
		`{"name":"` + mediaKey + `"}`: true, `{"name":"` + mediaKey + `","createTime":5,"dimensions":[]}`: true, `{"name":"` + mediaKey + `","future":{"x":1}}`: true,
	} {
		b := serve(t, jsonAnswer(200, body), nil)
		m, err := b.CreateMedia(t.Context(), ref, parent, interior.Encode())
		if ok {
			if err != nil || m.Name != mediaKey || string(m.Raw) != body {
				t.Errorf("%s: %+v, %v", body, m, err)
			}
			continue
		}
		if e := asError(t, err); e.Class != Ambiguous || e.Code != errs.GBPOutcomeUnknown || e.Fault.HTTPStatus != 200 {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestMediaStatuses (F018, F019, F020): every row of the error model, for each call of the gallery.
func TestMediaStatuses(t *testing.T) {
	t.Parallel()
	validation := func(code int, field string) http.HandlerFunc {
		return jsonAnswer(400, fmt.Sprintf(`{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.mybusiness.v4.ValidationError","errorDetails":[{"code":%d,"field":%q,"message":"m","value":"v"}]}]}}`, code, field))
	}
	disabled := jsonAnswer(403, `{"error":{"code":403,"message":"m","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED","metadata":{"service":"mybusiness.googleapis.com"}}]}}`)
	quota := func(value string) http.HandlerFunc {
		return jsonAnswer(429, `{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit_value":"`+value+`"}}]}}`)
	}
	type row struct {
		handler     http.HandlerFunc
		write, read Class // of create and delete; of everything else
		code        errs.Code
		readCode    errs.Code // "" is code
		argument    string
	}
	for name, c := range map[string]row{
		"fetch failed":      {validation(1000, "media_item.source_url"), Refused, Refused, errs.GBPMediaRejected, "", "media.source_url"},
		"too large":         {validation(10, "mediaItem.sourceUrl"), Refused, Refused, errs.GBPMediaRejected, "", "media.source_url"},
		"missing category":  {validation(2, "media_item.location_association"), Refused, Refused, errs.GBPInvalidArgument, "", "media.category"},
		"description":       {validation(13, "media_item.description"), Refused, Refused, errs.GBPInvalidArgument, "", "media.description"},
		"unknown field":     {validation(13, "media_item.colour"), Refused, Refused, errs.GBPInvalidArgument, "", ""},
		"precondition":      {jsonAnswer(400, envelope(400, "FAILED_PRECONDITION", "")), Refused, Refused, errs.GBPLocationNotVerified, "", ""},
		"401":               {jsonAnswer(401, envelope(401, "UNAUTHENTICATED", "")), Refused, Refused, errs.GoogleReconnectRequired, "", ""},
		"API disabled":      {disabled, Operator, Operator, errs.GBPAPIDisabled, "", ""},
		"no role":           {jsonAnswer(403, envelope(403, "PERMISSION_DENIED", "")), Refused, Refused, errs.GBPPermissionDenied, "", ""},
		"404":               {jsonAnswer(404, envelope(404, "NOT_FOUND", "")), Refused, Refused, errs.GBPNotFound, "", ""},
		"HTML 404":          {answering(404, "text/html", "<html><title>Error 404</title></html>"), Refused, Refused, errs.Internal, "", ""},
		"409":               {jsonAnswer(409, envelope(409, "ABORTED", "")), NotSent, NotSent, errs.GBPUnavailable, "", ""},
		"429":               {quota("300"), Throttled, Throttled, errs.GBPRateLimited, "", ""},
		"quota 0":           {quota("0"), Operator, Operator, errs.GBPNotApproved, "", ""},
		"500":               {jsonAnswer(500, envelope(500, "INTERNAL", "")), Ambiguous, NotSent, errs.GBPOutcomeUnknown, errs.GBPUnavailable, ""},
		"501":               {jsonAnswer(501, envelope(501, "UNIMPLEMENTED", "")), Refused, Refused, errs.Internal, "", ""},
		"HTML 502":          {answering(502, "text/html", "<html>bad gateway</html>"), Ambiguous, NotSent, errs.GBPOutcomeUnknown, errs.GBPUnavailable, ""},
		"503":               {jsonAnswer(503, envelope(503, "UNAVAILABLE", "")), Ambiguous, NotSent, errs.GBPOutcomeUnknown, errs.GBPUnavailable, ""},
		"504":               {jsonAnswer(504, envelope(504, "DEADLINE_EXCEEDED", "")), Ambiguous, NotSent, errs.GBPOutcomeUnknown, errs.GBPUnavailable, ""},
		"redirect":          {answering(302, "text/html", ""), Ambiguous, NotSent, errs.GBPOutcomeUnknown, errs.GBPUnavailable, ""},
		"connection closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Ambiguous, NotSent, errs.GBPOutcomeUnknown, errs.GBPUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, c.handler, nil)
			_, create := b.CreateMedia(t.Context(), ref, parent, interior.Encode())
			_, get := b.GetMedia(t.Context(), ref, mediaKey)
			_, list := b.AllMedia(t.Context(), ref, parent, 3)
			_, start := b.StartUpload(t.Context(), ref, parent)
			want, readCode := c.write, c.readCode
			if readCode == "" {
				readCode = c.code
			}
			for what, err := range map[string]error{"create": create, "delete": b.DeleteMedia(t.Context(), ref, mediaKey)} {
				if e := asError(t, err); e.Class != want || e.Code != c.code {
					t.Errorf("%s: %s %s", what, e.Class, e.Code)
				}
			}
			for what, err := range map[string]error{"get": get, "list": list, "start": start, "bytes": b.UploadBytes(t.Context(), ref, "r", []byte("x"), "image/jpeg")} {
				if e := asError(t, err); e.Class != c.read || e.Code != readCode {
					t.Errorf("%s: %s %s", what, e.Class, e.Code)
				}
			}
			if f := asError(t, create).Fault.Fields; c.argument != "" && (len(f) != 1 || f[0].Argument != c.argument) {
				t.Errorf("fields %+v", f)
			}
			attempts := 6
			if name == "401" { // each was made once more with a new token
				attempts = 12
			}
			if n := len(b.requests()); n != attempts {
				t.Errorf("%d requests for 6 calls", n)
			}
		})
	}
}

// TestMediaCreateOnTheWire: no connection is certain, a lost answer is not.
func TestMediaCreateOnTheWire(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	_, err = newClient(t, "http://"+l.Addr().String(), nil).CreateMedia(t.Context(), ref, parent, interior.Encode())
	if e := asError(t, err); e.Class != NotSent || e.Sent {
		t.Errorf("got %v", err)
	}
	var connections atomic.Int64
	base := rawServer(t, func(_ int, c *net.TCPConn) { connections.Add(1); readRequest(t, c); reset(c) })
	_, err = newClient(t, base, nil).CreateMedia(t.Context(), ref, parent, interior.Encode())
	if e := asError(t, err); e.Class != Ambiguous || !e.Sent || connections.Load() != 1 || strings.Contains(err.Error(), "Signature") {
		t.Errorf("%d connections: %v", connections.Load(), err)
	}
}

// TestMediaPages: each item once, bounded, through empty pages and unreadable entries, and never for ever.
func TestMediaPages(t *testing.T) {
	t.Parallel()
	entry := func(n int) string { return fmt.Sprintf(`{"name":"%s%d","mediaFormat":"PHOTO"}`, mediaKey, n) }
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		jsonAnswer(200, map[string]string{
			"":  `{"mediaItems":[` + entry(1) + `,{"name":"odd"},5],"totalMediaItemCount":"4","nextPageToken":"a"}`,
			"a": `{"nextPageToken":"b"}`,
			"b": `{"mediaItems":[` + entry(1) + `,` + entry(2) + `],"totalMediaItemCount":4}`,
		}[r.URL.Query().Get("pageToken")])(w, r)
	}, nil)
	all, err := b.AllMedia(t.Context(), ref, parent, 10)
	if err != nil || len(all.Items) != 2 || all.Unreadable != 2 || all.Truncated || all.Total != 4 {
		t.Errorf("got %+v, %v", all, err)
	}
	if all, err := b.AllMedia(t.Context(), ref, parent, 2); err != nil || !all.Truncated || len(all.Items) != 1 {
		t.Errorf("got %+v, %v", all, err)
	}
	loop := serve(t, jsonAnswer(200, `{"nextPageToken":"same"}`), nil)
	if all, err := loop.AllMedia(t.Context(), ref, parent, 1000); err != nil || !all.Truncated || len(loop.requests()) != 2 {
		t.Errorf("got %+v, %v after %d requests", all, err, len(loop.requests()))
	}
	for _, body := range []string{``, `[]`, `<html>`, `{"mediaItems":{}}`} {
		odd := serve(t, jsonAnswer(200, body), nil)
		if _, err := odd.ListMedia(t.Context(), ref, parent, 0, ""); asError(t, err).Class != NotSent {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestF037UploadGoesOn: three calls in order with the raw bytes; each failure is taken up where it happened.
func TestF037UploadGoesOn(t *testing.T) {
	t.Parallel()
	content := []byte("\xff\xd8\xff\xe0 raw \x00 bytes")
	var fail atomic.Value // the suffix of the path that fails, and how
	fail.Store("")
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		step := map[bool]string{true: "bytes", false: "create"}[strings.Contains(r.URL.Path, "/upload/v1/")]
		if strings.HasSuffix(r.URL.Path, ":startUpload") {
			step = "start"
		}
		if bad, how, _ := strings.Cut(fail.Load().(string), " "); bad == step {
			switch how {
			case "refused":
				jsonAnswer(404, envelope(404, "NOT_FOUND", ""))(w, r)
			case "odd":
				jsonAnswer(200, `{"resourceName":"../../v4/x"}`)(w, r)
			default:
				jsonAnswer(503, envelope(503, "UNAVAILABLE", ""))(w, r)
			}
			return
		}
		switch step {
		case "start":
			jsonAnswer(200, `{"resourceName":"place/1+2"}`)(w, r)
		case "bytes":
			w.WriteHeader(200)
		default:
			mediaCreated()(w, r)
		}
	}, nil)
	item := gbp.MediaItem{MediaFormat: gbp.Photo, LocationAssociation: gbp.MediaAssociation{Category: gbp.CategoryInterior}}
	var progress Upload
	attempt := func() (gbp.RemoteMedia, error) {
		return b.CreateMediaFromBytes(t.Context(), ref, parent, item, content, "image/jpeg", &progress)
	}
	for _, step := range []struct {
		fail  string
		class Class
		after Upload
	}{
		{"start", NotSent, Upload{}},
		{"start odd", NotSent, Upload{}},
		{"bytes", NotSent, Upload{ResourceName: "place/1+2"}},
		{"create", Ambiguous, Upload{ResourceName: "place/1+2", Sent: true}},
		{"create", Ambiguous, Upload{ResourceName: "place/1+2", Sent: true}},
	} {
		fail.Store(step.fail)
		if _, err := attempt(); asError(t, err).Class != step.class || progress != step.after {
			t.Errorf("%s: %v, %+v", step.fail, err, progress)
		}
	}
	fail.Store("")
	if m, err := attempt(); err != nil || m.Name != mediaKey {
		t.Fatalf("got %+v, %v", m, err)
	}
	var steps []string
	for _, r := range b.requests() {
		steps = append(steps, r.path[strings.LastIndexByte(r.path, '/')+1:])
	}
	if got := strings.Join(steps, " "); got != "media:startUpload media:startUpload media:startUpload 1+2 1+2 media media media" {
		t.Errorf("calls %s", got)
	}
	r := b.requests()
	if up := r[4]; up.path != "/mybusiness.googleapis.com/upload/v1/media/place/1+2" || up.query != "upload_type=media" || string(up.body) != string(content) || up.header.Get("Content-Type") != "image/jpeg" || up.auth == "" {
		t.Errorf("bytes went to %s?%s as %q (%s)", up.path, up.query, up.body, up.header.Get("Content-Type"))
	}
	if last := string(r[len(r)-1].body); last != `{"mediaFormat":"PHOTO","locationAssociation":{"category":"INTERIOR"},"dataRef":{"resourceName":"place/1+2"}}` {
		t.Errorf("created %s", last)
	}
	progress = Upload{ResourceName: "place/gone"}
	fail.Store("bytes refused")
	if _, err := attempt(); errs.CodeOf(err) != errs.GBPNotFound || progress != (Upload{}) {
		t.Errorf("%v, %+v", err, progress)
	}
}
