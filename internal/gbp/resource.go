package gbp

import (
	"encoding/json"
	"errors"
	"time"
)

// Kind says what a write is about, or what one of Google's things is.
type Kind string

// The kinds. A location is known by its number, the others by ids of our own.
const (
	KindPost     Kind = "post"
	KindReview   Kind = "review"
	KindMedia    Kind = "media"
	KindLocation Kind = "location"
	KindReport   Kind = "report"
)

// Resource is one of Google's things under our own id: a post, a review or a media item.
type Resource struct {
	ID         string
	Kind       Kind
	Location   LocationID
	GoogleName string
	// OriginItem and Batch are set when we made it.
	OriginItem string
	Batch      string
	Snapshot   json.RawMessage
	SeenAt     time.Time
	DeletedAt  *time.Time
}

// Seen is one of Google's things as a live read found it.
type Seen struct {
	Name string
	Raw  json.RawMessage
}

// ErrMore comes with a reading that is only the beginning of Google's list: what was read is given with it, and the absence of
// a thing from it proves nothing.
var ErrMore = errors.New("the list goes on beyond what was read")
