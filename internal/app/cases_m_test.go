package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/pictures"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// both are the two tools that hand addresses to Google, with arguments for one address.
func (d *desk) both(address, category string) map[string]stack.Args {
	return map[string]stack.Args{
		"post.create":  {"location_ids": d.IDs(1), "post": map[string]any{"summary": "x", "media": []any{map[string]any{"source_url": address}}}},
		"media.upload": upload(d.IDs(1), item(address, category)),
	}
}

// verdict is the violation of an address, in a preview and in earnest; both have to say the same.
func (d *desk) verdict(tool string, args stack.Args) errs.Violation {
	d.t.Helper()
	live := d.call(tool, args)
	d.mustRefuse(live, errs.InvalidArgument)
	v := live.Details.Violations[0]
	dry := d.call(tool, args.With("dry_run", true))
	if dry.IsError { // the decoder's: neither goes further
		if !slices.Equal(dry.Details.Violations, live.Details.Violations) {
			d.t.Errorf("%s: %+v in a preview, %+v in earnest", tool, dry.Details.Violations, live.Details.Violations)
		}
		return v
	}
	p := stack.Into[tools.Write](d.t, dry).Preview
	if p.WouldExecute || !slices.Equal(p.ValidationErrors, live.Details.Violations) {
		d.t.Errorf("%s: %+v in a preview, %+v in earnest", tool, p.ValidationErrors, live.Details.Violations)
	}
	return v
}

