package gbpapi_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

const group = gbp.AccountName(gbpsim.DemoGroup)

// mineStore is the v1 name of the store that tests write to.
func (w *world) mineStore(t *testing.T) gbp.LocationName {
	t.Helper()
	_, name, err := gbp.ParseLocationName(w.posts)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// snapshot reads a store with its attributes.
func (w *world) snapshot(t *testing.T) (profile.Snapshot, gbpapi.RemoteLocation) {
	t.Helper()
	r, err := w.ReadLocation(t.Context(), w.mine, group, w.mineStore(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := profile.FromGoogle(r.Raw)
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.GetAttributes(t.Context(), w.mine, w.mineStore(t))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.WithAttributes(a); err != nil {
		t.Fatal(err)
	}
	return s, r
}

// plan turns words into a patch for the store as it is.
func (w *world) plan(t *testing.T, words string) profile.Patch {
	t.Helper()
	s, r := w.snapshot(t)
	var c profile.Changes
	if err := json.Unmarshal([]byte(words), &c); err != nil {
		t.Fatal(err)
	}
	p, violations, _ := profile.Apply(s, c.Normalise(), profile.Context{Location: r.Location, Now: w.sim.Now()})
	if len(violations) > 0 {
		t.Fatalf("%s: %+v", words, violations)
	}
	return p
}

// send makes the calls of a patch.
func (w *world) send(t *testing.T, p profile.Patch) error {
	t.Helper()
	if len(p.Mask) > 0 {
		if _, err := w.PatchLocation(t.Context(), w.mine, w.mineStore(t), p.Body, p.Mask, false); err != nil {
			return err
		}
	}
	if len(p.AttributeMask) > 0 {
		if _, err := w.UpdateAttributes(t.Context(), w.mine, w.mineStore(t), p.AttributeBody, p.AttributeMask); err != nil {
			return err
		}
	}
	return nil
}

// edits are the journal's entries of edits of locations.
func (w *world) edits() []gbpsim.Entry {
	return slices.DeleteFunc(w.sim.Journal(), func(e gbpsim.Entry) bool {
		return e.Route != gbpsim.RouteLocationsPatch && e.Route != gbpsim.RouteLocationsUpdateAttributes
	})
}

// TestSimulatorEdits: words go to the simulator, are taken by its rules, read back as what was previewed, and are undone. F055,
// F056, F058, F060, F061, F063, F064.
func TestSimulatorEdits(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		`{"title":"こもれび珈琲 渋谷本店"}`,
		`{"phone_numbers":{"primary":"+81 3-1000-0001"}}`,
		`{"phone_numbers":{"additional":["03-1000-7001","03-1000-7002"]}}`,
		`{"website_url":"https://komorebi-coffee.example/{{location.store_code}}?a=1&b=2"}`,
		`{"regular_hours":[{"day":"friday","open":"18:00","close":"02:00"},{"day":"sunday","open":"20:00","close":"03:00"}]}`,
		`{"regular_hours":{"set":[{"day":"monday","open_24h":true},{"day":"tuesday","open":"00:00","close":"24:00"},{"day":"wednesday","open":"10:00","close":"23:59"}]}}`,
		`{"regular_hours":{"remove":["monday","sunday"]}}`,
		`{"special_hours":[{"from":"2099-12-29","to":"2100-01-03","closed":true},{"date":"2099-12-24","open":"18:00","close":"05:00"},{"date":"2099-12-23","open_24h":true}]}`,
		`{"more_hours":[{"hours_type":"DELIVERY","hours":[{"day":"monday","open":"11:00","close":"02:00"}]}]}`,
		`{"description":"{{location.city}}の{{location.title}}です。"}`,
		`{"categories":{"primary":"gcid:coffee_shop","additional":["gcid:bakery"]}}`,
		`{"open_status":"CLOSED_TEMPORARILY","opening_date":"2019-04"}`,
		`{"labels":{"add":["駅前"],"remove":["直営"]},"store_code":"NEW-1"}`,
		`{"clear":["website_url","labels","description","regular_hours"]}`,
		`{"attributes":[{"name":"has_delivery","bool":false},{"name":"wi_fi","value":"free_wi_fi"},{"name":"pay_credit_card_types_accepted","values":["visa"],"unset_values":["jcb"]},{"name":"url_menu","urls":["https://komorebi-coffee.example/menu"]}],"title":"x"}`,
	} {
		w := newWorld(t, gbpsim.Knobs{})
		before, read := w.snapshot(t)
		p := w.plan(t, words)
		if p.Landed(before, nil) {
			t.Errorf("%s: landed before it was sent", words)
		}
		if len(p.Mask) > 0 {
			if answer, err := w.PatchLocation(t.Context(), w.mine, w.mineStore(t), p.Body, p.Mask, true); err != nil || strings.TrimSpace(string(answer)) != "{}" {
				t.Errorf("%s: validateOnly: %s %v", words, answer, err)
			}
		}
		if err := w.send(t, p); err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		for _, e := range w.edits() {
			if want := map[gbpsim.Route]string{gbpsim.RouteLocationsPatch: string(p.Body), gbpsim.RouteLocationsUpdateAttributes: string(p.AttributeBody)}[e.Route]; e.Body != want || string(e.Location) != string(w.mineStore(t)) {
				t.Errorf("%s: journal %+v, want body %s", words, e, want)
			}
		}
		after, now := w.snapshot(t)
		if !p.Landed(after, nil) {
			t.Errorf("%s: did not land: %s", words, p.Body)
		}
		untouched := slices.DeleteFunc(profile.Fields(), func(f string) bool { return slices.Contains(p.Fields(), f) })
		if profile.Digest(before, untouched...) != profile.Digest(after, untouched...) {
			t.Errorf("%s: changed more than %v", words, p.Fields())
		}
		if attributesOnly := len(p.Mask) == 0; (now.Location.Version == read.Location.Version) != attributesOnly {
			t.Errorf("%s: version %s -> %s", words, read.Location.Version, now.Location.Version)
		}
		if profile.Digest(profile.FromMirror(now.Location.Profile), p.Fields()...) != profile.Digest(withoutAttributes(after), p.Fields()...) {
			t.Errorf("%s: mirror and snapshot disagree", words)
		}
		if err := w.send(t, profile.Inverse(before, w.mineStore(t), p.Mask, p.AttributeMask)); err != nil {
			t.Errorf("%s: undo: %v", words, err)
		}
		if restored, _ := w.snapshot(t); profile.Digest(before) != profile.Digest(restored) {
			t.Errorf("%s: undo left\n%s", words, cmp.Diff(profile.ReadView(before), profile.ReadView(restored)))
		}
	}
}

func withoutAttributes(s profile.Snapshot) profile.Snapshot {
	s.Attributes = nil
	return s
}

// TestSimulatorEditRefusals: Google's rules come back with the names of our arguments (fact sheet, v1 errors), and a refused call
// leaves the next one working (F059).
func TestSimulatorEditRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{NoQuotas: true})
	name := w.mineStore(t)
	for _, c := range []struct{ mask, body, reason, argument string }{
		{"regularHours", `{"regularHours":{"periods":[{"openDay":"FRIDAY","openTime":{"hours":26},"closeDay":"FRIDAY","closeTime":{"hours":27}}]}}`, "INVALID_HOURS_VALUE", "changes.regular_hours"},
		{"specialHours", `{"specialHours":{"specialHourPeriods":[{"startDate":{"year":2026,"month":2,"day":30},"closed":true}]}}`, "INVALID_HOURS_VALUE", "changes.special_hours"},
		{"specialHours,regularHours", `{"specialHours":{"specialHourPeriods":[{"startDate":{"year":2026,"month":3,"day":30},"closed":true}]}}`, "SPECIAL_HOURS_SET_WITHOUT_REGULAR_HOURS", "changes.special_hours"},
		{"moreHours", `{"moreHours":[{"hoursTypeId":"SPA","periods":[]}]}`, "INCOMPATIBLE_MORE_HOURS_TYPE_FOR_CATEGORY", "changes.more_hours"},
		{"phoneNumbers", `{"phoneNumbers":{"primaryPhone":"x"}}`, "INVALID_PHONE_NUMBER", "changes.phone_numbers.primary"},
		{"phoneNumbers", `{"phoneNumbers":{"primaryPhone":"03-1000-0001","additionalPhones":["03-1000-0001","03-1000-0001","03-1000-0001"]}}`, "TOO_MANY_ENTRIES", "changes.phone_numbers.additional"},
		{"profile", `{"profile":{"description":"https://a.example"}}`, "PROFILE_DESCRIPTION_CONTAINS_URL", "changes.description"},
		{"title", `{}`, "REQUIRED_FIELD_MISSING_VALUE", "changes.title"},
		{"websiteUri", `{"websiteUri":"x"}`, "", "changes.website_url"},
		{"storeCode", `{"storeCode":"SHINJUKU001"}`, "", "changes.store_code"},
		{"categories", `{"categories":{}}`, "INVALID_CATEGORY", "changes.categories"},
		{"openInfo", `{"openInfo":{"status":"OPEN","openingDate":{"year":2999,"month":1}}}`, "OPENING_DATE_TOO_FAR_IN_THE_FUTURE", "changes.opening_date"},
		{"openInfo", `{"openInfo":{"status":"SHUT"}}`, "", "changes.open_status"},
		{"labels", `{"labels":[""]}`, "STRING_TOO_SHORT", "changes.labels"},
		{"locationName", `{}`, "", ""},
		{"primaryPhone", `{}`, "", ""},
		{"metadata", `{}`, "", ""},
		{"languageCode", `{}`, "", ""},
		{"categories.additionalCategories.displayName", `{}`, "", ""},
		{"phoneNumbers.primaryPhone", `{}`, "", ""},
	} {
		_, err := w.PatchLocation(t.Context(), w.mine, name, []byte(c.body), strings.Split(c.mask, ","), false)
		e, ok := errors.AsType[*gbpapi.Error](err)
		if !ok || e.Class != gbpapi.Refused || e.Code != errs.GBPInvalidArgument || e.Fault.Reason != c.reason || len(e.Fault.Fields) == 0 || e.Fault.Fields[0].Argument != c.argument {
			t.Errorf("%s %s: %v %+v", c.mask, c.body, err, e)
		}
	}
	_, err := w.UpdateAttributes(t.Context(), w.mine, name, []byte(`{}`), []string{"attributes/has_drone"})
	e, ok := errors.AsType[*gbpapi.Error](err)
	if !ok || e.Code != errs.GBPInvalidArgument || e.Fault.Reason != "INVALID_ATTRIBUTE_NAME" || len(e.Fault.Fields) != 1 || e.Fault.Fields[0].Argument != "changes.attributes" || !strings.Contains(e.Fault.Fields[0].Message, "has_drone") {
		t.Errorf("attribute: %+v", e)
	}
	if n := len(w.sim.Entries(gbpsim.EntryFilter{Effects: true})); n != 0 {
		t.Errorf("%d effects of refused edits", n)
	}
	if err := w.send(t, w.plan(t, `{"title":"x"}`)); err != nil {
		t.Errorf("the valid edit afterwards: %v", err)
	}
}

