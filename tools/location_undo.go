package tools

import (
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// undoLocationUpdate brings back what the fields of an item were, if they still are what it left. Fields that it did not touch
// may have changed since.
func undoLocationUpdate(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	p := t.Prior
	if profile.IsAttributes(p.Mask) {
		return undoAttributes(t, now, l)
	}
	before, err1 := profile.FromGoogle(p.Before)
	left, err2 := profile.FromGoogle(p.After)
	if err1 != nil || err2 != nil {
		return leftAlone(t, errs.T("以前の内容が残っていません。", "What it was before is not kept."), l)
	}
	fields, current := profile.Masked(p.Mask), profile.OfLocation(t.Location)
	if other := profile.VersionsOf(current, fields...).Other(profile.VersionsOf(left, fields...)); len(other) > 0 {
		return admission.Draft{Stale: &errs.ChangedTarget{LocationID: int64(t.Location.ID), Fields: other, CurrentVersion: t.Location.Version}}
	}
	return restored(t, current, profile.Inverse(before, t.Location.Name, p.Mask, nil).Describe(current, before), now, l)
}

// undoAttributes is undoLocationUpdate for attributes, which may not be known at the moment: the worker then finds out whether
// they still are what the item left.
func undoAttributes(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	p := t.Prior
	before, err1 := profile.Snapshot{}.WithAttributes(p.Before)
	left, err2 := profile.Snapshot{}.WithAttributes(p.After)
	if err1 != nil || err2 != nil {
		return leftAlone(t, errs.T("以前の内容が残っていません。", "What it was before is not kept."), l)
	}
	current := profile.OnlyAttributes(profile.OfLocation(t.Location), p.Mask)
	if current.Attributes == nil {
		current = left
	}
	if other := profile.AttributeVersions(current, p.Mask).Other(profile.AttributeVersions(left, p.Mask)); len(other) > 0 {
		return admission.Draft{Stale: &errs.ChangedTarget{LocationID: int64(t.Location.ID), Fields: other, CurrentVersion: t.Location.Version}}
	}
	before = profile.OnlyAttributes(before, p.Mask)
	return restored(t, current, profile.Inverse(before, t.Location.Name, nil, p.Mask).Describe(current, before), now, l)
}

func restored(t admission.Target, current profile.Snapshot, p profile.Patch, now time.Time, l errs.Locale) admission.Draft {
	if len(p.Changed) == 0 {
		return leftAlone(t, errs.T("すでに以前の内容です。", "It is what it was before already."), l)
	}
	warnings := p.Expect(storeContext(t, "", now, l))
	d := plannedStore(t, current, p, "", l)
	d.Warnings = append(warnings, d.Warnings...)
	return d
}

// retryLocationUpdate is a failed item as it was accepted, if its fields still are what they were then.
func retryLocationUpdate(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	p := t.Prior
	current, patch := profile.OfLocation(t.Location), profile.Stored(p.Payload, p.Mask)
	bound := profile.VersionsOf(current, profile.Masked(p.Mask)...)
	if profile.IsAttributes(p.Mask) {
		current = profile.OnlyAttributes(current, p.Mask)
		bound = profile.AttributeVersions(current, p.Mask)
	}
	if p.Expected != "" && bound != nil && len(profile.ParseVersions(p.Expected).Other(bound)) > 0 {
		return leftAlone(t, errs.T("受付の後に変更されたため、再実行しません。", "It was changed after it was accepted and is not sent again."), l)
	}
	patch = patch.Describe(current, patch.After(current))
	warnings := patch.Expect(storeContext(t, "", now, l))
	d := plannedStore(t, current, patch, "", l)
	d.Warnings = append(warnings, d.Warnings...)
	for i := range d.Items {
		d.Items[i].Expected = p.Expected
		if len(d.Items[i].Fields) == 0 { // it is there by now; whose right it needs stays the same
			d.Items[i].Fields = slices.Concat(profile.EditedBy(p.Mask)...)
		}
		d.Items[i].Origin = p.ID
	}
	return d
}
