package profile

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// google does what Google documents for a PATCH: masked fields are replaced, or emptied where the body lacks them.
func google(t testing.TB, s Snapshot, p Patch) Snapshot {
	t.Helper()
	out := s.clone()
	body, ok := object(p.Body)
	if !ok {
		t.Fatalf("body %s", p.Body)
	}
	for _, f := range p.Mask {
		delete(out.Fields, f)
		if v, there := body[f]; there {
			out.Fields[f] = v
		}
	}
	for f := range body {
		if !slices.Contains(p.Mask, f) {
			t.Errorf("%s is sent and not masked", f)
		}
	}
	if len(p.AttributeMask) > 0 {
		list, _ := readAttributes(s.Attributes)
		resource, _ := object(p.AttributeBody)
		sent, ok := readAttributes(resource["attributes"])
		if !ok {
			t.Fatalf("attributes %s", p.AttributeBody)
		}
		list = slices.DeleteFunc(list, func(a attribute) bool { return slices.Contains(p.AttributeMask, attributePrefix+a.Name) })
		var raws []json.RawMessage
		for _, a := range append(list, sent...) {
			raws = append(raws, a.raw)
		}
		out.Attributes = encode(filled(raws))
	}
	return out
}

// TestInverse: whatever a change did, the inverse of its masks brings the words back, what was absent included.
func TestInverse(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"title":"新","regular_hours":[{"day":"monday","open_24h":true}],"labels":{"remove":["直営","テラス席"]},"clear":["website_url","opening_date"]}`,
		`{"phone_numbers":{"primary":"03-1000-0009"},"categories":{"primary":"gcid:bar"},"open_status":"CLOSED_PERMANENTLY","description":"x","store_code":"S2"}`,
		`{"special_hours":{"set":[{"date":"2027-01-01","closed":true}]},"more_hours":{"remove":["DELIVERY"]}}`,
		`{"attributes":{"remove":["has_wifi"],"add":[{"name":"new","bool":true},{"name":"pay_cards","values":["jcb"]}]}}`,
	} {
		for what, before := range map[string]Snapshot{"full": withAttributes(t), "bare": {Fields: map[string]json.RawMessage{"title": encode("旧"), "websiteUri": encode("https://own.example/"), "regularHours": json.RawMessage(weekJSON()), "phoneNumbers": json.RawMessage(phonesJSON), "categories": json.RawMessage(`{"primaryCategory":{"name":"categories/gcid:cafe"}}`)}, Attributes: json.RawMessage(`[]`)}} {
			if what == "bare" && strings.Contains(in, "DELIVERY") {
				continue
			}
			p, _ := apply(t, before, in)
			done := google(t, before, p)
			if cmp.Diff(ReadView(before), ReadView(done)) == "" {
				t.Fatalf("%s: nothing was done", in)
			}
			back := Inverse(before, "locations/1", p.Mask, p.AttributeMask)
			restored := google(t, done, back)
			a, b := ReadView(before), ReadView(restored)
			for _, v := range []*View{&a, &b} {
				if v.Categories != nil {
					v.Categories.DisplayNames = nil
				}
			}
			if d := cmp.Diff(a, b); d != "" {
				t.Errorf("%s %s (-before +restored):\n%s", what, in, d)
			}
			if d := cmp.Diff(p.Fields(), back.Describe(done, before).Fields()); d != "" {
				t.Errorf("%s %s: described\n%s", what, in, d)
			}
		}
	}
	if p := Inverse(full(t), "locations/1", []string{"title", "metadata", "name"}, []string{"attributes/x"}); strings.Join(p.Mask, ",") != "title" || len(p.AttributeMask) > 0 {
		t.Errorf("%+v", p)
	}
}

// TestMirrorAgrees: our mirror and Google's own answer give the same words and digests.
func TestMirrorAgrees(t *testing.T) {
	t.Parallel()
	s := full(t)
	m := FromMirror(gbp.Profile{
		Title: "渋谷店", StoreCode: "S1", PrimaryPhone: "03-1000-0000", AdditionalPhones: []string{"03-1000-0001", "03-1000-0002"}, WebsiteURL: "https://own.example/",
		Description: "珈琲の店", Labels: []string{"直営", "テラス席"}, RegularHours: s.Fields["regularHours"], SpecialHours: s.Fields["specialHours"],
		MoreHours: s.Fields["moreHours"], Categories: s.Fields["categories"], OpenInfo: s.Fields["openInfo"],
	})
	if d := cmp.Diff(ReadView(s), ReadView(m)); d != "" {
		t.Errorf("(-google +mirror):\n%s", d)
	}
	if Digest(s) != Digest(m) || len(Digest(s)) != 32 {
		t.Errorf("%s %s", Digest(s), Digest(m))
	}
	p, _ := apply(t, s, `{"labels":["x"],"title":"新"}`)
	changed := google(t, s, p)
	if Digest(s, Title, Labels) == Digest(changed, Title, Labels) || Digest(s, Phones, RegularHours) != Digest(changed, RegularHours, Phones) {
		t.Error("a digest is of its fields and of no other, in whatever order")
	}
	if _, err := FromGoogle([]byte(`null`)); err == nil {
		t.Error("null is no location")
	}
	if _, err := FromGoogle([]byte(`[]`)); err == nil {
		t.Error("a list is no location")
	}
}

// TestViewIsAChange: what a view says can be sent back and changes nothing.
func TestViewIsAChange(t *testing.T) {
	t.Parallel()
	s := withAttributes(t)
	v := ReadView(s)
	v.Categories.DisplayNames = nil
	raw := encode(v)
	in := context()
	_, violations, _ := Apply(s, changes(t, string(raw)), in)
	if len(violations) != 1 || violations[0].Rule != "nothing_changes" {
		t.Errorf("%s: %+v", raw, violations)
	}
}

// randomHours makes entries out of a few bytes; many of them break rules.
func randomHours(b []byte) []Hours {
	var out []Hours
	for ; len(b) >= 4 && len(out) < 20; b = b[4:] {
		h := Hours{Day: dayNumber(int(b[0] % 7))}
		switch {
		case b[0] > 240:
			h.Open24h = true
		case b[0] > 230:
			h.Closed = true
		default:
			h.Open, h.Close = clockWord(int(b[1])%24*60+int(b[3]>>4)*4), clockWord((int(b[2])%25*60+int(b[3]&15)*4)%(dayMinutes+1))
		}
		out = append(out, h)
	}
	return out
}

// FuzzWeek: words to Google to words. What is accepted reads back as the same week, sends nothing when sent again, and a change
// of one day leaves the others.
func FuzzWeek(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		b := make([]byte, 4*r.IntN(8))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		set := WeekChange{Set: randomHours(b)}
		if len(set.Set) == 0 {
			return
		}
		p, violations, _ := Apply(Snapshot{}, Changes{RegularHours: &set}, context())
		if len(violations) > 0 {
			return
		}
		s, err := FromGoogle(p.Body)
		if err != nil {
			t.Fatal(err)
		}
		v := ReadView(s)
		if len(v.Unreadable) > 0 {
			t.Fatalf("what was sent cannot be read: %s", p.Body)
		}
		again := WeekChange{List: v.RegularHours}
		if _, violations, _ = Apply(s, Changes{RegularHours: &again}, context()); len(violations) != 1 || violations[0].Rule != "nothing_changes" {
			t.Fatalf("%s read back as %+v: %+v", p.Body, v.RegularHours, violations)
		}
		for _, h := range set.Set {
			h = canonical(h)
			if !h.Closed && !slices.Contains(v.RegularHours, h) {
				t.Fatalf("%+v was lost: %+v", h, v.RegularHours)
			}
		}
		one := WeekChange{Remove: []Day{"wednesday"}}
		q, violations, _ := Apply(s, Changes{RegularHours: &one}, context())
		if len(violations) > 0 {
			return
		}
		rest := ReadView(google(t, s, q)).RegularHours
		not := func(h Hours) bool { return h.Day == "wednesday" }
		if d := cmp.Diff(slices.DeleteFunc(slices.Clone(v.RegularHours), not), slices.DeleteFunc(slices.Clone(rest), not)); d != "" {
			t.Fatalf("wednesday took others along:\n%s", d)
		}
	})
}

// canonical is the spelling in which hours are read back.
func canonical(h Hours) Hours {
	if h.Close == "00:00" {
		h.Close = "24:00"
	}
	if h.Open == "00:00" && h.Close == "24:00" {
		return Hours{Day: h.Day, Open24h: true}
	}
	return h
}

// FuzzGoogle: whatever Google holds, reading it and changing another field does not fail, and reading twice agrees.
func FuzzGoogle(f *testing.F) {
	f.Add([]byte(`{"regularHours":` + weekJSON() + `,"specialHours":{"specialHourPeriods":[{"startDate":{"year":2026,"month":12,"day":31},"openTime":{"hours":18},"endDate":{"year":2027,"month":1,"day":1},"closeTime":{"hours":5}}]}}`))
	f.Add([]byte(`{"phoneNumbers":[],"categories":"x","openInfo":{"openingDate":{"year":-1}},"labels":{},"moreHours":[{}],"profile":[]}`))
	f.Add([]byte(`{"regularHours":{"periods":[{"openDay":"MONDAY","openTime":{"hours":24},"closeDay":"SUNDAY","closeTime":{"hours":24}}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := FromGoogle(b)
		if err != nil {
			return
		}
		v := ReadView(s)
		if Digest(s) != Digest(s.clone()) {
			t.Fatal("digests differ")
		}
		p, violations, _ := Apply(s, Changes{StoreCode: "NEW-1"}, context())
		if len(violations) == 0 && (len(p.Mask) != 1 || p.Mask[0] != "storeCode") {
			t.Fatalf("%+v", p)
		}
		if len(v.RegularHours) == 0 || slices.Contains(v.Unreadable, RegularHours) {
			return
		}
		again := WeekChange{Set: v.RegularHours}
		q, violations, _ := Apply(Snapshot{}, Changes{RegularHours: &again}, context())
		if len(violations) > 0 {
			return // what Google holds may overlap
		}
		if d := cmp.Diff(v.RegularHours, ReadView(google(t, Snapshot{}, q)).RegularHours); d != "" {
			t.Fatalf("words of %s do not read back:\n%s", b, d)
		}
	})
}
