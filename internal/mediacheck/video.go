package mediacheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// mpeg4 recognises QuickTime files of the time before file type boxes.
func mpeg4(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	switch string(head[4:8]) {
	case "moov", "mdat":
		return true
	}
	return false
}

// maxMovie bounds the box that describes a video; half a minute needs some kilobytes.
const maxMovie = 4 << 20

// movie is what the description of a video tells.
type movie struct {
	seconds       float64
	width, height int
}

// video walks the top boxes of an MP4 or QuickTime file to its description, which may stand at the end, and judges length
// and size. Only the description is held in memory.
func (f *file) video(limits gbp.MediaLimits) *Refusal {
	whole := io.MultiReader(bytes.NewReader(f.head), f)
	m, err := readMovie(whole)
	switch {
	case errors.Is(err, errOverLimit):
		return overLimit(limits)
	case err != nil && f.broke != nil:
		return incomplete(f.broke)
	case err != nil:
		return broken(f.facts.MIME, err)
	}
	f.facts.Width, f.facts.Height, f.facts.Seconds = m.width, m.height, m.seconds
	switch {
	case m.width == 0 || m.height == 0:
		return broken(f.facts.MIME, errors.New("no picture track"))
	case min(m.width, m.height) < limits.MinShortEdge:
		return shortEdge(m.width, m.height, limits)
	case m.seconds > 0 && (m.seconds < limits.MinSeconds || m.seconds > limits.MaxSeconds):
		return videoLength(m.seconds, limits)
	}
	return nil
}

var errNoMovie = errors.New("no readable movie box")

func readMovie(r io.Reader) (movie, error) {
	for {
		var h [16]byte
		if _, err := io.ReadFull(r, h[:8]); err != nil {
			return movie{}, boxEnd(err)
		}
		size, head := int64(binary.BigEndian.Uint32(h[:])), int64(8)
		if size == 1 { // a 64-bit size follows
			if _, err := io.ReadFull(r, h[8:]); err != nil {
				return movie{}, boxEnd(err)
			}
			size, head = int64(min(binary.BigEndian.Uint64(h[8:]), 1<<62)), 16
		}
		kind := string(h[4:8])
		if size < head || kind == "moov" && size > maxMovie { // size 0 is "to the end": nothing can follow
			return movie{}, errNoMovie
		}
		if kind == "moov" {
			b := make([]byte, 0, 4096)
			w := bytes.NewBuffer(b)
			if _, err := io.CopyN(w, r, size-head); err != nil {
				return movie{}, boxEnd(err)
			}
			return parseMovie(w.Bytes()), nil
		}
		if _, err := io.CopyN(io.Discard, r, size-head); err != nil {
			return movie{}, boxEnd(err)
		}
	}
}

// boxEnd tells a file that ends without description from a connection that breaks.
func boxEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errNoMovie
	}
	return fmt.Errorf("read boxes: %w", err)
}

// parseMovie reads length and the largest track. Missing and odd parts leave zeros.
func parseMovie(b []byte) movie {
	var m movie
	boxes(b, func(kind string, body []byte) {
		switch kind {
		case "mvhd":
			m.seconds = length(body)
		case "trak":
			boxes(body, func(kind string, body []byte) {
				if kind == "tkhd" && len(body) >= 8 {
					w := int(binary.BigEndian.Uint16(body[len(body)-8:])) // 16.16 fixed point, the last two fields of the box
					h := int(binary.BigEndian.Uint16(body[len(body)-4:]))
					if w*h > m.width*m.height {
						m.width, m.height = w, h
					}
				}
			})
		}
	})
	return m
}

func boxes(b []byte, each func(kind string, body []byte)) {
	for len(b) >= 8 {
		size := int64(binary.BigEndian.Uint32(b))
		if size < 8 || size > int64(len(b)) {
			return
		}
		each(string(b[4:8]), b[8:size])
		b = b[size:]
	}
}

// length is duration over time scale, in either version of the box.
func length(b []byte) float64 {
	var scale, units float64
	switch {
	case len(b) >= 20 && b[0] == 0:
		scale, units = float64(binary.BigEndian.Uint32(b[12:])), float64(binary.BigEndian.Uint32(b[16:]))
	case len(b) >= 32 && b[0] == 1:
		scale, units = float64(binary.BigEndian.Uint32(b[20:])), float64(binary.BigEndian.Uint64(b[24:]))
	}
	if scale == 0 {
		return 0
	}
	return units / scale
}
