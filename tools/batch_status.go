package tools

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type batchStatusQuery struct {
	page
	BatchID     batch.ID `json:"batch_id"`
	WaitSeconds int      `json:"wait_seconds"`
	Items       string   `json:"items"`
}

// BatchView is a batch with its items as agents see it.
type BatchView struct {
	BatchID          batch.ID     `json:"batch_id" jsonschema:"ULID of the batch"`
	Status           batch.Status `json:"status" jsonschema:"queued, processing, done, partial, failed or cancelled"`
	Operation        string       `json:"operation" jsonschema:"what is done, such as post.create"`
	Environment      string       `json:"environment" jsonschema:"which deployment this is: production, staging or simulator"`
	TargetCount      int          `json:"target_count" jsonschema:"number of targets: stores, posts, reviews or files on stores"`
	SuccessCount     int          `json:"success_count" jsonschema:"items that succeeded"`
	FailureCount     int          `json:"failure_count" jsonschema:"items that failed"`
	CancelledCount   int          `json:"cancelled_count" jsonschema:"items that were cancelled or never started"`
	PendingCount     int          `json:"pending_count" jsonschema:"items not decided yet"`
	UnknownCount     int          `json:"unknown_count" jsonschema:"items whose outcome is not known; they are being checked and must not be sent again"`
	Failures         []ItemView   `json:"failures" jsonschema:"failed and unknown items, at most page_size"`
	Items            []ItemView   `json:"items" jsonschema:"all items of this page, when asked for"`
	NextPageToken    string       `json:"next_page_token,omitempty" jsonschema:"send as page_token for the next items; absent on the last page"`
	PollAfterSeconds *int         `json:"poll_after_seconds,omitempty" jsonschema:"seconds to wait before asking again; absent when final"`
	OriginBatchID    batch.ID     `json:"origin_batch_id,omitempty" jsonschema:"batch that an undo or a retry is about"`
	Undo             *Undo        `json:"undo,omitempty" jsonschema:"whether batch.undo can take it back; absent until final"`
	Progress         float64      `json:"progress" jsonschema:"share of decided items, 0 to 1"`
	CreatedAt        string       `json:"created_at" jsonschema:"RFC 3339"`
	FinishedAt       string       `json:"finished_at,omitempty" jsonschema:"RFC 3339; absent until final"`
	AsOf             string       `json:"as_of" jsonschema:"RFC 3339 time of this reading"`
}

// ItemView is one store's outcome.
type ItemView struct {
	ItemID        string            `json:"item_id" jsonschema:"ULID of the item"`
	LocationID    gbp.LocationID    `json:"location_id" jsonschema:"the store"`
	Target        Target            `json:"target" jsonschema:"what the item is about"`
	Operation     string            `json:"operation" jsonschema:"the effect, such as post.delete in an undo"`
	Already       bool              `json:"already,omitempty" jsonschema:"true when it was like this before and nothing was sent"`
	State         batch.ItemState   `json:"state" jsonschema:"queued, processing, succeeded, failed, cancelled or unknown"`
	Version       string            `json:"version,omitempty" jsonschema:"version of the result, for expected_version of a follow-up write"`
	StateAfter    string            `json:"state_after,omitempty" jsonschema:"Google's answer, as JSON in a string; absent when it is long"`
	Publication   batch.Publication `json:"publication,omitempty" jsonschema:"accepted, scheduled, live, pending_review, rejected or deleted"`
	ErrorCode     errs.Code         `json:"error_code,omitempty" jsonschema:"why it failed"`
	Message       string            `json:"message,omitempty" jsonschema:"the reason in words"`
	Google        *errs.GoogleFault `json:"google,omitempty" jsonschema:"what Google answered"`
	RetryPossible bool              `json:"retry_possible" jsonschema:"whether batch.retry may run it again"`
	Executed      errs.Executed     `json:"executed" jsonschema:"no, yes or unknown: whether Google has the effect"`
}

// Undo says whether a batch can still be taken back.
type Undo struct {
	Possible bool   `json:"possible" jsonschema:"whether anything can be taken back"`
	Until    string `json:"until" jsonschema:"RFC 3339 end of the undo window"`
}

// Target names what an item is about.
type Target struct {
	Kind  gbp.Kind `json:"kind" jsonschema:"post, review, media or location"`
	ID    string   `json:"id,omitempty" jsonschema:"our id, once there is one"`
	Title string   `json:"title" jsonschema:"name of the store"`
}

