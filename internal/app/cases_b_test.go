package app_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// engine is a stack for the cases of worker, queue and stores: without HTTP front and Google quotas, with limits that no
// test reaches. At its end books and chain are checked.
func engine(t *testing.T, o stack.Options) *stack.Stack {
	t.Helper()
	o.NoServer = true
	if o.Policy == "" {
		o.Policy = stack.Roomy
	}
	own := o.Sim
	o.Sim = func(so *gbpsim.Options) {
		so.Knobs.NoQuotas = true
		if own != nil {
			own(so)
		}
	}
	s := stack.New(t, o)
	s.DB.Owner() // opened here, so that it is closed after the check
	t.Cleanup(func() { checkBooks(t, s) })
	return s
}

// checkBooks recomputes every batch's counters and status from its items, binds effects at Google to items one to one, and
// verifies the audit chain. Effects without an item are allowed as far as items are unknown.
func checkBooks(t *testing.T, s *stack.Stack) {
	t.Helper()
	ctx := context.Background()
	rows, err := s.DB.Owner().Query(ctx, `
		SELECT b.batch_id, b.status, b.started_at IS NOT NULL, b.target_count, b.success_count, b.failure_count, b.cancelled_count, b.unknown_count,
		       count(*), count(*) FILTER (WHERE i.state = 'succeeded'), count(*) FILTER (WHERE i.state = 'failed'), count(*) FILTER (WHERE i.state = 'cancelled'),
		       count(*) FILTER (WHERE i.state = 'unknown')
		FROM mappy.batch b JOIN mappy.item i USING (tenant_id, batch_id) GROUP BY b.tenant_id, b.batch_id`)
	if err != nil {
		t.Fatal(err)
	}
	var id string
	var status batch.Status
	var started bool
	var booked, real batch.Counts
	_, err = pgx.ForEachRow(rows, []any{
		&id, &status, &started, &booked.Target, &booked.Success, &booked.Failure, &booked.Cancelled, &booked.Unknown,
		&real.Target, &real.Success, &real.Failure, &real.Cancelled, &real.Unknown,
	}, func() error {
		if booked != real {
			t.Errorf("batch %s: counters %+v, items %+v", id, booked, real)
		}
		if started && status != real.Status() {
			t.Errorf("batch %s is %s, its items make it %s", id, status, real.Status())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkEffects(t, s)
	if n := queryRow[int](t, s, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n > 0 {
		t.Errorf("%d deadlocks", n)
	}
	if report, err := s.App.DB.VerifyAudit(ctx, stack.Tenant); err != nil || !report.Valid {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

func checkEffects(t *testing.T, s *stack.Stack) {
	t.Helper()
	bound := map[string]bool{}
	for _, i := range queryRows[string](t, s, `SELECT resource_name FROM mappy.item WHERE executed = 'yes' AND resource_name IS NOT NULL`) {
		bound[i] = true
	}
	unknown := queryRow[int](t, s, `SELECT count(*) FROM mappy.item WHERE state IN ('unknown', 'processing')`)
	loose := 0
	for _, e := range s.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate, Effects: true}) {
		if !bound[string(e.Post)] {
			loose++
		}
		delete(bound, string(e.Post))
	}
	if loose > unknown {
		t.Errorf("%d posts at Google belong to no item (%d items unknown)", loose, unknown)
	}
	if len(bound) > 0 {
		t.Errorf("items claim posts that Google never made: %v", bound)
	}
}

func queryRow[T any](t *testing.T, s *stack.Stack, sql string, args ...any) (v T) {
	t.Helper()
	if err := s.DB.Owner().QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return v
}

func queryRows[T any](t *testing.T, s *stack.Stack, sql string, args ...any) []T {
	t.Helper()
	rows, err := s.DB.Owner().Query(context.Background(), sql, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return out
}

// asOwner runs a statement that the application never would.
func asOwner(t *testing.T, s *stack.Stack, sql string, args ...any) int64 {
	t.Helper()
	tag, err := s.DB.Owner().Exec(context.Background(), sql, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return tag.RowsAffected()
}

// eventually asks again until cond holds: for what shows itself only in a table. It fails after 20 s.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// group runs subtests that mostly wait all at once, however many tests go test lets run in parallel.
type group struct {
	sync.WaitGroup
	t *testing.T
}

func together(t *testing.T) *group {
	t.Helper()
	return &group{t: t}
}

func (g *group) run(name string, f func(*testing.T)) {
	g.Go(func() { g.t.Run(name, f) })
}

func fault(t *testing.T, s *stack.Stack, f gbpsim.Fault) gbpsim.FaultID {
	t.Helper()
	id, err := s.Sim.AddFault(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// place is the simulator's name of the i-th store.
func place(s *stack.Stack, i int) gbpsim.LocationName {
	return gbpsim.LocationName(s.Locations[i].Name)
}

// ended is one item as the tables hold it.
type ended struct {
	State    batch.ItemState
	Code     errs.Code
	Executed errs.Executed
	Attempts int
	Retry    bool
	Notes    string
	Closed   string
}

// itemAt reads the newest batch's item at a store, with the states and notes of its attempts.
func itemAt(t *testing.T, s *stack.Stack, id batch.ID, location int64) (e ended) {
	t.Helper()
	err := s.DB.Owner().QueryRow(t.Context(), `
		SELECT i.state, coalesce(i.error_code, ''), i.executed, i.attempts, i.retry_possible,
		       coalesce((SELECT string_agg(a.note, ' / ' ORDER BY attempt_id) FROM mappy.attempt a WHERE a.item_id = i.item_id), ''),
		       coalesce((SELECT string_agg(a.state, ' ' ORDER BY attempt_id) FROM mappy.attempt a WHERE a.item_id = i.item_id), '')
		FROM mappy.item i WHERE i.batch_id = $1 AND i.location_id = $2`, id, location).
		Scan(&e.State, &e.Code, &e.Executed, &e.Attempts, &e.Retry, &e.Notes, &e.Closed)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ambiguity is a fault at one store and what has to become of the item there.
type ambiguity struct {
	name   string
	fault  gbpsim.Fault
	closed string // states of the attempts in order
	code   errs.Code
	posts  int
}

const (
	commit = gbpsim.EffectCommit
	none   = gbpsim.EffectNone
	later  = gbpsim.EffectLater
)

func ambiguities() []ambiguity {
	answer := func(e gbpsim.EffectMode, a gbpsim.AnswerKind, status int) gbpsim.Fault {
		return gbpsim.Fault{Effect: e, Answer: a, Status: status, Count: 1}
	}
	with := func(f gbpsim.Fault, change func(*gbpsim.Fault)) gbpsim.Fault {
		change(&f)
		return f
	}
	stranger := `{"name":"accounts/1/locations/2/localPosts/3","state":"LIVE"}`
	return []ambiguity{
		{"committed, then reset", answer(commit, gbpsim.AnswerReset, 0), "found", "", 1},
		{"reset without effect", answer(none, gbpsim.AnswerReset, 0), "absent succeeded", "", 1},
		{"committed, then 503", answer(commit, gbpsim.AnswerError, 503), "found", "", 1},
		{"503 without effect", answer(none, gbpsim.AnswerError, 503), "absent succeeded", "", 1},
		{"committed, then 500", answer(commit, gbpsim.AnswerError, 500), "found", "", 1},
		{"committed, then 499", answer(commit, gbpsim.AnswerError, 499), "found", "", 1},
		{"committed, then a redirect", answer(commit, gbpsim.AnswerError, 302), "found", "", 1},
		{"F018 committed, then a proxy's HTML 502", answer(commit, gbpsim.AnswerHTML, 502), "found", "", 1},
		{"F018 a proxy's HTML 502 without effect", answer(none, gbpsim.AnswerHTML, 502), "absent succeeded", "", 1},
		{"committed, empty 200", answer(commit, gbpsim.AnswerEmpty, 200), "found", "", 1},
		{"empty 200 without effect", answer(none, gbpsim.AnswerEmpty, 200), "absent succeeded", "", 1},
		{"committed, 204", answer(commit, gbpsim.AnswerEmpty, 204), "found", "", 1},
		{"committed, broken JSON", answer(commit, gbpsim.AnswerBrokenJSON, 200), "found", "", 1},
		{"committed, a post of another location", with(answer(commit, gbpsim.AnswerEmpty, 200), func(f *gbpsim.Fault) { f.Body = stranger }), "found", "", 1},
		{"committed, an answer of 1.5 MB", with(answer(commit, gbpsim.AnswerEmpty, 200), func(f *gbpsim.Fault) { f.Body = strings.Repeat("x", 3<<19) }), "found", "", 1},
		{"committed, no answer in time", with(answer(commit, gbpsim.AnswerTrue, 0), func(f *gbpsim.Fault) { f.LatencyAfterMS = 1500 }), "found", "", 1},
		{"effect 0.2 s after a 503", with(answer(later, gbpsim.AnswerError, 503), func(f *gbpsim.Fault) { f.DelaySeconds = 0.2 }), "found", "", 1},
		{"seen in lists later than the answer", with(answer(commit, gbpsim.AnswerError, 503), func(f *gbpsim.Fault) { f.HiddenSeconds = 0.2 }), "found", "", 1},
		{"503 twice", gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 503, Count: 2}, "absent absent succeeded", "", 1},
		{"503 every time", gbpsim.Fault{Answer: gbpsim.AnswerError, Status: 503}, "absent absent absent absent", errs.GBPUnavailable, 0},
	}
}

// One fault per store, all in one batch: each item ends as its own store's truth has it, with one post where one is due.
func TestAmbiguousOutcomes(t *testing.T) {
	t.Parallel()
	cases := ambiguities()
	s := engine(t, stack.Options{Stores: len(cases), Config: func(c *config.Config) { c.Worker.CallTimeout, c.Worker.Bulk = time.Second, len(cases) }})
	for i, c := range cases {
		c.fault.Location, c.fault.Route = place(s, i), gbpsim.RouteLocalPostsCreate
		fault(t, s, c.fault)
	}
	ids := s.IDs(len(cases))
	accepted := s.Confirmed("post.create", stack.Post(ids, "朝のコーヒーを 8 時から淹れています。"))
	v := s.Finish(string(accepted.BatchID))
	if v.Status != batch.Partial || v.SuccessCount != len(cases)-1 {
		t.Errorf("batch: %s with %d successes", v.Status, v.SuccessCount)
	}
	created := s.Created()
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := itemAt(t, s, accepted.BatchID, ids[i])
			if got.Closed != c.closed || got.Attempts != len(strings.Fields(c.closed)) || got.Code != c.code {
				t.Errorf("attempts %q (%d), code %q; want %q, %q\nnotes: %s", got.Closed, got.Attempts, got.Code, c.closed, c.code, got.Notes)
			}
			if n := created[string(place(s, i))]; n != c.posts {
				t.Errorf("%d posts, want %d", n, c.posts)
			}
			if want := map[bool]errs.Executed{true: errs.ExecutedYes, false: errs.ExecutedNo}[c.posts == 1]; got.Executed != want {
				t.Errorf("executed %s, want %s", got.Executed, want)
			}
			if c.closed == "found" && !strings.Contains(got.Notes, "adopted after reading back") {
				t.Errorf("the attempt does not say how it was decided: %q", got.Notes)
			}
		})
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE event = 'item_succeeded' AND convert_from(body, 'UTF8') LIKE '%adopted after reading back%'`); n < 12 {
		t.Errorf("%d adoptions in the audit", n)
	}
}

// An effect that shows itself after the first look and before the second: one empty list is no proof of absence.
func TestSecondLookFindsTheEffect(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 2, Config: func(c *config.Config) { c.Worker.Settle = time.Second }})
	fault(t, s, gbpsim.Fault{Location: place(s, 0), Route: gbpsim.RouteLocalPostsCreate, Effect: later, DelaySeconds: 1.8, Answer: gbpsim.AnswerReset, Count: 1})
	fault(t, s, gbpsim.Fault{Location: place(s, 1), Route: gbpsim.RouteLocalPostsCreate, Effect: commit, HiddenSeconds: 1.8, Answer: gbpsim.AnswerReset, Count: 1})
	accepted := s.Accept("post.create", stack.Post(s.IDs(2), "遅れて見える投稿です。"))
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
	for i, id := range s.IDs(2) {
		if got := itemAt(t, s, accepted.BatchID, id); got.Closed != "found" || got.Attempts != 1 {
			t.Errorf("store %d: %+v", i, got)
		}
	}
	if n := len(creates(s)); n != 2 {
		t.Errorf("%d calls for 2 posts", n)
	}
	if n := queryRow[int](t, s, `SELECT max(looks) FROM mappy.attempt`); n == 0 {
		t.Log("this machine was too slow: the first look came after the effect")
	}
}

// What Google refuses for a moment is sent again, and rests the quota for everybody meanwhile.
func TestPassingRefusals(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 3})
	for i, status := range []int{408, 429} {
		fault(t, s, gbpsim.Fault{Location: place(s, i), Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: status, Count: 1})
	}
	accepted := s.Accept("post.create", stack.Post(s.IDs(3), "少し後で届く投稿です。"))
	if v := s.Finish(string(accepted.BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
	for i, id := range s.IDs(2) {
		if got := itemAt(t, s, accepted.BatchID, id); got.Closed != "refused succeeded" || got.Attempts != 2 {
			t.Errorf("store %d: %+v", i, got)
		}
	}
	if n := len(creates(s)); n != 5 {
		t.Errorf("%d calls", n)
	}
}

// Two batches with the same content for the same stores: the second is warned, waits for the first to be settled, and ends
// with a post of its own; neither takes the other's.
func TestTwinBatchesUnderAmbiguity(t *testing.T) {
	t.Parallel()
	kinds := []gbpsim.Fault{
		{Effect: commit, Answer: gbpsim.AnswerReset, Count: 1},
		{Effect: commit, Answer: gbpsim.AnswerError, Status: 503, HiddenSeconds: 0.2, Count: 1},
		{Effect: none, Answer: gbpsim.AnswerError, Status: 503, Count: 1},
		{Effect: later, DelaySeconds: 0.2, Answer: gbpsim.AnswerReset, Count: 1},
		{Effect: commit, Answer: gbpsim.AnswerReset, Count: 2}, // the twin's own send is ambiguous too
		{Count: 1, LatencyBeforeMS: 1},
	}
	s := engine(t, stack.Options{Stores: len(kinds), Config: func(c *config.Config) { c.Worker.CallTimeout = time.Second }})
	for i, f := range kinds {
		f.Location, f.Route = place(s, i), gbpsim.RouteLocalPostsCreate
		fault(t, s, f)
	}
	args := stack.Post(s.IDs(len(kinds)), "本日の豆はエチオピアです。")
	first := s.Confirmed("post.create", args.With("idempotency_key", "twin-first-1"))
	second := s.Confirmed("post.create", args.With("idempotency_key", "twin-second-1"))
	warned := 0
	for _, w := range second.Warnings {
		if w.Code == "DUPLICATE_CONTENT" {
			warned++
		}
	}
	if warned != len(kinds) {
		t.Errorf("%d stores warned of, want %d: %+v", warned, len(kinds), second.Warnings)
	}
	for _, id := range []batch.ID{first.BatchID, second.BatchID} {
		if v := s.Finish(string(id)); v.Status != batch.Done {
			t.Errorf("batch %s: %+v", id, v)
		}
	}
	want := map[string]int{}
	for i := range kinds {
		want[string(place(s, i))] = 2
	}
	if got := s.Created(); !maps.Equal(got, want) {
		t.Errorf("posts per store %v, want %v", got, want)
	}
	overlap := queryRow[int](t, s, `SELECT count(*) FROM mappy.attempt b JOIN mappy.item i ON i.google_location = b.google_location AND i.fingerprint = b.fingerprint
		WHERE i.item_id < b.item_id AND b.started_at < i.finished_at`)
	if overlap != 0 {
		t.Errorf("%d sends of a twin began before the first was settled", overlap)
	}
}

// An outcome that can never be told ends as unknown. Nothing sends it again, and the same content waits for it until its own deadline.
func TestUndecidableEndsUnknown(t *testing.T) {
	t.Parallel()
	policy := strings.TrimSuffix(stack.Roomy, "}") + `,"send_deadline_seconds":5}`
	s := engine(t, stack.Options{Stores: 2, Policy: policy, Config: func(c *config.Config) { c.Worker.CallTimeout, c.Worker.GiveUp = time.Second, time.Second }})
	fault(t, s, gbpsim.Fault{Location: place(s, 0), Route: gbpsim.RouteLocalPostsCreate, Effect: commit, Answer: gbpsim.AnswerReset, Count: 1})
	fault(t, s, gbpsim.Fault{Location: place(s, 0), Route: gbpsim.RouteLocalPostsList, Answer: gbpsim.AnswerError, Status: 503})
	args := stack.Post(s.IDs(1), "閉店まで残り 3 日です。")
	first := s.Accept("post.create", args.With("idempotency_key", "unknown-1"))
	v := s.Finish(string(first.BatchID))
	if v.Status != batch.Partial || v.UnknownCount != 1 || len(v.Failures) != 1 {
		t.Fatalf("batch: %+v", v)
	}
	if f := v.Failures[0]; f.State != batch.ItemUnknown || f.Executed != errs.ExecutedUnknown || f.ErrorCode != errs.GBPOutcomeUnknown || f.RetryPossible {
		t.Errorf("item: %+v", f)
	}
	if got := itemAt(t, s, first.BatchID, s.IDs(1)[0]); got.Attempts != 1 || got.Closed != "unknown" {
		t.Errorf("item: %+v", got)
	}
	if e := recorded(t, s, audit.ItemUnknown); len(e) != 1 || e[0].ErrorCode != errs.GBPOutcomeUnknown || e[0].BatchID != string(first.BatchID) {
		t.Errorf("item_unknown: %+v", e)
	}
	second := s.Accept("post.create", args.With("idempotency_key", "unknown-2"))
	other := s.Accept("post.create", stack.Post(s.IDs(1), "こちらは別のお知らせです。"))
	if v := s.Finish(string(other.BatchID)); v.Status != batch.Done {
		t.Errorf("other content at the same store: %+v", v)
	}
	v = s.Finish(string(second.BatchID))
	if v.Status != batch.Failed || v.Failures[0].ErrorCode != errs.ExpiredNotSent || v.Failures[0].Executed != errs.ExecutedNo || !v.Failures[0].RetryPossible {
		t.Errorf("the second batch: %+v", v)
	}
	if n := s.CreatedTotal(); n != 2 {
		t.Errorf("%d posts, want 2", n)
	}
	if got := itemAt(t, s, second.BatchID, s.IDs(1)[0]); got.Attempts != 0 {
		t.Errorf("waiting spent attempts: %+v", got)
	}
	// What waited must not have eaten the location's budget of edits: three posts were sent or tried.
	if n := s.App.Redis.ZCard(t.Context(), fmt.Sprintf("slot:{g:%s}:%s:log", s.Config.Google.Project, place(s, 0))).Val(); n > 3 {
		t.Errorf("%d slots of the location were taken for 2 posts", n)
	}
}

func into(t *testing.T, a stack.Answer) *tools.Write {
	t.Helper()
	w := stack.Into[tools.Write](t, a)
	return &w
}
