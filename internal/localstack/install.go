package localstack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed aptinstall.sh
var aptScript string

const (
	// installTimeout bounds one package installation, the wait for another one included.
	installTimeout = 15 * time.Minute
	// installGrace is how long an interrupted package manager is waited for: cut off in the middle it leaves a mess.
	installGrace = 2 * time.Minute
)

// errNoInstaller says that no package manager can be used without asking.
var errNoInstaller = errors.New("no package manager usable without a question")

// findOrInstall looks for a service's binaries and, when there are none, installs them and looks again.
func findOrInstall[B any](ctx context.Context, opts Options, s service, find func(context.Context) (B, error)) (B, error) {
	bin, err := find(ctx)
	if err == nil || !errors.Is(err, errNotFound) || opts.NoInstall {
		return bin, err
	}
	install := opts.install
	if install == nil {
		install = func(s service) error { return installPackage(ctx, opts, s, err) }
	}
	unlock, lockErr := lockInstall(ctx)
	if lockErr != nil {
		if ctx.Err() != nil {
			return bin, lockErr
		}
		return bin, fmt.Errorf("%w (%w)", err, lockErr)
	}
	defer unlock()
	if bin, err := find(ctx); err == nil { // somebody else installed it while we waited
		return bin, nil
	}
	if instErr := install(s); instErr != nil {
		if ctx.Err() != nil { // interrupted: nothing else is to be tried
			return bin, instErr
		}
		return bin, fmt.Errorf("%w (%w)", err, instErr)
	}
	return find(ctx)
}

// lockInstall keeps parallel runs of one user apart; those of several users meet at the package manager's own lock. The
// lock's file is removed with the lock.
func lockInstall(ctx context.Context) (unlock func(), err error) {
	path := filepath.Join(os.TempDir(), "mappy-localstack-install."+strconv.Itoa(os.Geteuid()))
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("lock installations: %w", err)
		}
		if f != nil {
			return func() { _ = os.Remove(path); _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another installation: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// tryLock returns nil, nil when somebody else has the lock, or had it and removed the file that we opened.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		locked, err1 := f.Stat()
		named, err2 := os.Lstat(path)
		if err1 == nil && err2 == nil && os.SameFile(locked, named) {
			return f, nil
		}
	}
	return nil, f.Close()
}

// installPackage installs s with the first package manager of this machine, if root or passwordless sudo allows it. why is
// what the search said, for the log.
func installPackage(ctx context.Context, opts Options, s service, why error) error {
	f := opts.finder()
	argv, manager := installCommand(f, s)
	if argv == nil {
		return errNoInstaller
	}
	if os.Geteuid() != 0 {
		sudo := f.command("sudo")
		if sudo == "" || exec.CommandContext(ctx, sudo, "-n", "true").Run() != nil {
			return fmt.Errorf("%s needs root", manager)
		}
		argv = append([]string{sudo, "-n"}, argv...)
	}
	opts.logf("%s: %v; installing it with %s (no service is started or enabled)", s, why, manager)
	return runInstall(ctx, opts, s, argv)
}

// installCommand returns what root runs to install s, and the package manager's name; nil when there is none.
func installCommand(f *finder, s service) (argv []string, manager string) {
	packages := map[service]struct{ apk, dnf string }{
		postgres: {apk: "apk add postgresql", dnf: "dnf -y install postgresql-server"},
		redis:    {apk: "apk add valkey || apk add redis", dnf: "dnf -y install valkey || dnf -y install redis"},
		bouncer:  {apk: "apk add pgbouncer", dnf: "dnf -y install pgbouncer"},
	}
	switch {
	case f.command("apt-get") != "":
		return []string{"/bin/sh", "-c", aptScript, "mappy-install", strings.ToLower(string(s)), ""}, "apt-get"
	case f.command("apk") != "":
		return []string{"/bin/sh", "-c", packages[s].apk}, "apk"
	case f.command("dnf") != "":
		return []string{"/bin/sh", "-c", packages[s].dnf}, "dnf"
	}
	return nil, ""
}

// runInstall runs argv in a session of its own: a Ctrl-C at the terminal must not cut the package manager off. When ctx
// ends, the whole session is interrupted and waited for, so that it can undo its temporary changes. Lines
// "installed NAME VERSION" and "disabled UNIT" on its standard output are passed on to the log.
func runInstall(ctx context.Context, opts Options, s service, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	var out, messages tail
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &out, &messages
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("install %s: %w", s, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		grace := time.NewTimer(installGrace)
		defer grace.Stop()
		select {
		case err = <-done:
		case <-grace.C:
			err = errors.New("it goes on by itself and cleans up after itself")
		}
		return fmt.Errorf("install %s: %w (%w)", s, ctx.Err(), err)
	}
	if err != nil {
		return fmt.Errorf("install %s: %w: %s", s, err, messages.oneLine())
	}
	for line := range strings.Lines(out.String()) {
		opts.logf("%s: %s", s, strings.TrimSpace(line))
	}
	return nil
}

// tail keeps the last few thousand bytes that were written to it.
type tail struct{ b []byte }

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	const limit = 16 << 10
	t.b = append(t.b, p...)
	if len(t.b) > limit {
		t.b = append([]byte(nil), t.b[len(t.b)-limit:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }

// oneLine is the last lines that say something, for an error.
func (t *tail) oneLine() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "; ")
}
