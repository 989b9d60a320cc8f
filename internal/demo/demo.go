// Package demo brings the whole product up privately and plays the story of one write in the terminal: PostgreSQL and Redis
// (private ones, or those that MAPPY_OWNER_DATABASE_URL and MAPPY_REDIS_URL name), a fresh database, the Google simulator
// with a café chain of 120 stores, the server and its worker in this process, and an agent that speaks MCP over HTTP to the
// server's URL, like any customer's.
//
// The story checks itself: Run fails when what happened at the simulator is not what the terminal claims.
//
// Nothing outlives Run. Servers that it started are stopped and their folder removed; on a server that was there before,
// the database and the login role of this run are dropped (the group role mappy_app, which every database of the server
// shares, stays; in Redis every key has an expiry).
package demo

import (
	"context"
	"errors"
	"io"
)

// Options say where the story goes.
type Options struct {
	// Out gets the story or, with Stay, the lines to connect clients; colours only where it is a terminal and NO_COLOR is not set.
	Out io.Writer
	// Log gets what is started or reused, and the server's warnings.
	Log io.Writer
	// Stay skips the story: everything stays up until the context ends.
	Stay bool

	// reached is told about each step as it begins to be true; may be nil. Tests follow the run with it.
	reached func(step, *stage)
}

// step is a point of a run.
type step int

// The steps, in the order of a run. stepWaiting is the one of Stay.
const (
	stepUp step = iota
	stepListed
	stepPreviewed
	stepRefused
	stepAccepted
	stepFinished
	stepReplayed
	stepAudited
	stepUndone
	stepWaiting
)

// Run plays the story and ends, or stays until ctx ends. Everything is stopped and removed when it returns. An ended ctx is
// how people leave: it is no error.
func Run(ctx context.Context, o Options) error {
	_, err := run(ctx, o)
	return err
}

func run(ctx context.Context, o Options) (facts, error) {
	p := newPrinter(o.Out)
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := &stage{fail: fail}
	f, err := perform(running, o, s, p)
	if cause := context.Cause(running); cause != nil && ctx.Err() == nil {
		err = errors.Join(err, cause) // the server ended by itself, and that is why the rest failed
	}
	if ctx.Err() != nil {
		p.say("\nStopping.")
		err = nil
	}
	err = errors.Join(err, s.lower())
	if err == nil {
		p.say("Everything is stopped and removed.")
	}
	return f, err
}

func perform(ctx context.Context, o Options, s *stage, p *printer) (facts, error) {
	reached := func(at step) {
		if o.reached != nil {
			o.reached(at, s)
		}
	}
	if err := s.raise(ctx, o, p); err != nil {
		return facts{}, err
	}
	reached(stepUp)
	if !o.Stay {
		return play(ctx, s, p, reached)
	}
	if err := invite(p, s); err != nil {
		return facts{}, err
	}
	reached(stepWaiting)
	<-ctx.Done()
	return facts{}, nil
}
