package tools

import (
	"errors"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

func undoMediaUpload(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	switch {
	case t.Resource == nil:
		return nameless(t, l)
	case t.Resource.DeletedAt != nil:
		return leftAlone(t, errs.T("この写真・動画はもうありません。", "The photo or video is gone already."), l)
	}
	return planMediaDelete(t, t.Prior.Version, l)
}

func undoMediaDelete(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	if t.Resource != nil && t.Resource.DeletedAt == nil {
		return leftAlone(t, errs.T("この写真・動画は公開されています。", "The photo or video is there."), l)
	}
	item, err := gbp.RecreatedMedia(t.Prior.Before)
	if err != nil {
		return leftAlone(t, whyLost(err), l)
	}
	if f := t.Files[item.Source()]; f.Refusal != nil {
		return leftAlone(t, unusable(*f.Refusal), l)
	}
	d := admission.Draft{Items: []admission.Planned{plannedUpload(t, item, "batch_id", gbp.RenderedMedia{Source: item.Source()})}}
	warn := func(code string, t2 errs.Text) {
		d.Warnings = append(d.Warnings, gbp.Warning{LocationID: t.Location.ID, Code: code, Message: t2.In(l)})
	}
	warn("NEW_ID", errs.T("追加し直した写真・動画は、新しい ID と日時になります。", "The photo or video that is added again has a new id and time."))
	if c := item.LocationAssociation.Category; c.Replaces() {
		warn("REPLACES_PHOTO", errs.Tf("今の %s の写真は置き換えられます。", "The present %s photo is replaced.", c))
	}
	return d
}

// whyLost says why a deleted item cannot be made anew.
func whyLost(err error) errs.Text {
	switch {
	case errors.Is(err, gbp.ErrNoSource):
		return errs.T("元のファイルの URL が分からないため、元に戻せません。", "The address that it came from is not known, so it cannot be brought back.")
	case errors.Is(err, gbp.ErrPriceList):
		return errs.T("価格表の写真のため、元に戻せません。", "It is a picture of a price list, which cannot be brought back.")
	}
	return errs.T("以前の内容が残っていません。", "What it was before is not kept.")
}

// unusable says that a file is no longer what Google would take.
func unusable(f gbp.FileRefusal) errs.Text {
	return errs.T("元のファイルが使えません: "+f.Text.JA, "The file that it came from cannot be used: "+f.Text.EN)
}

// priorSources are the files that undoing or retrying an earlier item would hand to Google again.
func priorSources(t admission.Target) []gbp.Source {
	switch p := t.Prior; p.Operation {
	case "media.delete":
		if item, err := gbp.RecreatedMedia(p.Before); err == nil {
			return []gbp.Source{item.Source()}
		}
	case "post.delete":
		if t.Resource != nil && t.Resource.DeletedAt == nil {
			return nil
		}
		if post, err := gbp.Recreated(p.Before, time.Time{}); err == nil {
			return gbp.SentSources(gbp.KindPost, post.Encode())
		}
	}
	return nil
}
