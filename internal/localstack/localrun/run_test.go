package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/localstack"
)

// asMain makes the test binary the command itself.
const asMain = "MAPPY_LOCALRUN_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		os.Exit(run(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

type session struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	log   strings.Builder
}

// begin runs localrun with a shell script as its child.
func begin(t *testing.T, args ...string) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s := &session{t: t, cmd: exec.CommandContext(ctx, os.Args[0], args...)}
	s.cmd.WaitDelay = 5 * time.Second
	s.cmd.Env = append(os.Environ(), asMain+"=1", localstack.EnvPostgres+"=", localstack.EnvRedis+"=")
	s.cmd.Stderr = &s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	return s
}

func (s *session) line() string {
	s.t.Helper()
	if !s.lines.Scan() {
		s.t.Fatalf("no further line; log:\n%s", s.log.String())
	}
	return s.lines.Text()
}

func (s *session) code() int {
	s.t.Helper()
	for s.lines.Scan() { // what is left, so that Wait does not cut the pipe off
		continue
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

func running(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ends waits for the end of a process that is not a child of this one, which no event tells.
func ends(t *testing.T, what string, over func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !over(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
	}
}

// home is the stack's folder, from the Redis URL.
func home(t *testing.T, redisURL string) string {
	t.Helper()
	socket, ok := strings.CutPrefix(redisURL, "unix://")
	if !ok {
		t.Fatalf("not a private Redis: %q", redisURL)
	}
	return filepath.Dir(filepath.Dir(socket))
}

func gone(t *testing.T, dir string) {
	t.Helper()
	ends(t, dir+" is removed", func() bool { _, err := os.Stat(dir); return errors.Is(err, os.ErrNotExist) })
}

func TestTheChildHasBothServicesAndItsCodeIsPassedOn(t *testing.T) {
	t.Parallel()
	s := begin(t, "--", "sh", "-c", `echo "$MAPPY_OWNER_DATABASE_URL"; echo "$MAPPY_REDIS_URL"; test -S "${MAPPY_REDIS_URL#unix://}"; echo $?; exit 7`)
	postgres, redis := s.line(), s.line()
	if !strings.HasPrefix(postgres, "postgres://") {
		t.Errorf("PostgreSQL URL: %q", postgres)
	}
	if got := s.line(); got != "0" {
		t.Error("Redis's socket is not there while the child runs")
	}
	if code := s.code(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	for _, want := range []string{"PostgreSQL 1", "Redis "} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, s.log.String())
		}
	}
	gone(t, home(t, redis))
}

func TestSignalsReachTheChildsWholeGroup(t *testing.T) {
	t.Parallel()
	for sig, name := range map[syscall.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The grandchild gets the signal too, and the child may take its time and choose its code.
			s := begin(t, "--", "sh", "-c", `
trap 'echo child; exit 5' `+name+`
echo "$MAPPY_REDIS_URL"
sh -c 'trap "echo grandchild; exit 9" `+name+`; echo up; while :; do sleep 0.05; done'`)
			redis := s.line()
			s.line()
			if err := s.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"grandchild", "child"} {
				if got := s.line(); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			if code := s.code(); code != 5 {
				t.Errorf("exit code %d, want 5", code)
			}
			gone(t, home(t, redis))
		})
	}
}

func TestAChildThatASignalEndsGives128AndTheSignal(t *testing.T) {
	t.Parallel()
	s := begin(t, "--", "sh", "-c", `echo "$MAPPY_REDIS_URL"; exec sleep 600`)
	redis := s.line()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.code(); code != 128+15 {
		t.Errorf("exit code %d, want 143", code)
	}
	gone(t, home(t, redis))
}

func TestTheSecondSignalKillsAStubbornChild(t *testing.T) {
	t.Parallel()
	s := begin(t, "--", "sh", "-c", `trap 'echo heard' INT; echo up; while :; do sleep 0.05; done`)
	s.line()
	for range 2 {
		if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if s.lines.Scan() && s.lines.Text() != "heard" {
			t.Errorf("got %q", s.lines.Text())
		}
	}
	if code := s.code(); code != 128+9 {
		t.Errorf("exit code %d, want 137", code)
	}
}

func TestWhatTheChildLeftInItsGroupIsEnded(t *testing.T) {
	t.Parallel()
	s := begin(t, "--", "sh", "-c", `sleep 600 >/dev/null 2>&1 & echo $!`)
	left := number(t, s.line())
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	ends(t, "the process left behind ends", func() bool { return !running(left) })
}

func TestAKilledLocalrunTakesTheChildAndTheServicesAlong(t *testing.T) {
	t.Parallel()
	s := begin(t, "--", "sh", "-c", `sleep 600 & echo $!; echo $$; echo "$MAPPY_REDIS_URL"; wait`)
	grandchild, child, dir := number(t, s.line()), number(t, s.line()), home(t, s.line())
	// The group is noted a moment after the child starts.
	ends(t, "the child's group is noted", func() bool { _, err := os.Stat(filepath.Join(dir, "child.group")); return err == nil })
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{child, grandchild} {
		ends(t, "process "+strconv.Itoa(pid), func() bool { return !running(pid) })
	}
	gone(t, dir)
}

func TestASignalDuringTheStartStopsIt(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	stack, sig, err := start(localstack.Options{NoInstall: true, Log: t.Output()}, signals)
	if err == nil {
		_ = stack.Close()
		t.Fatal("started all the same")
	}
	if sig != syscall.SIGTERM {
		t.Errorf("signal %v, error %v", sig, err)
	}
}

func TestUsageAndMissingCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no command":      {nil, exitUsage, "no command given"},
		"unknown flag":    {[]string{"-what", "--", "true"}, exitUsage, "what"},
		"missing command": {[]string{"--", "/no/such/command"}, exitNoChild, "/no/such/command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, c.args...)
			if code := s.code(); code != c.code || !strings.Contains(s.log.String(), c.want) {
				t.Errorf("exit code %d, want %d; log:\n%s", code, c.code, s.log.String())
			}
		})
	}
}

func TestServicesThatCannotBeHadAreOneLine(t *testing.T) {
	t.Parallel()
	// A URL that refuses is the one way to have none on a machine that has everything.
	cmd := exec.Command(os.Args[0], "--", "true")
	cmd.Env = append(os.Environ(), asMain+"=1", localstack.EnvPostgres+"=postgres://nobody@127.0.0.1:1/none")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitServices {
		t.Errorf("got %v", err)
	}
	if !strings.HasPrefix(string(out), "localrun: MAPPY_OWNER_DATABASE_URL") {
		t.Errorf("got %q", out)
	}
}
