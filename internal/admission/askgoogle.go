package admission

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Bounds of asking Google in a preview: how many items, how many at once, and how long in all. It has a time of its own beside
// Deadline.
const (
	askMost    = 20
	askAtOnce  = 4
	askTimeout = 8 * time.Second
)

// Validator asks Google whether it would take a change of store data, without making it.
type Validator interface {
	// Validate gives nil when Google would take it, a *RefusalError when it would not, and any other error when it could not be asked.
	Validate(ctx context.Context, tenant authn.TenantID, p Planned) error
}

// RefusalError is Google's no to a change that was not made.
type RefusalError struct{ Fault errs.GoogleFault }

func (r *RefusalError) Error() string { return "google would refuse it: " + r.Fault.Message }

// askGoogle lets Google check a preview's changes of store data where the tenant's policy says so. What Google would refuse is
// a violation; what it could not be asked about is a warning, and no reason to refuse.
func (a *Admission) askGoogle(ctx context.Context, c *Call) {
	if a.Validator == nil || !c.Principal.Policy.ValidateOnly || c.refusal != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	answers := make([]error, len(c.plan))
	var wait sync.WaitGroup
	free := make(chan struct{}, askAtOnce)
	asked := 0
	for i, r := range c.plan {
		switch {
		case r.Kind != gbp.KindLocation:
			continue
		case asked == askMost:
			answers[i] = errNotAsked
			continue
		}
		asked++
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			answers[i] = a.Validator.Validate(ctx, c.Principal.TenantID, r)
		})
	}
	wait.Wait()
	for i, err := range answers {
		c.answered(c.plan[i], err)
	}
	if len(c.violations) > 0 {
		c.refusal = errs.From(Invalid(c.violations))
	}
}

var errNotAsked = errors.New("admission: too many changes to ask google about")

func (c *Call) answered(r Planned, err error) {
	l := c.Principal.Locale
	refusal, refused := errors.AsType[*RefusalError](err)
	switch {
	case err == nil:
	case !refused:
		c.warnings = append(c.warnings, gbp.Warning{
			LocationID: r.Location.ID, Code: "GOOGLE_NOT_ASKED", Message: errs.T("Google による事前チェックはできませんでした。", "Google could not be asked whether it would take this.").In(l),
		})
	case len(c.violations) < maxViolations:
		path := r.At
		if f := refusal.Fault.Fields; len(f) > 0 && f[0].Argument != "" {
			path = strings.TrimSuffix(r.At, "changes") + f[0].Argument
		}
		c.violations = append(c.violations, errs.Violation{
			Path: path, Rule: "google_refuses", Value: refusal.Fault.Reason, LocationID: int64(r.Location.ID),
			Message: errs.Tf("Google は受け付けません: %s", "Google would refuse it: %s", refusal.Fault.Message).In(l),
		})
	}
}
