package admission

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
)

// limit spends one unit of every limit of write calls, or none. A replay, a refused argument and a refused authorisation
// never come here.
func (a *Admission) limit(ctx context.Context, c *Call) error {
	c.limits = ratelimit.WriteBuckets(c.Principal, c.now) // before they are taken: of a lost answer nobody knows whether they were
	states, err := a.Limiter.Take(ctx, c.limits, c.nonce)
	if err != nil {
		return err
	}
	c.states = states
	a.Fault("admission.limited")
	return nil
}