func batchStatus(s *Set) (Tool, error) {
	t := Tool{
		Name: "batch.status", Title: "Follow a batch", Scope: "batches:read", ReadOnly: true, Idempotent: true,
		Description: "Tells how an accepted write stands, with one outcome per store. Changes nothing and starts nothing again. Poll after poll_after_seconds, doubling up to 60 s, or pass wait_seconds to be answered when the batch is finished. " +
			"unknown items may have been published: they are being checked, do not send them again. Batches are kept for at least 30 days.",
		Input: schema.Object{Fields: append([]schema.Field{
			schema.ID("batch_id", "ULID of the batch, from the accepted write or batch.list.", schema.Required(), schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
			schema.Integer("wait_seconds", "Seconds to wait for the batch to finish, 0 to 25.", 0, 25, schema.Default(0)),
			schema.Enum("items", "Which items to list beside the counts.", []string{"failures", "all", "none"}, schema.Default("failures")),
		}, paging()...)},
	}
	var err error
	t.Output, err = output[BatchView]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, q batchStatusQuery) (Result, error) {
		from, err := numberToken(q.Token, call.Principal.Locale)
		if err != nil {
			return Result{}, err
		}
		if err := s.await(ctx, call, q.BatchID, q.WaitSeconds); err != nil {
			return Result{}, err
		}
		v, kind, err := s.view(ctx, call.Principal, q.BatchID, q.Items, int(from), q.Size)
		if err != nil {
			return Result{}, err
		}
		return success(batchSentence(v, call.Principal.Locale), v, linksOf(q.BatchID, kind == gbp.KindReport)...)
	})
	return t, err
}

func (s *Set) batch(ctx context.Context, p *authn.Principal, id batch.ID) (batch.Batch, error) {
	b, ok, err := s.Store.Batch(ctx, p.TenantID, p.Grants, id)
	if err == nil && !ok {
		err = admission.BatchNotFound(id)
	}
	return b, err
}

// batchItems is batch with its items of the same moment.
func (s *Set) batchItems(ctx context.Context, p *authn.Principal, id batch.ID, f batch.ItemFilter) (batch.Batch, []batch.Item, error) {
	b, items, ok, err := s.Store.BatchItems(ctx, p.TenantID, p.Grants, id, f)
	if err == nil && !ok {
		err = admission.BatchNotFound(id)
	}
	return b, items, err
}

