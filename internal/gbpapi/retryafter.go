package gbpapi

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what we wait because Google says so; absurdRetryAfter is no wish any more but a broken header.
const (
	maxRetryAfter    = time.Hour
	absurdRetryAfter = 24 * time.Hour
)

// retryAfter reads a Retry-After header: seconds or an HTTP date (rounded up to seconds). Absent, negative, past, absurd and
// unreadable ones are 0, which leaves the wait to the caller's own backoff.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	var d time.Duration
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		if n > int64(absurdRetryAfter/time.Second) {
			return 0
		}
		d = time.Duration(n) * time.Second
	} else if t, err := http.ParseTime(header); err == nil {
		d = time.Duration(math.Ceil(t.Sub(now).Seconds())) * time.Second
	}
	if d <= 0 || d > absurdRetryAfter {
		return 0
	}
	return min(d, maxRetryAfter)
}
