package gbpsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

func TestEditsPerLocation(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	name := b.created(0)
	for i := range 8 {
		b.sim.Advance(time.Second)
		if a := b.create(0, plain); a.status != 200 {
			t.Fatalf("edit %d: %d %s", i+2, a.status, a.raw)
		}
	}
	if a := b.do("DELETE", v4Host+"/v4/"+name, ""); a.status != 200 {
		t.Fatalf("tenth edit: %d", a.status)
	}
	if a := b.create(0, plain); a.status != 429 || a.reason() != "RATE_LIMIT_EXCEEDED" || !strings.Contains(a.raw, `"quota_limit_value": "10"`) {
		t.Errorf("eleventh edit: %d %s", a.status, a.raw)
	}
	if a := b.create(1, plain); a.status != 200 {
		t.Errorf("another location: %d", a.status)
	}
	if a := b.create(0, `{"summary":"s"}`); a.status != 400 {
		t.Errorf("an invalid edit beyond the budget: %d", a.status)
	}
	if a := b.do("GET", b.posts(0), ""); a.status != 200 {
		t.Errorf("a read beyond the budget: %d", a.status)
	}
	b.sim.Advance(52*time.Second - time.Millisecond) // one millisecond less than a minute after the first
	if a := b.create(0, plain); a.status != 429 {
		t.Errorf("just before the first edit is a minute old: %d", a.status)
	}
	b.sim.Advance(time.Millisecond)
	if one, two := b.create(0, plain).status, b.create(0, plain).status; one != 200 || two != 429 {
		t.Errorf("when it is: %d, %d", one, two)
	}
	s := b.sim.Stats()
	if s.MaxEdits[b.store[0]] != 10 || s.MaxEditAttempts[b.store[0]] <= 10 || s.MaxEdits[b.store[1]] != 1 {
		t.Errorf("edits %v, attempts %v", s.MaxEdits, s.MaxEditAttempts)
	}
}

func TestQuotaPerAPI(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	list := func() int { return b.do("GET", b.posts(0), "").status }
	for i := range 300 {
		if s := list(); s != 200 {
			t.Fatalf("call %d: %d", i+1, s)
		}
	}
	a := b.do("GET", b.posts(0), "")
	if a.status != 429 || a.reason() != "RATE_LIMIT_EXCEEDED" || a.header.Get("Retry-After") != "" {
		t.Errorf("call 301: %d %s", a.status, a.raw)
	}
	for _, d := range a.details() {
		if m, ok := d["metadata"].(map[string]any); ok {
			if m["service"] != v4Host || m["quota_limit"] != "DefaultRequestsPerMinutePerProject" || m["quota_limit_value"] != "300" || m["consumer"] != "projects/123456789012" {
				t.Errorf("metadata %v", m)
			}
		}
	}
	if a := b.do("GET", v1Host+"/v1/accounts/-/locations?readMask=name", ""); a.status != 200 {
		t.Errorf("another API: %d", a.status)
	}
	if a := b.refresh(refreshForm(gbpsim.DemoRefreshToken)); a.status != 200 {
		t.Errorf("the token endpoint: %d", a.status)
	}
	b.sim.Advance(time.Minute)
	if s := list(); s != 200 {
		t.Errorf("a minute later: %d", s)
	}
	if s := b.sim.Stats(); s.MaxCalls[v4Host] != 301 || s.CallsPerMinute[v4Host]["2026-11-30T03:00:00Z"] != 301 || s.CallsPerMinute[v4Host]["2026-11-30T03:01:00Z"] != 1 {
		t.Errorf("stats %v %v", s.MaxCalls, s.CallsPerMinute)
	}
}

func TestTimeScale(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{TimeScale: 10}})
	for range 10 {
		b.created(0)
	}
	b.sim.Advance(5999 * time.Millisecond)
	if s := b.create(0, plain).status; s != 429 {
		t.Errorf("before 6 s: %d", s)
	}
	b.sim.Advance(time.Millisecond)
	if s := b.create(0, plain).status; s != 200 {
		t.Errorf("after 6 s: %d", s)
	}
}

func TestNoQuotas(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true}})
	for range 350 {
		b.created(0)
	}
	if s := b.sim.Stats(); s.Effects[gbpsim.RouteLocalPostsCreate] != 350 || s.Statuses[gbpsim.RouteLocalPostsCreate]["200"] != 350 {
		t.Errorf("stats %v %v", s.Effects, s.Statuses)
	}
}
