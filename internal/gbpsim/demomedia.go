package gbpsim

import "strings"

// demoMedia is the gallery of a store of the chain: its front and its counter.
func demoMedia(code string) []MediaSeed {
	at := "https://komorebi-coffee.example/photos/" + strings.ToLower(code)
	return []MediaSeed{
		{Category: "EXTERIOR", SourceURL: at + "-front.jpg", Width: 1600, Height: 1200},
		{Category: "INTERIOR", SourceURL: at + "-counter.jpg", Description: "カウンター席", Width: 1200, Height: 1200},
	}
}