// await waits for a batch to be final, at most seconds, and reports progress. It looks when a hint comes and every
// PollEvery, and holds no connection meanwhile. It ends early when the client goes away; the batch does not.
func (s *Set) await(ctx context.Context, call *Call, id batch.ID, seconds int) error {
	if seconds == 0 {
		return nil
	}
	b, err := s.batch(ctx, call.Principal, id)
	if err != nil || b.Status.Final() {
		return err
	}
	deadline := time.NewTimer(time.Duration(seconds) * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(s.PollEvery)
	defer tick.Stop()
	changed, stop := s.Hints.Watch(call.Principal.TenantID, id)
	defer stop()
	last := -1
	for {
		status, done, err := s.Store.BatchVersion(ctx, call.Principal.TenantID, id)
		if err != nil {
			return err
		}
		if done > last {
			last = done
			call.Progress(done, b.Counts.Target, fmt.Sprintf("%d/%d", done, b.Counts.Target))
		}
		if status.Final() {
			return nil
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-deadline.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait is await for a write that was just accepted.
func (s *Set) wait(ctx context.Context, call *Call, id batch.ID, seconds int) (*BatchView, error) {
	if err := s.await(ctx, call, id, seconds); err != nil {
		return nil, err
	}
	v, _, err := s.view(ctx, call.Principal, id, "failures", 0, defaultPage)
	return v, err
}

const defaultPage = 50

// outline is a batch as agents see it, without its items.
func (s *Set) outline(p *authn.Principal, b batch.Batch) *BatchView {
	c := b.Counts
	v := &BatchView{
		BatchID: b.ID, Status: b.Status, Operation: b.Operation, Environment: b.Environment, TargetCount: c.Target, SuccessCount: c.Success, FailureCount: c.Failure,
		CancelledCount: c.Cancelled, PendingCount: c.Pending(), UnknownCount: c.Unknown, Failures: []ItemView{}, Items: []ItemView{},
		PollAfterSeconds: batch.PollAfterSeconds(b.Status, c.Target), Progress: float64(c.Target-c.Pending()) / float64(c.Target), OriginBatchID: b.Origin,
		CreatedAt: stamp(b.CreatedAt), AsOf: stamp(s.Now()),
	}
	if !b.FinishedAt.IsZero() {
		v.FinishedAt = stamp(b.FinishedAt)
		until := b.CreatedAt.AddDate(0, 0, p.Policy.UndoDays)
		v.Undo = &Undo{Possible: b.Undoable && s.Now().Before(until), Until: stamp(until)}
	}
	return v
}

// statusEntry is what one item takes of a page: a failed one stands in both lists.
type statusEntry struct{ Failures, Items []ItemView }

// view reads a batch and a page of its items, as of one moment.
func (s *Set) view(ctx context.Context, p *authn.Principal, id batch.ID, which string, from, size int) (*BatchView, gbp.Kind, error) {
	if which == "none" {
		b, err := s.batch(ctx, p, id)
		if err != nil {
			return nil, "", err
		}
		return s.outline(p, b), b.Kind, nil
	}
	b, items, err := s.batchItems(ctx, p, id, batch.ItemFilter{FailuresOnly: which == "failures", From: from, Limit: size + 1})
	if err != nil {
		return nil, "", err
	}
	v := s.outline(p, b)
	entries := make([]statusEntry, 0, len(items))
	for _, i := range items[:min(len(items), size)] {
		iv, e := itemView(i, p.Locale), statusEntry{}
		if iv.State == batch.ItemFailed || iv.State == batch.ItemUnknown {
			e.Failures = []ItemView{iv}
		}
		if which == "all" {
			e.Items = []ItemView{iv}
		}
		entries = append(entries, e)
	}
	n, err := fits(entries, pageBytes)
	if err != nil {
		return nil, "", err
	}
	if n < len(items) {
		v.NextPageToken = encodeToken(strconv.Itoa(items[n].Ordinal))
	}
	for _, e := range entries[:n] {
		v.Failures, v.Items = append(v.Failures, e.Failures...), append(v.Items, e.Items...)
	}
	return v, b.Kind, nil
}

// stateMost is the longest state of an item that is shown, in bytes.
const stateMost = 8_000

func itemView(i batch.Item, l errs.Locale) ItemView {
	id := i.TargetID
	if id == "" {
		id = i.ResourceID
	}
	v := ItemView{
		ItemID: string(i.ID), LocationID: i.Location, Target: Target{Kind: i.Kind, ID: id, Title: i.Title}, Operation: i.Operation, State: i.State, Version: i.Version, Already: i.Already,
		StateAfter: string(i.After), Publication: i.Publication, ErrorCode: i.ErrorCode, Message: i.Error.In(l), RetryPossible: i.RetryPossible, Executed: i.Executed,
	}
	if i.Kind == gbp.KindReport {
		v.StateAfter = "" // the report is a resource of its own
	}
	if i.Kind == gbp.KindReview && i.After != nil { // the rest is a stranger's words
		v.StateAfter = string(gbp.ReplyOf(i.After))
	}
	if i.Error != nil {
		v.Google = i.Error.Google
	}
	if len(v.StateAfter) > stateMost { // hours of a year, for example; the tool of its kind reads it
		v.StateAfter = ""
	}
	return v
}

func batchSentence(v *BatchView, l errs.Locale) string {
	lines := []string{errs.Tf("バッチ %[1]s: %[2]s。成功 %[3]d / 失敗 %[4]d / 取消 %[5]d / 不明 %[6]d / 未了 %[7]d (全 %[8]d)。",
		"Batch %[1]s: %[2]s. %[3]d succeeded, %[4]d failed, %[5]d cancelled, %[6]d unknown, %[7]d pending of %[8]d.",
		v.BatchID, v.Status, v.SuccessCount, v.FailureCount, v.CancelledCount, v.UnknownCount, v.PendingCount, v.TargetCount).In(l)}
	for n, f := range v.Failures {
		if n == shownWarnings {
			lines = append(lines, fmt.Sprintf("- … (%d)", len(v.Failures)))
			break
		}
		lines = append(lines, fmt.Sprintf("- %d %s: %s %s", f.LocationID, f.Target.Title, f.ErrorCode, f.Message))
	}
	if v.UnknownCount > 0 {
		lines = append(lines, errs.T("不明の項目は確認中です。送り直さないでください。", "Unknown items are being checked; do not send them again.").In(l))
	}
	if v.PollAfterSeconds != nil {
		lines = append(lines, errs.Tf("%d 秒後に batch.status で確認してください。", "Ask again with batch.status after %d seconds.", *v.PollAfterSeconds).In(l))
	}
	return strings.Join(lines, "\n")
}