// TestEditsNeverSent: what must not leave this process does not.
func TestEditsNeverSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	name := w.mineStore(t)
	for what, c := range map[string]struct {
		name gbp.LocationName
		body string
		mask []string
	}{
		"no mask":        {name, `{"title":"x"}`, nil},
		"an empty mask":  {name, `{"title":"x"}`, []string{""}},
		"a strange mask": {name, `{"title":"x"}`, []string{"title&validateOnly=true"}},
		"two in one":     {name, `{"title":"x"}`, []string{"title,labels"}},
		"no body":        {name, ``, []string{"title"}},
		"a list":         {name, `[]`, []string{"title"}},
		"null":           {name, `null`, []string{"title"}},
		"a v4 name":      {gbp.LocationName(w.posts), `{}`, []string{"title"}},
		"a bare id":      {"123", `{}`, []string{"title"}},
		"a method":       {name + ":getGoogleUpdated", `{}`, []string{"title"}},
		"NUL":            {name + "\x00", `{}`, []string{"title"}},
		"up":             {"locations/..", `{}`, []string{"title"}},
		"none":           {"", `{}`, []string{"title"}},
	} {
		for _, call := range []func() error{
			func() error {
				_, err := w.PatchLocation(t.Context(), w.mine, c.name, []byte(c.body), c.mask, false)
				return err
			},
			func() error {
				_, err := w.UpdateAttributes(t.Context(), w.mine, c.name, []byte(c.body), c.mask)
				return err
			},
		} {
			e, ok := errors.AsType[*gbpapi.Error](call())
			if !ok || e.Class != gbpapi.Refused || e.Code != errs.Internal || e.Sent {
				t.Errorf("%s: %+v", what, e)
			}
		}
	}
	if n := len(w.sim.Journal()); n != 0 {
		t.Errorf("%d requests were made: %+v", n, w.sim.Journal())
	}
}

