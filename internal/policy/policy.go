// Package policy holds the numbers and choices that decide how careful the server is: confirmation thresholds, limits,
// windows and deadlines. Every number has the contract's default, a deployment may change it in configs/limits.yaml,
// and a tenant may change it again in its own policy; the narrower source wins field by field.
package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Policy is the effective set for one tenant. Durations are written in seconds in JSON and YAML.
type Policy struct {
	Version int `json:"-" yaml:"-"`

	// ConfirmAlways demands a confirmation for every write, whatever its size.
	ConfirmAlways bool `json:"confirm_always,omitempty" yaml:"confirm_always"`
	// ConfirmAt is the number of targets from which a change needs a confirmation, by the change's name (Writes), whichever tool
	// asks for it; one without an entry never needs one by number.
	ConfirmAt map[string]int `json:"confirm_at,omitempty" yaml:"confirm_at"`
	// ConfirmMediaBytes is the size of an upload's files, each counted once, from which it needs a confirmation. Where files are
	// checked, one whose size could not be found out counts as that large; with the check switched off no file is weighed, and the
	// preview only warns.
	ConfirmMediaBytes int64 `json:"confirm_media_bytes,omitempty" yaml:"confirm_media_bytes"`
	// ConfirmTokenSeconds is the life of a confirm token.
	ConfirmTokenSeconds int `json:"confirm_token_seconds,omitempty" yaml:"confirm_token_seconds"`

	MaxTargets int `json:"max_targets,omitempty" yaml:"max_targets"`

	TokenPerMinute    int `json:"token_per_minute,omitempty" yaml:"token_per_minute"`
	UserPerMinute     int `json:"user_per_minute,omitempty" yaml:"user_per_minute"`
	UserPerDay        int `json:"user_per_day,omitempty" yaml:"user_per_day"`
	ClientPerHour     int `json:"client_per_hour,omitempty" yaml:"client_per_hour"`
	UserConcurrency   int `json:"user_concurrency,omitempty" yaml:"user_concurrency"`
	ReadPerMinute     int `json:"read_per_minute,omitempty" yaml:"read_per_minute"`
	PreviewPerMinute  int `json:"preview_per_minute,omitempty" yaml:"preview_per_minute"`
	RefusalsPerMinute int `json:"refusals_per_minute,omitempty" yaml:"refusals_per_minute"`

	// IdempotencySeconds is how long a client's key answers; DerivedKeySeconds how long a key derived from the content does.
	IdempotencySeconds int `json:"idempotency_seconds,omitempty" yaml:"idempotency_seconds"`
	DerivedKeySeconds  int `json:"derived_key_seconds,omitempty" yaml:"derived_key_seconds"`

	// SendDeadlineSeconds is how long accepted work may wait before its items end as EXPIRED_NOT_SENT.
	SendDeadlineSeconds int `json:"send_deadline_seconds,omitempty" yaml:"send_deadline_seconds"`

	// ReportUnitsPerMonth is how much a tenant's reports may bill in a calendar month; one unit is one store for up to 31 days.
	// From ReportConfirmUnits on a report needs a confirmation.
	ReportUnitsPerMonth int `json:"report_units_per_month,omitempty" yaml:"report_units_per_month"`
	ReportConfirmUnits  int `json:"report_confirm_units,omitempty" yaml:"report_confirm_units"`

	// UndoDays is how long a batch can be undone.
	UndoDays int `json:"undo_days,omitempty" yaml:"undo_days"`

	// ValidateOnly lets a preview of location.update ask Google whether it would take the change (validateOnly), which spends
	// quota and changes nothing.
	ValidateOnly bool `json:"validate_only,omitempty" yaml:"validate_only"`

	// CancelScope is "queued" (whole queued batches only) or "remaining" (not yet started items of a processing batch too).
	CancelScope string `json:"cancel_scope,omitempty" yaml:"cancel_scope"`

	// AllowedLinkDomains and AllowedPhones extend what is derived from the stores' own websites and phones. A write that
	// would put another one on a profile needs a confirmation, or is refused when UnknownLinks is "refuse".
	AllowedLinkDomains []string `json:"allowed_link_domains,omitempty" yaml:"allowed_link_domains"`
	AllowedPhones      []string `json:"allowed_phones,omitempty" yaml:"allowed_phones"`
	// UnknownLinks is "confirm" or "refuse".
	UnknownLinks string `json:"unknown_links,omitempty" yaml:"unknown_links"`
}

// The choices of CancelScope and UnknownLinks.
const (
	CancelQueued    = "queued"
	CancelRemaining = "remaining"
	LinksConfirm    = "confirm"
	LinksRefuse     = "refuse"
)

// Default is the contract's own policy (contract, sections 4 and 5).
func Default() Policy {
	return Policy{
		Version:             1,
		ConfirmAt:           map[string]int{"post.create": 5, "post.update": 5, "post.delete": 3, "media.upload": 5, "media.delete": 5, "location.update": 3, "review.delete_reply": 1},
		ConfirmMediaBytes:   50_000_000,
		ConfirmTokenSeconds: 300,
		MaxTargets:          100,
		TokenPerMinute:      10,
		UserPerMinute:       30,
		UserPerDay:          500,
		ClientPerHour:       1000,
		UserConcurrency:     5,
		ReadPerMinute:       120,
		PreviewPerMinute:    60,
		RefusalsPerMinute:   120,
		IdempotencySeconds:  24 * 60 * 60,
		DerivedKeySeconds:   10 * 60,
		SendDeadlineSeconds: 6 * 60 * 60,
		ReportUnitsPerMonth: 3000,
		ReportConfirmUnits:  100,
		UndoDays:            30,
		CancelScope:         CancelQueued,
		UnknownLinks:        LinksConfirm,
	}
}

