package localstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Stack is what Start brought up. Its URLs never change. Close it when done.
type Stack struct {
	opts     Options
	ownerURL string
	redisURL string

	mu     sync.Mutex
	home   *home    // nil as long as nothing private was started
	stops  []func() // in the order of starting
	closed bool
}

// Start finds or starts the services, in the order of the package comment, and returns when both have answered. ctx bounds
// the start only. On error nothing is left running.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	s := &Stack{opts: opts}
	if !opts.SkipPostgres {
		if err := s.startPostgres(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if !opts.SkipRedis {
		if err := s.startRedis(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// OwnerURL is a postgres:// URL, readable by pgx and libpq, of a role that may create databases and roles. A private
// server is reached through ?host=<socket folder>. "" with SkipPostgres.
func (s *Stack) OwnerURL() string { return s.ownerURL }

// RedisURL is a redis:// or unix:// URL, readable by go-redis. "" with SkipRedis.
func (s *Stack) RedisURL() string { return s.redisURL }

// StopWithOwner has the process group pgid ended (SIGTERM, then SIGKILL) should this process die without closing the
// stack. It is for a child that works on the stack and must not be left alone with it.
func (s *Stack) StopWithOwner(pgid int) error {
	h, err := s.place(context.Background())
	if err != nil {
		return err
	}
	return h.note("child.group", strconv.Itoa(pgid))
}

// Close stops what Start started, last first, removes its folder, and leaves reused servers alone. It cuts open
// connections. Calling it again is harmless. It returns nil; what cannot be removed is left to the next Start.
func (s *Stack) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
	if s.home != nil {
		s.home.close()
	}
	return nil
}

// place makes the stack's folder when first needed.
func (s *Stack) place(ctx context.Context) (*home, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.home == nil {
		h, err := newHome(ctx)
		if err != nil {
			return nil, err
		}
		s.home = h
	}
	return s.home, nil
}

func (s *Stack) onClose(stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops = append(s.stops, stop)
}

func (s *Stack) startPostgres(ctx context.Context) error {
	if url := s.opts.getenv(EnvPostgres); url != "" {
		where, v, err := reusePostgres(ctx, url)
		if err != nil {
			return err
		}
		s.ownerURL = url
		s.opts.logf("PostgreSQL %s: reused from %s (%s)", v, EnvPostgres, where)
		return nil
	}
	bin, why := findOrInstall(ctx, s.opts, postgres, s.opts.finder().postgres)
	if why == nil {
		return s.privatePostgres(ctx, bin)
	}
	if !errors.Is(why, errNotFound) {
		return why
	}
	if !s.opts.noDocker && dockerAnswers(ctx, s.opts.finder()) {
		return s.dockerPostgres(ctx)
	}
	return fmt.Errorf("%w: %s", why, postgres.hint())
}

func (s *Stack) privatePostgres(ctx context.Context, bin pgBinaries) error {
	h, err := s.place(ctx)
	if err != nil {
		return err
	}
	pg, err := startPostgres(ctx, h, bin, s.opts.Durable)
	if err != nil {
		return err
	}
	s.onClose(pg.stop)
	s.ownerURL = pg.url
	s.opts.logf("PostgreSQL %s: private cluster from %s, socket %s/pg", bin.version, bin.dir, h.dir)
	return nil
}

func (s *Stack) dockerPostgres(ctx context.Context) error {
	h, err := s.place(ctx)
	if err != nil {
		return err
	}
	args := []string{"-c", "max_connections=" + maxConnections}
	if !s.opts.Durable {
		args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	c, err := runContainer(ctx, s.opts.finder(), h, "postgres", postgresImage, "5432", []string{"POSTGRES_PASSWORD=mappy"}, args)
	if err != nil {
		return err
	}
	s.onClose(func() { c.remove(ctx, s.opts.finder()) })
	url := "postgres://postgres:mappy@" + c.addr + "/postgres?sslmode=disable"
	if err := awaitContainer(ctx, func() error { return pingPostgres(ctx, url) }); err != nil {
		return fmt.Errorf("container %s does not answer at %s: %w", postgresImage, c.addr, err)
	}
	s.ownerURL = url
	s.opts.logf("PostgreSQL: container of %s at %s", postgresImage, c.addr)
	return nil
}

func (s *Stack) startRedis(ctx context.Context) error {
	if url := s.opts.getenv(EnvRedis); url != "" {
		where, v, err := reuseRedis(ctx, url)
		if err != nil {
			return err
		}
		s.redisURL = url
		s.opts.logf("Redis %s: reused from %s (%s)", v, EnvRedis, where)
		return nil
	}
	bin, why := findOrInstall(ctx, s.opts, redis, s.opts.finder().redis)
	if why == nil {
		return s.privateRedis(ctx, bin)
	}
	if !errors.Is(why, errNotFound) {
		return why
	}
	if !s.opts.noDocker && dockerAnswers(ctx, s.opts.finder()) {
		return s.dockerRedis(ctx)
	}
	if s.opts.AllowEmbeddedRedis {
		url, stop, err := startEmbedded()
		if err != nil {
			return err
		}
		s.onClose(stop)
		s.redisURL = url
		s.opts.logf("Redis: in-process stand-in at %s, forgets everything at exit (%v)", url, why)
		return nil
	}
	return fmt.Errorf("%w: %s", why, redis.hint())
}

func (s *Stack) privateRedis(ctx context.Context, bin redisBinary) error {
	h, err := s.place(ctx)
	if err != nil {
		return err
	}
	srv, err := newRedis(ctx, h, bin)
	if err != nil {
		return err
	}
	s.onClose(srv.Stop)
	s.redisURL = srv.URL()
	s.opts.logf("Redis %s: private server from %s, socket %s", bin.version, bin, srv.socket())
	return nil
}

func (s *Stack) dockerRedis(ctx context.Context) error {
	h, err := s.place(ctx)
	if err != nil {
		return err
	}
	args := []string{"redis-server", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--databases", RedisDatabases}
	c, err := runContainer(ctx, s.opts.finder(), h, "redis", redisImage, "6379", nil, args)
	if err != nil {
		return err
	}
	s.onClose(func() { c.remove(ctx, s.opts.finder()) })
	url := "redis://" + c.addr
	if err := awaitContainer(ctx, func() error { return pingRedis(ctx, url) }); err != nil {
		return fmt.Errorf("container %s does not answer at %s: %w", redisImage, c.addr, err)
	}
	s.redisURL = url
	s.opts.logf("Redis: container of %s at %s", redisImage, c.addr)
	return nil
}
