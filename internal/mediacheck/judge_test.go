package mediacheck_test

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
)

// judged is a file and what becomes of it.
type judged struct {
	name     string
	content  []byte
	use      gbp.MediaUse
	rule     mediacheck.Rule // "" passes
	measured int64
	limit    int64
	kind     string // the type that the refusal names
}

func judge(t *testing.T, cases []judged) {
	t.Helper()
	n := newInternet(t)
	content := map[string][]byte{}
	for _, c := range cases {
		content["/"+c.name] = c.content
	}
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) { file("image/jpeg", content[r.URL.Path])(w, r) })
	check := n.checker()
	for _, c := range cases {
		if c.rule == "" {
			if got := passes(t, check, base+"/"+c.name, c.use); got.Bytes != int64(len(c.content)) {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		r := refusal(t, check, base+"/"+c.name, c.use)
		if r.Rule != c.rule || c.limit != 0 && (r.Measured != c.measured || r.Limit != c.limit) || c.kind != "" && r.Type != c.kind {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestPictureLimits (F033): measured size and limit, at the bounds and one beyond, for posts and the gallery; cover and
// profile pictures have no lower bound.
func TestPictureLimits(t *testing.T) {
	t.Parallel()
	judge(t, []judged{
		{"249x600.jpg", jpegOf(249, 600, 20_000), gbp.UsePost, mediacheck.RuleShortEdge, 249, 250, ""},
		{"600x249.jpg", jpegOf(600, 249, 20_000), gbp.UseGallery, mediacheck.RuleShortEdge, 249, 250, ""},
		{"400x300-9k.jpg", jpegOf(400, 300, 9*1024), gbp.UsePost, mediacheck.RuleTooSmall, 9 * 1024, 10_240, ""},
		{"5.1MB.jpg", jpegOf(1000, 1000, 5_100_000), gbp.UsePost, mediacheck.RuleTooLarge, 5_100_000, 5_000_000, ""},
		{"250x250-10240.jpg", jpegOf(250, 250, 10_240), gbp.UsePost, "", 0, 0, ""},
		{"250x250-10239.jpg", jpegOf(250, 250, 10_239), gbp.UsePost, mediacheck.RuleTooSmall, 10_239, 10_240, ""},
		{"5000000.jpg", jpegOf(1000, 1000, 5_000_000), gbp.UseGallery, "", 0, 0, ""},
		{"5000001.jpg", jpegOf(1000, 1000, 5_000_001), gbp.UseLogo, mediacheck.RuleTooLarge, 5_000_001, 5_000_000, ""},
		{"logo-249.jpg", jpegOf(249, 249, 20_000), gbp.UseLogo, mediacheck.RuleShortEdge, 249, 250, ""},
		{"cover-small.jpg", jpegOf(200, 100, 5000), gbp.UseCover, "", 0, 0, ""},
		{"cover-large.jpg", jpegOf(200, 100, 5_100_000), gbp.UseCover, mediacheck.RuleTooLarge, 5_100_000, 5_000_000, ""},
		{"good.png", pngOf(300, 300), gbp.UsePost, "", 0, 0, ""},
	})
}

// TestKinds (F031, F035): told apart by content while the host calls all of them image/jpeg.
func TestKinds(t *testing.T) {
	t.Parallel()
	pad := make([]byte, 20_000)
	mp4 := video("isom", 1280, 720, 5, 50_000, false)
	judge(t, []judged{
		{"a.webp", webp(1200, 900), gbp.UsePost, mediacheck.RuleFormat, 0, 0, "image/webp"},
		{"b.jpg", webp(1200, 900), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "image/webp"},
		{"a.heic", heic(), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "image/heic"},
		{"a.avif", append(box("ftyp", []byte("avif"), []byte{0, 0, 0, 0}, []byte("mif1avif")), pad...), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "image/avif"},
		{"a.gif", append([]byte("GIF89a"), pad...), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "image/gif"},
		{"a.bmp", append([]byte("BM\x36\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"), pad...), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "image/bmp"},
		{"a.tiff", append([]byte("II*\x00"), pad...), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "image/tiff"},
		{"a.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="900" height="900"></svg>`), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "image/svg+xml"},
		{"a.pdf", append([]byte("%PDF-1.7\n"), pad...), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "application/pdf"},
		{"a.txt", bytes.Repeat([]byte("words "), 3000), gbp.UseGallery, mediacheck.RuleNotMedia, 0, 0, ""},
		{"a.zip", append([]byte("PK\x03\x04"), pad...), gbp.UseGallery, mediacheck.RuleNotMedia, 0, 0, ""},
		{"one.byte", []byte{0xFF}, gbp.UseGallery, mediacheck.RuleNotMedia, 0, 0, ""},
		{"nothing", nil, gbp.UseGallery, mediacheck.RuleEmpty, 0, 0, ""},
		{"start.jpg", append([]byte{0xFF, 0xD8, 0xFF}, pad...), gbp.UseGallery, mediacheck.RuleBroken, 0, 0, "image/jpeg"},
		{"start.png", append([]byte("\x89PNG\r\n\x1a\n"), pad...), gbp.UseGallery, mediacheck.RuleBroken, 0, 0, "image/png"},
		{"a.webm", append([]byte("\x1A\x45\xDF\xA3\x9F\x42\x86\x81\x01\x42\xF7\x81\x01\x42\xF2\x81\x04\x42\xF3\x81\x08\x42\x82\x84webm"), pad...), gbp.UseGallery, mediacheck.RuleFormat, 0, 0, "video/webm"},
		{"post.mp4", mp4, gbp.UsePost, mediacheck.RuleVideo, 0, 0, "video/mp4"},
		{"post.mov", video("qt  ", 1280, 720, 5, 0, true), gbp.UsePost, mediacheck.RuleVideo, 0, 0, "video/quicktime"},
		{"cover.mp4", mp4, gbp.UseCover, mediacheck.RuleVideo, 0, 0, "video/mp4"},
		{"logo.mp4", mp4, gbp.UseLogo, mediacheck.RuleVideo, 0, 0, "video/mp4"},
		{"gallery.mp4", mp4, gbp.UseGallery, "", 0, 0, ""},
		{"gallery.mov", video("qt  ", 720, 1280, 30, 3<<20, true), gbp.UseGallery, "", 0, 0, ""},
		{"480p.mp4", video("isom", 854, 480, 5, 0, false), gbp.UseGallery, mediacheck.RuleShortEdge, 480, 720, ""},
		{"long.mp4", video("isom", 1280, 720, 30.5, 0, true), gbp.UseGallery, mediacheck.RuleTooLong, 31, 30, ""},
		{"short.mp4", video("isom", 1280, 720, 0.5, 0, true), gbp.UseGallery, mediacheck.RuleTooShort, 0, 1, ""},
		{"large.mp4", video("isom", 1280, 720, 5, 26_214_400, true), gbp.UseGallery, mediacheck.RuleTooLarge, 26_214_400 + int64(len(video("isom", 1280, 720, 5, 0, true))), 26_214_400, ""},
		{"nomoov.mp4", box("ftyp", []byte("isom"), []byte{0, 0, 0, 0}), gbp.UseGallery, mediacheck.RuleBroken, 0, 0, ""},
		{"hugemoov.mp4", append(box("ftyp", []byte("isom"), []byte{0, 0, 0, 0}), "\x7f\xff\xff\xffmoov"...), gbp.UseGallery, mediacheck.RuleBroken, 0, 0, ""},
		{"hugebox.mp4", append(box("ftyp", []byte("isom"), []byte{0, 0, 0, 0}), "\x00\x00\x00\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff"...), gbp.UseGallery, mediacheck.RuleBroken, 0, 0, ""},
	})
	n := newInternet(t)
	_, base := n.images(file("image/webp", webp(1200, 900)))
	if r := refusal(t, n.checker(), base+"/a.webp", gbp.UsePost); !strings.Contains(r.Text.EN, "WEBP") || !strings.Contains(r.Text.EN, "JPEG / PNG") || !strings.Contains(r.Text.JA, "JPEG / PNG") {
		t.Errorf("words: %+v", r.Text)
	}
}

// TestVideoFacts: dimensions of the picture track and length, with the description in front or behind.
func TestVideoFacts(t *testing.T) {
	t.Parallel()
	for _, last := range []bool{false, true} {
		n := newInternet(t)
		_, base := n.images(file("", video("isom", 1920, 1080, 12.5, 2<<20, last)))
		got := passes(t, n.checker(), base+"/a", gbp.UseGallery)
		if got.Format != gbp.Video || got.Width != 1920 || got.Height != 1080 || got.Seconds != 12.5 || got.MIME != "video/mp4" || len(got.SHA256) != 64 {
			t.Errorf("got %+v", got)
		}
	}
}

// TestSeveralFrames: animations and camera formats are refused; the maps that phones add are not, but said.
func TestSeveralFrames(t *testing.T) {
	t.Parallel()
	const primary, disparity, panorama, thumbnail = 0x030000, 0x020002, 0x020001, 0x010001
	text := chunk("tEXt", append([]byte("Comment\x00"), make([]byte, 5000)...))
	exif := segment(0xE1, append([]byte("Exif\x00\x00"), make([]byte, 60_000)...))
	judge(t, []judged{
		{"apng", apng(), gbp.UsePost, mediacheck.RuleAnimated, 0, 0, ""},
		{"apng-behind-text", apng(text, text), gbp.UsePost, mediacheck.RuleAnimated, 0, 0, ""},
		{"mpo", jpegWith(exif, mpf(binary.BigEndian, primary, disparity)), gbp.UsePost, mediacheck.RuleAnimated, 0, 0, ""},
		{"mpo-little", jpegWith(mpf(binary.LittleEndian, panorama, panorama)), gbp.UsePost, mediacheck.RuleAnimated, 0, 0, ""},
	})
	n := newInternet(t)
	several := map[string][]byte{
		"/map": jpegWith(exif, mpf(binary.BigEndian, primary, 0)), "/thumbnail": jpegWith(mpf(binary.LittleEndian, primary, thumbnail)),
		"/one": jpegWith(mpf(binary.BigEndian, primary)), "/none": goodJPEG, "/broken": jpegWith(segment(0xE2, []byte("MPF\x00MM\x00*\xff\xff\xff\xff"))), "/exif": jpegWith(exif, exif),
	}
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(several[r.URL.Path]) })
	for path := range several {
		got := passes(t, n.checker(), base+path, gbp.UsePost)
		if want := path == "/map" || path == "/thumbnail"; got.ExtraPictures != want {
			t.Errorf("%s: %v", path, got.ExtraPictures)
		}
	}
}

// TestCutOff: a picture whose upload broke off has its header and not its end. What stands behind the end is nobody's concern.
func TestCutOff(t *testing.T) {
	t.Parallel()
	photo, drawing := jpegOf(800, 600, 0), pngOf(400, 300)
	n := newInternet(t)
	content := map[string][]byte{
		"/whole.jpg": photo, "/padded.jpg": append(slices.Clone(photo), make([]byte, 100_000)...), "/whole.png": drawing,
		"/cut.jpg": photo[:len(photo)/2], "/end.jpg": photo[:len(photo)-1], "/cut.png": drawing[:len(drawing)/2], "/end.png": drawing[:len(drawing)-9],
	}
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(content[r.URL.Path]) })
	for path := range content {
		got := passes(t, n.checker(), base+path, gbp.UsePost)
		if want := strings.HasPrefix(path, "/cut") || strings.HasPrefix(path, "/end"); got.CutOff != want {
			t.Errorf("%s: %v", path, got.CutOff)
		}
	}
}

// TestBigNotes: a size that stands behind much metadata is found within the bound, and not searched for beyond it.
func TestBigNotes(t *testing.T) {
	t.Parallel()
	notes := func(n int) [][]byte {
		var out [][]byte
		for range n {
			out = append(out, segment(0xE1, make([]byte, 60_000)))
		}
		return out
	}
	judge(t, []judged{
		{"some.jpg", jpegWith(notes(10)...), gbp.UsePost, "", 0, 0, ""},
		{"many.jpg", jpegWith(notes(20)...), gbp.UsePost, mediacheck.RuleBroken, 0, 0, "image/jpeg"},
	})
}

// TestClaimedSizes (F036): a header may claim anything; only the header is read and little is allocated.
func TestClaimedSizes(t *testing.T) {
	gif := append([]byte("GIF89a\xff\xff\xff\xff\x80\x00\x00"), "\x00\x00\x00\xff\xff\xff\x2c\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x01"...)
	n := newInternet(t)
	for name, c := range map[string]judged{
		"png":       {content: pngClaiming(65535, 65535, 100_000), rule: mediacheck.RulePixels},
		"jpeg":      {content: jpegClaiming(64250, 64250, 5_000), rule: mediacheck.RulePixels},
		"gif":       {content: gif, rule: mediacheck.RuleFormat},
		"png limit": {content: pngClaiming(10_000, 10_001, 100_000), rule: mediacheck.RulePixels},
		"png 2^31":  {content: pngClaiming(1<<31-1, 1<<31-1, 100_000), rule: mediacheck.RuleBroken},
		"png zero":  {content: pngClaiming(0, 500, 100_000), rule: mediacheck.RuleBroken},
		"png full":  {content: pngClaiming(10_000, 10_000, 100_000)},
	} {
		_, base := n.images(file("", c.content))
		check := n.checker()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, verdict, err := check.Check(t.Context(), base+"/a", gbp.UseGallery)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
			t.Errorf("%s: %d bytes allocated", name, grown)
		}
		if c.rule == "" {
			if verdict != nil || err != nil {
				t.Errorf("%s: %v, %v", name, verdict, err)
			}
			continue
		}
		r := refusal(t, check, base+"/a", gbp.UseGallery)
		if r.Rule != c.rule {
			t.Errorf("%s: %+v", name, r)
		}
		if r.Rule == mediacheck.RulePixels && (r.Measured <= r.Limit || r.Limit != 100_000_000 || !strings.Contains(r.Text.EN, "mage too large")) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// FuzzJudge: whatever a file holds, it is judged without a panic, and what passes has what was promised.
func FuzzJudge(f *testing.F) {
	for _, seed := range [][]byte{
		goodJPEG, pngOf(300, 300), apng(), webp(10, 10), heic(), video("isom", 1280, 720, 5, 100, true), video("qt  ", 1280, 720, 5, 100, false),
		jpegWith(mpf(binary.BigEndian, 0x030000, 0x020002)), pngClaiming(65535, 65535, 200), nil,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		facts, r := mediacheck.Judge(content, gbp.UseGallery)
		if (r == nil) == (facts == mediacheck.Facts{}) {
			t.Errorf("facts %+v with refusal %v", facts, r)
		}
		if r == nil && (facts.Width < 250 || facts.Height < 250 || facts.Bytes > 26_214_400) {
			t.Errorf("passed: %+v", facts)
		}
	})
}
