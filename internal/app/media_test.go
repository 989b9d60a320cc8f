package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/pictures"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// openGallery is a desk whose media check works in a web of pictures.
func openGallery(t testing.TB, o stack.Options) (*desk, *pictures.Web) {
	t.Helper()
	web := pictures.Start(t)
	o.Media = web.Options()
	return openDesk(t, o), web
}

// photo puts a photo that every check takes.
func photo(web *pictures.Web, path string) string {
	return web.Put(path, "image/jpeg", pictures.JPEG(800, 600, 20_000, path[len(path)-5]))
}

func item(url, category string) map[string]any {
	return map[string]any{"source_url": url, "category": category}
}

func upload(ids []int64, media ...map[string]any) stack.Args {
	return stack.Args{"location_ids": ids, "media": media}
}

func (d *desk) previewOf(tool string, args stack.Args) *admission.Preview {
	d.t.Helper()
	return stack.Into[tools.Write](d.t, d.call(tool, args.With("dry_run", true))).Preview
}

// uploaded counts, per Google location, the items that the journal saw being added.
func (d *desk) uploaded() map[string]int {
	out := map[string]int{}
	for _, e := range d.sentBodies(gbpsim.RouteMediaCreate) {
		out[string(e.Location)]++
	}
	return out
}

// gallery are the media of a store that we know, as media.list gives them.
func (d *desk) gallery(more stack.Args) []tools.Media {
	d.t.Helper()
	var out []tools.Media
	for args := more; ; {
		p := stack.Into[tools.MediaPage](d.t, d.call("media.list", args))
		out = append(out, p.Media...)
		if p.NextPageToken == "" {
			return out
		}
		args = more.With("page_token", p.NextPageToken)
	}
}

// What is previewed is stored and sent byte for byte; the format is the file's, whatever its name; each file is fetched once.
func TestMediaUploadPreviewIsWhatIsSent(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 3})
	var media []map[string]any
	for _, l := range d.Locations {
		photo(web, "/"+l.Profile.StoreCode+".jpg")
	}
	media = append(media, item(web.URL("/{{location.store_code}}.jpg?w=1&h=<2>"), "INTERIOR"))
	media[0]["description"] = "  {{location.title}} & <席> "
	media = append(media, item(web.Put("/clip.jpg", "image/jpeg", pictures.MP4(1280, 720, 5, 300_000)), "ADDITIONAL"), item(photo(web, "/cover.jpg"), "COVER"))
	args := upload(d.IDs(3), media...).With("idempotency_key", "media-preview-1")
	p := d.previewOf("media.upload", args)
	if !p.WouldExecute || p.TargetCount != 9 || len(p.TargetLocations) != 3 || p.EstimatedGBPAPICalls != 9 || p.Confirmation.Reason != "irreversible" || !p.Reversible.Possible || !hasWarning(p.ValidationWarnings, "REPLACES_PHOTO") {
		t.Fatalf("%+v", p)
	}
	shown := map[string]int{}
	for _, g := range p.Changes {
		for _, id := range g.LocationIDs {
			shown[fmt.Sprint(id, " ", string(g.After))]++
		}
	}
	v := d.done("media.upload", args)
	if v.Status != batch.Done || v.TargetCount != 9 || v.Items[0].Target.Kind != "media" || v.Items[0].Target.ID == "" || v.Items[0].Version == "" {
		t.Fatalf("%+v", v)
	}
	sent := d.sentBodies(gbpsim.RouteMediaCreate)
	if len(sent) != 9 || len(shown) != 9 {
		t.Fatalf("%d sent, %d shown", len(sent), len(shown))
	}
	for _, e := range sent {
		at := slices.IndexFunc(d.Locations, func(l locationOf) bool { return string(l.Name) == string(e.Location) })
		l := d.Locations[at]
		if shown[fmt.Sprint(int64(l.ID), " ", e.Body)] != 1 {
			t.Errorf("sent and not shown: %s", e.Body)
		}
		if n := d.count(`SELECT count(*) FROM mappy.item WHERE location_id = $1 AND payload = convert_to($2, 'UTF8')`, int64(l.ID), e.Body); n != 1 {
			t.Errorf("sent and not stored: %s", e.Body)
		}
		if strings.Contains(e.Body, "clip") != strings.Contains(e.Body, `"VIDEO"`) || strings.Contains(e.Body, "INTERIOR") && !strings.Contains(e.Body, fmt.Sprintf(`"description":"%s & <席>"`, l.Profile.Title)) ||
			strings.Contains(e.Body, "INTERIOR") && !strings.Contains(e.Body, l.Profile.StoreCode+".jpg?w=1&h=<2>") {
			t.Errorf("%s", e.Body)
		}
	}
	// One GET per file, although it was previewed and sent.
	got := web.Requests()
	slices.Sort(got)
	if len(got) != 5 || len(slices.Compact(got)) != 5 || strings.Contains(strings.Join(got, ""), "HEAD") {
		t.Errorf("requests: %q", got)
	}
	// It shows: live, and listed with the batch that added it.
	d.until(v.BatchID, "a look that shows it", func(v tools.BatchView) bool {
		return !slices.ContainsFunc(v.Items, func(i tools.ItemView) bool { return i.Publication != batch.Live })
	})
	list := d.gallery(stack.Args{"location_ids": d.IDs(1), "category": "INTERIOR"})
	if len(list) != 2 || list[0].BatchID != string(v.BatchID) || list[0].Format != "PHOTO" || list[0].Size == nil || list[0].URL == "" || list[1].BatchID != "" {
		t.Errorf("%+v", list)
	}
	var all []tools.Media
	for args := (stack.Args{"page_size": 2}); ; {
		p := stack.Into[tools.MediaPage](t, d.call("media.list", args))
		if all = append(all, p.Media...); len(p.Media) > 2 || p.NextPageToken == "" {
			break
		}
		args = args.With("page_token", p.NextPageToken)
	}
	ids := map[string]bool{}
	for _, m := range all {
		ids[m.MediaID] = true
	}
	if len(all) != 3*5 || len(ids) != 15 {
		t.Errorf("%d items, %d of them different, in pages of two", len(all), len(ids))
	}
	d.countersMatch()
}

