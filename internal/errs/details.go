package errs

import "reflect"

// Violation is one broken rule in the arguments.
type Violation struct {
	// Path is a JSON path such as "post.event.title" or "overrides[2].summary".
	Path string `json:"path" jsonschema:"JSON path of the argument, such as post.event.title"`
	// Rule is a stable word: "required", "unknown", "type", "max_length", ...
	Rule    string `json:"rule" jsonschema:"stable word for the broken rule"`
	Message string `json:"message" jsonschema:"the rule in words"`
	// Value is what was sent, cut to a safe length.
	Value string `json:"value,omitempty" jsonschema:"what was sent, cut to a safe length"`
	// LocationID is set where the rule concerns one store of several.
	LocationID int64 `json:"location_id,omitempty" jsonschema:"store that it concerns"`
}

// valueMax bounds what a violation quotes, in characters.
const valueMax = 100

// ShownValue cuts what was sent to the length that a violation quotes.
func ShownValue(s string) string {
	n := 0
	for i := range s {
		if n++; n > valueMax {
			return s[:i] + "…"
		}
	}
	return s
}

// Details are the structured facts of an error. One type serves all codes, so that one output schema covers them;
// each code fills only what belongs to it.
type Details struct {
	Violations []Violation `json:"violations,omitempty" jsonschema:"every broken rule"`

	// RATE_LIMITED.
	Scope             string `json:"scope,omitempty" jsonschema:"name of the limit or switch"`
	Limit             int    `json:"limit,omitempty" jsonschema:"the limit, in the unit of its scope"`
	RetryAfterSeconds int    `json:"retry_after_seconds,omitempty" jsonschema:"seconds until it can succeed"`

	// INSUFFICIENT_SCOPE, WRITES_DISABLED.
	RequiredScope string `json:"required_scope,omitempty" jsonschema:"scope that the token lacks"`
	LiftedBy      string `json:"lifted_by,omitempty" jsonschema:"who can lift it"`
	// Lifter is LiftedBy in both languages; Public chooses.
	Lifter Text `json:"-"`

	// CONFIRMATION_REQUIRED.
	ConfirmToken         string         `json:"confirm_token,omitempty" jsonschema:"send it with the same arguments once the person agreed"`
	ExpiresIn            int            `json:"expires_in,omitempty" jsonschema:"seconds until the token expires"`
	TargetSummary        *TargetSummary `json:"target_summary,omitempty" jsonschema:"what the call is about"`
	HumanReadableMessage string         `json:"human_readable_message,omitempty" jsonschema:"the question to show to the person"`
	Reason               string         `json:"reason,omitempty" jsonschema:"why"`

	// IDEMPOTENCY_CONFLICT, BATCH_NOT_CANCELLABLE.
	Key           string         `json:"key,omitempty" jsonschema:"the idempotency key"`
	Differs       []string       `json:"differs,omitempty" jsonschema:"which arguments differ from the first call"`
	BatchID       string         `json:"batch_id,omitempty" jsonschema:"batch of the earlier call (ULID)"`
	BatchStatus   string         `json:"batch_status,omitempty" jsonschema:"status of that batch"`
	Counts        *Counts        `json:"counts,omitempty" jsonschema:"items of that batch by outcome"`
	AcceptedAt    string         `json:"accepted_at,omitempty" jsonschema:"when the earlier call was accepted (RFC 3339)"`
	FirstOutcomes []FirstOutcome `json:"first_outcomes,omitempty" jsonschema:"what the earlier call did, per store"`

	// VERSION_CONFLICT.
	CurrentVersion string          `json:"current_version,omitempty" jsonschema:"the version now"`
	Changed        []ChangedTarget `json:"changed,omitempty" jsonschema:"targets that are no longer what was seen"`

	// *_NOT_FOUND: the ids as they were sent.
	NotFound []string `json:"not_found,omitempty" jsonschema:"the ids that were not found"`

	// Item errors: what Google said.
	Google *GoogleFault `json:"google,omitempty" jsonschema:"what Google answered"`
}

func (d Details) empty() bool { return reflect.ValueOf(d).IsZero() }

// TargetSummary says what a call is about, for the person who confirms it.
type TargetSummary struct {
	Operation   string        `json:"operation" jsonschema:"what is done, such as post.create"`
	TargetCount int           `json:"target_count" jsonschema:"number of targets"`
	Locations   []LocationRef `json:"locations" jsonschema:"the stores"`
	PostSummary string        `json:"post_summary,omitempty" jsonschema:"beginning of the text"`
}

// LocationRef names one store.
type LocationRef struct {
	ID        int64  `json:"id" jsonschema:"id of the store"`
	Title     string `json:"title" jsonschema:"name of the store"`
	StoreCode string `json:"store_code,omitempty" jsonschema:"the chain's own code of the store"`
}

// Counts are a batch's items by outcome; they always add up to its target count.
type Counts struct {
	Success   int `json:"success_count" jsonschema:"items that succeeded"`
	Failure   int `json:"failure_count" jsonschema:"items that failed"`
	Cancelled int `json:"cancelled_count" jsonschema:"items that were cancelled"`
	Unknown   int `json:"unknown_count" jsonschema:"items whose outcome is not known yet"`
	Pending   int `json:"pending_count" jsonschema:"items not decided yet"`
}

// FirstOutcome is one effect that the first call with the same key already had.
type FirstOutcome struct {
	LocationID int64  `json:"location_id" jsonschema:"store that it concerns"`
	PostID     string `json:"post_id,omitempty" jsonschema:"our id of the post (ULID)"`
	State      string `json:"state" jsonschema:"state of the item"`
	At         string `json:"at,omitempty" jsonschema:"when (RFC 3339)"`
}

// ChangedTarget is one target that is no longer what the caller saw.
type ChangedTarget struct {
	LocationID     int64    `json:"location_id" jsonschema:"store that it concerns"`
	TargetID       string   `json:"target_id,omitempty" jsonschema:"the post, review or media item"`
	Fields         []string `json:"fields" jsonschema:"the fields meant"`
	CurrentVersion string   `json:"current_version,omitempty" jsonschema:"the version now"`
}

// GoogleFault is what Google answered, made safe to show.
type GoogleFault struct {
	HTTPStatus int           `json:"http_status" jsonschema:"HTTP status of Google's answer"`
	Status     string        `json:"status,omitempty" jsonschema:"Google's status word"`
	Reason     string        `json:"reason,omitempty" jsonschema:"why"`
	Service    string        `json:"service,omitempty" jsonschema:"the Google service"`
	Message    string        `json:"message,omitempty" jsonschema:"the rule in words"`
	Fields     []GoogleField `json:"fields,omitempty" jsonschema:"the fields meant"`
}

// GoogleField is one entry of Google's ValidationError or BadRequest details. Argument is our own name for the field where known.
type GoogleField struct {
	Field    string `json:"field" jsonschema:"Google's name of the field"`
	Argument string `json:"argument,omitempty" jsonschema:"our name of the argument"`
	Code     int    `json:"code,omitempty" jsonschema:"Google's number of the error"`
	Message  string `json:"message" jsonschema:"the rule in words"`
}
