package terminal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/terminal"
)

func TestTablesLineUpInJapanese(t *testing.T) {
	t.Parallel()
	got := terminal.Table([][]string{{"store", "n", "why"}, {"渋谷店", "1", ""}, {"A", "2", "a\x1b[2J\nb"}})
	want := []string{"store   n  why", "渋谷店  1", "A       2  a [2J b"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	agent := audit.Actor{ClientID: "claude", UserID: "hanako", TokenID: "main"}
	for _, c := range []struct {
		name string
		e    audit.Event
		want []string // after the time
	}{
		{
			"an item",
			audit.Event{Kind: audit.ItemFailed, Actor: agent, Tool: "post.create", LocationID: 8801, BatchID: "01B", Result: "failed", ErrorCode: errs.GBPPermissionDenied, Details: &audit.Details{Attempt: 1, GoogleStatus: 403}},
			[]string{"item_failed", "failed GBP_PERMISSION_DENIED", "hanako", "claude", "post.create", "8801 渋谷店", "01B", "Google answered 403"},
		},
		{
			"a store without a known name",
			audit.Event{Kind: audit.ItemStarted, Actor: agent, Tool: "post.create", LocationID: 9, BatchID: "01B"},
			[]string{"item_started", "", "hanako", "claude", "post.create", "9", "01B", ""},
		},
		{
			"an item that an operator settled",
			audit.Event{Kind: audit.ItemResolved, Actor: audit.Actor{ClientID: "claude", UserID: "hanako", OperatorID: "cli:root"}, BatchID: "01B", LocationID: 8801, Result: "succeeded", Reason: "it is on Maps"},
			[]string{"item_resolved", "succeeded", "cli:root for hanako", "claude", "", "8801 渋谷店", "01B", "it is on Maps"},
		},
		{
			"a switch",
			audit.Event{Kind: audit.KillSwitchChanged, Actor: audit.Actor{OperatorID: "cli:root"}, Resource: "tool:post.create", Result: "on", Reason: "incident 7"},
			[]string{"kill_switch_changed", "on", "cli:root", "", "", "", "", "tool:post.create; incident 7"},
		},
		{
			"a switch of all",
			audit.Event{Kind: audit.KillSwitchChanged, Actor: audit.Actor{OperatorID: "cli:root"}, Resource: "tenant:", Result: "off"},
			[]string{"kill_switch_changed", "off", "cli:root", "", "", "", "", "tenant"},
		},
		{
			"a token",
			audit.Event{Kind: audit.TokenCreated, Actor: audit.Actor{ClientID: "claude", UserID: "hanako", TokenID: "main", OperatorID: "cli:root"}, Resource: "main", Result: "created"},
			[]string{"token_created", "created", "cli:root for hanako", "claude", "", "", "", "main"},
		},
		{
			"a batch",
			audit.Event{Kind: audit.BatchFinished, Actor: agent, Tool: "post.create", BatchID: "01B", Result: "partial", Details: &audit.Details{TargetCount: 3, Counts: &errs.Counts{Success: 1, Failure: 1, Unknown: 1}}},
			[]string{"batch_finished", "partial", "hanako", "claude", "post.create", "", "01B", "1 succeeded, 1 failed, 1 unknown"},
		},
		{
			"a preview",
			audit.Event{Kind: audit.Preview, Actor: agent, Tool: "post.create", Details: &audit.Details{TargetCount: 1}},
			[]string{"preview", "", "hanako", "claude", "post.create", "", "", "1 store"},
		},
	} {
		c.e.OccurredAt = at
		rows, err := terminal.Events([]json.RawMessage{c.e.Body()}, map[int64]string{8801: "渋谷店"})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(append([]string{"2026-11-30T12:00:00Z"}, c.want...), rows[1]); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if len(rows[0]) != len(rows[1]) {
			t.Errorf("%s: %s over %s", c.name, strings.Join(rows[0], "|"), strings.Join(rows[1], "|"))
		}
	}
	if _, err := terminal.Events([]json.RawMessage{[]byte("{")}, nil); err == nil {
		t.Error("an event that is none is shown")
	}
}
