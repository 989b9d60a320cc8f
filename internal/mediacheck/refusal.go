package mediacheck

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Rule is the stable word for why a file cannot be used.
type Rule string

// The rules. Each comment says what Measured and Limit of the Refusal hold, where they hold something.
const (
	// RuleURL: the address is malformed, or written in a way that is not taken (numeric hosts, credentials).
	RuleURL Rule = "bad_url"
	// RuleHTTPS: the address is not https.
	RuleHTTPS Rule = "https_only"
	// RuleUnreachable: the file cannot be fetched from the public internet; the one word for everything that the network did.
	RuleUnreachable Rule = "unreachable"
	// RuleRedirects: more than 3 redirects, or a loop of them. Limit: 3.
	RuleRedirects Rule = "too_many_redirects"
	// RuleHostRefused: the host of the file answered 401, 403, 407, 429 or 451. Measured: the status.
	RuleHostRefused Rule = "host_refused"
	// RuleNotFound: the host answered 404 or 410. Measured: the status.
	RuleNotFound Rule = "not_found"
	// RuleHostError: the host answered another status than a success. Measured: the status.
	RuleHostError Rule = "host_error"
	// RuleTooSlow: the file did not arrive in time. Limit: seconds.
	RuleTooSlow Rule = "too_slow"
	// RuleIncomplete: the answer broke off before its end.
	RuleIncomplete Rule = "incomplete"
	// RuleViewerPage: the address opens a web page, such as the share page of a drive, and not the file.
	RuleViewerPage Rule = "viewer_page"
	// RuleEmpty: the host answered without content.
	RuleEmpty Rule = "empty"
	// RuleNotMedia: neither a picture nor a video.
	RuleNotMedia Rule = "not_an_image"
	// RuleFormat: a picture or video of a kind that Google does not take; see Type.
	RuleFormat Rule = "unsupported_format"
	// RuleVideo: a video where only pictures are taken.
	RuleVideo Rule = "video"
	// RuleAnimated: a picture with several frames (APNG, MPO).
	RuleAnimated Rule = "animated"
	// RuleBroken: the header of the picture or video cannot be read.
	RuleBroken Rule = "unreadable"
	// RuleTooSmall and RuleTooLarge: bytes. Measured (one more than the limit where the host did not tell the size, because
	// reading stops there) and Limit.
	RuleTooSmall Rule = "too_small"
	RuleTooLarge Rule = "too_large"
	// RuleShortEdge: the shorter side, in pixels. Measured and Limit.
	RuleShortEdge Rule = "short_edge"
	// RulePixels: width times height. Measured and Limit.
	RulePixels Rule = "image_too_large"
	// RuleTooShort and RuleTooLong: the length of a video in seconds. Measured and Limit.
	RuleTooShort Rule = "video_too_short"
	RuleTooLong  Rule = "video_too_long"
)

// Refusal is why a file cannot be used. Its texts hold nothing of the answer and nothing of the network.
type Refusal struct {
	Rule Rule
	Text errs.Text
	// Type is the kind of file that was found, such as "image/webp"; "" where it does not matter or is not known.
	Type string
	// Measured and Limit are the numbers of the rule, in its unit; 0 where there is none.
	Measured, Limit int64
	// Width and Height are those of the picture for RuleShortEdge and RulePixels.
	Width, Height int
	// Passing is true when the same address may well work a little later.
	Passing bool

	why error // for operators only
}

// String is the English text with its rule.
func (r *Refusal) String() string { return string(r.Rule) + ": " + r.Text.EN }

// LogValue has what happened on the network, for operators. It quotes no address of a file, because those can be secrets.
func (r *Refusal) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("rule", string(r.Rule))}
	if r.Measured != 0 || r.Limit != 0 {
		attrs = append(attrs, slog.Int64("measured", r.Measured), slog.Int64("limit", r.Limit))
	}
	if r.why != nil {
		attrs = append(attrs, slog.String("why", r.why.Error()))
	}
	return slog.GroupValue(attrs...)
}

