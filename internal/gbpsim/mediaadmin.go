package gbpsim

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxUpload bounds the bytes of an upload: the help centre's 75 MB of a video.
const maxUpload = 75_000_000

// bodyLimit is how much of a request to a path is read.
func bodyLimit(path string) int64 {
	if strings.HasPrefix(path, "upload/") {
		return maxUpload
	}
	return maxBody
}

// shownBody is the body as the journal keeps it.
func (c *call) shownBody() string {
	if c.route != nil && c.route.raw {
		return fmt.Sprintf("%d bytes, sha256 %x", len(c.body), sha256.Sum256(c.body))
	}
	return string(c.body)
}

type addMediaRequest struct {
	Location LocationName `json:"location"`
	Media    MediaSeed    `json:"media"`
}

type mediaNameAnswer struct {
	Name MediaName `json:"name"`
}

func (s *Sim) adminMedia(m *http.ServeMux) {
	m.HandleFunc("GET /admin/media", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, s.Media(LocationName(r.URL.Query().Get("location"))))
	})
	m.HandleFunc("POST /admin/media", func(w http.ResponseWriter, r *http.Request) {
		var in addMediaRequest
		if !readJSON(w, r, &in) {
			return
		}
		name, err := s.AddMedia(in.Location, in.Media)
		if err != nil {
			writeMistake(w, err)
			return
		}
		writeJSON(w, mediaNameAnswer{name})
	})
	m.HandleFunc("DELETE /admin/media", func(w http.ResponseWriter, r *http.Request) {
		writeDone(w, s.RemoveMedia(MediaName(r.URL.Query().Get("name"))))
	})
}

// Media gives the existing items of a location's gallery, or of all for "".
func (c Client) Media(ctx context.Context, location LocationName) ([]Media, error) {
	var out []Media
	return out, c.do(ctx, http.MethodGet, "media?location="+url.QueryEscape(string(location)), nil, &out)
}

// AddMedia puts an item into a gallery behind every client's back.
func (c Client) AddMedia(ctx context.Context, location LocationName, m MediaSeed) (MediaName, error) {
	var out mediaNameAnswer
	err := c.do(ctx, http.MethodPost, "media", addMediaRequest{location, m}, &out)
	return out.Name, err
}

// RemoveMedia takes an item away behind every client's back.
func (c Client) RemoveMedia(ctx context.Context, name MediaName) error {
	return c.do(ctx, http.MethodDelete, "media?name="+url.QueryEscape(string(name)), nil, nil)
}