// F026, F030, F031, F033, F035, F036 and their siblings: what Google would not take is refused in preview and in earnest, with
// what was measured, and nothing is published.
func TestF026ToF036FilesAreJudged(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 1, NoWorkers: true})
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	page := []byte("<!doctype html><html><head><title>photo</title></head><body>" + strings.Repeat("x", 20_000) + "</body></html>")
	put := func(path, kind string, content []byte) string { return web.Put(path, kind, content) }
	bot := web.Handle("/bot.jpg", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.UserAgent(), "Go-http-client") || r.UserAgent() == "" {
			t.Errorf("F030: the user agent is %q", r.UserAgent())
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	const sharing = "https://drive.google.com/file/d/FILEID/view?usp=sharing"
	for name, c := range map[string]struct {
		address, category string
		post, gallery     string // rules; "" for a file that is taken
		value             string
		words             []string
	}{
		"F026 drive link":       {sharing, "MENU", "viewer_page", "viewer_page", "", []string{"viewer page"}},
		"F026 drive open":       {"https://drive.google.com/open?id=FILEID", "MENU", "viewer_page", "viewer_page", "", nil},
		"F026 page as image":    {put("/view.jpg", "image/jpeg", page), "MENU", "viewer_page", "viewer_page", "text/html", []string{"viewer page"}},
		"F026 behind redirect":  {web.Handle("/r.jpg", http.RedirectHandler(sharing, http.StatusFound)), "MENU", "viewer_page", "viewer_page", "text/html", nil},
		"F030 host refuses":     {bot, "MENU", "host_refused", "host_refused", "403", []string{"image host refused our request (403)"}},
		"gone":                  {web.URL("/none.jpg"), "MENU", "not_found", "not_found", "404", nil},
		"host fails":            {web.Handle("/500.jpg", status(500)), "MENU", "host_error", "host_error", "500", nil},
		"nothing":               {web.Handle("/204.jpg", status(204)), "MENU", "empty", "empty", "", nil},
		"F031 webp":             {put("/a.jpg", "image/jpeg", pictures.WebP(1200, 900)), "MENU", "unsupported_format", "unsupported_format", "image/webp", []string{"WEBP", "JPEG / PNG"}},
		"F033 249×600":          {put("/edge.jpg", "image/jpeg", pictures.JPEG(249, 600, 20_000, 1)), "MENU", "short_edge", "short_edge", "249x600", []string{"249x600", "250"}},
		"F033 9 KB":             {put("/small.jpg", "image/jpeg", pictures.JPEG(400, 300, 9*1024, 1)), "MENU", "too_small", "too_small", "9216", []string{"9216", "10240"}},
		"F033 5.1 MB":           {put("/large.jpg", "image/jpeg", pictures.JPEG(1000, 1000, 5_100_000, 1)), "MENU", "too_large", "too_large", "5000001", []string{"5000000"}},
		"F033 exactly":          {put("/exact.jpg", "image/jpeg", pictures.JPEG(250, 250, 10_240, 1)), "MENU", "", "", "", nil},
		"no floor for covers":   {put("/tiny.jpg", "image/jpeg", pictures.JPEG(100, 100, 0, 1)), "COVER", "short_edge", "", "100x100", nil},
		"png":                   {put("/p.png", "image/png", pictures.PNG(400, 300)), "MENU", "", "", "", nil},
		"F035 mp4 by name":      {put("/a.mp4", "video/mp4", pictures.MP4(1280, 720, 5, 300_000)), "MENU", "video", "", "", []string{"JPEG or PNG"}},
		"F035 mp4 by content":   {put("/b.jpg", "image/jpeg", pictures.MP4(1280, 720, 5, 300_000)), "MENU", "video", "", "video/mp4", nil},
		"F035 mp4 as cover":     {put("/c.mp4", "video/mp4", pictures.MP4(1280, 720, 5, 300_000)), "COVER", "video", "video", "", nil},
		"F035 mp4 too long":     {put("/d.mp4", "video/mp4", pictures.MP4(1280, 720, 31, 300_000)), "MENU", "video", "video_too_long", "", nil},
		"F036 65535×65535":      {put("/bomb.png", "image/png", pictures.PNGClaiming(65535, 65535, 100_000)), "MENU", "image_too_large", "image_too_large", "65535x65535", []string{"mage too large"}},
		"F036 gif":              {put("/bomb.gif", "image/gif", append([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), make([]byte, 21)...)), "MENU", "unsupported_format", "unsupported_format", "image/gif", nil},
		"neither picture":       {put("/x.jpg", "image/jpeg", bytes.Repeat([]byte{0, 1, 2, 3}, 5000)), "MENU", "not_an_image", "not_an_image", "", nil},
		"F028 too many hops":    {web.Handle("/loop.jpg", http.RedirectHandler("/loop.jpg", http.StatusFound)), "MENU", "too_many_redirects", "too_many_redirects", "", nil},
		"no such host":          {"https://nowhere.example.com/a.jpg", "MENU", "unreachable", "unreachable", "", nil},
		"certificate of others": {"https://" + pictures.Outside + ".nip.example:1/a.jpg", "MENU", "unreachable", "unreachable", "", nil},
	} {
		for tool, args := range d.both(c.address, c.category) {
			want, path := c.post, "post.media[0].source_url"
			if tool == "media.upload" {
				want, path = c.gallery, "media[0].source_url"
			}
			if want == "" {
				if p := d.previewOf(tool, args); !p.WouldExecute || hasWarning(p.ValidationWarnings, "MEDIA_FORMAT_SUSPECT") {
					t.Errorf("%s, %s: %+v", name, tool, p)
				}
				continue
			}
			v := d.verdict(tool, args)
			if v.Rule != want || v.Path != path || v.LocationID != d.IDs(1)[0] {
				t.Errorf("%s, %s: %+v, want %s", name, tool, v, want)
			}
			if c.post == c.gallery && c.value != "" && v.Value != c.value {
				t.Errorf("%s, %s: measured %q", name, tool, v.Value)
			}
			for _, w := range c.words {
				if want == c.post && !strings.Contains(v.Message, w) {
					t.Errorf("%s, %s: %q lacks %q", name, tool, v.Message, w)
				}
			}
		}
	}
	if n := d.batches(); n != 0 {
		t.Errorf("%d batches came of it", n)
	}
}