// TestSimulatorEditFaults: the fact sheet's rows about ambiguous outcomes, for edits. Reading tells what became of them, and
// repeating has the same end state.
func TestSimulatorEditFaults(t *testing.T) {
	t.Parallel()
	commit := gbpsim.EffectCommit
	for name, c := range map[string]struct {
		knobs  gbpsim.Knobs
		fault  gbpsim.Fault
		class  gbpapi.Class
		code   errs.Code
		landed bool
	}{
		"reset before commit": {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"commit then reset":   {fault: gbpsim.Fault{Answer: gbpsim.AnswerReset, Effect: commit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, landed: true},
		"commit then 503":     {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Effect: commit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, landed: true},
		"commit then empty":   {fault: gbpsim.Fault{Answer: gbpsim.AnswerEmpty, Effect: commit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, landed: true},
		"commit then broken":  {fault: gbpsim.Fault{Answer: gbpsim.AnswerBrokenJSON, Effect: commit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, landed: true},
		"another's answer":    {fault: gbpsim.Fault{Answer: gbpsim.AnswerEmpty, Body: `{"name":"locations/5","title":"x"}`, Effect: commit}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown, landed: true},
		"500":                 {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 500}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"HTML 502":            {fault: gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: 502}, class: gbpapi.Ambiguous, code: errs.GBPOutcomeUnknown},
		"HTML 404":            {fault: gbpsim.Fault{Answer: gbpsim.AnswerHTML, Status: 404}, class: gbpapi.Refused, code: errs.Internal},
		"JSON 404":            {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 404}, class: gbpapi.Refused, code: errs.GBPNotFound},
		"403":                 {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 403}, class: gbpapi.Refused, code: errs.GBPPermissionDenied},
		"precondition":        {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 400, Word: "FAILED_PRECONDITION"}, class: gbpapi.Refused, code: errs.GBPLocationNotVerified},
		"throttled reason":    {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 400, Reason: "THROTTLED"}, class: gbpapi.Throttled, code: errs.GBPRateLimited},
		"stale data":          {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 400, Reason: "STALE_DATA"}, class: gbpapi.Throttled, code: errs.GBPUnavailable},
		"edits of phones":     {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 400, Reason: "PHONE_NUMBER_EDITS_NOT_ALLOWED", Metadata: map[string]string{"field_mask": "phone_numbers"}}, class: gbpapi.Refused, code: errs.GBPInvalidArgument},
		"revoked grant":       {fault: gbpsim.Fault{Revoke: true}, class: gbpapi.Dead, code: errs.GoogleReconnectRequired},
		"quota 0":             {fault: gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 429, Reason: "RATE_LIMIT_EXCEEDED", Metadata: map[string]string{"quota_limit_value": "0"}}, class: gbpapi.Operator, code: errs.GBPNotApproved},
		"profile's budget":    {knobs: gbpsim.Knobs{EditsPerMinute: 1}, class: gbpapi.Throttled, code: errs.GBPRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.knobs)
			p := w.plan(t, `{"regular_hours":[{"day":"monday","closed":true}],"clear":["website_url"]}`)
			if c.fault.Answer != "" || c.fault.Revoke {
				c.fault.Route, c.fault.Count = gbpsim.RouteLocationsPatch, 1
				if _, err := w.sim.AddFault(c.fault); err != nil {
					t.Fatal(err)
				}
			} else if _, err := w.create(t); err != nil { // a post draws on the same budget
				t.Fatal(err)
			}
			err := w.send(t, p)
			e, ok := errors.AsType[*gbpapi.Error](err)
			if !ok || e.Class != c.class || e.Code != c.code {
				t.Fatalf("got %v", err)
			}
			if c.fault.Revoke {
				return
			}
			s, _ := w.snapshot(t)
			if p.Landed(s, nil) != c.landed {
				t.Errorf("landed %v", !c.landed)
			}
			if c.class != gbpapi.Ambiguous {
				return
			}
			for range 2 {
				if err := w.send(t, p); err != nil {
					t.Fatal(err)
				}
				if s, _ = w.snapshot(t); !p.Landed(s, nil) {
					t.Error("the repeat did not land")
				}
			}
		})
	}
}

