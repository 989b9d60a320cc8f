package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// caller calls tools as a principal that was read beforehand, so that a store that is away is met inside the call.
type caller struct {
	t *testing.T
	s *stack.Stack
	p *authn.Principal
}

func callerOf(t *testing.T, s *stack.Stack) caller {
	t.Helper()
	p, err := s.App.DB.Authenticate(t.Context(), s.Token)
	if err != nil {
		t.Fatal(err)
	}
	return caller{t, s, p}
}

// call answers within 5 s, whatever hangs: an admission has 2 s, the record of a refusal one more, and the machine is slow.
func (c caller) call(tool string, args stack.Args) stack.Answer {
	c.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	answered := make(chan stack.Answer, 1)
	go func() { answered <- c.s.CallPrincipal(c.p, tool, raw) }()
	select {
	case a := <-answered:
		return a
	case <-time.After(5 * time.Second):
		c.t.Fatalf("%s did not answer", tool)
		return stack.Answer{}
	}
}

func (c caller) refused(tool string, args stack.Args, code errs.Code) {
	c.t.Helper()
	if a := c.call(tool, args); a.ErrorCode != code || a.Executed != errs.ExecutedNo {
		c.t.Errorf("%s: got %q, executed %q, want %s: %s", tool, a.ErrorCode, a.Executed, code, a.Text)
	}
}

func (c caller) works(tool string, args stack.Args) stack.Answer {
	c.t.Helper()
	a := c.call(tool, args)
	if a.IsError {
		c.t.Errorf("%s: %s", tool, a.Text)
	}
	return a
}

// eventuallyAccepted sends until a store that came back is used again: no restart, the same key. A Redis that hung carries
// out the claims it got meanwhile; they lapse in seconds.
func (c caller) eventuallyAccepted(args stack.Args) *admission.Accepted {
	c.t.Helper()
	var a stack.Answer
	eventually(c.t, "the write is accepted", func() bool {
		a = c.call("post.create", args)
		return a.ErrorCode != errs.Unavailable && a.ErrorCode != errs.IdempotencyInProgress
	})
	return into(c.t, a).Accepted
}

