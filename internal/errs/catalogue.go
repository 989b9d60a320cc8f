package errs

// Code is a stable error name of the public contract.
type Code string

// Codes that a call can be refused with.
const (
	InvalidArgument         Code = "INVALID_ARGUMENT"
	Unauthenticated         Code = "UNAUTHENTICATED"
	InsufficientScope       Code = "INSUFFICIENT_SCOPE"
	WritesDisabled          Code = "WRITES_DISABLED"
	LocationNotFound        Code = "LOCATION_NOT_FOUND"
	PostNotFound            Code = "POST_NOT_FOUND"
	ReviewNotFound          Code = "REVIEW_NOT_FOUND"
	MediaNotFound           Code = "MEDIA_NOT_FOUND"
	BatchNotFound           Code = "BATCH_NOT_FOUND"
	TooManyTargets          Code = "TOO_MANY_TARGETS"
	ConfirmationRequired    Code = "CONFIRMATION_REQUIRED"
	ConfirmTokenExpired     Code = "CONFIRM_TOKEN_EXPIRED"
	ConfirmTokenUsed        Code = "CONFIRM_TOKEN_USED"
	ConfirmTokenMismatch    Code = "CONFIRM_TOKEN_MISMATCH"
	ConfirmTokenInvalid     Code = "CONFIRM_TOKEN_INVALID"
	ConfirmationDeclined    Code = "CONFIRMATION_DECLINED"
	ConfirmationUnavailable Code = "CONFIRMATION_UNAVAILABLE"
	IdempotencyConflict     Code = "IDEMPOTENCY_CONFLICT"
	IdempotencyInProgress   Code = "IDEMPOTENCY_IN_PROGRESS"
	RateLimited             Code = "RATE_LIMITED"
	VersionConflict         Code = "VERSION_CONFLICT"
	BatchNotCancellable     Code = "BATCH_NOT_CANCELLABLE"
	NothingToUndo           Code = "NOTHING_TO_UNDO"
	UndoExpired             Code = "UNDO_EXPIRED"
	GoogleReconnectRequired Code = "GOOGLE_RECONNECT_REQUIRED"
	Unavailable             Code = "UNAVAILABLE"
	Internal                Code = "INTERNAL"
)

// Codes that one item of a batch can end with.
const (
	GBPInvalidArgument     Code = "GBP_INVALID_ARGUMENT"
	GBPPermissionDenied    Code = "GBP_PERMISSION_DENIED"
	GBPAPIDisabled         Code = "GBP_API_DISABLED"
	GBPNotApproved         Code = "GBP_NOT_APPROVED"
	GBPNotFound            Code = "GBP_NOT_FOUND"
	GBPLocationNotVerified Code = "GBP_LOCATION_NOT_VERIFIED"
	GBPContentRejected     Code = "GBP_CONTENT_REJECTED"
	GBPMediaRejected       Code = "GBP_MEDIA_REJECTED"
	GBPRateLimited         Code = "GBP_RATE_LIMITED"
	GBPUnavailable         Code = "GBP_UNAVAILABLE"
	GBPOutcomeUnknown      Code = "GBP_OUTCOME_UNKNOWN"
	LocationAccessRevoked  Code = "LOCATION_ACCESS_REVOKED"
	ExpiredNotSent         Code = "EXPIRED_NOT_SENT"
	Cancelled              Code = "CANCELLED"
	StoppedAfterFailure    Code = "STOPPED_AFTER_FAILURE"
)

// RetryClass says when sending again can help.
type RetryClass string

// The retry classes.
const (
	RetryNever          RetryClass = "never"           // the same intent will be refused again
	RetryAfterChange    RetryClass = "after_change"    // something named in the error has to change first
	RetryAfterDelay     RetryClass = "after_delay"     // time alone helps
	RetryUnknownOutcome RetryClass = "unknown_outcome" // an effect may exist: look first, never send blindly
)

// Info is a code's row of the catalogue.
type Info struct {
	Code Code
	// Status is the HTTP-like status of the contract.
	Status int
	// Exit is the command line's exit code.
	Exit  int
	Retry RetryClass
	// SameKey says whether the same idempotency key may be sent again.
	SameKey bool
	// Item is true for outcomes of one item instead of refusals of a call.
	Item    bool
	Meaning string
	How     Text
}

// Info is the code's row; an unknown code has INTERNAL's.
func (c Code) Info() Info {
	if i, ok := byCode[c]; ok {
		return i
	}
	return byCode[Internal]
}

// Known tells whether the code stands in the catalogue.
func (c Code) Known() bool {
	_, ok := byCode[c]
	return ok
}

// Catalogue is every code with its row, in the order of the contract.
func Catalogue() []Info { return append([]Info(nil), catalogue...) }

