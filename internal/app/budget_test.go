package app_test

import (
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// F074: a limit per day is not asked for again every moment: writes wait for a long time and fail nothing, reads go on.
func TestF074DailyLimit(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 4, NoWorkers: true, Config: func(c *config.Config) { c.Worker.Bulk, c.Worker.Interactive = 1, 1 }})
	fault(t, s, gbpsim.Fault{
		Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 429, Reason: "RATE_LIMIT_EXCEEDED",
		Metadata: map[string]string{"quota_limit": "CreateLocalPostPerDayPerProject", "quota_unit": "1/d/{project}", "quota_limit_value": "10000"},
	})
	s.Accept("post.create", stack.Post(s.IDs(4), "一日の上限を超える投稿です。"))
	s.Work()
	eventually(t, "all items sleep for long", func() bool {
		return queryRow[int](t, s, `SELECT count(*) FROM river.river_job WHERE kind = 'item' AND state = 'scheduled' AND scheduled_at > now() + interval '20 minutes'`) == 4
	})
	if n := len(creates(s)); n != 1 {
		t.Errorf("%d calls", n)
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.item WHERE state IN ('queued', 'processing')`); n != 4 {
		t.Errorf("%d items wait", n)
	}
	if page := stack.Into[tools.PostPage](t, s.Call("post.list", stack.Args{"location_ids": s.IDs(1)})); len(page.Unreadable) != 0 {
		t.Errorf("reads are held up too: %+v", page.Unreadable)
	}
}
