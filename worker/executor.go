package worker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
)

// Executor performs one kind of change. Retry, slots, attempts, audit and completion are execute.go's. An executor is a
// Creator or an Editor, whichever its change is.
type Executor interface {
	// Operation is the effect's name, as in batch.Item.
	Operation() string
	// API is the Google API whose quota a call spends.
	API() string
	// Send makes exactly one call. Errors are *gbpapi.Error.
	Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error)
}

// Creator makes something new. Google takes the same content twice, so after an unclear answer it is looked for.
type Creator interface {
	Executor
	// Find reads Google back and gives the effects that could be this item's, oldest first, made at since or later. When it
	// could not read everything and found nothing, it fails: absence was not seen.
	Find(ctx context.Context, tenant authn.TenantID, i batch.Item, since time.Time) ([]Effect, error)
}

// Editor changes or deletes what exists. Repeating it leaves the same state, so it is decided by reading the target: before
// it is sent, and again after an unclear answer.
type Editor interface {
	Executor
	// Look reads the item's target. Google's GBP_NOT_FOUND comes back as it is.
	Look(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error)
	// Deletes tells whether the target itself goes away, so that its absence after an attempt is success.
	Deletes() bool
}

// Sight is an edit's target as Google shows it.
type Sight struct {
	// Version is to be compared with batch.Item.Expected.
	Version string
	// Done is true when the target is as the item wants it; Effect says how then.
	Done   bool
	Effect Effect
	// Before is everything that an undo needs; AuditBefore is it cut down.
	Before      json.RawMessage
	AuditBefore json.RawMessage
}

// Effect is what a write left at Google.
type Effect struct {
	// Name is Google's name of what was made or changed.
	Name        string
	Version     string
	Publication batch.Publication
	// Rejection is Google's reason for a rejected publication, where it gives one.
	Rejection  string
	After      json.RawMessage
	AuditAfter json.RawMessage
	// Doubtful is true for a Follow that did not find what the item left and cannot tell why: Google may be late to show it. It
	// counts only after several such looks.
	Doubtful bool
	// Mirror is a store's data after an edit of it, Attributes the list of its attributes.
	Mirror     *gbp.Location
	Attributes json.RawMessage
	// Perhaps is true when only kind and time say that the effect is an item's: it is taken for it while nothing else could be
	// meant.
	Perhaps bool
}

// outcome is the successful or rejected end of an item whose effect exists.
func (e Effect) outcome(s batch.AttemptState) Outcome {
	o := Outcome{
		Attempt: s, State: batch.ItemSucceeded, Executed: errs.ExecutedYes, Publication: e.Publication, Version: e.Version,
		After: e.After, AuditAfter: e.AuditAfter, ResourceName: e.Name, Mirror: e.Mirror, Attributes: e.Attributes, GoogleCalls: 1,
	}
	if e.Publication == batch.Rejected {
		o.State, o.Code = batch.ItemFailed, errs.GBPContentRejected
		t := rejectedText(e.Rejection)
		o.Error = &batch.ItemError{JA: t.JA, EN: t.EN}
	}
	return o
}

// rejectedText says that Google took a text and refuses to publish it. Posts come without a reason, replies with one.
func rejectedText(reason string) errs.Text {
	if reason == "" {
		return errs.T("Google は受け取りましたが、内容を理由に公開を拒否しました (理由は示されません)。電話番号や禁止表現がないか確認してください。",
			"Google took it and refused to publish its content, giving no reason. Look for phone numbers or forbidden wording.")
	}
	return errs.Tf("Google は受け取りましたが、内容を理由に公開を拒否しました (%s)。", "Google took it and refused to publish its content (%s).", reason)
}

// Media is what media executors need of the Google client.
type Media interface {
	CreateMedia(ctx context.Context, ref gbpapi.Ref, parent string, body []byte) (gbp.RemoteMedia, error)
	AllMedia(ctx context.Context, ref gbpapi.Ref, parent string, maxPages int) (gbpapi.MediaList, error)
	GetMedia(ctx context.Context, ref gbpapi.Ref, name gbp.MediaName) (gbp.RemoteMedia, error)
	DeleteMedia(ctx context.Context, ref gbpapi.Ref, name gbp.MediaName) error
}

// Posts is what post executors need of the Google client.
type Posts interface {
	CreateLocalPost(ctx context.Context, ref gbpapi.Ref, parent string, body []byte) (gbp.RemotePost, error)
	AllLocalPosts(ctx context.Context, ref gbpapi.Ref, parent string, maxPages int) (gbpapi.PostList, error)
	GetLocalPost(ctx context.Context, ref gbpapi.Ref, name gbp.PostName) (gbp.RemotePost, error)
	PatchLocalPost(ctx context.Context, ref gbpapi.Ref, name gbp.PostName, body []byte, mask []string) (gbp.RemotePost, error)
	DeleteLocalPost(ctx context.Context, ref gbpapi.Ref, name gbp.PostName) error
}
