package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/mappy-dev/mappy-mcp/internal/localstack"
)

const (
	exitServices = 1
	exitUsage    = 2
	exitNoChild  = 127
	exitSignal   = 128 // plus the signal's number
)

func run(args []string, log io.Writer) int {
	flags := flag.NewFlagSet("localrun", flag.ContinueOnError)
	flags.SetOutput(log)
	opts := localstack.Options{Log: log}
	flags.BoolVar(&opts.Durable, "durable", false, "keep fsync on, for demonstrations and measurements")
	flags.BoolVar(&opts.AllowEmbeddedRedis, "embedded-redis", false, "fall back to an in-process Redis that keeps nothing")
	flags.BoolVar(&opts.NoInstall, "no-install", false, "do not use the package manager")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(log, "localrun: no command given; usage: localrun [flags] -- command arguments…")
		return exitUsage
	}

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	stopWatch := watchParent(signals)
	defer stopWatch()

	stack, sig, err := start(opts, signals)
	if err != nil {
		fmt.Fprintln(log, "localrun:", err)
		if sig != 0 {
			return exitSignal + int(sig)
		}
		return exitServices
	}
	defer func() { _ = stack.Close() }()
	return runChild(stack, flags.Args(), signals, log)
}

// start starts the services; a signal meanwhile cancels it and is returned with the error.
func start(opts localstack.Options, signals <-chan os.Signal) (*localstack.Stack, syscall.Signal, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type result struct {
		stack *localstack.Stack
		err   error
	}
	done := make(chan result, 1)
	go func() {
		stack, err := localstack.Start(ctx, opts)
		done <- result{stack, err}
	}()
	var got syscall.Signal
	for {
		select {
		case r := <-done:
			if r.err == nil && got != 0 { // the start was over before the cancellation reached it
				return nil, got, errors.Join(errors.New("interrupted"), r.stack.Close())
			}
			return r.stack, got, r.err
		case s := <-signals:
			got, _ = s.(syscall.Signal)
			cancel()
		}
	}
}

// runChild runs argv to its end and returns the exit code.
func runChild(stack *localstack.Stack, argv []string, signals <-chan os.Signal, log io.Writer) int {
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) // ended by signals only
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		localstack.EnvPostgres+"="+stack.OwnerURL(), localstack.EnvRedis+"="+stack.RedisURL())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	terminal := takeTerminal(cmd.SysProcAttr)
	defer terminal.giveBack()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(log, "localrun:", err)
		return exitNoChild
	}
	group := cmd.Process.Pid
	if err := stack.StopWithOwner(group); err != nil {
		fmt.Fprintln(log, "localrun:", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for n := 0; ; {
		select {
		case err := <-done:
			// What the child left in its group has lost its services in a moment; do not leave it behind.
			_ = syscall.Kill(-group, syscall.SIGKILL)
			return exitCode(err)
		case s := <-signals:
			sig, _ := s.(syscall.Signal)
			if n++; n > 1 {
				sig = syscall.SIGKILL
			}
			_ = syscall.Kill(-group, sig)
		}
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return exitNoChild
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return exit.ExitCode()
}
