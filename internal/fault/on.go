//go:build crashpoints

// Package fault names the points at which crash tests kill the process. This build is for tests only.
package fault

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// The process kills itself, as with kill -9, when the point in MAPPY_CRASH_AT is reached for the MAPPY_CRASH_NTH time (1 when unset).
var (
	at  = os.Getenv("MAPPY_CRASH_AT")
	nth = func() int64 {
		n, err := strconv.ParseInt(os.Getenv("MAPPY_CRASH_NTH"), 10, 64)
		if err != nil {
			return 1
		}
		return n
	}()
	hits atomic.Int64
)

// Hit marks a named point.
func Hit(point string) {
	if at != "" && point == at && hits.Add(1) == nth {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}
