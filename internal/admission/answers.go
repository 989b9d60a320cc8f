package admission

import (
	"bytes"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
)

// The outcomes of an idempotency key in an answer.
const (
	Executed = "executed"
	Replayed = "replayed"
)

// Accepted is the answer to an accepted write.
type Accepted struct {
	BatchID                    batch.ID          `json:"batch_id" jsonschema:"ULID of the batch, for batch.status and batch.cancel"`
	Status                     batch.Status      `json:"status" jsonschema:"status when the write was accepted"`
	Operation                  string            `json:"operation" jsonschema:"what is done, such as post.create"`
	Environment                string            `json:"environment" jsonschema:"which deployment this is: production, staging or simulator"`
	TargetCount                int               `json:"target_count" jsonschema:"number of targets, 1 to 100"`
	PollAfterSeconds           *int              `json:"poll_after_seconds,omitempty" jsonschema:"seconds to wait before the first batch.status"`
	EstimatedCompletionSeconds int               `json:"estimated_completion_seconds" jsonschema:"estimate in seconds from the live state of Google's quota and our queue"`
	Idempotency                IdempotencyInfo   `json:"idempotency" jsonschema:"the key of this write and what became of it"`
	Warnings                   []gbp.Warning     `json:"warnings" jsonschema:"what a person should know; nothing was refused for it"`
	Limits                     []ratelimit.State `json:"limits" jsonschema:"what is left of each limit after this call"`
	Next                       string            `json:"next,omitempty" jsonschema:"what to do next; absent when the batch is final"`
	EstimatedUnits             int               `json:"estimated_units,omitempty" jsonschema:"what a report will be billed by when all stores succeed"`
	Already                    bool              `json:"already,omitempty" jsonschema:"true when all of it was done before and nothing will be sent"`
	Current                    *Current          `json:"current,omitempty" jsonschema:"in a replay: how the batch stands now"`
}

// IdempotencyInfo says which key a write has and whether this call executed it.
type IdempotencyInfo struct {
	Key     string `json:"key" jsonschema:"the idempotency key, the client's or a derived one"`
	Source  string `json:"source" jsonschema:"client or derived"`
	Outcome string `json:"outcome" jsonschema:"executed, replayed or in_flight"`
}

// Current is how a replayed batch stands now.
type Current struct {
	Status batch.Status `json:"status" jsonschema:"the batch's status now"`
	Counts errs.Counts  `json:"counts" jsonschema:"items by outcome now"`
}

// Preview is the answer to a dry run.
type Preview struct {
	WouldExecute               bool               `json:"would_execute" jsonschema:"false when anything would refuse the real call"`
	Operation                  string             `json:"operation" jsonschema:"what would be done, such as post.create"`
	Environment                string             `json:"environment" jsonschema:"which deployment this is: production, staging or simulator"`
	AsOf                       string             `json:"as_of" jsonschema:"RFC 3339 time of the oldest store data that this preview used"`
	TargetCount                int                `json:"target_count" jsonschema:"number of targets, 1 to 100"`
	TargetLocations            []errs.LocationRef `json:"target_locations" jsonschema:"the stores, each once"`
	Changes                    []ChangeGroup      `json:"changes" jsonschema:"what would be sent, per store; in a long preview stores with identical content together"`
	NextPageToken              string             `json:"next_page_token,omitempty" jsonschema:"send as page_token with dry_run true for the rest of changes"`
	ValidationErrors           []errs.Violation   `json:"validation_errors" jsonschema:"broken rules; empty when would_execute is true"`
	ValidationWarnings         []gbp.Warning      `json:"validation_warnings" jsonschema:"what a person should know before agreeing"`
	WouldRefuse                *WouldRefuse       `json:"would_refuse,omitempty" jsonschema:"what would refuse the real call now"`
	EstimatedGBPAPICalls       int                `json:"estimated_gbp_api_calls" jsonschema:"calls to Google on the undisturbed path"`
	EstimatedCompletionSeconds int                `json:"estimated_completion_seconds" jsonschema:"estimate in seconds from the live state of Google's quota and our queue"`
	Reversible                 Reversible         `json:"reversible" jsonschema:"whether and how the effect can be taken back"`
	Confirmation               Confirmation       `json:"confirmation" jsonschema:"whether a person has to agree, and the token for it"`
	PreviewDigest              string             `json:"preview_digest,omitempty" jsonschema:"sha256 of exactly what would be sent; absent when nothing could be"`
}

