package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// store is the n-th store as location.get shows it.
func (d *desk) store(n int) tools.LocationDetail {
	d.t.Helper()
	return stack.Into[tools.LocationDetail](d.t, d.call("location.get", stack.Args{"location_id": d.IDs(n + 1)[n]}))
}

// change is one store's part of location.update, with the store's version now.
func (d *desk) change(n int, changes stack.Args) map[string]any {
	d.t.Helper()
	return map[string]any{"location_id": d.IDs(n + 1)[n], "expected_version": d.store(n).Version, "changes": changes}
}

// changeAll is the same change of the first n stores.
func (d *desk) changeAll(n int, changes stack.Args) stack.Args {
	d.t.Helper()
	var updates []any
	for i := range n {
		updates = append(updates, d.change(i, changes))
	}
	return stack.Args{"updates": updates}
}

func one(change map[string]any) stack.Args { return stack.Args{"updates": []any{change}} }

func (d *desk) name(n int) gbpsim.LocationName { return gbpsim.LocationName(d.Locations[n].Name) }

// google is a field of the n-th store at Google.
func (d *desk) google(n int, field string) string {
	d.t.Helper()
	s, err := d.Sim.Store(d.name(n))
	if err != nil {
		d.t.Fatal(err)
	}
	if s.Fields[field] == nil {
		return ""
	}
	var v any // in one spelling: members in the order of their names
	if err := json.Unmarshal(s.Fields[field], &v); err != nil {
		d.t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// behind changes the n-th store at Google behind our back.
func (d *desk) behind(n int, field, value string) {
	d.t.Helper()
	if err := d.Sim.ChangeStore(d.name(n), gbpsim.StoreChange{Fields: map[string]json.RawMessage{field: json.RawMessage(value)}}); err != nil {
		d.t.Fatal(err)
	}
}

func hours(day, open, closing string) map[string]any {
	return map[string]any{"day": day, "open": open, "close": closing}
}

// F055, F063: the mask is what was given, other days and fields stay, and what is shown is what is sent, byte for byte.
func TestF055F063OneDayOfTheWeek(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	before := d.store(0)
	if len(before.Fields.RegularHours) != 7 || before.Fields.Title == "" || before.Fields.PhoneNumbers == nil || before.Fields.Categories.Primary != "gcid:cafe" || len(before.Fields.Unreadable) != 0 {
		t.Fatalf("%+v", before)
	}
	args := one(d.change(0, stack.Args{"regular_hours": []any{hours("monday", "10:00", "16:00")}}))
	p := d.previewOf("location.update", args)
	g := p.Changes[0]
	var was, is struct {
		RegularHours []map[string]any `json:"regular_hours"`
	}
	if json.Unmarshal(g.Before, &was) != nil || json.Unmarshal(g.After, &is) != nil || len(was.RegularHours) != 7 || len(is.RegularHours) != 7 || is.RegularHours[0]["open"] != "10:00" || is.RegularHours[1]["open"] != was.RegularHours[1]["open"] {
		t.Fatalf("before %s, after %s", g.Before, g.After)
	}
	if !p.WouldExecute || !slices.Equal(g.UpdateMask, []string{"regularHours"}) || p.EstimatedGBPAPICalls != 2 || p.Confirmation.Required || !p.Reversible.Possible {
		t.Fatalf("%+v", p)
	}
	v := d.done("location.update", args)
	after := d.store(0)
	if v.Status != batch.Done || v.Items[0].Version != after.Version || after.Version == before.Version || v.Items[0].Target.Kind != gbp.KindLocation {
		t.Fatalf("%+v, then %s", v, after.Version)
	}
	sent := d.sentBodies(gbpsim.RouteLocationsPatch)
	if len(sent) != 1 || sent[0].Body != string(g.Sent) || sent[0].Query != "updateMask=regularHours" {
		t.Fatalf("%+v", sent)
	}
	if n := len(d.Sim.Journal()); n == 0 || after.Fields.RegularHours[0].Open != "10:00" || after.Fields.RegularHours[1] != before.Fields.RegularHours[1] || after.Fields.Title != before.Fields.Title {
		t.Errorf("%+v", after.Fields)
	}
	// The version of the item is the one that a further write passes; the mirror says the same as a sync would.
	d.Sync(stack.Tenant)
	if s := d.store(0); s.Version != after.Version {
		t.Errorf("a sync makes %s of %s", s.Version, after.Version)
	}
	next := stack.Args{"updates": []any{map[string]any{"location_id": d.IDs(1)[0], "expected_version": v.Items[0].Version, "changes": stack.Args{"clear": []string{"website_url"}}}}}
	if v := d.done("location.update", next); v.Status != batch.Done || d.google(0, "websiteUri") != "" {
		t.Errorf("%+v", v)
	}
	if sent := d.sentBodies(gbpsim.RouteLocationsPatch); sent[1].Body != `{}` || sent[1].Query != "updateMask=websiteUri" {
		t.Errorf("%+v", sent[1])
	}
	// Two calls to Google for one change: a reading and the write.
	calls := 0
	for _, e := range d.Sim.Journal() {
		if e.Location == d.name(0) && (e.Route == gbpsim.RouteLocationsPatch || e.Route == gbpsim.RouteLocationsGet) {
			calls++
		}
	}
	if calls != 4 {
		t.Errorf("%d calls for two changes", calls)
	}
}

// F056, F060, F061, F064, F066 and their kind, as Google gets them.
func TestF060WhatGoogleGets(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	year := time.Now().In(time.UTC).Year() + 1
	day := func(month, day int) string {
		return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	d.behind(0, "phoneNumbers", `{"primaryPhone":"03-1000-0000","additionalPhones":["03-1000-0001","03-1000-0002"]}`)
	d.Sync(stack.Tenant)
	for _, c := range []struct {
		name, field, want string
		changes           stack.Args
	}{
		{"F056 the other numbers stay", "phoneNumbers", `{"additionalPhones":["03-1000-0001","03-1000-0002"],"primaryPhone":"+81 3-0000-0001"}`, stack.Args{"phone_numbers": stack.Args{"primary": "+81 3-0000-0001"}}},
		{"F060 past midnight", "regularHours", `{"closeDay":"SATURDAY","closeTime":{"hours":2},"openDay":"FRIDAY","openTime":{"hours":18}}`, stack.Args{"regular_hours": stack.Args{"change": []any{hours("friday", "18:00", "02:00")}}}},
		{"F060 Sunday to Monday", "regularHours", `{"closeDay":"MONDAY","closeTime":{"hours":3},"openDay":"SUNDAY","openTime":{"hours":20}}`, stack.Args{"regular_hours": `[{"day":"sunday","open":"20:00","close":"03:00"}]`}},
		{"F061 the whole day", "regularHours", `{"closeDay":"TUESDAY","closeTime":{"hours":24},"openDay":"TUESDAY","openTime":{}}`, stack.Args{"regular_hours": []any{hours("tuesday", "00:00", "24:00")}}},
		{"F061 every day", "regularHours", `{"closeDay":"WEDNESDAY","closeTime":{"hours":24},"openDay":"WEDNESDAY","openTime":{}}`, stack.Args{"regular_hours": stack.Args{"set": []any{map[string]any{"day": "wednesday", "open_24h": true}}}}},
		{"F064 a range over the year's end", "specialHours", `{"closed":true,"startDate":{"day":3,"month":1,"year":` + fmt.Sprint(year+1) + `}}`, stack.Args{"special_hours": []any{map[string]any{"from": day(12, 29), "to": time.Date(year+1, 1, 3, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), "closed": true}}}},
		{"labels added", "labels", `["直営","テラス席","夜営業"]`, stack.Args{"labels": stack.Args{"add": []string{"夜営業"}}}},
		{"labels replaced", "labels", `["新"]`, stack.Args{"labels": []string{"新"}}},
		{"hours of a service", "moreHours", `"hoursTypeId":"DELIVERY"`, stack.Args{"more_hours": []any{map[string]any{"hours_type": "DELIVERY", "hours": []any{hours("monday", "11:00", "20:00")}}}}},
		{"a template", "profile", `こもれび珈琲 渋谷店の紹介です。`, stack.Args{"description": "{{location.title}}の紹介です。"}},
	} {
		v := d.done("location.update", one(d.change(0, c.changes)))
		if v.Status != batch.Done || !strings.Contains(d.google(0, c.field), c.want) {
			t.Errorf("%s: %s %+v: %s", c.name, v.Status, v.Failures, d.google(0, c.field))
		}
	}
	if n := strings.Count(d.google(0, "specialHours"), `"startDate"`); n != 6 {
		t.Errorf("F064: %d entries for six days", n)
	}
}

// Every broken rule is refused before anything is sent, with its path, and the next good call works (F058, F059, F060, F061, F064, F066).
func TestF058F059F066RefusedLocally(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	closed := map[string]any{"day": "monday", "closed": true, "open": "09:00", "close": "18:00"}
	for _, c := range []struct {
		changes    stack.Args
		path, rule string
	}{
		{stack.Args{}, "updates[0].changes", "required"},
		{stack.Args{"regular_hours": []any{hours("friday", "18:00", "26:00")}}, "updates[0].changes.regular_hours[0].close", "format"},
		{stack.Args{"regular_hours": []any{hours("friday", "9:00", "18:00")}}, "updates[0].changes.regular_hours[0].open", "format"},
		{stack.Args{"regular_hours": []any{hours("friday", "09:00", "18:00"), hours("friday", "17:00", "20:00")}}, "updates[0].changes.regular_hours[1]", "overlap"},
		{stack.Args{"regular_hours": []any{closed}}, "updates[0].changes.regular_hours[0].closed", "contradiction"},
		{stack.Args{"regular_hours": stack.Args{}}, "updates[0].changes.regular_hours", "required"},
		{stack.Args{"regular_hours": []any{}}, "updates[0].changes.regular_hours", "empty_list"},
		{stack.Args{"regular_hours": stack.Args{"set": []any{hours("monday", "09:00", "18:00")}, "add": []any{hours("monday", "19:00", "20:00")}}}, "updates[0].changes.regular_hours.set", "contradiction"},
		{stack.Args{"special_hours": []any{map[string]any{"date": "2030-02-30", "closed": true}}}, "updates[0].changes.special_hours[0].date", "format"},
		{stack.Args{"special_hours": []any{map[string]any{"date": "2030-12-25", "closed": true, "open": "09:00", "close": "18:00"}}}, "updates[0].changes.special_hours[0].closed", "contradiction"},
		{stack.Args{"description": "Visit https://example.com"}, "updates[0].changes.description", "link"},
		{stack.Args{"description": strings.Repeat("あ", 751)}, "updates[0].changes.description", "max_length"},
		{stack.Args{"description": "{{location.nothing}}"}, "updates[0].changes.description", ""},
		{stack.Args{"title": "A\nB"}, "updates[0].changes.title", "characters"},
		{stack.Args{"phone_numbers": stack.Args{"primary": "call me"}}, "updates[0].changes.phone_numbers.primary", "phone"},
		{stack.Args{"open_status": "SHUT"}, "updates[0].changes.open_status", "enum"},
		{stack.Args{"clear": []string{"title"}}, "updates[0].changes.clear[0]", "enum"},
		{stack.Args{"website_url": "https://a.example/", "clear": []string{"website_url"}}, "updates[0].changes.clear[0]", "contradiction"},
		{stack.Args{"website_url": nil}, "updates[0].changes", "required"},
		{stack.Args{"website_url": ""}, "updates[0].changes", "required"},
		{stack.Args{"locationName": "X"}, "updates[0].changes.locationName", "unknown"},
		{stack.Args{"primaryPhone": "X"}, "updates[0].changes.primaryPhone", "unknown"},
		{stack.Args{"metadata": "X"}, "updates[0].changes.metadata", "unknown"},
		{stack.Args{"languageCode": "X"}, "updates[0].changes.languageCode", "unknown"},
		{stack.Args{"storefrontAddress": stack.Args{}}, "updates[0].changes.storefrontAddress", "unknown"},
		{stack.Args{"update_mask": "title"}, "updates[0].changes.update_mask", "unknown"},
		{stack.Args{"attributes": []any{map[string]any{"name": "has_delivery"}}}, "updates[0].changes.attributes[0]", "one_value"},
	} {
		a := d.call("location.update", one(d.change(0, c.changes)))
		d.mustRefuse(a, errs.InvalidArgument)
		if v := a.Details.Violations[0]; v.Path != c.path || c.rule != "" && v.Rule != c.rule || v.Message == "" {
			t.Errorf("%v: %+v", c.changes, v)
		}
	}
	a := d.call("location.update", one(d.change(0, stack.Args{"locationName": "X"})))
	if m := a.Details.Violations[0].Message; !strings.Contains(m, "title") {
		t.Errorf("no advice: %s", m)
	}
	if a := d.call("location.update", one(d.change(0, stack.Args{"regular_hours": []any{hours("friday", "18:00", "26:00")}}))); !strings.Contains(a.Text, "02:00") {
		t.Errorf("no advice: %s", a.Text)
	}
	good := d.change(0, stack.Args{"labels": []string{"x"}})
	d.mustRefuse(d.call("location.update", stack.Args{"updates": []any{good, good}}), errs.InvalidArgument)
	good["location_id"] = 987654
	d.mustRefuse(d.call("location.update", stack.Args{"updates": []any{good}}), errs.LocationNotFound)
	good["location_id"] = d.IDs(1)[0]
	if sent := d.sentBodies(gbpsim.RouteLocationsPatch); len(sent) != 0 {
		t.Fatalf("%+v", sent)
	}
	if v := d.done("location.update", one(good)); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	if w := d.previewOf("location.update", one(d.change(0, stack.Args{"description": "everything 50% off", "regular_hours": []any{hours("monday", "09:00", "23:59")}}))); !hasWarning(w.ValidationWarnings, "PROMOTION_IN_DESCRIPTION") || !hasWarning(w.ValidationWarnings, "CLOSES_BEFORE_MIDNIGHT") || !w.WouldExecute {
		t.Errorf("%+v", w)
	}
}

// A person is asked from three stores on, and for the fields that change what a store is; the question says what changes.
func TestLocationConfirmation(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3})
	harmless := stack.Args{"labels": []string{"夜営業"}, "attributes": []any{map[string]any{"name": "has_delivery", "bool": true}}}
	for n, required := range map[int]bool{1: false, 2: false, 3: true} {
		p := d.previewOf("location.update", d.changeAll(n, harmless))
		if p.Confirmation.Required != required || required != (p.Confirmation.ConfirmToken != "") || p.TargetCount != 2*n {
			t.Errorf("%d stores: %+v", n, p.Confirmation)
		}
	}
	for field, value := range map[string]any{"title": "こもれび珈琲 道玄坂店", "open_status": "CLOSED_TEMPORARILY", "categories": stack.Args{"primary": "gcid:coffee_shop"}} {
		a := d.call("location.update", one(d.change(0, stack.Args{field: value})))
		d.mustRefuse(a, errs.ConfirmationRequired)
		if a.Details.Reason != "sensitive_field" || !strings.Contains(a.Details.HumanReadableMessage, field) || !strings.Contains(a.Details.HumanReadableMessage, "→") || !strings.Contains(a.Details.HumanReadableMessage, "渋谷店") {
			t.Errorf("%s: %s", field, a.Text)
		}
	}
	for reason, change := range map[string]stack.Args{
		"a link of nobody's":  {"website_url": "https://evil.example/"},
		"a phone of nobody's": {"phone_numbers": stack.Args{"primary": "+81 3-9999-9999"}},
	} {
		if a := d.call("location.update", one(d.change(0, change))); a.ErrorCode != errs.ConfirmationRequired || a.Details.Reason != "unknown_link" {
			t.Errorf("%s: %s", reason, a.Text)
		}
	}
	// The token holds for exactly what was shown: a change of another field does not disturb it, one of the same field does.
	args := one(d.change(0, stack.Args{"title": "こもれび珈琲 道玄坂店"}))
	token := d.previewOf("location.update", args).Confirmation.ConfirmToken
	d.mustRefuse(d.call("location.update", one(d.change(0, stack.Args{"title": "別の店"})).With("confirm_token", token)), errs.ConfirmTokenMismatch)
	v := d.Finish(string(stack.Into[tools.Write](t, d.call("location.update", args.With("confirm_token", token))).Accepted.BatchID))
	if v.Status != batch.Done || d.google(0, "title") != `"こもれび珈琲 道玄坂店"` {
		t.Fatalf("%+v", v)
	}
	if p := d.previewOf("location.update", one(d.change(0, stack.Args{"title": "三"}))); !hasWarning(p.ValidationWarnings, "TITLE_CHANGE_MAY_REVERIFY") {
		t.Errorf("%+v", p.ValidationWarnings)
	}
}

// A store that changed is not overwritten: before acceptance by version, after it by the fields at Google. What was found then
// is in our copy, so that reading again helps.
func TestLocationVersions(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3, NoWorkers: true})
	stale := one(d.change(0, stack.Args{"labels": []string{"a"}}))
	d.behind(0, "storeCode", `"OTHER1"`)
	d.Sync(stack.Tenant)
	a := d.call("location.update", stale)
	d.mustRefuse(a, errs.VersionConflict)
	if a.Details.CurrentVersion != d.store(0).Version || a.Details.Changed[0].LocationID != d.IDs(1)[0] {
		t.Errorf("%+v", a.Details)
	}
	if p := d.previewOf("location.update", stale); p.WouldExecute || p.WouldRefuse.ErrorCode != errs.VersionConflict {
		t.Errorf("%+v", p)
	}
	// Accepted, and then changed at Google: the same field for one store, another field for the other.
	same := d.accepted("location.update", one(d.change(1, stack.Args{"labels": []string{"mine"}})))
	other := d.accepted("location.update", one(d.change(2, stack.Args{"labels": []string{"mine"}})))
	d.behind(1, "labels", `["theirs"]`)
	d.behind(2, "websiteUri", `"https://komorebi-coffee.example/new"`)
	seen := d.store(1).Version
	d.Work()
	v := d.Finish(string(same.BatchID))
	if v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.VersionConflict || v.Failures[0].Executed != errs.ExecutedNo || d.google(1, "labels") != `["theirs"]` {
		t.Errorf("%+v", v)
	}
	if s := d.store(1); s.Version == seen || s.Version != v.Failures[0].Version || !slices.Equal(s.Fields.Labels, []string{"theirs"}) {
		t.Errorf("our copy is still %+v", s)
	}
	if v := d.Finish(string(other.BatchID)); v.Status != batch.Done || d.google(2, "labels") != `["mine"]` || d.google(2, "websiteUri") != `"https://komorebi-coffee.example/new"` {
		t.Errorf("%+v", v)
	}
	if s := d.store(2); s.Fields.WebsiteURL != "https://komorebi-coffee.example/new" {
		t.Errorf("our copy is still %+v", s.Fields)
	}
}

