package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
)

// parse reads the arguments and fixes the canonical form that everything after works with.
func (a *Admission) parse(_ context.Context, c *Call) error {
	change, safety, violations := c.Operation.Parse(c.Arguments, c.Principal.Locale)
	if err := TargetsError(violations, c.Principal.Policy.MaxTargets); err != nil {
		return err
	}
	if len(violations) > 0 {
		return Invalid(violations)
	}
	if safety.OnFailure == "" {
		safety.OnFailure = batch.OnFailureContinue
	}
	if refs := change.References(); refs.size() > c.Principal.Policy.MaxTargets {
		return tooManyNamed(refs, c.Principal.Policy.MaxTargets)
	}
	c.change, c.safety, c.canonical = change, safety, change.Canonical()
	h := sha256.New()
	h.Write([]byte(c.Operation.Name + "\x00" + string(safety.OnFailure) + "\x00"))
	h.Write(c.canonical)
	c.inputHash = h.Sum(nil)
	c.key = keyFor(c.Principal, c.Operation.Name, safety.IdempotencyKey, c.inputHash)
	return nil
}

func keyFor(p *authn.Principal, tool, clientKey string, inputHash []byte) idempotency.Key {
	k := idempotency.Key{Tenant: p.TenantID, Client: p.ClientID, User: p.UserID, Tool: tool, Source: idempotency.FromClient, Value: clientKey}
	if clientKey == "" {
		k.Source, k.Value = idempotency.Derived, "derived-"+hex.EncodeToString(inputHash[:16])
	}
	return k
}

// Invalid is the refusal for broken rules in the arguments.
func Invalid(v []errs.Violation) error {
	return errs.New(errs.InvalidArgument, errs.Tf("引数に %d 件の誤りがあります。何も実行されていません。", "%d problem(s) in the arguments; nothing was executed.", len(v))).
		With(errs.Details{Violations: v[:min(len(v), maxViolations)]})
}

// TargetsError turns the decoder's word on too many targets into TOO_MANY_TARGETS.
func TargetsError(v []errs.Violation, limit int) error {
	targets := []string{"location_ids", "post_ids", "posts", "media_ids", "media", "updates"}
	if slices.ContainsFunc(v, func(x errs.Violation) bool { return x.Rule == "max_items" && slices.Contains(targets, x.Path) }) {
		return errs.New(errs.TooManyTargets, errs.Tf("1 回に指定できる対象は %d 件までです。", "One batch takes at most %d targets.", limit)).
			With(errs.Details{Limit: limit, Violations: v})
	}
	return nil
}

func tooManyNamed(r References, limit int) error {
	if r.PerLocation <= 1 {
		return tooMany(r.size(), limit)
	}
	return errs.New(errs.TooManyTargets, errs.Tf("%[1]d 店舗 × %[2]d 件 = %[3]d 件です。1 回に指定できるのは %[4]d 件までです。", "%[1]d stores × %[2]d items = %[3]d targets; one batch takes at most %[4]d.",
		len(r.Locations), r.PerLocation, r.size(), limit)).With(errs.Details{Limit: limit})
}

func tooMany(n, limit int) error {
	return errs.New(errs.TooManyTargets, errs.Tf("対象が %[1]d 件あります。1 回に指定できるのは %[2]d 件までです。", "%[1]d targets; one batch takes at most %[2]d.", n, limit)).
		With(errs.Details{Limit: limit})
}