func badURL(text errs.Text) *Refusal { return &Refusal{Rule: RuleURL, Text: text} }

func unreachable(why error) *Refusal {
	return &Refusal{Rule: RuleUnreachable, Passing: true, why: why, Text: errs.T(
		"この URL のファイルをインターネットから https で取得できません。ログインなしでブラウザーで開けるか確認してください。",
		"The file cannot be fetched over https from the public internet; check that the address opens in a browser without a login.")}
}

func httpsOnly() *Refusal {
	return &Refusal{Rule: RuleHTTPS, Text: errs.T("ファイルの URL は https:// だけです。", "The address of the file must be https.")}
}

func tooManyRedirects() *Refusal {
	return &Refusal{Rule: RuleRedirects, Limit: maxRedirects, Text: errs.Tf(
		"URL の転送が %d 回を超えました。ファイルの最終的な URL を指定してください。", "The address redirects more than %d times; give the final address of the file.", maxRedirects)}
}

func tooSlow(limit time.Duration) *Refusal {
	s := max(int64(limit.Seconds()), 1)
	return &Refusal{Rule: RuleTooSlow, Limit: s, Passing: true, Text: errs.Tf(
		"%d 秒以内にファイルを取得できませんでした。", "The file did not arrive within %d s.", s)}
}

func incomplete(why error) *Refusal {
	return &Refusal{Rule: RuleIncomplete, Passing: true, why: why, Text: errs.T("ファイルの取得が途中で切れました。", "The file broke off before its end.")}
}

// refusedStatus is an answer of the file's host that is no success. It is never taken for an answer of Google.
func refusedStatus(status int) *Refusal {
	r := &Refusal{Rule: RuleHostError, Measured: int64(status), Passing: status >= 500}
	switch status {
	case 401, 403, 407, 429, 451:
		r.Rule, r.Passing = RuleHostRefused, status == 429
		r.Text = errs.Tf("画像のサーバーが取得を拒否しました (%d)。誰でも取得できる URL か、期限が切れていないか確認してください。",
			"The image host refused our request (%d); check that everybody may fetch the address and that it has not expired.", status)
	case 404, 410:
		r.Rule = RuleNotFound
		r.Text = errs.Tf("この URL にファイルがありません (%d)。", "There is no file at this address (%d).", status)
	default:
		r.Text = errs.Tf("画像のサーバーがエラーを返しました (%d)。", "The image host answered with an error (%d).", status)
	}
	return r
}

func viewerPage() *Refusal {
	return &Refusal{Rule: RuleViewerPage, Type: "text/html", Text: errs.T(
		"これは共有ページなどの Web ページの URL で、画像そのものではありません。画像ファイルの直接の URL を指定してください。",
		"This link is a viewer page, not an image; give the direct address of the image file.")}
}

func emptyFile() *Refusal {
	return &Refusal{Rule: RuleEmpty, Text: errs.T("ファイルが空です。", "The file is empty.")}
}

func notMedia(use gbp.MediaUse) *Refusal {
	return &Refusal{Rule: RuleNotMedia, Text: errs.Tf("画像でも動画でもありません。%[1]s を指定してください。", "Neither a picture nor a video; give %[1]s.", accepted(use))}
}

func unsupported(kind string, use gbp.MediaUse) *Refusal {
	return &Refusal{Rule: RuleFormat, Type: kind, Text: errs.Tf(
		"%[1]s は Google に掲載できません。%[2]s に変換してください。", "Google does not take %[1]s; convert it to %[2]s.", shortName(kind), accepted(use))}
}

func noVideo(kind string) *Refusal {
	return &Refusal{Rule: RuleVideo, Type: kind, Text: errs.T(
		"ここに動画は使えません。JPEG か PNG の画像を指定してください。", "No video is taken here; give a JPEG or PNG picture.")}
}

