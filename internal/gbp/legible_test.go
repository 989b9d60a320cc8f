package gbp_test

import (
	"slices"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// F054: a text of characters that look like nothing is no text, wherever the public would see it.
func TestF054NothingToRead(t *testing.T) {
	t.Parallel()
	titled := func(title string) gbp.PostDraft {
		d := standard("冬のフェアです。")
		d.TopicType, d.Event = gbp.TopicEvent, event("2026-12-24", "10:00", "2026-12-25", "20:00")
		d.Event.Title = title
		return d
	}
	for _, blank := range []string{"\u2800", " \u3000\n", "\u3164\u115f", "\u200d"} {
		for path, d := range map[string]gbp.PostDraft{"post.summary": standard(blank), "post.event.title": titled(blank)} {
			if _, v, _ := gbp.RenderPost(nil, d, shibuya(), now, errs.English); !slices.Contains(broken(v), path+" required") {
				t.Errorf("%s %q: %q", path, blank, broken(v))
			}
		}
	}
}

// F007: an event that is over when its post is published is as late as one that is over now.
func TestF007EventOverWhenPublished(t *testing.T) {
	t.Parallel()
	d := standard("冬のフェアです。")
	d.TopicType, d.Event = gbp.TopicEvent, event("2026-12-01", "10:00", "2026-12-05", "20:00")
	for at, warned := range map[string]bool{"": false, "2026-12-04T09:00:00+09:00": false, "2027-01-05T09:00:00+09:00": true} {
		d.ScheduledTime = at
		if _, v, w := gbp.RenderPost(nil, d, shibuya(), now, errs.English); len(v) > 0 || slices.Contains(codes(w), "EVENT_IN_PAST") != warned {
			t.Errorf("%q: %q %q", at, broken(v), codes(w))
		}
	}
}
