package tools

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// storesPerPage bounds how many locations one page of posts reads at Google.
const storesPerPage = 10

type postListQuery struct {
	page
	LocationIDs []gbp.LocationID `json:"location_ids"`
	State       string           `json:"state"`
	Since       string           `json:"since"`
}

// PostPage is the answer of post.list.
type PostPage struct {
	Posts         []Post        `json:"posts" jsonschema:"posts by store, newest first within a store"`
	Unreadable    []StoreNotice `json:"unreadable" jsonschema:"stores whose posts could not be read, with the reason"`
	NextPageToken string        `json:"next_page_token,omitempty" jsonschema:"send as page_token for the next stores; absent on the last page"`
	AsOf          string        `json:"as_of" jsonschema:"RFC 3339 time of the oldest reading on this page"`
}

// StoreNotice says why something could not be had for one store.
type StoreNotice struct {
	LocationID gbp.LocationID `json:"location_id" jsonschema:"the store"`
	ErrorCode  errs.Code      `json:"error_code" jsonschema:"code of the error catalogue"`
	Message    string         `json:"message" jsonschema:"the reason in words"`
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
		Description: "Lists the posts on your stores' public Google profiles, read from Google (kept for 60 seconds). Changes nothing. A page covers at most 10 stores and page_size posts; follow next_page_token for the rest. " +
			"A store that cannot be read is listed under unreadable and does not hide the others.",
		Input: schema.Object{Fields: append([]schema.Field{
			schema.List("location_ids", "Only these stores; all of yours when left out.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.MaxItems(200)),
			schema.Enum("state", "Only posts in this state of Google's.", postStates),
			schema.DateTime("since", "Only posts made at or after this time.", schema.Example("2026-11-01T00:00:00+09:00")),
		}, paging()...)},
	}
	var err error
	t.Output, err = output[PostPage]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q postListQuery) (Result, error) {
		from, err := readPostCursor(q.Token, call.Principal.Locale)
		if err != nil {
			return Result{}, err
		}
		stores, err := s.Store.ListLocations(ctx, call.Principal.TenantID, postgres.LocationFilter{
			IDs: q.LocationIDs, Grants: call.Principal.Grants, After: from.after, Limit: storesPerPage + 1,
		})
		if err != nil {
			return Result{}, err
		}
		out := PostPage{Posts: []Post{}, Unreadable: []StoreNotice{}}
		if len(stores) > storesPerPage {
			stores = stores[:storesPerPage]
			out.NextPageToken = postCursor{after: stores[storesPerPage-1].ID}.token()
		}
		s.readPosts(ctx, call, q, stores, &out)
		if err := out.cut(from, stores, q.Size); err != nil {
			return Result{}, err
		}
		return success(errs.Tf("%[1]d 店舗から %[2]d 件の投稿を読みました。", "%[2]d post(s) on %[1]d store(s).", len(stores), len(out.Posts)).In(call.Principal.Locale), out)
	})
	return t, err
}

func (s *Set) readPosts(ctx context.Context, call *Call, q postListQuery, stores []gbp.Location, out *PostPage) {
	since, err := time.Parse(time.RFC3339, q.Since)
	if err != nil {
		since = time.Time{} // absent; the decoder refuses anything malformed
	}
	asOf := s.Now()
	for _, l := range stores {
		found, at, err := s.Live.Read(ctx, call.Principal.TenantID, l, gbp.KindPost)
		if err != nil {
			e := errs.From(err)
			out.Unreadable = append(out.Unreadable, StoreNotice{LocationID: l.ID, ErrorCode: e.Code, Message: e.Message.In(call.Principal.Locale)})
			continue
		}
		if at.Before(asOf) {
			asOf = at
		}
		for _, r := range found {
			p, created, err := postOf(r)
			if err != nil || created.Before(since) || q.State != "" && p.State != q.State {
				continue
			}
			out.Posts = append(out.Posts, p)
		}
	}
	out.AsOf = stamp(asOf)
}

// postCursor is where a page begins: behind a store, after that many posts of the next one.
type postCursor struct {
	after gbp.LocationID
	skip  int
}

func (c postCursor) token() string { return encodeToken(fmt.Sprintf("%d:%d", c.after, c.skip)) }

func readPostCursor(token string, l errs.Locale) (c postCursor, err error) {
	if token == "" {
		return postCursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return postCursor{}, badToken(l)
	}
	if _, err := fmt.Sscanf(string(b), "%d:%d", &c.after, &c.skip); err != nil || c.after < 0 || c.skip < 0 {
		return postCursor{}, badToken(l)
	}
	return c, nil
}

// cut leaves out what the page before has shown, and ends the page where it is full.
func (p *PostPage) cut(from postCursor, stores []gbp.Location, size int) error {
	first := func(x Post) bool { return len(stores) > 0 && x.LocationID == stores[0].ID }
	for range from.skip {
		if len(p.Posts) == 0 || !first(p.Posts[0]) {
			break
		}
		p.Posts = p.Posts[1:]
	}
	n, err := fits(p.Posts[:min(size, len(p.Posts))], pageBytes)
	if err != nil || n == len(p.Posts) {
		return err
	}
	next := postCursor{after: p.Posts[n].LocationID - 1}
	for _, x := range p.Posts[:n] {
		if x.LocationID == p.Posts[n].LocationID {
			next.skip++
		}
	}
	if first(p.Posts[n]) {
		next.skip += from.skip
	}
	p.Unreadable = slices.DeleteFunc(p.Unreadable, func(u StoreNotice) bool { return u.LocationID > next.after })
	p.Posts, p.NextPageToken = p.Posts[:n], next.token()
	return nil
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
