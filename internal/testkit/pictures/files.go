package pictures

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
)

// JPEG is a photo of exactly size bytes (0: as it comes). What is missing is put behind its end, a different byte per salt, so
// that two photos differ.
func JPEG(w, h, size int, salt byte) []byte {
	m := image.NewGray(image.Rect(0, 0, w, h))
	m.Pix[0] = salt
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic("pictures: " + err.Error())
	}
	if size != 0 && b.Len() > size {
		panic("pictures: the photo is larger than asked for")
	}
	b.Write(bytes.Repeat([]byte{salt}, max(size-b.Len(), 0)))
	return b.Bytes()
}

// PNG is a picture in the other format that is taken.
func PNG(w, h int) []byte {
	var b bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, w, h))
	seed := uint32(1)
	for i := range m.Pix { // noise, so that it does not compress below Google's floor
		seed = seed*1664525 + 1013904223
		m.Pix[i] = byte(seed >> 24)
	}
	if err := png.Encode(&b, m); err != nil {
		panic("pictures: " + err.Error())
	}
	return b.Bytes()
}

// PNGClaiming is a PNG whose header tells any size.
func PNGClaiming(w, h uint32, size int) []byte {
	chunk := func(kind string, body []byte) []byte {
		out := append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), kind...), body...)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	}
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	b := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(ihdr, 8, 2, 0, 0, 0))...)
	return append(append(b, chunk("IDAT", nil)...), make([]byte, max(size-len(b)-12, 0))...)
}

// WebP is the header of a lossy WebP with 20 kB behind it.
func WebP(w, h uint16) []byte {
	frame := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte{0x30, 0x01, 0x00, 0x9D, 0x01, 0x2A}, w), h)
	frame = append(frame, make([]byte, 20_000)...)
	b := append([]byte("VP8 "), binary.LittleEndian.AppendUint32(nil, uint32(len(frame)))...)
	b = append(append([]byte("WEBP"), b...), frame...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(b))), b...)
}

// MP4 is a video of exactly size bytes: its description and then data.
func MP4(w, h uint16, seconds float64, size int) []byte {
	box := func(kind string, body ...[]byte) []byte {
		all := bytes.Join(body, nil)
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(all)+8)), kind...), all...)
	}
	mvhd := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(make([]byte, 12), 1000), uint32(seconds*1000))
	tkhd := make([]byte, 84)
	binary.BigEndian.PutUint16(tkhd[76:], w)
	binary.BigEndian.PutUint16(tkhd[80:], h)
	moov := box("moov", box("mvhd", append(mvhd, make([]byte, 80)...)), box("trak", box("tkhd", tkhd)))
	ftyp := box("ftyp", []byte("isom"), []byte{0, 0, 2, 0}, []byte("isom"))
	return bytes.Join([][]byte{ftyp, moov, box("mdat", make([]byte, max(size-len(ftyp)-len(moov)-8, 0)))}, nil)
}
