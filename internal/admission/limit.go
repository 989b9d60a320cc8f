package admission

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
)

// limit spends one unit of every limit of write calls, or none. A replay, a refused argument and a refused authorisation
// never come here.
func (a *Admission) limit(ctx context.Context, c *Call) error {
	buckets := ratelimit.WriteBuckets(c.Principal, c.now)
	states, err := a.Limiter.Take(ctx, buckets, c.nonce)
	if err != nil {
		return err
	}
	c.limits, c.states = buckets, states
	a.Fault("admission.limited")
	return nil
}
