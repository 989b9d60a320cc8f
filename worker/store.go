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
}

// Store is what a worker needs of PostgreSQL. complete, where given, runs in the same transaction and completes the job.
type Store interface {
	// Peek reads what is needed to ask for a slot, without locking.
	Peek(ctx context.Context, tenant authn.TenantID, id batch.ItemID) (Peek, error)
	// Begin decides under the item's lock what to do, and does what needs no call: opens an attempt, or ends the item. Without
	// a slot it opens none and asks the runner to come back.
	Begin(ctx context.Context, tenant authn.TenantID, id batch.ItemID, w Windows, slot bool, complete func(pgx.Tx) error) (Begun, error)
	// Finish closes the attempt and records the outcome. ErrFenced when another runner was faster.
	Finish(ctx context.Context, tenant authn.TenantID, b Begun, o Outcome, complete func(pgx.Tx) error) error
	// Postpone keeps an attempt open and examines it later. ErrFenced when it is closed.
	Postpone(ctx context.Context, tenant authn.TenantID, id batch.AttemptID, by time.Duration, looks int, note string) error
	// EndWaiting ends all undecided items of a dead connection that have no open attempt with GOOGLE_RECONNECT_REQUIRED, and
	// gives how many of each batch. Items that a runner holds are left to it; a living connection ends none.
	EndWaiting(ctx context.Context, tenant authn.TenantID, connection string) ([]Ended, error)
	// Unclaimed filters Google's names for those that an attempt begun at since may have made.
	Unclaimed(ctx context.Context, tenant authn.TenantID, names []string, since time.Time) ([]string, error)
}

// Peek is an item as far as asking for a slot needs it.
type Peek struct {
	Operation  string
	Connection string
	Location   gbp.LocationName
	User       authn.UserID
	// WantsSlot is false when the item needs no write slot now: it is decided, will end unsent, has an attempt to examine, or
	// waits for a retry or for an older item with its content.
	WantsSlot bool
}

// Begun is what Begin decided, with what it read.
type Begun struct {
	Decision batch.Decision
	Item     batch.Item
	Batch    batch.Batch
	Attempt  batch.Attempt
}

// Outcome is how an attempt ended and what becomes of its item.
type Outcome struct {
	Attempt batch.AttemptState
	// State is the item's state; empty when another attempt follows after RetryIn.
	State         batch.ItemState
	RetryIn       time.Duration
	Code          errs.Code
	Error         *batch.ItemError
	RetryPossible bool
	Executed      errs.Executed
	Publication   batch.Publication
	Version       string
	After         json.RawMessage
	// AuditAfter is After cut down for the audit.
	AuditAfter   json.RawMessage
	ResourceKind string
	ResourceName string
	GoogleCalls  int
	GoogleStatus int
	Note         string
	// StopsBatch ends all items of the batch that have not started with the same code: the fault is ours, not the store's.
	StopsBatch bool
}
