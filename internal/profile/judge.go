package profile

import (
	"fmt"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Context is what a change is judged by, beside the profile that it changes.
type Context struct {
	// Location is our mirror of the store: its id for messages, its profile for template variables, its zone for what is today,
	// Verified and PendingGoogleEdit for warnings.
	Location gbp.Location
	// At is the path of the change in the arguments, such as "updates[0].changes"; "" is "changes".
	At     string
	Now    time.Time
	Locale errs.Locale
	// HoursTypes are the kinds of more_hours that the store's categories have; nil is not known, and an unusual kind is a warning
	// then instead of a refusal. Nothing sets them yet: admission calls no Google, and the mirror keeps categories without
	// Google's catalogue. A sync that keeps what gbpapi.BatchGetCategories answers would.
	HoursTypes []string
	// GoogleUpdate is Google's own version of the location where it was read; nil is not known.
	GoogleUpdate *GoogleUpdate
}

// GoogleUpdate is the answer of getGoogleUpdated, as far as it matters here.
type GoogleUpdate struct {
	// Diff are Google's field paths in which the live version differs from the merchant's; Pending those with an edit of the
	// merchant's own still in flight.
	Diff, Pending []string
	// Live is the live version.
	Live Snapshot
}

type judge struct {
	Context
	violations []errs.Violation
	warnings   []gbp.Warning
	links      []string
	phones     []string
	// canReopen is Google's word on a place that is permanently closed.
	canReopen bool
}

func newJudge(in Context) *judge {
	if in.At == "" {
		in.At = "changes"
	}
	return &judge{Context: in}
}

// refuse records a broken rule of the field at a path under changes.
func (j *judge) refuse(path, rule, value string, msg errs.Text) {
	at := j.At
	if path != "" {
		at += "." + path
	}
	j.violations = append(j.violations, errs.Violation{Path: at, Rule: rule, Message: msg.In(j.Locale), Value: errs.ShownValue(value), LocationID: int64(j.Location.ID)})
}

func (j *judge) warn(code, span string, msg errs.Text) {
	j.warnings = append(j.warnings, gbp.Warning{LocationID: j.Location.ID, Code: code, Message: msg.In(j.Locale), Span: span})
}

// today is the store's calendar day.
func (j *judge) today() date {
	zone, err := time.LoadLocation(j.Location.Timezone)
	if err != nil {
		zone = time.UTC
	}
	y, m, d := j.Now.In(zone).Date()
	return date{Year: y, Month: int(m), Day: d}
}

func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// templated tells whether a text holds template braces, which belong in descriptions and URLs only.
func (j *judge) templated(path, s string) bool {
	if !strings.Contains(s, "{{") && !strings.Contains(s, "}}") {
		return false
	}
	j.refuse(path, "template_not_allowed", s, errs.T("ここでは変数 {{…}} は使えません。使えるのは description と URL だけです。", "Variables in {{…}} are not filled in here; they work in description and URLs only."))
	return true
}

var (
	textEmptyList   = errs.T("空のリストでは何も消えません。消すときは clear に項目名を指定してください。", "An empty list empties nothing; name the field in clear to empty it.")
	textNoOperation = errs.T("リストか、change・add・remove・set のどれかが必要です。", "Give a list, or one of change, add, remove and set.")
	textSetAlone    = errs.T("set は全体の置き換えなので、ほかの操作と一緒には使えません。", "set says everything, so it stands alone.")
	textClock       = errs.T("時刻は 09:00 のように 2 桁ずつの HH:MM で、00:00 から 24:00 までです。翌日にまたがる場合は close に翌日の時刻 (例: 02:00) を書いてください。", "Write times as HH:MM with two digits each, 00:00 to 24:00; hours past midnight have the next day's time as close, such as 02:00.")
	textDay         = errs.T("曜日は monday から sunday で指定してください。", "Days are monday to sunday.")
	textUnreadable  = errs.T("現在の値を読み取れないため、一部だけの変更はできません。set で全体を指定してください。", "The present value cannot be read, so a part of it cannot be changed; give the whole with set.")
)
