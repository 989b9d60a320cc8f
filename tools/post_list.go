package tools

import (
	"context"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type postListQuery struct {
	byStoreQuery
	State string `json:"state"`
	Since string `json:"since"`
}

// PostPage is the answer of post.list.
type PostPage struct {
	Posts         []Post           `json:"posts" jsonschema:"posts by store, newest first within a store"`
	Unreadable    []StoreNotice    `json:"unreadable" jsonschema:"stores whose posts could not be read, with the reason"`
	MoreNotRead   []gbp.LocationID `json:"more_not_read,omitempty" jsonschema:"stores that have more posts than are read; the others are missing here"`
	NextPageToken string           `json:"next_page_token,omitempty" jsonschema:"send as page_token for the next stores; absent on the last page"`
	AsOf          string           `json:"as_of" jsonschema:"RFC 3339 time of the oldest reading on this page"`
}

// Post is a post as agents see it.
type Post struct {
	PostID     string         `json:"post_id" jsonschema:"our id of the post (ULID)"`
	LocationID gbp.LocationID `json:"location_id" jsonschema:"the store"`
	Version    string         `json:"version" jsonschema:"digest for expected_version"`
	State      string         `json:"state" jsonschema:"Google's state: PROCESSING, LIVE, REJECTED, SCHEDULED or RECURRING"`
	CreatedAt  string         `json:"created_at" jsonschema:"RFC 3339 time at Google"`
	GoogleName string         `json:"google_name" jsonschema:"Google's own name of the post"`
	SearchURL  string         `json:"search_url,omitempty" jsonschema:"where the public sees it"`
	MediaCount int            `json:"media_count" jsonschema:"number of photos that Google confirmed"`
	BatchID    string         `json:"batch_id,omitempty" jsonschema:"the batch that made it; absent when it was not made here"`
	Content    gbp.LocalPost  `json:"post" jsonschema:"the content, in Google's words"`
}

// postStates are Google's, for the filter.
var postStates = []string{gbp.PostLive, gbp.PostProcessing, gbp.PostRejected, gbp.PostScheduled, gbp.PostRecurring}

func postList(s *Set) (Tool, error) {
	t := Tool{
		Name: "post.list", Title: "List posts", Scope: "posts:read", ReadOnly: true, Idempotent: true, OpenWorld: true,
		Description: "Lists the posts on your stores' public Google profiles, read from Google (kept for 60 seconds). Changes nothing. A page covers at most 10 stores and page_size posts; follow next_page_token for the rest. Of each store at most 500 posts are read; stores with more are listed under more_not_read. " +
			"A store that cannot be read is listed under unreadable and does not hide the others.",
		Input: byStore(
			schema.Enum("state", "Only posts in this state of Google's.", postStates),
			schema.DateTime("since", "Only posts made at or after this time.", schema.Example("2026-11-01T00:00:00+09:00")),
		),
	}
	var err error
	t.Output, err = output[PostPage]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q postListQuery) (Result, error) {
		since := timeOf(q.Since)
		p, err := readStores(ctx, s, call, q.byStoreQuery, gbp.KindPost, pageBytes, func(r gbp.Resource) (Post, bool) {
			p, created, err := postOf(r)
			return p, err == nil && !created.Before(since) && (q.State == "" || p.State == q.State)
		})
		if err != nil {
			return Result{}, err
		}
		out := PostPage{Posts: p.Entries, Unreadable: p.Unreadable, MoreNotRead: p.Partial, NextPageToken: p.Next, AsOf: stamp(p.AsOf)}
		return success(errs.Tf("%[1]d 店舗から %[2]d 件の投稿を読みました。", "%[2]d post(s) on %[1]d store(s).", p.Stores, len(out.Posts)).In(call.Principal.Locale), out)
	})
	return t, err
}

func (p Post) store() gbp.LocationID { return p.LocationID }

// timeOf is an argument of RFC 3339; the zero time when it is absent, as the decoder refuses anything malformed.
func timeOf(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

func postOf(r gbp.Resource) (Post, time.Time, error) {
	p, err := gbp.ParseRemotePost(r.Snapshot)
	if err != nil {
		return Post{}, time.Time{}, err
	}
	return Post{
		PostID: r.ID, LocationID: r.Location, Version: p.Version(), State: p.State, CreatedAt: stamp(p.CreateTime), GoogleName: string(p.Name),
		SearchURL: p.SearchURL, MediaCount: p.MediaCount, BatchID: r.Batch, Content: p.Post,
	}, p.CreateTime, nil
}
