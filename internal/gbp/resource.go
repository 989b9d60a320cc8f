package gbp

import (
	"encoding/json"
	"time"
)

// Resource is one of Google's things under our own id: a post, later a review or a media item.
type Resource struct {
	ID         string
	Kind       string
	Location   LocationID
	GoogleName string
	// OriginItem and Batch are set when we made it.
	OriginItem string
	Batch      string
	Snapshot   json.RawMessage
	SeenAt     time.Time
	DeletedAt  *time.Time
}
