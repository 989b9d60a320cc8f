package gbpsim

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Stats are figures over the journal since it was last cleared.
type Stats struct {
	Requests int `json:"requests"`
	// Statuses counts requests by route and status ("reset" for dropped connections, "open" for those in flight).
	Statuses map[Route]map[string]int `json:"statuses"`
	// Effects counts creations and deletions by route.
	Effects map[Route]int `json:"effects"`
	// MaxInFlight is the most requests that were open at once per location, MaxWritesInFlight the most edits.
	MaxInFlight       map[LocationName]int `json:"max_in_flight"`
	MaxWritesInFlight map[LocationName]int `json:"max_writes_in_flight"`
	// MaxEdits is the most effects per location in any minute of the budgets, MaxEditAttempts the most edit requests,
	// refused ones included.
	MaxEdits        map[LocationName]int `json:"max_edits"`
	MaxEditAttempts map[LocationName]int `json:"max_edit_attempts"`
	// CallsPerMinute counts requests by API host and by minute of the simulator's clock (RFC 3339).
	CallsPerMinute map[string]map[string]int `json:"calls_per_minute"`
	// MaxCalls is the most requests per API host in any minute of the budgets.
	MaxCalls map[string]int `json:"max_calls"`
}

// Stats computes the figures; it costs a walk over the journal.
func (s *Sim) Stats() Stats {
	span := s.Knobs().minute()
	s.journal.mu.Lock()
	peaks, writes := maps.Clone(s.journal.peaks), maps.Clone(s.journal.writePeaks)
	entries := s.journal.listLocked(EntryFilter{})
	s.journal.mu.Unlock()
	out := Stats{
		Requests: len(entries), Statuses: map[Route]map[string]int{}, Effects: map[Route]int{}, MaxInFlight: peaks, MaxWritesInFlight: writes,
		CallsPerMinute: map[string]map[string]int{},
	}
	edits, attempts, calls := map[LocationName][]time.Time{}, map[LocationName][]time.Time{}, map[string][]time.Time{}
	for _, e := range entries {
		status := strconv.Itoa(e.Status)
		if e.Outcome != Answered {
			status = string(e.Outcome)
		}
		count(out.Statuses, e.Route, status)
		count(out.CallsPerMinute, e.Host, e.Time.UTC().Truncate(time.Minute).Format(time.RFC3339))
		calls[e.Host] = append(calls[e.Host], e.Time)
		if e.Write {
			attempts[e.Location] = append(attempts[e.Location], e.Time)
		}
		if e.Effect {
			out.Effects[e.Route]++
			edits[e.Location] = append(edits[e.Location], e.EffectTime)
		}
	}
	out.MaxEdits, out.MaxEditAttempts, out.MaxCalls = densest(edits, span), densest(attempts, span), densest(calls, span)
	return out
}

func count[K comparable](m map[K]map[string]int, k K, inner string) {
	if m[k] == nil {
		m[k] = map[string]int{}
	}
	m[k][inner]++
}

// densest gives, per key, the most instants in any half-open span.
func densest[K comparable](all map[K][]time.Time, span time.Duration) map[K]int {
	out := map[K]int{}
	for k, at := range all {
		slices.SortFunc(at, time.Time.Compare)
		first := 0
		for i, t := range at {
			for t.Sub(at[first]) >= span {
				first++
			}
			out[k] = max(out[k], i-first+1)
		}
	}
	return out
}
