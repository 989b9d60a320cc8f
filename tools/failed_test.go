package tools_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/tools"
)

var errBroken = errors.New("a page is damaged")

// broken fails in a way that the catalogue has no name for.
type (
	broken    struct{ unrecorded }
	brokenFor struct{ admission.Store }
)

func (broken) ListLocations(context.Context, authn.TenantID, authn.Grants, gbp.LocationFilter) ([]gbp.Location, error) {
	return nil, errBroken
}

func (brokenFor) FindAnswer(context.Context, idempotency.Key) (*admission.Answered, error) {
	return nil, errBroken
}

func (brokenFor) Record(context.Context, authn.TenantID, ...audit.Event) error { return nil }

// What a caller knows as INTERNAL stands in the log once, with the request, the tool and how far it came.
func TestInternalIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelError}))
	newID := func() string { return "id" }
	s, err := tools.NewSet(tools.Deps{
		Admission: admission.New(admission.Deps{Store: brokenFor{}, Limiter: unlimited{}, Now: time.Now, NewID: newID, Environment: "simulator", Log: log}),
		Store:     broken{}, Limiter: unlimited{}, Environment: "simulator", Now: time.Now, NewID: newID, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	for tool, c := range map[string]struct{ arguments, step string }{
		"location.list": {`{}`, "read"},
		"post.create":   {`{"location_ids":[1],"post":{"summary":"a"}}`, "replay"},
		"post.explode":  {`{}`, "answer"},
	} {
		lines.Reset()
		p := &authn.Principal{TenantID: "komorebi", Scopes: []string{"locations:read", "posts:write"}, Policy: policy.Default(), Locale: errs.English, Timezone: time.UTC}
		r := s.Call(t.Context(), tool, &tools.Call{Principal: p, RequestID: "req-1", Arguments: []byte(c.arguments)})
		if !strings.HasPrefix(r.Text, "INTERNAL: An internal error occurred.") || strings.Contains(r.Text, errBroken.Error()) {
			t.Errorf("%s: %s", tool, r.Text)
		}
		got := lines.String()
		for _, want := range []string{"request_id=req-1", "tenant=komorebi", "tool=" + tool, "step=" + c.step} {
			if strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
				t.Errorf("%s: %q is not once in\n%s", tool, want, got)
			}
		}
	}
}
