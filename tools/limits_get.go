package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// LimitsView is the answer of limits.get.
type LimitsView struct {
	Environment  string            `json:"environment" jsonschema:"which deployment this is: production, staging or simulator"`
	Limits       []ratelimit.State `json:"limits" jsonschema:"each limit that applies to you, with what is left now; this call included"`
	LimitsNote   string            `json:"limits_note,omitempty" jsonschema:"why limits are missing"`
	Capabilities []Capability      `json:"capabilities" jsonschema:"each tool, whether this session may use it, and why not"`
	AllStores    bool              `json:"all_stores" jsonschema:"whether all stores of the tenant are granted"`
	Labels       []string          `json:"granted_labels" jsonschema:"labels whose stores are granted"`
	LocationIDs  []int64           `json:"granted_location_ids" jsonschema:"stores granted one by one"`
	Fields       []string          `json:"location_fields" jsonschema:"fields of store data that you may change with location.update"`
	ExpiresAt    string            `json:"token_expires_at,omitempty" jsonschema:"RFC 3339; absent for a token without an end"`
	AsOf         string            `json:"as_of" jsonschema:"RFC 3339 time of this reading"`
}

// Capability is one tool as this session may use it.
type Capability struct {
	Tool      string `json:"tool" jsonschema:"name of the tool"`
	Allowed   bool   `json:"allowed" jsonschema:"whether this session may use it now"`
	Reason    string `json:"reason,omitempty" jsonschema:"why not: missing_scope, read_only_server or kill_switch"`
	Scope     string `json:"scope" jsonschema:"scope that it needs"`
	ConfirmAt int    `json:"confirm_at,omitempty" jsonschema:"number of targets from which a confirmation is needed"`
}

func limitsGet(s *Set) (Tool, error) {
	t := Tool{
		Name: "limits.get", Title: "Read limits and capabilities", Scope: "batches:read", ReadOnly: true, Idempotent: true,
		Description: "Tells what is left of every limit that applies to you, which tools this session may use and why not, and which stores are granted. Changes nothing.",
		Input:       schema.Object{},
	}
	var err error
	t.Output, err = output[LimitsView]()
	t.run = read(s, &t, func(ctx context.Context, call *Call, _ struct{}) (Result, error) {
		p := call.Principal
		v := LimitsView{
			Environment: s.Environment, Limits: []ratelimit.State{}, Capabilities: []Capability{}, AllStores: p.Grants.All,
			Labels: append([]string{}, p.Grants.Labels...), LocationIDs: append([]int64{}, p.Grants.LocationIDs...), AsOf: stamp(s.Now()),
		}
		v.Fields = slices.DeleteFunc(profile.Fields(), func(f string) bool { return !p.Grants.MayEdit(f) })
		buckets := slices.Concat(ratelimit.WriteBuckets(p, s.Now()), ratelimit.ReadBuckets(p), ratelimit.PreviewBuckets(p), ratelimit.RefusalBuckets(p))
		states, err := s.Limiter.Peek(ctx, buckets)
		switch errs.CodeOf(err) {
		case "", errs.RateLimited: // an exhausted limit is shown like any other
			v.Limits = states
		default:
			v.LimitsNote = errs.From(err).Message.In(p.Locale)
		}
		units, err := s.Store.UnitsOfMonth(ctx, p.TenantID, p.Timezone)
		if err != nil {
			return Result{}, err
		}
		v.Limits = append(v.Limits, ratelimit.State{
			Scope: "report_units_per_month", Limit: p.Policy.ReportUnitsPerMonth, Remaining: max(0, p.Policy.ReportUnitsPerMonth-units),
		})
		if !p.ExpiresAt.IsZero() {
			v.ExpiresAt = stamp(p.ExpiresAt)
		}
		for _, t := range s.tools {
			c := Capability{Tool: t.Name, Scope: t.Scope, ConfirmAt: p.Policy.ConfirmAt[t.Name]}
			if p.Policy.ConfirmAlways && !t.ReadOnly && t.Name != "batch.cancel" {
				c.ConfirmAt = 1
			}
			if c.Scope == "" {
				c.Scope = "that of the tool whose batch it continues"
			}
			_, killed := p.Killed(t.Name)
			switch {
			case t.Scope != "" && !p.HasScope(t.Scope):
				c.Reason = "missing_scope"
			case !t.ReadOnly && s.ReadOnly:
				c.Reason = "read_only_server"
			case !t.ReadOnly && killed && t.Name != "batch.cancel": // a switch never keeps anyone from stopping
				c.Reason = "kill_switch"
			}
			c.Allowed = c.Reason == ""
			v.Capabilities = append(v.Capabilities, c)
		}
		lines := []string{errs.T("上限と権限です。", "Limits and capabilities.").In(p.Locale)}
		for _, l := range v.Limits {
			lines = append(lines, errs.Tf("%[1]s: 残り %[2]d / %[3]d", "%[1]s: %[2]d of %[3]d left", l.Scope, l.Remaining, l.Limit).In(p.Locale))
		}
		return success(strings.Join(lines, "\n"), v)
	})
	return t, err
}
