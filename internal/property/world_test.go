package property

import (
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// world is what Google has of a sequence's stores: the text of each post, photo, reply and description by the name of what it
// belongs to. A review without a reply and a store without a description have "".
type world map[string]string

// look gives the world as it is now, whatever faults hide.
func (s *sequence) look() world {
	w := world{}
	for _, l := range s.stores {
		name := gbpsim.LocationName(l.Name)
		for _, p := range s.Sim.Posts(name) {
			w[string(p.Name)] = p.Summary
		}
		for _, m := range s.Sim.Media(name) {
			w[string(m.Name)] = m.SourceURL
		}
		for _, r := range s.Sim.Reviews(name) {
			w[string(r.Name)] = ""
			if r.Reply != nil {
				w[string(r.Name)] = r.Reply.Comment
			}
		}
		store, err := s.Sim.Store(name)
		if err != nil {
			s.wrong("%v", err)
		}
		w[string(l.Name)] = member("description")(store.Fields["profile"])
	}
	return w
}

// furnish gives each store what people and customers left there: a review, now and then with a reply from Google's own app.
func (s *sequence) furnish() {
	for i, l := range s.stores {
		r := gbpsim.Review{Location: gbpsim.LocationName(l.Name), Stars: 1 + i%5, Comment: "おいしかったです。", ID: "R" + s.run + "-" + string(rune('a'+i))}
		if (int(s.plan.Seed)+i)%4 == 0 {
			r.Reply = &gbpsim.ReviewReply{Comment: "ご来店ありがとうございました。"}
		}
		if _, err := s.Sim.PutReview(r); err != nil {
			s.wrong("review: %v", err)
		}
	}
}

// clear takes away what the sequence left at Google, so that lists stay short.
func (s *sequence) clear() {
	for _, l := range s.stores {
		name := gbpsim.LocationName(l.Name)
		for _, p := range s.Sim.Posts(name) {
			if err := s.Sim.RemovePost(p.Name); err != nil {
				s.note("clear: %v", err)
			}
		}
		for _, m := range s.Sim.Media(name) {
			if _, before := s.before[string(m.Name)]; before {
				continue
			}
			if err := s.Sim.RemoveMedia(m.Name); err != nil {
				s.note("clear: %v", err)
			}
		}
		for _, r := range s.Sim.Reviews(name) {
			if err := s.Sim.RemoveReview(r.Name); err != nil {
				s.note("clear: %v", err)
			}
		}
	}
}

// fate is what items make of a thing.
type fate struct {
	gone, unsure bool
	text         string
}

// judgeWorld: what is at Google is what the items say, with the text that the last change left.
func (s *sequence) judgeWorld(b books) {
	fates := map[string]*fate{}
	for name, text := range s.before {
		fates[name] = &fate{text: text}
	}
	unknownCreates := 0
	for _, i := range b.items {
		if !i.of().creates {
			continue
		}
		if i.maybe() {
			unknownCreates++
		}
		if i.Made != "" {
			fates[i.Made] = &fate{text: i.of().leaves(i.Payload)}
		}
	}
	for _, i := range b.items { // in the order of their making
		if f := fates[i.Target]; i.Target != "" && f != nil {
			f.goOn(i)
		}
	}
	loose := 0
	for name, text := range b.world {
		f := fates[name]
		switch {
		case f == nil:
			loose++
		case f.unsure:
		case f.gone:
			s.wrong("%s is there and an item says that it is deleted", name)
		case text != f.text:
			s.wrong("%s says %q, its items make it %q", name, text, f.text)
		}
	}
	if loose > unknownCreates {
		s.wrong("%d things are there that no item knows, %d items unknown", loose, unknownCreates)
	}
	for name, f := range fates {
		if _, there := b.world[name]; !there && !f.gone && !f.unsure {
			s.wrong("%s is gone and no item says so", name)
		}
	}
}

// goOn is what an item makes of a thing.
func (f *fate) goOn(i item) {
	o := i.of()
	switch {
	case i.maybe():
		f.unsure = true
	case i.Executed != errs.ExecutedYes:
	case o.kind == gbp.KindLocation && (i.Code == string(errs.GBPContentRejected) || i.Follows): // Google went back to what it was before, or may have and could not be read yet
		f.unsure = true
	case o.tool == "post.delete" || o.tool == "media.delete":
		f.gone = true
	default:
		f.text, f.unsure = o.leaves(i.Payload), false
	}
}
