package worker

import (
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
)

// followUp is when Google is asked what became of a write that was accepted and is not public yet, or whose outcome is not
// known; 0 is never.
func (w Windows) followUp(o Outcome) time.Duration {
	switch o.State {
	case batch.ItemUnknown:
		return w.Follow
	case batch.ItemSucceeded:
		switch o.Publication {
		case batch.Accepted, batch.PendingReview, batch.Scheduled, batch.Deleted:
			return w.Follow
		default:
		}
	default:
	}
	return 0
}
