package gbp

import "slices"

// MediaUse is what a file is for; limits depend on it.
type MediaUse string

// The uses.
const (
	// UsePost: the picture of a post.
	UsePost MediaUse = "post"
	// UseGallery: an item of the gallery in any category but the three below.
	UseGallery MediaUse = "gallery"
	// UseLogo: the LOGO.
	UseLogo MediaUse = "logo"
	// UseCover: COVER and PROFILE, for which Google's general floor does not hold.
	UseCover MediaUse = "cover"
)

// Use is what an item of the category is for.
func (c MediaCategory) Use() MediaUse {
	switch c {
	case CategoryCover, CategoryProfile:
		return UseCover
	case CategoryLogo:
		return UseLogo
	default:
		return UseGallery
	}
}

// MediaLimits are what a file has to keep to. A bound of 0 is none.
type MediaLimits struct {
	Use    MediaUse
	Format MediaFormat
	// Types are the content types that are taken.
	Types []string
	// MinBytes and MaxBytes bound the file; both are allowed values.
	MinBytes, MaxBytes int64
	// MinShortEdge bounds the smaller of width and height, in pixels.
	MinShortEdge int
	// MaxPixels bounds width times height.
	MaxPixels int64
	// MinSeconds and MaxSeconds bound the length of a video.
	MinSeconds, MaxSeconds float64
}

// The numbers and where each comes from (all read 2026-11):
//
//   - photoMinBytes, photoMinEdge: Google's v4 reference, "250 px on the short edge and 10240 bytes", for photos other than
//     COVER and PROFILE. For photos of posts other sources say 400 x 300; the smaller bound is kept.
//   - photoMaxBytes: the help centre's "5 MB". It does not say which megabyte, so the smaller one holds.
//   - photoMaxPixels is ours: a header may claim any size, and no photo of 5 MB has more.
//   - videoMaxBytes: Google's fetcher was seen to refuse more than 26,214,400 bytes (code 10); the help centre's 75 MB is for
//     uploads by hand.
//   - videoMinEdge, videoMaxSeconds: the help centre's "720p" and "30 seconds". videoMinSeconds: another integrator's.
//   - JPEG and PNG only: help centre. MP4 and QuickTime: what the fetcher is reported to take.
//   - No video as cover, profile picture or logo: Google calls all three photos. No video in posts: refused when probed.
const (
	photoMinBytes   = 10_240
	photoMaxBytes   = 5_000_000
	photoMinEdge    = 250
	photoMaxPixels  = 100_000_000
	videoMaxBytes   = 26_214_400
	videoMinEdge    = 720
	videoMinSeconds = 1
	videoMaxSeconds = 30
)

// MediaLimitTable gives all limits: the one place that knows them.
func MediaLimitTable() []MediaLimits {
	photo := func(use MediaUse) MediaLimits {
		return MediaLimits{
			Use: use, Format: Photo, Types: []string{"image/jpeg", "image/png"},
			MinBytes: photoMinBytes, MaxBytes: photoMaxBytes, MinShortEdge: photoMinEdge, MaxPixels: photoMaxPixels,
		}
	}
	cover := photo(UseCover)
	cover.MinBytes, cover.MinShortEdge = 0, 0
	return []MediaLimits{
		photo(UsePost), photo(UseGallery), photo(UseLogo), cover,
		{
			Use: UseGallery, Format: Video, Types: []string{"video/mp4", "video/quicktime", "video/x-m4v"},
			MaxBytes: videoMaxBytes, MinShortEdge: videoMinEdge, MinSeconds: videoMinSeconds, MaxSeconds: videoMaxSeconds,
		},
	}
}

// LimitsOf gives the limits of a use and format; false means that the use does not take the format at all.
func LimitsOf(use MediaUse, f MediaFormat) (MediaLimits, bool) {
	all := MediaLimitTable()
	i := slices.IndexFunc(all, func(l MediaLimits) bool { return l.Use == use && l.Format == f })
	if i < 0 {
		return MediaLimits{}, false
	}
	return all[i], true
}
