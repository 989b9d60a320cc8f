package admission

import (
	"context"
	"errors"
)

// step is one decision about a call. It refuses by its error, ends the chain by setting the call's answer, or lets the call go on.
type step struct {
	name string
	run  func(a *Admission, ctx context.Context, c *Call) error
}

// chain is what protects a business profile, in order. Cheap and certain refusals come first; nothing is spent or held
// before everything that could refuse without it had its say; the last step is one transaction.
var chain = []step{
	{"parse", (*Admission).parse},               // arguments are exactly a known change; canonical form and its hash
	{"scope", (*Admission).scope},               // token's scope, read-only mode, kill switches
	{"replay", (*Admission).replay},             // the same key again: the first answer, or a conflict
	{"authorise", (*Admission).authorise},       // every referenced location is the caller's
	{"files", (*Admission).files},               // what is behind the addresses of photos, within a bound of its own
	{"validate", (*Admission).validate},         // business rules per store, rendered payloads, warnings
	{"preview", (*Admission).preview},           // a dry run ends here, having spent nothing
	{"claim", (*Admission).claim},               // one call per key at a time
	{"confirmation", (*Admission).confirmation}, // a person has seen exactly this (reads only)
	{"limits", (*Admission).limit},              // the contract's limits, all or none
	{"enqueue", (*Admission).enqueue},           // accepted: one transaction
}

var errNoAnswer = errors.New("admission: the chain ended without an answer")
