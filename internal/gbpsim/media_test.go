package gbpsim_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

const mediaItem = `{"mediaFormat":"PHOTO","locationAssociation":{"category":"INTERIOR"},"sourceUrl":"https://a.example/1.jpg"}`

func (b *bench) media(store int) string {
	return v4Host + "/v4/" + string(gbpsim.DemoGroup) + "/" + string(b.store[store]) + "/media"
}

func item(category, source, more string) string {
	return fmt.Sprintf(`{"mediaFormat":"PHOTO","locationAssociation":{"category":%q},"sourceUrl":%q%s}`, category, source, more)
}

// added creates an item and gives its name.
func (b *bench) added(store int, body string) string {
	b.t.Helper()
	a := b.do("POST", b.media(store), body)
	if a.status != 200 || a.text("name") == "" {
		b.t.Fatalf("create: %d %s", a.status, a.raw)
	}
	return a.text("name")
}

func (b *bench) gallery(store int, query string) (names []string, total float64, next string) {
	b.t.Helper()
	a := b.do("GET", b.media(store)+query, "")
	if a.status != 200 {
		b.t.Fatalf("list: %d %s", a.status, a.raw)
	}
	list, _ := a.json["mediaItems"].([]any)
	for _, m := range list {
		names = append(names, m.(map[string]any)["name"].(string))
	}
	total, _ = a.json["totalMediaItemCount"].(float64)
	return names, total, a.text("nextPageToken")
}

// uploaded gives the resource name of bytes.
func (b *bench) uploaded(store int, content string) string {
	b.t.Helper()
	name := b.do("POST", b.media(store)+":startUpload", "").text("resourceName")
	a := b.do("POST", v4Host+"/upload/v1/media/"+name+"?upload_type=media", content)
	if name == "" || a.status != 200 || a.raw != "" {
		b.t.Fatalf("upload of %q: %d %q", name, a.status, a.raw)
	}
	return name
}

func withRef(name string) string {
	return `{"mediaFormat":"PHOTO","locationAssociation":{"category":"MENU"},"dataRef":{"resourceName":"` + name + `"}}`
}

func jpegBytes(w, h, size int) string {
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, image.NewGray(image.Rect(0, 0, w, h)), nil); err != nil {
		panic(err)
	}
	return buf.String() + strings.Repeat("\x00", max(size-buf.Len(), 0))
}

