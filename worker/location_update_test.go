package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
	"github.com/mappy-dev/mappy-mcp/worker"
)

var (
	_ worker.Editor   = worker.LocationUpdate{}
	_ worker.Follower = worker.LocationUpdate{}
)

// storeOf is a Google with one store.
type storeOf struct {
	location, answer, attributes string
	google                       gbpapi.GoogleVersion
	err                          error
	asked                        int
	untranslatable               bool
	sent                         []byte
	mask                         []string
}

func (g *storeOf) ReadLocation(_ context.Context, ref gbpapi.Ref, account gbp.AccountName, name gbp.LocationName) (gbpapi.RemoteLocation, error) {
	if g.err != nil {
		return gbpapi.RemoteLocation{}, g.err
	}
	return g.Translate(ref, account, name, []byte(g.location))
}

func (g *storeOf) Translate(_ gbpapi.Ref, account gbp.AccountName, name gbp.LocationName, raw []byte) (gbpapi.RemoteLocation, error) {
	var l struct{ Title, StoreCode string }
	if g.untranslatable || json.Unmarshal(raw, &l) != nil {
		return gbpapi.RemoteLocation{}, errors.New("no location")
	}
	p := gbp.Profile{Title: l.Title, StoreCode: l.StoreCode}
	return gbpapi.RemoteLocation{Raw: raw, Location: gbp.Location{Account: account, Name: name, Profile: p, Version: p.Version()}}, nil
}

func (g *storeOf) PatchLocation(_ context.Context, _ gbpapi.Ref, _ gbp.LocationName, body []byte, mask []string, validateOnly bool) (json.RawMessage, error) {
	g.sent, g.mask = body, mask
	if validateOnly {
		return nil, errors.New("a write that only validates")
	}
	return json.RawMessage(g.answer), g.err
}

func (g *storeOf) GetGoogleUpdated(context.Context, gbpapi.Ref, gbp.LocationName) (gbpapi.GoogleVersion, error) {
	g.asked++
	return g.google, g.err
}

func (g *storeOf) GetAttributes(context.Context, gbpapi.Ref, gbp.LocationName) (json.RawMessage, error) {
	return json.RawMessage(g.attributes), g.err
}

func (g *storeOf) UpdateAttributes(_ context.Context, _ gbpapi.Ref, _ gbp.LocationName, body []byte, mask []string) (json.RawMessage, error) {
	g.sent, g.mask = body, mask
	return json.RawMessage(g.answer), g.err
}

const (
	pendingYes = `,"metadata":{"hasPendingEdits":true}}`
	storeHead  = `{"name":"locations/2","storeCode":"S1","languageCode":"ja","title":`
)

// titleItem changes the title from "old" to "new".
func titleItem(tried bool, before string) batch.Item {
	was, err := profile.FromGoogle([]byte(storeHead + `"old"}`))
	if err != nil {
		panic(err)
	}
	return batch.Item{
		Kind: gbp.KindLocation, Account: "accounts/1", TargetName: "locations/2", Payload: []byte(`{"title":"new"}`), Mask: []string{"title"}, Tried: tried,
		Expected: profile.VersionsOf(was, profile.Title).String(), Before: []byte(before),
	}
}

