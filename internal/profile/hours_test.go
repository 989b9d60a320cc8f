package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHoursToGoogle: F060 hours past midnight, F061 whole days.
func TestHoursToGoogle(t *testing.T) {
	t.Parallel()
	one := func(from, open, to, closing string) string {
		return `{"periods":[{"openDay":"` + from + `","openTime":` + open + `,"closeDay":"` + to + `","closeTime":` + closing + `}]}`
	}
	for in, want := range map[string]string{
		`{"day":"friday","open":"18:00","close":"02:00"}`:    one("FRIDAY", `{"hours":18}`, "SATURDAY", `{"hours":2}`),
		`{"day":"sunday","open":"22:30","close":"00:15"}`:    one("SUNDAY", `{"hours":22,"minutes":30}`, "MONDAY", `{"minutes":15}`),
		`{"day":"monday","open":"00:00","close":"24:00"}`:    one("MONDAY", `{}`, "MONDAY", `{"hours":24}`),
		`{"day":"monday","open_24h":true}`:                   one("MONDAY", `{}`, "MONDAY", `{"hours":24}`),
		`{"day":"monday","open":"00:00","close":"00:00"}`:    one("MONDAY", `{}`, "MONDAY", `{"hours":24}`),
		`{"day":"monday","open":"17:00","close":"00:00"}`:    one("MONDAY", `{"hours":17}`, "MONDAY", `{"hours":24}`),
		`{"day":"monday","open":"17:00","close":"24:00"}`:    one("MONDAY", `{"hours":17}`, "MONDAY", `{"hours":24}`),
		`{"day":"monday","open":"00:00","close":"23:59"}`:    one("MONDAY", `{}`, "MONDAY", `{"hours":23,"minutes":59}`),
		`{"day":"saturday","open":"09:00","close":"09:00"}`:  one("SATURDAY", `{"hours":9}`, "SUNDAY", `{"hours":9}`),
		`{"day":"wednesday","open":"11:00","close":"14:30"}`: one("WEDNESDAY", `{"hours":11}`, "WEDNESDAY", `{"hours":14,"minutes":30}`),
	} {
		p, w := apply(t, Snapshot{}, `{"regular_hours":{"set":[`+in+`]}}`)
		same(t, in, p.Body, `{"regularHours":`+want+`}`)
		if d := cmp.Diff([]string{"regularHours"}, p.Mask); d != "" {
			t.Error(d)
		}
		wantCodes := []string(nil)
		if strings.Contains(in, "23:59") {
			wantCodes = []string{"CLOSES_BEFORE_MIDNIGHT"}
		}
		if strings.Contains(in, `"00:00","close":"00:00"`) || strings.Contains(in, `"09:00","close":"09:00"`) {
			wantCodes = []string{"OPENS_24_HOURS"}
		}
		if d := cmp.Diff(wantCodes, codes(w)); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
}

// TestOneDayKeepsTheWeek: F063.
func TestOneDayKeepsTheWeek(t *testing.T) {
	t.Parallel()
	p, _ := apply(t, full(t), `{"regular_hours":[{"day":"monday","open":"10:00","close":"16:00"}]}`)
	want := strings.Replace(weekJSON(), `{"openDay":"MONDAY","openTime":{"hours":9},"closeDay":"MONDAY","closeTime":{"hours":12}},{"openDay":"MONDAY","openTime":{"hours":13},"closeDay":"MONDAY","closeTime":{"hours":18}}`,
		`{"openDay":"MONDAY","openTime":{"hours":10},"closeDay":"MONDAY","closeTime":{"hours":16}}`, 1)
	same(t, "body", p.Body, `{"regularHours":`+want+`}`)
	if d := cmp.Diff([]string{"regular_hours"}, p.Fields()); d != "" {
		t.Error(d)
	}
	before, after := string(p.Changed[0].Before), string(p.Changed[0].After)
	if !strings.Contains(before, `{"day":"monday","open":"13:00","close":"18:00"}`) || !strings.Contains(before, `{"day":"sunday","closed":true}`) {
		t.Errorf("before is not the whole week: %s", before)
	}
	if strings.Contains(after, `"day":"monday","open":"13:00"`) || !strings.Contains(after, `{"day":"friday","open":"13:00","close":"18:00"}`) || !strings.Contains(after, `{"day":"sunday","closed":true}`) {
		t.Errorf("after: %s", after)
	}
}

func TestWeekOperations(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"set":[{"day":"monday","open":"10:00","close":"16:00"}]}`:                                                                 "monday 10:00-16:00",
		`{"remove":["monday","tuesday","wednesday","thursday","friday"]}`:                                                           "saturday 10:00-14:00",
		`[{"day":"saturday","closed":true},{"day":"monday","closed":true}]`:                                                         "tuesday 09:00-12:00 tuesday 13:00-18:00 wednesday 09:00-12:00 wednesday 13:00-18:00 thursday 09:00-12:00 thursday 13:00-18:00 friday 09:00-12:00 friday 13:00-18:00",
		`{"remove":["monday","tuesday","wednesday","thursday","friday"],"add":[{"day":"saturday","open":"15:00","close":"18:00"}]}`: "saturday 10:00-14:00 saturday 15:00-18:00",
		`{"remove":["tuesday","wednesday","thursday","friday","saturday"],"add":[{"day":"monday","open":"18:00","close":"21:00"}]}`: "monday 09:00-12:00 monday 13:00-18:00 monday 18:00-21:00",
	} {
		p, _ := apply(t, full(t), `{"regular_hours":`+in+`}`)
		after, err := FromGoogle(p.Body)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range ReadView(after).RegularHours {
			if !h.Closed {
				got = append(got, string(h.Day)+" "+h.Open+"-"+h.Close)
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s:\n got %s\nwant %s", in, g, want)
		}
	}
}

func TestHoursRefused(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`[{"day":"friday","open":"18:00","close":"26:00"}]`:                                {".regular_hours[0].close time"},
		`[{"day":"friday","open":"25:00","close":"02:00"}]`:                                {".regular_hours[0].open time"},
		`[{"day":"friday","open":"24:00","close":"02:00"}]`:                                {".regular_hours[0].open time"},
		`[{"day":"friday","open":"9:00","close":"18:00"}]`:                                 {".regular_hours[0].open time"},
		`[{"day":"friday","open":"09:60","close":"24:01"}]`:                                {".regular_hours[0].open time", ".regular_hours[0].close time"},
		`[{"day":"friday","open":"9am","close":"５:00"}]`:                                   {".regular_hours[0].open time", ".regular_hours[0].close time"},
		`[{"day":"friday","open":"09:00"}]`:                                                {".regular_hours[0].close required"},
		`[{"day":"friday","close":"09:00"}]`:                                               {".regular_hours[0].open required"},
		`[{"day":"friday"}]`:                                                               {".regular_hours[0].open required"},
		`[{"day":"friday","closed":true,"open":"09:00","close":"10:00"}]`:                  {".regular_hours[0].closed contradiction"},
		`[{"day":"friday","open_24h":true,"open":"09:00","close":"10:00"}]`:                {".regular_hours[0].open_24h contradiction"},
		`[{"day":"friday","open_24h":true,"closed":true}]`:                                 {".regular_hours[0].closed contradiction"},
		`[{"day":"friday","closed":true},{"day":"friday","open":"09:00","close":"10:00"}]`: {".regular_hours[1] contradiction"},
		`[{"day":"friday","open":"09:00","close":"10:00"},{"day":"friday","closed":true}]`: {".regular_hours[1] contradiction"},
		`[{"day":"Friday","open":"09:00","close":"10:00"}]`:                                {".regular_hours[0].day enum"},
		`[{"day":"","closed":true}]`:                                                       {".regular_hours[0].day enum"},
		`[]`:                                                                               {".regular_hours empty_list"},
		`{"set":[]}`:                                                                       {".regular_hours.set empty_list"},
		`{"remove":[]}`:                                                                    {".regular_hours.remove empty_list"},
		`{"remove":["mon"]}`:                                                               {".regular_hours.remove[0] enum"},
		`{"add":[{"day":"sunday","closed":true}]}`:                                         {".regular_hours.add[0].closed not_allowed"},
		`{"change":[{"day":"monday","closed":true}],"add":[{"day":"monday","open":"18:00","close":"20:00"}]}`:                 {".regular_hours.add[0] contradiction"},
		`{"add":[{"day":"monday","open":"11:00","close":"13:30"}]}`:                                                           {".regular_hours.add[0] overlap", ".regular_hours.add[0] overlap"},
		`{"add":[{"day":"monday","open":"09:00","close":"12:00"}]}`:                                                           {".regular_hours.add[0] duplicate"},
		`[{"day":"monday","open":"09:00","close":"12:00"},{"day":"monday","open":"11:00","close":"13:00"}]`:                   {".regular_hours[1] overlap"},
		`[{"day":"monday","open":"09:00","close":"12:00"},{"day":"monday","open":"09:00","close":"12:00"}]`:                   {".regular_hours[1] duplicate"},
		`[{"day":"friday","open":"20:00","close":"11:00"}]`:                                                                   {".regular_hours[0] overlap"},
		`[{"day":"sunday","open":"20:00","close":"09:30"}]`:                                                                   {".regular_hours[0] overlap"},
		`[{"day":"monday","open_24h":true},{"day":"monday","open":"09:00","close":"10:00"}]`:                                  {".regular_hours[1] overlap"},
		`{"set":[{"day":"sunday","open":"20:00","close":"03:00"},{"day":"monday","open":"02:00","close":"09:00"}]}`:           {".regular_hours.set[0] overlap"},
		`{"remove":["monday","tuesday","wednesday","thursday","friday","saturday"]}`:                                          {".regular_hours would_empty"},
		`{"set":[{"day":"monday","closed":true}]}`:                                                                            {".regular_hours would_empty"},
		`[{"day":"friday","open":"18:00","close":"26:00"},{"day":"x","closed":true},{"day":"monday","open":"1","close":"2"}]`: {".regular_hours[0].close time", ".regular_hours[1].day enum", ".regular_hours[2].open time", ".regular_hours[2].close time"},
	} {
		if d := cmp.Diff(want, refused(t, full(t), `{"regular_hours":`+in+`}`, context())); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
}

// TestUntouchedHoursSurvive: members that are not known here, and periods that Google writes in other ways.
func TestUntouchedHoursSurvive(t *testing.T) {
	t.Parallel()
	s := Snapshot{}.clone()
	s.set(fieldRegularHours, []byte(`{"note":"n","periods":[
		{"openDay":"TUESDAY","openTime":{"hours":9},"closeDay":"TUESDAY","closeTime":{"hours":18},"future":{"a":[1]}},
		{"openDay":"MONDAY","closeDay":"TUESDAY","openTime":{"hours":20},"closeTime":{}}]}`))
	p, _ := apply(t, s, `{"regular_hours":[{"day":"friday","open":"10:00","close":"11:00"},{"day":"tuesday","open":"09:00","close":"18:00"}]}`)
	same(t, "body", p.Body, `{"regularHours":{"note":"n","periods":[
		{"openDay":"MONDAY","closeDay":"TUESDAY","openTime":{"hours":20},"closeTime":{}},
		{"openDay":"TUESDAY","openTime":{"hours":9},"closeDay":"TUESDAY","closeTime":{"hours":18},"future":{"a":[1]}},
		{"openDay":"FRIDAY","openTime":{"hours":10},"closeDay":"FRIDAY","closeTime":{"hours":11}}]}}`)
	if w := ReadView(s).RegularHours; w[0] != (Hours{Day: "monday", Open: "20:00", Close: "24:00"}) {
		t.Errorf("%+v", w)
	}
	// A period over several days is cut at midnights, so that one of them can change.
	s.set(fieldRegularHours, []byte(`{"periods":[{"openDay":"FRIDAY","openTime":{"hours":12},"closeDay":"MONDAY","closeTime":{"hours":6}}]}`))
	p, _ = apply(t, s, `{"regular_hours":[{"day":"saturday","closed":true}]}`)
	same(t, "long period", p.Body, `{"regularHours":{"periods":[
		{"openDay":"MONDAY","openTime":{},"closeDay":"MONDAY","closeTime":{"hours":6}},
		{"openDay":"FRIDAY","openTime":{"hours":12},"closeDay":"FRIDAY","closeTime":{"hours":24}},
		{"openDay":"SUNDAY","openTime":{},"closeDay":"SUNDAY","closeTime":{"hours":24}}]}}`)
	// What Google holds is not judged, even where it overlaps.
	s.set(fieldRegularHours, []byte(`{"periods":[{"openDay":"FRIDAY","openTime":{"hours":1},"closeDay":"FRIDAY","closeTime":{"hours":6}},{"openDay":"FRIDAY","openTime":{"hours":2},"closeDay":"FRIDAY","closeTime":{"hours":5}}]}`))
	apply(t, s, `{"regular_hours":[{"day":"saturday","open":"01:00","close":"02:00"}]}`)
}

func TestUnreadableHours(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"periods":[{"openDay":"FUNDAY","openTime":{},"closeDay":"FRIDAY","closeTime":{}}]}`,
		`{"periods":[{"openDay":"FRIDAY","openTime":{"hours":9},"closeDay":"FRIDAY","closeTime":{"hours":8}}]}`,
		`{"periods":[{"openDay":"FRIDAY","openTime":{"hours":9,"seconds":30},"closeDay":"FRIDAY","closeTime":{"hours":10}}]}`,
		`{"periods":"x"}`, `[]`, `"x"`,
	} {
		s := Snapshot{}.clone()
		s.set(fieldRegularHours, []byte(raw))
		if v := ReadView(s); len(v.Unreadable) != 1 || v.Unreadable[0] != RegularHours {
			t.Errorf("%s: %+v", raw, v)
		}
		if d := cmp.Diff([]string{".regular_hours current_unreadable"}, refused(t, s, `{"regular_hours":[{"day":"friday","closed":true}]}`, context())); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
		apply(t, s, `{"regular_hours":{"set":[{"day":"friday","open":"09:00","close":"10:00"}]}}`)
		apply(t, s, `{"title":"新店名"}`)
	}
}