// mediaRefusals has at least one line per rule of the gallery that refuses.
func mediaRefusals() []refusal {
	bench0 := func(rest string) string {
		return v4Host + "/v4/" + string(gbpsim.DemoGroup) + "/" + string(gbpsim.JapaneseChain(1).Locations[0].Name) + "/media" + rest
	}
	first := func(b *bench) string { return string(b.sim.Media(b.store[0])[0].Name) }
	many := gbpsim.Knobs{MediaLimit: 1}
	post := func(rule gbpsim.RuleID, body, field string, code int) refusal {
		return refusal{rule: rule, path: bench0(""), body: body, field: field, code: code}
	}
	unreachable := item("MENU", "https://nowhere.invalid/a.jpg", "")
	content := func(files string, rule gbpsim.RuleID, code int) refusal {
		// the file comes from an upload, which is always looked into
		r := post(rule, "", "media_item.data_ref", code)
		r.prepare = func(b *bench) string { return withRef(b.uploaded(0, files)) }
		return r
	}
	var withText bytes.Buffer
	_ = png.Encode(&withText, image.NewGray(image.Rect(0, 0, 600, 600)))
	animated := strings.Replace(withText.String(), "IDAT", "acTL\x00\x00\x00\x00IDAT", 1)
	list := []refusal{
		post("media.format", `{"locationAssociation":{"category":"MENU"},"sourceUrl":"https://a.example/1.jpg"}`, "media_item.media_format", 2),
		post("media.association", `{"mediaFormat":"PHOTO","sourceUrl":"https://a.example/1.jpg"}`, "media_item.location_association", 2),
		post("media.association", item("CATEGORY_UNSPECIFIED", "https://a.example/1.jpg", ""), "media_item.location_association", 2),
		post("media.source", `{"mediaFormat":"PHOTO","locationAssociation":{"category":"MENU"}}`, "media_item.source_url", 2),
		post("media.source", item("MENU", "https://a.example/1.jpg", `,"dataRef":{"resourceName":"x"}`), "media_item.data_ref", 3),
		post("media.cover_description", item("COVER", "https://a.example/1.jpg", `,"description":"d"`), "media_item.description", 13),
		post("media.fetch", unreachable, "media_item.source_url", 1000),
		post("media.data_ref", withRef("GoogleUpload_unknown"), "media_item.data_ref.resource_name", 1001),
		post("request.unknown_field", item("MENU", "https://a.example/1.jpg", `,"title":"t"`), "media_item", 0),
		post("request.value_type", item("KITCHEN", "https://a.example/1.jpg", ""), "media_item.location_association.category", 0),
		content(jpegBytes(200, 600, 20_000), "media.content", 1002),
		content(jpegBytes(600, 600, 100), "media.content", 1002),
		content("just text, as clients have sent", "media.content", 1002),
		content(animated, "media.content", 1002),
		content(jpegBytes(600, 600, 5<<20+1), "media.too_large", 10),
		{rule: "media.too_many", path: bench0(""), body: mediaItem, knobs: many, before: func(b *bench) { b.added(0, mediaItem) }, field: "media_item"},
		{rule: "media.not_found", method: "GET", path: bench0("/AF1QipNothing"), status: 404, word: "NOT_FOUND"},
		{rule: "media.not_found", method: "DELETE", path: bench0("/AF1QipNothing"), status: 404},
		{rule: "media.not_found", method: "GET", path: bench0("/customers/AF1QipNothing"), status: 404},
		{rule: "media.upload_name", path: v4Host + "/upload/v1/media/unknown?upload_type=media", body: "x", status: 404},
		{rule: "media.upload_type", path: "", prepare: func(b *bench) string { return "x" }, at: func(b *bench) string {
			return v4Host + "/upload/v1/media/" + b.do("POST", b.media(0)+":startUpload", "").text("resourceName")
		}, field: "upload_type"},
		{rule: "media.upload_empty", at: func(b *bench) string {
			return v4Host + "/upload/v1/media/" + b.do("POST", b.media(0)+":startUpload", "").text("resourceName") + "?upload_type=media"
		}, field: "media", code: 2},
		{rule: "media.update_mask", method: "PATCH", body: `{"locationAssociation":{"category":"MENU"},"description":"d"}`, at: func(b *bench) string { return v4Host + "/v4/" + first(b) + "?updateMask=description" }, field: "update_mask"},
		{rule: "media.association", method: "PATCH", body: `{}`, at: func(b *bench) string { return v4Host + "/v4/" + first(b) }, field: "media_item.location_association", code: 2},
		{rule: "media.patch_cover", method: "PATCH", body: `{"locationAssociation":{"category":"COVER"}}`, at: func(b *bench) string { return v4Host + "/v4/" + first(b) + "?updateMask=locationAssociation" }, field: "media_item.location_association.category"},
		{rule: "route.unknown", method: "PUT", path: bench0(""), status: 404, word: "<!DOCTYPE html>"},
		{rule: "route.unknown", path: bench0(":finishUpload"), status: 404, word: "<!DOCTYPE html>"},
		{rule: "auth.no_access", body: mediaItem, path: v4Host + "/v4/" + string(strangerAccount) + "/" + string(strangerStore) + "/media", status: 404},
		{rule: "quota.edits_per_location", path: bench0(""), body: mediaItem, knobs: gbpsim.Knobs{EditsPerMinute: 1}, before: func(b *bench) { b.added(0, mediaItem) }, status: 429},
	}
	return list
}

