package profile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// noon is a Monday in Tokyo; in UTC it is the same day.
var noon = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func context() Context {
	return Context{
		Location: gbp.Location{
			ID: 8801, Name: "locations/12345678901234567890", Timezone: "Asia/Tokyo", Verified: true,
			Profile: gbp.Profile{Title: "渋谷店", City: "渋谷区", PrimaryPhone: "03-1000-0000", WebsiteURL: "https://own.example/"},
		},
		At: "updates[0].changes", Now: noon, Locale: errs.English,
	}
}

// mon9 is F063's store: Monday to Friday 9-12 and 13-18, Saturday 10-14.
func weekJSON() string {
	var list []string
	add := func(day, from, to string) {
		list = append(list, `{"openDay":"`+day+`","openTime":{"hours":`+from+`},"closeDay":"`+day+`","closeTime":{"hours":`+to+`}}`)
	}
	for _, d := range []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"} {
		add(d, "9", "12")
		add(d, "13", "18")
	}
	add("SATURDAY", "10", "14")
	return `{"periods":[` + strings.Join(list, ",") + `]}`
}

const phonesJSON = `{"primaryPhone":"03-1000-0000","additionalPhones":["03-1000-0001","03-1000-0002"]}`

func full(t *testing.T) Snapshot {
	t.Helper()
	s, err := FromGoogle([]byte(`{"name":"locations/12345678901234567890","title":"渋谷店","storeCode":"S1","websiteUri":"https://own.example/",
		"phoneNumbers":` + phonesJSON + `,"regularHours":` + weekJSON() + `,"labels":["直営","テラス席"],
		"categories":{"primaryCategory":{"name":"categories/gcid:cafe","displayName":"カフェ"},"additionalCategories":[{"name":"categories/gcid:bakery","displayName":"パン屋"}]},
		"openInfo":{"status":"OPEN","canReopen":true,"openingDate":{"year":2020,"month":4}},"profile":{"description":"珈琲の店"},
		"specialHours":{"specialHourPeriods":[{"startDate":{"year":2026,"month":12,"day":25},"closed":true}]},
		"moreHours":[{"hoursTypeId":"DELIVERY","periods":[{"openDay":"MONDAY","openTime":{"hours":11},"closeDay":"MONDAY","closeTime":{"hours":20}},{"openDay":"TUESDAY","openTime":{"hours":11},"closeDay":"TUESDAY","closeTime":{"hours":20}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func changes(t *testing.T, raw string) Changes {
	t.Helper()
	var c Changes
	if err := strict([]byte(raw), &c); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return c.Normalise()
}

// apply expects no violation.
func apply(t *testing.T, s Snapshot, raw string) (Patch, []gbp.Warning) {
	t.Helper()
	p, v, w := Apply(s, changes(t, raw), context())
	if len(v) > 0 {
		t.Fatalf("%s: %+v", raw, v)
	}
	for _, f := range p.Mask { // F055: what is masked and absent is emptied at Google, so it must have been asked for
		body, _ := object(p.Body)
		if _, there := body[f]; !there && !strings.Contains(raw, "clear") && !strings.Contains(raw, "remove") {
			t.Errorf("%s: %s is masked without a value", raw, f)
		}
	}
	return p, w
}

// refused gives "path rule" of every violation.
func refused(t *testing.T, s Snapshot, raw string, in Context) []string {
	t.Helper()
	p, list, _ := Apply(s, changes(t, raw), in)
	if len(list) > 0 && (len(p.Mask) > 0 || p.Body != nil) {
		t.Errorf("%s: violations and a patch", raw)
	}
	var out []string
	for _, v := range list {
		if v.Message == "" || v.LocationID != 8801 {
			t.Errorf("%s: %+v", raw, v)
		}
		out = append(out, strings.TrimPrefix(v.Path, "updates[0].changes")+" "+v.Rule)
	}
	return out
}

func codes(list []gbp.Warning) []string {
	var out []string
	for _, w := range list {
		out = append(out, w.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// same compares JSON documents.
func same(t *testing.T, what string, got json.RawMessage, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v: %s", what, err, got)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatalf("%s: the wanted document: %v", what, err)
	}
	if x, y := string(encode(a)), string(encode(b)); x != y {
		t.Errorf("%s:\n got %s\nwant %s", what, x, y)
	}
}