// F033 in Japanese, and several faults at once: every file's, beside every other rule's.
func TestF033EveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 2, NoWorkers: true})
	d.exec(`UPDATE mappy.tenant SET locale = 'ja'`)
	small, edge := web.Put("/s.jpg", "image/jpeg", pictures.JPEG(400, 300, 9*1024, 1)), web.Put("/e.jpg", "image/jpeg", pictures.JPEG(249, 600, 20_000, 1))
	a := d.call("media.upload", upload(d.IDs(2), item(small, "MENU"), item(photo(web, "/good.jpg"), "MENU"), item(edge, "TEAMS"), map[string]any{"source_url": small, "category": "ROOMS", "description": "{{location.name}}"}))
	d.mustRefuse(a, errs.InvalidArgument)
	want := []string{"media[0].source_url too_small", "media[2].source_url short_edge", "media[3].source_url too_small", "media[3].description unknown_variable"}
	if got := rules(a); !slices.Equal(got, append(want, want...)) || !strings.Contains(a.Text, "9216 バイト") {
		t.Errorf("%q: %s", got, a.Text)
	}
	p := d.call("post.create", stack.Args{"location_ids": d.IDs(1), "post": map[string]any{"summary": "{{x}}", "media": []any{map[string]any{"source_url": edge}}}})
	if got := rules(p); !slices.Equal(got, []string{"post.summary unknown_variable", "post.media[0].source_url short_edge"}) {
		t.Errorf("%q", got)
	}
	if n := len(web.Requests()); n != 4 { // three files, and one of them for another use
		t.Errorf("%d requests: %q", n, web.Requests())
	}
}

// F033's sibling: a picture whose upload broke off is told, in the preview of both tools, and nothing else is.
func TestF033PictureThatIsCutOff(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 1})
	whole := pictures.JPEG(2000, 2000, 0, 1)
	for source, cut := range map[string]bool{web.Put("/whole.jpg", "image/jpeg", whole): false, web.Put("/half.jpg", "image/jpeg", whole[:len(whole)/2]): true} {
		for tool, args := range d.both(source, "MENU") {
			p := d.previewOf(tool, args)
			if got := hasWarning(p.ValidationWarnings, "MEDIA_CUT_OFF"); got != cut || !p.WouldExecute {
				t.Errorf("%s %s: %+v", tool, source, p.ValidationWarnings)
			}
		}
	}
}

// F028, F030: an address that is good for GET only passes, and Google gets it byte for byte; names beyond ASCII are encoded once,
// fragments are dropped.
func TestF028AddressesAreKept(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 1})
	picture := pictures.JPEG(800, 600, 20_000, 1)
	getOnly := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write(picture)
	})
	for _, path := range []string{"/a.jpg", "/画像 1.jpg", "/b.jpg"} {
		web.Handle(path, getOnly)
	}
	web.Handle("/moved.jpg", http.RedirectHandler(web.URL("/b.jpg"), http.StatusFound))
	calls := 0
	encoded := web.URL("/%E7%94%BB%E5%83%8F%201.jpg")
	for given, sent := range map[string]string{
		web.URL("/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&X-Amz-Expires=3600&b=1&a=2&e="): web.URL("/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&X-Amz-Expires=3600&b=1&a=2&e="),
		web.URL("/画像 1.jpg"):                  encoded,
		encoded:                               encoded,
		web.URL("/b.jpg#top"):                 web.URL("/b.jpg"),
		web.URL("/a.jpg?q=画像&%zz"):            web.URL("/a.jpg?q=%E7%94%BB%E5%83%8F&%zz"),
		web.URL("/moved.jpg?x=1"):             web.URL("/moved.jpg?x=1"),
		web.URL("/a.jpg?s={{location.city}}"): web.URL("/a.jpg?s=" + url.QueryEscape(d.Locations[0].Profile.City)),
		web.URL("/%61.jpg?%7e=~"):             web.URL("/%61.jpg?%7e=~"),
	} {
		for tool, args := range d.both(given, "MENU") {
			calls++
			d.Sim.ClearJournal()
			route := gbpsim.RouteLocalPostsCreate
			if tool == "media.upload" {
				route = gbpsim.RouteMediaCreate
			}
			v := d.done(tool, args.With("idempotency_key", fmt.Sprintf("f028-key-%d", calls)))
			if v.Status != batch.Done {
				t.Fatalf("%s %s: %+v", tool, given, v)
			}
			if e := d.sentBodies(route); len(e) != 1 || !strings.Contains(e[0].Body, `"sourceUrl":"`+sent+`"`) {
				t.Errorf("%s %s: %+v", tool, given, e)
			}
			if tool == "post.create" && !strings.Contains(v.Items[0].StateAfter, `"media"`) {
				t.Errorf("F025: the answer names no photo: %s", v.Items[0].StateAfter)
			}
		}
	}
	for _, r := range web.Requests() {
		if !strings.HasPrefix(r, "GET ") || strings.Contains(r, "#") || strings.Contains(r, "%25") {
			t.Errorf("%s", r)
		}
	}
}

