package worker

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
)

// Announcer tells whoever waits for a batch that it has changed. It gives no error: a hint that is lost costs a poll.
type Announcer interface {
	Announce(ctx context.Context, tenant authn.TenantID, id batch.ID)
}

// Announcing is a store that announces each decided item, after the commit.
func Announcing(s Store, a Announcer) Store { return announcing{s, a} }

type announcing struct {
	Store
	to Announcer
}

// Begin implements Store: some items end here, without a call.
func (s announcing) Begin(ctx context.Context, tenant authn.TenantID, id batch.ItemID, w Windows, t Turn, complete func(pgx.Tx) error) (Begun, error) {
	b, err := s.Store.Begin(ctx, tenant, id, w, t, complete)
	if err == nil && b.Decision.Step == batch.StepEnd {
		s.to.Announce(ctx, tenant, b.Item.Batch)
	}
	return b, err
}

// EndWaiting implements Store.
func (s announcing) EndWaiting(ctx context.Context, tenant authn.TenantID, connection string) ([]Ended, error) {
	ended, err := s.Store.EndWaiting(ctx, tenant, connection)
	for _, e := range ended {
		s.to.Announce(ctx, tenant, e.Batch)
	}
	return ended, err
}

// Followed implements Store.
func (s announcing) Followed(ctx context.Context, tenant authn.TenantID, d Due, o Outcome) error {
	err := s.Store.Followed(ctx, tenant, d, o)
	if err == nil && o.State != "" {
		s.to.Announce(ctx, tenant, d.Item.Batch)
	}
	return err
}

// Finish implements Store.
func (s announcing) Finish(ctx context.Context, tenant authn.TenantID, b Begun, o Outcome, complete func(pgx.Tx) error) error {
	err := s.Store.Finish(ctx, tenant, b, o, complete)
	if err == nil && o.State != "" {
		s.to.Announce(ctx, tenant, b.Item.Batch)
	}
	return err
}
