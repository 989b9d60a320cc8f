package mediacheck

import (
	"bytes"
	"crypto/sha256"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Judge judges content without a network.
func Judge(content []byte, use gbp.MediaUse) (Facts, *Refusal) {
	f := file{digest: sha256.New(), body: bytes.NewReader(content), declared: -1}
	if r := f.inspect(use, ""); r != nil {
		return Facts{}, r
	}
	f.facts.Bytes = f.read
	return f.facts, nil
}
