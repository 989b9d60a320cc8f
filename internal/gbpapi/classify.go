package gbpapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// statusClientClosed is what Google answers for CANCELLED; unlike other 4xx it does not say that nothing happened.
const statusClientClosed = 499

// classify turns an answer outside 2xx into an error. secrets are removed from the texts by value.
//
// Sources: Google's v4 and v1 error references and published captures, read 2026-11. Where only the reason's name is
// published, its HTTP status is not relied on.
func (k call) classify(a answer, now time.Time, secrets ...string) *Error {
	g := parseBody(a.body, a.header.Get("Content-Type"))
	e := &Error{Call: k.name, Sent: true, RetryAfter: retryAfter(a.header.Get("Retry-After"), now)}
	e.Fault = g.fault(a.status, k.argument, secrets)
	set := func(class Class, code errs.Code) *Error {
		e.Class, e.Code = class, code
		return e
	}
	switch {
	case a.status == statusClientClosed || a.status < 400 || a.status >= 500 && a.status != http.StatusNotImplemented:
		if k.write {
			return set(Ambiguous, errs.GBPOutcomeUnknown)
		}
		return set(NotSent, errs.GBPUnavailable)
	case a.status == http.StatusNotImplemented: // a retired API
		return set(Refused, errs.Internal)
	case a.status == http.StatusUnauthorized: // says nothing about the grant: only the token endpoint does, and was asked
		return set(Refused, errs.GoogleReconnectRequired)
	case a.status == http.StatusRequestTimeout: // the server did not get the whole request
		return set(Throttled, errs.GBPUnavailable)
	case a.status == http.StatusTooManyRequests || g.has(throttleReasons...):
		e.Quota = g.quota()
		if e.Quota.Zero {
			e.RetryAfter = 0
			return set(Operator, errs.GBPNotApproved)
		}
		return set(Throttled, errs.GBPRateLimited)
	case g.has("STALE_DATA"): // "not now", says Business Information: the location changed at the same moment
		return set(Throttled, errs.GBPUnavailable)
	case !g.envelope: // not Google's API but a web page: a path that matches no route, or something in between
		return set(Refused, errs.Internal)
	case a.status == http.StatusConflict && g.status == "ABORTED": // a concurrent change won; assumed, no capture of it is known
		return set(NotSent, errs.GBPUnavailable)
	case a.status == http.StatusNotFound:
		return set(Refused, errs.GBPNotFound)
	case a.status == http.StatusForbidden:
		switch {
		case g.has("SERVICE_DISABLED", "accessNotConfigured", "BILLING_DISABLED", "CONSUMER_INVALID", "CONSUMER_SUSPENDED"):
			return set(Operator, errs.GBPAPIDisabled)
		case g.has("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientPermissions", "insufficientScopes"):
			return set(Dead, errs.GoogleReconnectRequired)
		case g.unverified():
			return set(Refused, errs.GBPLocationNotVerified)
		}
		return set(Refused, errs.GBPPermissionDenied)
	case g.mentions("LOCATION_DISABLED_FOR_LOCAL_POST_API", "OPERATION_UNSUPPORTED_UNDER_ACCOUNT_CONDITION"):
		return set(Refused, errs.GBPInvalidArgument)
	case g.status == "FAILED_PRECONDITION" || g.unverified():
		return set(Refused, errs.GBPLocationNotVerified)
	case g.onlyMediaFaults() && !strings.HasPrefix(k.name, "reviews."): // 10 of a reply is a long text
		return set(Refused, errs.GBPMediaRejected)
	}
	return set(Refused, errs.GBPInvalidArgument)
}

// throttleReasons say "not now" under whatever status: ErrorInfo's, the older errors[].reason, and Business Information's own.
var throttleReasons = []string{
	"RATE_LIMIT_EXCEEDED", "RESOURCE_QUOTA_EXCEEDED", "THROTTLED",
	"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded",
}

func (g googleError) has(reasons ...string) bool {
	return slices.ContainsFunc(g.reasons, func(r string) bool { return slices.Contains(reasons, r) })
}

// mentions looks for v4 error names, whose numbers are not published: as a reason or inside a message.
func (g googleError) mentions(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return g.has(n) || strings.Contains(g.message, n) || slices.ContainsFunc(g.fields, func(f fieldFault) bool { return strings.Contains(f.message, n) })
	})
}

// unverified recognises a location without verification where Google gives no status of its own for it. Assumed: the text
// of that answer is not published.
func (g googleError) unverified() bool {
	if g.has("LOCATION_NOT_VERIFIED", "UNVERIFIED_LOCATION", "LOCATION_UNVERIFIED", "LOCATION_VERIFICATION_REQUIRED") {
		return true
	}
	m := strings.ToLower(g.message)
	return strings.Contains(m, "not verified") || strings.Contains(m, "unverified") || strings.Contains(m, "must be verified")
}

// onlyMediaFaults: 1000 to 1099 are about photos by Google's table. 10 was seen for a file too large to fetch; since its name
// is not published it counts only where the entry names no field or one of media.
func (g googleError) onlyMediaFaults() bool {
	return len(g.fields) > 0 && !slices.ContainsFunc(g.fields, func(f fieldFault) bool {
		if f.code == 10 {
			field := strings.ToLower(f.field)
			return field != "" && !strings.Contains(field, "media") && !strings.Contains(field, "source")
		}
		return f.code < 1000 || f.code > 1099
	})
}

// quota reads the metadata of RATE_LIMIT_EXCEEDED.
func (g googleError) quota() Quota {
	q := Quota{Metric: g.metadata["quota_metric"], Limit: g.metadata["quota_limit"], Zero: g.metadata["quota_limit_value"] == "0"}
	unit := strings.ToLower(g.metadata["quota_unit"])
	names := strings.ToLower(q.Metric + " " + q.Limit)
	q.Daily = strings.Contains(names, "perday") || strings.Contains(names, "per_day") || strings.HasPrefix(unit, "1/d") || g.has("dailyLimitExceeded") ||
		q.Limit == "" && strings.Contains(strings.ToLower(g.message), "per day")
	q.PerLocation = strings.Contains(names, "perlocation") || strings.Contains(names, "per_location") || strings.Contains(names, "perprofile") ||
		strings.Contains(names, "edits") || strings.Contains(unit, "{location}")
	q.Metric, q.Limit = safeWord(q.Metric), safeWord(q.Limit)
	return q
}
