package gtoken

import (
	"fmt"
	"testing"
	"time"
)

// A store whose calls are all answered 401, whatever the token: one refresh in a while, not one for each call.
func TestForcedRefreshesAreRare(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.connect("t", "other", "r")
	s := b.source(nil)
	given := func() string {
		b.respond(good(fmt.Sprintf("a%d", b.calls.Load()+1), ""))
		token, err := s.Token(t.Context(), "t", "c")
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for range 20 {
		s.Invalidate("t", "c", given())
	}
	b.wantCalls(2) // the first token, and the one that replaced it
	if got := given(); got != "a2" {
		t.Errorf("got %q", got)
	}
	// Another connection is another matter, and so is a token that runs out in its own time.
	b.respond(good("b1", ""))
	b.token(s, "t", "other", "b1")
	b.respond(good("b2", ""))
	s.Invalidate("t", "other", "b1")
	b.token(s, "t", "other", "b2")
	b.wantCalls(4)
	b.clock.advance(59 * time.Minute) // less than the margin is left
	if got := given(); got != "a5" {
		t.Errorf("got %q", got)
	}
	s.Invalidate("t", "c", "a5")
	if got := given(); got != "a6" {
		t.Errorf("after the while: got %q", got)
	}
	s.Invalidate("t", "c", "a6")
	if got := given(); got != "a6" {
		t.Errorf("within the while: got %q", got)
	}
	b.clock.advance(time.Minute)
	s.Invalidate("t", "c", "a6")
	if got := given(); got != "a7" {
		t.Errorf("got %q", got)
	}
}

// What another process stored meanwhile is used, also while this one may not refresh.
func TestForcedRefreshOfAnotherProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect("t", "c", "r")
	b.respond(good("a1", ""))
	one, two := b.source(nil), b.source(nil)
	b.token(one, "t", "c", "a1")
	b.respond(good("a2", ""))
	one.Invalidate("t", "c", "a1")
	b.token(one, "t", "c", "a2")
	b.token(two, "t", "c", "a2")
	b.respond(good("a3", ""))
	two.Invalidate("t", "c", "a2")
	b.token(two, "t", "c", "a3")
	one.Invalidate("t", "c", "a2")
	b.token(one, "t", "c", "a3")
	b.wantCalls(3)
}
