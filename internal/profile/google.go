package profile

import (
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// googleEdits names Google's pending version of the profile. An edit of a field that Google shows differently accepts or
// overrides Google's version; an edit of another field does not touch it.
func (j *judge) googleEdits(p *Patch) {
	u := j.GoogleUpdate
	if u == nil {
		if j.Location.PendingGoogleEdit {
			j.warn("PENDING_GOOGLE_EDIT", "", errs.T("Google で審査中または Google による変更があります。location.get で確認してください。", "Google holds an edit of this profile that is not live, or a version of its own; see location.get."))
		}
		return
	}
	live := ReadView(u.Live)
	for _, f := range Fields() {
		g := googleField(f)
		changed := slices.Contains(p.Fields(), f)
		switch {
		case g != "" && covers(u.Diff, g):
			if changed {
				p.Contested = append(p.Contested, f)
				j.warn("PENDING_GOOGLE_EDIT", f, errs.Tf("Google は %[1]s を別の値で表示しています: %[2]s。この変更はそれを上書きします。", "Google shows another %[1]s: %[2]s. This change overrides it.", f, errs.ShownValue(string(live.word(f)))))
				continue
			}
			j.warn("PENDING_GOOGLE_EDIT", f, errs.Tf("Google は %[1]s を別の値で表示しています: %[2]s。この変更では触れません。", "Google shows another %[1]s: %[2]s. This change does not touch it.", f, errs.ShownValue(string(live.word(f)))))
		case g != "" && covers(u.Pending, g) && changed:
			j.warn("PENDING_GOOGLE_EDIT", f, errs.Tf("%s の以前の変更がまだ Google で審査中です。", "An earlier change of %s is still being reviewed by Google.", f))
		}
	}
}

// covers tells whether a mask names a field or a part of it, in either spelling.
func covers(mask []string, field string) bool {
	return slices.ContainsFunc(mask, func(m string) bool {
		head, _, _ := strings.Cut(m, ".")
		return strings.EqualFold(strings.ReplaceAll(head, "_", ""), field)
	})
}
