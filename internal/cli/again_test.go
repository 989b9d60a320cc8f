package cli_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// An operator takes a batch back at the terminal: with a preview, a question, the token's own rights, and once.
func TestBatchUndoAndRetry(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 3, NoServer: true, Policy: `{"confirm_at":{"post.create":2,"post.delete":2},"token_per_minute":100,"user_per_minute":100}`})
	refusal := gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: gbpsim.LocationName(s.Locations[2].Name), Answer: gbpsim.AnswerError, Status: http.StatusForbidden}
	if _, err := s.Sim.AddFault(refusal); err != nil {
		t.Fatal(err)
	}
	b := s.Confirmed("post.create", stack.Post(s.IDs(3), "Fresh rolls"))
	s.Finish(string(b.BatchID))
	x := newTerminal(t, s)
	undo := []string{"batch", "undo", string(b.BatchID)}

	if code, _, errOut := x.run(undo...); code != 2 || !strings.Contains(errOut, "MAPPY_TOKEN") {
		t.Errorf("without a token: %d %s", code, errOut)
	}
	x.env["MAPPY_TOKEN"] = s.Token
	if code, out, _ := x.run("batch", "undo", "01HV0000000000000000000000", "--output", "json", "--yes"); code == 0 || !strings.Contains(out, "BATCH_NOT_FOUND") {
		t.Errorf("an unknown batch: %d %s", code, out)
	}
	if code, out, _ := x.run(append(slices.Clone(undo), "--output", "json")...); code == 0 || !strings.Contains(out, "--yes") {
		t.Errorf("json asks nobody: %d %s", code, out)
	}
	for _, typed := range []string{"", "\n", "y\n", "no\n"} {
		x.in = typed
		if code, _, errOut := x.run(undo...); code == 0 || !strings.Contains(errOut, "nothing was written") {
			t.Errorf("%q wrote: %d %s", typed, code, errOut)
		}
	}
	if preview := x.must(append(slices.Clone(undo), "--dry-run")...); !strings.Contains(preview, s.Locations[0].Profile.Title) {
		t.Errorf("the preview names no store: %s", preview)
	}
	if n := len(s.Sim.Posts("")); n != 2 {
		t.Fatalf("%d posts before anything was agreed to", n)
	}

	// A person reads words and the question: no data, and no token that stands for the answer.
	x.in = "no\n"
	if _, out, errOut := x.run(undo...); strings.ContainsAny(out, "{}") || strings.Contains(out, "confirm_token") || !strings.Contains(out, s.Locations[0].Profile.Title) || !strings.Contains(errOut, "Type yes") {
		t.Errorf("the preview for people: %s%s", out, errOut)
	}
	if _, out, _ := x.run(append(slices.Clone(undo), "--location", strconv.FormatInt(s.IDs(1)[0], 10))...); strings.ContainsAny(out, "{}") || !strings.Contains(out, s.Locations[0].Profile.Title) {
		t.Errorf("the preview of one store for people: %s", out)
	}
	retry := []string{"batch", "retry", string(b.BatchID)}
	for _, args := range [][]string{retry, append(slices.Clone(retry), "--yes")} {
		code, out, errOut := x.run(args...)
		if code != 2 || !strings.Contains(out, "! LEFT_ALONE (") || strings.Contains(out, " \n") || !strings.Contains(errOut, "what to do: ") || !strings.Contains(errOut, "validation_warnings") || strings.Contains(errOut, "Fix every") {
			t.Errorf("%v: exit %d, %s%s", args, code, out, errOut)
		}
	}
	if code, out, _ := x.run(append(slices.Clone(retry), "--dry-run")...); code != 0 || !strings.Contains(out, "would_execute: false") {
		t.Errorf("a dry run that would be refused: exit %d, %s", code, out)
	}

	x.in = "yes\n"
	first := strconv.FormatInt(s.IDs(1)[0], 10)
	x.must(append(slices.Clone(undo), "--location", first)...)
	if code, out, _ := x.run(append(slices.Clone(undo), "--location", first, "--yes", "--output", "json")...); code == 0 || !strings.Contains(out, "NOTHING_TO_UNDO") {
		t.Errorf("the second run: %d %s", code, out)
	}
	x.must(append(slices.Clone(undo), "--location", strconv.FormatInt(s.IDs(2)[1], 10), "--yes", "--output", "json")...)
	var batches []struct {
		ID string `json:"batch_id"`
	}
	if err := json.Unmarshal([]byte(x.must("batch", "list", "--output", "json")), &batches); err != nil || len(batches) != 3 {
		t.Fatalf("%v: %+v", err, batches)
	}
	for _, b := range batches {
		s.Finish(b.ID)
	}
	if n := len(s.Sim.Posts("")); n != 0 {
		t.Errorf("%d posts after both were taken back", n)
	}
	if code, out, _ := x.run("batch", "retry", string(b.BatchID), "--yes", "--output", "json"); code == 0 || !strings.Contains(out, "can be retried") || !strings.Contains(out, "validation_warnings") {
		t.Errorf("a refused store cannot be retried: %d %s", code, out)
	}
	item := row(t, s, `SELECT item_id FROM mappy.item WHERE batch_id = '`+string(b.BatchID)+`' AND state = 'failed'`)
	if out := x.must("batch", "show", string(b.BatchID)); !strings.Contains(out, "ITEM") || !strings.Contains(out, item) {
		t.Errorf("the ids of items are not shown: %s", out)
	}
	for id, says := range map[string]string{item: "is settled by hand", "01HV0000000000000000000000": "mappy-mcp batch show"} {
		code, _, errOut := x.run("batch", "resolve", id, "--as", "failed", "--reason", "looked at the profile")
		if code == 0 || !strings.Contains(errOut, says) || strings.Contains(errOut, "Fix every") || strings.Contains(errOut, "list tool") {
			t.Errorf("%s: exit %d, %s; want %q", id, code, errOut, says)
		}
	}
}
