// Package redisdb opens the Redis connection that the safety devices share, and turns its failures into the catalogue.
//
// Redis is speed and short-lived state. It may be flushed or lost at any time without a second effect; while it is away
// writes are refused with UNAVAILABLE and workers wait.
package redisdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Timeout bounds one command, also against a server that accepts and never answers.
const Timeout = 500 * time.Millisecond

// Open makes a client for a redis://, rediss:// or unix:// URL. It does not connect.
//
// Contexts' deadlines are obeyed (go-redis ignores them by default). A command is repeated once after a lost connection, so
// every script must be safe to run twice for one call: each takes the call's own nonce. After a command that got no answer
// in time the next ones fail at once for half a second; see [resting].
func Open(url string) (*redis.Client, error) {
	quiet()
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("redis: the URL cannot be parsed") // the parser's text may hold the password
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = Timeout, Timeout, Timeout
	o.PoolTimeout = Timeout
	o.PoolSize = 64
	o.MaxRetries = 1
	o.MinRetryBackoff, o.MaxRetryBackoff = 5*time.Millisecond, 20*time.Millisecond
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DialerRetries = 1 // a refused connection is an answer
	c := redis.NewClient(o)
	c.AddHook(&resting{})
	return c, nil
}

// quiet keeps the library from writing a line to standard error for every failed dial; each failure reaches its caller, who
// logs it. The library has one logger for the process.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

// Printf implements the library's logger.
func (silence) Printf(context.Context, string, ...any) {}

// Unavailable is the refusal of a call that needed Redis.
func Unavailable(err error, doing string) error {
	return errs.Wrap(errs.Unavailable, fmt.Errorf("redis: %s: %w", doing, err),
		errs.T("一時的に受け付けられません。何も送信されていません。", "Temporarily unavailable; nothing was sent."))
}

// Bound gives a context in which one exchange with Redis has to be over.
func Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 2*Timeout)
}
