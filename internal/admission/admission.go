// Package admission decides whether a write is accepted. A call passes one chain of steps (chain.go), each of which may
// refuse it; what comes out is a batch of items for the workers, or a preview, or a value of the error catalogue. Every
// outcome is audited, refusals too.
//
// A call is admitted or refused within [Deadline], the time not counted in which files behind addresses are looked at. The client going away does not stop it: what was accepted stays
// accepted, and is found again under the same idempotency key.
package admission

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/confirm"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
)

// Deadline is how long an admission may take, dependencies that hang included, and without the media check, which has a bound
// of its own.
const Deadline = 2 * time.Second

// Safety are the arguments that every write tool has.
type Safety struct {
	DryRun         bool            `json:"dry_run"`
	IdempotencyKey string          `json:"idempotency_key"`
	ConfirmToken   string          `json:"confirm_token"`
	WaitSeconds    int             `json:"wait_seconds"`
	OnFailure      batch.OnFailure `json:"on_failure"`
	// PageToken pages a long preview.
	PageToken string `json:"page_token"`
}

// Store is what admission needs of PostgreSQL. Every method gives UNAVAILABLE while it is away.
type Store interface {
	// FindAnswer looks a key up: nil when it is free.
	FindAnswer(ctx context.Context, key idempotency.Key) (*Answered, error)
	// Targets gives the tenant's locations among ids, leaving out what does not exist, and those of the tenant's connections
	// that need a person to reconnect.
	Targets(ctx context.Context, tenant authn.TenantID, ids []gbp.LocationID) (found []gbp.Location, dead []string, err error)
	// Resources gives our last readings of posts, reviews and media by our ids, leaving out what does not exist.
	Resources(ctx context.Context, tenant authn.TenantID, ids []string) ([]gbp.Resource, error)
	// Prior gives an earlier batch with all its items; ok is false for an absent one and for one that the grants hide. An item
	// is Continued when one of the tool "by" is about it.
	Prior(ctx context.Context, tenant authn.TenantID, g authn.Grants, id batch.ID, by string) (b batch.Batch, items []Prior, ok bool, err error)
	// Recent says what was lately written to each of the places.
	Recent(ctx context.Context, tenant authn.TenantID, places []Place) (map[gbp.LocationID]Recent, error)
	// OwnContacts gives the domains and phone numbers that the tenant's own profiles show.
	OwnContacts(ctx context.Context, tenant authn.TenantID) (Contacts, error)
	// TokenSpentBy gives the batch that the client and user spent a confirm token on, "" when they did not.
	TokenSpentBy(ctx context.Context, tenant authn.TenantID, client authn.ClientID, user authn.UserID, tokenHash []byte) (batch.ID, error)
	// Enqueue accepts the write in one transaction: idempotency row, batch, items, audit, jobs. When another call with the
	// same key was faster it gives that call's answer and accepts nothing. It refuses with CONFIRM_TOKEN_USED and WRITES_DISABLED.
	Enqueue(ctx context.Context, s Submission) (*Answered, error)
	// Record appends audit events.
	Record(ctx context.Context, tenant authn.TenantID, events ...audit.Event) error
}

// Place is a content at a location.
type Place struct {
	Location    gbp.LocationID
	Fingerprint []byte
}

// Recent is what was lately written at a location.
type Recent struct {
	// LastPostAt is when the newest post was made; zero for none.
	LastPostAt time.Time
	// SameContentAt is when the same content was written within a day, or is waiting to be; zero for never.
	SameContentAt time.Time
}

// Contacts are what a tenant's own profiles already show.
type Contacts struct{ Domains, Phones []string }

// Answered is a key that has its answer.
type Answered struct {
	InputHash []byte
	Canonical []byte
	// Response is the first call's answer, byte for byte.
	Response   []byte
	BatchID    batch.ID
	AcceptedAt time.Time
	Status     batch.Status
	Counts     batch.Counts
	Outcomes   []errs.FirstOutcome
}

// Submission is everything that is committed for an accepted write.
type Submission struct {
	Key        idempotency.Key
	KeyExpires time.Duration
	Batch      batch.Batch
	SendWithin time.Duration
	Items      []batch.Item
	Response   []byte
	Events     []audit.Event
	// UnitsPerMonth bounds what the tenant's items bill in the current month of Timezone.
	UnitsPerMonth int
	Timezone      *time.Location
}

