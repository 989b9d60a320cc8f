package tools

import (
	"slices"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

type entry struct {
	at gbp.LocationID
	n  int
}

func (e entry) store() gbp.LocationID { return e.at }

// A page that ended within a store goes on there; when that store has left since, nothing of the next one is left out.
func TestPagesWithinAStore(t *testing.T) {
	t.Parallel()
	all := []entry{{3, 0}, {3, 1}, {3, 2}, {5, 0}, {5, 1}}
	var seen []entry
	from := storeCursor{}
	for {
		p := storePage[entry]{Entries: slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.at <= from.after })}
		if err := p.cut(from, 2, pageBytes); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, p.Entries...)
		if p.Next == "" {
			break
		}
		var err error
		if from, err = readStoreCursor(p.Next, "en"); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(seen, all) {
		t.Errorf("%v", seen)
	}
	left := storePage[entry]{Entries: slices.Clone(all[3:])}
	if err := left.cut(storeCursor{after: 2, skip: 2}, 10, pageBytes); err != nil || !slices.Equal(left.Entries, all[3:]) {
		t.Errorf("%v %v", left.Entries, err)
	}
}
