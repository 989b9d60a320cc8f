// Package ids makes the product's own identifiers: ULIDs as 26-character strings, which sort by the time of their making.
package ids

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Source makes ids that increase strictly within one process, also within one millisecond.
type Source struct {
	now     func() time.Time
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

// NewSource makes a source that takes its time from now.
func NewSource(now func() time.Time) *Source {
	return &Source{now: now, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// New is the next id.
func (s *Source) New() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ulid.MustNew(ulid.Timestamp(s.now()), s.entropy).String()
}

// Valid tells whether s has the form of an id.
func Valid(s string) bool {
	_, err := ulid.ParseStrict(s)
	return err == nil
}