// Claims, Tokens, Limiter and Slots are the devices in Redis.
type (
	// Claims keep two calls with one key apart; see idempotency.Claims.
	Claims interface {
		Claim(ctx context.Context, k idempotency.Key, nonce string) (idempotency.Outcome, time.Duration, error)
		Settle(ctx context.Context, k idempotency.Key, nonce string) error
		Abort(ctx context.Context, k idempotency.Key, nonce string) error
	}
	// Tokens keep what confirm tokens are bound to; see confirm.Store.
	Tokens interface {
		Issue(ctx context.Context, b confirm.Binding, life time.Duration) (string, error)
		Find(ctx context.Context, tenant authn.TenantID, token string) (confirm.Binding, bool, error)
	}
	// Limiter keeps the contract's limits; see ratelimit.Limiter.
	Limiter interface {
		Take(ctx context.Context, buckets []ratelimit.Bucket, nonce string) ([]ratelimit.State, error)
		Peek(ctx context.Context, buckets []ratelimit.Bucket) ([]ratelimit.State, error)
		Refund(ctx context.Context, buckets []ratelimit.Bucket, nonce string) error
		Leave(ctx context.Context, buckets []ratelimit.Bucket, nonce string) error
	}
	// Slots tell when Google's quota would let n more items of a tenant through.
	Slots interface {
		Estimate(ctx context.Context, api string, tenant authn.TenantID, n int, busiest gbp.LocationName, edits int) (time.Duration, error)
	}
)

// Files look at the files behind addresses; see package sourcecheck.
type Files interface {
	// Known gives what was lately found about the sources, and those that have to be fetched.
	Known(tenant authn.TenantID, sources []gbp.Source) (known gbp.SourceFiles, unknown []gbp.Source)
	// Look gives a verdict about every source, within a bound of its own.
	Look(ctx context.Context, tenant authn.TenantID, sources []gbp.Source) gbp.SourceFiles
}

// Deps are what an Admission works with.
type Deps struct {
	Store   Store
	Claims  Claims
	Tokens  Tokens
	Limiter Limiter
	Slots   Slots
	// Validator asks Google about a preview; nil asks never.
	Validator Validator
	// Files is nil where the media check is off: addresses are then handed to Google as they are, with a warning.
	Files Files
	// Now is the clock for waits and for what is relative to today; deadlines are the database's.
	Now func() time.Time
	// NewID makes ULIDs for batches and items, Nonce unique words for calls.
	NewID func() string
	// ReadOnly refuses every write, whatever policies say.
	ReadOnly    bool
	Environment string
	Log         *slog.Logger
	// Fault is called at named points; it is nil but in crash tests.
	Fault func(point string)
}

// Admission admits writes.
type Admission struct{ Deps }

// New makes an admission.
func New(d Deps) *Admission {
	if d.Fault == nil {
		d.Fault = func(string) {}
	}
	return &Admission{Deps: d}
}

// Call is one write call on its way through the chain. The caller fills in the first block; the steps fill in the rest, in
// the order of the chain.
type Call struct {
	Principal *authn.Principal
	RequestID string
	Operation Operation
	Arguments json.RawMessage
	// Progress tells a client that asked for it what is waited for; may be nil.
	Progress func(done, total int, message string)

	now         time.Time
	nonce       string
	safety      Safety
	change      Change
	canonical   []byte
	inputHash   []byte
	key         idempotency.Key
	targets     []Target
	locations   []gbp.Location // the targets' stores, each once
	origin      batch.Batch    // the earlier batch that is continued
	dead        []string       // connections of the tenant that have to be reconnected
	found       gbp.SourceFiles
	waited      time.Duration // for what has a bound of its own
	plan        []Planned
	warnings    []gbp.Warning
	digest      []byte
	reason      string // why a confirmation is needed; "" when it is not
	foreign     []contact
	violations  []errs.Violation
	refusal     *errs.Error // in a preview: what would refuse the real call
	claimed     bool
	limits      []ratelimit.Bucket
	states      []ratelimit.State
	assurance   batch.Assurance
	tokenHash   []byte
	issuedToken bool
	answer      *Answer
}

// Safety gives the safety arguments once parsed.
func (c *Call) Safety() Safety { return c.safety }

// Answer is what an admitted call gets: exactly one of the two.
type Answer struct {
	Preview  *Preview
	Accepted *Accepted
}

// Admit takes a call through the chain. The error is always from the catalogue.
func (a *Admission) Admit(ctx context.Context, c *Call) (*Answer, error) {
	c.now, c.nonce = a.Now(), a.NewID()
	return a.pass(context.WithoutCancel(ctx), c, chain)
}

// pass takes a call through steps within what is left of its time, which stands still for what has a bound of its own.
func (a *Admission) pass(base context.Context, c *Call, steps []step) (*Answer, error) {
	ctx, cancel := context.WithTimeout(base, Deadline-(a.Now().Sub(c.now)-c.waited))
	defer cancel()
	for i, s := range steps {
		before := c.waited
		if err := s.run(a, ctx, c); err != nil {
			return nil, a.refuse(ctx, c, s.name, err)
		}
		if c.answer != nil {
			return c.answer, nil
		}
		if c.waited > before {
			return a.pass(base, c, steps[i+1:])
		}
	}
	return nil, errs.From(errNoAnswer)
}
