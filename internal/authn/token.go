package authn

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
)

// A Mappy token is mappy_<environment>_<43 base64url>_<8 hex>: 256 random bits and a CRC-32 of all before the last
// underscore, so that a mistyped or cut token is refused without a look-up and secret scanners can recognise one.
var tokenShape = regexp.MustCompile(`^mappy_([a-z]{3,16})_([A-Za-z0-9_-]{43})_([0-9a-f]{8})$`)

// NewToken makes a fresh token for an environment such as "production".
func NewToken(environment string) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand stops the process when the system has no randomness
	head := fmt.Sprintf("mappy_%s_%s", environment, base64.RawURLEncoding.EncodeToString(b[:]))
	return head + "_" + checksum(head)
}

// CheckToken tells whether a token is well formed and of this environment.
func CheckToken(token, environment string) bool {
	m := tokenShape.FindStringSubmatch(token)
	if m == nil || m[1] != environment {
		return false
	}
	return checksum(token[:strings.LastIndexByte(token, '_')]) == m[3]
}

// HashToken is the SHA-256 under which a token is stored; the token itself never is.
func HashToken(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

func checksum(head string) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(head))))
}
