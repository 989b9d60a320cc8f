package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/terminal"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// text is the post; each store gets its own name in it.
const text = "新作の抹茶ラテが始まりました。{{location.title}}でお待ちしています。"

// Arguments as the agent sends them, in the order in which people read them.
type (
	listCall struct {
		PageSize int `json:"page_size"`
	}
	postCall struct {
		LocationIDs    []int64  `json:"location_ids"`
		Post           postText `json:"post"`
		DryRun         bool     `json:"dry_run,omitempty"`
		ConfirmToken   string   `json:"confirm_token,omitempty"`
		IdempotencyKey string   `json:"idempotency_key,omitempty"`
	}
	postText struct {
		Summary string `json:"summary"`
	}
	undoCall struct {
		BatchID        string `json:"batch_id"`
		DryRun         bool   `json:"dry_run,omitempty"`
		ConfirmToken   string `json:"confirm_token,omitempty"`
		IdempotencyKey string `json:"idempotency_key,omitempty"`
		WaitSeconds    int    `json:"wait_seconds,omitempty"`
	}
	statusCall struct {
		BatchID     string `json:"batch_id"`
		WaitSeconds int    `json:"wait_seconds"`
	}
)

// story is one telling.
type story struct {
	*stage
	p     *printer
	agent *agent
	facts facts

	stores []tools.LocationEntry
	call   postCall
}

// play tells the story from the first look at the stores to the undo.
func play(ctx context.Context, s *stage, p *printer, reached func(step)) (facts, error) {
	a, err := dial(ctx, s.serverURL+"/mcp", s.token)
	if err != nil {
		return facts{}, err
	}
	t := &story{stage: s, p: p, agent: a}
	t.facts.Protocol = a.protocol()
	p.say(fmt.Sprintf("An agent connects over HTTP: MCP %s.", t.facts.Protocol))
	for _, act := range []struct {
		tell func(context.Context) error
		then step
	}{
		{t.list, stepListed},
		{t.preview, stepPreviewed},
		{t.refused, stepRefused},
		{t.confirmed, stepAccepted},
		{t.followed, stepFinished},
		{t.replayed, stepReplayed},
		{t.audited, stepAudited},
		{t.undone, stepUndone},
	} {
		if err := act.tell(ctx); err != nil {
			return t.facts, errors.Join(fmt.Errorf("demo: %w", err), a.close())
		}
		reached(act.then)
	}
	if err := errors.Join(t.facts.check(), a.close()); err != nil {
		return t.facts, err
	}
	t.summary()
	return t.facts, nil
}

func (t *story) list(ctx context.Context) error {
	t.p.chapter("The agent looks for stores")
	args := listCall{PageSize: targets}
	if err := t.p.sent("location.list", args); err != nil {
		return err
	}
	page, err := data[tools.LocationPage](ctx, t.agent, "location.list", args)
	if err != nil {
		return err
	}
	t.stores = page.Locations
	rows := [][]string{{"location_id", "store_code", "title"}}
	for _, l := range t.stores {
		rows = append(rows, []string{fmt.Sprint(l.LocationID), l.StoreCode, l.Title})
		t.call.LocationIDs = append(t.call.LocationIDs, int64(l.LocationID))
	}
	t.p.got(green, fmt.Sprintf("%d stores of this page, and a page token for the rest:", len(t.stores)))
	t.p.table(rows)
	t.p.google(t.holdings())
	if len(t.stores) != targets {
		return fmt.Errorf("%d stores were listed instead of %d", len(t.stores), targets)
	}
	return nil
}

func (t *story) preview(ctx context.Context) error {
	t.p.chapter(fmt.Sprintf("It previews a post to %d stores", targets))
	t.p.say("  dry_run runs every check of the real call and publishes nothing.")
	t.call.Post.Summary = text
	args := t.call
	args.DryRun = true
	if err := t.p.sent("post.create", args); err != nil {
		return err
	}
	w, err := data[tools.Write](ctx, t.agent, "post.create", args)
	if err != nil {
		return err
	}
	if w.Preview == nil || len(w.Preview.Changes) == 0 {
		return errors.New("post.create with dry_run gave no preview")
	}
	v := w.Preview
	t.facts.Previewed = v.TargetCount
	t.call.ConfirmToken = v.Confirmation.ConfirmToken
	t.p.got(green,
		fmt.Sprintf("would_execute %t, %d stores, about %d s, %d warnings", v.WouldExecute, v.TargetCount, v.EstimatedCompletionSeconds, len(v.ValidationWarnings)),
		fmt.Sprintf("store %d would get: %s", v.Changes[0].LocationIDs[0], v.Changes[0].After.Post().Summary),
		fmt.Sprintf("a confirmation is needed (%s); to ask the person: %s", v.Confirmation.Reason, v.Confirmation.Question),
		fmt.Sprintf("confirm_token %s, good for %d s, this call and these stores only", v.Confirmation.ConfirmToken, v.Confirmation.ExpiresIn))
	t.p.google(t.holdings())
	return nil
}

