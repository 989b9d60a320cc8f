package profile

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// "change" is the plain list beside other operations: Monday changes, Saturday closes, the rest stays.
func TestChangeBesideRemove(t *testing.T) {
	p, _ := apply(t, full(t), `{"regular_hours":{"change":[{"day":"monday","open":"10:00","close":"16:00"}],"remove":["saturday"]}}`)
	q, _ := apply(t, full(t), `{"regular_hours":[{"day":"monday","open":"10:00","close":"16:00"},{"day":"saturday","closed":true}]}`)
	if string(p.Body) != string(q.Body) {
		t.Errorf("%s, %s", p.Body, q.Body)
	}
	for _, raw := range []string{`[{"day":"monday","closed":true}]`, `{"change":[{"day":"monday","closed":true}],"remove":["sunday"]}`, `{"set":[{"day":"monday","closed":true}]}`} {
		var c WeekChange
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(c); err != nil || string(b) != raw {
			t.Errorf("%s, %v", b, err)
		}
	}
}

// Fields that share an object of Google's are bound together, and only what is bound matters.
func TestVersions(t *testing.T) {
	s := full(t)
	if d := cmp.Diff([]string{OpenStatus, OpeningDate}, Masked([]string{fieldOpenInfo})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{{OpenStatus, OpeningDate}, {Title}}, EditedBy([]string{fieldOpenInfo, fieldTitle})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{{Attributes}}, EditedBy([]string{"attributes/has_wifi"})); d != "" {
		t.Error(d)
	}
	a := VersionsOf(s, Title, RegularHours)
	other := s.clone()
	other.set(fieldWebsite, encode("https://other.example/"))
	if b := VersionsOf(other, Title, RegularHours); b.String() != a.String() || a.String() == "" {
		t.Errorf("%s, %s", a, b)
	}
	other.set(fieldTitle, encode("別の店"))
	b := VersionsOf(other, Title, RegularHours)
	if d := cmp.Diff([]string{Title}, a.Other(b)); d != "" || ParseVersions(a.String()).String() != a.String() {
		t.Error(d)
	}
	if AttributeVersions(s, []string{"attributes/has_wifi"}).String() != "" {
		t.Error("attributes that are not known bind something")
	}
	s.Attributes = []byte(`[{"name":"attributes/has_wifi","valueType":"BOOL","values":[true]},{"name":"attributes/x","valueType":"BOOL","values":[true]}]`)
	v := AttributeVersions(s, []string{"attributes/has_wifi"})
	s.Attributes = []byte(`[{"name":"attributes/x","values":[false],"valueType":"BOOL"},{"name":"attributes/has_wifi","values":[true]}]`)
	if w := AttributeVersions(s, []string{"attributes/has_wifi"}); w.String() != v.String() {
		t.Errorf("another attribute's change shows: %s, %s", v, w)
	}
}

