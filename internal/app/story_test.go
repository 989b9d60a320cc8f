package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// The product's main story: preview, refusal, confirmation, one post per store, an outcome per store, a replay, the audit.
func TestF165Story(t *testing.T) {
	s := stack.New(t, stack.Options{Policy: stack.Roomy, Sim: func(o *gbpsim.Options) { o.Knobs.NoQuotas = true }})
	ids := s.IDs(12)
	name := func(i int) gbpsim.LocationName { return gbpsim.LocationName(s.Locations[i].Name) }
	for _, f := range []gbpsim.Fault{
		{Location: name(1), Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 403},
		{Location: name(2), Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 503, Count: 1},
		{Location: name(3), Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit, Count: 1},
		{Location: name(4), Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 429, Count: 1},
	} {
		if _, err := s.Sim.AddFault(f); err != nil {
			t.Fatal(err)
		}
	}
	args := stack.Post(ids, "新作の抹茶ラテが始まりました。{{location.title}}でお待ちしています。").With("idempotency_key", "story-key-1")

	preview := stack.Into[tools.Write](t, s.Call("post.create", args.With("dry_run", true))).Preview
	if !preview.WouldExecute || preview.TargetCount != 12 || !preview.Confirmation.Required || preview.Confirmation.ConfirmToken == "" {
		t.Fatalf("preview: %+v", preview)
	}
	refused := s.Call("post.create", args)
	if refused.ErrorCode != errs.ConfirmationRequired || refused.Executed != errs.ExecutedNo {
		t.Fatalf("got %s: %s", refused.ErrorCode, refused.Text)
	}
	if n := s.CreatedTotal(); n != 0 {
		t.Fatalf("%d posts before anybody agreed", n)
	}
	a := s.Accept("post.create", args.With("confirm_token", preview.Confirmation.ConfirmToken))
	v := s.Finish(string(a.BatchID))
	if v.Status != batch.Partial || v.SuccessCount != 11 || v.FailureCount != 1 {
		t.Fatalf("batch: %+v", v)
	}
	if f := v.Failures[0]; f.ErrorCode != errs.GBPPermissionDenied || f.Executed != errs.ExecutedNo || int64(f.LocationID) != ids[1] {
		t.Fatalf("failure: %+v", f)
	}
	want := map[string]int{}
	for i, l := range s.Locations {
		if i != 1 {
			want[string(l.Name)] = 1
		}
	}
	if d := cmp.Diff(want, s.Created()); d != "" {
		t.Fatalf("posts per store (-want +got):\n%s", d)
	}
	replay := s.Accept("post.create", args)
	if replay.BatchID != a.BatchID || replay.Idempotency.Outcome != "replayed" || replay.Current.Status != batch.Partial {
		t.Fatalf("replay: %+v", replay)
	}
	report, err := s.App.DB.VerifyAudit(t.Context(), stack.Tenant)
	if err != nil || !report.Valid || report.Sealed+report.Unsealed < 38 {
		t.Fatalf("audit: %+v, %v", report, err)
	}
}
