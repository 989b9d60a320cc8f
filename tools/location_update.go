package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func locationUpdateDescription(environment string) string {
	return "Changes store data (hours, phone numbers, website, description, name, categories, status, labels, code, attributes) of 1 to 100 stores' public Google Business Profiles (environment: " + environment + "). " +
		"Fields that are left out stay as they are; hours name only the days or dates to change; a field is emptied by naming it in clear. Address and language cannot be changed. " +
		"Every call without dry_run writes; it is accepted as a batch and carried out in the background: follow it with batch.status. Google reviews edits: they become visible within minutes to days, or are reverted. " +
		"batch.undo brings the previous values back. Each store needs the version that location.list or location.get gave as expected_version; a field that changed since is left alone with VERSION_CONFLICT. " +
		"The same idempotency_key and arguments twice have one effect. Confirm the change with the user; the server enforces it: from 3 stores on, for title, categories and open_status, for links or phone numbers that are not the tenant's own, and where Google shows its own version of a field, it refuses with CONFIRMATION_REQUIRED until confirm_token comes back with the same arguments. " +
		"A user may be limited to some fields (limits.get)."
}

func locationUpdateInput() schema.Object {
	update := schema.Object{Fields: []schema.Field{
		schema.LocationID("location_id", "Id of the store, from location.list.", schema.Required(), schema.Example("8802")),
		expectedVersion("location.list or location.get", schema.Required()),
		schema.Nested("changes", "The fields to change.", changesObject(), schema.Required()),
	}}
	fields := []schema.Field{
		schema.List("updates", "Stores to change, 1 to 100, each once.", schema.Nested("", "One store's changes.", update), schema.Required(), schema.Items(1, 100)),
	}
	return schema.Object{Fields: append(fields, safety(true)...)}
}

type locationUpdateChange struct{ profile.Update }

// References implements admission.Change.
func (c locationUpdateChange) References() admission.References {
	var r admission.References
	for _, u := range c.Updates {
		r.Locations = append(r.Locations, u.LocationID)
	}
	return r
}

// Headline implements admission.Change: the fields that are named.
func (c locationUpdateChange) Headline() string {
	var named []string
	for _, u := range c.Updates {
		named = append(named, u.Changes.Named()...)
	}
	return strings.Join(distinct(named), ", ")
}

// Plan implements admission.Change.
func (c locationUpdateChange) Plan(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	i := slices.IndexFunc(c.Updates, func(u profile.StoreUpdate) bool { return u.LocationID == t.Location.ID })
	u, at := c.Updates[i], fmt.Sprintf("updates[%d].changes", i)
	if v := t.Location.Version; u.ExpectedVersion != v {
		return admission.Draft{Stale: &errs.ChangedTarget{LocationID: int64(t.Location.ID), Fields: []string{"version"}, CurrentVersion: v}}
	}
	in := storeContext(t, at, now, l)
	p, violations, warnings := profile.Apply(profile.OfLocation(t.Location), u.Changes, in)
	switch {
	case len(violations) == 1 && violations[0].Rule == nothingChanges && len(c.Updates) > 1: // the others are not refused for it
		return leftAlone(t, errs.T("すでにこの内容です。", "It says this already."), l)
	case len(violations) > 0:
		return admission.Draft{Violations: violations, Warnings: warnings}
	}
	d := plannedStore(t, profile.OfLocation(t.Location), p, at, l)
	d.Warnings = append(warnings, d.Warnings...)
	return d
}

// nothingChanges is profile's rule for a change that changes nothing.
const nothingChanges = "nothing_changes"

func storeContext(t admission.Target, at string, now time.Time, l errs.Locale) profile.Context {
	return profile.Context{Location: t.Location, At: at, Now: now, Locale: l, GoogleUpdate: profile.GoogleUpdateOf(t.Location.GoogleVersion)}
}

