// Package app builds the object graph once, for the server, the workers, the command line and the end-to-end tests.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/confirm"
	"github.com/mappy-dev/mappy-mcp/internal/fault"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/hint"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/ids"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
	"github.com/mappy-dev/mappy-mcp/internal/liveread"
	"github.com/mappy-dev/mappy-mcp/internal/locsync"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/redisdb"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
	"github.com/mappy-dev/mappy-mcp/internal/telemetry"
	"github.com/mappy-dev/mappy-mcp/tools"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// App is the running product.
type App struct {
	Config  config.Config
	Log     *slog.Logger
	DB      *postgres.DB
	Redis   *redis.Client
	Keys    *keyring.Live
	Tokens  *gtoken.Source
	Google  *gbpapi.Client
	Slots   *slots.Slots
	Hints   *hint.Hints
	Tools   *tools.Set
	Metrics *telemetry.Metrics

	now        func() time.Time
	mediaCheck mediacheck.Options
}

// New connects to PostgreSQL and Redis and builds everything. Redis may be away: the server then starts and refuses writes.
func New(ctx context.Context, c config.Config, log *slog.Logger, options ...Option) (*App, error) {
	a := &App{Config: c, Log: log, Metrics: telemetry.NewMetrics(), now: time.Now} //nolint:forbidigo // here the real clock enters
	for _, o := range options {
		o(a)
	}
	if err := c.Missing(); err != nil {
		return nil, err
	}
	var err error
	if a.Keys, err = keyring.LoadLive(c.Keyring, c.KeyringB64); err != nil {
		return nil, err
	}
	if a.Redis, err = redisdb.Open(c.RedisURL); err != nil {
		return nil, err
	}
	a.DB, err = postgres.Open(ctx, postgres.Options{
		URL: c.DatabaseURL, Environment: c.Environment, Policy: c.Policy, Now: a.now, MaxConns: int32(min(c.DatabaseConnections, 1000)), //nolint:gosec // bounded
	})
	if err != nil {
		return nil, errors.Join(err, a.Redis.Close())
	}
	if err := a.build(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func (a *App) build() (err error) {
	c := a.Config
	a.Tokens, err = gtoken.New(gtoken.Options{
		Store: a.DB, Keys: a.Keys, ClientID: c.GoogleClientID, ClientSecret: c.GoogleClientSecret, BaseURL: c.GoogleBaseURL, Now: a.now, Observe: a.Metrics.Token,
	})
	if err != nil {
		return err
	}
	a.Google, err = gbpapi.New(gbpapi.Options{BaseURL: c.GoogleBaseURL, Tokens: a.Tokens, Timeout: c.Worker.CallTimeout, Now: a.now, Observe: a.Metrics.Google})
	if err != nil {
		return err
	}
	a.Slots = slots.New(a.Redis, c.Google.Project, SlotLimits(c))
	a.Hints = hint.New(a.Redis, a.Log)
	newID := ids.NewSource(a.now).New
	limiter := ratelimit.New(a.Redis)
	adm := admission.New(admission.Deps{
		Store: a.DB, Claims: idempotency.NewClaims(a.Redis), Tokens: confirm.NewStore(a.Redis, a.now), Limiter: limiter, Slots: a.Slots, Validator: validator{a.Google, a.Slots}, Files: a.files(),
		Now: a.now, NewID: newID, ReadOnly: c.ReadOnly, Environment: c.Environment, Log: a.Log, Fault: fault.Hit,
	})
	a.Tools, err = tools.NewSet(tools.Deps{
		Admission: adm, Store: a.DB, Live: liveread.New(lists(a.Google), a.DB, a.Slots, a.now), Attributes: liveread.NewAttributes(a.Google.GetAttributes, a.DB, a.Slots, a.now), Limiter: limiter, Hints: a.Hints, Environment: c.Environment, ReadOnly: c.ReadOnly,
		Now: a.now, NewID: newID, Log: a.Log, Observe: a.Metrics.Call,
	})
	return err
}

// recording is how long what surrounds a call to Google may take beside it.
const recording = 15 * time.Second

// SlotLimits are Google's budgets as a configuration uses them.
func SlotLimits(c config.Config) slots.Limits {
	return slots.Limits{
		RequestsPerMinute: c.Google.RequestsPerMinute, EditsPerWindow: c.Google.EditsPerMinute, Window: time.Minute, UserItems: c.Google.UserItems,
		Hold: 2*c.Worker.CallTimeout + c.Worker.SendWindow + recording, // an edit reads its target and writes in one turn
	}
}

// PoolOptions size this process's share of the work.
func (a *App) PoolOptions() worker.PoolOptions {
	w := a.Config.Worker
	return worker.PoolOptions{
		Interactive: w.Interactive, Bulk: w.Bulk, RescueAfter: w.RescueAfter, SealEvery: w.SealEvery, SweepEvery: w.SweepEvery, PollOnly: w.PollOnly, Log: a.Log,
		Sync: &worker.SyncWorker{Tenants: a.DB.Tenants, Syncer: a.Syncs()}, SyncEvery: w.SyncEvery,
	}
}

// Syncs keeps the mirrors of locations young.
func (a *App) Syncs() locsync.Periodic {
	return locsync.Periodic{
		Google: locsync.Metered(a.Google, a.Slots), Store: a.DB, Leases: locsync.NewLeases(a.Redis), Every: a.Config.Worker.SyncEvery,
		Now: a.now, NewID: ids.NewSource(a.now).New, Log: a.Log,
	}
}

// Items is the worker of items.
func (a *App) Items() *worker.ItemWorker {
	w := a.Config.Worker
	return worker.NewItemWorker(worker.Deps{
		Store: worker.Announcing(a.DB, a.Hints), Slots: a.Slots, Tokens: a.Tokens, Executors: executors(a.Google, w),
		Windows:  worker.Windows{Send: w.SendWindow, Call: w.CallTimeout, Settle: w.Settle, GiveUp: w.GiveUp, Skew: w.ClockSkew, Follow: w.Follow},
		Attempts: w.Attempts, Backoff: w.Backoff, Now: a.now, Log: a.Log, Observe: a.Metrics.Item, Fault: fault.Hit,
	})
}

// executors are the effects that workers can carry out.
func executors(g *gbpapi.Client, w config.Worker) []worker.Executor {
	return append([]worker.Executor{
		worker.PostCreate{Google: g},
		worker.PostUpdate{Google: g},
		worker.PostDelete{Google: g},
		worker.ReviewReply{Google: g},
		worker.ReviewDeleteReply{Google: g},
		worker.ReportCreate{Google: g},
		worker.LocationUpdate{Google: g},
	}, mediaExecutors(g, w)...)
}

// Ready tells whether both stores answer, and PostgreSQL with a schema that is not older than this program.
func (a *App) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := a.DB.CheckSchema(ctx); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	if err := a.Redis.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// Close ends all connections.
func (a *App) Close() {
	a.DB.Close()
	if a.Hints != nil { // building may have failed before it
		if err := a.Hints.Close(); err != nil {
			a.Log.Warn("hints not closed", "error", err)
		}
	}
	if err := a.Redis.Close(); err != nil {
		a.Log.Warn("redis not closed", "error", err)
	}
}
