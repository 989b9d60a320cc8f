package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// The exit codes.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// settings are the flags.
type settings struct {
	listen, seed string
	demo         int
	timeScale    float64
	noQuotas     bool
	latency      time.Duration
}

// run serves until ctx ends and gives the exit code: 0 after a stop, 1 when it cannot serve, 2 for wrong flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // the flag package has said what is wrong
	}
	if err := serve(ctx, s, stdout, stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "gbpsim:", err)
		return exitFail
	}
	return exitOK
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("gbpsim", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8090", "`address` to listen on; port 0 takes a free one")
	f.StringVar(&s.seed, "seed", "", "JSON `file` with the world (as GET /admin/world gives it)")
	f.IntVar(&s.demo, "demo", 0, "add a demo chain of `n` stores")
	f.Float64Var(&s.timeScale, "time-scale", 1, "`factor` by which the minute of the quotas is shortened")
	f.BoolVar(&s.noQuotas, "no-quotas", false, "switch all quotas off")
	f.DurationVar(&s.latency, "latency", 0, "real `time` that each call takes")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	var wrong string
	switch {
	case f.NArg() > 0:
		wrong = "unexpected argument " + f.Arg(0)
	case s.timeScale <= 0:
		wrong = "-time-scale must be above 0"
	case s.demo < 0 || s.demo > 9999:
		wrong = "-demo must be 0 to 9999"
	case s.latency < 0:
		wrong = "-latency must not be negative"
	default:
		return s, nil
	}
	_, _ = fmt.Fprintln(stderr, "gbpsim:", wrong)
	return s, errors.New(wrong)
}

func serve(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	world := gbpsim.JapaneseChain(s.demo)
	if s.demo == 0 {
		world = gbpsim.World{}
	}
	sim, err := gbpsim.New(gbpsim.Options{
		Seed:  world,
		Knobs: gbpsim.Knobs{TimeScale: s.timeScale, NoQuotas: s.noQuotas, LatencyMS: int(s.latency.Milliseconds())},
		Log:   slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	if s.seed != "" {
		world, err := readWorld(s.seed)
		if err != nil {
			return err
		}
		if err := sim.Seed(world); err != nil {
			return fmt.Errorf("%s: %w", s.seed, err)
		}
	}
	server, err := gbpsim.Listen(sim, s.listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, server.URL); err != nil {
		return fmt.Errorf("print the URL: %w", err)
	}
	select {
	case err = <-server.Done():
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return server.Stop(stopping)
}

func readWorld(path string) (gbpsim.World, error) {
	var w gbpsim.World
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return w, fmt.Errorf("read the seed: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return w, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}