func (t *story) refused(ctx context.Context) error {
	t.p.chapter("It forgets to ask, and calls without a confirmation")
	args := t.call
	args.ConfirmToken = ""
	if err := t.p.sent("post.create", args); err != nil {
		return err
	}
	a, err := t.agent.call(ctx, "post.create", args)
	if err != nil {
		return err
	}
	t.facts.Refusal, t.facts.Executed, t.facts.BeforeConsent = a.ErrorCode, a.Executed, len(t.sim.Posts(""))
	if !a.refused {
		return errors.New("post.create was accepted without a confirmation")
	}
	t.p.got(red, fmt.Sprintf("%d %s, executed: %s", a.Status, a.ErrorCode, a.Executed), a.Message, "next: "+a.Retry.How)
	t.p.google(t.holdings())
	return nil
}

// rig orders the two faults of the story at the simulator.
func (t *story) rig() error {
	denied, dropped := t.stores[1], t.stores[2]
	t.facts.Denied, t.facts.Dropped = int64(denied.LocationID), int64(dropped.LocationID)
	for _, f := range []gbpsim.Fault{
		{Location: t.googleName(denied.StoreCode), Answer: gbpsim.AnswerError, Status: 403, Message: "The caller does not have permission"},
		{Location: t.googleName(dropped.StoreCode), Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit, Count: 1},
	} {
		f.Route = gbpsim.RouteLocalPostsCreate
		if _, err := t.sim.AddFault(f); err != nil {
			return fmt.Errorf("order a fault: %w", err)
		}
	}
	t.p.say("  Two things go wrong at Google this time:")
	t.p.say("   - " + denied.Title + ": 403, the account may not post there;")
	t.p.say("   - " + dropped.Title + ": the post is published, but the connection breaks before the answer. A naive retry would publish it twice.")
	return nil
}

func (t *story) confirmed(ctx context.Context) error {
	t.p.chapter("The person agrees; it calls with the token and a key")
	if err := t.rig(); err != nil {
		return err
	}
	t.call.IdempotencyKey = "matcha-" + strings.ToLower(rand.Text()[:12])
	if err := t.p.sent("post.create", t.call); err != nil {
		return err
	}
	w, err := data[tools.Write](ctx, t.agent, "post.create", t.call)
	if err != nil {
		return err
	}
	if w.Accepted == nil {
		return errors.New("post.create was neither accepted nor refused")
	}
	t.facts.Batch = w.Accepted.BatchID
	t.p.got(green, fmt.Sprintf("accepted: batch %s, %d stores, %s", w.Accepted.BatchID, w.Accepted.TargetCount, w.Accepted.Status),
		fmt.Sprintf("idempotency: %s, %s", w.Accepted.Idempotency.Key, w.Accepted.Idempotency.Outcome))
	t.p.google(t.holdings() + ", and the worker has begun")
	return nil
}

// followAtMost bounds the wait for the batch: 12 posts take some seconds, and the one without an answer the settle time more.
const followAtMost = 45 * time.Second

func (t *story) followed(ctx context.Context) error {
	t.p.chapter("It follows the batch")
	t.p.say(fmt.Sprintf("  Each store has its own outcome. The one without an answer is not sent again: after %s the worker reads Google back.", demoSettle))
	ctx, cancel := context.WithTimeout(ctx, followAtMost)
	defer cancel()
	args := statusCall{BatchID: string(t.facts.Batch), WaitSeconds: 1}
	if err := t.p.sent("batch.status", args); err != nil {
		return err
	}
	last := ""
	for {
		v, err := data[tools.BatchView](ctx, t.agent, "batch.status", args)
		if err != nil {
			return err
		}
		now := fmt.Sprintf("%-10s %2d succeeded, %d failed, %d pending", v.Status, v.SuccessCount, v.FailureCount, v.PendingCount)
		if now != last {
			t.p.got(green, now)
		}
		if last = now; !v.Status.Final() {
			continue
		}
		t.facts.Status, t.facts.Succeeded, t.facts.Failed = v.Status, v.SuccessCount, v.FailureCount
		for _, f := range v.Failures {
			t.facts.FailedStore, t.facts.FailedWith = int64(f.LocationID), f.ErrorCode
			t.p.got(red, fmt.Sprintf("%s: %s, executed: %s", f.Target.Title, f.ErrorCode, f.Executed), f.Message)
		}
		t.p.google(t.holdings())
		return nil
	}
}

func (t *story) replayed(ctx context.Context) error {
	t.p.chapter("It lost the answer, and sends the very same call again")
	before := t.creates()
	if err := t.p.sent("post.create", t.call); err != nil {
		return err
	}
	w, err := data[tools.Write](ctx, t.agent, "post.create", t.call)
	if err != nil {
		return err
	}
	if w.Accepted == nil {
		return errors.New("the repeated post.create was neither accepted nor refused")
	}
	t.facts.ReplayBatch, t.facts.ReplayOutcome = w.Accepted.BatchID, w.Accepted.Idempotency.Outcome
	t.p.got(green, fmt.Sprintf("the same batch %s, %s: nothing new was executed", w.Accepted.BatchID, w.Accepted.Idempotency.Outcome))
	if w.Accepted.Current != nil {
		t.p.got(green, "status now: "+string(w.Accepted.Current.Status))
	}
	t.facts.ReplayCreates = t.creates() - before
	t.p.google(t.holdings())
	t.journal()
	return nil
}

