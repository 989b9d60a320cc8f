package batch

import "github.com/mappy-dev/mappy-mcp/internal/gbp"

// PublicationOfReply maps Google's state of a reply (gbp.RemoteReply.State). The set is open: a word that came later, and an
// answer without one, say that Google took it and no more.
func PublicationOfReply(state string) Publication {
	switch state {
	case gbp.ReplyApproved:
		return Live
	case gbp.ReplyPending:
		return PendingReview
	case gbp.ReplyRejected:
		return Rejected
	}
	return Accepted
}
