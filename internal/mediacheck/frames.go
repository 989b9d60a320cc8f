package mediacheck

import (
	"bytes"
	"encoding/binary"
)

// severalPictures tells whether a JPEG or PNG carries further pictures beside its main one, and whether those are frames in
// their own right: the steps of an animated PNG, or the views and tiles of a multi-picture file as cameras for panoramas and
// 3D write it. Thumbnails, depth and brightness maps of phones are further pictures and no frames.
func severalPictures(head []byte) (several, frames bool) {
	if bytes.HasPrefix(head, []byte{0xFF, 0xD8}) {
		return multiPicture(head)
	}
	animated := animatedPNG(head)
	return animated, animated
}

// animatedPNG looks for the chunk acTL, which has to stand before the first IDAT.
func animatedPNG(head []byte) bool {
	for at := 8; at+8 <= len(head); {
		switch string(head[at+4 : at+8]) {
		case "acTL":
			return true
		case "IDAT", "IEND":
			return false
		}
		at += 12 + int(binary.BigEndian.Uint32(head[at:])&0x7FFFFFFF)
	}
	return false
}

// multiPicture walks the segments of a JPEG up to the start of its scan and looks for the index of CIPA's Multi-Picture Format.
func multiPicture(head []byte) (several, frames bool) {
	for at := 2; at+4 <= len(head); {
		marker := head[at+1]
		if head[at] != 0xFF || marker == 0xDA || marker == 0xD9 {
			return false, false
		}
		if marker == 0xFF { // fill byte
			at++
			continue
		}
		end := at + 2 + int(binary.BigEndian.Uint16(head[at+2:]))
		if marker == 0xE2 && end <= len(head) && bytes.HasPrefix(head[at+4:end], []byte("MPF\x00")) {
			return pictureIndex(head[at+8 : end])
		}
		if end <= at+2 {
			return false, false
		}
		at = end
	}
	return false, false
}

// Tags and kinds of the Multi-Picture Format (CIPA DC-007).
const (
	tagPictures = 0xB002
	entrySize   = 16
	kindFrames  = 0x020000 // panorama, disparity and multi-angle are 0x020001 to 0x020003
	kindMask    = 0xFF0000
)

// pictureIndex reads the small TIFF structure with one entry per picture.
func pictureIndex(b []byte) (several, frames bool) {
	if len(b) < 8 {
		return false, false
	}
	var order binary.ByteOrder = binary.BigEndian
	if bytes.HasPrefix(b, []byte("II")) {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return false, false
	}
	for i, n := int64(0), int64(order.Uint16(b[at:])); i < n; i++ {
		field := at + 2 + 12*i
		if field+12 > int64(len(b)) {
			return false, false
		}
		if order.Uint16(b[field:]) != tagPictures {
			continue
		}
		size, offset := int64(order.Uint32(b[field+4:])), int64(order.Uint32(b[field+8:]))
		for e := offset; e+entrySize <= min(offset+size, int64(len(b))); e += entrySize {
			frames = frames || order.Uint32(b[e:])&kindMask == kindFrames
		}
		return size > entrySize, frames && size > entrySize
	}
	return false, false
}

// pictureEnd looks for the mark at the end of a picture as it passes: EOI of a JPEG, IEND of a PNG. Neither is likely in the
// compressed data of its own format. A JPEG's thumbnail has one too: one that is cut off may go unnoticed, but a complete one is
// never suspected.
type pictureEnd struct {
	last      []byte // what a mark may have begun in
	jpeg, png bool
}

func (e *pictureEnd) look(p []byte) {
	e.last = append(e.last, p...)
	e.jpeg = e.jpeg || bytes.Contains(e.last, []byte{0xFF, 0xD9})
	e.png = e.png || bytes.Contains(e.last, []byte("IEND"))
	e.last = append(e.last[:0], e.last[max(len(e.last)-3, 0):]...)
}