// Confirmation: by stores and not by items, and by the bytes of the files, each counted once. Where nobody looks, a warning says so.
func TestMediaUploadConfirmation(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 5, NoWorkers: true, Config: func(c *config.Config) { c.Media.CheckWithin = 25 * time.Second }})
	a, b := photo(web, "/a.jpg"), photo(web, "/b.jpg")
	video := func(name string, size int) string {
		return web.Put(name, "video/mp4", pictures.MP4(1920, 1080, 20, size))
	}
	half, half2, less := video("/half.mp4", 25_000_000), video("/half2.mp4", 25_000_000), video("/less.mp4", 24_999_999)
	for name, c := range map[string]struct {
		args   stack.Args
		reason string
		ask    []string
	}{
		"4 stores, 12 items":       {upload(d.IDs(4), item(a, "INTERIOR"), item(b, "INTERIOR"), item(a, "EXTERIOR")), "", nil},
		"5 stores":                 {upload(d.IDs(5), item(a, "INTERIOR"), item(b, "INTERIOR")), "target_count", []string{"40000 bytes × 5 store(s) = 200000 bytes", "10 photo(s)", "Environment: simulator"}},
		"49,999,999":               {upload(d.IDs(3), item(half, "ADDITIONAL"), item(less, "ADDITIONAL")), "", nil},
		"50,000,000":               {upload(d.IDs(3), item(half, "ADDITIONAL"), item(half2, "ADDITIONAL")), "media_bytes", []string{"50000000 bytes × 3 store(s) = 150000000 bytes"}},
		"the same one counts once": {upload(d.IDs(3), item(half, "ADDITIONAL"), item(half, "INTERIOR")), "", nil},
	} {
		p := d.previewOf("media.upload", c.args)
		if !p.WouldExecute || p.Confirmation.Reason != c.reason || p.Confirmation.Required != (c.reason != "") {
			t.Errorf("%s: %+v", name, p)
		}
		for _, w := range c.ask {
			if !strings.Contains(p.Confirmation.Question, w) {
				t.Errorf("%s: the question lacks %q: %s", name, w, p.Confirmation.Question)
			}
		}
		r := d.call("media.upload", c.args.With("idempotency_key", "confirm-"+strings.ReplaceAll(name, " ", "-")))
		if (r.ErrorCode == errs.ConfirmationRequired) != (c.reason != "") {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	blind := openDesk(t, stack.Options{Stores: 5, NoWorkers: true})
	for stores, reason := range map[int]string{1: "", 4: "", 5: "target_count"} {
		p := blind.previewOf("media.upload", upload(blind.IDs(stores), item("https://komorebi-coffee.example/a.jpg", "INTERIOR")))
		if p.Confirmation.Reason != reason || !hasWarning(p.ValidationWarnings, "MEDIA_NOT_CHECKED") || strings.Contains(p.Confirmation.Question, "not known") != (reason != "") {
			t.Errorf("%d stores: %+v", stores, p)
		}
	}
	// Nobody looked: the name decides about the format, and what Google never takes is refused all the same.
	for path, rule := range map[string]string{"a.mp4": "video", "a.jpg": ""} {
		p := blind.previewOf("media.upload", upload(blind.IDs(1), item("https://komorebi-coffee.example/"+path, "COVER")))
		if p.WouldExecute != (rule == "") || rule != "" && p.ValidationErrors[0].Rule != rule {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// What is refused, with path and rule, before anything is fetched or written.
func TestMediaUploadRefusals(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 12, NoWorkers: true})
	other := d.AddUser("other", "jiro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	d.Sync("other")
	foreign := int64(d.count(`SELECT min(location_id) FROM mappy.location WHERE tenant_id = 'other'`))
	good := web.URL("/never.jpg")
	covered := item(good, "COVER")
	covered["description"] = "x"
	many := func(n int) (out []map[string]any) {
		for i := range n {
			out = append(out, item(fmt.Sprintf("%s?%d", good, i), "MENU"))
		}
		return out
	}
	for name, c := range map[string]struct {
		args stack.Args
		code errs.Code
		want string // the first violation, or a part of the text
	}{
		"foreign store":         {upload([]int64{d.IDs(1)[0], foreign}, item(good, "MENU")), errs.LocationNotFound, fmt.Sprint(foreign)},
		"no such store":         {upload([]int64{999_999}, item(good, "MENU")), errs.LocationNotFound, "999999"},
		"no stores":             {upload([]int64{}, item(good, "MENU")), errs.InvalidArgument, "location_ids min_items"},
		"no media":              {upload(d.IDs(1)), errs.InvalidArgument, "media required"},
		"no category":           {upload(d.IDs(1), map[string]any{"source_url": good}), errs.InvalidArgument, "media[0].category required"},
		"no address":            {upload(d.IDs(1), map[string]any{"category": "MENU"}), errs.InvalidArgument, "media[0].source_url required"},
		"no such category":      {upload(d.IDs(1), item(good, "FRONT")), errs.InvalidArgument, "media[0].category enum"},
		"described cover":       {upload(d.IDs(1), covered), errs.InvalidArgument, "media[0].description cover_description"},
		"F025 list of words":    {stack.Args{"location_ids": d.IDs(1), "media": []string{good}}, errs.InvalidArgument, "media[0] type"},
		"F025 word":             {stack.Args{"location_ids": d.IDs(1), "media": good}, errs.InvalidArgument, "media type"},
		"F025 one object":       {stack.Args{"location_ids": d.IDs(1), "media": item(good, "MENU")}, errs.InvalidArgument, "media type"},
		"F025 wrong key":        {upload(d.IDs(1), map[string]any{"sourceURL": good, "category": "MENU"}), errs.InvalidArgument, "media[0].sourceURL unknown"},
		"twice":                 {upload(d.IDs(1), item(good, "MENU"), item(good, "MENU")), errs.InvalidArgument, "media[0].source_url not_found"},
		"http":                  {upload(d.IDs(1), item("http://img.example.com/a.jpg", "MENU")), errs.InvalidArgument, "media[0].source_url https"},
		"unknown variable":      {upload(d.IDs(1), item(good+"?{{location.name}}", "MENU")), errs.InvalidArgument, "media[0].source_url unknown_variable"},
		"unclosed variable":     {upload(d.IDs(1), item(good+"?{{location.title", "MENU")), errs.InvalidArgument, "media[0].source_url format"},
		"101 items":             {upload(d.IDs(1), many(101)...), errs.TooManyTargets, "100"},
		"11 stores × 10 items":  {upload(d.IDs(11), many(10)...), errs.TooManyTargets, "11 stores × 10 items = 110"},
		"page token in earnest": {upload(d.IDs(1), item(good, "MENU")).With("page_token", "x"), errs.InvalidArgument, "page_token not_allowed"},
	} {
		live := d.call("media.upload", c.args)
		d.mustRefuse(live, c.code)
		if got := rules(live); !strings.Contains(live.Text, c.want) && (len(got) == 0 || got[0] != c.want) {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, live.Text)
		}
	}
	if a := d.callAs(other, "media.upload", upload(d.IDs(1), item(good, "MENU"))); a.ErrorCode != errs.LocationNotFound {
		t.Errorf("another tenant's store: %s", a.Text)
	}
	// Two of one address and category, told as such once the file is good, and two photos that replace each other.
	fine := photo(web, "/fine1.jpg")
	p := d.previewOf("media.upload", upload(d.IDs(2), item(fine, "MENU"), item(fine+"#top", "MENU"), item(fine, "COVER"), item(photo(web, "/fine2.jpg"), "COVER"), item(fine, "EXTERIOR")))
	var got []string
	for _, v := range p.ValidationErrors {
		got = append(got, fmt.Sprint(v.Path, " ", v.Rule, " ", v.LocationID))
	}
	ids := d.IDs(2)
	want := []string{fmt.Sprint("media[1].source_url twice ", ids[0]), fmt.Sprint("media[3].category one_per_store ", ids[0]), fmt.Sprint("media[1].source_url twice ", ids[1]), fmt.Sprint("media[3].category one_per_store ", ids[1])}
	if !slices.Equal(got, want) || p.WouldExecute {
		t.Errorf("got %q", got)
	}
	// Exactly 100 are taken.
	var ten []map[string]any
	for i := range 10 {
		ten = append(ten, item(fmt.Sprintf("%s?%d", fine, i), "MENU"))
	}
	if p := d.previewOf("media.upload", upload(d.IDs(10), ten...)); !p.WouldExecute || p.TargetCount != 100 {
		t.Errorf("%+v", p)
	}
	if n := d.batches(); n != 0 {
		t.Errorf("%d batches came of it", n)
	}
}

// Trouble at Google: one store fails for good, one answers late, one loses its answer; each store gets its file once. Replay,
// conflict, retry.
func TestMediaUploadTrouble(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 4})
	at := func(i int) gbpsim.LocationName { return gbpsim.LocationName(d.Locations[i].Name) }
	d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Location: at(0), Answer: gbpsim.AnswerError, Status: 403})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Location: at(1), Answer: gbpsim.AnswerError, Status: 429, Count: 4})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Location: at(2), Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Location: at(3), Effect: gbpsim.EffectNone, Answer: gbpsim.AnswerReset, Count: 1})
	args := upload(d.IDs(4), item(photo(web, "/a.jpg"), "EXTERIOR")).With("idempotency_key", "trouble-1")
	v := d.done("media.upload", args)
	if v.Status != batch.Partial || v.SuccessCount != 2 || v.Items[0].ErrorCode != errs.GBPPermissionDenied || v.Items[0].Executed != errs.ExecutedNo || v.Items[1].ErrorCode != errs.GBPRateLimited || !v.Items[1].RetryPossible {
		t.Fatalf("%+v", v)
	}
	if got := d.uploaded(); len(got) != 2 || got[string(at(2))] != 1 || got[string(at(3))] != 1 {
		t.Fatalf("%v", got)
	}
	replay := d.accepted("media.upload", args)
	if replay.BatchID != v.BatchID || replay.Idempotency.Outcome != admission.Replayed {
		t.Errorf("%+v", replay)
	}
	conflict := d.call("media.upload", upload(d.IDs(4), item(photo(web, "/b.jpg"), "EXTERIOR")).With("idempotency_key", "trouble-1"))
	d.mustRefuse(conflict, errs.IdempotencyConflict)
	// The same again under a new key is a warning.
	if p := d.previewOf("media.upload", upload(d.IDs(4)[2:3], item(web.URL("/a.jpg"), "EXTERIOR")).With("idempotency_key", "trouble-2")); !hasWarning(p.ValidationWarnings, "DUPLICATE_CONTENT") || hasWarning(p.ValidationWarnings, "RECENT_POST_DETECTED") {
		t.Errorf("%+v", p.ValidationWarnings)
	}
	r := d.done("batch.retry", stack.Args{"batch_id": v.BatchID})
	if r.Status != batch.Done || r.TargetCount != 1 || r.Items[0].Operation != "media.upload" || d.uploaded()[string(at(1))] != 1 {
		t.Errorf("%+v", r)
	}
	d.countersMatch()
}

