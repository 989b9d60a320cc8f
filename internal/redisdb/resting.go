package redisdb

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// rest is how long nothing is asked of a Redis that did not answer in time.
const rest = Timeout

var errResting = errors.New("it did not answer a moment ago")

// resting fails commands at once for a while after one of them got no answer in time. A call makes several commands, each
// bounded by [Timeout]: without it a Redis that hangs would cost a call the sum, and the call's own deadline with it.
type resting struct{ away atomic.Bool }

// DialHook implements redis.Hook.
func (r *resting) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (r *resting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if r.away.Load() {
			cmd.SetErr(errResting)
			return errResting
		}
		return r.judge(ctx, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (r *resting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if r.away.Load() {
			for _, c := range cmds {
				c.SetErr(errResting)
			}
			return errResting
		}
		return r.judge(ctx, func() error { return next(ctx, cmds) })
	}
}

// judge runs a command. Only one that had the time to wait says something about Redis.
func (r *resting) judge(ctx context.Context, command func() error) error {
	deadline, bounded := ctx.Deadline()
	patient := !bounded || time.Until(deadline) >= Timeout
	err := command()
	if patient && timedOut(err) && r.away.CompareAndSwap(false, true) {
		time.AfterFunc(rest, func() { r.away.Store(false) })
	}
	return err
}

func timedOut(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout() || errors.Is(err, context.DeadlineExceeded)
}
