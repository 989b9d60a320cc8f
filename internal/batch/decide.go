package batch

import (
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Snapshot is everything that decides what a runner may do with an item, read under the item's lock.
type Snapshot struct {
	State           ItemState
	Open            *Attempt
	CancelRequested bool
	Stopped         bool
	// Overdue is true when the batch's send deadline has passed.
	Overdue bool
	Kill    []authn.KillSwitch
	Client  authn.ClientID
	// Operations are what kill switches may name: the effect, and the tool that it came from.
	Operations []string
	// Already is true when there was nothing left to do when the item was accepted.
	Already bool
	// Allowed is false when the user's grant no longer covers the location or the token was revoked.
	Allowed        bool
	ConnectionDead bool
	// Earlier is true while an older item with the same content for the same location is undecided.
	Earlier bool
	// NotBefore is how long a retry still has to wait.
	NotBefore time.Duration
}

// Step is what a runner does next.
type Step int

// The steps.
const (
	StepDone    Step = iota // the item is decided: only the job is left to complete
	StepSend                // open an attempt and send
	StepWait                // come back after Wait
	StepExamine             // an attempt is open and may be examined by reading Google back
	StepEnd                 // the item ends without being sent
)

// Decision is a step with what belongs to it.
type Decision struct {
	Step  Step
	Wait  time.Duration
	State ItemState // for StepEnd
	Code  errs.Code // for StepEnd
}

// settleWait is how long an item waits before it asks again whether the older one with its content is decided.
const settleWait = 2 * time.Second

// Decide says what a runner does with an item. An open attempt comes first: whatever was switched off meanwhile, what may
// have been sent has to be found out.
func Decide(s Snapshot) Decision {
	killed := slices.ContainsFunc(s.Operations, func(o string) bool { _, on := authn.Stops(s.Kill, s.Client, o); return on })
	switch {
	case s.State.Final():
		return Decision{Step: StepDone}
	case s.Open != nil && s.Open.ExamineAfter > 0:
		return Decision{Step: StepWait, Wait: s.Open.ExamineAfter}
	case s.Open != nil:
		return Decision{Step: StepExamine}
	case s.CancelRequested:
		return Decision{Step: StepEnd, State: ItemCancelled, Code: errs.Cancelled}
	case s.Stopped:
		return Decision{Step: StepEnd, State: ItemCancelled, Code: errs.StoppedAfterFailure}
	case killed:
		return Decision{Step: StepEnd, State: ItemFailed, Code: errs.WritesDisabled}
	case !s.Allowed:
		return Decision{Step: StepEnd, State: ItemFailed, Code: errs.LocationAccessRevoked}
	case s.ConnectionDead:
		return Decision{Step: StepEnd, State: ItemFailed, Code: errs.GoogleReconnectRequired}
	case s.Overdue:
		return Decision{Step: StepEnd, State: ItemFailed, Code: errs.ExpiredNotSent}
	case s.Already:
		return Decision{Step: StepEnd, State: ItemSucceeded}
	case s.Earlier:
		return Decision{Step: StepWait, Wait: settleWait}
	case s.NotBefore > 0:
		return Decision{Step: StepWait, Wait: s.NotBefore}
	}
	return Decision{Step: StepSend}
}

// RetryPossible tells whether batch.retry may run an item again that ended with the code.
func RetryPossible(c errs.Code) bool {
	switch c {
	case errs.ExpiredNotSent, errs.WritesDisabled, errs.StoppedAfterFailure, errs.GoogleReconnectRequired, errs.GBPRateLimited, errs.GBPUnavailable, errs.GBPLocationNotVerified:
		return true
	default:
		return false
	}
}

// EndText is what people are told about an item that ended without being sent.
func EndText(c errs.Code) errs.Text {
	switch c {
	case errs.Cancelled:
		return errs.T("送信前に取り消されました。", "Cancelled before it was sent.")
	case errs.StoppedAfterFailure:
		return errs.T("先の店舗が失敗したため (on_failure: stop)、送信していません。", "Not sent, because an earlier store failed (on_failure: stop).")
	case errs.WritesDisabled:
		return errs.T("書き込みが停止されたため (キルスイッチ)、送信していません。", "Not sent, because writes were switched off (kill switch).")
	case errs.LocationAccessRevoked:
		return errs.T("受付後に権限が取り消されたため、送信していません。", "Not sent, because access was revoked after acceptance.")
	case errs.GoogleReconnectRequired:
		return errs.T("Google アカウントの再接続が必要なため、送信していません。", "Not sent, because the Google account has to be reconnected.")
	case errs.ExpiredNotSent:
		return errs.T("送信期限までに送れませんでした。", "The send deadline passed before it could be sent.")
	case errs.GBPNotApproved:
		return errs.T("Google がこのプロジェクトに割当を与えていないため、送信していません。", "Not sent, because Google granted this project no quota.")
	case errs.GBPAPIDisabled:
		return errs.T("Google の API が有効になっていないため、送信していません。", "Not sent, because the Google API is not enabled.")
	default:
		return errs.T("送信していません。", "Not sent.")
	}
}
