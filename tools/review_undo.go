package tools

import (
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// undoReply gives a review the reply that it had before an effect, byte for byte (no template is filled in), or deletes the
// reply where it had none. It binds what the effect left.
func undoReply(t admission.Target, _ time.Time, l errs.Locale) admission.Draft {
	if t.Resource == nil || t.Resource.DeletedAt != nil {
		return leftAlone(t, errs.T("このクチコミはもうありません。", "The review is gone."), l)
	}
	live, d := readReview(t, t.Prior.Version, l)
	if d != nil {
		return *d
	}
	before, err := gbp.ParseRemoteReview(t.Prior.Before)
	switch {
	case err != nil:
		return leftAlone(t, errs.T("以前の内容が残っていません。", "What it was before is not kept."), l)
	case before.Reply == nil && live.Reply == nil, before.Reply != nil && live.Says(before.Reply.Comment):
		return leftAlone(t, errs.T("すでに元の状態です。", "It is like before already."), l)
	case before.Reply == nil:
		return admission.Draft{Items: []admission.Planned{plannedUnreply(t, live)}}
	}
	return admission.Draft{Items: []admission.Planned{plannedReply(t, live, before.Reply.Comment)}}
}
