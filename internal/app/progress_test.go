package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// A client that asked for it hears of each finished store while its write waits, in order and up to the end. One that gives
// the call up has cancelled nothing: the accepted batch is carried out.
func TestProgressAndAClientThatGivesUp(t *testing.T) {
	t.Parallel()
	for _, giveUp := range []bool{false, true} {
		s := stack.New(t, stack.Options{Stores: 3, NoWorkers: true, Policy: stack.Roomy})
		heard := make(chan *mcp.ProgressNotificationParams, 100)
		c := connect(t, s, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params }})
		args := stack.Post(s.IDs(3), "進み具合を聞く投稿です。")
		args["wait_seconds"] = 25
		call := &mcp.CallToolParams{Name: "post.create", Arguments: args}
		call.SetProgressToken("story")
		ctx, cancel := context.WithCancel(t.Context())
		type answer struct {
			res *mcp.CallToolResult
			err error
		}
		answered := make(chan answer, 1)
		go func() {
			res, err := c.CallTool(ctx, call)
			answered <- answer{res, err}
		}()
		if first := <-heard; first.Progress != 0 || first.Total != 3 || first.ProgressToken != "story" {
			t.Errorf("%+v", first)
		}
		if giveUp {
			cancel()
			if a := <-answered; !errors.Is(a.err, context.Canceled) {
				t.Errorf("%+v", a)
			}
		}
		stop := s.Work()
		if giveUp {
			list, err := s.App.DB.Batches(t.Context(), stack.Tenant, batch.Filter{Grants: authn.Grants{All: true}, Limit: 10})
			if err != nil || len(list) != 1 {
				t.Fatalf("%v %+v", err, list)
			}
			if v := s.Finish(string(list[0].ID)); v.Status != batch.Done || s.CreatedTotal() != 3 {
				t.Errorf("the batch of a client that gave up: %+v, %d posts", v, s.CreatedTotal())
			}
		} else {
			if a := <-answered; a.err != nil || a.res.IsError {
				t.Errorf("%+v", a)
			}
			last := -1.0
			for last < 3 { // the client hands notifications on beside the answer
				select {
				case p := <-heard:
					if p.Progress <= last || p.Total != 3 {
						t.Errorf("%v of %v after %v", p.Progress, p.Total, last)
					}
					last = p.Progress
				case <-time.After(10 * time.Second):
					t.Fatalf("the last that was heard is %v of 3", last)
				}
			}
		}
		cancel()
		stop()
	}
}
