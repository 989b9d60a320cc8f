package app_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/confirm"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/ids"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

var errLost = errs.New(errs.Unavailable, errs.T("応答がありません。", "No answer."))

// lossy is the real PostgreSQL behind a connection that breaks once a commit is through. Away stays away afterwards.
type lossy struct {
	*postgres.DB
	away bool
	lost bool
}

// Enqueue implements admission.Store.
func (l *lossy) Enqueue(ctx context.Context, s admission.Submission) (*admission.Answered, error) {
	if _, err := l.DB.Enqueue(ctx, s); err != nil {
		return nil, err
	}
	l.lost = true
	return nil, errLost
}

// FindAnswer implements admission.Store.
func (l *lossy) FindAnswer(ctx context.Context, k idempotency.Key) (*admission.Answered, error) {
	if l.lost && l.away {
		return nil, errLost
	}
	return l.DB.FindAnswer(ctx, k)
}

// Record implements admission.Store.
func (l *lossy) Record(ctx context.Context, tenant authn.TenantID, events ...audit.Event) error {
	if l.lost && l.away {
		return errLost
	}
	return l.DB.Record(ctx, tenant, events...)
}

// deaf is the real limiter whose answers do not arrive.
type deaf struct{ *ratelimit.Limiter }

// Take implements admission.Limiter.
func (d deaf) Take(ctx context.Context, buckets []ratelimit.Bucket, nonce string) ([]ratelimit.State, error) {
	if _, err := d.Limiter.Take(ctx, buckets, nonce); err != nil {
		return nil, err
	}
	return nil, errLost
}

// toolsOn are the desk's tools with devices of their own.
func (d *desk) toolsOn(store admission.Store, limiter admission.Limiter) *tools.Set {
	d.t.Helper()
	a := d.App
	set, err := tools.NewSet(tools.Deps{
		Admission: admission.New(admission.Deps{
			Store: store, Claims: idempotency.NewClaims(a.Redis), Tokens: confirm.NewStore(a.Redis, time.Now), Limiter: limiter, Slots: a.Slots,
			Now: time.Now, NewID: ids.NewSource(time.Now).New, Environment: "simulator", Log: slog.New(slog.DiscardHandler), Fault: func(string) {},
		}),
		Store: a.DB, Limiter: limiter, Hints: a.Hints, Environment: "simulator", Now: time.Now, NewID: ids.NewSource(time.Now).New, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return set
}

// The answer to a commit is lost. While PostgreSQL is there, it is asked, and the call is what it was; while it is not, nobody
// says that nothing was executed, and the same key tells afterwards.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, NoWorkers: true})
	for name, away := range map[string]bool{"found": false, "away": true} {
		args := marshal(t, stack.Post(d.IDs(1), "届いたかもしれません。"+name).With("idempotency_key", "lost-commit-"+name))
		before := d.batches()
		a := d.on(t.Context(), d.toolsOn(&lossy{DB: d.App.DB, away: away}, ratelimit.New(d.App.Redis)), d.principal(d.Token), "post.create", args)
		if n := d.batches() - before; n != 1 {
			t.Fatalf("%s: %d batches", name, n)
		}
		again := stack.Into[tools.Write](t, d.raw(d.Token, "post.create", args)).Accepted
		if again.Idempotency.Outcome != "replayed" {
			t.Errorf("%s: %+v", name, again)
		}
		if away {
			if a.ErrorCode != errs.Unavailable || a.Executed != errs.ExecutedUnknown || !a.Retry.SameKey {
				t.Errorf("%s: %s", name, a.Text)
			}
			continue
		}
		if w := stack.Into[tools.Write](t, a).Accepted; w.Idempotency.Outcome != "executed" || w.BatchID != again.BatchID {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// Limits that were taken without anybody hearing of it are given back.
func TestLostLimits(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, NoWorkers: true})
	p, limiter := d.principal(d.Token), ratelimit.New(d.App.Redis)
	left := func() []ratelimit.State {
		t.Helper()
		states, err := limiter.Peek(t.Context(), ratelimit.WriteBuckets(p, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		return states
	}
	before := left()
	a := d.on(t.Context(), d.toolsOn(d.App.DB, deaf{limiter}), p, "post.create", marshal(t, stack.Post(d.IDs(1), "数えられません。")))
	d.mustRefuse(a, errs.Unavailable)
	for i, s := range left() {
		if s != before[i] {
			t.Errorf("%+v, before it was %+v", s, before[i])
		}
	}
}
