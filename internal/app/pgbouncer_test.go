//go:build interop

package app_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/localstack"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// The product behind PgBouncer in transaction mode, server and workers alike: two tenants at once over three server
// connections, each sees its own stores only, one key has one effect, and a batch is written, taken back and sealed.
func TestInteropPgBouncer(t *testing.T) {
	s := openDesk(t, stack.Options{Stores: 6, Policy: stack.Roomy, Config: func(c *config.Config) {
		b, err := localstack.StartPgBouncer(t.Context(), localstack.Options{Log: os.Stderr}, c.DatabaseURL, 3)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		c.DatabaseURL, c.Worker.PollOnly = b.URL(), true
	}})
	other := s.AddUser("other", "jiro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if n := len(stack.Into[tools.LocationPage](t, s.Call("location.list", stack.Args{})).Locations); n != 6 {
				t.Errorf("%d stores of 6", n)
			}
		})
		wg.Go(func() {
			if n := len(stack.Into[tools.LocationPage](t, s.CallAs(other, "location.list", stack.Args{})).Locations); n != 0 {
				t.Errorf("%d stores of another tenant", n)
			}
		})
	}
	wg.Wait()

	post := stack.Post(s.IDs(4), "トランザクション単位の接続でも一度だけ。")
	post["idempotency_key"] = "through-the-pooler"
	for range 50 {
		wg.Go(func() {
			if a := s.Call("post.create", post); tempting(a.ErrorCode) {
				t.Error(a.Text)
			}
		})
	}
	wg.Wait()
	first := string(s.Accept("post.create", post).BatchID)
	if n := s.batches(); n != 1 {
		t.Errorf("%d batches of one key", n)
	}
	if v := s.Finish(first); v.Status != batch.Done || s.CreatedTotal() != 4 {
		t.Errorf("%+v, %d posts", v, s.CreatedTotal())
	}
	undo := s.Confirmed("batch.undo", stack.Args{"batch_id": first})
	if v := s.Finish(string(undo.BatchID)); v.Status != batch.Done || len(s.Sim.Posts("")) != 0 {
		t.Errorf("%+v, %d posts left", v, len(s.Sim.Posts("")))
	}
	if r, err := s.App.DB.VerifyAudit(t.Context(), stack.Tenant); err != nil || !r.Valid {
		t.Error(fmt.Errorf("%+v: %w", r, err))
	}
}
