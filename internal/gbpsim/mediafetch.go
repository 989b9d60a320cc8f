package gbpsim

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	_ "image/jpeg" // the formats that Google takes
	_ "image/png"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of what Google fetches. The one for video is captured, the one for photos is the help centre's.
const (
	fetchedPhotoMax = 5 << 20
	fetchedVideoMax = 26_214_400
	photoMinBytes   = 10_240
	photoMinEdge    = 250
)

// fetched is a file that the simulator looked into.
type fetched struct {
	failed bool
	size   int64
	// kind is "jpeg", "png", "video", or "" for everything else.
	kind string
	dimensions
	animated bool
}

// fetchSources gets the files that a create names, before anything is locked, when the knob says so.
func (c *call) fetchSources() {
	if !c.sim.Knobs().FetchMedia || c.route.name != RouteMediaCreate && c.route.name != RouteLocalPostsCreate {
		return
	}
	type source struct {
		SourceURL  string `json:"sourceUrl"`
		SourceURL2 string `json:"source_url"`
	}
	var body struct {
		source
		Media []source `json:"media"`
	}
	if json.Unmarshal(c.body, &body) != nil {
		return // its shape is refused later
	}
	c.fetched = map[string]fetched{}
	for _, s := range append(body.Media, body.source) {
		if u := s.SourceURL + s.SourceURL2; u != "" {
			c.fetched[u] = fetchMedia(c.r.Context(), u)
		}
	}
}

// fetchMedia gets a file as Google's fetcher would. What it fetches is what a client of the simulator asked for: the knob is for
// developers' machines.
func fetchMedia(ctx context.Context, address string) fetched {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // Google goes on when the client hangs up
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fetched{failed: true}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fetched{failed: true}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, fetchedVideoMax+1))
	if err != nil || res.StatusCode != http.StatusOK {
		return fetched{failed: true}
	}
	return lookInto(body, max(int64(len(body)), res.ContentLength))
}

// lookInto tells what content is.
func lookInto(content []byte, size int64) fetched {
	f := fetched{size: size}
	if config, kind, err := image.DecodeConfig(bytes.NewReader(content)); err == nil && (kind == "jpeg" || kind == "png") {
		f.kind, f.WidthPixels, f.HeightPixels = kind, config.Width, config.Height
		f.animated = kind == "png" && bytes.Contains(content[:min(len(content), 4096)], []byte("acTL"))
	} else if len(content) > 8 && string(content[4:8]) == "ftyp" {
		f.kind = "video"
	}
	return f
}

// judge applies Google's bounds of files to a media item.
func (f fetched) judge(m mediaItemBody, field string) (dimensions, *reply) {
	most := int64(fetchedPhotoMax)
	if m.MediaFormat == formatVideo {
		most = fetchedVideoMax
	}
	if f.size > most {
		return dimensions{}, invalid(ruleGalleryTooLarge, tooLarge, field, "The media is too large: "+strconv.FormatInt(f.size, 10)+" bytes.", "")
	}
	special := m.LocationAssociation != nil && (m.LocationAssociation.Category == categoryCover || m.LocationAssociation.Category == categoryProfile)
	var words string
	switch {
	case (f.kind == "video") != (m.MediaFormat == formatVideo), f.kind == "":
		words = "The media format is not supported."
	case f.animated:
		words = "Multiframe images are unsupported."
	case m.MediaFormat == formatPhoto && !special && (min(f.WidthPixels, f.HeightPixels) < photoMinEdge || f.size < photoMinBytes):
		words = "The photo is too small."
	default:
		return f.dimensions, nil
	}
	return dimensions{}, invalid(ruleGalleryContent, photoUnsuitable, field, words, "")
}