// ChangeGroup is one change with the targets that get exactly it: one, or in a long preview all that are alike.
type ChangeGroup struct {
	Operation   string   `json:"operation,omitempty" jsonschema:"the effect, where it is not the tool's own"`
	LocationID  int64    `json:"location_id,omitempty" jsonschema:"the store, where it is one"`
	LocationIDs []int64  `json:"location_ids" jsonschema:"stores that get exactly this"`
	TargetIDs   []string `json:"target_ids,omitempty" jsonschema:"posts, reviews or media that it changes"`
	Before      gbp.View `json:"before,omitempty" jsonschema:"what is there now; absent for something new"`
	After       gbp.View `json:"after,omitempty" jsonschema:"what will be there; absent after a delete"`
	// Sent is absent where After is it.
	Sent       gbp.View `json:"sent,omitempty" jsonschema:"the body as it goes to Google, where after is in other words"`
	UpdateMask []string `json:"update_mask,omitempty" jsonschema:"the fields that Google replaces"`
	// Each length is in the unit that the validator compares.
	SummaryLength int  `json:"summary_length,omitempty" jsonschema:"length of the rendered summary in characters (the limit is 1500)"`
	CommentBytes  int  `json:"comment_bytes,omitempty" jsonschema:"length of the reply in bytes (the limit is 4096)"`
	Already       bool `json:"already,omitempty" jsonschema:"true when this is done and nothing will be sent"`
}

func (g ChangeGroup) same(o ChangeGroup) bool {
	return g.Operation == o.Operation && g.Already == o.Already && bytes.Equal(g.Before, o.Before) && bytes.Equal(g.After, o.After) && bytes.Equal(g.Sent, o.Sent) &&
		slices.Equal(g.UpdateMask, o.UpdateMask)
}

// size is about how many bytes the group takes in an answer.
func (g ChangeGroup) size() int {
	return 60 + len(g.Before) + len(g.After) + len(g.Sent) + 8*len(g.LocationIDs) + 30*len(g.TargetIDs)
}

// WouldRefuse is a refusal that a preview foresees.
type WouldRefuse struct {
	ErrorCode errs.Code `json:"error_code" jsonschema:"code of the refusal"`
	Message   string    `json:"message" jsonschema:"the refusal in words"`
	How       string    `json:"how" jsonschema:"what to do next"`
	// AfterSeconds and Changed are those of the refusal.
	AfterSeconds int                  `json:"after_seconds,omitempty" jsonschema:"seconds to wait first"`
	Changed      []errs.ChangedTarget `json:"changed,omitempty" jsonschema:"targets that are no longer what expected_version stands for"`
}

// Reversible says what an undo brings back and what stays lost.
type Reversible struct {
	Possible bool     `json:"possible" jsonschema:"whether the effect can be undone"`
	By       string   `json:"by,omitempty" jsonschema:"the tool that undoes it"`
	Loses    []string `json:"loses,omitempty" jsonschema:"what an undo cannot bring back"`
}

// Confirmation says whether a person has to agree.
type Confirmation struct {
	Required     bool   `json:"required" jsonschema:"whether the real call needs a confirm_token"`
	Reason       string `json:"reason,omitempty" jsonschema:"why: target_count, replaces_reply, sensitive_field, media_bytes, report_units, unknown_link, irreversible or tenant_policy"`
	ConfirmToken string `json:"confirm_token,omitempty" jsonschema:"send it with the same arguments after the person agreed"`
	ExpiresIn    int    `json:"expires_in,omitempty" jsonschema:"seconds until the token expires"`
	Note         string `json:"note,omitempty" jsonschema:"why there is no token, when one is needed"`
	// Question is what the person is to be asked.
	Question string `json:"question,omitempty" jsonschema:"the question to show to the person"`
}
