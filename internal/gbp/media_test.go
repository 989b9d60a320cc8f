package gbp_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

const mediaName = "accounts/111222333444555666777/locations/12345678901234567890/media/AF1QipMabc-_9"

// TestMediaBody: the exact bytes that go to Google; the address is not touched.
func TestMediaBody(t *testing.T) {
	t.Parallel()
	d := gbp.MediaDraft{SourceURL: "https://b.example/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&x=<>", Category: gbp.CategoryInterior, Description: " 店内 & テラス\n"}
	const want = `{"mediaFormat":"PHOTO","locationAssociation":{"category":"INTERIOR"},"sourceUrl":"https://b.example/a.jpg?X-Amz-Signature=ab%2Bcd%2F==&x=<>","description":"店内 & テラス"}`
	if got := string(d.Item(gbp.Photo).Encode()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	ref := gbp.MediaItem{MediaFormat: gbp.Video, LocationAssociation: gbp.MediaAssociation{Category: gbp.CategoryMenu}, DataRef: &gbp.MediaDataRef{ResourceName: "r/1"}}
	if got := string(ref.Encode()); got != `{"mediaFormat":"VIDEO","locationAssociation":{"category":"MENU"},"dataRef":{"resourceName":"r/1"}}` {
		t.Errorf("got %s", got)
	}
}

func TestMediaDraftViolations(t *testing.T) {
	t.Parallel()
	const u = "https://b.example/a.jpg"
	for _, c := range []struct {
		draft gbp.MediaDraft
		want  string
	}{
		{gbp.MediaDraft{SourceURL: u, Category: gbp.CategoryCover}, ""},
		{gbp.MediaDraft{SourceURL: u, Category: gbp.CategoryCover, Description: " \n"}, ""},
		{gbp.MediaDraft{SourceURL: u, Category: gbp.CategoryProfile, Description: "d"}, ""},
		{gbp.MediaDraft{SourceURL: u, Category: gbp.CategoryCover, Description: "d"}, "media[1].description cover_description"},
		{gbp.MediaDraft{SourceURL: u, Category: "cover"}, "media[1].category enum"},
		{gbp.MediaDraft{SourceURL: u, Category: "CATEGORY_UNSPECIFIED"}, "media[1].category enum"},
		{gbp.MediaDraft{}, "media[1].source_url required, media[1].category required"},
	} {
		var got []string
		for _, v := range c.draft.Violations(errs.Japanese, "media[1]") {
			got = append(got, v.Path+" "+v.Rule)
			if v.Message == "" {
				t.Errorf("%+v: no words", v)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%+v: got %q", c.draft, got)
		}
	}
	for _, c := range gbp.MediaCategories() {
		if v := (gbp.MediaDraft{SourceURL: u, Category: c}).Violations(errs.English, "m"); v != nil {
			t.Errorf("%s: %v", c, v)
		}
		if _, ok := gbp.LimitsOf(c.Use(), gbp.Photo); !ok {
			t.Errorf("%s: no limits", c)
		}
	}
}

func TestMediaName(t *testing.T) {
	t.Parallel()
	for name, want := range map[gbp.MediaName]gbp.LocationName{
		mediaName:                                    "locations/12345678901234567890",
		"accounts/1/locations/2/media":               "",
		"accounts/1/locations/2/media/":              "",
		"accounts/1/locations/2/media/..":            "",
		"accounts/1/locations/2/media/a?x":           "",
		"accounts/1/locations/2/media/:startUpload":  "",
		"accounts/1/locations/2/media/localPosts/k":  "",
		"accounts/1/locations/2/media/customers/k":   "",
		"accounts/1/locations/2/localPosts/3":        "",
		"locations/2/media/k":                        "",
		"accounts//locations/2/media/k":              "",
		"accounts/1/locations/2/media/k/":            "",
		"accounts/1/locations/%2e/media/k":           "",
		"accounts/1/locations/2/media/AF1QipN_-long": "locations/2",
	} {
		if got := name.Location(); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestParseRemoteMedia(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"name":"` + mediaName + `","mediaFormat":"PHOTO","locationAssociation":{"category":"EXTERIOR"},"googleUrl":"https://lh3.example/p/1",` +
		`"thumbnailUrl":"https://lh3.example/p/1=s300","createTime":"2026-11-01T00:00:00.123456Z","dimensions":{"widthPixels":1200,"heightPixels":900},"description":"d","sourceUrl":"https://b.example/a.jpg","unknown":{"x":1}}`)
	r, err := gbp.ParseRemoteMedia(raw)
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != mediaName || r.Format != gbp.Photo || r.Category != gbp.CategoryExterior || r.Width != 1200 || r.Height != 900 || r.Description != "d" || r.SourceURL != "https://b.example/a.jpg" ||
		r.GoogleURL == "" || r.ThumbnailURL == "" || !r.CreateTime.Equal(time.Date(2026, 11, 1, 0, 0, 0, 123456000, time.UTC)) || !bytes.Equal(r.Raw, raw) {
		t.Errorf("got %+v", r)
	}
	price, err := gbp.ParseRemoteMedia(json.RawMessage(`{"name":"` + mediaName + `","locationAssociation":{"priceListItemId":"p1"}}`))
	if err != nil || price.PriceListItem != "p1" || price.Category != "" {
		t.Errorf("got %+v, %v", price, err)
	}
	for _, bad := range []string{``, `{}`, `[]`, `{"name":5}`, `{"name":"accounts/1/locations/2/media/localPosts/k"}`, `{"name":"` + mediaName + `","createTime":"yesterday"}`} {
		if r, err := gbp.ParseRemoteMedia(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %+v", bad, r)
		}
	}
}

// TestMediaVersion: moves with what people change and not with Google's addresses.
func TestMediaVersion(t *testing.T) {
	t.Parallel()
	base := gbp.RemoteMedia{Name: mediaName, Format: gbp.Photo, Category: gbp.CategoryMenu, Description: "d", GoogleURL: "https://1.example"}
	same := base
	same.GoogleURL, same.ThumbnailURL, same.SourceURL = "https://2.example", "t", "s"
	if base.Version() != same.Version() || len(base.Version()) != 32 {
		t.Errorf("%s and %s", base.Version(), same.Version())
	}
	for i, change := range []func(*gbp.RemoteMedia){
		func(r *gbp.RemoteMedia) { r.Category = gbp.CategoryTeams }, func(r *gbp.RemoteMedia) { r.Description = "e" },
		func(r *gbp.RemoteMedia) { r.Category, r.PriceListItem = "", "MENU" }, func(r *gbp.RemoteMedia) { r.CreateTime = time.Unix(1, 0) },
	} {
		r := base
		change(&r)
		if r.Version() == base.Version() {
			t.Errorf("change %d is not seen", i)
		}
	}
}

func TestMediaMatch(t *testing.T) {
	t.Parallel()
	sent := gbp.MediaDraft{SourceURL: "https://b.example/a.jpg?s=1", Category: gbp.CategoryMenu}.Item(gbp.Photo)
	remote := gbp.RemoteMedia{Name: mediaName, Format: gbp.Photo, Category: gbp.CategoryMenu, SourceURL: sent.SourceURL, Description: "Google's own"}
	for want, change := range map[gbp.MediaMatch][]func(*gbp.RemoteMedia){
		gbp.MediaIs:    {func(*gbp.RemoteMedia) {}},
		gbp.MediaMayBe: {func(r *gbp.RemoteMedia) { r.SourceURL = "" }},
		gbp.MediaDiffers: {
			func(r *gbp.RemoteMedia) { r.SourceURL = "https://b.example/a.jpg?s=2" }, func(r *gbp.RemoteMedia) { r.Format = gbp.Video },
			func(r *gbp.RemoteMedia) { r.Category = gbp.CategoryTeams }, func(r *gbp.RemoteMedia) { r.SourceURL, r.Category = "", "" },
		},
	} {
		for i, c := range change {
			r := remote
			c(&r)
			if got := r.Match(sent); got != want {
				t.Errorf("%d/%d: got %d", want, i, got)
			}
		}
	}
	// Length prefixes keep fields apart.
	a := gbp.MediaItem{MediaFormat: "P", LocationAssociation: gbp.MediaAssociation{Category: "HOTO"}}
	b := gbp.MediaItem{MediaFormat: "PH", LocationAssociation: gbp.MediaAssociation{Category: "OTO"}}
	if bytes.Equal(a.Fingerprint(), b.Fingerprint()) {
		t.Error("fields run together")
	}
}

// TestSharePage (F026): viewers and the same services' addresses of files.
func TestSharePage(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"https://drive.google.com/file/d/X/view?usp=sharing": true, "https://drive.google.com/open?id=X": true, "https://DRIVE.google.com./open?id=X": true,
		"https://drive.google.com/uc?export=download&id=X": false, "https://docs.google.com/uc?id=X": false, "https://docs.google.com/document/d/X": true,
		"https://www.dropbox.com/s/x/a.jpg?dl=0": true, "https://www.dropbox.com/s/x/a.jpg?dl=1": false, "https://www.dropbox.com/s/x/a.jpg?raw=1": false, "https://dl.dropboxusercontent.com/s/x/a.jpg": false,
		"https://onedrive.live.com/?id=1": true, "https://onedrive.live.com/download?id=1": false, "https://1drv.ms/i/x": true, "https://x-my.sharepoint.com/:i:/g/x": true,
		"https://x.sharepoint.com/a.jpg?download=1": false, "https://photos.app.goo.gl/x": true, "https://lh3.googleusercontent.com/x": false, "https://www.icloud.com/x": true,
		"https://app.box.com/s/x": true, "https://app.box.com/shared/static/x.jpg": false, "https://notdrive.google.com.example/open": false, "https://mydropbox.com/x": false,
	} {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if gbp.SharePage(u) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}