// F144, F146: Redis stopped, and Redis that accepts and never answers.
func TestF144RedisAway(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for name, outage := range map[string]struct{ begin, end func(*redistest.Server) }{
		"F144 stopped": {(*redistest.Server).Stop, (*redistest.Server).Start},
		"F146 hanging": {(*redistest.Server).Pause, (*redistest.Server).Resume},
	} {
		g.run(name, func(t *testing.T) {
			own := redistest.Own(t)
			s := engine(t, stack.Options{RedisURL: own.URL(), NoWorkers: true})
			c := callerOf(t, s)
			big := stack.Post(s.IDs(6), "年末年始の営業時間のお知らせです。")
			token := into(t, c.works("post.create", big.With("dry_run", true))).Preview.Confirmation.ConfirmToken
			kept := stack.Post(s.IDs(1), "停止前に受け付けた投稿です。").With("idempotency_key", "before-outage")
			before := s.Accept("post.create", kept)

			outage.begin(own)
			batches := queryRow[int](t, s, `SELECT count(*) FROM mappy.batch`)
			small := stack.Post(s.IDs(2)[1:], "停止中に送った投稿です。").With("idempotency_key", "during-outage")
			c.refused("post.create", small, errs.Unavailable)
			c.refused("post.create", big, errs.Unavailable)
			c.refused("post.create", big.With("confirm_token", token), errs.Unavailable)
			if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE event = 'admission_refused' AND error_code = 'UNAVAILABLE'`); n != 3 {
				t.Errorf("%d of 3 refusals are recorded", n)
			}
			c.refused("post.create", stack.Post([]int64{999_999}, "x"), errs.LocationNotFound)
			for _, args := range []stack.Args{big, small} {
				p := into(t, c.works("post.create", args.With("dry_run", true))).Preview
				if p == nil || p.Confirmation.ConfirmToken != "" || p.WouldExecute || p.WouldRefuse.ErrorCode != errs.Unavailable {
					t.Errorf("preview: %+v", p)
				} else if p.Confirmation.Required && p.Confirmation.Note == "" {
					t.Error("a preview without a token does not say why")
				}
			}
			c.works("location.list", stack.Args{})
			c.works("limits.get", stack.Args{})
			c.works("batch.list", stack.Args{})
			c.works("batch.status", stack.Args{"batch_id": before.BatchID})
			if a := into(t, c.works("post.create", kept)).Accepted; a == nil || a.BatchID != before.BatchID || a.Idempotency.Outcome != admission.Replayed {
				t.Errorf("replay: %+v", a)
			}
			if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.batch`); n != batches {
				t.Errorf("%d batches were accepted without Redis", n-batches)
			}
			s.Work()
			eventually(t, "the item waits in the queue", func() bool {
				return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND (metadata->>'snoozes')::int > 0`) == 1
			})
			if n := len(s.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate})); n != 0 {
				t.Errorf("Google was called %d times unmetered", n)
			}

			outage.end(own)
			ids := []batch.ID{before.BatchID, c.eventuallyAccepted(small).BatchID}
			a := c.call("post.create", big.With("confirm_token", token))
			if name == "F144 stopped" { // its data are lost: the person agrees again
				if a.ErrorCode != errs.ConfirmTokenInvalid {
					t.Errorf("got %s", a.Text)
				}
				a = c.call("post.create", big.With("confirm_token", c.call("post.create", big).Details.ConfirmToken))
			}
			ids = append(ids, into(t, a).Accepted.BatchID)
			for _, id := range ids {
				if v := s.Finish(string(id)); v.Status != batch.Done {
					t.Errorf("batch %s: %+v", id, v)
				}
			}
			if n := s.CreatedTotal(); n != 8 {
				t.Errorf("%d posts, want 8", n)
			}
			if n := queryRow[int](t, s, `SELECT coalesce(max(attempts), 0) FROM mappy.item`); n != 1 {
				t.Errorf("waiting for Redis spent attempts: %d", n)
			}
		})
	}
}

// Redis flushed between any two steps of a write: never a second effect, never a stuck key.
func TestRedisFlushedBetweenSteps(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{NoWorkers: true})
	flush := func() {
		if err := s.App.Redis.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	c := callerOf(t, s)
	args := stack.Post(s.IDs(6), "週末限定のスコーンがあります。").With("idempotency_key", "flushed-key")
	first := c.call("post.create", args)
	flush() // the token's binding is gone: the person is asked again, nothing is executed
	c.refused("post.create", args.With("confirm_token", first.Details.ConfirmToken), errs.ConfirmTokenInvalid)
	token := c.call("post.create", args).Details.ConfirmToken
	accepted := into(t, c.call("post.create", args.With("confirm_token", token))).Accepted
	flush()
	if a := into(t, c.call("post.create", args.With("confirm_token", token))).Accepted; a.BatchID != accepted.BatchID {
		t.Errorf("another batch after the flush: %+v", a)
	}
	a := c.call("post.create", args.With("confirm_token", token).With("idempotency_key", "another-key"))
	if a.ErrorCode != errs.ConfirmTokenUsed || a.Details.BatchID != string(accepted.BatchID) {
		t.Errorf("the token was spent twice: %s", a.Text)
	}
	held := fault(t, s, gbpsim.Fault{Location: place(s, 0), Route: gbpsim.RouteLocalPostsCreate, Hold: gbpsim.HoldAfter, Count: 1})
	s.Work()
	if err := s.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
		t.Fatal(err)
	}
	flush() // with a call in flight: slot, lease and share of the user are gone
	if _, err := s.Sim.Release(held); err != nil {
		t.Fatal(err)
	}
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
	flush()
	if a := into(t, c.call("post.create", args)).Accepted; a.BatchID != accepted.BatchID || a.Current.Status != batch.Done {
		t.Errorf("replay: %+v", a)
	}
	if n := s.CreatedTotal(); n != 6 {
		t.Errorf("%d posts, want 6", n)
	}
}

// F148: a Redis that throws away what it wants. The row in PostgreSQL still knows the key and the spent token.
func TestF148EvictedRecords(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	s := engine(t, stack.Options{RedisURL: own.URL()})
	c := callerOf(t, s)
	args := stack.Post(s.IDs(5), "本日のケーキはモンブランです。").With("idempotency_key", "evicted-key")
	token := c.call("post.create", args).Details.ConfirmToken
	first := into(t, c.call("post.create", args.With("confirm_token", token))).Accepted
	for k, v := range map[string]string{"maxmemory": "12mb", "maxmemory-policy": "allkeys-random"} {
		if err := s.App.Redis.ConfigSet(t.Context(), k, v).Err(); err != nil {
			t.Fatal(err)
		}
	}
	left := func() int {
		return len(s.App.Redis.Keys(t.Context(), "claim:*").Val()) + len(s.App.Redis.Keys(t.Context(), "confirm:*").Val())
	}
	junk := strings.Repeat("x", 10_000)
	for i := 0; left() > 0; i++ {
		if i == 100_000 {
			t.Fatal("nothing was evicted")
		}
		s.App.Redis.Set(t.Context(), fmt.Sprint("junk:", i), junk, 0)
	}
	if a := into(t, c.call("post.create", args)).Accepted; a.BatchID != first.BatchID {
		t.Errorf("a second batch: %+v", a)
	}
	c.refused("post.create", args.With("confirm_token", token).With("idempotency_key", "other-key"), errs.ConfirmTokenUsed)
	if v := s.Finish(string(first.BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
	if n := s.CreatedTotal(); n != 5 {
		t.Errorf("%d posts, want 5", n)
	}
}

// Every connection of the application is cut again and again while writes come in and are carried out.
func TestPostgresConnectionsCut(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 8})
	c := callerOf(t, s)
	cut := func(ctx context.Context) {
		_, err := s.DB.Owner().Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mappy-mcp'`)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { // 30 cuts, then peace: a slow machine may get no call through in between
		tick := time.NewTicker(60 * time.Millisecond)
		defer tick.Stop()
		for range 30 {
			cut(t.Context())
			<-tick.C
		}
	})
	const writes = 64
	var refusals atomic.Int32
	var senders sync.WaitGroup
	for w := range 8 {
		senders.Go(func() {
			for n := range writes / 8 {
				args := stack.Post(s.IDs(8)[w:w+1], fmt.Sprintf("切断中の投稿 %d-%d", w, n)).With("idempotency_key", fmt.Sprintf("cut-key-%d-%d", w, n))
				raw, _ := json.Marshal(args)
				for t.Context().Err() == nil {
					a := s.CallPrincipal(c.p, "post.create", raw)
					if !a.IsError {
						break
					}
					refusals.Add(1)
					if a.ErrorCode != errs.Unavailable && a.ErrorCode != errs.IdempotencyInProgress {
						t.Errorf("got %s", a.Text)
						return
					}
				}
			}
		})
	}
	senders.Wait()
	wg.Wait()
	t.Logf("%d refusals", refusals.Load())
	if refusals.Load() == 0 {
		t.Error("no call met a cut connection: nothing was shown")
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.batch`); n != writes {
		t.Errorf("%d batches for %d keys", n, writes)
	}
	for _, id := range queryRows[string](t, s, `SELECT batch_id FROM mappy.batch`) {
		if v := s.Finish(id); v.Status != batch.Done {
			t.Errorf("batch: %+v", v)
		}
	}
	if n := s.CreatedTotal(); n != writes {
		t.Errorf("%d posts for %d writes", n, writes)
	}
}

// PostgreSQL refuses every connection: nothing is answered but UNAVAILABLE, and the same key works afterwards.
func TestPostgresAway(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	c := callerOf(t, s)
	database := pgx.Identifier{queryRow[string](t, s, `SELECT current_database()`)}.Sanitize()
	asOwner(t, s, `REVOKE CONNECT ON DATABASE `+database+` FROM PUBLIC`)
	asOwner(t, s, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mappy-mcp'`)

	args := stack.Post(s.IDs(1), "データベース停止中の投稿です。").With("idempotency_key", "pg-away-key")
	for _, args := range []stack.Args{args, args.With("dry_run", true), args.With("idempotency_key", "another-key"), stack.Post(s.IDs(6), "六店舗")} {
		if a := c.call("post.create", args); a.ErrorCode != errs.Unavailable {
			t.Errorf("post.create: %s", a.Text)
		}
	}
	for _, tool := range []string{"location.list", "batch.list"} {
		c.refused(tool, stack.Args{}, errs.Unavailable)
	}
	c.refused("batch.cancel", stack.Args{"batch_id": "01HV5K3Q8Z7M2N4P6R8T0V2X4Z"}, errs.Unavailable)
	if _, err := s.App.DB.Authenticate(t.Context(), s.Token); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("a token that cannot be looked up: %v", err)
	}
	if err := s.App.Ready(t.Context()); err == nil {
		t.Error("ready without PostgreSQL")
	}

	asOwner(t, s, `GRANT CONNECT ON DATABASE `+database+` TO PUBLIC`)
	accepted := c.eventuallyAccepted(args)
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.batch`); n != 1 || s.CreatedTotal() != 1 {
		t.Errorf("%d batches, %d posts", n, s.CreatedTotal())
	}
}

// PostgreSQL accepts and does not answer, here because a table is locked: refused in time, and nothing is accepted later.
func TestPostgresHanging(t *testing.T) {
	t.Parallel()
	g := together(t)
	defer g.Wait()
	for _, table := range []string{"idempotency", "batch", "audit_event"} {
		g.run(table, func(t *testing.T) {
			s := engine(t, stack.Options{})
			c := callerOf(t, s)
			args := stack.Post(s.IDs(1), "応答のないデータベースへの投稿です。").With("idempotency_key", "pg-hangs-key")
			tx, err := s.DB.Owner().Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), `LOCK TABLE mappy.`+table+` IN ACCESS EXCLUSIVE MODE`); err != nil {
				t.Fatal(err)
			}
			a := c.call("post.create", args)
			if a.ErrorCode != errs.Unavailable || a.Executed == errs.ExecutedYes {
				t.Errorf("got %s", a.Text)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			accepted := c.eventuallyAccepted(args)
			if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
				t.Errorf("batch: %+v", v)
			}
			if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.batch`); n != 1 || s.CreatedTotal() != 1 {
				t.Errorf("%d batches, %d posts", n, s.CreatedTotal())
			}
		})
	}
}
