package gbp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// A review with another reply reads as Google gives it afterwards: every other field stays, known or not.
func TestReviewWithReply(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	for name, before := range map[string]string{
		"without one": `,"comment":"<よい> & 1","starRating":"FOUR","future":{"a":[1]}`,
		"with one":    `,"comment":"<よい> & 1","starRating":"FOUR","future":{"a":[1]},"reviewReply":{"comment":"old","reviewReplyState":"APPROVED"}`,
	} {
		r := parsed(t, before)
		got, err := r.WithReply(&gbp.RemoteReply{Comment: "新しい <返信> & \"x\"", UpdateTime: at, State: gbp.ReplyRejected, PolicyViolation: "OFF_TOPIC"})
		if err != nil || *got.Reply != (gbp.RemoteReply{Comment: "新しい <返信> & \"x\"", UpdateTime: at, State: gbp.ReplyRejected, PolicyViolation: "OFF_TOPIC"}) {
			t.Fatalf("%s: %v, %+v", name, err, got.Reply)
		}
		if got.Comment != r.Comment || got.StarRating != 4 || got.Name != r.Name || got.Version() == r.Version() || !strings.Contains(string(got.Raw), `"future":{"a":[1]}`) || strings.Contains(string(got.Raw), `\u003c`) {
			t.Errorf("%s: %s", name, got.Raw)
		}
		if again, err := gbp.ParseRemoteReview(got.Raw); err != nil || again.Version() != got.Version() || !again.Says("新しい <返信> & \"x\"") {
			t.Errorf("%s: %v, %s", name, err, got.Raw)
		}
		gone, err := got.WithReply(nil)
		if err != nil || gone.Reply != nil || gone.Reply.View() != nil || gone.Version() != parsed(t, `,"comment":"<よい> & 1","starRating":"FOUR"`).Version() {
			t.Errorf("%s: %v, %s", name, err, gone.Raw)
		}
	}
	for _, raw := range []string{"", "[]", `{"name":"x"}`, `{"name":`} {
		if got, err := (gbp.RemoteReview{Raw: json.RawMessage(raw)}).WithReply(nil); err == nil {
			t.Errorf("%q: %s", raw, got.Raw)
		}
	}
}

func TestReplyOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"comment":"stranger","reviewReply":{"comment":"ours","x":1}}`: `{"comment":"ours","x":1}`,
		`{"comment":"stranger"}`: `{}`, `{"comment":"stranger","reviewReply":null}`: `{}`, `["stranger"]`: `{}`, ``: `{}`, `{"comment":"stran`: `{}`,
	} {
		if got := gbp.ReplyOf(json.RawMessage(raw)); string(got) != want {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