func animated(kind string) *Refusal {
	return &Refusal{Rule: RuleAnimated, Type: kind, Text: errs.T(
		"複数のコマを持つ画像 (アニメーション PNG、MPO) は掲載できません。1 枚だけの JPEG か PNG にしてください。",
		"Pictures with several frames (animated PNG, MPO) are not taken; give a single-frame JPEG or PNG.")}
}

func broken(kind string, why error) *Refusal {
	return &Refusal{Rule: RuleBroken, Type: kind, why: why, Text: errs.Tf("%[1]s として読めません。ファイルが壊れています。", "The file cannot be read as %[1]s; it is damaged.", shortName(kind))}
}

func tooSmall(n int64, l gbp.MediaLimits) *Refusal {
	return &Refusal{Rule: RuleTooSmall, Measured: n, Limit: l.MinBytes, Text: errs.Tf(
		"ファイルが小さすぎます (%d バイト、最小 %d バイト)。", "The file is too small: %d bytes, the minimum is %d.", n, l.MinBytes)}
}

func tooLarge(n int64, l gbp.MediaLimits) *Refusal {
	return &Refusal{Rule: RuleTooLarge, Measured: n, Limit: l.MaxBytes, Text: errs.Tf(
		"ファイルが大きすぎます (%d バイト、最大 %d バイト)。", "The file is too large: %d bytes, the maximum is %d.", n, l.MaxBytes)}
}

// overLimit is a file that is too large by an unknown amount: the host did not tell the size, and reading stopped at the limit.
func overLimit(l gbp.MediaLimits) *Refusal {
	return &Refusal{Rule: RuleTooLarge, Measured: l.MaxBytes + 1, Limit: l.MaxBytes, Text: errs.Tf(
		"ファイルが大きすぎます (最大 %d バイト)。", "The file is too large: the maximum is %d bytes.", l.MaxBytes)}
}

func shortEdge(w, h int, l gbp.MediaLimits) *Refusal {
	return &Refusal{Rule: RuleShortEdge, Measured: int64(min(w, h)), Limit: int64(l.MinShortEdge), Width: w, Height: h, Text: errs.Tf(
		"短い辺が %[3]d ピクセルに足りません (%[1]d×%[2]d)。", "The shorter side needs %[3]d pixels; the file has %[1]dx%[2]d.", w, h, l.MinShortEdge)}
}

func tooManyPixels(w, h int, l gbp.MediaLimits) *Refusal {
	return &Refusal{Rule: RulePixels, Measured: int64(w) * int64(h), Limit: l.MaxPixels, Width: w, Height: h, Text: errs.Tf(
		"画像の寸法が大きすぎます (%d×%d、最大 %d ピクセル)。", "Image too large: %dx%d, the maximum is %d pixels.", w, h, l.MaxPixels)}
}

func videoLength(s float64, l gbp.MediaLimits) *Refusal {
	r := &Refusal{Rule: RuleTooLong, Measured: int64(s + 0.999), Limit: int64(l.MaxSeconds)}
	if s < l.MinSeconds {
		r = &Refusal{Rule: RuleTooShort, Measured: int64(s), Limit: int64(l.MinSeconds)}
	}
	r.Text = errs.Tf("動画の長さは %[2]g～%[3]g 秒です (%.1[1]f 秒)。", "A video has %[2]g to %[3]g seconds; this one has %.1[1]f.", s, l.MinSeconds, l.MaxSeconds)
	return r
}

// accepted names the formats of a use in a way that both languages read.
func accepted(use gbp.MediaUse) string {
	if _, ok := gbp.LimitsOf(use, gbp.Video); ok {
		return "JPEG / PNG / MP4 / MOV"
	}
	return "JPEG / PNG"
}

func shortName(kind string) string {
	_, s, _ := strings.Cut(kind, "/")
	switch s {
	case "":
		return kind
	case "svg+xml":
		s = "svg"
	case "quicktime":
		s = "mov"
	}
	return strings.ToUpper(fmt.Sprintf("%.20s", strings.TrimPrefix(strings.TrimPrefix(s, "vnd.mozilla."), "x-")))
}
