package mcpserver

import (
	"context"
	"sync"
)

// drain counts the calls that are running, so that an orderly end can wait for their answers: the protocol library
// drops the answer of a call whose session is closed meanwhile.
type drain struct {
	mu      sync.Mutex
	running int
	closing bool
	idle    chan struct{} // closed when closing and nothing runs
}

func newDrain() *drain { return &drain{idle: make(chan struct{})} }

// enter admits one call; false when the server is ending. Each admitted call must leave.
func (d *drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return false
	}
	d.running++
	return true
}

func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.closing && d.running == 0 {
		close(d.idle)
	}
}

// ending tells whether close was called.
func (d *drain) ending() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closing
}

// close admits no more calls. It may be called again.
func (d *drain) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return
	}
	d.closing = true
	if d.running == 0 {
		close(d.idle)
	}
}

// wait blocks until the last call has left, or gives the context's error.
func (d *drain) wait(ctx context.Context) error {
	select {
	case <-d.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
