package tools

import (
	"context"
	"slices"

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
		Description: "Reads one post by its post_id, from Google (kept for 60 seconds), with its state, content and the batch that made it. Changes nothing.",
		Input: schema.Object{Fields: []schema.Field{
			schema.ID("post_id", "Our id of the post, from post.list or batch.status.", schema.Required(), schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
		}},
	}
	var err error
	t.Output, err = output[PostDetail]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q postGetQuery) (Result, error) {
		r, ok, err := s.Store.Resource(ctx, call.Principal.TenantID, "post", q.PostID)
		if err != nil {
			return Result{}, err
		}
		loc, err := s.location(ctx, call, r.Location)
		if !ok || errs.CodeOf(err) == errs.LocationNotFound {
			return Result{}, errs.New(errs.PostNotFound, errs.T("この投稿は見つかりません。", "There is no such post.")).With(errs.Details{NotFound: []string{q.PostID}})
		}
		if err != nil {
			return Result{}, err
		}
		live, at, err := s.Live.Read(ctx, call.Principal.TenantID, loc, gbp.KindPost)
		if err != nil {
			return Result{}, err
		}
		out := PostDetail{Deleted: true, AsOf: stamp(at)}
		if i := slices.IndexFunc(live, func(x gbp.Resource) bool { return x.ID == q.PostID }); i >= 0 {
			r, out.Deleted = live[i], false
		}
		if out.Post, _, err = postOf(r); err != nil {
			return Result{}, err
		}
		return success(errs.Tf("投稿の状態は %s です。", "The post is %s.", out.State).In(call.Principal.Locale), out)
	})
	return t, err
}