// A retry looks at the file again: what is gone meanwhile is not sent.
func TestMediaRetryOfALostFile(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 1})
	d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Answer: gbpsim.AnswerError, Status: 429, Count: 4})
	v := d.done("media.upload", upload(d.IDs(1), item(photo(web, "/a.jpg"), "EXTERIOR")))
	if v.Status != batch.Failed {
		t.Fatalf("%+v", v)
	}
	web.Handle("/a.jpg", http.NotFoundHandler())
	again := d.replicaIn(web)
	a := d.on(context.Background(), again, d.principal(d.Token), "batch.retry", marshal(t, stack.Args{"batch_id": v.BatchID}))
	d.mustRefuse(a, errs.InvalidArgument)
	p := d.on(context.Background(), again, d.principal(d.Token), "batch.retry", marshal(t, stack.Args{"batch_id": v.BatchID, "dry_run": true}))
	if w := stack.Into[tools.Write](t, p); w.Preview.WouldExecute || !strings.Contains(p.Text, "cannot be used") || !strings.Contains(p.Text, "404") {
		t.Errorf("%s", p.Text)
	}
}

// Google is not known to give addresses back. Where it does not, one item of the kind and time is taken for ours; of two that
// could be meant none is, and nothing is sent twice.
func TestMediaUploadWithoutAddresses(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 2, Sim: func(o *gbpsim.Options) { o.Knobs.HideMediaSources = true }, Config: func(c *config.Config) { c.Worker.GiveUp = 2 * time.Second }})
	at := func(i int) gbpsim.LocationName { return gbpsim.LocationName(d.Locations[i].Name) }
	lose := func(i, count int) {
		d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaCreate, Location: at(i), Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: count})
	}
	a, b := photo(web, "/a.jpg"), photo(web, "/b.jpg")
	lose(0, 1)
	v := d.done("media.upload", upload(d.IDs(1), item(a, "MENU")))
	if v.Status != batch.Done || d.uploaded()[string(at(0))] != 1 {
		t.Fatalf("%+v", v)
	}
	lose(1, 2)
	v = d.done("media.upload", upload(d.IDs(2)[1:], item(a, "MENU"), item(b, "MENU")))
	if v.UnknownCount != 2 || d.uploaded()[string(at(1))] != 2 || v.Failures[0].ErrorCode != errs.GBPOutcomeUnknown {
		t.Fatalf("%+v, %v", v, d.uploaded())
	}
	d.countersMatch()
}

