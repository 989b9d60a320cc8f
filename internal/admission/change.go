package admission

import (
	"encoding/json"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Operation is a write tool as admission sees it.
type Operation struct {
	// Name is the tool's dotted name, "post.create".
	Name string
	// Scope is what a token needs; "" when it follows from the effects that the call turns out to have (undo, retry).
	Scope string
	// Parse reads the arguments into a typed change and the safety arguments. All violations are reported together.
	Parse func(arguments json.RawMessage, l errs.Locale) (Change, Safety, []errs.Violation)
	// Requested is the event that says that an earlier batch, its resource, is to be undone or retried; "" for other writes.
	Requested audit.Kind
	// Reversible says what an undo can bring back.
	Reversible Reversible
	// Reads is true for what has no effect on a profile.
	Reads bool
	// CountStores is true when a confirmation by number counts stores and not items.
	CountStores bool
	// Ask is the first sentence of the question to a person: what will happen to n targets of the named stores. headline is
	// the text as it was given, "" for a write without one.
	Ask func(n int, stores, headline string) errs.Text
	// Nothing is the refusal when planning left no target to write to; nil when that cannot be.
	Nothing func(l errs.Locale) *errs.Error
}

// Change is what a write wants, typed and in canonical form. It is pure: what it needs to know arrives with its targets.
type Change interface {
	// Canonical are the bytes that are hashed, bound and stored.
	Canonical() []byte
	// References name what the change is about.
	References() References
	// Plan gives what would be sent for one target.
	Plan(t Target, now time.Time, l errs.Locale) Draft
	// Headline is the text that a person is asked about, before rendering; "" for a write without one.
	Headline() string
}

// FileChange is a Change that may hand files to Google by their addresses. They are looked at before it is planned.
type FileChange interface {
	Change
	// Sources are the files for one target.
	Sources(t Target) []gbp.Source
}

// References name what a change is about, each thing once, in the caller's order.
type References struct {
	// Locations are stores; together with Batch they narrow it to these.
	Locations []gbp.LocationID
	// Resources are our ids of posts, reviews or media, as Kind says.
	Kind      gbp.Kind
	Resources []string
	// PerLocation is how many targets there are at each location; 0 is one.
	PerLocation int
	// Batch is an earlier batch whose items are the targets.
	Batch batch.ID
	// Continues is true for undo and retry, which are one's own or need batches:manage, and whose batch has to be finished.
	Continues bool
	// Undoes is true for undo, which has a window.
	Undoes bool
}

// path is the argument that names the targets.
func (r References) path() string {
	switch {
	case r.Batch != "":
		return "batch_id"
	case r.Kind == gbp.KindPost:
		return "post_ids"
	case r.Kind == gbp.KindMedia:
		return "media_ids"
	case r.Kind == gbp.KindReview:
		return "review_id"
	}
	return "location_ids"
}

// size is how many targets are named; an earlier batch is no larger than any other.
func (r References) size() int {
	if r.Batch != "" {
		return 1
	}
	return len(r.Locations)*max(r.PerLocation, 1) + len(r.Resources)
}

// Target is one thing that a change is about, with what we know of it.
type Target struct {
	Location gbp.Location
	// Resource is our last reading of the post, review or media item; nil for a store, and for an earlier item that made none.
	Resource *gbp.Resource
	// Prior is the earlier item, where the change is about an earlier batch.
	Prior *Prior
	// Files are what the media check found about the change's files.
	Files gbp.SourceFiles
}

// Prior is an item of an earlier batch.
type Prior struct {
	batch.Item
	// Continued is true when an item of the same tool is about it already and has not failed: it was undone or retried.
	Continued bool
	// Tool is the tool that the item's batch came from.
	Tool string
}

// LeftAlone is the warning about a target that a write passes over, because there is nothing to do or it must not be touched.
const LeftAlone = "LEFT_ALONE"

// Draft is what a change would do to one target. Violations refuse the call with INVALID_ARGUMENT, Stale with
// VERSION_CONFLICT. A draft without items and faults leaves the target alone; its warnings say why.
type Draft struct {
	Items      []Planned
	Violations []errs.Violation
	Stale      *errs.ChangedTarget
	Warnings   []gbp.Warning
}

// Planned is one effect on one target, as it will be stored and sent.
type Planned struct {
	Location gbp.Location
	// Operation is the effect, such as "post.delete"; it may differ from the tool that was called.
	Operation string
	Kind      gbp.Kind
	// TargetName and TargetID are Google's name and our id of what is changed or deleted; "" for a create.
	TargetName, TargetID string
	// Expected is the digest that the worker must find at Google just before it sends an edit.
	Expected string
	// Payload are the exact bytes that are stored, shown and sent; Mask is Google's update mask.
	Payload []byte
	Mask    []string
	// Fingerprint is what must not be written twice at once at one location; see batch.Item.
	Fingerprint []byte
	// Before and After are what people are shown; Sent is Google's body where After is in other words.
	Before, After, Sent gbp.View
	// At is where the content stands in the arguments, "post" or "posts[2]"; violations name it.
	At string
	// SummaryLength is in characters, CommentBytes in bytes: each in the unit that its limit has.
	SummaryLength, CommentBytes int
	// SendBefore is the publication time of a scheduled post. Zero: none.
	SendBefore time.Time
	// Links and Phones are what the write would put before the public.
	Links, Phones []string
	// Fields are the fields of store data that change, for the user's field rights; nil for other kinds.
	Fields []string
	// Bound is what a confirm token is bound to, by the word that names it in a refusal; nil is Expected.
	Bound map[string]string
	// Line says the change in one line for the question to a person; "" leaves it to what is shown before and after.
	Line string
	// Sources are the files that Google will fetch.
	Sources []gbp.Source
	// Irreversible is true when this one effect cannot be undone although its kind can.
	Irreversible bool
	// Confirm is why a person has to agree whatever the number of targets; "" for no reason of its own.
	Confirm string
	// Already is true when there is nothing left to do: the item succeeds without a call.
	Already bool
	// Units is what a report is billed by.
	Units int
	// Origin is the earlier item that is undone or retried.
	Origin batch.ItemID
}

// Effect is what carrying out one item takes, whichever tool asked for it.
type Effect struct {
	// Scope is what a token needs for it.
	Scope string
	// API is the Google API whose quota it spends.
	API string
	// Calls is how many calls to Google it takes on the undisturbed path.
	Calls int
}

// EffectOf is the one table of effects. Creates take one call, because the answer holds the new state; what replaces or
// deletes reads the target first.
func EffectOf(operation string) Effect {
	switch operation {
	case "post.create":
		return Effect{"posts:write", gbp.APIMyBusiness, 1}
	case "post.update":
		return Effect{"posts:write", gbp.APIMyBusiness, 2}
	case "post.delete":
		return Effect{"posts:delete", gbp.APIMyBusiness, 2}
	case "review.reply":
		return Effect{"reviews:write", gbp.APIMyBusiness, 2}
	case "review.delete_reply":
		return Effect{"reviews:delete", gbp.APIMyBusiness, 2}
	case "media.upload":
		return Effect{"media:write", gbp.APIMyBusiness, 1}
	case "media.delete":
		return Effect{"media:delete", gbp.APIMyBusiness, 2}
	case "location.update":
		return Effect{"locations:write", gbp.APIBusinessInformation, 2}
	case "report.create":
		return Effect{"reports:create", gbp.APIPerformance, 1}
	}
	return Effect{}
}
