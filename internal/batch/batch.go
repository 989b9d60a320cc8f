// Package batch is an accepted write and its life: a Batch has Items, one per store; an Item has Attempts, one per time
// that something was sent to Google for it. The package is pure; internal/postgres stores it.
//
//	batch: queued → processing → done | partial | failed
//	       queued → cancelled
//	item:  queued → processing → succeeded | failed | unknown
//	       queued → failed | cancelled
//	       unknown → succeeded | failed          (decided later, recorded)
//	       succeeded → failed                    (rejected by Google later, recorded)
//	attempt: open → succeeded | refused | not_sent | found | absent | unknown | given_up
//	       unknown | given_up → found | absent   (decided later, recorded)
//
// An attempt is committed before anything is sent (write-ahead), and closing it is a guarded update: of two runners of one
// item only one closes it, and only that one may record an outcome.
package batch

import (
	"encoding/json"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Ids are distinct types.
type (
	// ID is a batch's ULID.
	ID string
	// ItemID is an item's ULID.
	ItemID string
	// AttemptID is a number of the database.
	AttemptID int64
)

// Status is a batch's status.
type Status string

// The statuses of a batch.
const (
	AwaitingApproval Status = "awaiting_approval"
	Queued           Status = "queued"
	Processing       Status = "processing"
	Done             Status = "done"
	Partial          Status = "partial"
	Failed           Status = "failed"
	Cancelled        Status = "cancelled"
)

// Final tells whether nothing more happens by itself.
func (s Status) Final() bool { return s == Done || s == Partial || s == Failed || s == Cancelled }

// ItemState is an item's state.
type ItemState string

// The states of an item.
const (
	ItemQueued     ItemState = "queued"
	ItemProcessing ItemState = "processing"
	ItemSucceeded  ItemState = "succeeded"
	ItemFailed     ItemState = "failed"
	ItemCancelled  ItemState = "cancelled"
	ItemUnknown    ItemState = "unknown"
)

// Final tells whether the item counts as decided in its batch.
func (s ItemState) Final() bool { return s != ItemQueued && s != ItemProcessing }

// AttemptState is an attempt's state; open and unknown ones are undecided and block the same content at the same location.
type AttemptState string

// The states of an attempt.
const (
	AttemptOpen      AttemptState = "open"
	AttemptUnknown   AttemptState = "unknown"
	AttemptSucceeded AttemptState = "succeeded" // Google answered with the new resource
	AttemptRefused   AttemptState = "refused"   // Google said no, or it certainly never left
	AttemptNotSent   AttemptState = "not_sent"  // the runner stalled past its send window and did not send
	AttemptFound     AttemptState = "found"     // reading Google back found the effect
	AttemptAbsent    AttemptState = "absent"    // reading Google back, twice, found nothing
	AttemptGivenUp   AttemptState = "given_up"  // an edit whose outcome nobody could read; the next edit reads the target first
)

// Publication says what Google makes of an accepted write.
type Publication string

// The publication states. Google can accept and reject later.
const (
	Accepted      Publication = "accepted"
	Scheduled     Publication = "scheduled"
	Live          Publication = "live"
	PendingReview Publication = "pending_review"
	Rejected      Publication = "rejected"
	Deleted       Publication = "deleted"
)

// PublicationOf maps Google's post state.
func PublicationOf(googleState string) Publication {
	switch googleState {
	case gbp.PostLive, gbp.PostRecurring:
		return Live
	case gbp.PostScheduled:
		return Scheduled
	case gbp.PostProcessing:
		return PendingReview
	case gbp.PostRejected:
		return Rejected
	}
	return Accepted
}

// Counts are a batch's items by outcome. They are changed in the same transaction as the item, so that they cannot drift.
type Counts struct {
	Target, Success, Failure, Cancelled, Unknown int
}

// Pending is how many items are not decided.
func (c Counts) Pending() int { return c.Target - c.Success - c.Failure - c.Cancelled - c.Unknown }

// Status is the status that the counts alone determine for a batch that has started.
func (c Counts) Status() Status {
	switch {
	case c.Pending() > 0:
		return Processing
	case c.Success == c.Target:
		return Done
	case c.Failure == c.Target:
		return Failed
	case c.Cancelled == c.Target:
		return Cancelled
	}
	return Partial
}

// Public is the counts in the contract's words.
func (c Counts) Public() errs.Counts {
	return errs.Counts{Success: c.Success, Failure: c.Failure, Cancelled: c.Cancelled, Unknown: c.Unknown, Pending: c.Pending()}
}

// Assurance is how much is known about a person's consent.
type Assurance string

// The levels of assurance.
const (
	AssuranceNone     Assurance = "none"
	AssuranceToken    Assurance = "token"
	AssuranceElicited Assurance = "elicited"
	AssuranceApproved Assurance = "approved"
	AssuranceDual     Assurance = "dual"
)

// OnFailure says whether a permanent failure stops items that have not started.
type OnFailure string

// The two choices.
const (
	OnFailureContinue OnFailure = "continue"
	OnFailureStop     OnFailure = "stop"
)

// Batch is one accepted write.
type Batch struct {
	Tenant        authn.TenantID
	ID            ID
	Operation     string
	Status        Status
	Environment   string
	Client        authn.ClientID
	User          authn.UserID
	Token         authn.TokenID
	RequestID     string
	Assurance     Assurance
	PolicyVersion int
	Locale        errs.Locale
	OnFailure     OnFailure
	// Canonical is the canonical input whose digest is InputHash.
	Canonical     []byte
	InputHash     []byte
	PreviewDigest []byte
	// ConfirmTokenHash is set when a confirm token was spent; a unique constraint makes it single use.
	ConfirmTokenHash []byte
	// Origin is the batch that an undo or a retry is about; "" otherwise.
	Origin ID
	// Kind is what its items are about: one kind in all of them.
	Kind gbp.Kind
	// Undoable is true for a finished batch that an undo would find something of to take back, however old it is.
	Undoable     bool
	Counts       Counts
	Stopped      bool
	CreatedAt    time.Time
	SendDeadline time.Time
	StartedAt    time.Time
	FinishedAt   time.Time
}

// Item is the effect on one store.
type Item struct {
	ID           ItemID
	Batch        ID
	Ordinal      int
	Operation    string
	Location     gbp.LocationID
	Connection   string
	Account      gbp.AccountName
	LocationName gbp.LocationName
	Title        string
	Kind         gbp.Kind
	State        ItemState
	// TargetName and TargetID are Google's name and our id of what is changed or deleted; "" for what is created.
	TargetName string
	TargetID   string
	// Expected is the digest of what must still be at Google when an edit is sent.
	Expected string
	// Payload are the exact bytes for Google, Mask the fields of a partial update in Google's spelling.
	Payload []byte
	Mask    []string
	// Fingerprint is what must not be written twice at once at one location: the content of a create, the target of an edit.
	Fingerprint []byte
	// Origin is the item that an undo or a retry is about; "" otherwise.
	Origin ItemID
	// Looks is how often reading the target before a write failed.
	Looks int
	// Units is what a report is billed by; 0 for a write.
	Units int
	// Already is true when there was nothing left to do.
	Already bool
	// Before is the target as it was read just before the first attempt.
	Before        json.RawMessage
	After         json.RawMessage
	Version       string
	Publication   Publication
	ResourceName  string
	ResourceID    string
	ErrorCode     errs.Code
	Error         *ItemError
	RetryPossible bool
	Executed      errs.Executed
	// Attempts is how often the item was tried: an attempt that was not sent, or that a spent quota refused, is given back.
	Attempts int
	// Tried is true when an attempt may have had its effect: one that was not refused, left unsent, or seen to be absent. Where
	// the target is read (Peek, Begin, DueFollows) it is filled in.
	Tried       bool
	GoogleCalls int
	CreatedAt   time.Time
	FinishedAt  time.Time
}

// Edits tells whether the item changes or deletes something that exists.
func (i Item) Edits() bool { return i.TargetName != "" }

// Removes tells whether the item wants something to be gone: a post, a photo, a reply.
func (i Item) Removes() bool {
	return i.Operation == "post.delete" || i.Operation == "media.delete" || i.Operation == "review.delete_reply"
}

// ItemError is what is kept of an item's failure: the message in both languages and what Google said.
type ItemError struct {
	JA     string            `json:"ja"`
	EN     string            `json:"en"`
	Google *errs.GoogleFault `json:"google,omitempty"`
}

// In is the message in one language.
func (e *ItemError) In(l errs.Locale) string {
	if e == nil {
		return ""
	}
	return errs.T(e.JA, e.EN).In(l)
}

// Attempt is one write-ahead record of a call to Google.
type Attempt struct {
	ID        AttemptID
	No        int
	State     AttemptState
	StartedAt time.Time
	// ExamineAfter is how long until the attempt may be examined by reading Google back; zero or negative: now.
	ExamineAfter time.Duration
	// Looks is how often reading back found nothing.
	Looks int
}

// PollAfterSeconds is how long an agent should wait before asking again: nil for a final batch.
func PollAfterSeconds(s Status, targets int) *int {
	n := 5
	switch {
	case s.Final():
		return nil
	case s == AwaitingApproval:
		n = 30
	case s == Processing && targets > 5:
		n = 10
	}
	return &n
}

// Filter narrows a list of batches; zero values do not narrow.
type Filter struct {
	Status Status
	Since  time.Time
	User   authn.UserID
	// Before is the id behind which the page starts; lists run from new to old.
	Before ID
	Limit  int
	Grants authn.Grants
}

// ItemFilter narrows the items of one batch; zero values do not narrow.
type ItemFilter struct {
	// FailuresOnly leaves failed and unknown items.
	FailuresOnly bool
	// From is the ordinal of the first item of the page.
	From  int
	Limit int
}

// Cancellation is what a cancellation found and did.
type Cancellation struct {
	// Already is true when the batch was cancelled before.
	Already bool
	Batch   Batch
	// InFlight is how many items were started and may still have their effect.
	InFlight int
}
