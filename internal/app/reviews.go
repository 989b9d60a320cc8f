package app

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// reviewPage is how many reviews one page of Google's has at most.
const reviewPage = 50

// newestReviews is the live read of a store's reviews, newest first. gbp.ErrMore tells of older ones that were not read.
func newestReviews(ctx context.Context, g *gbpapi.Client, ref gbpapi.Ref, parent string) ([]gbp.Seen, error) {
	all, err := g.AllReviews(ctx, ref, parent, tools.NewestReviews/reviewPage)
	if err != nil {
		return nil, err
	}
	seen := make([]gbp.Seen, len(all.Reviews))
	for i, r := range all.Reviews {
		seen[i] = gbp.Seen{Name: string(r.Name), Raw: r.Raw}
	}
	if all.Truncated || all.Unreadable > 0 {
		return seen, gbp.ErrMore
	}
	return seen, nil
}
