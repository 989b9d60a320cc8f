package app_test

import (
	"context"
	"sync"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// An answer about a batch is of one moment: while verdicts of Google's arrive, its status and counts are those of the items
// beside them.
func TestStatusIsOfOneMoment(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	v := d.made(2, "News")
	ctx, stop := context.WithCancel(t.Context())
	var turns sync.WaitGroup
	turns.Go(func() {
		for ctx.Err() == nil {
			_, err := d.DB.Owner().Exec(context.Background(), `
				WITH i AS (UPDATE mappy.item SET state = CASE state WHEN 'failed' THEN 'succeeded' ELSE 'failed' END, error_code = $3 WHERE item_id = $2 RETURNING batch_id, state)
				UPDATE mappy.batch b SET status = s.status, success_count = 2 - s.failed, failure_count = s.failed
				FROM i, LATERAL (SELECT CASE i.state WHEN 'failed' THEN 'partial' ELSE 'done' END AS status, CASE i.state WHEN 'failed' THEN 1 ELSE 0 END AS failed) s
				WHERE b.tenant_id = $1 AND b.batch_id = i.batch_id`, stack.Tenant, v.Items[0].ItemID, errs.GBPContentRejected)
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer turns.Wait()
	defer stop()
	seen := map[batch.Status]int{}
	for range 200 {
		got := stack.Into[tools.BatchView](t, d.call("batch.status", stack.Args{"batch_id": v.BatchID, "items": "all"}))
		failed := 0
		for _, i := range got.Items {
			if i.State == batch.ItemFailed {
				failed++
			}
		}
		if failed != got.FailureCount || len(got.Failures) != failed || (got.Status == batch.Done) != (failed == 0) {
			t.Fatalf("%s with %d failures, and %d failed items", got.Status, got.FailureCount, failed)
		}
		seen[got.Status]++
	}
	if len(seen) != 2 {
		t.Errorf("nothing changed meanwhile: %v", seen)
	}
}
