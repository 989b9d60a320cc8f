package mediacheck_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
)

// noise is a picture that compresses badly.
func noise(w, h int) image.Image {
	m := image.NewGray(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = byte(r.UintN(256))
	}
	return m
}

// jpegOf is a JPEG of exactly size bytes (0: as it comes); what is missing is put behind its end.
func jpegOf(w, h, size int) []byte {
	var b bytes.Buffer
	var m image.Image = image.NewGray(image.Rect(0, 0, w, h))
	if size == 0 {
		m = noise(w, h)
	}
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic(err)
	}
	if size != 0 && b.Len() > size {
		panic("the picture is larger than asked for")
	}
	if size != 0 {
		b.Write(make([]byte, size-b.Len()))
	}
	return b.Bytes()
}

func pngOf(w, h int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, noise(w, h)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func chunk(kind string, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// pngClaiming is a PNG header with any size in it.
func pngClaiming(w, h uint32, size int) []byte {
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	b := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(ihdr, 8, 2, 0, 0, 0))...)
	return append(append(b, chunk("IDAT", nil)...), make([]byte, max(size-len(b)-12, 0))...)
}

// apng puts an animation control chunk behind chunks of other kinds.
func apng(before ...[]byte) []byte {
	b := pngOf(300, 300)
	const header = 8 + 25
	out := append([]byte(nil), b[:header]...)
	for _, c := range before {
		out = append(out, c...)
	}
	out = append(out, chunk("acTL", []byte{0, 0, 0, 2, 0, 0, 0, 0})...)
	return append(out, b[header:]...)
}

// jpegClaiming is a JPEG of some kilobytes with any size in its header.
func jpegClaiming(w, h uint16, size int) []byte {
	b := jpegOf(300, 300, 0)
	at := bytes.Index(b, []byte{0xFF, 0xC0})
	binary.BigEndian.PutUint16(b[at+5:], h)
	binary.BigEndian.PutUint16(b[at+7:], w)
	return append(b, make([]byte, max(size-len(b), 0))...)
}

// segment is a JPEG segment.
func segment(marker byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xFF, marker}, uint16(len(body)+2)), body...)
}

// jpegWith puts segments behind the start of a JPEG.
func jpegWith(segments ...[]byte) []byte {
	b := jpegOf(400, 300, 0)
	out := append([]byte(nil), b[:2]...)
	for _, s := range segments {
		out = append(out, s...)
	}
	return append(out, b[2:]...)
}

// mpf is a Multi-Picture Format index with one entry per kind.
func mpf(order binary.AppendByteOrder, kinds ...uint32) []byte {
	mark := "MM\x00*"
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		mark = "II*\x00"
	}
	b := order.AppendUint32([]byte(mark), 8)
	b = order.AppendUint16(b, 3)
	entry := func(tag, kind uint16, count, value uint32) {
		b = order.AppendUint32(order.AppendUint32(order.AppendUint16(order.AppendUint16(b, tag), kind), count), value)
	}
	entry(0xB000, 7, 4, 0x30303130)
	entry(0xB001, 4, 1, uint32(len(kinds)))
	entry(0xB002, 7, uint32(16*len(kinds)), 8+2+36+4)
	b = order.AppendUint32(b, 0)
	for _, k := range kinds {
		b = append(order.AppendUint32(b, k), make([]byte, 12)...)
	}
	return segment(0xE2, append([]byte("MPF\x00"), b...))
}

// webp is a lossy WebP header of the given size.
func webp(w, h uint16) []byte {
	frame := []byte{0x30, 0x01, 0x00, 0x9D, 0x01, 0x2A}
	frame = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(frame, w), h)
	frame = append(frame, make([]byte, 20_000)...)
	b := append([]byte("VP8 "), binary.LittleEndian.AppendUint32(nil, uint32(len(frame)))...)
	b = append(append([]byte("WEBP"), b...), frame...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(b))), b...)
}

func box(kind string, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(all)+8)), kind...), all...)
}

// video is an MP4 (brand "isom") or QuickTime (brand "qt  ") file; last puts its description behind the data.
func video(brand string, w, h uint16, seconds float64, data int, last bool) []byte {
	mvhd := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(make([]byte, 12), 1000), uint32(seconds*1000))
	tkhd := make([]byte, 84)
	binary.BigEndian.PutUint16(tkhd[76:], w)
	binary.BigEndian.PutUint16(tkhd[80:], h)
	sound := make([]byte, 84)
	moov := box("moov", box("mvhd", append(mvhd, make([]byte, 80)...)), box("trak", box("tkhd", sound)), box("trak", box("tkhd", tkhd)))
	ftyp := box("ftyp", []byte(brand), []byte{0, 0, 2, 0}, []byte(brand))
	mdat := box("mdat", make([]byte, data))
	if last {
		return bytes.Join([][]byte{ftyp, mdat, moov}, nil)
	}
	return bytes.Join([][]byte{ftyp, moov, mdat}, nil)
}

// heic is the start of an HEIC file.
func heic() []byte {
	return append(box("ftyp", []byte("heic"), []byte{0, 0, 0, 0}, []byte("mif1heic")), make([]byte, 20_000)...)
}
