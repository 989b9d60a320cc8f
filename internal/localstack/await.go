package localstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	// startTimeout bounds the wait for a server's first answer. Measured: 0.15 s for PostgreSQL, 0.05 s for Redis; a
	// loaded machine with a slow disk may take a hundred times that.
	startTimeout = 60 * time.Second
	askEvery     = 5 * time.Millisecond
)

// await asks until ask returns nil, the process ends, or startTimeout or ctx is over.
func await(ctx context.Context, p *process, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended: %w", errors.Join(p.err, errEnded))
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

var errEnded = errors.New("no longer running")

// lastLines is the end of a log on one line, for an error.
func lastLines(path string) string {
	const keep = 5
	b, err := os.ReadFile(path)
	if err != nil {
		return "no log"
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-keep):], "; ")
}
