package admission

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
)

// maxViolations keeps a refusal readable; the message says how many there are in all.
const maxViolations = 50

// validate plans the change for every target and applies the business rules. Certain faults refuse, with all of them listed;
// what Google or a person may see differently becomes a warning.
func (a *Admission) validate(ctx context.Context, c *Call) error {
	var violations []errs.Violation
	var stale []errs.ChangedTarget
	for _, t := range c.targets {
		d := c.change.Plan(t, c.now, c.Principal.Locale)
		violations = append(violations, d.Violations...)
		c.warnings = append(c.warnings, d.Warnings...)
		if d.Stale != nil {
			stale = append(stale, *d.Stale)
		}
		c.plan = append(c.plan, d.Items...)
	}
	if err := effects(c); err != nil {
		return err
	}
	if len(violations) > 0 {
		c.violations = violations[:min(len(violations), maxViolations)]
		return c.foreseen(Invalid(violations))
	}
	if err := c.check(stale); err != nil {
		return c.foreseen(err)
	}
	c.keepPlanned()
	if err := a.warnAboutState(ctx, c); err != nil {
		return err
	}
	h := sha256.New()
	h.Write(c.inputHash)
	for _, r := range c.plan {
		_, _ = fmt.Fprintf(h, "\x00%d\x00%s\x00%s\x00%s\x00", r.Location.ID, r.Operation, r.TargetName, r.Mask)
		h.Write(r.Payload)
	}
	c.digest = h.Sum(nil)
	return a.decideConfirmation(ctx, c)
}

// keepPlanned forgets the stores that are left alone: what is counted, named and bound is what will be written.
func (c *Call) keepPlanned() {
	c.locations = slices.DeleteFunc(c.locations, func(l gbp.Location) bool {
		return !slices.ContainsFunc(c.plan, func(r Planned) bool { return r.Location.ID == l.ID })
	})
}

// check is what refuses a well-formed plan as a whole.
func (c *Call) check(stale []errs.ChangedTarget) error {
	switch limit := c.Principal.Policy.MaxTargets; {
	case len(stale) > 0:
		return staleTargets(stale)
	case len(c.plan) == 0 && c.Operation.Nothing != nil:
		return c.nothing()
	case len(c.plan) > limit:
		return tooMany(len(c.plan), limit)
	}
	return checkConnections(c)
}

// nothing is the refusal of a plan that came to no target, with what was said of each.
func (c *Call) nothing() error {
	e := c.Operation.Nothing(c.Principal.Locale)
	d := e.Details
	for _, w := range c.warnings {
		if w.Code == LeftAlone && len(d.Violations) < maxViolations {
			d.Violations = append(d.Violations, errs.Violation{Path: c.change.References().path(), Rule: "left_alone", Message: w.Message, LocationID: int64(w.LocationID)})
		}
	}
	return e.With(d)
}

func staleTargets(stale []errs.ChangedTarget) error {
	d := errs.Details{Changed: stale}
	if len(stale) == 1 {
		d.CurrentVersion = stale[0].CurrentVersion
	}
	return errs.New(errs.VersionConflict, errs.Tf("%d 件の対象が、指定された version のときから変わっています。", "%d target(s) are no longer what expected_version stands for.", len(stale))).With(d)
}

// foreseen keeps what would refuse the real call for the preview to show; a real call is refused by it.
func (c *Call) foreseen(err error) error {
	if c.safety.DryRun && errs.CodeOf(err) != errs.Unavailable {
		c.refusal = errs.From(err)
		return nil
	}
	return err
}

// disconnected tells whether a store's connection has to be reconnected.
func (c *Call) disconnected(l gbp.Location) bool { return slices.Contains(c.dead, l.ConnectionID) }

func checkConnections(c *Call) error {
	if slices.ContainsFunc(c.locations, c.disconnected) {
		return errs.New(errs.GoogleReconnectRequired, errs.T("Google アカウントの接続が失効しています。再接続が必要です。", "The Google connection is no longer valid and has to be reconnected.")).
			With(errs.Details{Lifter: errs.T("Google アカウントの所有者 (Mappy のコンソールで)", "the owner of the Google account, in Mappy's console")})
	}
	return nil
}

func (a *Admission) warnAboutState(ctx context.Context, c *Call) error {
	if c.Operation.Reads {
		return nil
	}
	var places []Place
	for _, r := range c.plan {
		if r.Operation == "post.create" || r.Operation == "media.upload" {
			places = append(places, Place{Location: r.Location.ID, Fingerprint: r.Fingerprint})
		}
	}
	var recent map[gbp.LocationID]Recent
	if places != nil {
		var err error
		if recent, err = a.Store.Recent(ctx, c.Principal.TenantID, places); err != nil {
			return err
		}
	}
	warn := func(id gbp.LocationID, code string, t errs.Text) {
		if slices.ContainsFunc(c.warnings, func(w gbp.Warning) bool { return w.LocationID == id && w.Code == code }) {
			return // the plan has said it more exactly
		}
		c.warnings = append(c.warnings, gbp.Warning{LocationID: id, Code: code, Message: t.In(c.Principal.Locale)})
	}
	for _, l := range c.locations {
		r := recent[l.ID]
		if !r.SameContentAt.IsZero() {
			warn(l.ID, "DUPLICATE_CONTENT", errs.T("同じ内容が 24 時間以内にこの店舗へ投稿されたか、投稿待ちです。", "The same content was posted to this store within 24 hours, or is waiting to be."))
		}
		posts := slices.ContainsFunc(c.plan, func(p Planned) bool { return p.Operation == "post.create" && p.Location.ID == l.ID })
		if posts && !r.LastPostAt.IsZero() && c.now.Sub(r.LastPostAt) < time.Hour {
			warn(l.ID, "RECENT_POST_DETECTED", errs.T("前回の投稿から 1 時間たっていません。", "The previous post is less than an hour old."))
		}
		if l.PendingGoogleEdit {
			warn(l.ID, "PENDING_GOOGLE_EDIT", errs.T("この店舗には Google 側で審査中の変更があります。", "Google is still reviewing an edit of this store."))
		}
		if !l.Verified {
			warn(l.ID, "LOCATION_NOT_VERIFIED", errs.T("この店舗は Google で未確認のため、書き込みは公開されないか拒否されます。", "This store is not verified at Google; what is written will be refused or stay invisible."))
		}
	}
	return nil
}

