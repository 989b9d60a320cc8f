package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
)

// auditLines bounds the listing; the story makes about 50 events.
const auditLines = 500

// sealWithin is how long the story waits until the sealer has chained its events: on a server with other work, transactions
// that are still open hold it up.
const sealWithin = 20 * time.Second

// auditRows are events as lines, oldest first.
func (t *story) auditRows(bodies []json.RawMessage) ([][]string, error) {
	titles := map[int64]string{}
	for _, l := range t.stores {
		titles[int64(l.LocationID)] = l.Title
	}
	rows := [][]string{{"time (UTC)", "event", "who", "store", "result", "remarks"}}
	for _, body := range slices.Backward(bodies) {
		var e audit.Event
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		who := e.Actor.OperatorID
		if who == "" && e.Actor.UserID != "" {
			who = string(e.Actor.UserID) + " via " + string(e.Actor.ClientID)
		}
		result := e.Result
		if e.ErrorCode != "" {
			result += " " + string(e.ErrorCode)
		}
		rows = append(rows, []string{e.OccurredAt.Format("15:04:05.000"), string(e.Kind), who, titles[e.LocationID], result, remarks(e)})
	}
	return rows, nil
}

// remarks are what an event's details add, short.
func remarks(e audit.Event) string {
	d := e.Details
	switch {
	case d == nil:
		return ""
	case d.Counts != nil:
		return fmt.Sprintf("%d succeeded, %d failed", d.Counts.Success, d.Counts.Failure)
	case d.Note != "" && e.Kind == audit.ItemSucceeded:
		return d.Note
	case d.GoogleStatus != 0:
		return fmt.Sprintf("Google answered %d", d.GoogleStatus)
	case d.TargetCount != 0:
		return fmt.Sprintf("%d stores", d.TargetCount)
	}
	return ""
}

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
