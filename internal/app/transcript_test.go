package app_test

import (
	stdcmp "cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// transcript is what one client was shown while it played the story of a write over the first five stores.
type transcript struct {
	Protocol  string   `json:"protocol"`
	Session   *bool    `json:"session"` // over HTTP: whether the server gave a session id; nil where the client hides it
	Tools     []string `json:"tools"`
	Locations shown    `json:"locations"` // location.list
	Preview   shown    `json:"preview"`   // post.create with dry_run
	Refused   shown    `json:"refused"`   // post.create with a key, without a token
	Accepted  shown    `json:"accepted"`  // the same with the token of the refusal
	Final     shown    `json:"final"`     // batch.status, waited for
	Replay    shown    `json:"replay"`    // the accepted call once more
	Invalid   shown    `json:"invalid"`   // post.create with dryRun instead of dry_run
	Foreign   shown    `json:"foreign"`   // post.create with one location that is not the caller's
	Batches   shown    `json:"batches"`   // batch.list
}

// shown is a tool's result as the client handed it on.
type shown struct {
	IsError           bool            `json:"isError"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	Content           []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	// Model is the text that the client shows a model; the content's where the client leaves that to its host.
	Model string `json:"model"`
	// Unsent: the client refused the call by itself.
	Unsent bool `json:"unsent"`
}

// answer is the result decoded: from its structure, or from the text's last line where the client hands on nothing else.
func (r shown) answer(t *testing.T) stack.Answer {
	t.Helper()
	a := stack.Answer{IsError: r.IsError}
	for _, c := range r.Content {
		if c.Type == "text" {
			a.Text += c.Text
		}
	}
	facts := r.StructuredContent
	if len(facts) == 0 {
		facts = enveloped(t, lastObject(a.Text))
	}
	if err := json.Unmarshal(facts, &a); err != nil {
		t.Fatalf("%v\n%s", err, a.Text)
	}
	if len(r.StructuredContent) == 0 {
		a.IsError = a.ErrorCode != ""
	}
	a.Text = stdcmp.Or(r.Model, a.Text)
	return a
}

// enveloped is what stands in a text in the shape of structured content: the fields of an error, or the data alone.
func enveloped(t *testing.T, object json.RawMessage) json.RawMessage {
	t.Helper()
	var told struct {
		Code errs.Code `json:"error_code"`
	}
	if err := json.Unmarshal(object, &told); err != nil {
		t.Fatalf("no JSON in the text: %v\n%s", err, object)
	}
	if told.Code != "" {
		return object
	}
	return slices.Concat(json.RawMessage(`{"data":`), object, json.RawMessage(`}`))
}

// lastObject is the last line of a text that holds a JSON object.
func lastObject(text string) json.RawMessage {
	lines := strings.Split(text, "\n")
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "{") {
			return json.RawMessage(line)
		}
	}
	return nil
}

// judge holds what the client was shown against the contract, and against what really happened at Google and in the database.
func (got transcript) judge(t *testing.T, s *stack.Stack, protocol string, underscored bool) {
	t.Helper()
	if got.Protocol != protocol {
		t.Errorf("protocol %q, want %q", got.Protocol, protocol)
	}
	for _, name := range []string{"location.list", "post.create", "batch.status", "batch.list"} {
		if underscored {
			name = strings.ReplaceAll(name, ".", "_")
		}
		if !slices.Contains(got.Tools, name) {
			t.Errorf("%s is not listed: %v", name, got.Tools)
		}
	}
	if page := stack.Into[tools.LocationPage](t, got.Locations.answer(t)); len(page.Locations) != len(s.Locations) {
		t.Errorf("%d of %d stores listed", len(page.Locations), len(s.Locations))
	}
	preview := stack.Into[tools.Write](t, got.Preview.answer(t)).Preview
	if preview == nil || !preview.WouldExecute || preview.TargetCount != 5 || !preview.Confirmation.Required || preview.Confirmation.ConfirmToken == "" {
		t.Errorf("preview: %s", got.Preview.StructuredContent)
	}
	got.judgeRefusals(t)
	id := got.judgeBatch(t)

	want := map[string]int{}
	for _, l := range s.Locations[:5] {
		want[string(l.Name)] = 1
	}
	if d := cmp.Diff(want, s.Created()); d != "" {
		t.Errorf("posts per store at Google (-want +got):\n%s", d)
	}
	if v := s.Finish(id); v.Status != batch.Done || v.SuccessCount != 5 {
		t.Errorf("in the database: %+v", v)
	}
}

// judgeRefusals looks at the refusals, as structure and as the text that many hosts alone pass on.
func (got transcript) judgeRefusals(t *testing.T) {
	t.Helper()
	refused := got.Refused.answer(t)
	if !refused.IsError || refused.ErrorCode != errs.ConfirmationRequired || refused.Status != 412 || refused.Executed != errs.ExecutedNo ||
		refused.Details == nil || refused.Details.ConfirmToken == "" {
		t.Fatalf("without a token: %s", got.Refused.StructuredContent)
	}
	if !strings.Contains(refused.Text, "CONFIRMATION_REQUIRED") || !strings.Contains(refused.Text, refused.Details.ConfirmToken) {
		t.Errorf("the text lacks code or token: %s", refused.Text)
	}
	if !got.Invalid.Unsent {
		got.judgeInvalid(t)
	}
	foreign := got.Foreign.answer(t)
	if !foreign.IsError || foreign.ErrorCode != errs.LocationNotFound || foreign.Status != 404 || foreign.Executed != errs.ExecutedNo {
		t.Fatalf("a location of nobody: %s", foreign.Text)
	}
	if !strings.Contains(foreign.Text, "LOCATION_NOT_FOUND") || !strings.Contains(foreign.Text, "99999999") {
		t.Errorf("the text lacks code or location: %s", foreign.Text)
	}
}

// judgeInvalid looks at the refusal of an argument that does not exist.
func (got transcript) judgeInvalid(t *testing.T) {
	t.Helper()
	invalid := got.Invalid.answer(t)
	if !invalid.IsError || invalid.ErrorCode != errs.InvalidArgument || invalid.Status != 400 || invalid.Executed != errs.ExecutedNo || invalid.Details == nil {
		t.Fatalf("dryRun: %s", got.Invalid.StructuredContent)
	}
	if v := invalid.Details.Violations; len(v) != 1 || v[0].Path != "dryRun" || !strings.Contains(v[0].Message, "dry_run") {
		t.Errorf("dryRun: %+v", v)
	}
	if !strings.Contains(invalid.Text, "INVALID_ARGUMENT") || !strings.Contains(invalid.Text, "dry_run") {
		t.Errorf("the text lacks code or hint: %s", invalid.Text)
	}
}

// judgeBatch follows the one batch through acceptance, outcome, replay and list, and gives its id.
func (got transcript) judgeBatch(t *testing.T) string {
	t.Helper()
	accepted := stack.Into[tools.Write](t, got.Accepted.answer(t)).Accepted
	if accepted == nil || accepted.BatchID == "" || accepted.TargetCount != 5 || accepted.Idempotency.Source != "client" || accepted.Idempotency.Outcome != "executed" {
		t.Fatalf("accepted: %s", got.Accepted.StructuredContent)
	}
	final := stack.Into[tools.BatchView](t, got.Final.answer(t))
	if final.BatchID != accepted.BatchID || final.Status != batch.Done || final.SuccessCount != 5 || len(final.Items) != 5 {
		t.Errorf("batch.status: %s", got.Final.StructuredContent)
	}
	replay := stack.Into[tools.Write](t, got.Replay.answer(t)).Accepted
	if replay == nil || replay.BatchID != accepted.BatchID || replay.Idempotency.Outcome != "replayed" || replay.Current == nil || replay.Current.Status != batch.Done {
		t.Errorf("replay: %s", got.Replay.StructuredContent)
	}
	page := stack.Into[tools.BatchPage](t, got.Batches.answer(t))
	if len(page.Batches) != 1 || page.Batches[0].BatchID != accepted.BatchID {
		t.Errorf("batch.list: %s", got.Batches.StructuredContent)
	}
	return string(accepted.BatchID)
}