// TestGallery: create, read back, list over pages newest first, delete once and not twice.
func TestGallery(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true, Knobs: gbpsim.Knobs{NoQuotas: true}})
	names, total, _ := b.gallery(0, "")
	if len(names) != 2 || total != 2 {
		t.Fatalf("the seed has %v", names)
	}
	a := b.do("POST", b.media(0), item("INTERIOR", "https://a.example/1.jpg?sig=a%2Bb", `,"description":"店内"`))
	name := a.text("name")
	if a.status != 200 || a.text("sourceUrl") != "https://a.example/1.jpg?sig=a%2Bb" || a.text("description") != "店内" || a.text("googleUrl") == "" || a.text("createTime") == "" ||
		!strings.HasPrefix(name, string(gbpsim.DemoGroup)+"/"+string(b.store[0])+"/media/AF1Qip") {
		t.Fatalf("create: %d %s", a.status, a.raw)
	}
	if e := b.last(); !e.Effect || string(e.Media) != name || e.Route != gbpsim.RouteMediaCreate || e.Location != b.store[0] || !e.Write || e.Body == "" {
		t.Errorf("journal: %+v", e)
	}
	if got := b.do("GET", v4Host+"/v4/"+name, ""); got.status != 200 || got.text("name") != name {
		t.Errorf("get: %d %s", got.status, got.raw)
	}
	for i := range 3 { // identical ones are accepted as often as they are sent
		b.sim.Advance(time.Second)
		if again := b.added(0, mediaItem); again == name {
			t.Errorf("item %d has the name of another", i)
		}
	}
	snapshot, _, _ := b.gallery(0, "?pageSize=2500")
	var paged []string
	for page, token := 0, ""; page == 0 || token != ""; page++ {
		names, total, next := b.gallery(0, "?pageSize=2&pageToken="+token)
		if want := float64(6 + min(page, 1)); total != want {
			t.Errorf("page %d: total %v", page, total)
		}
		paged, token = append(paged, names...), next
		if page == 0 {
			b.sim.Advance(time.Second)
			b.added(0, mediaItem) // between pages: shifts nothing
		}
	}
	if strings.Join(paged, " ") != strings.Join(snapshot, " ") || paged[5] != names[1] || paged[3] != name {
		t.Errorf("paged %v\nall   %v", paged, snapshot)
	}
	if d := b.do("DELETE", v4Host+"/v4/"+name, ""); d.status != 200 || strings.TrimSpace(d.raw) != "{}" {
		t.Errorf("delete: %d %q", d.status, d.raw)
	}
	if e := b.last(); !e.Effect || string(e.Media) != name {
		t.Errorf("journal: %+v", e)
	}
	if d := b.do("DELETE", v4Host+"/v4/"+name, ""); d.status != 404 {
		t.Errorf("second delete: %d", d.status)
	}
	if d := b.do("GET", v4Host+"/v4/"+name, ""); d.status != 404 {
		t.Errorf("get after delete: %d", d.status)
	}
}

// TestOneCover: a new cover or profile picture takes the old one's place; other categories pile up.
func TestOneCover(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true}})
	for _, c := range []string{"COVER", "PROFILE", "LOGO"} {
		first := b.added(1, item(c, "https://a.example/1.jpg", ""))
		second := b.added(1, item(c, "https://a.example/2.jpg", ""))
		kept := b.do("GET", v4Host+"/v4/"+first, "").status == 200
		if kept != (c == "LOGO") || b.do("GET", v4Host+"/v4/"+second, "").status != 200 {
			t.Errorf("%s: the first is kept: %v", c, kept)
		}
	}
}

// TestPatchCategory: with and without mask, in either spelling.
func TestPatchCategory(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true}})
	name := b.added(0, mediaItem)
	for query, body := range map[string]string{
		"": `{"locationAssociation":{"category":"TEAMS"}}`, "?updateMask=location_association.category": `{"location_association":{"category":"ROOMS"}}`,
		"?updateMask=locationAssociation": `{"locationAssociation":{"priceListItemId":"p1"}}`,
	} {
		a := b.do("PATCH", v4Host+"/v4/"+name+query, body)
		if got, _ := a.json["locationAssociation"].(map[string]any); a.status != 200 || len(got) != 1 {
			t.Errorf("%q: %d %s", query, a.status, a.raw)
		}
	}
}

