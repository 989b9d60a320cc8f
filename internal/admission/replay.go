package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
)

// replay answers a key that already has its answer. It is decided before validation, because the first call itself changed
// the world, and it spends no limit and no token. Previews neither read nor occupy keys.
func (a *Admission) replay(ctx context.Context, c *Call) error {
	if c.safety.DryRun {
		return nil
	}
	found, err := a.Store.FindAnswer(ctx, c.key)
	if err != nil || found == nil {
		return err
	}
	return a.replayWith(ctx, c, found)
}

func (a *Admission) replayWith(ctx context.Context, c *Call, found *Answered) error {
	if !bytes.Equal(found.InputHash, c.inputHash) {
		return conflict(c, found)
	}
	var first Accepted
	if err := json.Unmarshal(found.Response, &first); err != nil {
		return err
	}
	first.Idempotency.Outcome = Replayed
	first.Current = &Current{Status: found.Status, Counts: found.Counts.Public()}
	e := a.event(c, audit.IdempotentReplay)
	e.BatchID, e.Result = string(found.BatchID), "replayed"
	if err := a.Store.Record(ctx, c.Principal.TenantID, e); err != nil {
		return err
	}
	c.answer = &Answer{Accepted: &first}
	return nil
}

func conflict(c *Call, found *Answered) error {
	counts := found.Counts.Public()
	return errs.New(errs.IdempotencyConflict, errs.T("この idempotency_key は別の内容で使用済みです。先の書き込みは受付済みです。", "This idempotency_key was used for other content, and that write was accepted.")).
		With(errs.Details{
			Key: c.key.Value, Differs: differing(found.Canonical, c.canonical), BatchID: string(found.BatchID), BatchStatus: string(found.Status),
			Counts: &counts, AcceptedAt: found.AcceptedAt.UTC().Format(time.RFC3339), FirstOutcomes: found.Outcomes,
		})
}

// differing names the parts of two canonical inputs that are not the same, two levels deep. When all are the same it was
// the choice of on_failure.
func differing(first, second []byte) []string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(first, &a) != nil || json.Unmarshal(second, &b) != nil {
		return nil
	}
	var out []string
	for _, k := range union(a, b) {
		if bytes.Equal(a[k], b[k]) {
			continue
		}
		var x, y map[string]json.RawMessage
		if json.Unmarshal(a[k], &x) != nil || json.Unmarshal(b[k], &y) != nil {
			out = append(out, k)
			continue
		}
		for _, inner := range union(x, y) {
			if !bytes.Equal(x[inner], y[inner]) {
				out = append(out, k+"."+inner)
			}
		}
	}
	if out == nil {
		out = []string{"on_failure"}
	}
	return out
}

func union(a, b map[string]json.RawMessage) []string {
	var keys []string
	for _, m := range []map[string]json.RawMessage{a, b} {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// claim makes sure that one call per key is being admitted at a time.
func (a *Admission) claim(ctx context.Context, c *Call) error {
	c.claimed = true // or not: giving back what another call holds does nothing
	outcome, left, err := a.Claims.Claim(ctx, c.key, c.nonce)
	if err != nil {
		return err
	}
	a.Fault("admission.claimed")
	switch outcome {
	case idempotency.InFlight:
		wait := min(max(left, time.Second), idempotency.Lease).Round(time.Second)
		return errs.New(errs.IdempotencyInProgress, errs.T("同じ idempotency_key の呼び出しを受付処理中です。", "A call with the same idempotency_key is being admitted.")).
			With(errs.Details{Key: c.key.Value, RetryAfterSeconds: int(wait / time.Second)}).After(wait)
	case idempotency.Settled:
		return a.replay(ctx, c) // it was answered between our look-up and now; without a row the chain goes on and the row decides
	case idempotency.Mine:
	}
	return nil
}