// A queued upload can be cancelled; nothing of it reaches Google.
func TestMediaUploadCancelled(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 2, NoWorkers: true})
	b := d.accepted("media.upload", upload(d.IDs(2), item(photo(web, "/a.jpg"), "TEAMS")))
	if a := d.call("batch.cancel", stack.Args{"batch_id": b.BatchID}); a.IsError {
		t.Fatal(a.Text)
	}
	d.Work()
	if v := d.Finish(string(b.BatchID)); v.Status != batch.Cancelled || v.CancelledCount != 2 || len(d.uploaded()) != 0 {
		t.Errorf("%+v", v)
	}
}

// Google shows a new item late: not being found says nothing for two days, and then that it is gone.
func TestMediaFollowIsPatient(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 1, Sim: func(o *gbpsim.Options) { o.Knobs.MediaLagSeconds = 1e6 }, Config: func(c *config.Config) { c.Worker.Follow = 20 * time.Millisecond }})
	v := d.done("media.upload", upload(d.IDs(1), item(photo(web, "/a.jpg"), "TEAMS")))
	d.await(func() bool { return d.count(`SELECT follows FROM mappy.item`) > 5 }, "more looks than an attempt has")
	if got := d.until(v.BatchID, "nothing", func(tools.BatchView) bool { return true }); got.Items[0].Publication != batch.Accepted || got.Status != batch.Done {
		t.Fatalf("%+v", got)
	}
	d.exec(`UPDATE mappy.item SET finished_at = finished_at - interval '49 hours', follow_at = now()`)
	got := d.until(v.BatchID, "the end of patience", func(v tools.BatchView) bool { return v.Items[0].Publication == batch.Deleted })
	if got.Status != batch.Done || d.count(`SELECT count(*) FROM mappy.resource WHERE deleted_at IS NOT NULL`) != 1 {
		t.Errorf("%+v", got)
	}
	d.mustRefuse(d.call("batch.undo", stack.Args{"batch_id": v.BatchID}), errs.NothingToUndo)
}

