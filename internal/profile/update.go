package profile

import (
	"encoding/json"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// StoreUpdate is the change of one store.
type StoreUpdate struct {
	LocationID      gbp.LocationID `json:"location_id"`
	ExpectedVersion string         `json:"expected_version"`
	Changes         Changes        `json:"changes"`
}

// Update is the typed change of location.update.
type Update struct {
	Updates []StoreUpdate `json:"updates"`
}

// Normalise gives the canonical form; see Changes.Normalise. The receiver is left as it is.
func (u Update) Normalise() Update {
	out := Update{Updates: make([]StoreUpdate, len(u.Updates))}
	for i, s := range u.Updates {
		s.Changes = s.Changes.Normalise()
		out.Updates[i] = s
	}
	return out
}

// Canonical is the canonical form as bytes.
func (u Update) Canonical() []byte { return encode(u) }

// Words are one side of some changes as an object, {"title": "…", "website_url": null}: null is an absent value.
func Words(changed []FieldChange, after bool) gbp.View {
	out := make(orderedWords, len(changed))
	for i, c := range changed {
		out[i] = word{c.Field, c.Before}
		if after {
			out[i].value = c.After
		}
	}
	return gbp.View(out.encode())
}

// orderedWords keeps the order of the contract, which a map would lose.
type orderedWords []word

type word struct {
	field string
	value []byte
}

func (o orderedWords) encode() []byte {
	b := []byte{'{'}
	for i, w := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, encode(w.field)...)
		b = append(b, ':')
		b = append(b, w.value...)
	}
	return append(b, '}')
}

// Shown are some fields of a snapshot in words as an object, with texts cut by short.
func Shown(s Snapshot, fields []string, short func(string) string) json.RawMessage {
	v := ReadView(s)
	v.Title, v.Description, v.WebsiteURL = short(v.Title), short(v.Description), short(v.WebsiteURL)
	out := make(orderedWords, len(fields))
	for i, f := range fields {
		out[i] = word{f, v.word(f)}
	}
	return out.encode()
}