var byCode = func() map[Code]Info {
	m := make(map[Code]Info, len(catalogue))
	for _, i := range catalogue {
		m[i.Code] = i
	}
	return m
}()

var textInternal = T("サーバー内部のエラーです。request_id を添えて運用担当に連絡してください。",
	"An internal error occurred. Give the request_id to the operator.")

var (
	howFixArguments = T("details の各項目を直して、同じ idempotency_key で送り直してください。", "Fix every listed item and send again; the same idempotency_key may be used.")
	howCheckID      = T("一覧のツールで正しい ID を調べてください。", "Look the id up with the matching list tool.")
	howNewPreview   = T("dry_run: true で新しいプレビューと confirm_token を取り、人に確認してから送ってください。", "Preview again with dry_run: true, ask the person, and send with the new confirm_token.")
	howWait         = T("after_seconds 秒待ってから、同じ idempotency_key で送り直してください。", "Wait after_seconds and send again with the same idempotency_key.")
	howOperator     = T("運用担当に連絡してください。送り直しても直りません。", "Tell the operator; sending again will not help.")
	howOther        = T("内容や対象を変えない限り送り直さないでください。", "Do not send again unless content or target changes.")
	howLook         = T("送り直さないでください。サーバーが Google を確認中です。batch.status で結果を見てください。", "Do not send again. The server is checking Google; read the outcome with batch.status.")
)