// What a store's edit is found as, before the first attempt and after one, with and without a review by Google that hides it.
func TestLocationUpdateLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live, before   string
		tried          bool
		pending        []string
		done, expected bool
		asked          int
	}{
		"as it was":                               {storeHead + `"old"}`, ``, false, nil, false, true, 0},
		"another field changed":                   {`{"name":"locations/2","storeCode":"S9","title":"old"}`, ``, false, nil, false, true, 0},
		"somebody changed it":                     {storeHead + `"theirs"}`, ``, false, nil, false, false, 0},
		"it is there":                             {storeHead + `"new"}`, ``, false, nil, true, false, 0},
		"it is there after an attempt":            {storeHead + `"new"}`, storeHead + `"old"}`, true, nil, true, false, 0},
		"another field is reviewed":               {storeHead + `"new"` + pendingYes, ``, false, []string{"labels"}, true, false, 1},
		"reviewed, reads old":                     {storeHead + `"old"` + pendingYes, ``, false, []string{"title"}, false, true, 1},
		"reviewed, reads what we expect not":      {storeHead + `"older"` + pendingYes, ``, false, []string{"title"}, false, true, 1},
		"reviewed, reads as wanted":               {storeHead + `"new"` + pendingYes, ``, false, []string{"title"}, false, true, 1},
		"ours is reviewed":                        {storeHead + `"old"` + pendingYes, storeHead + `"old"}`, true, []string{"title"}, true, true, 1},
		"reviewed before and after":               {storeHead + `"old"` + pendingYes, storeHead + `"old"` + pendingYes, true, []string{"title"}, false, true, 1},
		"somebody's, after an attempt, no review": {storeHead + `"theirs"}`, storeHead + `"old"}`, true, nil, false, false, 0},
	} {
		g := &storeOf{location: c.live, google: gbpapi.GoogleVersion{Pending: c.pending, Raw: []byte(`{}`)}}
		i := titleItem(c.tried, c.before)
		s, err := worker.LocationUpdate{Google: g}.Look(t.Context(), "komorebi", i)
		if err != nil || s.Done != c.done || (s.Version == i.Expected) != c.expected || g.asked != c.asked {
			t.Errorf("%s: %v, done %v, version %q, asked %d", name, err, s.Done, s.Version, g.asked)
		}
		if s.Effect.Mirror == nil || s.Effect.Version != s.Effect.Mirror.Version || string(s.Before) != c.live {
			t.Errorf("%s: %+v", name, s.Effect)
		}
	}
	failed := errors.New("google")
	if _, err := (worker.LocationUpdate{Google: &storeOf{err: failed}}).Look(t.Context(), "komorebi", titleItem(false, "")); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

// The stored bytes go out; the mirror is what was read with the answer laid over it, and an answer cut short empties nothing.
func TestLocationUpdateSends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, title string
		pub           batch.Publication
	}{
		"whole":     {storeHead + `"New"}`, "New", batch.Accepted},
		"reviewed":  {storeHead + `"new"` + pendingYes, "new", batch.PendingReview},
		"cut short": {`{"name":"locations/2"}`, "new", batch.Accepted},
	} {
		g := &storeOf{answer: c.answer}
		e, err := worker.LocationUpdate{Google: g}.Send(t.Context(), "komorebi", titleItem(false, storeHead+`"old"}`))
		if err != nil || string(g.sent) != `{"title":"new"}` || e.Mirror == nil || e.Mirror.Profile.Title != c.title || e.Mirror.Profile.StoreCode != "S1" || e.Version != e.Mirror.Version || e.Publication != c.pub {
			t.Errorf("%s: %v %s %+v", name, err, g.sent, e)
		}
		if string(e.After) != `{"title":"`+c.title+`"}` || string(e.AuditAfter) != `{"title":"`+c.title+`"}` {
			t.Errorf("%s: %s, %s", name, e.After, e.AuditAfter)
		}
	}
	// The write happened, whatever cannot be made of its answer.
	for name, before := range map[string]string{"nothing read before": "", "unreadable": storeHead + `"old"}`} {
		g := &storeOf{answer: storeHead + `"new"}`, untranslatable: true}
		if e, err := (worker.LocationUpdate{Google: g}).Send(t.Context(), "komorebi", titleItem(false, before)); err != nil || e.Mirror != nil || e.Name != "locations/2" || e.Publication != batch.Accepted || string(e.After) != `{"title":"new"}` {
			t.Errorf("%s: %v %+v", name, err, e)
		}
	}
	long := titleItem(false, storeHead+`"old"}`)
	long.Payload = []byte(`{"title":"` + strings.Repeat("長", 200) + `"}`)
	e, err := worker.LocationUpdate{Google: &storeOf{answer: `{"name":"locations/2"}`}}.Send(t.Context(), "komorebi", long)
	if err != nil || len([]rune(string(e.AuditAfter))) > 250 || !strings.Contains(string(e.AuditAfter), "sha256") {
		t.Errorf("%v: the audit keeps %s", err, e.AuditAfter)
	}
}

