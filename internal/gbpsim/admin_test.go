package gbpsim_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// TestClientMirrorsSim goes through every admin call over HTTP and compares with the Go methods.
func TestClientMirrorsSim(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t, gbpsim.Options{}), t.Context()
	c := gbpsim.Client{BaseURL: b.base + "/"}
	b.created(0)
	b.created(1)
	b.listed(1, "")

	if d := cmp.Diff(b.sim.Journal(), must(c.Journal(ctx))); d != "" {
		t.Errorf("journal:\n%s", d)
	}
	f := gbpsim.EntryFilter{Route: createRoute, Location: gbpsim.LocationName(string(gbpsim.DemoGroup) + "/" + string(b.store[1])), Effects: true}
	got := must(c.Entries(ctx, f))
	if d := cmp.Diff(b.sim.Entries(f), got); d != "" || len(got) != 1 {
		t.Errorf("%d entries:\n%s", len(got), d)
	}
	if rest := must(c.Entries(ctx, gbpsim.EntryFilter{After: got[0].Seq})); len(rest) != 1 || rest[0].Route != gbpsim.RouteLocalPostsList {
		t.Errorf("after: %+v", rest)
	}
	if d := cmp.Diff(b.sim.Posts(""), must(c.Posts(ctx, ""))); d != "" {
		t.Errorf("posts:\n%s", d)
	}
	if n := len(must(c.Posts(ctx, b.store[0]))); n != 1 {
		t.Errorf("%d posts at the first store", n)
	}
	if d := cmp.Diff(b.sim.Stats(), must(c.Stats(ctx))); d != "" {
		t.Errorf("stats:\n%s", d)
	}
	if d := cmp.Diff(b.sim.World(), must(c.World(ctx))); d != "" {
		t.Errorf("world:\n%s", d)
	}

	if now := must(c.Advance(ctx, 90*time.Second)); !now.Equal(start.Add(90*time.Second)) || !b.sim.Now().Equal(now) {
		t.Errorf("clock %s and %s", now, b.sim.Now())
	}

	want := gbpsim.Knobs{EmptyPages: true, TimeScale: 2}
	if err := c.SetKnobs(ctx, want); err != nil {
		t.Fatal(err)
	}
	if err := c.SetKnobs(ctx, gbpsim.Knobs{VideoStatus: 418}); err == nil {
		t.Error("a wrong knob was taken")
	}
	if d := cmp.Diff(want, must(c.Knobs(ctx))); d != "" {
		t.Errorf("knobs:\n%s", d)
	}
	if status, _ := fetch(t, "POST", b.base+"/admin/knobs", `{"empty_pages":false}`); status != 200 || b.sim.Knobs().EmptyPages || b.sim.Knobs().TimeScale != 2 {
		t.Errorf("knobs after a partial change: %d %+v", status, b.sim.Knobs())
	}

	id := must(c.AddFault(ctx, gbpsim.Fault{
		Route: createRoute, Count: 1, Hold: gbpsim.HoldAfter, Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit,
		Details: []gbpsim.Detail{{"@type": json.RawMessage(`"x"`)}},
	}))
	if d := cmp.Diff(b.sim.Faults(), must(c.Faults(ctx))); d != "" {
		t.Errorf("faults:\n%s", d)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.try("POST", b.posts(2), plain)
		done <- err
	}()
	if err := c.AwaitHeld(ctx, id, 1); err != nil {
		t.Fatal(err)
	}
	if n := must(c.Release(ctx, id)); n != 1 {
		t.Errorf("released %d", n)
	}
	if err := <-done; err == nil {
		t.Error("the reset did not happen")
	}
	if err := c.RemoveFault(ctx, id); err != nil || len(b.sim.Faults()) != 0 {
		t.Errorf("%v, %d faults left", err, len(b.sim.Faults()))
	}
	if err := c.RemoveFault(ctx, id); err == nil || !strings.Contains(err.Error(), "no such fault") {
		t.Errorf("second removal: %v", err)
	}
	if err := c.RemoveFault(ctx, ""); err != nil {
		t.Error(err)
	}
	if _, err := c.AddFault(ctx, gbpsim.Fault{Status: 1}); err == nil {
		t.Error("a wrong fault was taken")
	}

	if err := c.Seed(ctx, gbpsim.World{Locations: []gbpsim.Location{{Name: b.store[0], Account: gbpsim.DemoGroup, Title: "改名店"}}}); err != nil {
		t.Fatal(err)
	}
	if l := must(c.World(ctx)).Locations; len(l) != 5 || l[0].Title != "改名店" || len(b.sim.Posts(b.store[0])) != 1 {
		t.Errorf("after the seed: %d locations, first %q", len(l), l[0].Title)
	}
	if err := c.Seed(ctx, gbpsim.World{Locations: []gbpsim.Location{{Name: "locations/1", Account: "accounts/0"}}}); err == nil || !strings.Contains(err.Error(), "accounts/0") {
		t.Errorf("a location of nobody: %v", err)
	}
	if err := c.ExpireAccessTokens(ctx); err != nil || b.create(0, plain).status != 401 {
		t.Errorf("expire: %v", err)
	}
	if err := c.Revoke(ctx, gbpsim.DemoEmail); err != nil || b.refresh(refreshForm(gbpsim.DemoRefreshToken)).status != 400 {
		t.Errorf("revoke: %v", err)
	}
	if err := c.Revoke(ctx, "nobody"); err == nil {
		t.Error("a grant of nobody was revoked")
	}
	if err := c.ClearJournal(ctx); err != nil || len(b.sim.Journal()) != 0 {
		t.Errorf("clear: %v", err)
	}
	b.fault(gbpsim.Fault{Answer: gbpsim.AnswerReset})
	if err := c.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if b.refresh(refreshForm(gbpsim.DemoRefreshToken)).status != 200 || len(b.sim.Posts("")) != 0 || len(b.sim.Faults()) != 0 || b.sim.Knobs().TimeScale != 0 ||
		b.sim.World().Locations[0].Title != "こもれび珈琲 渋谷店" || len(b.sim.Journal()) != 1 {
		t.Error("reset left something behind")
	}
}

func TestAwaitHeldEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	c := gbpsim.Client{BaseURL: b.base}
	id := b.fault(gbpsim.Fault{Hold: gbpsim.HoldBefore})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.AwaitHeld(ctx, id, 1); err == nil {
		t.Error("nothing is held")
	}
	if status, text := fetch(t, "GET", b.base+"/admin/hold/"+string(id)+"/wait?timeout_seconds=0", ""); status != http.StatusRequestTimeout {
		t.Errorf("%d %s", status, text)
	}
}

func TestAdminMistakes(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	for path, body := range map[string]string{
		"faults": `{"rout":"x"}`, "seed": `{"stores":[]}`, "clock": `{"advance_seconds":-1}`, "knobs": `{"time_scale":-1}`, "revoke": `{}{}`,
	} {
		if status, text := fetch(t, "POST", b.base+"/admin/"+path, body); status != 400 || !strings.Contains(text, `"error"`) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// Whoever looks what there is sees every knob; an address that the admin API does not have is a mistake like any other.
func TestAdminShowsWhatThereIs(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	var knobs map[string]any
	if _, body := fetch(t, "GET", b.base+"/admin/knobs", ""); json.Unmarshal([]byte(body), &knobs) != nil || len(knobs) != reflect.TypeFor[gbpsim.Knobs]().NumField() {
		t.Errorf("knobs: %s", body)
	}
	if status, body := fetch(t, "GET", b.base+"/admin/nothing", ""); status != 404 || body != `{"error":"there is no GET /admin/nothing here"}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
}

// What may be ordered is described: every knob, every member of a fault, every route.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[gbpsim.Knobs](), reflect.TypeFor[gbpsim.Fault]()} {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/simulator.md does not describe %s of %s", name, typ.Name())
			}
		}
	}
	for _, r := range gbpsim.Routes() {
		if !strings.Contains(string(page), "`"+string(r)+"`") {
			t.Errorf("docs/simulator.md does not name the route %s", r)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	b.create(0, `{"topicType":"STANDARD","summary":"<script>秋</script>"}`)
	status, page := fetch(t, "GET", b.base+"/", "")
	for _, want := range []string{"こもれび珈琲 渋谷店", "&lt;script&gt;秋", "5 stores"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if status != 200 || strings.Contains(page, "<script>") || len(b.sim.Journal()) != 1 {
		t.Errorf("%d, %d journal entries", status, len(b.sim.Journal()))
	}
}
