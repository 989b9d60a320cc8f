package localstack

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func (o *owner) gone(t *testing.T) {
	t.Helper()
	for _, pid := range append(o.servers, o.watcher) {
		eventually(t, "process "+strconv.Itoa(pid)+" ends", func() bool { return !running(pid) })
	}
	eventually(t, o.home+" is removed", func() bool { return !exists(o.home) })
}

func TestAKilledOwnerLeavesNothing(t *testing.T) {
	t.Parallel()
	o := startOwner(t, "", nil)
	for _, pid := range append(o.servers, o.watcher) {
		if !running(pid) {
			t.Fatalf("process %d does not run", pid)
		}
	}
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = o.cmd.Wait()
	o.gone(t)
}

func TestAFrozenRedisDiesWithItsOwner(t *testing.T) {
	t.Parallel()
	o := startOwner(t, "", nil)
	if err := syscall.Kill(o.servers[1], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	o.gone(t)
}

func TestAnInterruptedOwnerLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			// Its whole process group gets the signal, as from a terminal: the servers must not be in it.
			o := startOwner(t, "", func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} })
			if err := syscall.Kill(-o.cmd.Process.Pid, sig); err != nil {
				t.Fatal(err)
			}
			if err := o.cmd.Wait(); err != nil {
				t.Errorf("the owner: %v", err)
			}
			o.gone(t)
		})
	}
}

