package tools

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// reading is one thing that a store has at Google.
type reading struct {
	gbp.Resource
	// Gone is true when Google no longer has it; the rest is then what was last read of it.
	Gone bool
	At   time.Time
}

// readOne reads a thing by our id, as Google's list of its store has it. What is missing in a list that goes on beyond what was
// read is given as it was last read. An absent id and one that is not the caller's give absent.
func (s *Set) readOne(ctx context.Context, call *Call, kind gbp.Kind, id string, absent *errs.Error) (r reading, err error) {
	known, ok, err := s.Store.Resource(ctx, call.Principal.TenantID, kind, id)
	if err != nil {
		return r, err
	}
	loc, err := s.location(ctx, call, known.Location)
	if !ok || errs.CodeOf(err) == errs.LocationNotFound {
		return r, absent.With(errs.Details{NotFound: []string{id}})
	}
	if err != nil {
		return r, err
	}
	live, at, err := s.Live.Read(ctx, call.Principal.TenantID, loc, kind)
	more := errors.Is(err, gbp.ErrMore)
	if err != nil && !more {
		return r, err
	}
	switch i := slices.IndexFunc(live, func(x gbp.Resource) bool { return x.ID == id }); {
	case i >= 0:
		return reading{live[i], false, at}, nil
	case more:
		return reading{known, known.DeletedAt != nil, known.SeenAt}, nil
	}
	return reading{known, true, at}, nil
}
