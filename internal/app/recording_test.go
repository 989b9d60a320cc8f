package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// F130: Google published the post, and recording it fails. The write-ahead attempt stays open, the post is found by reading
// back once recording works again, and the same key is a replay.
func TestF130RecordingFailsAfterTheEffect(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, Policy: stack.Roomy, Sim: func(o *gbpsim.Options) { o.Knobs.NoQuotas = true }})
	owner := s.DB.Owner()
	_, err := owner.Exec(t.Context(), `
		CREATE FUNCTION mappy.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER full_disk BEFORE UPDATE ON mappy.item FOR EACH ROW WHEN (NEW.state = 'succeeded') EXECUTE FUNCTION mappy.full_disk()`)
	if err != nil {
		t.Fatal(err)
	}
	args := stack.Post(s.IDs(1), "本日は閉店時間まで割引です。").With("idempotency_key", "f130-key-1")
	a := s.Accept("post.create", args)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// The second look at Google means that the first recording has failed and the attempt is being examined.
	_, err = s.Sim.Await(ctx, gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsList}, func(es []gbpsim.Entry) bool { return len(es) >= 1 })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), `DROP TRIGGER full_disk ON mappy.item`); err != nil {
		t.Fatal(err)
	}
	if v := s.Finish(string(a.BatchID)); v.Status != batch.Done {
		t.Errorf("%s: %+v", v.Status, v.Failures)
	}
	if r := s.Accept("post.create", args); r.Idempotency.Outcome != "replayed" || r.BatchID != a.BatchID {
		t.Errorf("the repeat: %+v", r)
	}
	if n := s.CreatedTotal(); n != 1 {
		t.Errorf("%d posts", n)
	}
}

// F152: a store that is named twice is one target, not a broken batch.
func TestF152RepeatedTargets(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 2, NoServer: true, Policy: stack.Roomy, Sim: func(o *gbpsim.Options) { o.Knobs.NoQuotas = true }})
	ids := s.IDs(2)
	a := s.Accept("post.create", stack.Post([]int64{ids[0], ids[1], ids[0], ids[0]}, "週末は混み合います。"))
	if v := s.Finish(string(a.BatchID)); a.TargetCount != 2 || v.SuccessCount != 2 {
		t.Errorf("%d targets, %+v", a.TargetCount, v)
	}
	for name, n := range s.Created() {
		if n != 1 {
			t.Errorf("%s has %d posts", name, n)
		}
	}
}