func TestServersIgnoreTheTerminalsInterrupt(t *testing.T) {
	t.Parallel()
	o := startOwner(t, "", nil)
	own, err := syscall.Getpgid(o.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range append(o.servers, o.watcher) {
		if group, err := syscall.Getpgid(pid); err != nil || group == own {
			t.Errorf("process %d is in group %d of its owner (%v)", pid, group, err)
		}
	}
	_ = o.stdin.Close()
	if err := o.cmd.Wait(); err != nil {
		t.Error(err)
	}
	o.gone(t)
}

// With the watcher killed as well, only the kernel's signal (Linux) and the next start's sweep are left.
func TestTheNextStartRemovesWhatAKilledOwnerAndWatcherLeft(t *testing.T) {
	t.Parallel()
	// A temporary folder of its own: any other start on the machine would sweep the usual one.
	tmp, err := os.MkdirTemp("/tmp", "sw") //nolint:usetesting // a socket's path must stay short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	here := func(c *exec.Cmd) { c.Env = append(c.Env, "TMPDIR="+tmp) }
	o := startOwner(t, "", here)
	if filepath.Dir(o.home) != tmp {
		t.Fatalf("the servers' folder is %s, not in %s", o.home, tmp)
	}
	if err := syscall.Kill(o.watcher, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watcher ends", func() bool { return !running(o.watcher) })
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	if runtime.GOOS == "linux" { // by the kernel's signal alone
		for _, pid := range o.servers {
			eventually(t, "process "+strconv.Itoa(pid)+" ends", func() bool { return !running(pid) })
		}
	}
	if !exists(o.home) {
		t.Fatal("the folder is gone already: this test shows nothing")
	}
	next := startOwner(t, "", here) // a process of its own, as in life
	o.gone(t)
	if !running(next.servers[0]) || !exists(next.home) {
		t.Error("the sweep hit a living run")
	}
}

// orphan starts a process whose command line names dir and that nothing but watch.sh would stop.
func orphan(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "while :; do sleep 60; done", "orphan", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	return cmd
}

func noteTest(t *testing.T, dir, name, line string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// This is all there is on systems without a parent-death signal, so it is shown without one.
func TestTheWatcherStopsServersWhenItsPipeEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, stubborn, stranger, group := orphan(t, dir), orphan(t, dir), orphan(t, "elsewhere"), orphan(t, "elsewhere")
	noteTest(t, dir, "a.pid", "TERM "+strconv.Itoa(server.Process.Pid))
	noteTest(t, dir, "b.pid", "KILL "+strconv.Itoa(stubborn.Process.Pid))
	noteTest(t, dir, "c.pid", "KILL "+strconv.Itoa(stranger.Process.Pid)) // the number was used again
	noteTest(t, dir, "child.group", strconv.Itoa(group.Process.Pid))

	w, err := startWatcher(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if w.proc.ended() || !running(server.Process.Pid) {
		t.Fatal("the watcher acted before its owner ended")
	}
	w.release() // closing the pipe is what the kernel does at the owner's death
	for name, c := range map[string]*exec.Cmd{"server": server, "stubborn server": stubborn, "child group": group} {
		done := make(chan struct{})
		go func() { _ = c.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Errorf("the %s runs on", name)
		}
	}
	if status, ok := server.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("the server was not stopped by the signal that was noted for it: %v", server.ProcessState)
	}
	if !running(stranger.Process.Pid) {
		t.Error("a stranger with a number used again was killed")
	}
	if exists(dir) {
		t.Errorf("%s was left", dir)
	}
}

func TestTheSweepSparesWhatIsNotADeadOwners(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	mk := func(name string) string {
		dir := filepath.Join(base, homePrefix+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dead := mk("dead")
	noteTest(t, dead, ownerFile, "")
	server, group := orphan(t, dead), orphan(t, "elsewhere")
	noteTest(t, dead, "a.pid", "TERM "+strconv.Itoa(server.Process.Pid))
	noteTest(t, dead, "child.group", strconv.Itoa(group.Process.Pid)) // long ago: may be anybody's

	living := mk("living")
	h := &home{dir: living}
	if err := h.claim(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.lock.Close() }()

	fresh := mk("fresh")
	old := mk("old")
	full := mk("full")
	noteTest(t, full, "a strangers file", "")
	hourAgo := time.Now().Add(-time.Hour)
	for _, dir := range []string{old, full} {
		if err := os.Chtimes(dir, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{dead, living, fresh, old, full} {
		if !ours(dir) {
			t.Fatalf("%s is not ours", dir)
		}
		sweepOne(t.Context(), dir)
	}
	for dir, want := range map[string]bool{dead: false, living: true, fresh: true, old: false, full: true} {
		if exists(dir) != want {
			t.Errorf("%s exists: %t, want %t", dir, !want, want)
		}
	}
	if err := server.Wait(); err == nil {
		t.Error("the dead owner's server ended by itself")
	}
	if !running(group.Process.Pid) {
		t.Error("a process group noted long ago was killed")
	}

	link := filepath.Join(base, homePrefix+"link")
	if err := os.Symlink(living, link); err != nil {
		t.Fatal(err)
	}
	if ours(link) {
		t.Error("a link counts as a folder of ours")
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(full, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if ours(full) {
			t.Error("another user's folder counts as ours")
		}
	}
}

// openForAll lets other users into a folder below t.TempDir().
func openForAll(t *testing.T, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// As root the servers run as somebody else; this shows the other way round: an ordinary user runs it all.
func TestAnOrdinaryUserRunsItAll(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // every other test shows it then
	}
	dir := t.TempDir()
	openForAll(t, dir)
	exe := filepath.Join(dir, "localstack.test")
	copyFile(t, os.Args[0], exe)
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	o := startOwner(t, exe, func(c *exec.Cmd) {
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
	})
	var st syscall.Stat_t
	if err := syscall.Stat(o.home, &st); err != nil || st.Uid != nobody.Uid || st.Mode&0o777 != 0o700 {
		t.Errorf("%s belongs to %d with mode %o (%v)", o.home, st.Uid, st.Mode&0o777, err)
	}
	if err := pingPostgres(context.Background(), o.postgres); err != nil {
		t.Error(err)
	}
	if err := pingRedis(context.Background(), o.redis); err != nil {
		t.Error(err)
	}
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	o.gone(t)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
