package localstack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test binary an owner of a stack instead: it prints "home DIR", one "pid NUMBER" per server and for
// the watcher, and "up", then waits for its standard input to end (and closes the stack), for SIGINT or SIGTERM (and
// closes it), or to be killed.
const helperEnv = "MAPPY_LOCALSTACK_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
	case "install": // see TestAnInstallationOutlivesItsKilledParentAndCleansUp
		m := &machine{root: os.Getenv("MAPPY_TEST_ROOT")}
		_ = runInstall(context.Background(), Options{}, redis, m.argv("redis"))
		os.Exit(0)
	default:
		os.Exit(helper())
	}
	os.Exit(m.Run())
}

func helper() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s, err := Start(ctx, Options{Log: os.Stderr, NoInstall: true, noDocker: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = s.Close() }()
	fmt.Println("home", s.home.dir)
	for _, pid := range notedPIDs(s.home.dir) {
		fmt.Println("pid", pid)
	}
	fmt.Println("watcher", s.home.watch.proc.pid())
	fmt.Println("postgres", s.OwnerURL())
	fmt.Println("redis", s.RedisURL())
	fmt.Println("up")
	eof := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(eof) }()
	select {
	case <-ctx.Done():
	case <-eof:
	}
	return 0
}

// owner is a running helper.
type owner struct {
	cmd      *exec.Cmd
	stdin    io.Closer
	home     string
	servers  []int
	watcher  int
	postgres string
	redis    string
}

// startOwner runs the test binary at exe (this one when "") as a helper and waits until its stack is up.
func startOwner(t *testing.T, exe string, change func(*exec.Cmd)) *owner {
	t.Helper()
	if exe == "" {
		exe = os.Args[0]
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperEnv+"=1", EnvPostgres+"=", EnvRedis+"=")
	cmd.Stderr = t.Output()
	if change != nil {
		change(cmd)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	o := &owner{cmd: cmd, stdin: stdin}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), " ")
		switch key {
		case "home":
			o.home = value
		case "pid":
			o.servers = append(o.servers, atoi(t, value))
		case "watcher":
			o.watcher = atoi(t, value)
		case "postgres":
			o.postgres = value
		case "redis":
			o.redis = value
		case "up":
			if len(o.servers) != 2 {
				t.Fatalf("the helper names %d servers", len(o.servers))
			}
			return o
		}
	}
	t.Fatal("the helper ended before its stack was up")
	return nil
}

// notedPIDs reads the pid files of the servers that run on.
func notedPIDs(home string) []int {
	var pids []int
	for _, name := range []string{"postgres.pid", "redis.pid"} {
		b, err := os.ReadFile(filepath.Join(home, name))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b))
		if pid, err := strconv.Atoi(fields[len(fields)-1]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// running tells whether a process exists and is not a zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// eventually waits until ok holds; there is no event for the end of a process that is not our child.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// private makes options for servers of the test's own, whatever the environment names.
func private(t *testing.T) Options {
	t.Helper()
	return Options{Log: t.Output(), env: func(string) string { return "" }, noDocker: true}
}
