package demo

import (
	"context"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
)

// auditLines bounds the listing; the story makes about 50 events.
const auditLines = 500

// sealWithin is how long the story waits until the sealer has chained its events: on a server with other work, transactions
// that are still open hold it up.
const sealWithin = 20 * time.Second

// sealed waits until every event is chained, and gives the verification.
func (t *story) sealed(ctx context.Context) (audit.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, sealWithin)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	var last audit.Report
	for {
		r, err := t.app.DB.VerifyAudit(ctx, tenantID)
		if err == nil {
			last = r
		}
		switch {
		case ctx.Err() != nil && last.Sealed > 0:
			return last, nil // some wait for another transaction's end: said, and no fault
		case err != nil:
			return last, err
		case !r.Valid || r.Unsealed == 0:
			return r, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}
