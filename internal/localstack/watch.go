package localstack

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

//go:embed watch.sh
var watchScript string

// watcher is a shell that holds the reading end of a pipe whose other end only this process has. The kernel closes that
// end when this process ends, however it ends; the shell then stops the servers and removes the folder.
type watcher struct {
	pipe io.Closer
	proc *process
}

func startWatcher(ctx context.Context, dir string) (*watcher, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", watchScript, "mappy-watch", dir, "watch")
	cmd.Dir = "/"
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	proc, err := startProcess(cmd, nil, syscall.Signal(0))
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	return &watcher{pipe: pipe, proc: proc}, nil
}

// release ends the watcher; without a folder it finds nothing to do.
func (w *watcher) release() {
	_ = w.pipe.Close()
	<-w.proc.done
}
