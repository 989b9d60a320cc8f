package profile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSpecialHours: F064.
func TestSpecialHours(t *testing.T) {
	t.Parallel()
	day := func(y, m, d int) string {
		return fmt.Sprintf(`{"startDate":{"year":%d,"month":%d,"day":%d},"closed":true}`, y, m, d)
	}
	christmas := day(2026, 12, 25)
	for in, want := range map[string]string{
		`[{"from":"2026-12-29","to":"2027-01-03","closed":true}]`: strings.Join([]string{christmas, day(2026, 12, 29), day(2026, 12, 30), day(2026, 12, 31), day(2027, 1, 1), day(2027, 1, 2), day(2027, 1, 3)}, ","),
		`[{"date":"2026-12-31","open":"11:00","close":"14:30"},{"date":"2026-12-31","open":"17:00","close":"22:00"}]`: christmas +
			`,{"startDate":{"year":2026,"month":12,"day":31},"openTime":{"hours":11},"closeTime":{"hours":14,"minutes":30}},{"startDate":{"year":2026,"month":12,"day":31},"openTime":{"hours":17},"closeTime":{"hours":22}}`,
		`[{"date":"2026-12-31","open":"18:00","close":"05:00"}]`:  christmas + `,{"startDate":{"year":2026,"month":12,"day":31},"openTime":{"hours":18},"endDate":{"year":2027,"month":1,"day":1},"closeTime":{"hours":5}}`,
		`[{"date":"2026-12-25","open_24h":true}]`:                 `{"startDate":{"year":2026,"month":12,"day":25},"openTime":{},"closeTime":{"hours":24}}`,
		`[{"date":"2026-12-25","open":"00:00","close":"24:00"}]`:  `{"startDate":{"year":2026,"month":12,"day":25},"openTime":{},"closeTime":{"hours":24}}`,
		`[{"date":"2026-12-31","open":"09:00","close":"08:59"}]`:  christmas + `,{"startDate":{"year":2026,"month":12,"day":31},"openTime":{"hours":9},"endDate":{"year":2027,"month":1,"day":1},"closeTime":{"hours":8,"minutes":59}}`,
		`[{"date":"2028-02-29","closed":true}]`:                   christmas + "," + day(2028, 2, 29),
		`{"set":[{"date":"2026-11-30","closed":true}]}`:           day(2026, 11, 30),
		`{"add":[{"date":"2026-12-24","closed":true}]}`:           day(2026, 12, 24) + "," + christmas,
		`[{"from":"2026-11-28","to":"2026-12-01","closed":true}]`: day(2026, 11, 30) + "," + day(2026, 12, 1) + "," + christmas,
	} {
		p, w := apply(t, full(t), `{"special_hours":`+in+`}`)
		same(t, in, p.Body, `{"specialHours":{"specialHourPeriods":[`+want+`]}}`)
		var wantCodes []string
		switch {
		case strings.Contains(in, "2026-11-28"):
			wantCodes = []string{"PAST_DATES_SKIPPED"}
		case strings.Contains(in, "2028"):
			wantCodes = []string{"DATE_FAR_OFF"}
		}
		if d := cmp.Diff(wantCodes, codes(w)); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
	p, _ := apply(t, full(t), `{"special_hours":{"remove":["2026-12-25"]}}`)
	same(t, "the last one removed by name", p.Body, `{}`)
	if d := cmp.Diff([]string{"specialHours"}, p.Mask); d != "" {
		t.Error(d)
	}
}

func TestSpecialHoursRefused(t *testing.T) {
	t.Parallel()
	at := ".special_hours[0]"
	for in, want := range map[string][]string{
		`[{"date":"2026-12-25","closed":true,"open":"09:00","close":"18:00"}]`:                                        {at + ".closed contradiction"},
		`[{"date":"2026-12-25","closed":true},{"date":"2026-12-25","open":"09:00","close":"18:00"}]`:                  {".special_hours[1] contradiction"},
		`{"add":[{"date":"2026-12-25","open":"09:00","close":"18:00"}]}`:                                              {".special_hours.add[0] contradiction"},
		`[{"date":"2026-12-25","closed":true},{"date":"2026-12-25","closed":true}]`:                                   {".special_hours[1] duplicate"},
		`[{"from":"2026-12-24","to":"2026-12-26","closed":true},{"date":"2026-12-25","closed":true}]`:                 {".special_hours[1] duplicate"},
		`[{"date":"2026-02-30","closed":true}]`:                                                                       {at + ".date date"},
		`[{"date":"2027-02-29","closed":true}]`:                                                                       {at + ".date date"},
		`[{"date":"2026/12/25","closed":true}]`:                                                                       {at + ".date date"},
		`[{"date":"2026-1-5","closed":true}]`:                                                                         {at + ".date date"},
		`[{"date":"0000-01-01","closed":true}]`:                                                                       {at + ".date date"},
		`[{"closed":true}]`:                                                                                           {at + ".date required"},
		`[{"from":"2026-12-29","closed":true}]`:                                                                       {at + ".to required"},
		`[{"to":"2026-12-29","closed":true}]`:                                                                         {at + ".from required"},
		`[{"date":"2026-12-29","to":"2026-12-30","closed":true}]`:                                                     {at + ".date contradiction"},
		`[{"from":"2026-12-30","to":"2026-12-29","closed":true}]`:                                                     {at + ".to before_start"},
		`[{"from":"2026-12-30","to":"2027-12-31","closed":true}]`:                                                     {at + ".to max_items"},
		`[{"from":"2026-12-30","to":"9999-12-31","closed":true}]`:                                                     {at + ".to max_items"},
		`[{"date":"2026-11-29","closed":true}]`:                                                                       {at + " in_past"},
		`[{"from":"2026-11-01","to":"2026-11-29","closed":true}]`:                                                     {at + " in_past"},
		`[{"date":"2026-12-31"}]`:                                                                                     {at + ".open required"},
		`[{"date":"2026-12-31","open":"09:00"}]`:                                                                      {at + ".close required"},
		`[{"date":"2026-12-31","open":"18:00","close":"26:00"}]`:                                                      {at + ".close time"},
		`[{"date":"2026-12-31","open":"18:00","close":"12:00"}]`:                                                      {at + ".close too_late"},
		`[{"date":"2026-12-31","open":"13:00","close":"13:00"}]`:                                                      {at + ".close too_late"},
		`[{"date":"2026-12-31","open":"09:00","close":"12:00"},{"date":"2026-12-31","open":"11:59","close":"13:00"}]`: {".special_hours[1] overlap"},
		`[{"date":"2026-12-31","open":"22:00","close":"03:00"},{"date":"2027-01-01","open":"02:00","close":"13:00"}]`: {".special_hours[1] overlap"},
		`[{"date":"2026-12-31","open":"09:00","close":"12:00"},{"date":"2026-12-31","open":"09:00","close":"12:00"}]`: {".special_hours[1] duplicate"},
		`[{"date":"2026-12-31","open":"09:00","close":"09:00"}]`:                                                      {at + ".close too_long"},
		`[{"date":"2026-12-31","open":"00:01","close":"00:01"}]`:                                                      {at + ".close too_long"},
		`{"set":[{"date":"2026-12-31","open":"11:59","close":"11:59"}]}`:                                              {".special_hours.set[0].close too_long"},
		`{"remove":["tomorrow"]}`:                                                                                     {".special_hours.remove[0] date"},
		`[]`:                                                                                                          {".special_hours empty_list"},
	} {
		if d := cmp.Diff(want, refused(t, full(t), `{"special_hours":`+in+`}`, context())); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
	if d := cmp.Diff([]string{".special_hours needs_regular_hours"}, refused(t, Snapshot{}, `{"special_hours":[{"date":"2026-12-31","closed":true}]}`, context())); d != "" {
		t.Error(d)
	}
	apply(t, Snapshot{}, `{"special_hours":[{"date":"2026-12-31","closed":true}],"regular_hours":[{"day":"monday","open_24h":true}]}`)
	if d := cmp.Diff([]string{".clear needs_regular_hours"}, refused(t, full(t), `{"clear":["regular_hours"]}`, context())); d != "" {
		t.Error(d)
	}
	apply(t, full(t), `{"clear":["regular_hours","special_hours"]}`)
	many := make([]string, 3)
	for i := range many {
		many[i] = fmt.Sprintf(`{"from":"%d-01-01","to":"%d-12-31","closed":true}`, 2027+i, 2027+i)
	}
	if d := cmp.Diff([]string{".special_hours max_items"}, refused(t, full(t), `{"special_hours":[`+strings.Join(many, ",")+`]}`, context())); d != "" {
		t.Error(d)
	}
}

// TestPastDatesMayBeSentBack: what location.get gave comes back whole with one date more, past ones included.
func TestPastDatesMayBeSentBack(t *testing.T) {
	t.Parallel()
	const past, christmas, newYear = `{"startDate":{"year":2026,"month":11,"day":3},"closed":true}`, `{"startDate":{"year":2026,"month":12,"day":25},"closed":true}`, `{"startDate":{"year":2027,"month":1,"day":1},"closed":true}`
	s := full(t)
	s.set(fieldSpecialHours, []byte(`{"specialHourPeriods":[`+past+`,`+christmas+`]}`))
	dates := string(encode(append(ReadView(s).SpecialHours, SpecialHours{Date: "2027-01-01", Closed: true})))
	for _, in := range []string{dates, `{"set":` + dates + `}`, `{"add":[{"date":"2027-01-01","closed":true}]}`} {
		p, w := apply(t, s, `{"special_hours":`+in+`}`)
		same(t, in, p.Body, `{"specialHours":{"specialHourPeriods":[`+past+`,`+christmas+`,`+newYear+`]}}`)
		if len(w) > 0 {
			t.Errorf("%s: %+v", in, w)
		}
	}
	for in, want := range map[string]string{
		`[{"date":"2026-11-03","open":"09:00","close":"12:00"}]`:  ".special_hours[0] in_past",
		`[{"date":"2026-11-04","closed":true}]`:                   ".special_hours[0] in_past",
		`[{"from":"2026-11-03","to":"2026-11-04","closed":true}]`: ".special_hours[0] in_past",
		`[{"from":"2026-11-03","to":"2026-11-03","closed":true}]`: " nothing_changes",
		`[{"date":"2026-11-03","closed":true}]`:                   " nothing_changes",
		`{"add":[{"date":"2026-11-03","closed":true}]}`:           ".special_hours.add[0] duplicate",
	} {
		if d := cmp.Diff([]string{want}, refused(t, s, `{"special_hours":`+in+`}`, context())); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
}

// TestTodayIsTheStores: what is past is decided by the store's zone.
func TestTodayIsTheStores(t *testing.T) {
	t.Parallel()
	in := context()
	in.Now = noon.Add(13 * 3600e9) // 16:00 UTC is 1 December in Tokyo
	if d := cmp.Diff([]string{".special_hours[0] in_past"}, refused(t, full(t), `{"special_hours":[{"date":"2026-11-30","closed":true}]}`, in)); d != "" {
		t.Error(d)
	}
	in.Location.Timezone = "America/New_York"
	if got := refused(t, full(t), `{"special_hours":[{"date":"2026-11-30","closed":true}]}`, in); got != nil {
		t.Error(got)
	}
}
