package admission

import (
	"context"
	"slices"
	"strings"

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
	return fieldRights(c)
}

// fieldRights asks whether the user may change the fields of store data that the plan changes.
func fieldRights(c *Call) error {
	var denied []errs.Violation
	var named []string
	for _, r := range c.plan {
		for _, f := range r.Fields {
			if c.Principal.Grants.MayEdit(f) || slices.Contains(named, f) {
				continue
			}
			named = append(named, f)
			denied = append(denied, errs.Violation{
				Path: strings.TrimPrefix(r.At+"."+f, "."), Rule: "field_not_granted", LocationID: int64(r.Location.ID),
				Message: errs.Tf("この利用者には %s を変更する権限がありません。", "This user may not change %s.", f).In(c.Principal.Locale),
			})
		}
	}
	if denied == nil {
		return nil
	}
	e := errs.New(errs.InsufficientScope, errs.Tf("この利用者に権限のない項目 (%s) が含まれています。何も実行されていません。", "The change includes fields that this user may not change (%s); nothing was executed.", strings.Join(named, ", "))).
		With(errs.Details{Violations: denied, Lifter: administrator()})
	e.How = errs.T("権限のない項目を除いて送り直すか、テナントの管理者に項目の権限を依頼してください。", "Leave these fields out, or ask an administrator of the tenant for the right to change them.")
	return e
}

// MissingScope is the refusal of a token without the needed scope.
func MissingScope(scope string) error {
	return errs.New(errs.InsufficientScope, errs.Tf("このトークンにはスコープ %s がありません。", "This token lacks the scope %s.", scope)).
		With(errs.Details{RequiredScope: scope})
}

func administrator() errs.Text {
	return errs.T("テナントの管理者", "an administrator of the tenant")
}

// Killed is the refusal while a kill switch is on.
func Killed(k authn.KillSwitch) *errs.Error {
	by := administrator()
	if k.Kind == "all" {
		by = errs.T("Mappy の運用担当", "Mappy's operators")
	}
	return errs.New(errs.WritesDisabled, errs.T("書き込みは現在停止されています (キルスイッチ)。", "Writes are switched off at the moment (kill switch).")).
		With(errs.Details{Scope: k.Kind, Reason: k.Reason, Lifter: by})
}

// ReadOnly is the refusal of every write by a server in read-only mode.
func ReadOnly() error {
	return errs.New(errs.WritesDisabled, errs.T("このサーバーは読み取り専用モードです。", "This server is in read-only mode.")).
		With(errs.Details{Scope: "read_only", Lifter: errs.T("このサーバーを運用するエンジニア", "the engineer who runs this server")})
}