// A photo that was swapped after the person saw the preview is not what was agreed to.
func TestMediaSwappedAfterThePreview(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 5, NoWorkers: true})
	address := photo(web, "/a.jpg")
	post := stack.Args{"location_ids": d.IDs(5), "post": map[string]any{"summary": "x", "media": []any{map[string]any{"source_url": address}}}}
	for tool, args := range map[string]stack.Args{"media.upload": upload(d.IDs(5), item(address, "EXTERIOR")), "post.create": post} {
		photo(web, "/a.jpg")
		p := d.previewOf(tool, args)
		confirmed := args.With("confirm_token", p.Confirmation.ConfirmToken)
		web.Put("/a.jpg", "image/jpeg", pictures.JPEG(800, 600, 20_000, 'z'))
		// Another server has not seen the file before.
		a := d.on(context.Background(), d.replicaIn(web), d.principal(d.Token), tool, marshal(t, confirmed))
		d.mustRefuse(a, errs.VersionConflict)
		if c := a.Details.Changed; len(c) != 5 || !slices.Equal(c[0].Fields, []string{"media"}) {
			t.Errorf("%s: %+v", tool, c)
		}
	}
	if n := d.batches(); n != 0 {
		t.Errorf("%d batches", n)
	}
}

// replicaIn is a second server in the same web.
func (d *desk) replicaIn(web *pictures.Web) *tools.Set {
	d.t.Helper()
	a, err := app.New(context.Background(), d.Config, slog.New(slog.DiscardHandler), app.WithMediaCheck(*web.Options()))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(a.Close)
	return a.Tools
}

