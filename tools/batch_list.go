package tools

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type batchListQuery struct {
	page
	Status batch.Status `json:"status"`
	Since  string       `json:"since"`
	Mine   bool         `json:"mine"`
}

// BatchPage is the answer of batch.list.
type BatchPage struct {
	Batches       []BatchView `json:"batches" jsonschema:"batches, newest first, without items"`
	NextPageToken string      `json:"next_page_token,omitempty" jsonschema:"send as page_token for older ones; absent on the last page"`
	AsOf          string      `json:"as_of" jsonschema:"RFC 3339 time of this reading"`
}

func batchList(s *Set) (Tool, error) {
	t := Tool{
		Name: "batch.list", Title: "List batches", Scope: "batches:read", ReadOnly: true, Idempotent: true,
		Description: "Lists accepted writes on your stores, newest first, with their counts: for an agent that lost its batch_id. Changes nothing. Use batch.status for the outcome per store.",
		Input: schema.Object{Fields: append([]schema.Field{
			schema.Enum("status", "Only batches with this status.", []string{"awaiting_approval", "queued", "processing", "done", "partial", "failed", "cancelled"}),
			schema.DateTime("since", "Only batches accepted at or after this time.", schema.Example("2026-11-30T00:00:00+09:00")),
			schema.Boolean("mine", "true: only those that the user you act for started.", schema.Default(false)),
		}, paging()...)},
	}
	var err error
	t.Output, err = output[BatchPage]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q batchListQuery) (Result, error) {
		before, err := idToken(q.Token, call.Principal.Locale)
		if err != nil {
			return Result{}, err
		}
		f := batch.Filter{Status: q.Status, Before: batch.ID(before), Limit: q.Size + 1, Grants: call.Principal.Grants, Since: timeOf(q.Since)}
		if q.Mine {
			f.User = call.Principal.UserID
		}
		found, err := s.Store.Batches(ctx, call.Principal.TenantID, f)
		if err != nil {
			return Result{}, err
		}
		out := BatchPage{Batches: []BatchView{}, AsOf: stamp(s.Now())}
		for _, b := range found[:min(len(found), q.Size)] {
			out.Batches = append(out.Batches, *s.outline(call.Principal, b))
		}
		n, err := fits(out.Batches, pageBytes)
		if err != nil {
			return Result{}, err
		}
		if out.Batches = out.Batches[:n]; n < len(found) {
			out.NextPageToken = encodeToken(string(found[n-1].ID))
		}
		return success(errs.Tf("%d 件のバッチ。", "%d batch(es).", n).In(call.Principal.Locale), out)
	})
	return t, err
}