// Two updates of one store keep their order; the later one does not overwrite what it has not seen.
func TestLocationOrder(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, NoWorkers: true})
	first := d.accepted("location.update", one(d.change(0, stack.Args{"labels": []string{"first"}})))
	second := d.accepted("location.update", one(d.change(0, stack.Args{"labels": []string{"second"}})))
	third := d.accepted("location.update", one(d.change(0, stack.Args{"store_code": "THIRD"})))
	d.Work()
	if v := d.Finish(string(first.BatchID)); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	if v := d.Finish(string(second.BatchID)); v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.VersionConflict {
		t.Errorf("%+v", v)
	}
	if v := d.Finish(string(third.BatchID)); v.Status != batch.Done || v.Items[0].Version != d.store(0).Version {
		t.Errorf("%+v", v)
	}
	if d.google(0, "labels") != `["first"]` || d.google(0, "storeCode") != `"THIRD"` {
		t.Errorf("%s %s", d.google(0, "labels"), d.google(0, "storeCode"))
	}
}

// Undo brings the fields back that were changed, and no others; undo of the undo changes them again; what somebody changed since
// is left alone.
func TestLocationUndo(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3})
	was := []string{d.google(0, "regularHours"), d.google(0, "websiteUri")}
	changes := stack.Args{"regular_hours": []any{hours("monday", "10:00", "16:00")}, "clear": []string{"website_url"}, "attributes": []any{map[string]any{"name": "has_delivery", "bool": true}}}
	v := d.done("location.update", d.changeAll(3, changes))
	if v.Status != batch.Done || v.TargetCount != 6 || d.google(0, "websiteUri") != "" {
		t.Fatalf("%+v", v)
	}
	if s := d.store(0); len(s.Fields.Attributes) != 1 || s.AttributesAt == "" {
		t.Errorf("%+v", s.Fields.Attributes)
	}
	// Somebody changes another field of the first store, and the same field of the second one; the third one we change again.
	d.behind(0, "storeCode", `"OTHER1"`)
	d.behind(1, "regularHours", d.google(2, "regularHours"))
	d.behind(1, "websiteUri", `"https://komorebi-coffee.example/theirs"`)
	d.Sync(stack.Tenant)
	if w := d.done("location.update", one(d.change(2, stack.Args{"regular_hours": []any{hours("monday", "11:00", "12:00")}}))); w.Status != batch.Done {
		t.Fatalf("%+v", w)
	}
	p := d.previewOf("batch.undo", stack.Args{"batch_id": v.BatchID})
	if !p.WouldExecute || p.TargetCount != 4 || !hasWarning(p.ValidationWarnings, "LEFT_ALONE") {
		t.Fatalf("%+v", p)
	}
	undone := d.done("batch.undo", stack.Args{"batch_id": v.BatchID})
	if undone.Status != batch.Done || undone.TargetCount != 4 || d.google(0, "regularHours") != was[0] || d.google(0, "websiteUri") != was[1] || d.google(0, "storeCode") != `"OTHER1"` {
		t.Fatalf("%+v: %s, %s", undone, d.google(0, "regularHours"), d.google(0, "websiteUri"))
	}
	if d.google(1, "websiteUri") != `"https://komorebi-coffee.example/theirs"` {
		t.Errorf("overwritten: %s", d.google(1, "websiteUri"))
	}
	if s := d.store(0); len(s.Fields.Attributes) != 0 {
		t.Errorf("attributes %+v", s.Fields.Attributes)
	}
	d.mustRefuse(d.call("batch.undo", stack.Args{"batch_id": v.BatchID, "idempotency_key": "undo-again"}), errs.NothingToUndo)
	again := d.done("batch.undo", stack.Args{"batch_id": undone.BatchID, "location_ids": d.IDs(1)})
	if again.Status != batch.Done || d.google(0, "websiteUri") != "" || len(d.store(0).Fields.Attributes) != 1 {
		t.Fatalf("%+v", again)
	}
	// Somebody changes it between the acceptance of an undo and its turn: nothing is overwritten.
	w := d.done("location.update", one(d.change(0, stack.Args{"title": "道玄坂店"})))
	d.behind(0, "title", `"彼らの店"`)
	u := d.done("batch.undo", stack.Args{"batch_id": w.BatchID})
	if u.Status != batch.Failed || u.Failures[0].ErrorCode != errs.VersionConflict || d.google(0, "title") != `"彼らの店"` {
		t.Errorf("%+v", u)
	}
}

