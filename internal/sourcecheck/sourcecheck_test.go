package sourcecheck_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
	"github.com/mappy-dev/mappy-mcp/internal/sourcecheck"
)

// hosts answers for addresses: those in refused are refused, those in hung never answer.
type hosts struct {
	mu      sync.Mutex
	fetched []string
	running int
	most    int
	refused map[string]*mediacheck.Refusal
	hung    map[string]bool
}

func (h *hosts) Check(ctx context.Context, source string, _ gbp.MediaUse) (mediacheck.Facts, *mediacheck.Refusal, error) {
	h.mu.Lock()
	h.fetched = append(h.fetched, source)
	h.running++
	h.most = max(h.most, h.running)
	r, hung := h.refused[source], h.hung[source]
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.running--
	}()
	if hung {
		<-ctx.Done()
		return mediacheck.Facts{}, nil, ctx.Err()
	}
	if r != nil {
		return mediacheck.Facts{}, r, nil
	}
	return mediacheck.Facts{URL: source, Format: gbp.Photo, Bytes: 7, SHA256: "digest of " + source}, nil, nil
}

func source(s string) gbp.Source { return gbp.Source{URL: s, Use: gbp.UsePost} }

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func open(within time.Duration, h *hosts) (*sourcecheck.Checks, *clock) {
	c := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	return sourcecheck.New(h, within, c.now, slog.New(slog.DiscardHandler)), c
}

// What can be used is remembered for a minute, per tenant and use; what is refused is not remembered at all.
func TestRemembersForAMinute(t *testing.T) {
	h := &hosts{refused: map[string]*mediacheck.Refusal{"b": {Rule: mediacheck.RuleTooSmall, Text: errs.T("小", "small"), Measured: 9216, Limit: 10240}}}
	c, clock := open(time.Minute, h)
	a, b := source("a"), source("b")
	known, unknown := c.Known("t", []gbp.Source{a, b, a})
	if len(known) != 0 || !slices.Equal(unknown, []gbp.Source{a, b}) {
		t.Fatalf("%v, %v", known, unknown)
	}
	got := c.Look(t.Context(), "t", unknown)
	if got[a] != (gbp.SourceFile{URL: "a", Format: gbp.Photo, Bytes: 7, SHA256: "digest of a"}) || *got[b].Refusal != (gbp.FileRefusal{Rule: "too_small", Text: errs.T("小", "small"), Found: "9216"}) {
		t.Fatalf("%+v", got)
	}
	clock.at = clock.at.Add(time.Minute - time.Millisecond)
	known, unknown = c.Known("t", []gbp.Source{a, b})
	if known[a].SHA256 == "" || !slices.Equal(unknown, []gbp.Source{b}) {
		t.Errorf("%v, %v", known, unknown)
	}
	if known, _ := c.Known("other", []gbp.Source{a}); len(known) != 0 {
		t.Errorf("another tenant's: %v", known)
	}
	if known, _ := c.Known("t", []gbp.Source{{URL: "a", Use: gbp.UseCover}}); len(known) != 0 {
		t.Errorf("for another use: %v", known)
	}
	clock.at = clock.at.Add(time.Millisecond)
	if known, unknown := c.Known("t", []gbp.Source{a}); len(known) != 0 || len(unknown) != 1 {
		t.Errorf("after a minute: %v", known)
	}
}

// Look ends within its bound with a verdict about every file, whatever hangs, and fetches eight at once.
func TestLookIsBounded(t *testing.T) {
	h := &hosts{hung: map[string]bool{}}
	var all []gbp.Source
	for i := range 40 {
		s := fmt.Sprint(i)
		h.hung[s] = i >= 4
		all = append(all, source(s))
	}
	c, _ := open(200*time.Millisecond, h)
	began := time.Now()
	got := c.Look(context.WithoutCancel(t.Context()), "t", all)
	if took := time.Since(began); took > 5*time.Second || len(got) != 40 || h.most != 8 {
		t.Errorf("%s, %d verdicts, %d at once", took, len(got), h.most)
	}
	for i, s := range all {
		r := got[s].Refusal
		if (r != nil) != (i >= 4) || r != nil && (r.Rule != sourcecheck.RuleNotChecked || r.Text.JA == "" || r.Text.EN == "") {
			t.Errorf("%d: %+v", i, got[s])
		}
	}
}
