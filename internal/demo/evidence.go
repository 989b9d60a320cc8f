package demo

import (
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// holdings says what the simulator holds and what it was asked for.
func (s *stage) holdings() string {
	posts := s.sim.Posts("")
	stores := map[gbpsim.LocationName]bool{}
	for _, p := range posts {
		stores[p.Location] = true
	}
	return fmt.Sprintf("%d posts on %d of %d stores (asked %d times to publish one)", len(posts), len(stores), worldSize, s.creates())
}

// creates counts the calls that asked for a post.
func (s *stage) creates() int {
	return len(s.sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate}))
}

// googleName is a store's name at Google, found by the chain's own code, which both sides know.
func (s *stage) googleName(storeCode string) gbpsim.LocationName {
	for _, l := range s.sim.World().Locations {
		if l.StoreCode == storeCode {
			return l.Name
		}
	}
	return ""
}

// witness reads from the simulator's journal what became of a store.
func (s *stage) witness(store tools.LocationEntry) storeFacts {
	out := storeFacts{Location: int64(store.LocationID), Title: store.Title}
	for _, e := range s.sim.Entries(gbpsim.EntryFilter{Location: s.googleName(store.StoreCode)}) {
		switch e.Route {
		case gbpsim.RouteLocalPostsCreate:
			out.Creates++
			if e.Effect {
				out.Posts++
			}
			if e.Outcome == gbpsim.Dropped {
				out.Unanswered++
			}
			if e.Status >= 400 {
				out.Refused = e.Status
			}
		case gbpsim.RouteLocalPostsList:
			out.Reads++
		default:
		}
	}
	return out
}

// told is what happened at a store in words.
func (f storeFacts) told() string {
	switch {
	case f.Refused != 0:
		return fmt.Sprintf("refused with %d, nothing published, not asked again", f.Refused)
	case f.Unanswered > 0:
		return fmt.Sprintf("published without an answer; found by reading back (%d read), not sent again", f.Reads)
	}
	return "published"
}