// Writes are the changes that ConfirmAt may name.
func Writes() []string {
	return []string{
		"post.create", "post.update", "post.delete", "review.reply", "review.delete_reply", "media.upload", "media.delete", "location.update", "report.create",
	}
}

// Override lays a tenant's own JSON over p, which stays as it is. Fields that are absent keep p's value; ConfirmAt is merged by
// name. Keys that this program does not know are passed over: a newer one may have stored them.
func (p Policy) Override(own []byte, version int) (Policy, error) {
	base := p.ConfirmAt
	p.ConfirmAt = nil
	// Decoding reuses the arrays of slices, and these are every other tenant's too.
	p.AllowedLinkDomains, p.AllowedPhones = slices.Clone(p.AllowedLinkDomains), slices.Clone(p.AllowedPhones)
	if len(own) > 0 {
		if err := json.Unmarshal(own, &p); err != nil {
			return Policy{}, fmt.Errorf("tenant policy: %w", err)
		}
	}
	merged := make(map[string]int, len(base)+len(p.ConfirmAt))
	maps.Copy(merged, base)
	maps.Copy(merged, p.ConfirmAt)
	p.ConfirmAt = merged
	p.Version = version
	return p, p.Validate()
}

// Declare checks what somebody wants to store as a tenant's own policy over p, more strictly than Override reads it: a key
// that does not exist, a change that does not exist, a threshold below 1, and an allowed link or phone without meaning are mistakes.
func (p Policy) Declare(own []byte) error {
	if len(own) == 0 {
		return nil
	}
	var named Policy
	d := json.NewDecoder(bytes.NewReader(own))
	d.DisallowUnknownFields()
	if err := d.Decode(&named); err != nil {
		return fmt.Errorf("policy: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if err := errors.Join(named.Thresholds(), named.Contacts()); err != nil {
		return err
	}
	_, err := p.Override(own, 1)
	return err
}

// Thresholds reports every entry of ConfirmAt that has no effect or no meaning.
func (p Policy) Thresholds() error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(p.ConfirmAt)) {
		if !slices.Contains(Writes(), name) {
			problems = append(problems, fmt.Errorf("policy: confirm_at: there is no %q; known are %s", name, strings.Join(Writes(), ", ")))
		} else if at := p.ConfirmAt[name]; at < 1 {
			problems = append(problems, fmt.Errorf("policy: confirm_at: %s is %d, at least 1 is needed", name, at))
		}
	}
	return errors.Join(problems...)
}

// Validate reports the first value that no server could work with.
func (p Policy) Validate() error {
	for name, v := range map[string]int{
		"confirm_token_seconds": p.ConfirmTokenSeconds, "max_targets": p.MaxTargets, "token_per_minute": p.TokenPerMinute,
		"user_per_minute": p.UserPerMinute, "user_per_day": p.UserPerDay, "client_per_hour": p.ClientPerHour,
		"user_concurrency": p.UserConcurrency, "read_per_minute": p.ReadPerMinute, "preview_per_minute": p.PreviewPerMinute,
		"refusals_per_minute": p.RefusalsPerMinute, "idempotency_seconds": p.IdempotencySeconds,
		"derived_key_seconds": p.DerivedKeySeconds, "send_deadline_seconds": p.SendDeadlineSeconds, "undo_days": p.UndoDays,
		"report_units_per_month": p.ReportUnitsPerMonth, "report_confirm_units": p.ReportConfirmUnits,
	} {
		if v < 1 {
			return fmt.Errorf("policy: %s is %d, at least 1 is needed", name, v)
		}
		if most := most(name); v > most {
			return fmt.Errorf("policy: %s is %d, at most %d is possible", name, v, most)
		}
	}
	if p.ConfirmMediaBytes < 1 {
		return fmt.Errorf("policy: confirm_media_bytes is %d, at least 1 is needed", p.ConfirmMediaBytes)
	}
	if p.MaxTargets > 100 {
		return fmt.Errorf("policy: max_targets is %d, one batch has at most 100", p.MaxTargets)
	}
	if p.CancelScope != CancelQueued && p.CancelScope != CancelRemaining {
		return fmt.Errorf("policy: cancel_scope is %q, known are %q and %q", p.CancelScope, CancelQueued, CancelRemaining)
	}
	if p.UnknownLinks != LinksConfirm && p.UnknownLinks != LinksRefuse {
		return fmt.Errorf("policy: unknown_links is %q, known are %q and %q", p.UnknownLinks, LinksConfirm, LinksRefuse)
	}
	return nil
}

// most bounds a number by its unit: times are at most a year, which every clock and column can add, and counts are what Redis and
// PostgreSQL hold without a thought.
func most(name string) int {
	const days = 366
	switch {
	case strings.HasSuffix(name, "_days"):
		return days
	case strings.HasSuffix(name, "_seconds"):
		return days * 24 * 60 * 60
	}
	return 1_000_000_000
}

// ConfirmTokenLife is how long a person has to agree.
func (p Policy) ConfirmTokenLife() time.Duration {
	return time.Duration(p.ConfirmTokenSeconds) * time.Second
}
