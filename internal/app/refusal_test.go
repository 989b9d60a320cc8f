package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/redistest"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// A Redis that hangs takes nothing of the time in which a refusal is written down.
func TestRefusalIsRecordedWhileRedisHangs(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true, RedisURL: own.URL()})
	p, err := s.App.DB.Authenticate(t.Context(), s.Token)
	if err != nil {
		t.Fatal(err)
	}
	o, err := redis.ParseURL(own.URL())
	if err != nil {
		t.Fatal(err)
	}
	o.ContextTimeoutEnabled, o.ReadTimeout = true, time.Minute // only the caller's patience ends a command
	hanging := redis.NewClient(o)
	t.Cleanup(func() { _ = hanging.Close() })
	own.Pause()
	defer own.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	refused := errs.New(errs.BatchNotFound, errs.T("ありません。", "There is none."))
	err = admission.Refused(ctx, s.App.DB, ratelimit.New(hanging), s.App.Log.Warn, p, "nonce", refused, audit.Event{Kind: audit.AdmissionRefused, Tool: "batch.status", Result: "refused", ErrorCode: refused.Code})
	if errs.CodeOf(err) != errs.BatchNotFound {
		t.Errorf("answered %v", err)
	}
	if got := recorded(t, s, audit.AdmissionRefused); len(got) != 1 || got[0].ErrorCode != errs.BatchNotFound {
		t.Errorf("recorded %+v", got)
	}
	// The whole chain: what the call held is given back in a time of its own as well.
	if a := s.Call("post.create", stack.Post(s.IDs(1), "")); a.ErrorCode != errs.InvalidArgument {
		t.Errorf("answered %s", a.Text)
	}
	if got := recorded(t, s, audit.AdmissionRefused); len(got) != 2 || got[1].ErrorCode != errs.InvalidArgument {
		t.Errorf("recorded %+v", got)
	}
}

// More broken rules than are listed: the message counts them all.
func TestRefusalCountsAllViolations(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 60, NoWorkers: true})
	a := d.call("post.create", stack.Post(d.IDs(60), "{{location.nothing}} と {{location.none}}"))
	d.mustRefuse(a, errs.InvalidArgument)
	if len(a.Details.Violations) != 50 || !strings.Contains(a.Message, "120") {
		t.Errorf("%d listed: %s", len(a.Details.Violations), a.Message)
	}
}