// TestF037Upload: three steps; the bytes arrive raw and can be used once.
func TestF037Upload(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true, Knobs: gbpsim.Knobs{NoQuotas: true}})
	content := jpegBytes(640, 480, 20_000)
	name := b.uploaded(0, content)
	if e := b.last(); e.Route != gbpsim.RouteMediaUpload || !strings.HasPrefix(e.Body, "20000 bytes, sha256 ") || e.Effect || e.Write {
		t.Errorf("journal: %+v", e)
	}
	if a := b.do("POST", b.media(1), withRef(name)); a.status != 400 {
		t.Errorf("another location's: %d", a.status)
	}
	a := b.do("POST", b.media(0), withRef(name))
	if size, _ := a.json["dimensions"].(map[string]any); a.status != 200 || size["widthPixels"] != 640.0 || a.json["sourceUrl"] != nil || a.json["dataRef"] != nil {
		t.Errorf("create: %d %s", a.status, a.raw)
	}
	if field, code := b.do("POST", b.media(0), withRef(name)).violation(); code != 1001 {
		t.Errorf("twice: %s %d", field, code)
	}
	empty := b.do("POST", b.media(0)+":startUpload", "{}").text("resourceName")
	if _, code := b.do("POST", b.media(0), withRef(empty)).violation(); code != 1001 {
		t.Errorf("without bytes: %d", code)
	}
	large := jpegBytes(640, 480, 6<<20) // above the bound of JSON bodies
	if _, code := b.do("POST", b.media(0), withRef(b.uploaded(0, large))).violation(); code != 10 {
		t.Errorf("large: %d", code)
	}
}

// TestMediaHides: delayed visibility by knob and by fault, and the source left out by knob.
func TestMediaHides(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true, MediaLagSeconds: 30, HideMediaSources: true}})
	a := b.do("POST", b.media(0), mediaItem)
	if a.status != 200 || a.text("sourceUrl") != "" {
		t.Fatalf("create: %d %s", a.status, a.raw)
	}
	hidden := func(when string, lists, gets bool) {
		t.Helper()
		names, _, _ := b.gallery(0, "")
		inList := strings.Contains(strings.Join(names, " "), a.text("name"))
		if got := b.do("GET", v4Host+"/v4/"+a.text("name"), ""); inList == lists || (got.status == 200) == gets {
			t.Errorf("%s: in lists %v, get %d", when, inList, got.status)
		}
	}
	hidden("at once", true, true)
	b.sim.Advance(31 * time.Second)
	hidden("later", false, false)
	b.fault(gbpsim.Fault{Route: gbpsim.RouteMediaDelete, HiddenSeconds: 10, HiddenIn: "list"})
	b.do("DELETE", v4Host+"/v4/"+a.text("name"), "")
	hidden("deleted", false, true)
	b.sim.Advance(11 * time.Second)
	hidden("in the end", true, true)
	if len(b.sim.Media(b.store[0])) != 2 {
		t.Error("it exists")
	}
}

// TestMediaCommittedAndLost: the faults of posts hold for media: done and answered by nothing, or done later.
func TestMediaCommittedAndLost(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true}})
	b.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	if _, err := b.try("POST", b.media(0), mediaItem); err == nil {
		t.Error("there was an answer")
	}
	b.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, From: 1, Count: 1, Effect: gbpsim.EffectLater, DelaySeconds: 5, Answer: gbpsim.AnswerError})
	if a := b.do("POST", b.media(0), mediaItem); a.status != 503 {
		t.Errorf("got %d", a.status)
	}
	if n := len(b.sim.Media(b.store[0])); n != 3 {
		t.Errorf("%d items now", n)
	}
	b.sim.Advance(6 * time.Second)
	if n := len(b.sim.Media(b.store[0])); n != 4 {
		t.Errorf("%d items later", n)
	}
}

// TestCustomersMedia: listed apart, read-only.
func TestCustomersMedia(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Strict: true})
	name, err := b.sim.AddMedia(b.store[0], gbpsim.MediaSeed{Customer: "花子", Key: "AF1QipHana"})
	if err != nil || !strings.HasSuffix(string(name), "/media/customers/AF1QipHana") {
		t.Fatalf("%s, %v", name, err)
	}
	if names, total, _ := b.gallery(0, ""); len(names) != 2 || total != 2 {
		t.Errorf("own: %v", names)
	}
	if names, total, _ := b.gallery(0, "/customers"); len(names) != 1 || total != 1 || names[0] != string(name) {
		t.Errorf("customers': %v", names)
	}
	a := b.do("GET", v4Host+"/v4/"+string(name), "")
	if by, _ := a.json["attribution"].(map[string]any); by["profileName"] != "花子" {
		t.Errorf("get: %d %s", a.status, a.raw)
	}
}