// F110: hours of a whole year, and a hundred stores, stay within what clients take; what is left out is said.
func TestF110LocationAnswers(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 40})
	next := time.Date(time.Now().In(time.UTC).Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	whole := stack.Args{"special_hours": []any{map[string]any{"from": next.Format(time.DateOnly), "to": next.AddDate(0, 11, 30).Format(time.DateOnly), "open": "10:00", "close": "15:00"}}}
	var other []any
	for i := range 360 {
		other = append(other, map[string]any{"date": next.AddDate(0, 0, i).Format(time.DateOnly), "open": fmt.Sprintf("%02d:%02d", 8+i%3, i%60), "close": "20:00"})
	}
	for name, changes := range map[string]stack.Args{"one range": whole, "every day another": {"special_hours": other}} {
		p := d.previewOf("location.update", one(d.change(0, changes)))
		if !p.WouldExecute || len(p.Changes) != 1 || !hasWarning(p.ValidationWarnings, "BODY_NOT_SHOWN") || hasWarning(p.ValidationWarnings, "CHANGES_NOT_SHOWN") != (name != "one range") {
			t.Errorf("%s: %+v", name, p.ValidationWarnings)
		}
		if name == "one range" && string(p.Changes[0].After) != `{"special_hours":[{"from":"`+next.Format(time.DateOnly)+`","to":"`+next.AddDate(0, 11, 30).Format(time.DateOnly)+`","open":"10:00","close":"15:00"}]}` {
			t.Errorf("%s", p.Changes[0].After)
		}
	}
	v := d.done("location.update", one(d.change(0, stack.Args{"special_hours": other})))
	if v.Status != batch.Done || strings.Count(d.google(0, "specialHours"), "startDate") != 360 {
		t.Errorf("%+v", v)
	}
	if s := d.store(0); len(s.Fields.SpecialHours)+s.SpecialOmitted != 360 || s.SpecialOmitted == 0 {
		t.Errorf("%d shown, %d left out", len(s.Fields.SpecialHours), s.SpecialOmitted)
	}
	// A closed day in the middle of a year is one line among many.
	seen := map[int64]int{}
	page := d.changeAll(40, stack.Args{"regular_hours": []any{hours("monday", "10:00", "16:00")}, "labels": []string{"夜営業"}}).With("dry_run", true)
	for pages := 0; ; pages++ {
		p := stack.Into[tools.Write](t, d.call("location.update", page)).Preview
		for _, g := range p.Changes {
			for _, id := range g.LocationIDs {
				seen[id]++
			}
		}
		if p.NextPageToken == "" {
			break
		}
		if pages > 50 {
			t.Fatal("the pages do not end")
		}
		page = page.With("page_token", p.NextPageToken)
	}
	for _, id := range d.IDs(40) {
		if seen[id] != 1 {
			t.Errorf("store %d is on %d pages", id, seen[id])
		}
	}
}
