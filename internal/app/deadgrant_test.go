package app_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/queue"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// F079: what waits for a dead grant ends at once, in all batches, although its own turn is far away; what waits for another
// connection stays.
func TestF079WaitingItemsEndAtOnce(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 30, NoWorkers: true, Config: func(c *config.Config) {
		c.Google.RequestsPerMinute = 1  // the second item's turn comes after a minute
		c.Worker.SweepEvery = time.Hour // nobody but the runner ends them
	}})
	other := []string{s.Locations[28].Profile.Title, s.Locations[29].Profile.Title}
	one := s.Confirmed("post.create", stack.Post(s.IDs(28), "再接続を待つ投稿です。"))
	s.Work()
	eventually(t, "one is sent, and the others sleep until their turns", func() bool {
		return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND state = 'scheduled' AND scheduled_at > now() + interval '20 seconds'`) == 27
	})
	eventually(t, "the sweeper has run, and runs no more", func() bool {
		return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'sweep' AND state = 'completed'`) == 1
	})
	asOwner(t, s, `INSERT INTO mappy.connection (tenant_id, connection_id, google_email, refresh_token_sealed) VALUES ('komorebi', 'second', 'x', '\x00')`)
	asOwner(t, s, `UPDATE mappy.location SET connection_id = 'second' WHERE title = ANY ($1)`, other)
	three := s.Accept("post.create", stack.Post(s.IDs(30)[28:], "別の接続の投稿です。"))
	// One item waits for its retry, one has an open attempt: what may have been sent has to be found out first.
	asOwner(t, s, `UPDATE mappy.item SET state = 'processing', attempts = 1, not_before = now() + interval '1 hour' WHERE batch_id = $1 AND ordinal IN (25, 26)`, one.BatchID)
	asOwner(t, s, `INSERT INTO mappy.attempt (tenant_id, item_id, google_location, fingerprint, no, examine_at)
		SELECT tenant_id, item_id, google_location, fingerprint, 1, now() + interval '1 hour' FROM mappy.item WHERE batch_id = $1 AND ordinal = 26`, one.BatchID)
	token, err := s.App.Tokens.Token(t.Context(), stack.Tenant, "google")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sim.Revoke(gbpsim.DemoEmail); err != nil {
		t.Fatal(err)
	}
	s.App.Tokens.Invalidate(stack.Tenant, "google", token) // the next one who wants it finds the grant dead
	two := s.Accept("post.create", stack.Post(s.IDs(2), "別のバッチの投稿です。"))
	if v := s.Finish(string(two.BatchID)); v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.GoogleReconnectRequired || v.Failures[0].Executed != errs.ExecutedNo {
		t.Errorf("the other batch: %+v", v)
	}
	eventually(t, "all but the open attempt are ended", func() bool {
		return queryRow[int](t, s, `SELECT failure_count FROM mappy.batch WHERE batch_id = $1`, one.BatchID) == 26
	})
	if got := queryRows[string](t, s, `SELECT DISTINCT state FROM mappy.item WHERE batch_id = $1 AND ordinal = 26`, one.BatchID); len(got) != 1 || got[0] != "processing" {
		t.Errorf("the open attempt's item: %v", got)
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE event = 'item_failed' AND error_code = 'GOOGLE_RECONNECT_REQUIRED'`); n != 28 {
		t.Errorf("%d items are recorded as failed", n)
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.item WHERE batch_id = $1 AND state = 'queued'`, three.BatchID); n != 2 {
		t.Errorf("%d items of the living connection wait", n)
	}
	if n := len(creates(s)); n != 1 {
		t.Errorf("%d calls, one of them with a living grant", n)
	}
}

// What the runner leaves, because it died or the grant was found dead elsewhere, the sweeper ends.
func TestSweepEndsItemsOfDeadConnections(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 5, NoWorkers: true})
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(5), "掃除される投稿です。"))
	sweep := func() {
		t.Helper()
		w := &worker.SweepWorker{House: s.App.DB, Items: s.App.Items(), Log: slog.New(slog.DiscardHandler)}
		if err := w.Work(t.Context(), &river.Job[queue.SweepArgs]{}); err != nil {
			t.Fatal(err)
		}
	}
	sweep()
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.item WHERE state = 'queued'`); n != 5 {
		t.Fatalf("a living connection: %d wait", n)
	}
	asOwner(t, s, `UPDATE mappy.connection SET state = 'dead', dead_reason = 'invalid_grant'`)
	sweep()
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Failed || v.FailureCount != 5 || v.Failures[4].ErrorCode != errs.GoogleReconnectRequired {
		t.Errorf("batch: %+v", v)
	}
}

// A grant without the scope is as dead as a revoked one: one refused call tells it for all.
func TestMissingScopeEndsTheConnection(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 30, NoWorkers: true, Config: func(c *config.Config) { c.Worker.Bulk = 1 }})
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 403, Reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT"})
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(30), "権限の足りない投稿です。"))
	s.Work()
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Failed || v.FailureCount != 30 || v.Failures[0].ErrorCode != errs.GoogleReconnectRequired {
		t.Errorf("batch: %+v", v)
	}
	if n := len(creates(s)); n != 1 {
		t.Errorf("%d calls", n)
	}
	if got := queryRows[string](t, s, `SELECT dead_reason FROM mappy.connection WHERE state = 'dead'`); len(got) != 1 || got[0] != "insufficient_scope" {
		t.Errorf("dead: %v", got)
	}
}
