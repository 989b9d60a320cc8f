package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
)

// enqueue accepts the call: idempotency row, batch, items, audit and jobs in one transaction. The answer is built from what
// is committed, and is what every replay will get.
func (a *Admission) enqueue(ctx context.Context, c *Call) error {
	s, first, err := a.submission(ctx, c)
	if err != nil {
		return err
	}
	a.Fault("admission.before_enqueue")
	answered, err := a.Store.Enqueue(ctx, s)
	if errs.CodeOf(err) == errs.Unavailable {
		answered, err = a.afterLostCommit(ctx, c, err)
	}
	if err != nil {
		return err
	}
	a.Fault("admission.enqueued")
	if answered.BatchID != s.Batch.ID { // another call was faster
		a.giveBack(ctx, c)
		return a.replayWith(ctx, c, answered)
	}
	a.settle(ctx, c)
	c.answer = &Answer{Accepted: first}
	return nil
}

// afterLostCommit asks once more, on another connection, whether a commit happened whose answer did not arrive. When even
// that cannot be told, the refusal says so.
func (a *Admission) afterLostCommit(ctx context.Context, c *Call, lost error) (*Answered, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	found, err := a.Store.FindAnswer(ctx, c.key)
	switch {
	case err != nil:
		e := *errs.From(lost)
		e.Executed = errs.ExecutedUnknown
		e.How = errs.T("受け付けられたか確認できません。必ず同じ idempotency_key で送り直してください。二重には実行されません。",
			"Whether it was accepted cannot be told now. Send again with the same idempotency_key; it will not be executed twice.")
		return nil, &e
	case found == nil:
		return nil, lost
	}
	return found, nil
}

func (a *Admission) submission(ctx context.Context, c *Call) (Submission, *Accepted, error) {
	p := c.Principal
	id := batch.ID(a.NewID())
	within := time.Duration(p.Policy.SendDeadlineSeconds) * time.Second
	items := make([]batch.Item, len(c.plan))
	for i, r := range c.plan {
		items[i] = batch.Item{
			ID: batch.ItemID(a.NewID()), Batch: id, Ordinal: i, Operation: r.Operation, Location: r.Location.ID, Connection: r.Location.ConnectionID,
			Account: r.Location.Account, LocationName: r.Location.Name, Title: r.Location.Profile.Title, Kind: r.Kind, State: batch.ItemQueued,
			TargetName: r.TargetName, TargetID: r.TargetID, Expected: r.Expected, Payload: r.Payload, Mask: r.Mask, Fingerprint: r.Fingerprint,
			Origin: r.Origin, Already: r.Already, Units: r.Units,
		}
		if !r.SendBefore.IsZero() {
			within = min(within, r.SendBefore.Sub(c.now))
		}
	}
	first := &Accepted{
		BatchID: id, Status: batch.Queued, Operation: c.Operation.Name, Environment: a.Environment, TargetCount: len(items),
		PollAfterSeconds: batch.PollAfterSeconds(batch.Queued, len(items)), EstimatedCompletionSeconds: a.estimate(ctx, c),
		Idempotency: IdempotencyInfo{Key: c.key.Value, Source: string(c.key.Source), Outcome: Executed},
		Warnings:    warningsOf(c), Limits: c.states,
		EstimatedUnits: c.units(),
		Already:        !slices.ContainsFunc(items, func(i batch.Item) bool { return !i.Already }),
		Next:           errs.Tf("batch.status を batch_id %s で呼び、poll_after_seconds 秒ごとに結果を確認してください。", "Call batch.status with batch_id %s after poll_after_seconds.", id).In(p.Locale),
	}
	response, err := json.Marshal(first)
	if err != nil {
		return Submission{}, nil, fmt.Errorf("response: %w", err)
	}
	keyExpires := time.Duration(p.Policy.IdempotencySeconds) * time.Second
	if c.key.Source == idempotency.Derived {
		keyExpires = time.Duration(p.Policy.DerivedKeySeconds) * time.Second
	}
	s := Submission{
		Key: c.key, KeyExpires: keyExpires, SendWithin: within, Items: items, Response: response, Events: a.accepted(c, id), UnitsPerMonth: p.Policy.ReportUnitsPerMonth, Timezone: p.Timezone,
		Batch: batch.Batch{
			Tenant: p.TenantID, ID: id, Operation: c.Operation.Name, Status: batch.Queued, Environment: a.Environment, Client: p.ClientID, User: p.UserID,
			Token: p.TokenID, RequestID: c.RequestID, Assurance: c.assurance, PolicyVersion: p.Policy.Version, Locale: p.Locale,
			OnFailure: c.safety.OnFailure, Canonical: c.canonical, InputHash: c.inputHash, PreviewDigest: c.digest, ConfirmTokenHash: c.tokenHash,
			Origin: c.origin.ID, Counts: batch.Counts{Target: len(items)},
		},
	}
	return s, first, nil
}

func (a *Admission) accepted(c *Call, id batch.ID) []audit.Event {
	var out []audit.Event
	if c.tokenHash != nil {
		e := a.event(c, audit.ConfirmTokenAccepted)
		e.BatchID, e.Result = string(id), "accepted"
		out = append(out, e)
	}
	if kind := c.Operation.Requested; kind != "" {
		e := a.event(c, kind)
		e.BatchID, e.Resource, e.Result = string(id), string(c.origin.ID), "accepted"
		out = append(out, e)
	}
	e := a.event(c, audit.BatchDispatched)
	e.BatchID, e.Result = string(id), "accepted"
	return append(out, e)
}

// settle tells the devices that the call is over. What fails here lapses by itself and is only logged.
func (a *Admission) settle(ctx context.Context, c *Call) {
	if err := a.Claims.Settle(ctx, c.key, c.nonce); err != nil {
		a.Log.WarnContext(ctx, "claim not settled", "request_id", c.RequestID, "error", err)
	}
	if err := a.Limiter.Leave(ctx, c.limits, c.nonce); err != nil {
		a.Log.WarnContext(ctx, "concurrency not released", "request_id", c.RequestID, "error", err)
	}
}

// giveBack returns what a call held or spent that then accepted nothing.
func (a *Admission) giveBack(ctx context.Context, c *Call) {
	if c.claimed {
		if err := a.Claims.Abort(ctx, c.key, c.nonce); err != nil {
			a.Log.WarnContext(ctx, "claim not freed", "request_id", c.RequestID, "error", err)
		}
	}
	if len(c.limits) > 0 {
		if err := a.Limiter.Refund(ctx, c.limits, c.nonce); err != nil {
			a.Log.WarnContext(ctx, "limits not refunded", "request_id", c.RequestID, "error", err)
		}
	}
}
