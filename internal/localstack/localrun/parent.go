package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// watchParent sends SIGTERM into signals when the `go run` that built and started this program is gone: it passes an
// interrupt on through the terminal, but dies of a SIGTERM alone. A program that was built and started otherwise is left
// alone: whoever starts it in the background may well go away.
func watchParent(signals chan<- os.Signal) (stop func()) {
	parent := os.Getppid()
	if commandOf(parent) != "go" {
		return func() {}
	}
	tick := time.NewTicker(200 * time.Millisecond)
	done := make(chan struct{})
	go func() {
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if os.Getppid() != parent {
					signals <- syscall.SIGTERM
					return
				}
			}
		}
	}()
	return func() { close(done) }
}

// commandOf is the name of a process's executable, "" when it cannot be told.
func commandOf(pid int) string {
	number := strconv.Itoa(pid)
	name, err := os.ReadFile("/proc/" + number + "/comm")
	if err != nil {
		name, err = exec.CommandContext(context.Background(), "ps", "-o", "comm=", "-p", number).Output()
	}
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSpace(string(name)))
}
