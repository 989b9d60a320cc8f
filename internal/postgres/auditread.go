package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
)

// Events lists a tenant's audit events, newest first, as the canonical bytes that were recorded. Reading is itself recorded.
func (db *DB) Events(ctx context.Context, tenant authn.TenantID, f audit.Filter, reader audit.Actor) (out []json.RawMessage, err error) {
	g, me := authn.Grants{All: true}, authn.UserID("")
	if f.Reader != nil {
		g, me = f.Reader.Grants, f.Reader.UserID
	}
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT body FROM mappy.audit_event e WHERE tenant_id = $1
			AND ($2::timestamptz IS NULL OR occurred_at >= $2) AND ($3::timestamptz IS NULL OR occurred_at < $3) AND ($4 = '' OR event = $4)
			AND ($5 = '' OR batch_id = $5) AND ($6 = 0 OR location_id = $6) AND ($7 = '' OR user_id = $7 OR client_id = $7) AND ($8 = '' OR tool = $8)
			AND ($9 = '' OR result = $9) AND ($10 = '' OR event_id < $10)
			AND ($11 OR location_id = 0 AND user_id = $12 OR EXISTS (SELECT 1 FROM mappy.location l
				WHERE l.tenant_id = e.tenant_id AND l.location_id = e.location_id AND (l.labels && $13 OR l.location_id = ANY ($14))))
			ORDER BY event_id DESC LIMIT $15`,
			tenant, nullTime(f.Since), nullTime(f.Until), f.Kind, f.Batch, f.Location, f.User, f.Tool, f.Result, f.Before,
			g.All, me, list(g.Labels), list(g.LocationIDs), f.Limit)
		if err != nil {
			return err
		}
		bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			return err
		}
		for _, b := range bodies {
			out = append(out, b)
		}
		return db.appendEvents(ctx, tx, tenant, audit.Event{Kind: audit.AuditRead, Actor: reader, Result: fmt.Sprintf("%d events", len(out))})
	})
	return out, err
}

// VerifyAudit walks a tenant's chain and names the first row that is not what was sealed. Events that are not sealed yet are
// counted, and compared with their own columns.
func (db *DB) VerifyAudit(ctx context.Context, tenant authn.TenantID) (audit.Report, error) {
	return db.VerifyAuditAgainst(ctx, tenant, audit.SealHash{})
}

// VerifyAuditAgainst is VerifyAudit, and the chain has to contain the seal that was kept.
func (db *DB) VerifyAuditAgainst(ctx context.Context, tenant authn.TenantID, kept audit.SealHash) (report audit.Report, err error) {
	err = db.InTenant(ctx, tenant, func(tx pgx.Tx) error {
		v := audit.NewVerifier(tenant, kept)
		seals, err := readSeals(ctx, tx, tenant)
		if err != nil {
			return err
		}
		upto := "0"
		for _, s := range seals {
			if s.Leaves, err = readLeaves(ctx, tx, tenant, s.No); err != nil {
				return err
			}
			var events []audit.StoredEvent // as many as one seal has
			if err := eachStored(ctx, tx, tenant, s.From, s.Upto, func(e audit.StoredEvent) { events = append(events, e) }); err != nil {
				return err
			}
			v.Check(s, events)
			for _, e := range events {
				checkColumns(v, e)
			}
			upto = s.Upto
		}
		err = eachStored(ctx, tx, tenant, upto, "", func(e audit.StoredEvent) { // of these there may be any number
			checkColumns(v, e)
			v.Unsealed++
		})
		if err != nil {
			return err
		}
		report = v.End()
		return nil
	})
	return report, err
}

func readSeals(ctx context.Context, tx pgx.Tx, tenant authn.TenantID) ([]audit.StoredSeal, error) {
	rows, err := tx.Query(ctx, `SELECT seal_no, from_txid::text, upto_txid::text, n, digest, prev, hash FROM mappy.audit_seal WHERE tenant_id = $1 ORDER BY seal_no`, tenant)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s audit.StoredSeal, err error) {
		s.Tenant = tenant
		return s, row.Scan(&s.No, &s.From, &s.Upto, &s.N, &s.StoredSum, &s.Prev, &s.StoredHash)
	})
}

func readLeaves(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, seal int64) ([]audit.LeafOf, error) {
	rows, err := tx.Query(ctx, `SELECT event_id, leaf FROM mappy.audit_leaf WHERE tenant_id = $1 AND seal_no = $2 ORDER BY ordinal`, tenant, seal)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[audit.LeafOf])
}

// eachStored reads the events of a range of transactions one after the other; an empty upto is open.
func eachStored(ctx context.Context, tx pgx.Tx, tenant authn.TenantID, from, upto string, fn func(audit.StoredEvent)) error {
	rows, err := tx.Query(ctx, `SELECT event_id, body, concat_ws('|', tenant_id, event_id, to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), event, request_id, client_id, user_id, tool, location_id, batch_id, item_id, result, error_code)
		FROM mappy.audit_event WHERE tenant_id = $1 AND txid >= $2::xid8 AND ($3 = '' OR txid < nullif($3, '')::xid8) ORDER BY txid, event_id`, tenant, from, upto)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		e, err := pgx.RowToStructByPos[audit.StoredEvent](rows)
		if err != nil {
			return err
		}
		fn(e)
	}
	return rows.Err()
}

func checkColumns(v *audit.Verifier, s audit.StoredEvent) {
	var e audit.Event
	if err := json.Unmarshal(s.Body, &e); err != nil {
		v.CheckRow(s, "unreadable")
		return
	}
	v.CheckRow(s, strings.Join([]string{
		string(e.Tenant), e.ID, e.OccurredAt.UTC().Format("2006-01-02 15:04:05.000000"), string(e.Kind), e.RequestID, string(e.Actor.ClientID), string(e.Actor.UserID), e.Tool, fmt.Sprint(e.LocationID), e.BatchID, e.ItemID, e.Result, string(e.ErrorCode),
	}, "|"))
}
