package schema

import (
	"bytes"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Bounds of the search for a nearest name.
const (
	maxGuessed   = 64 // bytes of a name that is still compared by edit distance
	maxNamed     = 3  // places named when a known name belongs elsewhere
	maxListed    = 15 // known names listed when nothing is near
	noSuggestion = ""
)

// foreignNames are the undeclared names of one object.
type foreignNames struct {
	names [][]byte
	more  int
}

func (n *foreignNames) add(name []byte) {
	if len(n.names) >= MaxViolations {
		n.more++
		return
	}
	n.names = append(n.names, name)
}

// reportForeign refuses undeclared names. Their values are never shown: what was meant is unknown, so it may be a secret.
func (d *decoder) reportForeign(o *Object, seen []bool, foreign *foreignNames) {
	d.more += foreign.more
	for i, name := range foreign.names {
		shownName := foreignName(name)
		at := d.pushName(shownName)
		if twin := twinOf(o, seen, foreign.names[:i], name); twin != "" {
			d.violate(RuleDuplicate, errs.Tf("%[1]s と %[2]s は同じ名前とみなされます。1 回だけにしてください。", "%[1]s and %[2]s count as the same name; give it once.", shownName, twin), "")
		} else {
			d.violate(RuleUnknown, d.unknown(o, string(name), shownName), "")
		}
		d.pop(at)
	}
}

// twinOf is a name of the same object that is equal, or differs in case only, as it may be shown.
func twinOf(o *Object, seen []bool, earlier [][]byte, name []byte) string {
	for i := range o.Fields {
		if seen[i] && strings.EqualFold(o.Fields[i].Name, string(name)) {
			return o.Fields[i].Name
		}
	}
	for _, e := range earlier {
		if bytes.EqualFold(e, name) {
			return foreignName(e)
		}
	}
	return ""
}

func (d *decoder) unknown(o *Object, name, shownName string) errs.Text {
	if t, ok := o.Advice[name]; ok {
		return t
	}
	if near := d.suggest(o, name); near != noSuggestion {
		return errs.Tf("%[1]s という引数はありません。もしかして %[2]s ですか。", "Unknown argument %[1]s; did you mean %[2]s?", shownName, near)
	}
	names := make([]string, 0, len(o.Fields))
	for i := range o.Fields {
		if i == maxListed {
			names = append(names, ellipsis)
			break
		}
		names = append(names, o.Fields[i].Name)
	}
	if len(names) == 0 {
		return errs.Tf("%[1]s という引数はありません。引数を取りません。", "Unknown argument %[1]s; none are taken here.", shownName)
	}
	return errs.Tf("%[1]s という引数はありません。使えるのは %[2]s です。", "Unknown argument %[1]s; known here: %[2]s.", shownName, strings.Join(names, ", "))
}

// suggest gives the nearest name of the object, or the paths of it elsewhere: first by spelling without case and
// underscores, then by edit distance.
func (d *decoder) suggest(o *Object, name string) string {
	here := make([]string, len(o.Fields))
	for i := range o.Fields {
		here[i] = o.Fields[i].Name
	}
	elsewhere := placesOutside(d.root, o, "", nil)
	if near := sameFolded(name, here); near != "" {
		return near
	}
	folded := fold(name)
	var paths []string
	for _, p := range elsewhere {
		if fold(p.name) == folded && len(paths) < maxNamed {
			paths = append(paths, p.path)
		}
	}
	if len(paths) > 0 {
		return strings.Join(paths, " / ")
	}
	if near := nearest(name, here); near != "" {
		return near
	}
	names := make([]string, len(elsewhere))
	for i, p := range elsewhere {
		names[i] = p.name
	}
	if near := nearest(name, names); near != "" {
		for _, p := range elsewhere {
			if p.name == near {
				return p.path
			}
		}
	}
	return noSuggestion
}

// place is where a name is declared.
type place struct{ name, path string }

// placesOutside lists every declared name that is not a field of except, as "post.summary" or "overrides[].summary".
func placesOutside(o, except *Object, prefix string, found []place) []place {
	for i := range o.Fields {
		f := &o.Fields[i]
		path := prefix + f.Name
		if o != except {
			found = append(found, place{f.Name, path})
		}
		inner := f
		for inner.Type == TypeList && inner.Items != nil {
			inner = inner.Items
			path += "[]"
		}
		if inner.Object != nil {
			found = placesOutside(inner.Object, except, path+".", found)
		}
	}
	return found
}

// nearest is the word that name probably stands for, or "".
func nearest(name string, words []string) string {
	if near := sameFolded(name, words); near != "" || len(name) > maxGuessed {
		return near
	}
	best, least := "", allowedDistance(name)+1
	folded := fold(name)
	for _, w := range words {
		if n := levenshtein.ComputeDistance(folded, fold(w)); n < least {
			best, least = w, n
		}
	}
	return best
}

func sameFolded(name string, words []string) string {
	folded := fold(name)
	for _, w := range words {
		if fold(w) == folded {
			return w
		}
	}
	return ""
}

// allowedDistance grows with the length: of a short word everything is near.
func allowedDistance(name string) int {
	switch n := len(name); {
	case n <= 4:
		return 1
	case n <= 8:
		return 2
	default:
		return 3
	}
}

// fold drops what spellings of one name differ in: dryRun, dry-run, DRY_RUN.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