// TestSimulatorExpiredTokenOnEdit: a 401 proves that nothing was written; the edit is made once.
func TestSimulatorExpiredTokenOnEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	p := w.plan(t, `{"title":"x"}`)
	w.sim.ExpireAccessTokens()
	if err := w.send(t, p); err != nil {
		t.Fatal(err)
	}
	if e := w.edits(); len(e) != 2 || e[0].Status != 401 || !e[1].Effect {
		t.Errorf("%+v", e)
	}
}

// TestSimulatorPendingEdits: F068, and an edit that reads back as the old value while Google reviews it.
func TestSimulatorPendingEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{EditPendingSeconds: 600, EditReadsOld: true})
	p := w.plan(t, `{"title":"新店名"}`)
	if err := w.send(t, p); err != nil {
		t.Fatal(err)
	}
	s, r := w.snapshot(t)
	g, err := w.GetGoogleUpdated(t.Context(), w.mine, w.mineStore(t))
	if err != nil || !r.Location.PendingGoogleEdit || cmp.Diff([]string{"title"}, g.Pending) != "" || len(g.Diff) > 0 {
		t.Fatalf("%+v %v", g, err)
	}
	if p.Landed(s, nil) || !p.Landed(s, g.Pending) {
		t.Error("pending counts as landed, and only pending does")
	}
	w.sim.Advance(10 * time.Minute)
	if s, r = w.snapshot(t); !p.Landed(s, nil) || r.Location.PendingGoogleEdit {
		t.Error("published, yet not read")
	}
	if err := w.sim.SetGoogleVersion(gbpsim.LocationName(w.mineStore(t)), gbpsim.StoreChange{Fields: map[string]json.RawMessage{"phoneNumbers": json.RawMessage(`{"primaryPhone":"03-1000-7777"}`)}}); err != nil {
		t.Fatal(err)
	}
	if g, err = w.GetGoogleUpdated(t.Context(), w.mine, w.mineStore(t)); err != nil {
		t.Fatal(err)
	}
	live, err := profile.FromGoogle(g.Raw)
	if err != nil {
		t.Fatal(err)
	}
	s, r = w.snapshot(t)
	in := profile.Context{Location: r.Location, Now: w.sim.Now(), GoogleUpdate: &profile.GoogleUpdate{Diff: g.Diff, Pending: g.Pending, Live: live}}
	for words, contested := range map[string][]string{`{"regular_hours":[{"day":"monday","closed":true}]}`: nil, `{"phone_numbers":{"primary":"03-1000-0009"}}`: {"phone_numbers"}} {
		var c profile.Changes
		if err := json.Unmarshal([]byte(words), &c); err != nil {
			t.Fatal(err)
		}
		p, violations, warnings := profile.Apply(s, c, in)
		if len(violations) > 0 || cmp.Diff(contested, p.Contested) != "" || len(warnings) == 0 || warnings[0].Code != "PENDING_GOOGLE_EDIT" {
			t.Errorf("%s: %+v %+v %+v", words, p, violations, warnings)
		}
	}
}

