// Package worker carries out accepted items: it waits for a slot at Google, writes the attempt ahead, sends, and records
// the outcome together with the job's completion. One file runs any operation (execute.go); each kind of change has an
// executor that knows its call to Google and how to find its effect again.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// ErrFenced is what a runner gets whose attempt or item another runner has decided: it records nothing.
var ErrFenced = errors.New("fenced: another runner decided this first")

// Windows are the times around one call to Google.
type Windows struct {
	// Send is how long after its attempt row a runner may still begin to send; a stalled runner beyond it does not send.
	Send time.Duration
	// Call bounds the call itself.
	Call time.Duration
	// Settle is how long Google may take until a write is seen when reading back. No duplicate can arise while Google's lag stays below it.
	Settle time.Duration
	// GiveUp is how long an undecidable attempt is examined before the item ends as unknown.
	GiveUp time.Duration
	// Skew is how far Google's clock may be behind ours.
	Skew time.Duration
	// Follow is how long after its acceptance a write is asked about for the first time; each further time it doubles.
	Follow time.Duration
}

// Store is what a worker needs of PostgreSQL. complete, where given, runs in the same transaction and completes the job.
type Store interface {
	// Peek reads what is needed to ask for a slot, without locking.
	Peek(ctx context.Context, tenant authn.TenantID, id batch.ItemID) (Peek, error)
	// Begin decides under the item's lock what to do, and does what needs no call: opens an attempt, or ends the item. Without
	// a slot it opens none and asks the runner to come back.
	Begin(ctx context.Context, tenant authn.TenantID, id batch.ItemID, w Windows, t Turn, complete func(pgx.Tx) error) (Begun, error)
	// Retreat puts an item off whose target could not be read. Where that counts, it is one of the item's looks.
	Retreat(ctx context.Context, tenant authn.TenantID, id batch.ItemID, by time.Duration, counts bool) error
	// Finish closes the attempt and records the outcome. ErrFenced when another runner was faster.
	Finish(ctx context.Context, tenant authn.TenantID, b Begun, o Outcome, complete func(pgx.Tx) error) error
	// Postpone keeps an attempt open and examines it later. ErrFenced when it is closed.
	Postpone(ctx context.Context, tenant authn.TenantID, id batch.AttemptID, by time.Duration, looks int, note string) error
	// DueFollows takes decided items whose follow-up is due and puts each one's next off by lease, so that no two processes
	// follow one item.
	DueFollows(ctx context.Context, tenant authn.TenantID, limit int, lease time.Duration) ([]Due, error)
	// Followed records what a follow-up found about an item that was as due says; ErrFenced when it no longer is. Without a
	// state the item stays as it is and is looked at again after o.Follow.
	Followed(ctx context.Context, tenant authn.TenantID, due Due, o Outcome) error
	// EndWaiting ends all undecided items of a dead connection that have no open attempt with GOOGLE_RECONNECT_REQUIRED, and
	// gives how many of each batch. Items that a runner holds are left to it; a living connection ends none.
	EndWaiting(ctx context.Context, tenant authn.TenantID, connection string) ([]Ended, error)
	// Unclaimed filters Google's names for those that an attempt begun at since may have made.
	Unclaimed(ctx context.Context, tenant authn.TenantID, names []string, since time.Time) ([]string, error)
	// Undecided tells whether other items have attempts at the location whose outcome nobody knows yet.
	Undecided(ctx context.Context, tenant authn.TenantID, location gbp.LocationName, except batch.ItemID) (bool, error)
}

// Peek is an item as it stands before its turn, read without a lock.
type Peek struct {
	Item batch.Item
	User authn.UserID
	// WantsSlot is false when the item needs no write slot now: it is decided, will end unsent, has an attempt to examine, or
	// waits for a retry or for an older item with its content or target.
	WantsSlot bool
	// TargetGone is true when we know the target as deleted, by another item since this one was accepted.
	TargetGone bool
}

// Turn is what a runner brings to Begin.
type Turn struct {
	// Slot is true while the runner holds a write slot.
	Slot bool
	// Before is the target of an edit as it was read in this turn.
	Before json.RawMessage
	// GoogleCalls is how many exchanges with Google that reading took.
	GoogleCalls int
	// End, where set, is how the item ends instead of being sent: its target has shown that there is nothing to send.
	End *Outcome
}

// Begun is what Begin decided, with what it read.
type Begun struct {
	Decision batch.Decision
	Item     batch.Item
	Batch    batch.Batch
	Attempt  batch.Attempt
}

// Due is a decided item whose follow-up is due, with its last attempt.
type Due struct {
	Item    batch.Item
	Batch   batch.Batch
	Attempt batch.Attempt
	// Follows is how often it was followed before.
	Follows int
	// Gone is true when we know what the item made as deleted since.
	Gone bool
}

// Outcome is how an attempt ended and what becomes of its item.
type Outcome struct {
	Attempt batch.AttemptState
	// State is the item's state; empty when another attempt follows after RetryIn.
	State   batch.ItemState
	RetryIn time.Duration
	// Free gives the attempt back that another one follows: waiting for a spent quota costs none.
	Free          bool
	Code          errs.Code
	Error         *batch.ItemError
	RetryPossible bool
	Executed      errs.Executed
	Publication   batch.Publication
	Version       string
	After         json.RawMessage
	// AuditBefore and AuditAfter are cut down for the audit.
	AuditBefore json.RawMessage
	AuditAfter  json.RawMessage
	// ResourceName is Google's name of what was made, changed or deleted.
	ResourceName string
	// Mirror is the store's data after an edit of it, Attributes the list of its attributes; nil for other kinds.
	Mirror     *gbp.Location
	Attributes json.RawMessage
	// Found is the target of an edit as Google shows it although the edit is not why: reading it again shows what stands in the way.
	Found json.RawMessage
	// Already is true when there was nothing left to do.
	Already bool
	// Gone is true when Google does not know the target, or what was made, any more.
	Gone bool
	// Operator is who settled the item by his word, for Reason; "" where Google's answers did.
	Operator, Reason string
	// Looks is how often looking again found nothing, or not what the item left; 0 leaves the number as it is.
	Looks int
	// Follow is when Google is asked what became of it; 0 is never.
	Follow       time.Duration
	GoogleCalls  int
	GoogleStatus int
	Note         string
	// StopsBatch ends all items of the batch that have not started with the same code: the fault is ours, not the store's.
	StopsBatch bool
}

// FollowIn is Follow as a nullable interval.
func (o Outcome) FollowIn() *time.Duration {
	if o.Follow <= 0 {
		return nil
	}
	return &o.Follow
}

// Unsent is how an item ends that was decided without a call.
func Unsent(d batch.Decision, i batch.Item) Outcome {
	o := Outcome{State: d.State, Code: d.Code, RetryPossible: batch.RetryPossible(d.Code), Executed: errs.ExecutedNo}
	if d.State == batch.ItemSucceeded { // it was done before
		o.Already, o.Executed, o.Version = true, errs.ExecutedYes, i.Expected
		if i.Removes() {
			o.Publication = batch.Deleted
		}
		return o
	}
	text := batch.EndText(d.Code)
	o.Error = &batch.ItemError{JA: text.JA, EN: text.EN}
	return o
}
