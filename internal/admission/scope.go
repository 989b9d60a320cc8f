package admission

import (
	"context"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// scope asks whether this caller may use this tool at all, now.
func (a *Admission) scope(_ context.Context, c *Call) error {
	if s := c.Operation.Scope; s != "" && !c.Principal.HasScope(s) {
		return MissingScope(s)
	}
	if a.ReadOnly {
		return ReadOnly()
	}
	if k, on := c.Principal.Killed(c.Operation.Name); on {
		return Killed(k)
	}
	return nil
}

// effects asks the same of what the call turned out to do: undoing a create is a delete and needs the scope of one.
func effects(c *Call) error {
	for _, r := range c.plan {
		if s := EffectOf(r.Operation).Scope; !c.Principal.HasScope(s) {
			return MissingScope(s)
		}
		if k, on := c.Principal.Killed(r.Operation); on {
			return Killed(k)
		}
	}
	return nil
}

// MissingScope is the refusal of a token without the needed scope.
func MissingScope(scope string) error {
	return errs.New(errs.InsufficientScope, errs.Tf("このトークンにはスコープ %s がありません。", "This token lacks the scope %s.", scope)).
		With(errs.Details{RequiredScope: scope})
}

// Killed is the refusal while a kill switch is on.
func Killed(k authn.KillSwitch) *errs.Error {
	by := "an administrator of the tenant"
	if k.Kind == "all" {
		by = "Mappy's operators"
	}
	return errs.New(errs.WritesDisabled, errs.T("書き込みは現在停止されています (キルスイッチ)。", "Writes are switched off at the moment (kill switch).")).
		With(errs.Details{Scope: k.Kind, Reason: k.Reason, LiftedBy: by})
}

// ReadOnly is the refusal of every write by a server in read-only mode.
func ReadOnly() error {
	return errs.New(errs.WritesDisabled, errs.T("このサーバーは読み取り専用モードです。", "This server is in read-only mode.")).
		With(errs.Details{Scope: "read_only", LiftedBy: "the engineer who runs this server"})
}
