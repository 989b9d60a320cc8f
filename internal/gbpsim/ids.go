package gbpsim

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"strings"
	"sync/atomic"
)

// AccountName is "accounts/{a}".
type AccountName string

// LocationName is the v1 name "locations/{l}".
type LocationName string

// PostName is the v4 name "accounts/{a}/locations/{l}/localPosts/{p}".
type PostName string

// ReviewName is the v4 name "accounts/{a}/locations/{l}/reviews/{r}".
type ReviewName string

// valid tells whether the name has its two parts.
func (a AccountName) valid() bool { return twoParts(string(a), "accounts") }

func (l LocationName) valid() bool { return twoParts(string(l), "locations") }

func twoParts(s, collection string) bool {
	id, ok := strings.CutPrefix(s, collection+"/")
	return ok && id != "" && !strings.ContainsAny(id, "/?#% ")
}

// bareLocation turns "accounts/1/locations/2" into "locations/2" and leaves other spellings as they are.
func bareLocation(l LocationName) LocationName {
	if i := strings.Index(string(l), "/locations/"); i >= 0 {
		return l[i+1:]
	}
	return l
}

// postIDs hands out ids of 19 digits that never repeat within a simulator and hardly between two of them.
type postIDs struct{ n atomic.Uint64 }

// next gives an id and its place in the order of creation.
func (p *postIDs) next() (id string, order uint64) {
	const spread, span, floor = 0x9E3779B97F4A7C15, 1<<62 - 1, 1_000_000_000_000_000_000 // an odd factor makes the map one to one
	order = p.n.Add(1)
	return strconv.FormatUint(floor+(order*spread)&span, 10), order
}

// stableDigits gives n digits that depend only on the seed number, the first of them not zero.
func stableDigits(seed uint64, n int) string {
	var b strings.Builder
	x := seed
	for b.Len() < n {
		x += 0x9E3779B97F4A7C15
		z := (x ^ x>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		d := (z ^ z>>31) % 10
		if b.Len() == 0 {
			d = 1 + d%9
		}
		b.WriteByte(byte('0' + d))
	}
	return b.String()
}

// stableText gives n characters of an opaque id that depend only on the seed number.
func stableText(seed uint64, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	digits := stableDigits(seed, 2*n)
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[(int(digits[2*i]-'0')*10+int(digits[2*i+1]-'0'))%len(letters)]
	}
	return string(b)
}

func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
