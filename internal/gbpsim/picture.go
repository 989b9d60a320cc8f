package gbpsim

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
)

// samplePicture serves a photo of 1200 x 900 that every check takes, for demonstrations without the internet. The picture
// depends on its name alone.
func samplePicture(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	var seed uint64 = 14695981039346656037
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	m := image.NewRGBA(image.Rect(0, 0, 1200, 900))
	for y := range 900 {
		for x := range 1200 {
			seed = seed*6364136223846793005 + 1442695040888963407
			grain := byte(seed >> 61)
			m.SetRGBA(x, y, color.RGBA{R: byte(120+x/10) + grain, G: byte(70+y/10) + grain, B: byte(40+(x+y)/20) + grain, A: 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		http.Error(w, "the picture cannot be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_, _ = w.Write(b.Bytes()) // the client may be gone
}
