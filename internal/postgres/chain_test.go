package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// chained is a tenant with some sealed events in several seals, and some unsealed ones. It has no workers: nothing else seals.
func chained(t *testing.T) *stack.Stack {
	t.Helper()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	for seal := range 4 {
		for n := range 5 {
			record(t, s, fmt.Sprintf("request-%d-%d", seal, n))
		}
		if seal < 3 {
			sealAll(t, s)
		}
	}
	r := verify(t, s)
	if !r.Valid || r.Seals < 3 || r.Unsealed != 5 || r.Sealed < 15 {
		t.Fatalf("before anything was touched: %+v", r)
	}
	return s
}

func record(t *testing.T, s *stack.Stack, request string) {
	t.Helper()
	e := audit.Event{Kind: audit.AdmissionRefused, RequestID: request, Actor: audit.Actor{ClientID: "agent", UserID: "hanako"}, Tool: "post.create", Result: "refused", ErrorCode: "INVALID_ARGUMENT"}
	if err := s.App.DB.Record(t.Context(), stack.Tenant, e); err != nil {
		t.Fatal(err)
	}
}

// sealAll seals until nothing is left: transactions of other tests in the cluster hold the horizon back for a moment.
func sealAll(t *testing.T, s *stack.Stack) {
	t.Helper()
	for sealed := 0; ; {
		n, err := s.App.DB.Seal(t.Context(), stack.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		sealed += n
		if verify(t, s).Unsealed == 0 {
			return
		}
	}
}

func verify(t *testing.T, s *stack.Stack) audit.Report {
	t.Helper()
	r, err := s.App.DB.VerifyAudit(t.Context(), stack.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tamper runs a statement as the owner with all triggers off, as only somebody with the server in his hands can.
func tamper(t *testing.T, s *stack.Stack, sql string, args ...any) {
	t.Helper()
	tx, err := s.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SET LOCAL session_replication_role = replica`); err != nil {
		t.Fatal(err)
	}
	tag, err := tx.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	if tag.RowsAffected() == 0 {
		t.Fatalf("nothing was touched by\n%s", sql)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyNamesTheRow(t *testing.T) {
	t.Parallel()
	one := func(t *testing.T, s *stack.Stack, request string) string {
		return rows[string](t, s.DB.Owner(), `SELECT event_id FROM mappy.audit_event WHERE request_id = $1`, request)[0]
	}
	const copied = `INSERT INTO mappy.audit_event (tenant_id, event_id, occurred_at, txid, event, request_id, client_id, user_id, tool, result, error_code, body)
		SELECT tenant_id, $2, occurred_at, txid, event, request_id, client_id, user_id, tool, result, error_code, convert_to(replace(convert_from(body, 'UTF8'), event_id, $2), 'UTF8')
		FROM mappy.audit_event WHERE event_id = $1`
	for name, c := range map[string]struct {
		sql     string
		victim  string
		problem string
		insert  string // id of an inserted row, which is then the one named
	}{
		"body changed":        {`UPDATE mappy.audit_event SET body = convert_to(replace(convert_from(body, 'UTF8'), 'hanako', 'taro'), 'UTF8'), user_id = 'taro' WHERE event_id = $1`, "request-1-2", "was changed", ""},
		"one byte":            {`UPDATE mappy.audit_event SET body = set_byte(body, 40, get_byte(body, 40) # 1) WHERE event_id = $1`, "request-0-0", "was changed", ""},
		"first row removed":   {`DELETE FROM mappy.audit_event WHERE event_id = $1`, "request-0-0", "is missing", ""},
		"row removed":         {`DELETE FROM mappy.audit_event WHERE event_id = $1`, "request-1-2", "is missing", ""},
		"last row removed":    {`DELETE FROM mappy.audit_event WHERE event_id = $1`, "request-2-4", "is missing", ""},
		"row inserted":        {copied, "request-1-2", "inserted after sealing", "00000000000000000000000000"},
		"row appended":        {copied, "request-2-4", "inserted after sealing", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
		"moved in time":       {`UPDATE mappy.audit_event SET txid = (txid::text::bigint + 1000000)::text::xid8 WHERE event_id = $1`, "request-1-2", "is missing", ""},
		"a column alone":      {`UPDATE mappy.audit_event SET user_id = 'taro' WHERE event_id = $1`, "request-2-1", "does not agree", ""},
		"its time alone":      {`UPDATE mappy.audit_event SET occurred_at = occurred_at + interval '1 hour' WHERE event_id = $1`, "request-2-1", "does not agree", ""},
		"an unsealed column":  {`UPDATE mappy.audit_event SET result = 'accepted' WHERE event_id = $1`, "request-3-1", "does not agree", ""},
		"an unsealed id":      {`UPDATE mappy.audit_event SET event_id = '00000000000000000000000000' WHERE event_id = $1`, "request-3-1", "does not agree", "00000000000000000000000000"},
		"an unreadable body":  {`UPDATE mappy.audit_event SET body = '\x00ff' WHERE event_id = $1`, "request-3-4", "does not agree", ""},
		"another tenant's id": {`UPDATE mappy.audit_event SET tenant_id = 'system' WHERE event_id = $1`, "request-1-0", "is missing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := chained(t)
			victim := one(t, s, c.victim)
			args := []any{victim}
			if strings.Contains(c.sql, "$2") {
				args = append(args, c.insert)
			}
			tamper(t, s, c.sql, args...)
			if c.insert != "" {
				victim = c.insert
			}
			if r := verify(t, s); r.Valid || r.FirstBroken != victim || !strings.Contains(r.Problem, c.problem) {
				t.Errorf("got %+v, want %s %s", r, victim, c.problem)
			}
		})
	}
}

func TestVerifyNamesTheSeal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, broken string }{
		"a leaf changed":                 {`UPDATE mappy.audit_leaf SET leaf = sha256('x') WHERE seal_no = 2 AND ordinal = 0`, "seal 2"},
		"a leaf removed":                 {`DELETE FROM mappy.audit_leaf WHERE seal_no = 2 AND ordinal = (SELECT max(ordinal) FROM mappy.audit_leaf WHERE seal_no = 2)`, "seal 2"},
		"a seal removed with its leaves": {`WITH l AS (DELETE FROM mappy.audit_leaf WHERE seal_no = 2) DELETE FROM mappy.audit_seal WHERE seal_no = 2`, "seal 3"},
		"the first seal removed":         {`WITH l AS (DELETE FROM mappy.audit_leaf WHERE seal_no = 1) DELETE FROM mappy.audit_seal WHERE seal_no = 1`, "seal 2"},
		"a hash replaced":                {`UPDATE mappy.audit_seal SET hash = sha256('x') WHERE seal_no = 1`, "seal 1"},
		"its range widened":              {`UPDATE mappy.audit_seal SET upto_txid = (upto_txid::text::bigint + 1)::text::xid8 WHERE seal_no = 1`, "seal 1"},
		"another seal put in its place":  {`UPDATE mappy.audit_seal a SET digest = b.digest, hash = b.hash FROM mappy.audit_seal b WHERE a.seal_no = 2 AND b.seal_no = 1`, "seal 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := chained(t)
			tamper(t, s, c.sql)
			if r := verify(t, s); r.Valid || r.FirstBroken != c.broken {
				t.Errorf("got %+v, want %s", r, c.broken)
			}
		})
	}
}

