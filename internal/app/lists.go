package app

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/liveread"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// What a live read of one location's things for people reads at most: pages of Google's, of 100 posts or media items and of
// 50 reviews.
const (
	postPages   = tools.MostListed / 100
	mediaPages  = tools.MostListed / 100
	reviewPages = tools.NewestReviews / 50
)

// lists are the live reads that tools offer. Reviews come newest first; of posts and media Google promises no order.
func lists(g *gbpapi.Client) map[gbp.Kind]liveread.List {
	return map[gbp.Kind]liveread.List{
		gbp.KindPost: func(ctx context.Context, ref gbpapi.Ref, parent string) ([]gbp.Seen, error) {
			all, err := g.AllLocalPosts(ctx, ref, parent, postPages)
			return seen(all.Posts, all.Truncated || all.Unreadable > 0, err, func(p gbp.RemotePost) gbp.Seen { return gbp.Seen{Name: string(p.Name), Raw: p.Raw} })
		},
		gbp.KindReview: func(ctx context.Context, ref gbpapi.Ref, parent string) ([]gbp.Seen, error) {
			all, err := g.AllReviews(ctx, ref, parent, reviewPages)
			return seen(all.Reviews, all.Truncated || all.Unreadable > 0, err, func(r gbp.RemoteReview) gbp.Seen { return gbp.Seen{Name: string(r.Name), Raw: r.Raw} })
		},
		gbp.KindMedia: func(ctx context.Context, ref gbpapi.Ref, parent string) ([]gbp.Seen, error) {
			all, err := g.AllMedia(ctx, ref, parent, mediaPages)
			return seen(all.Items, all.Truncated || all.Unreadable > 0, err, func(m gbp.RemoteMedia) gbp.Seen { return gbp.Seen{Name: string(m.Name), Raw: m.Raw} })
		},
	}
}

// seen is what was read, with gbp.ErrMore when there is more.
func seen[T any](things []T, more bool, err error, of func(T) gbp.Seen) ([]gbp.Seen, error) {
	if err != nil {
		return nil, err
	}
	out := make([]gbp.Seen, len(things))
	for i, x := range things {
		out[i] = of(x)
	}
	if more {
		return out, gbp.ErrMore
	}
	return out, nil
}
