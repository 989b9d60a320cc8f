package mediacheck

import (
	"bytes"
	"errors"
	"hash"
	"image"
	_ "image/jpeg" // the two formats whose headers are read
	_ "image/png"
	"io"
	"mime"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

const (
	// maxHead is how much of a file is held in memory: the headers of pictures stand before it. (A JPEG may put megabytes of
	// notes before its size; one that does is refused as unreadable.)
	maxHead = 1 << 20
	// sniffed is how much the type is told from.
	sniffed = 3072
)

// file is a body on its way through the checks.
type file struct {
	digest   hash.Hash
	body     io.Reader
	declared int64 // -1: not declared
	read     int64
	limit    int64 // 0: not known yet
	broke    error // how the connection failed, if it did
	head     []byte
	end      pictureEnd
	facts    Facts
}

// errOverLimit ends reading one byte behind the limit.
var errOverLimit = errors.New("more than the limit")

// Read hands the body on, counting and digesting it.
func (f *file) Read(p []byte) (int, error) {
	if f.limit > 0 {
		if f.read > f.limit {
			return 0, errOverLimit
		}
		p = p[:min(int64(len(p)), f.limit+1-f.read)]
	}
	n, err := f.body.Read(p)
	f.read += int64(n)
	f.digest.Write(p[:n])
	f.end.look(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		f.broke = err
	}
	return n, err // as it came: io.EOF is compared with ==
}

// more reads on until the head has n bytes or the file ends.
func (f *file) more(n int) *Refusal {
	if len(f.head) >= n {
		return nil
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, f, int64(n-len(f.head)))
	f.head = append(f.head, b.Bytes()...)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errOverLimit) {
		return incomplete(err)
	}
	return nil
}

// inspect reads the whole file, as far as its limits go, and judges it: type, declared size, header, size.
func (f *file) inspect(use gbp.MediaUse, contentType string) *Refusal {
	if refusal := f.more(sniffed); refusal != nil {
		return refusal
	}
	if len(f.head) == 0 {
		return emptyFile()
	}
	limits, refusal := f.kind(use, contentType)
	if refusal != nil {
		return refusal
	}
	if f.declared > limits.MaxBytes {
		return tooLarge(f.declared, limits)
	}
	f.limit = limits.MaxBytes
	if f.facts.Format == gbp.Photo {
		refusal = f.picture(limits)
	} else {
		refusal = f.video(limits)
	}
	if refusal != nil {
		return refusal
	}
	_, err := io.Copy(io.Discard, f)
	switch {
	case errors.Is(err, errOverLimit), f.read > limits.MaxBytes:
		return overLimit(limits)
	case err != nil:
		return incomplete(err)
	case f.read < limits.MinBytes:
		return tooSmall(f.read, limits)
	}
	f.facts.CutOff = f.facts.MIME == "image/jpeg" && !f.end.jpeg || f.facts.MIME == "image/png" && !f.end.png
	return nil
}

// kind tells the type by content and gives the limits that hold for it. What the host calls it decides only between a page
// and something unknown.
func (f *file) kind(use gbp.MediaUse, contentType string) (gbp.MediaLimits, *Refusal) {
	found := mimetype.Detect(f.head)
	kind, _, _ := mime.ParseMediaType(found.String())
	f.facts.MIME = kind
	family, _, _ := strings.Cut(kind, "/")
	switch {
	case kind == "image/vnd.mozilla.apng" || kind == "image/apng":
		return gbp.MediaLimits{}, animated(kind)
	case kind == "image/svg+xml" || kind == "application/pdf":
		return gbp.MediaLimits{}, unsupported(kind, use)
	case kind == "text/html" || page(contentType, family):
		return gbp.MediaLimits{}, viewerPage()
	case family == "image":
		f.facts.Format = gbp.Photo
	case family == "video" || mpeg4(f.head):
		f.facts.Format = gbp.Video
	default:
		return gbp.MediaLimits{}, notMedia(use)
	}
	limits, ok := gbp.LimitsOf(use, f.facts.Format)
	switch {
	case !ok:
		return limits, noVideo(kind)
	case !slices.Contains(limits.Types, kind):
		return limits, unsupported(kind, use)
	}
	return limits, nil
}

// page tells whether a text is called a page by its host.
func page(contentType, family string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return (family == "text" || family == "application") && (kind == "text/html" || kind == "application/xhtml+xml")
}

// picture reads the header of a JPEG or PNG. Nothing is decoded: the claimed size allocates nothing.
func (f *file) picture(limits gbp.MediaLimits) *Refusal {
	config, kind, err := image.DecodeConfig(bytes.NewReader(f.head))
	if err != nil {
		if refusal := f.more(maxHead); refusal != nil {
			return refusal
		}
		config, kind, err = image.DecodeConfig(bytes.NewReader(f.head))
	}
	if err != nil || "image/"+kind != f.facts.MIME {
		return broken(f.facts.MIME, err)
	}
	f.facts.Width, f.facts.Height = config.Width, config.Height
	switch {
	case int64(config.Width)*int64(config.Height) > limits.MaxPixels:
		return tooManyPixels(config.Width, config.Height, limits)
	case min(config.Width, config.Height) < limits.MinShortEdge:
		return shortEdge(config.Width, config.Height, limits)
	}
	if refusal := f.more(maxHead); refusal != nil {
		return refusal
	}
	several, frames := severalPictures(f.head)
	f.facts.ExtraPictures = several
	if frames {
		return animated(f.facts.MIME)
	}
	return nil
}