// F039, F041, F043: nothing inside is reached, whichever way leads there, and one sentence is said about all of it.
func TestF039ToF043NothingInsideIsReached(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 1, NoWorkers: true})
	inside := web.Serve(pictures.Inside, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pictures.JPEG(800, 600, 20_000, 1)) }))
	web.Point("inside.example.com", pictures.Inside)
	web.Point("rebind.example.com", pictures.Outside, pictures.Inside)
	web.Point("meta.example.com", "169.254.169.254")
	to := func(path, target string) string {
		return web.Handle(path, http.RedirectHandler(target, http.StatusFound))
	}
	hop := web.Serve(pictures.Outside, http.RedirectHandler("https://rebind.example.com:"+inside.Port+"/", http.StatusFound))
	words := map[string]int{}
	for _, address := range []string{
		to("/1.jpg", "http://169.254.169.254/latest/meta-data/"), to("/2.jpg", "http://127.0.0.1:6379/"), to("/3.jpg", "https://127.0.0.1:"+inside.Port+"/"),
		to("/4.jpg", "https://inside.example.com:"+inside.Port+"/"), to("/5.jpg", "file:///etc/passwd"), "https://inside.example.com:" + inside.Port + "/a.jpg",
		"https://meta.example.com/latest/meta-data/", "https://rebind.example.com:" + hop.Port + "/a.jpg", "https://nowhere.example.com/a.jpg",
	} {
		for tool, args := range d.both(address, "MENU") {
			v := d.verdict(tool, args)
			if v.Rule != "unreachable" || v.Value != "" {
				t.Errorf("%s %s: %+v", tool, address, v)
			}
			words[v.Message]++
		}
	}
	if len(words) != 1 {
		t.Errorf("several sentences: %v", words)
	}
	for _, address := range []string{
		"http://2130706433/", "https://2130706433/", "http://0177.0.0.1/", "https://127.1/", "https://0x7f.1/a.jpg", "file:///etc/passwd", "ftp://example.com/a.jpg", "http://user:pass@example.com/a.jpg",
		"https://user:pass@example.com/a.jpg", "http://example.com@127.0.0.1/", "https://127.0.0.1:" + inside.Port + "/a.jpg", "https://10.0.0.5/a.jpg", "https://[::1]/a.jpg", "https://localhost/a.jpg", "javascript:alert(1)",
	} {
		for tool, args := range d.both(address, "MENU") {
			if v := d.verdict(tool, args); v.Rule != "format" && v.Rule != "url" {
				t.Errorf("%s %s: %+v", tool, address, v)
			}
		}
	}
	if n := inside.Connections(); n != 0 {
		t.Errorf("%d connections inside", n)
	}
	if n := d.batches(); n != 0 {
		t.Errorf("%d batches came of it", n)
	}
}
