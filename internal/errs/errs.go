// Package errs is the one error catalogue of the product.
//
// Everything a caller can be refused with is a [Code] with one row in the
// table of catalogue.go. An [Error] carries the code, a text safe to show in
// both languages, structured [Details], and what is known about whether
// anything was executed. The wrapped cause is for logs only and never leaves
// the process.
//
// Errors are made at the edges (decoder, PostgreSQL, Redis, Google) and read
// at the front doors (MCP result, CLI exit, worker verdict); code in between
// wraps them with %w. What carries no Error is INTERNAL.
package errs

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Executed says what is known about the effect of a refused or failed call.
type Executed string

// The three answers to "did anything happen?".
const (
	ExecutedNo      Executed = "no"
	ExecutedYes     Executed = "yes"
	ExecutedUnknown Executed = "unknown"
)

// Error is a refusal or failure from the catalogue.
type Error struct {
	Code    Code
	Message Text
	Details Details
	// Executed is ExecutedNo when empty.
	Executed Executed
	// RetryAfter is how long to wait before sending again; 0 means that time alone does not help or that no time is
	// known; callers are then asked to wait for usualWait where time helps.
	RetryAfter time.Duration
	// How tells the caller what to do next. Empty: the catalogue's own advice.
	How Text
	// Final: the same intent will be refused again, whatever the catalogue says of the code.
	Final bool

	cause error
}

// New makes an error with a message in both languages.
func New(code Code, message Text) *Error {
	return &Error{Code: code, Message: message}
}

// Wrap makes an error whose cause is kept for logs. A cause that already is an *Error is returned unchanged,
// because the place nearest to the failure knows it best.
func Wrap(code Code, cause error, message Text) error {
	if e, ok := errors.AsType[*Error](cause); ok {
		return e
	}
	return &Error{Code: code, Message: message, cause: cause}
}

// Error is the text for logs: code, English message and cause.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message.EN, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message.EN)
}

// Unwrap gives the cause, for logs and for errors.Is.
func (e *Error) Unwrap() error { return e.cause }

// With returns a copy with other details.
func (e *Error) With(d Details) *Error {
	c := *e
	c.Details = d
	return &c
}

// After returns a copy that asks the caller to wait d first.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// From finds the catalogued error in err, or makes an INTERNAL one that hides it. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: Internal, Message: textInternal, cause: err}
}

// CodeOf is the code of err, INTERNAL for an uncatalogued one and "" for nil.
func CodeOf(err error) Code {
	if e := From(err); e != nil {
		return e.Code
	}
	return ""
}

// Public is the error as callers see it, in one language. It is the error part of every tool's output.
type Public struct {
	Status    int      `json:"status" jsonschema:"HTTP-like status of the error"`
	ErrorCode Code     `json:"error_code" jsonschema:"stable code of the error catalogue"`
	Message   string   `json:"message" jsonschema:"what went wrong, for people"`
	Details   *Details `json:"details,omitempty" jsonschema:"structured facts of the error; which ones depends on the code"`
	Executed  Executed `json:"executed" jsonschema:"no, yes or unknown: whether anything was executed"`
	Retry     Retry    `json:"retry" jsonschema:"whether and how the same intent may be sent again"`
	RequestID string   `json:"request_id,omitempty" jsonschema:"finds the call in the log"`
}

// Retry tells whether and how the same intent may be sent again.
type Retry struct {
	Possible     bool   `json:"possible" jsonschema:"whether sending again can help"`
	AfterSeconds int    `json:"after_seconds,omitempty" jsonschema:"seconds to wait first"`
	SameKey      bool   `json:"same_key" jsonschema:"whether the same idempotency_key may be used"`
	How          string `json:"how" jsonschema:"what to do next"`
}

// usualWait is how many seconds a caller is asked to wait where time helps and nobody knows how much: what a restart takes.
const usualWait = 5

// Public renders the error for a caller.
func (e *Error) Public(locale Locale, requestID string) Public {
	info := e.Code.Info()
	p := Public{
		Status:    info.Status,
		ErrorCode: e.Code,
		Message:   e.Message.In(locale),
		Executed:  e.Executed,
		RequestID: requestID,
		Retry: Retry{
			Possible:     info.Retry != RetryNever && !e.Final,
			AfterSeconds: int(math.Ceil(e.RetryAfter.Seconds())),
			SameKey:      info.SameKey && !e.Final,
			How:          e.How.In(locale),
		},
	}
	if info.Retry == RetryAfterDelay && !info.Item && p.Retry.AfterSeconds == 0 {
		p.Retry.AfterSeconds = usualWait
	}
	if p.Executed == "" {
		p.Executed = ExecutedNo
	}
	if p.Retry.How == "" {
		p.Retry.How = info.How.In(locale)
	}
	if !e.Details.empty() {
		d := e.Details
		d.LiftedBy = d.Lifter.In(locale)
		p.Details = &d
	}
	return p
}
