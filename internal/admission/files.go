package admission

import (
	"context"
	"maps"
	"slices"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// files looks at what is behind the addresses that the change would hand to Google, each once, so that a file which Google
// would refuse is told before anything is accepted. Verdicts go into the plan, which makes violations or warnings of them; the
// step itself refuses only a caller who makes us fetch too often: a call that fetches spends a preview.
func (a *Admission) files(ctx context.Context, c *Call) error {
	change, ok := c.change.(FileChange)
	if !ok || slices.ContainsFunc(c.locations, c.disconnected) { // what is refused anyway fetches nothing
		return nil
	}
	var sources []gbp.Source
	for _, t := range c.targets {
		sources = append(sources, change.Sources(t)...)
	}
	if len(sources) == 0 {
		return nil
	}
	if a.Files == nil {
		c.warnings = append(c.warnings, gbp.Warning{Code: "MEDIA_NOT_CHECKED", Message: errs.T(
			"画像・動画の確認が無効のため、URL の中身を見ていません。Google に拒否されることがあります。", "The media check is off: nobody looked at the file, and Google may refuse it.").In(c.Principal.Locale)})
		return nil
	}
	var unknown []gbp.Source
	c.found, unknown = a.Files.Known(c.Principal.TenantID, sources)
	if len(unknown) > 0 {
		if err := a.spendPreview(ctx, c); err != nil && errs.CodeOf(err) != errs.Unavailable {
			return err
		}
		if c.Progress != nil {
			c.Progress(0, len(unknown), errs.Tf("画像・動画 %d 件を確認しています。", "Checking %d file(s).", len(unknown)).In(c.Principal.Locale))
		}
		began := a.Now()
		maps.Copy(c.found, a.Files.Look(context.WithoutCancel(ctx), c.Principal.TenantID, unknown))
		c.waited += a.Now().Sub(began)
	}
	for i := range c.targets {
		c.targets[i].Files = c.found
	}
	return nil
}

// upload is what the plan hands to Google to keep in galleries.
type upload struct {
	// bytes are of all files, each counted once; sent counts each as often as it goes out.
	bytes, sent int64
	stores      map[gbp.LocationID]bool
	// known is false when one of the files was not looked at.
	known bool
}

func (c *Call) upload() upload {
	u := upload{stores: map[gbp.LocationID]bool{}, known: true}
	seen := map[gbp.Source]bool{}
	for _, r := range c.plan {
		if r.Operation != "media.upload" || r.Already {
			continue
		}
		u.stores[r.Location.ID] = true
		for _, s := range r.Sources {
			f, looked := c.found[s]
			u.known = u.known && looked
			u.sent += f.Bytes
			if !seen[s] {
				seen[s] = true
				u.bytes += f.Bytes
			}
		}
	}
	return u
}