// The check has a bound of its own: a slow host does not use up the time of the other steps, a hung one ends the call in time,
// and nothing comes of it. The client is told what it waits for.
func TestMediaCheckBound(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 2, NoWorkers: true, Config: func(c *config.Config) { c.Media.CheckWithin = 5 * time.Second }})
	picture := pictures.JPEG(800, 600, 20_000, 1)
	slow := web.Handle("/slow.jpg", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(admission.Deadline + 300*time.Millisecond):
			_, _ = w.Write(picture)
		case <-r.Context().Done():
		}
	}))
	began := time.Now()
	if p := d.previewOf("media.upload", upload(d.IDs(2), item(slow, "EXTERIOR"))); !p.WouldExecute || time.Since(began) < admission.Deadline {
		t.Fatalf("after %s: %+v", time.Since(began), p)
	}
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	hang := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/drip") { // a body that never ends
			_, _ = w.Write(picture[:5000])
			w.(http.Flusher).Flush()
		}
		select {
		case <-gone:
		case <-r.Context().Done():
		}
	}
	var media []map[string]any
	for i := range 20 { // more than are fetched at once
		path := fmt.Sprintf("/hang%d.jpg", i)
		if i%2 == 1 {
			path = fmt.Sprintf("/drip%d.jpg", i)
		}
		media = append(media, item(web.Handle(path, http.HandlerFunc(hang)), "EXTERIOR"))
	}
	told := 0
	began = time.Now()
	r := d.App.Tools.Call(t.Context(), "media.upload", &tools.Call{Principal: d.principal(d.Token), RequestID: "r", Arguments: marshal(t, upload(d.IDs(1), media...)), Progress: func(done, total int, _ string) {
		if done == 0 && total == 20 {
			told++
		}
	}})
	took := time.Since(began)
	var a stack.Answer
	if err := json.Unmarshal(r.Structured, &a); err != nil {
		t.Fatal(err)
	}
	d.mustRefuse(a, errs.InvalidArgument)
	if took > 7*time.Second || told != 1 || len(a.Details.Violations) != 20 {
		t.Errorf("after %s, told %d times: %s", took, told, r.Text)
	}
	for _, v := range a.Details.Violations {
		if v.Rule != "unreachable" && v.Rule != "too_slow" && v.Rule != "not_checked" || v.Message == "" {
			t.Errorf("%+v", v)
		}
	}
	if n := d.batches(); n != 0 {
		t.Errorf("%d batches", n)
	}
	// Whoever only makes us fetch is stopped by the budget of previews, of which two are spent.
	d.exec(`UPDATE mappy.tenant SET policy = policy || '{"preview_per_minute": 3}', policy_version = policy_version + 1`)
	for i, want := range []errs.Code{errs.InvalidArgument, errs.RateLimited} {
		if a := d.call("media.upload", upload(d.IDs(1), item(web.URL(fmt.Sprintf("/none%d.jpg", i)), "EXTERIOR"))); a.ErrorCode != want {
			t.Errorf("call %d: %s", i, a.Text)
		}
	}
}