// What a store is after an edit: the answer's masked fields over what was read, and never emptied by an answer cut short.
func TestLaid(t *testing.T) {
	const before = `{"name":"locations/1","title":"A","labels":["x"],"websiteUri":"https://a.example/","storefrontAddress":{"locality":"L"},"metadata":{"placeId":"p"}}`
	for name, c := range map[string]struct {
		answer, body string
		mask         []string
		want         string
	}{
		"whole answer":     {`{"name":"locations/1","title":"B","labels":["y"],"metadata":{"hasPendingEdits":true}}`, `{"title":"b"}`, []string{"title"}, `{"labels":["x"],"metadata":{"hasPendingEdits":true},"name":"locations/1","storefrontAddress":{"locality":"L"},"title":"B","websiteUri":"https://a.example/"}`},
		"answer cut short": {`{"name":"locations/1"}`, `{"title":"b"}`, []string{"title"}, `{"labels":["x"],"metadata":{"placeId":"p"},"name":"locations/1","storefrontAddress":{"locality":"L"},"title":"b","websiteUri":"https://a.example/"}`},
		"cleared":          {`{"name":"locations/1"}`, `{}`, []string{"labels", "websiteUri"}, `{"metadata":{"placeId":"p"},"name":"locations/1","storefrontAddress":{"locality":"L"},"title":"A"}`},
	} {
		got, err := Laid([]byte(before), []byte(c.answer), []byte(c.body), c.mask)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, broken := range []string{"", "[]", "null"} {
		if got, err := Laid([]byte(broken), []byte(`{}`), []byte(`{}`), nil); err == nil {
			t.Errorf("%q gave %s", broken, got)
		}
	}
}

// Catalogues are no part of a profile; everything else stays, members of tomorrow included.
func TestKeptAndOnly(t *testing.T) {
	const raw = `{"categories":{"primaryCategory":{"name":"categories/gcid:cafe","displayName":"C","moreHoursTypes":[1],"serviceTypes":[2],"new":3},"additionalCategories":[{"name":"categories/gcid:bar","serviceTypes":[]}]},"title":"A"}`
	const want = `{"categories":{"additionalCategories":[{"name":"categories/gcid:bar"}],"primaryCategory":{"displayName":"C","name":"categories/gcid:cafe","new":3}},"title":"A"}`
	if got := string(Kept([]byte(raw))); got != want {
		t.Error(got)
	}
	if got := string(Only([]byte(raw), []string{"title", "labels"})); got != `{"title":"A"}` {
		t.Error(got)
	}
	if UnderReview([]byte(raw)) || !UnderReview([]byte(`{"metadata":{"hasPendingEdits":true}}`)) {
		t.Error("under review")
	}
}

// A patch as it is stored: what it would make of a store, and in what a store differs from it.
func TestStoredPatch(t *testing.T) {
	s := full(t)
	p, _ := apply(t, s, `{"title":"新しい店","phone_numbers":{"primary":"03-1000-0009"},"clear":["website_url"]}`)
	stored := Stored(p.Body, p.Mask)
	if d := cmp.Diff([]string{Title, Phones, WebsiteURL}, stored.Differs(s)); d != "" {
		t.Error(d)
	}
	after := stored.After(s)
	if d := stored.Differs(after); len(d) != 0 || Digest(after, Labels) != Digest(s, Labels) {
		t.Error(d)
	}
	s.Attributes = []byte(`[{"name":"attributes/wi_fi","valueType":"ENUM","values":["free_wi_fi"]},{"name":"attributes/has_delivery","valueType":"BOOL","values":[true]}]`)
	a, _ := apply(t, s, `{"attributes":{"change":[{"name":"has_takeout","bool":true}],"remove":["wi_fi"]}}`)
	stored = Stored(a.AttributeBody, a.AttributeMask)
	if d := cmp.Diff([]string{Attributes}, stored.Differs(s)); d != "" {
		t.Error(d)
	}
	after = stored.After(s)
	names := func(v View) (out []string) {
		for _, a := range v.Attributes {
			out = append(out, a.Name)
		}
		return out
	}
	if d := cmp.Diff([]string{"has_delivery", "has_takeout"}, names(ReadView(after))); d != "" || len(stored.Differs(after)) != 0 {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"has_delivery"}, names(ReadView(OnlyAttributes(after, []string{"attributes/has_delivery"})))); d != "" {
		t.Error(d)
	}
	unknown := s.clone()
	unknown.Attributes = nil
	if stored.After(unknown).Attributes != nil {
		t.Error("what was unknown is known")
	}
}

// Google's version as it is kept: the contested field asks for a decision, another one is only named.
func TestKeptGoogleVersion(t *testing.T) {
	in := context()
	in.Location.PendingGoogleEdit = true
	in.GoogleUpdate = GoogleUpdateOf(&gbp.GoogleVersion{Diff: []string{"phoneNumbers"}, Live: []byte(`{"phoneNumbers":{"primaryPhone":"03-7777-7777"}}`)})
	for change, contested := range map[string][]string{`{"title":"新"}`: nil, `{"phone_numbers":{"primary":"03-1000-0009"}}`: {Phones}} {
		p, v, w := Apply(full(t), changes(t, change), in)
		if len(v) > 0 || !slices.Equal(p.Contested, contested) || !slices.ContainsFunc(w, func(w gbp.Warning) bool { return w.Code == "PENDING_GOOGLE_EDIT" && w.Span == Phones }) {
			t.Errorf("%s: %+v %+v %+v", change, p.Contested, v, w)
		}
	}
	if GoogleUpdateOf(nil) != nil || GoogleUpdateOf(&gbp.GoogleVersion{Live: []byte("x")}) == nil {
		t.Error("an unreadable version is still one")
	}
	p := Inverse(full(t), "locations/1", []string{"title"}, nil).Describe(Snapshot{}, full(t))
	if w := p.Expect(in); !slices.ContainsFunc(w, func(w gbp.Warning) bool { return w.Code == "TITLE_CHANGE_MAY_REVERIFY" }) {
		t.Errorf("%+v", w)
	}
	if got := string(Words(p.Changed, true)); got != `{"title":"渋谷店"}` || string(Words(p.Changed, false)) != `{"title":null}` {
		t.Error(got)
	}
}