// TestAdminMedia: through the admin client, behind every client's back, with mistakes told.
func TestAdminMedia(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	c := gbpsim.Client{BaseURL: b.base}
	name, err := c.AddMedia(t.Context(), gbpsim.LocationName(string(gbpsim.DemoGroup)+"/"+string(b.store[0])), gbpsim.MediaSeed{Category: "LOGO", SourceURL: "https://a.example/l.jpg"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Media(t.Context(), b.store[0])
	if err != nil || len(list) != 3 || list[0].Name != name || list[0].Category != "LOGO" || list[0].Email != "" || list[0].Google == nil {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := c.RemoveMedia(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if b.do("GET", v4Host+"/v4/"+string(name), "").status != 404 {
		t.Error("still there")
	}
	for what, err := range map[string]error{
		"twice": c.RemoveMedia(t.Context(), name), "no location": second(c.AddMedia(t.Context(), "locations/1", gbpsim.MediaSeed{})),
		"category": second(c.AddMedia(t.Context(), b.store[0], gbpsim.MediaSeed{Category: "KITCHEN"})), "key": second(c.AddMedia(t.Context(), b.store[0], gbpsim.MediaSeed{Key: "a/b"})),
		"format": second(c.AddMedia(t.Context(), b.store[0], gbpsim.MediaSeed{Format: "GIF"})),
	} {
		if err == nil {
			t.Errorf("%s: no mistake", what)
		}
	}
	if err := c.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := c.Media(t.Context(), ""); err != nil || len(list) != 8 {
		t.Errorf("after a reset: %d, %v", len(list), err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestFetchMedia: with the knob on, files are fetched and judged, for the gallery and for posts.
func TestFetchMedia(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/good.jpg": jpegBytes(600, 400, 20_000), "/small.jpg": jpegBytes(100, 100, 20_000), "/large.jpg": jpegBytes(600, 400, 5<<20+1), "/page.jpg": "<!doctype html>",
		"/video.mp4": "\x00\x00\x00\x10ftypisom\x00\x00\x00\x00", "/large.mp4": "\x00\x00\x00\x10ftypisom" + strings.Repeat("\x00", 26_214_401),
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(404)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(host.Close)
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true, FetchMedia: true, ReachableURLs: []string{host.URL}}})
	for path, want := range map[string]int{"/good.jpg": 0, "/small.jpg": 1002, "/large.jpg": 10, "/page.jpg": 1002, "/gone.jpg": 1000} {
		a := b.do("POST", b.media(0), item("MENU", host.URL+path, ""))
		if _, code := a.violation(); code != want || (a.status == 200) != (want == 0) {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
		p := b.create(0, `{`+standard+`,"media":[{"mediaFormat":"PHOTO","sourceUrl":"`+host.URL+path+`"}]}`)
		if _, code := p.violation(); code != want || (p.status == 200) != (want == 0) {
			t.Errorf("post with %s: %d %s", path, p.status, p.raw)
		}
	}
	for path, want := range map[string]int{"/video.mp4": 0, "/large.mp4": 10, "/good.jpg": 1002} {
		a := b.do("POST", b.media(0), strings.Replace(item("MENU", host.URL+path, ""), "PHOTO", "VIDEO", 1))
		if _, code := a.violation(); code != want {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if a := b.do("POST", b.media(0), item("COVER", host.URL+"/small.jpg", "")); a.status != 200 {
		t.Errorf("a small cover: %d %s", a.status, a.raw)
	}
}

// TestSamplePicture: fit for every check, and the same for the same name.
func TestSamplePicture(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	status, one := fetch(t, "GET", b.base+"/pictures/latte.jpg", "")
	_, two := fetch(t, "GET", b.base+"/pictures/latte.jpg", "")
	_, other := fetch(t, "GET", b.base+"/pictures/mocha.jpg", "")
	config, kind, err := image.DecodeConfig(strings.NewReader(one))
	if status != 200 || err != nil || kind != "jpeg" || config.Width != 1200 || len(one) < 10_240 || len(one) > 5_000_000 || one != two || one == other {
		t.Errorf("%d, %s, %v, %d bytes", status, kind, err, len(one))
	}
}
