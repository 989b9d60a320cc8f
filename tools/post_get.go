package tools

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type postGetQuery struct {
	PostID string `json:"post_id"`
}

// PostDetail is the answer of post.get.
type PostDetail struct {
	Post
	Deleted bool   `json:"deleted" jsonschema:"whether Google no longer has it"`
	AsOf    string `json:"as_of" jsonschema:"RFC 3339 time of the reading"`
}

func postGet(s *Set) (Tool, error) {
	t := Tool{
		Name: "post.get", Title: "Read one post", Scope: "posts:read", ReadOnly: true, Idempotent: true, OpenWorld: true,
		Description: "Reads one post by its post_id, from Google (kept for 60 seconds), with its state, content and the batch that made it. Changes nothing. Of a store with more than 500 posts one that was not read is given as it was last read (as_of says when).",
		Input: schema.Object{Fields: []schema.Field{
			schema.ID("post_id", "Our id of the post, from post.list or batch.status.", schema.Required(), schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
		}},
	}
	var err error
	t.Output, err = output[PostDetail]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q postGetQuery) (Result, error) {
		r, err := s.readOne(ctx, call, gbp.KindPost, q.PostID, errs.New(errs.PostNotFound, errs.T("この投稿は見つかりません。", "There is no such post.")))
		if err != nil {
			return Result{}, err
		}
		out := PostDetail{Deleted: r.Gone, AsOf: stamp(r.At)}
		if out.Post, _, err = postOf(r.Resource); err != nil {
			return Result{}, err
		}
		t := errs.Tf("投稿の状態は %s です。", "The post is %s.", out.State)
		if out.Deleted {
			t = errs.T("この投稿は Google からなくなっています。", "Google no longer has this post.")
		}
		return success(t.In(call.Principal.Locale), out)
	})
	return t, err
}
