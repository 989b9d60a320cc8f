package app_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// waiting calls batch.status with the longest wait and gives what it reports. Reports stop at its answer: one that says all
// comes from a look within the wait, never from the last look at its end.
func waiting(t *testing.T, s *stack.Stack, id batch.ID) (reports <-chan int, answer <-chan tools.Result) {
	t.Helper()
	p, err := s.App.DB.Authenticate(t.Context(), s.Token)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(stack.Args{"batch_id": string(id), "wait_seconds": 25})
	if err != nil {
		t.Fatal(err)
	}
	said, result := make(chan int, 100), make(chan tools.Result, 1)
	go func() {
		result <- s.App.Tools.Call(t.Context(), "batch.status", &tools.Call{Principal: p, RequestID: "wait", Arguments: args, Progress: func(done, _ int, _ string) { said <- done }})
	}()
	return said, result
}

func wantReport(t *testing.T, reports <-chan int, want int) {
	t.Helper()
	for {
		select {
		case n := <-reports:
			if n == want {
				return
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("the wait never saw %d items done", want)
		}
	}
}

func wantFinal(t *testing.T, answer <-chan tools.Result, status batch.Status) {
	t.Helper()
	r := <-answer
	if r.IsError || !strings.Contains(string(r.Structured), `"status":"`+string(status)+`"`) {
		t.Errorf("answered %s", r.Text)
	}
}

// A wait ends by the hint that follows the commit: it would look by itself only after an hour.
func TestWaitEndsByHint(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	s := stack.New(t, stack.Options{Stores: 2, NoServer: true, NoWorkers: true, RedisURL: own.URL()})
	s.App.Tools.PollEvery = time.Hour
	warm := s.Accept("post.create", stack.Post(s.IDs(1), "購読を待つ投稿です。"))
	changed, stop := s.App.Hints.Watch(stack.Tenant, warm.BatchID)
	defer stop()
	<-changed // the subscription stands: nothing but a hint wakes from here on
	accepted := s.Accept("post.create", stack.Post(s.IDs(2)[1:], "知らせで終わる投稿です。"))
	reports, answer := waiting(t, s, accepted.BatchID)
	wantReport(t, reports, 0)
	stopWork := s.Work()
	wantReport(t, reports, 1)
	wantFinal(t, answer, batch.Done)
	stopWork()
	// A cancellation is announced as well.
	cancelled := s.Accept("post.create", stack.Post(s.IDs(1), "取り消される投稿です。"))
	reports, answer = waiting(t, s, cancelled.BatchID)
	wantReport(t, reports, 0)
	s.Call("batch.cancel", stack.Args{"batch_id": string(cancelled.BatchID)})
	wantReport(t, reports, 1)
	wantFinal(t, answer, batch.Cancelled)
}

// Items that end without a call are announced too.
func TestWaitEndsByHintOfAnUnsentItem(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true, RedisURL: own.URL()})
	s.App.Tools.PollEvery = time.Hour
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "権限を失う投稿です。"))
	changed, stop := s.App.Hints.Watch(stack.Tenant, accepted.BatchID)
	defer stop()
	<-changed
	if _, err := s.DB.Owner().Exec(t.Context(), `UPDATE mappy.app_user SET grants = '{}'`); err != nil {
		t.Fatal(err)
	}
	s.Work()
	<-changed
	if status, done, err := s.App.DB.BatchVersion(t.Context(), stack.Tenant, accepted.BatchID); err != nil || status != batch.Failed || done != 1 {
		t.Errorf("at the hint the batch is %s with %d done, %v", status, done, err)
	}
}

// Without Redis the poll alone ends a wait.
func TestWaitEndsByPollWithoutRedis(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true, RedisURL: own.URL()})
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "数えて待つ投稿です。"))
	own.Stop()
	reports, answer := waiting(t, s, accepted.BatchID)
	wantReport(t, reports, 0)
	p, err := s.App.DB.Authenticate(t.Context(), s.Token)
	if err != nil {
		t.Fatal(err)
	}
	if cancelled, err := s.App.DB.Cancel(t.Context(), p, accepted.BatchID, "r"); err != nil || cancelled.Batch.Status != batch.Cancelled {
		t.Fatalf("%+v, %v", cancelled, err)
	}
	wantReport(t, reports, 1)
	wantFinal(t, answer, batch.Cancelled)
}