var catalogue = []Info{
	{InvalidArgument, 400, 2, RetryAfterChange, true, false, "shape or business rule of the arguments; every violation is listed", howFixArguments},
	{Unauthenticated, 401, 3, RetryAfterChange, true, false, "no valid access token; answered at the HTTP layer", T("有効なアクセストークンで接続してください。", "Connect with a valid access token.")},
	{InsufficientScope, 403, 4, RetryAfterChange, true, false, "the token lacks the named scope", T("details.required_scope を持つトークンが必要です。", "A token with details.required_scope is needed.")},
	{WritesDisabled, 403, 4, RetryAfterChange, true, false, "kill switch or read-only mode", T("details.lifted_by に再開を頼み、再開された後で同じ idempotency_key で送り直してください。それまでは送り直しても拒否されます。", "Ask who is named in details.lifted_by to switch writes on, then send again with the same idempotency_key. Until then the same call is refused.")},
	{LocationNotFound, 404, 5, RetryAfterChange, true, false, "the location is absent or not the caller's: the same answer for both", howCheckID},
	{PostNotFound, 404, 5, RetryAfterChange, true, false, "the post is absent or not the caller's", howCheckID},
	{ReviewNotFound, 404, 5, RetryAfterChange, true, false, "the review is absent or not the caller's", howCheckID},
	{MediaNotFound, 404, 5, RetryAfterChange, true, false, "the media item is absent or not the caller's", howCheckID},
	{BatchNotFound, 404, 5, RetryAfterChange, true, false, "the batch is absent or not the caller's", howCheckID},
	{TooManyTargets, 400, 2, RetryAfterChange, true, false, "more targets than one batch may have", T("対象を分けて、別々の呼び出しにしてください。", "Split the targets over several calls, each with its own key.")},
	{ConfirmationRequired, 412, 6, RetryAfterChange, true, false, "a person has to agree first; carries a confirm_token", T("details.human_readable_message を人に見せ、同意を得てから confirm_token を付けて同じ引数・同じキーで送ってください。", "Show details.human_readable_message to the person; once they agree send the same arguments and key with confirm_token.")},
	{ConfirmTokenExpired, 412, 6, RetryAfterChange, true, false, "the token is older than its lifetime", howNewPreview},
	{ConfirmTokenUsed, 412, 6, RetryAfterChange, true, false, "the token was spent by another call", T("このトークンは使用済みです。先の呼び出しの結果は details.batch_id を batch.status で確認してください。別の書き込みには新しいプレビューが必要です。", "This token is spent. Read the earlier call's outcome with batch.status; a further write needs a new preview.")},
	{ConfirmTokenMismatch, 412, 6, RetryAfterChange, true, false, "the token belongs to another tool or other arguments; it stays unspent", T("プレビューと同じ引数で送るか、dry_run: true でプレビューし直してください。トークンは未使用のままです。", "Send exactly the previewed arguments, or preview again. The token stays unspent.")},
	{ConfirmTokenInvalid, 412, 6, RetryAfterChange, true, false, "no such token", howNewPreview},
	{ConfirmationDeclined, 412, 6, RetryNever, false, false, "a person said no", howOther},
	{ConfirmationUnavailable, 412, 6, RetryAfterChange, true, false, "nobody could be asked", T("確認できる人がいるクライアントで、同じ idempotency_key で送り直してください。方針を変えられるのは運用担当です。", "Send again with the same idempotency_key from a client where a person can be asked; only the operator can change the policy.")},
	{IdempotencyConflict, 409, 7, RetryNever, false, false, "the key was used for other input", T("先の呼び出しは受付済みです (details.batch_id)。内容を直したい場合はその投稿を更新してください。本当に別の書き込みである場合だけ新しいキーを使ってください。", "The first call was accepted (details.batch_id). To change it, update what it created; use a new key only for a second, intended effect.")},
	{IdempotencyInProgress, 409, 7, RetryAfterDelay, true, false, "the same key is being admitted right now", howWait},
	{RateLimited, 429, 8, RetryAfterDelay, true, false, "a limit of the contract is reached; nothing was executed", howWait},
	{VersionConflict, 409, 7, RetryAfterChange, true, false, "the target is no longer what the caller saw", T("対象を読み直し、変更を人に見せてから新しい version またはプレビューで送ってください。", "Read the target again, show the change to the person, and send with the new version or preview.")},
	{BatchNotCancellable, 409, 7, RetryNever, false, false, "the batch is past the point where it can be cancelled", T("batch.status で結果を確認してください。公開されたものは batch.undo で元に戻せます。", "Read the outcome with batch.status; batch.undo takes back what was published.")},
	{NothingToUndo, 409, 7, RetryNever, false, false, "the batch changed nothing that can be restored", howOther},
	{UndoExpired, 409, 7, RetryNever, false, false, "the undo window is over", howOther},
	{GoogleReconnectRequired, 409, 7, RetryAfterChange, true, false, "the tenant's Google grant is dead", T("Google アカウントを接続し直す必要があります。運用担当に連絡してください。", "The Google account has to be reconnected; tell the operator.")},
	{Unavailable, 503, 9, RetryAfterDelay, true, false, "PostgreSQL, Redis or the audit log is away; nothing was accepted", howWait},
	{Internal, 500, 1, RetryAfterDelay, true, false, "an error without a better name; request_id finds it in the log", T("少し待って同じ idempotency_key で送り直せます。繰り返す場合は request_id を運用担当に伝えてください。", "Wait and send again with the same idempotency_key; if it happens again give the request_id to the operator.")},

	{GBPInvalidArgument, 400, 2, RetryNever, false, true, "Google refused the content; fields and reasons are listed", howOther},
	{GBPPermissionDenied, 403, 4, RetryNever, false, true, "the connected Google account has no right on this location", T("この店舗に対する Google アカウントの権限を確認してください。", "Check the connected Google account's role on this location.")},
	{GBPAPIDisabled, 403, 4, RetryNever, false, true, "the Google API is not enabled in our project", howOperator},
	{GBPNotApproved, 429, 8, RetryNever, false, true, "Google granted our project a quota of zero", howOperator},
	{GBPNotFound, 404, 5, RetryNever, false, true, "Google does not know the target, or the account cannot see it", howOther},
	{GBPLocationNotVerified, 400, 2, RetryAfterChange, false, true, "the location is not verified at Google", T("Google でオーナー確認を済ませてください。", "Verify the location at Google first.")},
	{GBPContentRejected, 422, 2, RetryNever, false, true, "Google accepted the call and rejected the content", howOther},
	{GBPMediaRejected, 422, 2, RetryNever, false, true, "Google could not fetch or refused the media", T("画像の URL と形式を確認してください。", "Check the URL and format of the media.")},
	{GBPRateLimited, 429, 8, RetryAfterDelay, false, true, "Google's quota stayed exhausted", T("batch.retry で後ほど失敗分だけを再実行できます。", "Run the failed items again later with batch.retry.")},
	{GBPUnavailable, 503, 9, RetryAfterDelay, false, true, "Google stayed unavailable; nothing was written", T("batch.retry で後ほど失敗分だけを再実行できます。", "Run the failed items again later with batch.retry.")},
	{GBPOutcomeUnknown, 502, 9, RetryUnknownOutcome, false, true, "the write may have happened and could not be decided by reading", howLook},
	{LocationAccessRevoked, 403, 4, RetryNever, false, true, "the grant on the location was taken away after acceptance", howOperator},
	{ExpiredNotSent, 504, 9, RetryAfterDelay, false, true, "the send deadline passed before the item could be sent", T("batch.retry で再実行できます。", "Run the item again with batch.retry.")},
	{Cancelled, 409, 7, RetryAfterChange, false, true, "the item was cancelled before it was sent", howOther},
	{StoppedAfterFailure, 409, 7, RetryAfterChange, false, true, "not started, because an earlier item failed and on_failure is stop", T("先の失敗を直してから batch.retry で再実行できます。", "Fix the earlier failure, then run it again with batch.retry.")},
}
