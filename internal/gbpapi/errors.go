package gbpapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// Class says what a failed call means for the work that made it. For a write, every class but Ambiguous means that Google
// did nothing.
type Class string

// The classes.
const (
	// NotSent: a write that certainly had no effect and may be made again (no connection, no token at the moment), or a read
	// that failed for a passing reason. Time helps.
	NotSent Class = "not_sent"
	// Refused: Google said no for good. The same call is refused again.
	Refused Class = "refused"
	// Throttled: Google said "not now". Wait RetryAfter, or longer where it is 0.
	Throttled Class = "throttled"
	// Ambiguous: a write that may have had its effect. Never repeat a create after it without looking first.
	Ambiguous Class = "ambiguous"
	// Dead: the connection's grant does not work: the token endpoint refused it, or it lacks the scope. Fails everything of the
	// connection until it is connected again. A 401 that lasts after a refresh is no such thing: it is Refused, for its call alone.
	Dead Class = "dead"
	// Operator: our project or configuration is at fault. Fails everything until an operator acts.
	Operator Class = "operator"
)

// Quota is what a 429 tells about the exhausted limit.
type Quota struct {
	// Zero: Google granted the project no quota at all; waiting never helps.
	Zero bool
	// Daily: a limit per day; waiting minutes does not help.
	Daily bool
	// Metric and Limit are Google's names, such as "mybusiness.googleapis.com/default_requests" and "DefaultRequestsPerMinutePerProject".
	Metric string
	Limit  string
	// PerLocation: the limit of edits of one profile rather than the project's. Google has not published that answer;
	// it is recognised by its names.
	PerLocation bool
}

// Error is a failed call. Its texts are safe to store and to show.
type Error struct {
	// Call is the name of the call, such as "localPosts.create".
	Call  string
	Class Class
	Code  errs.Code
	// Fault is what Google answered; its HTTPStatus is 0 without an answer.
	Fault errs.GoogleFault
	// RetryAfter is Google's wish, at most an hour; 0 when it has none or an absurd one.
	RetryAfter time.Duration
	// Sent is true when bytes of the request may have left.
	Sent  bool
	Quota Quota

	// note is for logs: what happened when there was no answer.
	note string
	// cause is context.Canceled, context.DeadlineExceeded, an error of the token source, or nil. Errors of the HTTP exchange
	// are not kept: they quote addresses and bodies.
	cause error
}

// Error is for logs and job errors: one line, no secrets, at most 500 bytes.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s)", e.Call, e.Code, e.Class)
	if f := e.Fault; f.HTTPStatus != 0 {
		fmt.Fprintf(&b, ": HTTP %d", f.HTTPStatus)
		for _, s := range []string{f.Status, f.Reason, f.Message} {
			if s != "" {
				b.WriteString(" " + s)
			}
		}
		for _, x := range f.Fields {
			fmt.Fprintf(&b, "; %s: %s", x.Field, x.Message)
		}
	}
	for _, s := range []string{e.note, causeText(e.cause)} {
		if s != "" {
			b.WriteString(": " + s)
		}
	}
	return redact.Text(b.String())
}

func causeText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Unwrap gives the cause inside our own process, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// Catalogued is the error of the contract, with what Google said in its details.
func (e *Error) Catalogued() *errs.Error {
	out := errs.New(e.Code, message(e.Code)).After(e.RetryAfter)
	if e.Fault.HTTPStatus != 0 {
		f := e.Fault
		out.Details.Google = &f
	}
	if e.Class == Ambiguous {
		out.Executed = errs.ExecutedUnknown
	}
	return out
}

// As lets errs.From find the catalogued form.
func (e *Error) As(target any) bool {
	if t, ok := target.(**errs.Error); ok {
		*t = e.Catalogued()
		return true
	}
	return false
}

func message(c errs.Code) errs.Text {
	switch c {
	case errs.GBPInvalidArgument:
		return errs.T("Google が内容を受け付けませんでした。", "Google refused the content.")
	case errs.GBPPermissionDenied:
		return errs.T("接続中の Google アカウントには、この店舗を操作する権限がありません。", "The connected Google account may not do this on this location.")
	case errs.GBPAPIDisabled:
		return errs.T("このサーバーの Google プロジェクトで必要な API が有効になっていません。", "The Google API is not enabled in this server's project.")
	case errs.GBPNotApproved:
		return errs.T("このサーバーの Google プロジェクトには、まだ API の利用枠がありません。", "Google has granted this server's project no quota yet.")
	case errs.GBPNotFound:
		return errs.T("Google に対象が見つからないか、接続中のアカウントから見えません。", "Google does not know the target, or the connected account cannot see it.")
	case errs.GBPLocationNotVerified:
		return errs.T("この店舗は Google でオーナー確認が済んでいません。", "The location is not verified at Google.")
	case errs.GBPMediaRejected:
		return errs.T("Google が画像を取得できないか、受け付けませんでした。", "Google could not fetch the media or refused it.")
	case errs.GBPRateLimited:
		return errs.T("Google の利用上限に達しています。", "Google's limit is reached.")
	case errs.GBPUnavailable:
		return errs.T("Google に一時的に接続できません。何も書き込まれていません。", "Google is unavailable at the moment; nothing was written.")
	case errs.GBPOutcomeUnknown:
		return errs.T("Google から確かな応答がなく、書き込まれたかどうか分かりません。", "Google gave no clear answer; the write may or may not have happened.")
	case errs.GoogleReconnectRequired:
		return errs.T("Google アカウントとの接続が切れています。接続し直すまで書き込めません。", "The connection to the Google account is no longer valid; nothing can be written until it is connected again.")
	default:
		return errs.T("Google への呼び出しで内部エラーが発生しました。運用担当に連絡してください。", "The call to Google failed for a reason inside this server; tell the operator.")
	}
}
