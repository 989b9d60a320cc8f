package gtoken

import (
	"fmt"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// A grant without the scope is dead; news about a token of before a reconnect are not about the new grant.
func TestInsufficientScope(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	s := b.source(nil)
	b.token(s, "t", "c", "a1")
	b.connect("t", "c", "r2")
	s.Insufficient(t.Context(), "t", "c", "a1") // the row has no access token yet
	b.respond(good("a2", ""))
	b.clock.advance(61e9)
	b.token(s, "t", "c", "a2")
	s.Insufficient(t.Context(), "t", "c", "a1")
	if _, _, c := b.stored("t", "c"); c.State != Alive {
		t.Fatal("late news killed the new grant")
	}
	s.Insufficient(t.Context(), "t", "none", "a2")
	s.Insufficient(t.Context(), "t", "c", "a2")
	s.Insufficient(t.Context(), "t", "c", "a2")
	if _, err := s.Token(t.Context(), "t", "c"); errs.CodeOf(err) != errs.GoogleReconnectRequired {
		t.Errorf("got %v", err)
	}
	b.wantCalls(2)
	if got := fmt.Sprint(b.store.events); got != "[refreshed refreshed dead]" {
		t.Errorf("events %s", got)
	}
}
