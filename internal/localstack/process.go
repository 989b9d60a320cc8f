package localstack

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running child. done is closed when it has ended and been reaped; err is then what Wait said.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// startProcess starts cmd in a session of its own (the terminal's Ctrl-C is ours to act on, not the server's), with cred
// when not nil, and asks the kernel, where it can, to send it death when this process ends in whatever way.
//
// Linux sends that signal when the *thread* that forked ends. So the fork happens on a thread that is locked to a
// goroutine which then waits for the child: the thread lives exactly as long as the child.
func startProcess(cmd *exec.Cmd, cred *syscall.Credential, death syscall.Signal) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Setsid: true}
	setDeathSignal(cmd.SysProcAttr, death)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop sends sig and waits; after patience it kills. It returns when the process is gone.
func (p *process) stop(sig syscall.Signal, patience time.Duration) {
	p.signal(sig)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return
	case <-timer.C:
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal is a no-op once the process has ended: os.Process refuses to signal a reaped one, so no stranger is hit.
func (p *process) signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }
