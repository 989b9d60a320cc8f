package gbpsim

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// budget is an exact sliding window: never more than limit uses in any span of the given length.
type budget struct{ used []time.Time }

// take uses one unit at now, or answers false and leaves the budget as it was.
func (b *budget) take(now time.Time, span time.Duration, limit int) bool {
	old := 0
	for old < len(b.used) && now.Sub(b.used[old]) >= span {
		old++
	}
	b.used = slices.Delete(b.used, 0, old)
	if len(b.used) >= limit {
		return false
	}
	b.used = append(b.used, now)
	return true
}

// chargeQuota draws one call from the budget of the route's API. It runs under the lock.
func (c *call) chargeQuota() *reply {
	k, host := c.sim.knobs, c.route.host
	if names(k.QuotaZeroAPIs, host) {
		r := c.quotaExceeded(ruleQuotaZero, 0)
		return &r
	}
	if k.NoQuotas {
		return nil
	}
	b := c.sim.quotas[host]
	if b == nil {
		b = &budget{}
		c.sim.quotas[host] = b
	}
	if !b.take(c.now, k.minute(), k.quotaLimit()) {
		r := c.quotaExceeded(ruleQuota, k.quotaLimit())
		return &r
	}
	return nil
}

func (c *call) quotaExceeded(rule RuleID, limit int) reply {
	host, project := c.route.host, c.sim.project
	return refuse(rule, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED",
		"Quota exceeded for quota metric 'Requests' and limit 'Requests per minute' of service '"+host+"' for consumer 'project_number:"+project+"'.",
		errorInfo("RATE_LIMIT_EXCEEDED", map[string]string{
			"service": host, "quota_metric": host + "/default_requests", "quota_limit": "DefaultRequestsPerMinutePerProject",
			"quota_limit_value": strconv.Itoa(limit), "quota_unit": "1/min/{project}", "quota_location": "global", "consumer": "projects/" + project,
		}))
}

// chargeEdit draws one edit from the budget of the location. It runs under the lock.
func (c *call) chargeEdit(l *location) *reply {
	k := c.sim.knobs
	if k.NoQuotas || l.edits.take(c.now, k.minute(), k.editLimit()) {
		return nil
	}
	host := c.route.host
	r := refuse(ruleEdits, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "Quota exceeded for edits per minute of this Business Profile.",
		errorInfo("RATE_LIMIT_EXCEEDED", map[string]string{
			"service": host, "quota_metric": host + "/profile_edits", "quota_limit": "EditsPerMinutePerProfile",
			"quota_limit_value": strconv.Itoa(k.editLimit()), "quota_unit": "1/min/{profile}", "quota_location": "global", "consumer": "projects/" + c.sim.project,
		}))
	return &r
}
