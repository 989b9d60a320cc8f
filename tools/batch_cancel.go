package tools

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type batchCancelQuery struct {
	BatchID batch.ID `json:"batch_id"`
	Key     string   `json:"idempotency_key"`
}

// CancelResult is the answer of batch.cancel.
type CancelResult struct {
	Batch BatchView `json:"batch" jsonschema:"the batch as it stands after the cancellation"`
	// Already is part of "repeating what is done is success".
	Already       bool `json:"already" jsonschema:"true when it was cancelled before"`
	InFlightCount int  `json:"in_flight_count" jsonschema:"items that had started and may still have their effect"`
}

func batchCancel(s *Set) (Tool, error) {
	t := Tool{
		Name: "batch.cancel", Title: "Cancel a queued batch", Scope: "batches:cancel", Destructive: true, Idempotent: true,
		Description: "Cancels an accepted write before it is sent to Google (environment: " + s.Environment + "). Only a queued batch can be cancelled, as a whole; nothing of it is published then. " +
			"Once a store has started it answers BATCH_NOT_CANCELLABLE with the counts (a tenant may allow cancelling the stores that have not started). What was published stays published. A cancelled batch cannot be resumed. " +
			"Cancelling twice is success. It spends no write limit and needs no confirmation.",
		Input: schema.Object{Fields: []schema.Field{
			schema.ID("batch_id", "ULID of the batch.", schema.Required(), schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
			schema.String("idempotency_key", "Accepted for uniformity; cancelling is idempotent by itself.", schema.MinLength(8), schema.MaxLength(64), schema.Pattern(`^[!-~]+$`), schema.Strict()),
		}},
	}
	var err error
	t.Output, err = output[CancelResult]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q batchCancelQuery) (Result, error) {
		if s.ReadOnly {
			return Result{}, admission.ReadOnly()
		}
		ctx = context.WithoutCancel(ctx) // a client that goes away does not stop a cancellation
		c, err := s.Store.Cancel(ctx, call.Principal, q.BatchID, call.RequestID)
		if err != nil {
			return Result{}, err
		}
		s.Hints.Announce(ctx, call.Principal.TenantID, q.BatchID)
		v := s.outline(call.Principal, c.Batch)
		return success(batchSentence(v, call.Principal.Locale), CancelResult{Batch: *v, Already: c.Already, InFlightCount: c.InFlight}, batchLink(string(q.BatchID)))
	})
	return t, err
}