// What became of an edit.
func TestLocationUpdateFollows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live      string
		pending   []string
		diff      []string
		pub       batch.Publication
		rejection string
	}{
		"shown":                      {`{"title":"new"}`, nil, nil, batch.Live, ""},
		"spelled in another way":     {`{"title":"New"}`, nil, nil, batch.Live, ""},
		"reviewed":                   {`{"title":"old"}`, []string{"title"}, nil, batch.PendingReview, ""},
		"another field is reviewed":  {`{"title":"new"}`, []string{"labels"}, []string{"websiteUri"}, batch.Live, ""},
		"google shows its own":       {`{"title":"google's"}`, nil, []string{"title"}, batch.Rejected, "GOOGLE_SHOWS_ITS_OWN_VERSION"},
		"back to what it was before": {`{"title":"old"}`, nil, nil, batch.Rejected, "REVERTED"},
	} {
		g := &storeOf{location: storeHead + `"old"}`, google: gbpapi.GoogleVersion{Raw: []byte(c.live), Pending: c.pending, Diff: c.diff}}
		e, err := worker.LocationUpdate{Google: g}.Follow(t.Context(), "komorebi", titleItem(true, storeHead+`"old"}`))
		if err != nil || e.Publication != c.pub || e.Rejection != c.rejection || (e.Mirror != nil) != (c.pub == batch.Rejected) {
			t.Errorf("%s: %v, %+v", name, err, e)
		}
	}
}

// Attributes are another resource; what was not known when the write was accepted binds nothing.
func TestLocationUpdateAttributes(t *testing.T) {
	t.Parallel()
	const on, off = `{"name":"locations/2/attributes","attributes":[{"name":"attributes/a","values":[true]},{"name":"attributes/b","values":[true]}]}`, `{"name":"locations/2/attributes","attributes":[{"name":"attributes/a","values":[false]}]}`
	item := batch.Item{Kind: gbp.KindLocation, TargetName: "locations/2", Mask: []string{"attributes/a"}, Payload: []byte(`{"attributes":[{"name":"attributes/a","values":[true]}]}`), Before: []byte(off)}
	known := item
	was, err := profile.Snapshot{}.WithAttributes([]byte(off))
	if err != nil {
		t.Fatal(err)
	}
	known.Expected = profile.AttributeVersions(was, item.Mask).String()
	for name, c := range map[string]struct {
		item batch.Item
		live string
		done bool
		same bool
	}{
		"unknown":        {item, off, false, true},
		"known, same":    {known, off, false, true},
		"known, gone":    {known, `{"attributes":[]}`, false, false},
		"there already":  {known, on, true, false},
		"unknown, there": {item, on, true, true},
	} {
		s, err := worker.LocationUpdate{Google: &storeOf{attributes: c.live}}.Look(t.Context(), "komorebi", c.item)
		if err != nil || s.Done != c.done || (s.Version == c.item.Expected) != c.same || s.Effect.Mirror != nil || s.Effect.Attributes == nil {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
	g := &storeOf{answer: on}
	e, err := worker.LocationUpdate{Google: g}.Send(t.Context(), "komorebi", item)
	if err != nil || string(g.sent) != string(item.Payload) || strings.Contains(string(e.After), "attributes/b") || !strings.Contains(string(e.Attributes), "attributes/b") {
		t.Errorf("%v, %+v", err, e)
	}
	for live, want := range map[string]batch.Publication{on: batch.Live, off: batch.Rejected, `{"attributes":[]}`: batch.Live} {
		if e, err := (worker.LocationUpdate{Google: &storeOf{attributes: live}}).Follow(t.Context(), "komorebi", item); err != nil || e.Publication != want {
			t.Errorf("%s: %v, %+v", live, err, e)
		}
	}
}
