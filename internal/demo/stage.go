package demo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
	"github.com/mappy-dev/mappy-mcp/internal/localstack"
)

// worldSize is how many stores the demo's chain has.
const worldSize = 120

// Windows of the demo, so that nobody waits for what production waits for out of caution. Production: a minute until an
// unanswered write is read back, five seconds between seals of the audit.
const (
	demoSettle    = 2 * time.Second
	demoSealEvery = time.Second
)

// googleLatency is how long each call to the simulator takes; Google's own calls take some hundred milliseconds.
const googleLatency = 120 * time.Millisecond

// Addresses that people find easy to remember, taken by Stay where they are free.
const (
	preferredServer    = "127.0.0.1:8080"
	preferredAdmin     = "127.0.0.1:8081"
	preferredSimulator = "127.0.0.1:8090"
	anyPort            = "127.0.0.1:0"
)

// stage is what a run has brought up. Its zero value with fail set is ready for raise; lower takes down whatever is there.
type stage struct {
	services  *localstack.Stack
	database  database
	sim       *gbpsim.Sim
	simURL    string
	config    config.Config
	app       *app.App
	serverURL string
	adminURL  string
	// token is of the demo's agent, which may use every store and every tool.
	token string

	// fail ends the run when something that has to stay up ends by itself.
	fail context.CancelCauseFunc
	down []func() error
}

// raise brings everything up. On error, what is up already stays for lower.
func (s *stage) raise(ctx context.Context, o Options, p *printer) error {
	for _, part := range []func(context.Context, Options) error{s.startServices, s.startGoogle, s.startApp, s.enrol, s.serve} {
		if err := part(ctx, o); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	p.say(fmt.Sprintf("Simulated Google with %d stores at %s, Mappy's server and worker at %s.", worldSize, s.simURL, s.serverURL))
	p.say(fmt.Sprintf("For the demo an unanswered write is read back after %s (production: %s), the audit is sealed every %s (production: %s).",
		demoSettle, config.Default().Worker.Settle, demoSealEvery, config.Default().Worker.SealEvery))
	return nil
}

// lower takes everything down, last first, whatever became of the run's own context.
func (s *stage) lower() error {
	var problems []error
	for _, down := range slices.Backward(s.down) {
		problems = append(problems, down())
	}
	s.down = nil
	return errors.Join(problems...)
}

func (s *stage) onLower(down func() error) { s.down = append(s.down, down) }

func (s *stage) startServices(ctx context.Context, o Options) (err error) {
	s.services, err = localstack.Start(ctx, localstack.Options{Durable: true, AllowEmbeddedRedis: true, Log: o.Log})
	if err != nil {
		return err
	}
	s.onLower(s.services.Close)
	if s.database, err = createDatabase(ctx, s.services.OwnerURL()); err != nil {
		return err
	}
	s.onLower(func() error { return s.database.drop(ctx) })
	return s.database.migrate(ctx)
}

func (s *stage) startGoogle(ctx context.Context, o Options) (err error) {
	s.sim, err = gbpsim.New(gbpsim.Options{Seed: gbpsim.JapaneseChain(worldSize), Knobs: gbpsim.Knobs{LatencyMS: int(googleLatency.Milliseconds())}, Log: logger(o)})
	if err != nil {
		return err
	}
	address := anyPort
	if o.Stay {
		address = preferredSimulator
	}
	server, err := gbpsim.Listen(s.sim, address)
	if err != nil && o.Stay {
		server, err = gbpsim.Listen(s.sim, anyPort)
	}
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	s.simURL = server.URL
	s.onLower(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return server.Stop(ctx)
	})
	return nil
}

func (s *stage) startApp(ctx context.Context, o Options) (err error) {
	if s.config, err = configuration(s.database.appURL, s.services.RedisURL(), s.simURL, s.database.name); err != nil {
		return err
	}
	if s.app, err = app.New(ctx, s.config, logger(o)); err != nil {
		return err
	}
	s.onLower(func() error { s.app.Close(); return nil })
	return nil
}

// configuration is the product's own, with the demo's windows. project keeps Google's shared budgets of two demos on one
// Redis apart.
func configuration(databaseURL, redisURL, googleURL, project string) (config.Config, error) {
	c := config.Default()
	ring, err := keyring.New()
	if err != nil {
		return c, err
	}
	secret, err := ring.Secret()
	if err != nil {
		return c, err
	}
	c.Environment, c.DatabaseURL, c.RedisURL, c.GoogleBaseURL = "simulator", databaseURL, redisURL, googleURL
	c.GoogleClientID, c.GoogleClientSecret = "demo-client", "demo-secret" // the simulator takes any
	c.KeyringB64 = base64.StdEncoding.EncodeToString(secret)
	c.Google.Project = project
	c.Worker.Settle, c.Worker.SealEvery, c.Worker.ShutdownGrace = demoSettle, demoSealEvery, 10*time.Second
	return c, nil
}

func (s *stage) serve(ctx context.Context, o Options) error {
	server, admin := anyPort, anyPort
	if o.Stay {
		server, admin = preferredServer, preferredAdmin
	}
	public, err := listen(ctx, server)
	if err != nil {
		return err
	}
	private, err := listen(ctx, admin)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	s.serverURL, s.adminURL = "http://"+public.Addr().String(), "http://"+private.Addr().String()
	running, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the agent, not with it
	ended := make(chan error, 1)
	go func() {
		err := s.app.Run(running, public, private, true)
		if running.Err() == nil {
			s.fail(fmt.Errorf("the server ended: %w", errors.Join(err, errEnded)))
		}
		ended <- err
	}()
	s.onLower(func() error {
		stop()
		return <-ended
	})
	return nil
}

var errEnded = errors.New("nobody had asked it to")

// listen takes the address or, where it is in use, a free port of the loopback interface.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil && address != anyPort {
		l, err = c.Listen(ctx, "tcp", anyPort)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// logger lets warnings through while the demo stays, and errors only while it tells its story.
func logger(o Options) *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	level := slog.LevelError
	if o.Stay {
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(o.Log, &slog.HandlerOptions{Level: level}))
}
