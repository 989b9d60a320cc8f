package gbpapi_test

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

var menu = gbp.MediaDraft{SourceURL: "https://b.example/メニュー.jpg?sig=a%2Bb&x=1", Category: gbp.CategoryMenu, Description: "秋の & <限定>"}.Item(gbp.Photo)

func (w *world) add(t *testing.T) (gbp.RemoteMedia, error) {
	t.Helper()
	return w.CreateMedia(t.Context(), w.mine, w.posts, menu.Encode())
}

func TestSimulatorMedia(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{EmptyPages: true})
	before, err := w.AllMedia(t.Context(), w.mine, w.posts, 5)
	if err != nil || len(before.Items) != 2 || before.Total != 2 || before.Unreadable != 0 || before.Truncated || before.Items[1].Category != gbp.CategoryExterior {
		t.Fatalf("the seed: %+v, %v", before, err)
	}
	m, err := w.add(t)
	if err != nil || m.Match(menu) != gbp.MediaIs || m.Description != menu.Description {
		t.Fatalf("got %+v, %v", m, err)
	}
	if e := w.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteMediaCreate}); len(e) != 1 || e[0].Body != string(menu.Encode()) || string(e[0].Media) != string(m.Name) {
		t.Errorf("journal %+v", e)
	}
	got, err := w.GetMedia(t.Context(), w.mine, m.Name)
	if err != nil || got.Version() != m.Version() {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := w.GetMedia(t.Context(), w.other, m.Name); errs.CodeOf(err) != errs.GBPNotFound {
		t.Errorf("a stranger: %v", err)
	}
	if err := w.DeleteMedia(t.Context(), w.other, m.Name); errs.CodeOf(err) != errs.GBPNotFound {
		t.Errorf("a stranger: %v", err)
	}
	if err := w.DeleteMedia(t.Context(), w.mine, m.Name); err != nil {
		t.Error(err)
	}
	if err := w.DeleteMedia(t.Context(), w.mine, m.Name); errs.CodeOf(err) != errs.GBPNotFound {
		t.Errorf("got %v", err)
	}
}

// TestSimulatorMediaReconciliation: after a lost answer exactly one new item matches; with a source, or without.
func TestSimulatorMediaReconciliation(t *testing.T) {
	t.Parallel()
	for _, hide := range []bool{false, true} {
		w := newWorld(t, gbpsim.Knobs{HideMediaSources: hide})
		if _, err := w.sim.AddFault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, HiddenSeconds: 60, HiddenIn: "list"}); err != nil {
			t.Fatal(err)
		}
		_, err := w.add(t)
		if e, ok := errors.AsType[*gbpapi.Error](err); !ok || e.Class != gbpapi.Ambiguous {
			t.Fatalf("got %v", err)
		}
		found := func() (is, perhaps int) {
			all, err := w.AllMedia(t.Context(), w.mine, w.posts, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range all.Items {
				switch m.Match(menu) {
				case gbp.MediaIs:
					is++
				case gbp.MediaMayBe:
					perhaps++
				case gbp.MediaDiffers:
				}
			}
			return is, perhaps
		}
		if is, perhaps := found(); is+perhaps != 0 {
			t.Errorf("visible at once: %d, %d", is, perhaps)
		}
		w.sim.Advance(time.Minute)
		is, perhaps := found()
		if want := map[bool][2]int{false: {1, 0}, true: {0, 1}}[hide]; [2]int{is, perhaps} != want {
			t.Errorf("hidden sources %v: %d certain, %d perhaps", hide, is, perhaps)
		}
	}
}

// TestSimulatorMediaRefusals: what Google says about media comes back with our codes and arguments.
func TestSimulatorMediaRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{MediaLimit: 1})
	with := func(change func(*gbp.MediaItem)) gbp.MediaItem {
		m := menu
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		item     gbp.MediaItem
		code     errs.Code
		argument string
	}{
		"unreachable": {with(func(m *gbp.MediaItem) { m.SourceURL = "https://photos.invalid/a.jpg?X-Amz-Signature=SECRETSIG" }), errs.GBPMediaRejected, "media.source_url"},
		"no source":   {with(func(m *gbp.MediaItem) { m.SourceURL = "" }), errs.GBPInvalidArgument, "media.source_url"},
		"no category": {with(func(m *gbp.MediaItem) { m.LocationAssociation.Category = "" }), errs.GBPInvalidArgument, "media.category"},
		"cover words": {with(func(m *gbp.MediaItem) { m.LocationAssociation.Category = gbp.CategoryCover }), errs.GBPInvalidArgument, "media.description"},
		"unknown ref": {with(func(m *gbp.MediaItem) { m.SourceURL, m.DataRef = "", &gbp.MediaDataRef{ResourceName: "x"} }), errs.GBPMediaRejected, "media.source_url"},
	} {
		_, err := w.CreateMedia(t.Context(), w.mine, w.posts, c.item.Encode())
		public := errs.From(err)
		if public.Code != c.code || public.Details.Google == nil || len(public.Details.Google.Fields) != 1 || public.Details.Google.Fields[0].Argument != c.argument {
			t.Errorf("%s: %v, %+v", name, err, public.Details.Google)
		}
	}
	if _, err := w.add(t); err != nil {
		t.Fatal(err)
	}
	if _, err := w.add(t); errs.CodeOf(err) != errs.GBPInvalidArgument {
		t.Errorf("too many: %v", err)
	}
	if n := len(w.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteMediaCreate, Effects: true})); n != 1 {
		t.Errorf("%d effects", n)
	}
}

// TestF037SimulatorUpload: bytes through all three calls; a lost answer at the last one is not repeated from the first.
func TestF037SimulatorUpload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 2000, 1500)), nil); err != nil {
		t.Fatal(err)
	}
	b.Write(make([]byte, 4_500_000)) // more than a JSON body may have
	item := gbp.MediaItem{MediaFormat: gbp.Photo, LocationAssociation: gbp.MediaAssociation{Category: gbp.CategoryLogo}}
	if _, err := w.sim.AddFault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Answer: gbpsim.AnswerError, Status: 429, Reason: "RATE_LIMIT_EXCEEDED", Count: 1}); err != nil {
		t.Fatal(err)
	}
	var progress gbpapi.Upload
	_, err := w.CreateMediaFromBytes(t.Context(), w.mine, w.posts, item, b.Bytes(), "image/jpeg", &progress)
	if e, ok := errors.AsType[*gbpapi.Error](err); !ok || e.Class != gbpapi.Throttled || !progress.Sent {
		t.Fatalf("got %v, %+v", err, progress)
	}
	m, err := w.CreateMediaFromBytes(t.Context(), w.mine, w.posts, item, b.Bytes(), "image/jpeg", &progress)
	if err != nil || m.Width != 2000 || m.Height != 1500 || m.SourceURL != "" || m.Category != gbp.CategoryLogo {
		t.Fatalf("got %+v, %v", m, err)
	}
	for route, want := range map[gbpsim.Route]int{gbpsim.RouteMediaStartUpload: 1, gbpsim.RouteMediaUpload: 1, gbpsim.RouteMediaCreate: 2} {
		if n := len(w.sim.Entries(gbpsim.EntryFilter{Route: route})); n != want {
			t.Errorf("%s: %d calls", route, n)
		}
	}
	if _, err := w.CreateMediaFromBytes(t.Context(), w.mine, w.posts, item, b.Bytes(), "image/jpeg", &progress); errs.CodeOf(err) != errs.GBPMediaRejected || progress != (gbpapi.Upload{}) {
		t.Errorf("used twice: %v, %+v", err, progress)
	}
}
