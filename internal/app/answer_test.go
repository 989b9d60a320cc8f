package app_test

import (
	"encoding/json"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// What a client reads of a write is flat under data, whichever of its three answers it is, and of one kind only.
func TestWriteAnswersAreFlat(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 6})
	keys := func(a stack.Answer) map[string]json.RawMessage {
		t.Helper()
		var m map[string]json.RawMessage
		if a.IsError {
			t.Fatal(a.Text)
		}
		if err := json.Unmarshal(a.Data, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := func(what string, m map[string]json.RawMessage, there, absent []string) {
		t.Helper()
		for _, k := range there {
			if m[k] == nil {
				t.Errorf("%s: no %s", what, k)
			}
		}
		for _, k := range absent {
			if m[k] != nil {
				t.Errorf("%s: %s is %s", what, k, m[k])
			}
		}
	}
	post := stack.Post(d.IDs(2), "One level.")
	preview := keys(d.Call("post.create", post.With("dry_run", true)))
	want("preview", preview, []string{"would_execute", "operation", "target_count", "target_locations", "changes", "validation_errors", "confirmation", "preview_digest"}, []string{"batch_id", "status", "idempotency"})
	var changes []struct {
		LocationID int64 `json:"location_id"`
	}
	if err := json.Unmarshal(preview["changes"], &changes); err != nil || len(changes) != 2 || changes[0].LocationID != d.IDs(1)[0] {
		t.Errorf("%v %s", err, preview["changes"])
	}
	accepted := keys(d.Call("post.create", post))
	want("accepted", accepted, []string{"batch_id", "status", "idempotency", "poll_after_seconds", "next", "warnings", "limits"}, []string{"would_execute", "success_count", "progress"})
	waited := keys(d.Call("post.create", stack.Post(d.IDs(2), "And a wait.").With("wait_seconds", 25)))
	want("waited", waited, []string{"batch_id", "status", "idempotency", "success_count", "failures", "limits", "undo"}, []string{"would_execute", "poll_after_seconds", "next", "current"})
	if string(waited["status"]) != `"done"` || string(waited["success_count"]) != "2" {
		t.Errorf("%s, %s", waited["status"], waited["success_count"])
	}
}
