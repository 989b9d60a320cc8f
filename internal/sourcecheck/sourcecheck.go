// Package sourcecheck looks at all files of one call, side by side and within a bound of its own, and keeps what it found for
// a minute, so that preview, confirmation and write do not fetch one file three times. What a file has to keep to, and how it
// is fetched safely, is package mediacheck's.
//
// Only files that can be used are kept: whoever mends a file need not wait. A file that is swapped within the minute is not
// noticed here; its digest is part of what a confirm token is bound to, so that a later swap is.
package sourcecheck

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
)

const (
	// kept is how long a usable file is not fetched again.
	kept = time.Minute
	// maxKept bounds what is kept, some hundred bytes each.
	maxKept = 10_000
	// atOnce is how many files of one call are fetched side by side; mediacheck bounds those of the process.
	atOnce = 8
)

// RuleNotChecked is the refusal of a file that could not be looked at within the bound.
const RuleNotChecked = "not_checked"

// Checker judges one file; see mediacheck.Checker.
type Checker interface {
	Check(ctx context.Context, source string, use gbp.MediaUse) (mediacheck.Facts, *mediacheck.Refusal, error)
}

// Checks look at the files of calls. They are safe for use from many goroutines.
type Checks struct {
	checker Checker
	within  time.Duration
	now     func() time.Time
	log     *slog.Logger

	mu    sync.Mutex
	files map[key]entry
}

type key struct {
	tenant authn.TenantID
	source gbp.Source
}

type entry struct {
	file gbp.SourceFile
	at   time.Time
}

// New makes Checks that take at most within for all files of one call.
func New(c Checker, within time.Duration, now func() time.Time, log *slog.Logger) *Checks {
	return &Checks{checker: c, within: within, now: now, log: log, files: map[key]entry{}}
}

// Known gives what was found about the sources within the last minute, and those that have to be fetched, each once.
func (c *Checks) Known(tenant authn.TenantID, sources []gbp.Source) (known gbp.SourceFiles, unknown []gbp.Source) {
	known = gbp.SourceFiles{}
	missing := map[gbp.Source]bool{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range sources {
		e, ok := c.files[key{tenant, s}]
		switch {
		case ok && c.now().Sub(e.at) < kept:
			known[s] = e.file
		case !missing[s]:
			missing[s] = true
			unknown = append(unknown, s)
		}
	}
	return known, unknown
}

// Look fetches and judges the sources. It gives a verdict about every one: what could not be looked at in time is refused as
// not_checked. It returns within its bound, also when hosts hang and when the context has no end.
func (c *Checks) Look(ctx context.Context, tenant authn.TenantID, sources []gbp.Source) gbp.SourceFiles {
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	var mu sync.Mutex
	out := make(gbp.SourceFiles, len(sources))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, s := range sources {
		g.Go(func() error {
			f := c.one(ctx, tenant, s)
			mu.Lock()
			defer mu.Unlock()
			out[s] = f
			return nil
		})
	}
	_ = g.Wait() // every verdict is in out
	c.keep(tenant, out)
	return out
}

func (c *Checks) one(ctx context.Context, tenant authn.TenantID, s gbp.Source) gbp.SourceFile {
	facts, refusal, err := c.checker.Check(ctx, s.URL, s.Use)
	switch {
	case err != nil:
		c.log.WarnContext(ctx, "media not checked", "tenant", tenant, "use", s.Use, "error", err)
		return gbp.SourceFile{Refusal: &gbp.FileRefusal{Rule: RuleNotChecked, Text: errs.Tf(
			"%d 秒以内にファイルを確認できませんでした。何も実行されていません。少し待って送り直すか、応答の速いサーバーの URL を指定してください。",
			"The file could not be checked within %d s, and nothing was executed. Send again a little later, or give an address on a faster host.", max(int(c.within.Seconds()), 1))}}
	case refusal != nil:
		c.log.InfoContext(ctx, "media refused", "tenant", tenant, "use", s.Use, "refusal", refusal)
		return gbp.SourceFile{Refusal: &gbp.FileRefusal{Rule: string(refusal.Rule), Text: refusal.Text, Found: found(refusal)}}
	}
	return gbp.SourceFile{URL: facts.URL, Format: facts.Format, Bytes: facts.Bytes, SHA256: facts.SHA256, ExtraPictures: facts.ExtraPictures, CutOff: facts.CutOff}
}

// found is what was measured, in one word.
func found(r *mediacheck.Refusal) string {
	switch {
	case r.Width > 0:
		return fmt.Sprintf("%dx%d", r.Width, r.Height)
	case r.Measured > 0:
		return fmt.Sprint(r.Measured)
	}
	return r.Type
}

// keep remembers usable files. What is too old goes; when everything is young and there is no room, nothing is added.
func (c *Checks) keep(tenant authn.TenantID, files gbp.SourceFiles) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for k, e := range c.files {
		if now.Sub(e.at) >= kept {
			delete(c.files, k)
		}
	}
	for s, f := range files {
		if f.Refusal == nil && len(c.files) < maxKept {
			c.files[key{tenant, s}] = entry{f, now}
		}
	}
}
