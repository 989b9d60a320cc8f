// Package audit is the record of who changed what, when, from what to what, and on whose word.
//
// Events are appended in the transaction of the effect they describe. A sealing job chains them afterwards, per tenant, up
// to the point below which no transaction can still add one; so the chain costs the write path nothing. The canonical body
// bytes of an event are what is hashed and exported: everything else in its row is derived from them for searching.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Kind is what happened.
type Kind string

// The kinds of events.
const (
	Preview              Kind = "preview"
	AdmissionRefused     Kind = "admission_refused"
	ConfirmTokenIssued   Kind = "confirm_token_issued"
	ConfirmTokenAccepted Kind = "confirm_token_accepted"
	ConfirmTokenRefused  Kind = "confirm_token_refused"
	BatchDispatched      Kind = "batch_dispatched"
	ItemStarted          Kind = "item_started"
	ItemSucceeded        Kind = "item_succeeded"
	ItemFailed           Kind = "item_failed"
	ItemUnknown          Kind = "item_unknown"
	ItemResolved         Kind = "item_resolved"
	ItemCancelled        Kind = "item_cancelled"
	PublicationChanged   Kind = "publication_changed"
	BatchFinished        Kind = "batch_finished"
	RateLimited          Kind = "rate_limited"
	CancelRequested      Kind = "cancel_requested"
	UndoRequested        Kind = "undo_requested"
	RetryRequested       Kind = "retry_requested"
	IdempotentReplay     Kind = "idempotent_replay"
	KillSwitchChanged    Kind = "kill_switch_changed"
	TokenCreated         Kind = "token_created"
	TokenRevoked         Kind = "token_revoked"
	GrantChanged         Kind = "grant_changed"
	PolicyChanged        Kind = "policy_changed"
	ConnectionAdded      Kind = "connection_added"
	ConnectionRefreshed  Kind = "connection_refreshed"
	ConnectionDead       Kind = "connection_dead"
	ConnectionRemoved    Kind = "connection_removed"
	KeysRotated          Kind = "keys_rotated"
	LocationsSynced      Kind = "locations_synced"
	ReportBilled         Kind = "report_billed"
	LoginFailed          Kind = "login_failed"
	AuditRead            Kind = "audit_read"
)

// Kinds are the words for all kinds of events.
func Kinds() []string {
	all := []Kind{
		Preview, AdmissionRefused, ConfirmTokenIssued, ConfirmTokenAccepted, ConfirmTokenRefused, BatchDispatched, ItemStarted, ItemSucceeded,
		ItemFailed, ItemUnknown, ItemResolved, ItemCancelled, PublicationChanged, BatchFinished, RateLimited, CancelRequested,
		UndoRequested, RetryRequested, IdempotentReplay, KillSwitchChanged, TokenCreated, TokenRevoked, GrantChanged, PolicyChanged,
		ConnectionAdded, ConnectionRefreshed, ConnectionDead, ConnectionRemoved, KeysRotated, LocationsSynced, ReportBilled, LoginFailed, AuditRead,
	}
	out := make([]string, len(all))
	for i, k := range all {
		out[i] = string(k)
	}
	return out
}

