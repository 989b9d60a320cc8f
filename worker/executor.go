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

// Executor performs one kind of change. Retry, slots, attempts, audit and completion are execute.go's.
type Executor interface {
	// Operation is the tool's name.
	Operation() string
	// API is the Google API whose quota a call spends.
	API() string
	// Send makes exactly one call. Errors are *gbpapi.Error.
	Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error)
	// Find reads Google back and gives the effects that could be this item's, oldest first, made at since or later. When it
	// could not read everything and found nothing, it fails: absence was not seen.
	Find(ctx context.Context, tenant authn.TenantID, i batch.Item, since time.Time) ([]Effect, error)
}

// Effect is what a write left at Google.
type Effect struct {
	Kind        string
	Name        string
	Version     string
	Publication batch.Publication
	After       json.RawMessage
	AuditAfter  json.RawMessage
}

// outcome is the successful or rejected end of an item whose effect exists.
func (e Effect) outcome(s batch.AttemptState) Outcome {
	o := Outcome{
		Attempt: s, State: batch.ItemSucceeded, Executed: errs.ExecutedYes, Publication: e.Publication, Version: e.Version,
		After: e.After, AuditAfter: e.AuditAfter, ResourceKind: e.Kind, ResourceName: e.Name, GoogleCalls: 1,
	}
	if e.Publication == batch.Rejected {
		o.State, o.Code = batch.ItemFailed, errs.GBPContentRejected
		o.Error = &batch.ItemError{
			JA: "Google は投稿を受け取りましたが、内容を理由に公開を拒否しました (理由は示されません)。電話番号や禁止表現がないか確認してください。",
			EN: "Google took the post and refused to publish its content, giving no reason. Look for phone numbers or forbidden wording.",
		}
	}
	return o
}

// Posts is what post executors need of the Google client.
type Posts interface {
	CreateLocalPost(ctx context.Context, ref gbpapi.Ref, parent string, body []byte) (gbp.RemotePost, error)
	AllLocalPosts(ctx context.Context, ref gbpapi.Ref, parent string, maxPages int) (gbpapi.PostList, error)
}