// decideConfirmation says whether a person has to agree, and why. Links and phones that no profile of the tenant shows are
// suspicious whatever the number of targets: they may come from text that a stranger wrote.
func (a *Admission) decideConfirmation(ctx context.Context, c *Call) error {
	p := c.Principal.Policy
	foreign, err := a.foreignContacts(ctx, c)
	if err != nil {
		return err
	}
	if len(foreign) > 0 && p.UnknownLinks == policy.LinksRefuse {
		v := make([]errs.Violation, 0, len(foreign))
		for _, w := range foreign {
			v = append(v, errs.Violation{Path: w.at, Rule: "link_not_allowed", Message: w.Message, Value: w.Span, LocationID: int64(w.LocationID)})
		}
		c.violations = v[:min(len(v), maxViolations)]
		return c.foreseen(Invalid(v))
	}
	c.foreign = foreign
	for _, w := range foreign {
		c.warnings = append(c.warnings, w.Warning)
	}
	switch own := reasonOf(c.plan); {
	case manyTargets(c):
		c.reason = "target_count"
	case c.units() >= p.ReportConfirmUnits:
		c.reason = "report_units"
	case !c.Operation.Reversible.Possible && !c.Operation.Reads && len(c.plan) > 0 || slices.ContainsFunc(c.plan, irreversible):
		c.reason = "irreversible"
	case own != "":
		c.reason = own
	case a.heavy(c):
		c.reason = "media_bytes"
	case len(foreign) > 0:
		c.reason = "unknown_link"
	case p.ConfirmAlways:
		c.reason = "tenant_policy"
	}
	return nil
}

func irreversible(r Planned) bool { return r.Irreversible && !r.Already }

// heavy tells whether the files of an upload weigh as much as needs a confirmation, each counted once. A file that was to be
// weighed and was not counts as too much; where the deployment has switched the check off, a warning says so instead.
func (a *Admission) heavy(c *Call) bool {
	u := c.upload()
	return !u.known && a.Files != nil || u.bytes >= c.Principal.Policy.ConfirmMediaBytes
}

// manyTargets counts by the effect performed and by item, or by store where the operation says so and for store data, of which
// one store may take two items; what is done already is left out.
func manyTargets(c *Call) bool {
	type place struct {
		operation string
		store     gbp.LocationID
	}
	n, seen := map[string]int{}, map[place]bool{}
	for _, r := range c.plan {
		at := place{r.Operation, r.Location.ID}
		if r.Already || (c.Operation.CountStores || r.Kind == gbp.KindLocation) && seen[at] {
			continue
		}
		seen[at] = true
		n[r.Operation]++
	}
	for op, count := range n {
		if at, limited := c.Principal.Policy.ConfirmAt[op]; limited && count >= at {
			return true
		}
	}
	return false
}

// units is what the call would be billed by.
func (c *Call) units() (n int) {
	for _, r := range c.plan {
		n += r.Units
	}
	return n
}

func reasonOf(plan []Planned) string {
	for _, r := range plan {
		if r.Confirm != "" {
			return r.Confirm
		}
	}
	return ""
}

// contact is a link or phone number that is not the tenant's own, and where it stands.
type contact struct {
	gbp.Warning
	at, target string
}

// of tells whether a planned effect publishes it.
func (f contact) of(r Planned) bool {
	return f.LocationID == r.Location.ID && f.at == r.At && f.target == r.TargetID
}

func (a *Admission) foreignContacts(ctx context.Context, c *Call) ([]contact, error) {
	if !slices.ContainsFunc(c.plan, func(r Planned) bool { return len(r.Links)+len(r.Phones) > 0 }) {
		return nil, nil
	}
	own, err := a.Store.OwnContacts(ctx, c.Principal.TenantID)
	if err != nil {
		return nil, err
	}
	domains := append(own.Domains, c.Principal.Policy.AllowedLinkDomains...)
	phones := append(own.Phones, c.Principal.Policy.AllowedPhones...)
	var out []contact
	for _, r := range c.plan {
		for _, l := range r.Links {
			if !gbp.DomainAllowed(l, domains) {
				out = append(out, contact{gbp.Warning{LocationID: r.Location.ID, Code: "UNKNOWN_LINK", Span: cmp.Or(gbp.Domain(l), l), Message: errs.T("このリンク先は登録された自社ドメインではありません。", "This link leads to a domain that is not one of the tenant's own.").In(c.Principal.Locale)}, r.At, r.TargetID})
			}
		}
		for _, n := range r.Phones {
			if !gbp.PhoneAllowed(n, phones) {
				out = append(out, contact{gbp.Warning{LocationID: r.Location.ID, Code: "UNKNOWN_PHONE", Span: n, Message: errs.T("この電話番号は登録された自社の番号ではありません。", "This phone number is not one of the tenant's own.").In(c.Principal.Locale)}, r.At, r.TargetID})
			}
		}
	}
	return out, nil
}