// Event is one row. Field order is the order of the canonical bytes; add fields at the end only.
type Event struct {
	ID            string          `json:"event_id"`
	Tenant        authn.TenantID  `json:"tenant_id"`
	OccurredAt    time.Time       `json:"occurred_at"`
	Environment   string          `json:"environment"`
	Kind          Kind            `json:"event"`
	RequestID     string          `json:"request_id,omitempty"`
	Actor         Actor           `json:"actor"`
	Tool          string          `json:"tool,omitempty"`
	Operation     string          `json:"operation,omitempty"`
	Resource      string          `json:"resource,omitempty"`
	LocationID    int64           `json:"location_id,omitempty"`
	BatchID       string          `json:"batch_id,omitempty"`
	ItemID        string          `json:"item_id,omitempty"`
	OldVersion    string          `json:"old_version,omitempty"`
	NewVersion    string          `json:"new_version,omitempty"`
	Before        json.RawMessage `json:"before,omitempty"`
	After         json.RawMessage `json:"after,omitempty"`
	Result        string          `json:"result,omitempty"`
	ErrorCode     errs.Code       `json:"error_code,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	Assurance     string          `json:"assurance,omitempty"`
	PreviewDigest string          `json:"preview_digest,omitempty"`
	InputHash     string          `json:"input_hash,omitempty"`
	PolicyVersion int             `json:"policy_version,omitempty"`
	KeyHash       string          `json:"idempotency_key_hash,omitempty"`
	KeySource     string          `json:"idempotency_source,omitempty"`
	Details       *Details        `json:"details,omitempty"`
}

// Actor is who did it: an agent for a person, or an operator.
type Actor struct {
	ClientID   authn.ClientID `json:"client_id,omitempty"`
	UserID     authn.UserID   `json:"user_id,omitempty"`
	TokenID    authn.TokenID  `json:"token_id,omitempty"`
	OperatorID string         `json:"operator_id,omitempty"`
}

// Details are the fixed keys that an event may carry beside the common ones.
type Details struct {
	TargetCount       int           `json:"target_count,omitempty"`
	TargetLocations   []int64       `json:"target_locations,omitempty"`
	PostSummary       string        `json:"post_summary,omitempty"`
	Warnings          []string      `json:"warnings,omitempty"`
	ExpiresIn         int           `json:"expires_in,omitempty"`
	Counts            *errs.Counts  `json:"counts,omitempty"`
	Failures          []FailureNote `json:"failures,omitempty"`
	Scope             string        `json:"scope,omitempty"`
	Limit             int           `json:"limit,omitempty"`
	RetryAfterSeconds int           `json:"retry_after_seconds,omitempty"`
	Allowed           *bool         `json:"allowed,omitempty"`
	Attempt           int           `json:"attempt,omitempty"`
	GoogleStatus      int           `json:"google_status,omitempty"`
	GoogleName        string        `json:"google_name,omitempty"`
	Note              string        `json:"note,omitempty"`
	Refusals          int           `json:"refusals,omitempty"`
	Units             int           `json:"units,omitempty"`
}

// FailureNote is one failed item in a batch_finished event.
type FailureNote struct {
	LocationID int64     `json:"location_id"`
	ErrorCode  errs.Code `json:"error_code"`
}

// ActorOf is the principal as an actor.
func ActorOf(p *authn.Principal) Actor {
	return Actor{ClientID: p.ClientID, UserID: p.UserID, TokenID: p.TokenID}
}

// headLength is how much of a long text an event keeps besides its digest, in characters.
const headLength = 80

// Head shortens a text for an event: the whole when short, else its digest and beginning.
func Head(s string) string {
	r := []rune(s)
	if len(r) <= headLength {
		return s
	}
	return fmt.Sprintf("%s… (%d characters, sha256 %x)", string(r[:headLength]), len(r), sha256.Sum256([]byte(s)))
}

// Body gives the canonical bytes: JSON in field order, times in UTC to the microsecond, no HTML escaping.
func (e Event) Body() []byte {
	e.OccurredAt = e.OccurredAt.UTC().Truncate(time.Microsecond)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		panic("audit: an event always marshals: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Leaf is the digest of an event's body in the chain.
func Leaf(body []byte) []byte {
	h := sha256.Sum256(body)
	return h[:]
}

// Filter narrows a list of events; zero values do not narrow.
type Filter struct {
	Since, Until time.Time
	Kind         Kind
	Batch        string
	Location     int64
	User         authn.UserID
	Tool         string
	Result       string
	// Before is the event behind which the page starts; lists run from new to old.
	Before string
	// Reader, where set, sees events of granted stores and, among those without a store, his own only.
	Reader *authn.Principal
	Limit  int
}
