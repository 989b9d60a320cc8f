package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Events are audit events as rows under a head, in the order given. titles, which may be nil, names stores by their location_id.
func Events(bodies []json.RawMessage, titles map[int64]string) ([][]string, error) {
	rows := [][]string{{"TIME", "EVENT", "RESULT", "WHO", "AGENT", "TOOL", "STORE", "BATCH", "ABOUT"}}
	for _, body := range bodies {
		var e audit.Event
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		result := strings.TrimSpace(e.Result + " " + string(e.ErrorCode))
		rows = append(rows, []string{e.OccurredAt.UTC().Format(time.RFC3339), string(e.Kind), result, who(e.Actor), string(e.Actor.ClientID), e.Tool, store(e.LocationID, titles), e.BatchID, about(e)})
	}
	return rows, nil
}

// who is the person: an operator may do something to what is somebody's.
func who(a audit.Actor) string {
	switch {
	case a.OperatorID == "":
		return string(a.UserID)
	case a.UserID == "" || string(a.UserID) == a.OperatorID:
		return a.OperatorID
	}
	return a.OperatorID + " for " + string(a.UserID)
}

func store(id int64, titles map[int64]string) string {
	if id == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(id, " ", titles[id]))
}

// about says which switch, token, connection or user was meant, why, and what the event's details add, short.
func about(e audit.Event) string {
	var parts []string
	if e.LocationID == 0 && e.Resource != "" {
		parts = append(parts, strings.TrimSuffix(e.Resource, ":")) // a switch is kind:target
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if r := remark(e); r != "" {
		parts = append(parts, r)
	}
	return strings.Join(parts, "; ")
}

// counted leaves out outcomes that nothing had, but for the first two.
func counted(c errs.Counts) string {
	parts := []string{fmt.Sprintf("%d succeeded, %d failed", c.Success, c.Failure)}
	for _, more := range []struct {
		n    int
		word string
	}{{c.Cancelled, "cancelled"}, {c.Unknown, "unknown"}, {c.Pending, "pending"}} {
		if more.n > 0 {
			parts = append(parts, fmt.Sprint(more.n, " ", more.word))
		}
	}
	return strings.Join(parts, ", ")
}

func remark(e audit.Event) string {
	d := e.Details
	switch {
	case d == nil:
		return ""
	case d.Counts != nil:
		return counted(*d.Counts)
	case d.Note != "" && d.GoogleStatus == 0:
		return d.Note
	case d.GoogleStatus != 0:
		return fmt.Sprintf("Google answered %d", d.GoogleStatus)
	case d.TargetCount != 0:
		return Count(d.TargetCount, "store")
	}
	return ""
}
