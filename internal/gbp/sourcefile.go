package gbp

import (
	"net/url"
	"path"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Source is a file that a write hands to Google by its address, which Google then fetches.
type Source struct {
	// URL is the address with its variables filled in, without a fragment.
	URL string
	Use MediaUse
}

// SourceFile is what the media check found behind a Source: facts of a file that can be used, or why it cannot be.
type SourceFile struct {
	// URL is the address as it was fetched and as it is sent to Google.
	URL    string
	Format MediaFormat
	Bytes  int64
	// SHA256 is the digest of the content in hexadecimal.
	SHA256 string
	// ExtraPictures is true for a JPEG with further pictures behind its main one, some of which Google refuses.
	ExtraPictures bool
	// CutOff is true for a picture whose end is missing.
	CutOff bool
	// Refusal is set instead of the facts.
	Refusal *FileRefusal
}

// FileRefusal is why a file cannot be used.
type FileRefusal struct {
	// Rule is a stable word of the media check, such as "too_small".
	Rule string
	Text errs.Text
	// Found is what was measured, such as "9216", "249x600" or "image/webp"; "" where nothing was.
	Found string
}

// SourceFiles are the verdicts about the files of one call. A Source without one was not looked at.
type SourceFiles map[Source]SourceFile

// sourceURL fills in the address of a file and judges its spelling. ok is false when it cannot be handed to Google.
func (r *publicText) sourceURL(at, s string) (u *url.URL, ok bool) {
	before := len(r.violations)
	filled := r.urlTemplate(at, s)
	u, wrong := parsePublicURL(filled)
	switch {
	case len(r.violations) > before: // what the template lacks is the cause of whatever else is wrong
	case u == nil:
		r.refuse(at, "url", quotable(filled), errs.Text{JA: "画像・動画の URL が正しくありません: " + wrong.JA, EN: "Not a usable photo or video address: " + wrong.EN})
	case u.Scheme != "https":
		r.refuse(at, "https", filled, errs.T("画像・動画の URL は https だけです。", "Photo and video addresses must be https."))
	case SharePage(u):
		r.refuse(at, "viewer_page", filled, errs.T("これは共有ページの URL で、画像そのものではありません。画像ファイルの直接の URL を指定してください。", "This link opens a viewer page, not an image; give the direct address of the image file."))
	}
	if len(r.violations) > before {
		return nil, false
	}
	u.Fragment, u.RawFragment = "", ""
	return u, true
}

// file applies the media check's verdict about a source: the address that is to be sent and the format. Where nobody looked,
// the format is guessed from the name, and a name that Google is likely to refuse is pointed at.
func (r *publicText) file(at string, u *url.URL, use MediaUse, files SourceFiles) (address string, f MediaFormat) {
	s := Source{URL: u.String(), Use: use}
	found, looked := files[s]
	switch {
	case !looked:
		if ext := strings.ToLower(path.Ext(u.Path)); ext == ".webp" || ext == ".heic" || ext == ".gif" || ext == ".avif" || ext == ".svg" {
			r.warn("MEDIA_FORMAT_SUSPECT", s.URL, errs.Tf("Google は JPEG と PNG だけを受け付けます。%s は拒否されるおそれがあります。", "Google takes JPEG and PNG; a %s file is likely to be refused.", ext))
		}
		return s.URL, guessFormat(u)
	case found.Refusal != nil:
		r.violations = append(r.violations, found.Refusal.violation(at, r.loc.ID, r.locale))
		return s.URL, guessFormat(u)
	}
	if found.ExtraPictures {
		r.warn("MEDIA_EXTRA_PICTURES", "", errs.T("この JPEG は複数の画像を含んでいます。Google に拒否されることがあります。", "This JPEG carries further pictures; Google has been seen to refuse such files."))
	}
	if found.CutOff {
		r.warn("MEDIA_CUT_OFF", "", errs.T("この画像は途中で切れているようです。欠けたまま公開されるか、Google に拒否されることがあります。", "The end of this picture is missing; it may be published with a part of it grey, or refused."))
	}
	return found.URL, found.Format
}

func (f FileRefusal) violation(at string, loc LocationID, l errs.Locale) errs.Violation {
	return violation(l, at, f.Rule, f.Found, loc, f.Text)
}

func guessFormat(u *url.URL) MediaFormat {
	if isVideo(u.Path) {
		return Video
	}
	return Photo
}