// plannedStore are the items of a patch of one store: one for its fields, one for its attributes, which are another resource of
// Google's. They have one fingerprint, so that the writes of a store happen one after the other.
func plannedStore(t admission.Target, current profile.Snapshot, p profile.Patch, at string, l errs.Locale) admission.Draft {
	var d admission.Draft
	name := string(t.Location.Name)
	plan := func(changed []profile.FieldChange, bound profile.Versions, body []byte, mask []string) {
		x := admission.Planned{
			Location: t.Location, Operation: "location.update", Kind: gbp.KindLocation, TargetName: name, Fingerprint: gbp.TargetFingerprint(name), At: at,
			Expected: bound.String(), Bound: bound, Payload: body, Mask: mask, Confirm: confirmStore(changed, p.Contested),
			Line: changeLine(t.Location, changed, l),
		}
		for _, c := range changed {
			x.Fields = append(x.Fields, c.Field)
			x.Irreversible = x.Irreversible || c.ClosesForGood()
		}
		if len(d.Items) == 0 {
			x.Links, x.Phones = p.Links, p.Phones
		}
		shown, omitted := shownChanges(changed)
		if omitted > 0 {
			d.Warnings = append(d.Warnings, gbp.Warning{LocationID: t.Location.ID, Code: "CHANGES_NOT_SHOWN", Message: errs.Tf("変更が多いため、特別営業時間の %d 件はここに表示していません。", "There is too much to show: %d entries of special hours are left out here.", omitted).In(l)})
		}
		x.Before, x.After, x.Sent = profile.Words(shown, false), profile.Words(shown, true), gbp.View(body)
		if len(body) > sentMost {
			x.Sent = nil
			d.Warnings = append(d.Warnings, gbp.Warning{LocationID: t.Location.ID, Code: "BODY_NOT_SHOWN", Message: errs.Tf("送信内容 (%d バイト) は長いため、ここには表示しません。", "The body as it is sent (%d bytes) is too long to be shown here.", len(body)).In(l)})
		}
		d.Items = append(d.Items, x)
	}
	fields := slices.DeleteFunc(slices.Clone(p.Changed), func(c profile.FieldChange) bool { return c.Field == profile.Attributes })
	if len(p.Mask) > 0 {
		plan(fields, profile.VersionsOf(current, profile.Masked(p.Mask)...), p.Body, p.Mask)
	}
	if len(p.AttributeMask) > 0 {
		attributes := slices.DeleteFunc(slices.Clone(p.Changed), func(c profile.FieldChange) bool { return c.Field != profile.Attributes })
		plan(attributes, profile.AttributeVersions(current, p.AttributeMask), p.AttributeBody, p.AttributeMask)
	}
	return d
}

// confirmStore is why a person has to agree to a change of these fields, whatever the number of stores.
func confirmStore(changed []profile.FieldChange, contested []string) string {
	sensitive := []string{profile.Title, profile.CategoryField, profile.OpenStatus}
	switch {
	case slices.ContainsFunc(changed, func(c profile.FieldChange) bool { return slices.Contains(sensitive, c.Field) }):
		return "sensitive_field"
	case slices.ContainsFunc(changed, func(c profile.FieldChange) bool { return slices.Contains(contested, c.Field) }):
		return "overrides_google"
	}
	return ""
}

func locationUpdate(s *Set) (Tool, error) {
	input := locationUpdateInput()
	t := Tool{
		Name: "location.update", Title: "Change store data", Scope: "locations:write", Destructive: true, Idempotent: true, OpenWorld: true,
		Description: locationUpdateDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope,
		Parse: func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
			var args struct {
				profile.Update
				admission.Safety
			}
			if violations := decode(input, raw, &args, l); len(violations) > 0 {
				return nil, admission.Safety{}, violations
			}
			violations := pageTokenViolations(args.Safety, l)
			seen, codes := map[gbp.LocationID]bool{}, map[string]bool{}
			for i, u := range args.Updates {
				if seen[u.LocationID] {
					violations = append(violations, twice(fmt.Sprintf("updates[%d].location_id", i), fmt.Sprint(u.LocationID), l))
				}
				if code := u.Changes.StoreCode; code != "" && codes[code] { // unique within a Google account
					violations = append(violations, errs.Violation{
						Path: fmt.Sprintf("updates[%d].changes.store_code", i), Rule: "duplicate", Value: code, LocationID: int64(u.LocationID),
						Message: errs.T("同じ店舗コードを 2 店舗に付けることはできません。", "Two stores cannot have one store code.").In(l),
					})
				}
				seen[u.LocationID], codes[u.Changes.StoreCode] = true, true
			}
			return locationUpdateChange{args.Normalise()}, args.Safety, violations
		},
		Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"what people saw meanwhile"}},
		Ask: func(n int, stores, headline string) errs.Text {
			return errs.Tf("店舗情報 (%[3]s) を変更します: %[2]s (%[1]d 件)。よろしいですか？", "This will change store data (%[3]s) of %[2]s (%[1]d change(s)). Go ahead?", n, stores, headline)
		},
		Nothing: func(l errs.Locale) *errs.Error {
			return nothing(l, "updates", nothingChanges, errs.T("どの店舗もすでにこの内容です。変更はありません。", "All of the stores say this already; nothing would change."))
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