// TestSimulatorStoreReads: the read calls around store data.
func TestSimulatorStoreReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gbpsim.Knobs{})
	name := w.mineStore(t)
	cats, err := w.BatchGetCategories(t.Context(), w.mine, []string{"categories/gcid:cafe", "categories/gcid:none"}, "JP", "ja")
	if err != nil || len(cats) != 1 || cats[0].DisplayName != "カフェ・喫茶" || !slices.Contains(cats[0].HoursTypes, "DELIVERY") {
		t.Errorf("%+v %v", cats, err)
	}
	voice, err := w.GetVoiceOfMerchant(t.Context(), w.mine, name)
	if err != nil || !voice.Has || !voice.Authority || voice.Reason != "" {
		t.Errorf("%+v %v", voice, err)
	}
	day := func(at time.Time) gbpapi.Day {
		return gbpapi.Day{Year: at.Year(), Month: int(at.Month()), Day: at.Day()}
	}
	to := w.sim.Now().UTC()
	series, err := w.FetchDailyMetrics(t.Context(), w.mine, name, []string{"CALL_CLICKS", "WEBSITE_CLICKS"}, day(to.AddDate(0, 0, -30)), day(to))
	if err != nil || len(series) != 2 || series[0].Metric != "CALL_CLICKS" || len(series[1].Figures) != 31 || series[0].Figures[30] != (gbpapi.Figure{Day: day(to)}) {
		t.Errorf("%+v %v", series, err)
	}
	var sum int64
	for _, f := range series[0].Figures {
		sum += f.Count
	}
	if sum == 0 {
		t.Error("no figures at all")
	}
	every, err := w.FetchDailyMetrics(t.Context(), w.mine, name, gbp.DailyMetrics(), day(to), day(to))
	if err != nil || len(every) != 12 { // as many as the discovery document names
		t.Errorf("%d metrics: %v", len(every), err)
	}
	var found []string
	truncated, err := w.FindLocations(t.Context(), w.mine, group, `storeCode="SHINJUKU001" OR storeCode="GINZA001"`, func(page []gbp.Location) error {
		for _, l := range page {
			found = append(found, l.Profile.StoreCode)
		}
		return nil
	})
	if err != nil || truncated || cmp.Diff([]string{"SHINJUKU001", "GINZA001"}, found) != "" {
		t.Errorf("%v %v %v", found, truncated, err)
	}
	// A stranger's connection sees none of it.
	for what, call := range map[string]func() error{
		"read":       func() error { _, err := w.ReadLocation(t.Context(), w.other, group, name); return err },
		"google":     func() error { _, err := w.GetGoogleUpdated(t.Context(), w.other, name); return err },
		"attributes": func() error { _, err := w.GetAttributes(t.Context(), w.other, name); return err },
		"voice":      func() error { _, err := w.GetVoiceOfMerchant(t.Context(), w.other, name); return err },
		"metrics": func() error {
			_, err := w.FetchDailyMetrics(t.Context(), w.other, name, []string{"CALL_CLICKS"}, day(to), day(to))
			return err
		},
		"patch": func() error {
			_, err := w.PatchLocation(t.Context(), w.other, name, []byte(`{"title":"x"}`), []string{"title"}, false)
			return err
		},
	} {
		if err := call(); errs.CodeOf(err) != errs.GBPNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"no metric": func() error {
			_, err := w.FetchDailyMetrics(t.Context(), w.mine, name, nil, day(to), day(to))
			return err
		}(),
		"backwards": func() error {
			_, err := w.FetchDailyMetrics(t.Context(), w.mine, name, []string{"CALL_CLICKS"}, day(to), day(to.AddDate(0, 0, -1)))
			return err
		}(),
		"too long": func() error {
			_, err := w.FetchDailyMetrics(t.Context(), w.mine, name, []string{"CALL_CLICKS"}, day(to.AddDate(-3, 0, 0)), day(to))
			return err
		}(),
		"no category": func() error { _, err := w.BatchGetCategories(t.Context(), w.mine, nil, "JP", "ja"); return err }(),
	} {
		if errs.CodeOf(err) != errs.Internal {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, reason := range map[string]string{
		`{"complyWithGuidelines":{"recommendationReason":"BUSINESS_LOCATION_SUSPENDED"}}`: gbpapi.VoiceGuidelines,
		`{"verify":{"hasPendingVerification":true}}`:                                      gbpapi.VoiceVerify,
		`{"resolveOwnershipConflict":{}}`:                                                 gbpapi.VoiceOwnership,
		`{"waitForVoiceOfMerchant":{},"hasBusinessAuthority":true}`:                       gbpapi.VoiceWait,
	} {
		l := w.sim.World().Locations[0]
		l.VoiceOfMerchant = json.RawMessage(what)
		if err := w.sim.Seed(gbpsim.World{Locations: []gbpsim.Location{l}}); err != nil {
			t.Fatal(err)
		}
		if v, err := w.GetVoiceOfMerchant(t.Context(), w.mine, name); err != nil || v.Has || v.Reason != reason {
			t.Errorf("%s: %+v %v", what, v, err)
		}
	}
}