// Transaction ids are ordered as numbers, also where they gain a digit; a seal never ends in the middle of a transaction.
func TestSealOrdersTransactionsAsNumbers(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	sealAll(t, s)
	for n := range 4 {
		record(t, s, fmt.Sprintf("digit-%d", n))
	}
	tamper(t, s, `DELETE FROM mappy.audit_leaf`)
	tamper(t, s, `DELETE FROM mappy.audit_seal`)
	for n, txid := range []string{"3", "9", "10", "100"} { // below every real one
		tamper(t, s, `UPDATE mappy.audit_event SET txid = $1::xid8 WHERE request_id = $2`, txid, fmt.Sprintf("digit-%d", n))
	}
	sealAll(t, s)
	if r := verify(t, s); !r.Valid || r.Unsealed != 0 {
		t.Errorf("got %+v", r)
	}
}

// Writers whose transactions commit out of order, with a sealer and a verifier beside them: the chain is whole at every
// look, sealed events never become fewer, and in the end every event is sealed once.
func TestSealUnderConcurrentWriters(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var watchers, writers sync.WaitGroup
	for range 2 { // two sealers: a leader that lost its place may still run
		watchers.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.App.DB.Seal(ctx, stack.Tenant); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	looks, last := 0, 0
	watchers.Go(func() {
		for ctx.Err() == nil {
			r, err := s.App.DB.VerifyAudit(ctx, stack.Tenant)
			if ctx.Err() != nil {
				return
			}
			if err != nil || !r.Valid || r.Sealed < last {
				t.Errorf("look %d: %+v after %d sealed, %v", looks, r, last, err)
			}
			looks, last = looks+1, r.Sealed
		}
	})
	const each, count = 25, 8
	for w := range count {
		writers.Go(func() {
			for n := range each {
				err := s.App.DB.InTenant(t.Context(), stack.Tenant, func(tx pgx.Tx) error {
					e := audit.Event{Tenant: stack.Tenant, ID: fmt.Sprintf("%013d%013d", w, n), Kind: audit.Preview, OccurredAt: time.Now(), Environment: "simulator"}
					_, err := tx.Exec(t.Context(), `INSERT INTO mappy.audit_event (tenant_id, event_id, occurred_at, event, body) VALUES ($1, $2, $3, $4, $5)`,
						stack.Tenant, e.ID, e.OccurredAt.UTC().Truncate(time.Microsecond), e.Kind, e.Body())
					if err != nil {
						return err
					}
					_, err = tx.Exec(t.Context(), `SELECT pg_sleep($1)`, float64(rand.IntN(30))/1000)
					if n%10 == 9 {
						return errors.Join(err, errRollback)
					}
					return err
				})
				if err != nil && !errors.Is(err, errRollback) {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	stop()
	watchers.Wait()
	sealAll(t, s)
	r := verify(t, s)
	total := rows[int](t, s.DB.Owner(), `SELECT count(*) FROM mappy.audit_event WHERE tenant_id = $1`, stack.Tenant)[0]
	if leaves := rows[int](t, s.DB.Owner(), `SELECT count(DISTINCT event_id) FROM mappy.audit_leaf WHERE tenant_id = $1`, stack.Tenant)[0]; !r.Valid || r.Sealed != total || leaves != total || total < count*(each-3) {
		t.Errorf("%+v, %d events, %d leaves", r, total, leaves)
	}
	if looks < 3 {
		t.Errorf("only %d looks while writing", looks)
	}
}

var errRollback = errors.New("rolled back on purpose")