// journal shows store by store what the simulator saw.
func (t *story) journal() {
	t.p.say("\n  Google's own journal, store by store:")
	rows := [][]string{{"store", "asked", "posts", "what happened"}}
	for _, l := range t.stores {
		f := t.witness(l)
		t.facts.Stores = append(t.facts.Stores, f)
		rows = append(rows, []string{f.Title, fmt.Sprint(f.Creates), fmt.Sprint(f.Posts), f.told()})
	}
	t.p.table(rows)
	t.facts.Strange = len(t.sim.Unknown())
	t.p.say(fmt.Sprintf("  %d posts, one per store, on %d stores.", t.facts.posts(), targets-1))
}

func (t *story) audited(ctx context.Context) error {
	t.p.chapter("The operator reads the audit")
	t.p.say("  What `mappy-mcp audit list` shows, the oldest event first:")
	bodies, err := t.app.DB.Events(ctx, tenantID, audit.Filter{Limit: auditLines}, audit.Actor{OperatorID: operatorName})
	if err != nil {
		return err
	}
	t.facts.Events = len(bodies)
	titles := map[int64]string{}
	for _, l := range t.stores {
		titles[int64(l.LocationID)] = l.Title
	}
	slices.Reverse(bodies)
	rows, err := terminal.Events(bodies, titles)
	if err != nil {
		return err
	}
	t.p.table(rows)
	t.p.say("  And its hash chain, walked as `mappy-mcp audit verify` does:")
	if t.facts.Audit, err = t.sealed(ctx); err != nil {
		return err
	}
	r := t.facts.Audit
	if !r.Valid {
		t.p.got(red, fmt.Sprintf("the chain is broken at %s: %s", r.FirstBroken, r.Problem))
		return nil // check fails the run
	}
	t.p.got(green, fmt.Sprintf("%s: %s", r.Tenant, terminal.Verdict(r)))
	return nil
}

func (t *story) undone(ctx context.Context) error {
	t.p.chapter("The campaign was a mistake: it is taken back")
	args := undoCall{BatchID: string(t.facts.Batch), DryRun: true}
	if err := t.p.sent("batch.undo", args); err != nil {
		return err
	}
	w, err := data[tools.Write](ctx, t.agent, "batch.undo", args)
	if err != nil {
		return err
	}
	if w.Preview == nil {
		return errors.New("batch.undo with dry_run gave no preview")
	}
	v := w.Preview
	t.p.got(green, fmt.Sprintf("%d posts would be deleted; the store that got none is left alone", v.TargetCount), v.Confirmation.Question)
	args = undoCall{BatchID: args.BatchID, ConfirmToken: v.Confirmation.ConfirmToken, IdempotencyKey: "undo-" + strings.ToLower(rand.Text()[:12])}
	if err := t.p.sent("batch.undo", args); err != nil {
		return err
	}
	if w, err = data[tools.Write](ctx, t.agent, "batch.undo", args); err != nil {
		return err
	}
	if w.Accepted == nil {
		return errors.New("batch.undo was neither accepted nor refused")
	}
	t.facts.Undone, err = t.finished(ctx, w.Accepted.BatchID)
	if err != nil {
		return err
	}
	t.facts.Left = len(t.sim.Posts(""))
	t.p.got(green, fmt.Sprintf("batch %s: %s, %d of %d taken back; the undo is a batch too, audited, and could itself be undone", w.Accepted.BatchID, t.facts.Undone.Status, t.facts.Undone.SuccessCount, t.facts.Undone.TargetCount))
	t.p.google(t.holdings())
	return nil
}

// finished waits for a batch to be final.
func (t *story) finished(ctx context.Context, id batch.ID) (tools.BatchView, error) {
	ctx, cancel := context.WithTimeout(ctx, followAtMost)
	defer cancel()
	for {
		v, err := data[tools.BatchView](ctx, t.agent, "batch.status", statusCall{BatchID: string(id), WaitSeconds: 20})
		if err != nil || v.Status.Final() {
			return v, err
		}
	}
}

func (t *story) summary() {
	f := t.facts
	t.p.line("\n" + t.p.paint(bold, "── Summary"))
	t.p.say(fmt.Sprintf("  %d stores asked for, %d posts at Google, none of them twice: not after a broken connection, not after a repeated call.", targets, f.posts()))
	t.p.say("  Nothing was published before a person had agreed, one store's failure stayed its own, all of it is in a sealed audit, and in the end it was taken back.")
	t.p.say("\n  Next:")
	t.p.say("    make run                 leave everything up and connect your own agent (Claude Code, Claude Desktop, VS Code, MCP Inspector)")
	t.p.say("    docs/safety.md           what is promised about duplicates, and what is not")
	t.p.say("    docs/simulator.md        let other things go wrong at Google")
	t.p.say("    docs/operations.md       run it for real")
}
