package main

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// watchParent sends SIGTERM into signals when the `go run` that built and started this program is gone: it passes an
// interrupt on through the terminal, but dies of a SIGTERM alone. A program that was built and started otherwise is left
// alone: whoever starts it in the background may well go away.
func watchParent(signals chan<- os.Signal) (stop func()) {
	exe, err := os.Executable()
	if err != nil || !strings.Contains(exe, "go-build") {
		return func() {}
	}
	parent := os.Getppid()
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
