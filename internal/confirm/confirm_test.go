package confirm_test

import (
	"bytes"
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/confirm"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
)

var now = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func binding() confirm.Binding {
	return confirm.Binding{
		Tenant: "komorebi", Client: "agent", User: "hanako", Tool: "post.create", InputHash: []byte{1, 2, 3},
		Targets: map[int64]map[string]string{1: {"title": "a", "content": "b"}, 2: {"title": "c", "content": "d"}},
	}
}

func setup(t *testing.T) (*confirm.Store, *redis.Client) {
	t.Helper()
	rdb, err := redisdb.Open(redistest.New(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return confirm.NewStore(rdb, func() time.Time { return now }), rdb
}

func TestIssueAndFind(t *testing.T) {
	t.Parallel()
	s, rdb := setup(t)
	token, err := s.Issue(t.Context(), binding(), 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`).MatchString(token) {
		t.Errorf("token %q", token)
	}
	want := binding()
	want.ExpiresAt = now.Add(5 * time.Minute)
	for range 2 { // reading spends nothing
		got, ok, err := s.Find(t.Context(), "komorebi", token)
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	for _, k := range rdb.Keys(t.Context(), "*").Val() {
		if bytes.Contains([]byte(k+rdb.Get(t.Context(), k).Val()), []byte(token)) {
			t.Error("the token itself stands in Redis")
		}
		// It outlives its expiry, so that expired and unknown can be told apart.
		if ttl := rdb.TTL(t.Context(), k).Val(); ttl < time.Hour || ttl > 2*time.Hour {
			t.Errorf("kept for %s", ttl)
		}
	}
	other, err := s.Issue(t.Context(), binding(), time.Minute)
	if err != nil || other == token {
		t.Errorf("%q, %v", other, err)
	}
}

func TestUnknownTokens(t *testing.T) {
	t.Parallel()
	s, rdb := setup(t)
	token, err := s.Issue(t.Context(), binding(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Find(t.Context(), "rival", token); ok || err != nil {
		t.Errorf("another tenant: %v, %v", ok, err)
	}
	for name, tok := range map[string]string{"empty": "", "cut": token[:42], "longer": token + "A", "NUL": "\x00", "key-like": "{komorebi}:" + token} {
		if _, ok, err := s.Find(t.Context(), "komorebi", tok); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	rdb.FlushDB(t.Context())
	if _, ok, err := s.Find(t.Context(), "komorebi", token); ok || err != nil {
		t.Errorf("after a flush: %v, %v", ok, err)
	}
}

func TestBrokenBindingIsNoConsent(t *testing.T) {
	t.Parallel()
	s, rdb := setup(t)
	token, err := s.Issue(t.Context(), binding(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range rdb.Keys(t.Context(), "*").Val() {
		rdb.Set(t.Context(), k, "{", 0)
	}
	if _, ok, err := s.Find(t.Context(), "komorebi", token); ok || err == nil {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	rdb, err := redisdb.Open(own.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	s := confirm.NewStore(rdb, func() time.Time { return now })
	own.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := s.Issue(ctx, binding(), time.Minute); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("issue: %v", err)
	}
	if _, _, err := s.Find(ctx, "komorebi", "x"); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("find: %v", err)
	}
}
