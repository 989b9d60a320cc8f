package tools

import (
	"context"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// recorder records refusals of reads and of batch.cancel. A denied cancellation is recorded by the store, in the transaction
// that saw why (cancel_requested, denied): what is left for here is the event that stands for many refusals.
func recorder(s admission.Recorder, code errs.Code) admission.Recorder {
	if code == errs.BatchNotCancellable {
		return summaries{s}
	}
	return s
}

type summaries struct{ admission.Recorder }

// Record implements admission.Recorder.
func (s summaries) Record(ctx context.Context, tenant authn.TenantID, events ...audit.Event) error {
	events = slices.DeleteFunc(events, func(e audit.Event) bool { return e.Kind != audit.RateLimited })
	if len(events) == 0 {
		return nil
	}
	return s.Recorder.Record(ctx, tenant, events...)
}
