package terminal

import (
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
)

// Verdict is what a walk along the hash chain found, in a line.
func Verdict(r audit.Report) string {
	if !r.Valid {
		return fmt.Sprintf("broken at %s: %s", r.FirstBroken, r.Problem)
	}
	s := fmt.Sprintf("valid: %s in %s", Count(r.Sealed, "event"), Count(r.Seals, "seal"))
	if r.Newest.No > 0 {
		s += fmt.Sprintf(", newest seal %d, hash %s", r.Newest.No, r.Newest.Hash)
	}
	s += fmt.Sprintf(", %d not sealed yet", r.Unsealed)
	if r.Kept > 0 {
		s += fmt.Sprintf("; seal %d is the one that was kept", r.Kept)
	}
	return s
}
