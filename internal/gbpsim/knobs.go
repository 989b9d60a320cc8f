package gbpsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Knobs are the settings that can change while the simulator runs. The zero value is Google as the rules describe it.
// Seconds and milliseconds are fractions where that helps; 0 always means the default.
type Knobs struct {
	// TokenSeconds is the life of an access token; 0 is 3599.
	TokenSeconds int `json:"token_seconds"`
	// RotateRefreshTokens makes each refresh replace the refresh token.
	RotateRefreshTokens bool `json:"rotate_refresh_tokens"`

	// ProcessingSeconds is how long a new post stays PROCESSING; 0 is not at all.
	ProcessingSeconds float64 `json:"processing_seconds"`
	// ListLagSeconds and GetLagSeconds are how long a new post is missing from lists and answers 404 to get.
	ListLagSeconds float64 `json:"list_lag_seconds"`
	GetLagSeconds  float64 `json:"get_lag_seconds"`
	// ReplyPendingSeconds is how long a written reply to a review stays PENDING; 0 is not at all.
	ReplyPendingSeconds float64 `json:"reply_pending_seconds"`
	// UnverifiedStatus is the answer to calls for reviews of an unverified location: 400 FAILED_PRECONDITION (the default) or 403.
	UnverifiedStatus int `json:"unverified_status"`
	// NoReplyStatus is the answer to deleting a reply that is not there: 404 (the default) or 200.
	NoReplyStatus int `json:"no_reply_status"`
	// MediaLagSeconds is how long a new item of the gallery is missing from lists and answers 404 to get.
	MediaLagSeconds float64 `json:"media_lag_seconds"`
	// MediaLimit is how many items a location takes through the API; 0 is 100.
	MediaLimit int `json:"media_limit"`
	// HideMediaSources leaves sourceUrl out of answers about the gallery.
	HideMediaSources bool `json:"hide_media_sources"`
	// FetchMedia makes the simulator fetch source URLs and judge the files by type and size. Off, nothing is ever fetched.
	FetchMedia bool `json:"fetch_media"`
	// VideoStatus is the answer to video in a post: 500 (the default) or 400.
	VideoStatus int `json:"video_status"`
	// AllowAlerts lets ALERT posts through.
	AllowAlerts bool `json:"allow_alerts"`
	// UnreachableURLs are prefixes of source URLs that cannot be fetched; ReachableURLs are prefixes that can, checked first.
	// Any other https URL is reachable, except under the top-level domain "invalid".
	UnreachableURLs []string `json:"unreachable_urls"`
	ReachableURLs   []string `json:"reachable_urls"`
	// EditPendingSeconds is how long an edit of a location stays under review; 0 is not at all. EditReadsOld makes reads of a
	// location show the old value meanwhile, and EditsReverted makes Google go back to it in the end.
	EditPendingSeconds float64 `json:"edit_pending_seconds"`
	EditReadsOld       bool    `json:"edit_reads_old"`
	EditsReverted      bool    `json:"edits_reverted"`
	// EmptyPages puts an empty page with a next token before every page of every list.
	EmptyPages bool `json:"empty_pages"`

	// LatencyMS is the real time that every Google call takes before anything happens.
	LatencyMS int `json:"latency_ms"`

	// NoQuotas switches all budgets off.
	NoQuotas bool `json:"no_quotas"`
	// QuotaPerMinute is the budget of each API; 0 is 300.
	QuotaPerMinute int `json:"quota_per_minute"`
	// EditsPerMinute is the budget of each location; 0 is 10.
	EditsPerMinute int `json:"edits_per_minute"`
	// TimeScale shortens the minute of all budgets: with 10 a minute lasts 6 s. 0 is 1.
	TimeScale float64 `json:"time_scale"`
	// QuotaZeroAPIs are the hosts for which the project is not approved ("*" for all).
	QuotaZeroAPIs []string `json:"quota_zero_apis"`
	// DisabledAPIs are the hosts that are not enabled in the project ("*" for all).
	DisabledAPIs []string `json:"disabled_apis"`
}

func (k Knobs) check() error {
	var problems []error
	for name, v := range map[string]float64{
		"token_seconds": float64(k.TokenSeconds), "processing_seconds": k.ProcessingSeconds, "list_lag_seconds": k.ListLagSeconds, "get_lag_seconds": k.GetLagSeconds, "reply_pending_seconds": k.ReplyPendingSeconds,
		"edit_pending_seconds": k.EditPendingSeconds, "media_lag_seconds": k.MediaLagSeconds, "media_limit": float64(k.MediaLimit),
		"latency_ms": float64(k.LatencyMS), "quota_per_minute": float64(k.QuotaPerMinute), "edits_per_minute": float64(k.EditsPerMinute), "time_scale": k.TimeScale,
	} {
		if v < 0 {
			problems = append(problems, fmt.Errorf("knob %s: negative", name))
		}
	}
	if k.VideoStatus != 0 && k.VideoStatus != 500 && k.VideoStatus != 400 {
		problems = append(problems, errors.New("knob video_status: want 500 or 400"))
	}
	if k.UnverifiedStatus != 0 && k.UnverifiedStatus != 400 && k.UnverifiedStatus != 403 {
		problems = append(problems, errors.New("knob unverified_status: want 400 or 403"))
	}
	if k.NoReplyStatus != 0 && k.NoReplyStatus != 404 && k.NoReplyStatus != 200 {
		problems = append(problems, errors.New("knob no_reply_status: want 404 or 200"))
	}
	return errors.Join(problems...)
}

func (k Knobs) tokenLife() time.Duration {
	if k.TokenSeconds == 0 {
		return 3599 * time.Second
	}
	return time.Duration(k.TokenSeconds) * time.Second
}

func (k Knobs) quotaLimit() int {
	if k.QuotaPerMinute == 0 {
		return 300
	}
	return k.QuotaPerMinute
}

func (k Knobs) editLimit() int {
	if k.EditsPerMinute == 0 {
		return 10
	}
	return k.EditsPerMinute
}

// minute is how long the minute of the budgets lasts.
func (k Knobs) minute() time.Duration {
	if k.TimeScale == 0 {
		return time.Minute
	}
	return time.Duration(float64(time.Minute) / k.TimeScale)
}

func (k Knobs) reachable(source string) bool {
	has := func(prefixes []string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(source, p) })
	}
	if has(k.ReachableURLs) {
		return true
	}
	u, ok := webURL(source)
	return ok && u.Scheme == "https" && !strings.HasSuffix(u.Hostname(), ".invalid") && !has(k.UnreachableURLs)
}

func names(hosts []string, h string) bool {
	return slices.Contains(hosts, h) || slices.Contains(hosts, "*")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
