// Package queue names the jobs that carry accepted work from admission to the workers: their arguments, queues and
// retry numbers. A job carries two ids and nothing else; the payload lives once, in the item's row.
package queue

import (
	"github.com/riverqueue/river"
)

// Queue names. Single effects are interactive, larger batches bulk, so that a batch of 100 does not hold up a reply.
const (
	Interactive = "gbp_interactive"
	Bulk        = "gbp_bulk"
	Maintenance = "maintenance"
	// Sync has long jobs, which must not keep those of Maintenance waiting.
	Sync = "sync"
)

// MaxAttempts is River's own count. It only has to outlast crashes (each rescue spends one): what is retried at Google is
// counted per item.
const MaxAttempts = 25

// ItemArgs asks a worker to carry out one item.
type ItemArgs struct {
	TenantID string `json:"tenant_id"`
	ItemID   string `json:"item_id"`
}

// Kind is the job's kind in River.
func (ItemArgs) Kind() string { return "item" }

// InsertOpts sets what does not depend on the batch.
func (ItemArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: MaxAttempts} }

// For gives the queue for a batch of n targets.
func For(n int) string {
	if n == 1 {
		return Interactive
	}
	return Bulk
}

// SealArgs asks for the audit chain to be sealed up to now, for every tenant.
type SealArgs struct{}

// Kind is the job's kind in River.
func (SealArgs) Kind() string { return "audit_seal" }

// FollowArgs asks what became of accepted writes that are not public yet, and of those whose outcome is unknown, for every tenant.
type FollowArgs struct{}

// Kind is the job's kind in River.
func (FollowArgs) Kind() string { return "follow" }

// SweepArgs asks for items whose job was lost to get a new one, and for expired idempotency rows to go.
type SweepArgs struct{}

// Kind is the job's kind in River.
func (SweepArgs) Kind() string { return "sweep" }

// SyncArgs asks for the locations of every connection that is due to be read from Google.
type SyncArgs struct{}

// Kind is the job's kind in River.
func (SyncArgs) Kind() string { return "location_sync" }
